"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from resay.apis.base import Api, Body, Event, Outcome, Request
from resay.apis.reading import text
from resay.apis.responses_output import (
    KEY,
    response_without_logprobs,
    said_calls,
    said_logprobs,
    said_text,
    stopped_by,
    usage_in,
    withheld_response,
)
from resay.apis.responses_request import (
    asking_logprobs,
    fresh_request,
    read_request,
    sample_request,
)
from resay.apis.responses_stream import (
    chunk_of,
    ending_events,
    ends_answer,
    event_without_logprobs,
    noting_events,
    placed_event,
    saying_events,
    silent_event,
    tells_more,
    withholding_events,
)
from resay.providers.base import Chunk, Completion
from resay.query import Query
from resay.verdict import Usage

__all__ = ["RESPONSES"]

# A response that is still being made, or never was, answers nothing.
_NO_ANSWER = frozenset({"cancelled", "failed", "in_progress", "queued"})


class _Responses:
    path = "/responses"
    takes_n = False
    gives_logprobs = True

    def read(self, body: Body) -> Request:
        return read_request(body)

    def asking_logprobs(self, body: Body, top: int) -> Body:
        return asking_logprobs(body, top)

    def without_logprobs(self, data: Body) -> Body:
        return response_without_logprobs(event_without_logprobs(data))

    def sample(self, request: Request, query: Query, n: int) -> Body:
        del n
        return sample_request(request, query)

    def fresh(self, model: object, query: Query) -> Body:
        return fresh_request(model, query)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        unread = not isinstance(response.get("output"), list)
        if unread or text(response.get("status")) in _NO_ANSWER:
            return ()
        completion = Completion(
            said_text(response),
            stopped_by(response),
            said_logprobs(response),
            response,
            said_calls(response),
        )
        return (completion,)

    def usage(self, response: Body) -> Usage:
        return usage_in(response) or Usage(1, cost_usd=None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        (outcome,) = outcomes
        if outcome.message is None:
            return {**response, KEY: outcome.data}
        return withheld_response(response, outcome.message, outcome)

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        return ((0, chunk_of(event)),)

    def ends(self, event: Event) -> bool:
        return ends_answer(event)

    def tells_more(self, event: Event) -> bool:
        return tells_more(event)

    def framed(self, event: Event) -> Event:
        return event

    def silent(self, event: Event) -> Event | None:
        return silent_event(event)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        return noting_events(seen, text) if whole else saying_events(seen, text)

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        return ending_events(held, outcomes.get(0))

    def withholding(self, seen: Sequence[Event], shown: str, outcome: Outcome) -> list[Event]:
        return withholding_events(seen, shown, outcome)

    def apart(self, event: Event) -> list[tuple[int, Event]]:
        return [(0, event)]

    def together(self, event: Event, place: int) -> Event:
        del place
        return event

    def placed(self, event: Event, position: int) -> Event:
        return placed_event(event, position)


RESPONSES: Api = _Responses()
"""`POST /responses`."""
