"""Guards the requests and responses of an API, independent of the client that sends them."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from resay._internal.event_loops import compute, run_sync
from resay._internal.notify import arelay_stream, arelay_verdicts
from resay._internal.telemetry import current_trace_context, use_trace_context
from resay.adapters.buffered_stream import BufferedStream
from resay.adapters.choices import ChoiceStream, FirstOfStream
from resay.adapters.events import SeenEvents, is_unread, words_of
from resay.adapters.outcomes import outcome_of, unchecked_answer, unchecked_outcome
from resay.adapters.own_field import references_in, without_own_field
from resay.adapters.runtime import GuardRuntime
from resay.adapters.stream_parts import aparts_of
from resay.adapters.stream_rewriter import StreamRewriter
from resay.adapters.threads import (
    ASYNC,
    BLOCKING,
    CallStyle,
    in_thread,
    iterate_in_background,
    iterate_in_place,
    read_in_threads,
)
from resay.adapters.unchecked_stream import UncheckedStream
from resay.adapters.upstream import (
    BrokenAnswerError,
    JudgeProvider,
    KnownProvider,
    MainProvider,
    OpenedProvider,
    SampleProvider,
    Send,
    Upstream,
    completions_in,
    is_about_parameters,
    sample_of,
)
from resay.adapters.verdicts import VerdictDetail, failed_check, verdict_cost
from resay.core.blocked import HallucinationBlocked
from resay.core.check_context import CheckContext
from resay.core.decoding import is_greedy
from resay.core.reasoning import notice_after
from resay.core.request import Request
from resay.core.usage import Usage, last_reported
from resay.engine.actions import Answer, withheld_stops, withholding
from resay.engine.answer_chunk import AnswerChunk
from resay.errors import UncheckableError
from resay.guard import Guard
from resay.policy import StreamMode
from resay.providers.apis import (
    Api,
    ApiRequest,
    Body,
    Event,
    Outcome,
    StreamEnd,
    event_without_answer,
    is_error,
    is_error_event,
    without_answer,
)
from resay.providers.base import Completion, Provider, with_counted_tokens
from resay.providers.sources import Sources

Events = Sequence[Event]
"""Events of a stream that arrived together, or are sent together."""


T = TypeVar("T")

# The most events that are sent without a pause.
_MAX_GROUP = 256
# The most answers of one response that serve as samples for each other.
_MAX_OTHERS = 32
# Where the APIs have the question.
_QUESTION_FIELDS = ("messages", "input", "prompt")


def _ignore(answer: Answer) -> None:
    del answer


def _do_nothing() -> None:
    pass


@dataclass(frozen=True, eq=False, repr=False)
class Relay:
    """Guard the requests and responses of one API.

    Attributes:
        guard: The guard.
        api: The API.
        drain: Whether streams are read to their end even if their answer is withheld or the
            check fails, for clients that count a stream's cost as it is read. An answer whose check
            is cut short by the deadline or a bug then passes unchecked, unless the policy says
            `on_error: block`.
        shows_draft: Whether the client may see the text that a regenerated answer replaces.
        detail: How much of the verdict the client gets.
        on_answer: Called with each answer that is sent.
        on_failure: Called if the provider's error is passed on in place of an answer, or of its
            end. Then there is no answer, whatever came of it, and no verdict.
    """

    guard: Guard
    api: Api
    drain: bool = field(default=False, kw_only=True)
    shows_draft: bool = field(default=True, kw_only=True)
    detail: VerdictDetail = field(default="full", kw_only=True)
    on_answer: Callable[[Answer], None] = field(default=_ignore, kw_only=True)
    on_failure: Callable[[], None] = field(default=_do_nothing, kw_only=True)

    @cached_property
    def runtime(self) -> GuardRuntime:
        """The guard, as adapters use it."""
        return GuardRuntime(self.guard)

    def read(self, body: Body, *, tenant: str | None = None, answered: bool = False) -> ApiRequest:
        """Parse a request, and remove the guard's own field.

        Args:
            body: The request.
            tenant: The tenant of the request.
            answered: Whether its answer exists already, so that it is too late to refuse it.

        Raises:
            UncheckableError: Its answer could not be checked, and the policy refuses that.
            ConfigurationError: Its `resay` field is invalid.
        """
        references = references_in(body)
        api_request = self.api.read(without_own_field(body))
        request = api_request.request
        context = replace(
            api_request.context,
            request=request if tenant is None else replace(request, tenant=tenant),
            client_references=references,
            client_body=api_request.body,
        )
        context = self.runtime.with_skip_reason(context)
        field, reason = self._obstacle(api_request, context)
        refuses = reason is not None and self.guard.policy.for_uncheckable == "refuse"
        # What the policy does not check anyway is not refused.
        if refuses and not answered and context.skip_reason is None:
            raise UncheckableError(reason or "", field)
        skips = self.guard.policy.for_uncheckable == "skip"
        if skips and reason is not None:
            context = replace(context, unchecked=reason, uncheckable=None, skip_reason=reason)
        elif reason != context.uncheckable:
            context = replace(context, uncheckable=reason)
        return replace(api_request, context=context)

    def _obstacle(
        self, api_request: ApiRequest, context: CheckContext
    ) -> tuple[str | None, str | None]:
        """Return the field that prevents a check of the answer, and why; both may be None."""
        runtime = self.runtime
        if context.uncheckable:
            return api_request.field, context.uncheckable
        if context.unrepeatable and not self._does_without_samples(api_request, context):
            return api_request.field, context.unrepeatable
        if runtime.required_by("question") and not context.request.question:
            field = next((name for name in _QUESTION_FIELDS if name in api_request.body), None)
            return field, "there is no question to compare with"
        if runtime.required_by("logprobs") and not self.api.gives_logprobs:
            return None, "the API returns no token probabilities"
        return None, None

    def _does_without_samples(self, api_request: ApiRequest, context: CheckContext) -> bool:
        """Return whether an answer can be checked although no samples may be drawn."""
        runtime = self.runtime
        if context.wants_object:
            return False
        if runtime.checks_without_samples or runtime.finds_references:
            return True
        if api_request.brings_references and runtime.compares_documents:
            return True
        return runtime.decides_by_references(context)

    def _sources(self, api_request: ApiRequest, main: Provider, upstream: Upstream) -> Sources:
        judge = JudgeProvider(self.api, api_request.body, upstream)
        samples = SampleProvider(self.api, api_request, upstream)
        via = "native" if self.guard.policy.sampling.model is None else "litellm"
        return Sources(
            main=main,
            samples=samples,
            judge=judge,
            via=upstream.via or via,
            model=api_request.model,
            budget=upstream.budget,
        )

    def main_body(self, api_request: ApiRequest) -> Body:
        """Return the body to send if the main call is sent before the guard runs."""
        if not self._adds_logprobs(api_request):
            return api_request.body
        from resay.scorers.logprobs import alternatives_needed

        return self.api.with_logprobs(
            api_request.body, alternatives_needed(self.guard.policy.chain)
        )

    def _adds_logprobs(self, api_request: ApiRequest) -> bool:
        """Return whether log-probabilities are requested for the check alone."""
        if api_request.request.params.get("logprobs") or api_request.context.wants_object:
            return False
        return self._checks_logprobs

    @cached_property
    def _checks_logprobs(self) -> bool:
        """Whether the check needs log-probabilities, and the API gives them."""
        return self.api.gives_logprobs and self.runtime.required_by("logprobs") is not None

    def answer(
        self, api_request: ApiRequest, send: Callable[[Body], Body], upstream: Upstream
    ) -> Body:
        """Like `aanswer`, but for synchronous callers."""
        reason = api_request.context.skip_reason
        if reason is not None:
            response = send(api_request.body)
            answer = self._unchecked_answer(api_request, response, reason)
            if answer is not None:
                self.runtime.report(answer.verdict, _request_with_model(api_request))
            return self._skipped(response, answer)

        async def send_in_thread(body: Body) -> Body:
            return await in_thread(partial(send, body))

        return run_sync(self.aanswer, api_request, send_in_thread, upstream)

    async def aanswer(
        self, api_request: ApiRequest, send: Send, upstream: Upstream, *, main_first: bool = False
    ) -> Body:
        """Send the main call, check the response and act.

        Args:
            api_request: The parsed request; see `read`.
            send: Sends the main call; only once, unless a parameter is refused that only the check
                needs.
            upstream: How to send the client's other requests.
            main_first: Whether to wait for the main call's success before any other request,
                regardless of the policy: a call that has failed before may fail again.

        Returns:
            The response with its verdict; an empty one unchanged, unless it is withheld.

        Raises:
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was none within `limits.deadline_s`.
            Exception: Any error of `send`.
        """
        reason = api_request.context.skip_reason
        if reason is not None:
            response = await send(api_request.body)
            answer = self._unchecked_answer(api_request, response, reason)
            if answer is not None:
                await self.runtime.areport(answer.verdict, _request_with_model(api_request))
            return self._skipped(response, answer)
        if api_request.n > 1 or main_first:
            return await self.acheck(api_request, await self.send_main(api_request, send), upstream)
        main = MainProvider(self.api, api_request, send, upstream.cost_usd)
        upstream = replace(upstream, budget=self.runtime.new_budget(api_request.request))
        sources = self._sources(api_request, main, upstream)
        try:
            answer = await self.runtime.aask_with(api_request.context, sources)
        except BrokenAnswerError as error:
            return self._error_body(cast("Body", error.error))
        assert answer.completion is not None  # noqa: S101 - there was a main call
        response = cast("Body", answer.completion.raw)
        items = completions_in(self.api, response)
        # More answers than were requested.
        others = await self._check_each(api_request, items, Usage(), upstream, first=1)
        return await self._answered(api_request, response, [answer, *others])

    async def acheck(self, api_request: ApiRequest, response: Body, upstream: Upstream) -> Body:
        """Check an existing response, and act.

        Each of several answers is checked, with the others as its samples. The answer exists
        already: if a check fails, its verdict is inconclusive.

        Args:
            api_request: The request.
            response: The response.
            upstream: How to send the client's other requests.

        Returns:
            The response with its verdict; an empty one unchanged, unless it is withheld.

        Raises:
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
        """
        if is_error(response):
            return self._error_body(response)
        items = completions_in(self.api, response)
        upstream = replace(upstream, budget=self.runtime.new_budget(api_request.request))
        async with arelay_verdicts():
            usage = with_counted_tokens(items, self.api.usage(response))
            answers = await self._check_each(api_request, items, usage, upstream)
        return await self._answered(api_request, response, answers)

    def _error_body(self, response: Body) -> Body:
        """Return a response that is an error, as it is to be passed on."""
        self.on_failure()
        if not self._can_withhold:
            return response
        answer = "".join(item.text for item in self.api.completions(response))
        return without_answer(response, answer)

    def _unchecked_answer(
        self, api_request: ApiRequest, response: Body, reason: str
    ) -> Answer | None:
        """Return the report of a response that is not checked; None if it is an error."""
        if is_error(response):
            return None
        return self._priced_answer(api_request, reason, self.api.usage(response))

    def _priced_answer(self, api_request: ApiRequest, reason: str, usage: Usage) -> Answer:
        priced = self.guard.policy.prices.priced(api_request.model, usage)
        return unchecked_answer(reason, priced)

    def _skipped(self, response: Body, answer: Answer | None) -> Body:
        """Return a response that is not checked, with the verdict that says so."""
        if answer is None:
            self.on_failure()
            return response
        self.on_answer(answer)
        outcome = unchecked_outcome(answer.verdict.reason, self.detail)
        # Without an answer, as of a response that is still queued, the verdict stands in it alike.
        count = len(self.api.completions(response)) if self.api.takes_n else 1
        return self._with_outcomes(response, [outcome] * count)

    async def _answered(
        self, api_request: ApiRequest, response: Body, answers: list[Answer]
    ) -> Body:
        if self._adds_logprobs(api_request):
            response = self.api.without_logprobs(response)
        for answer in answers:
            self.on_answer(answer)
        outcomes = [await self.outcome(answer) for answer in answers]
        return self._with_outcomes(response, outcomes)

    def _with_outcomes(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        # A response that is no object has no place for a verdict.
        if not response and all(outcome.message is None for outcome in outcomes):
            return response
        return self.api.answered(response, outcomes)

    async def outcome(self, answer: Answer) -> Outcome:
        """Return the outcome of an answer for the client."""
        work = partial(
            outcome_of,
            answer,
            stops=withheld_stops(self.guard.policy),
            shows_draft=self.shows_draft,
            detail=self.detail,
        )
        return await compute(work, chars=verdict_cost(answer.verdict))

    async def _check_each(
        self,
        api_request: ApiRequest,
        items: Sequence[Completion],
        usage: Usage,
        upstream: Upstream,
        *,
        first: int = 0,
        passed_on: bool = False,
    ) -> list[Answer]:
        """Check existing answers within one budget; the others are samples for each.

        Args:
            api_request: The request.
            items: The answers.
            usage: Their tokens and cost.
            upstream: How to send the client's other requests.
            first: The index of the first one to check.
            passed_on: Whether they were shown already, so that marks follow them.
        """
        context = api_request.context

        async def check(index: int) -> Answer:
            main = KnownProvider(items[index], usage if index == 0 else Usage())
            samples: list[str] = []
            # By greedy decoding they are all the same.
            if not is_greedy(api_request.request.params):
                others = [*items[:index], *items[index + 1 :]]
                samples = [sample_of(other, context) for other in others[:_MAX_OTHERS]]
            try:
                answer = await self.runtime.aask_with(
                    replace(context, samples=tuple(samples) or None),
                    self._sources(api_request, main, upstream),
                )
            except HallucinationBlocked:
                raise
            except Exception as error:
                verdict = failed_check(error)
                self.runtime.report(verdict, _request_with_model(api_request))
                return self.runtime.apply(items[index].text, verdict, is_passed_on=passed_on)
            if not (passed_on and answer.marks):
                return answer
            marked = self.runtime.apply(answer.response, answer.verdict, is_passed_on=True)
            return replace(answer, text=marked.text, marks=marked.marks)

        return await _gather([check(index) for index in range(first, len(items))])

    async def send_main(self, api_request: ApiRequest, send: Callable[[Body], Awaitable[T]]) -> T:
        """Send the main call before the guard runs, and return the result of `send`.

        Args:
            api_request: The request.
            send: Sends it. Called once more if a parameter is refused that only the check needs.

        Raises:
            Exception: Any error of `send`.
        """
        body = self.main_body(api_request)
        try:
            return await send(body)
        except Exception as error:
            if body is api_request.body or not is_about_parameters(error):
                raise
        return await send(api_request.body)

    def aevents(
        self, api_request: ApiRequest, events: AsyncGenerator[Events], upstream: Upstream
    ) -> AsyncGenerator[Events]:
        """Guard a stream that was opened with the body from `main_body`.

        Args:
            api_request: The request.
            events: The provider's events, in groups that arrived together. Closed at the end.
            upstream: How to send the client's other requests.

        Yields:
            The events to send in their place, in groups that can be sent together.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was no whole answer within `limits.deadline_s`; not raised
                if `drain` is set.
            BrokenAnswerError: The stream ended before its last event.
            Exception: Any error of `events`.
        """
        reason = api_request.context.skip_reason
        if reason is not None:
            return self._pass_on(ASYNC, api_request, events, reason)
        events = self._until_error(ASYNC, events)
        upstream = replace(
            upstream,
            parent_span=current_trace_context(),
            budget=self.runtime.new_budget(api_request.request),
        )
        if api_request.n > 1:
            guarded = self._guard_several(api_request, events, upstream)
        elif self.drain:
            guarded = self._guard_one_and_drain(api_request, events, upstream)
        else:
            guarded = self._guard_one(api_request, events, upstream)
        return arelay_stream(self._with_error_event(api_request, guarded))

    async def _until_error(self, style: CallStyle, events: Any) -> AsyncGenerator[Events]:
        """Yield a stream's events up to the provider's report of an error.

        Raises:
            BrokenAnswerError: It reported one, or the stream ended before its last event.
        """
        end = StreamEnd(self.api)
        can_withhold = self._can_withhold
        before: list[Event] = []
        async with aclosing(style.iterate(events)) as groups:
            async for group in groups:
                for position, event in enumerate(group):
                    if not end.is_over and is_error_event(event):
                        yield group[:position]
                        raise BrokenAnswerError(event, words_of(self.api, [*before, event]))
                    end.note(event)
                    if can_withhold:
                        before.append(event)
                yield group
        if not end.is_complete:
            raise BrokenAnswerError

    async def _with_error_event(
        self, api_request: ApiRequest, events: AsyncGenerator[Events]
    ) -> AsyncGenerator[Events]:
        """Yield events, and at their end the event of a provider's error."""
        try:
            async with aclosing(events):
                async for group in events:
                    for start in range(0, len(group), _MAX_GROUP):
                        yield group[start : start + _MAX_GROUP]
                        # Sending may not wait for anything, and other requests get a turn.
                        await asyncio.sleep(0)
        except BrokenAnswerError as error:
            event = self._passed_error(error)
            if self._can_withhold and self._stream_mode(api_request.request) != "after":
                remove_answer = partial(event_without_answer, event, error.answer)
                event = await compute(remove_answer, chars=len(error.answer))
            yield [event]

    def _passed_error(self, error: BrokenAnswerError) -> Event:
        """Return the provider's own event about an error.

        Raises:
            BrokenAnswerError: There is none.
        """
        if not isinstance(error.error, Event):
            raise error
        self.on_failure()
        return error.error

    async def _pass_on(
        self, style: CallStyle, api_request: ApiRequest, events: Any, reason: str
    ) -> AsyncGenerator[Events]:
        unchecked = UncheckedStream(self.api, reason, self.detail)
        try:
            async with aclosing(self._until_error(style, events)) as groups:
                async for group in groups:
                    passed: list[Event] = []
                    for event in group:
                        passed += unchecked.of(event)
                    yield passed
        except BrokenAnswerError as error:
            yield [self._passed_error(error)]
            return
        answer = self._priced_answer(api_request, reason, unchecked.usage)
        request = _request_with_model(api_request)
        await style.either(self.runtime.report, self.runtime.areport, answer.verdict, request)
        self.on_answer(answer)
        yield unchecked.last()

    async def _guard_one(
        self, api_request: ApiRequest, events: AsyncGenerator[Events], upstream: Upstream
    ) -> AsyncGenerator[Events]:
        seen = SeenEvents(self.api)
        rewriter = self._rewriter(seen)
        first = FirstOfStream(self.api, events)
        main = OpenedProvider(self.api, first.events(), seen)
        try:
            async with aclosing(self._parts(api_request, main, upstream)) as parts:
                async for part in parts:
                    yield await self._events_for(part, api_request, first, rewriter, upstream)
        except BrokenAnswerError:
            if not self._can_withhold:
                yield self._unsent_events(api_request, seen.events, rewriter, first)
            raise

    def _unsent_events(
        self,
        api_request: ApiRequest,
        seen: Sequence[Event],
        rewriter: StreamRewriter,
        first: FirstOfStream,
    ) -> list[Event]:
        """Return the rest of what arrived, checked or not, for a policy that withholds nothing."""
        unsent: list[Event] = []
        for event in seen:
            unsent += rewriter.unchecked_events(event)
        return self._stripped(api_request, [first.with_index(event) for event in unsent])

    @property
    def _can_withhold(self) -> bool:
        return self.guard.policy.can_withhold

    async def _events_for(
        self,
        part: AnswerChunk | Answer,
        api_request: ApiRequest,
        first: FirstOfStream,
        rewriter: StreamRewriter,
        upstream: Upstream,
    ) -> list[Event]:
        """Return the events for a part; at the end, also those of answers nobody requested."""
        outcome = await self.outcome(part) if isinstance(part, Answer) else None
        if isinstance(part, AnswerChunk) and part.is_replacement and not rewriter.text.strip():
            # The text before it may have had to wait, for thoughts that cannot be shown.
            part = replace(part, text=withholding(self.guard.policy).message)

        def rewrite() -> list[Event]:
            return [first.with_index(event) for event in rewriter.of(part, outcome)]

        events = await compute(rewrite, chars=rewriter.cost(part))
        # Answers that come after a withheld one are not sent either.
        if isinstance(part, Answer) and first.others and not part.blocked:
            indices = sorted(first.others)
            others = [first.others[index].completion for index in indices]
            items = [Completion(part.response), *others]
            with use_trace_context(upstream.parent_span):
                answers = await self._check_each(api_request, items, Usage(), upstream, first=1)
            checked = dict(zip(indices, answers, strict=True))
            # Common events, and the end of the stream, come last.
            cut = 0
            for position, event in enumerate(events, start=1):
                if self.api.split(event):
                    cut = position
            events[cut:cut] = await self._last_events(first.others, checked)
        return self._stripped(api_request, events)

    async def _last_events(
        self,
        choices: Mapping[int, ChoiceStream],
        answers: Mapping[int, Answer],
        *,
        passed_on: bool = False,
    ) -> list[Event]:
        """Return the last events of several checked answers, each at its index."""
        events: list[Event] = []
        for index, answer in answers.items():
            self.on_answer(answer)
            outcome = await self.outcome(answer)
            last = choices[index].end(answer, outcome, passed_on=passed_on)
            events += (self.api.with_index(event, index) for event in last)
        return events

    async def _guard_one_and_drain(
        self, api_request: ApiRequest, events: AsyncGenerator[Events], upstream: Upstream
    ) -> AsyncGenerator[Events]:
        first = FirstOfStream(self.api, events)
        async with BufferedStream(first.events()) as incoming:
            rewriter = self._rewriter(SeenEvents(self.api, incoming.seen))
            main = OpenedProvider(self.api, incoming.events(), SeenEvents(self.api))
            check_error: Exception
            try:
                async with aclosing(self._parts(api_request, main, upstream)) as parts:
                    async for part in parts:
                        if isinstance(part, Answer) and (part.blocked or part.regenerated):
                            await incoming.drain()
                        yield await self._events_for(part, api_request, first, rewriter, upstream)
                return
            except HallucinationBlocked:
                await incoming.drain()
                raise
            # All errors in here except the stream's own come from the check.
            except Exception as error:
                if error is incoming.failure:
                    if isinstance(error, BrokenAnswerError) and not self._can_withhold:
                        yield self._unsent_events(api_request, incoming.seen, rewriter, first)
                    raise
                check_error = error
            unchecked = self._unchecked_rest(api_request, incoming, rewriter, check_error)
            async with aclosing(unchecked) as remaining:
                async for part in remaining:
                    if isinstance(part, Event):
                        yield self._stripped(api_request, [first.with_index(part)])
                    else:
                        yield await self._events_for(part, api_request, first, rewriter, upstream)

    async def _unchecked_rest(
        self,
        api_request: ApiRequest,
        incoming: BufferedStream,
        rewriter: StreamRewriter,
        check_error: Exception,
    ) -> AsyncGenerator[Event | AnswerChunk | Answer]:
        """Send the rest of a stream whose check failed, as the policy says."""
        withheld = self.guard.policy.on_error == "block"
        if withheld and self._stream_mode(api_request.request) != "after":
            await incoming.drain()
        else:
            async with aclosing(incoming.events()) as events:
                async for event in events:
                    for unchecked in rewriter.unchecked_events(event):
                        yield unchecked
        verdict = failed_check(check_error)
        self.runtime.report(verdict, _request_with_model(api_request))
        is_passed_on = self._stream_mode(api_request.request) == "after"
        text = rewriter.text
        applied = self.runtime.apply(
            text, verdict, shown=0 if is_passed_on else len(text), is_passed_on=is_passed_on
        )
        answer = replace(applied, response="", text=applied.text if applied.blocked else "")
        self.on_answer(answer)
        if answer.blocked:
            yield AnswerChunk(notice_after(text, answer.message), is_replacement=True)
        for mark in answer.marks:
            yield AnswerChunk.of_mark(mark)
        yield answer

    async def _guard_several(
        self, api_request: ApiRequest, events: AsyncGenerator[Events], upstream: Upstream
    ) -> AsyncGenerator[Events]:
        """Check several answers once all are complete; pass them on before if allowed."""
        passes_on = self.guard.policy.stream_mode == "after"
        choices: dict[int, ChoiceStream] = {}
        common: list[Event] = []
        reports: list[Usage | None] = []
        arrived: list[Event] = []
        try:
            async with aclosing(events):
                async for group in events:
                    passed: list[Event] = []
                    arrived += group
                    for event in group:
                        reports.append(self.api.event_usage(event))
                        parts = self.api.split(event)
                        if not parts and is_unread(self.api, event):
                            # It may belong to any answer.
                            parts = [(0, event)]
                        if not parts:
                            common.append(event)
                        for index, part in parts:
                            choice = choices.setdefault(index, ChoiceStream(self.api))
                            own = choice.add(part, passes_on=passes_on)
                            passed += (self.api.with_index(event, index) for event in own)
                    yield self._stripped(api_request, passed)
        except BrokenAnswerError:
            if not (passes_on or self._can_withhold):
                yield self._stripped(api_request, arrived)
            raise
        if not choices:
            choices[0] = ChoiceStream(self.api)
            for event in common:
                choices[0].add(event, passes_on=False)
            passes_on, common = False, []
        indices = sorted(choices)
        items = [choices[index].completion for index in indices]
        usage = with_counted_tokens(items, last_reported(reports) or Usage(1, cost_usd=None))
        with use_trace_context(upstream.parent_span):
            answers = await self._check_each(
                api_request, items, usage, upstream, passed_on=passes_on
            )
        checked = dict(zip(indices, answers, strict=True))
        last = await self._last_events(choices, checked, passed_on=passes_on)
        # The last of the common events ends the stream.
        yield [*self._stripped(api_request, last), *common]

    def events(
        self, api_request: ApiRequest, events: Generator[Events, None, None], upstream: Upstream
    ) -> Generator[Events, None, None]:
        """Like `aevents`, but for synchronous callers."""
        reason = api_request.context.skip_reason
        if reason is None:
            return iterate_in_background(
                self.aevents(api_request, read_in_threads(events), upstream)
            )
        return iterate_in_place(self._pass_on(BLOCKING, api_request, events, reason))

    def _rewriter(self, seen: SeenEvents) -> StreamRewriter:
        return StreamRewriter(
            self.api,
            seen,
            can_change=self._can_withhold,
            has_marks=self.guard.policy.mark_style != "none",
        )

    async def _parts(
        self, api_request: ApiRequest, main: OpenedProvider, upstream: Upstream
    ) -> AsyncGenerator[AnswerChunk | Answer]:
        stream = self.runtime.astream_with(
            api_request.context,
            self._sources(api_request, main, upstream),
            stream_mode=self._stream_mode(api_request.request),
            every_chunk=True,
            explained=False,
        )
        async with aclosing(aparts_of(stream, use_trace_context(upstream.parent_span))) as parts:
            async for part in parts:
                if isinstance(part, Answer):
                    self.on_answer(part)
                yield part

    def _stream_mode(self, request: Request) -> StreamMode:
        stream_mode = self.guard.policy.stream_mode
        # Held sentences do not match the tokens of the log-probabilities.
        if stream_mode == "hold" and request.params.get("logprobs"):
            return "buffer"
        return stream_mode

    def _stripped(self, api_request: ApiRequest, events: list[Event]) -> list[Event]:
        """Return events without log-probabilities that only the check has asked for."""
        if not self._adds_logprobs(api_request):
            return events
        stripped: list[Event] = []
        for event in events:
            body = self.api.without_logprobs(event.body)
            stripped.append(event if body == event.body else Event(body, event.name))
        return stripped


async def _gather(works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _request_with_model(api_request: ApiRequest) -> Request:
    """Return the request for records, with the model that its body names."""
    return replace(api_request.request, model=api_request.model)
