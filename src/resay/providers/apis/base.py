"""The interface to language model APIs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from resay.core.check_context import CheckContext
from resay.core.marks import Mark
from resay.core.request import Request
from resay.core.usage import Usage
from resay.providers.apis.events import Event
from resay.providers.apis.values import Body
from resay.providers.base import Chunk, Completion


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request, and what the guard needs to know about it.

    Attributes:
        body: The JSON body.
        context: Its messages and parameters in the format of OpenAI's chat completions, with
            `model` None, because the provider knows it from the body, and why it must not be
            repeated: a conversation stored by the provider, for example, would grow by every
            sample.
        n: Number of answers it asks for at once.
        streams: Whether the answer is to be streamed.
        field: The field of the body for which it must not be repeated, or that prevents a check.
        brings_references: Whether it can be checked all the same, because its answer includes what
            the provider retrieved for it.
    """

    body: Body
    context: CheckContext
    n: int = 1
    streams: bool = False
    field: str | None = None
    brings_references: bool = False

    @property
    def request(self) -> Request:
        """Its messages and parameters in the format of OpenAI's chat completions."""
        return self.context.request

    @property
    def model(self) -> str | None:
        """The model it requests; None if it names none."""
        model: object = self.body.get("model")
        return model if isinstance(model, str) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of checking one answer.

    Attributes:
        data: The verdict as JSON-ready values, for users; empty for none.
        message: The text that replaces the answer; None if the answer is passed on.
        complete: Whether the message is a rewritten answer; otherwise it says that there is none.
        stops: Whether a message that says so ends like a normal answer; otherwise it ends like one
            that a content filter stopped.
        marks: Marks to insert into the text of an answer that is passed on.
    """

    data: Body
    message: str | None = None
    complete: bool = False
    stops: bool = False
    marks: tuple[Mark, ...] = ()

    @property
    def fields(self) -> Body:
        """The fields to add to a response: the verdict, if there is one."""
        return {"hallucination": self.data} if self.data else {}

    @property
    def withheld(self) -> bool:
        """Whether there is no answer to pass on."""
        return self.message is not None and not self.complete

    @property
    def filtered(self) -> bool:
        """Whether the replacement ends like an answer stopped by a content filter."""
        return not (self.complete or self.stops)


class Api(Protocol):
    """A language model API, as pure functions of JSON values.

    Nothing here assumes that a provider conforms to the API: unparsable parts are left unchanged.
    """

    @property
    def path(self) -> str:
        """The end of the URL's path."""
        ...

    @property
    def takes_n(self) -> bool:
        """Whether a request can ask for several answers."""
        ...

    @property
    def gives_logprobs(self) -> bool:
        """Whether a request can ask for the probabilities of tokens."""
        ...

    def read(self, body: Body) -> ApiRequest:
        """Parse a request."""
        ...

    def with_logprobs(self, body: Body, top: int) -> Body:
        """Return the request with log-probabilities enabled, with `top` alternatives each."""
        ...

    def without_logprobs(self, data: Body) -> Body:
        """Return a response, or the data of an event, without log-probabilities."""
        ...

    def sample(self, api_request: ApiRequest, request: Request, n: int) -> Body:
        """Return the request for samples.

        Args:
            api_request: The request of the main call.
            request: Its request as modified for sampling; see `Request.for_sampling`.
            n: Number of samples to ask for; 1 unless `takes_n`.
        """
        ...

    def fresh(self, body: Body, request: Request) -> Body:
        """Return another request to the model of the main call.

        Args:
            body: The request of the main call, for its model and for parameters that the API
                requires in every request.
            request: The new request, with a conversation of its own or one that continues the main
                call's.
        """
        ...

    def completions(self, response: Body) -> tuple[Completion, ...]:
        """Return the answers in a response, none if it cannot be parsed."""
        ...

    def usage(self, response: Body) -> Usage:
        """Return the tokens and cost a response reports, as one call."""
        ...

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdicts and marks, and with the replaced answers removed.

        Args:
            response: The response.
            outcomes: One for each of its answers, in order.
        """
        ...

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answers, each by its index, with the event in `raw`.

        If the end of an answer repeats the whole of it, that repetition adds nothing.
        """
        ...

    def event_usage(self, event: Event) -> Usage | None:
        """Return the tokens and cost that an event of a stream reports; None if it reports none."""
        ...

    def ends(self, event: Event) -> bool:
        """Return whether an event ends an answer, and so has to wait for the verdict."""
        ...

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        ...

    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text, such as reasoning.

        Citations of the text are none, and neither is what goes with the text in one event: it
        stays behind in `released`.
        """
        ...

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event that opens a stream, with no words of the answer.

        Returns:
            The event; None for one that does not open a stream.
        """
        ...

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words.

        Args:
            event: The event.
            start: The start of the part in its text, in code points.
            stop: The end of the part.
        """
        ...

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released.

        Args:
            event: The event.
            start: The length of that beginning, in code points.
        """
        ...

    def remainder(self, event: Event) -> Event | None:
        """Return what is left of an event whose text was released; None if nothing."""
        ...

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text of our own to the first answer.

        Args:
            seen: The events that the client received; may be empty.
            text: The text.
            whole: Whether these are all of the provider's events, so that the text is a message of
                its own; otherwise it continues the text in them.
        """
        ...

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdicts.

        Args:
            held: The events from the first that ends an answer on.
            outcomes: The outcome of each answer, by its index. A withheld answer was passed on
                before; then the events say that a filter stopped it. Marks were sent after the
                answer.
        """
        ...

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced.

        Args:
            sent: The events that the client received, including those of the replacement.
            ends: The provider's events from the first that ends the answer on, as far as they came.
            outcome: The outcome of the answer.

        Returns:
            Events that contain no words of the answer beyond those in `sent`.
        """
        ...

    def marked_event(self, event: Event, marks: Sequence[Mark], end: int) -> Event:
        """Return an event with marks in the text that it repeats; itself if it repeats none.

        Args:
            event: The event.
            marks: The marks of the answer, in order.
            end: The end of the text that it repeats in the answer's, in code points.
        """
        ...

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Split an event by answer, each part as if that answer were the only one.

        Returns:
            The answers' positions and their events; empty for an event about all of them.
        """
        ...

    def with_index(self, event: Event, index: int) -> Event:
        """Turn an event of a sole answer into one of the answer at a position among several."""
        ...

    def numbered(self, event: Event, position: int) -> Event:
        """Return an event with its position in the stream, from 0."""
        ...


class OneAnswerApi(ABC):
    """Base class for APIs with one answer per request; `Api` documents the methods."""

    takes_n = False

    @abstractmethod
    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        """Return a response with a message, no words of the answer, and the verdict."""

    @abstractmethod
    def _marked(self, response: Body, marks: Sequence[Mark]) -> Body:
        """Return a response with marks in its text."""

    @abstractmethod
    def _chunk(self, event: Event) -> Chunk:
        """Return what an event adds to the answer."""

    @abstractmethod
    def _text_events(self, events: Sequence[Event], added: str) -> list[Event]:
        """Return events that add a text to the one that is open, or begin one."""

    @abstractmethod
    def _notice_events(self, events: Sequence[Event], notice: str) -> list[Event]:
        """Return events that add a message after all others."""

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdict, and without an answer that is replaced."""
        (outcome,) = outcomes
        if outcome.message is None:
            marked = self._marked(response, outcome.marks) if outcome.marks else response
            return {**marked, **outcome.fields}
        return self._replaced(response, outcome.message, outcome)

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answer."""
        return ((0, self._chunk(event)),)

    def remainder(self, event: Event) -> Event | None:
        """Return None: an event of these APIs that adds text says nothing else."""
        del event
        return None

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the answer."""
        return self._notice_events(seen, text) if whole else self._text_events(seen, text)

    def marked_event(self, event: Event, marks: Sequence[Mark], end: int) -> Event:
        """Return the event: only some APIs repeat the text."""
        del marks, end
        return event

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Return the event, which belongs to the only answer."""
        return [(0, event)]

    def with_index(self, event: Event, index: int) -> Event:
        """Return the event, which belongs to the only answer."""
        del index
        return event

    def numbered(self, event: Event, position: int) -> Event:
        """Return the event: only some APIs number theirs."""
        del position
        return event
