"""Streams that hold each sentence until it is scored, while later ones are being written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from resay._internal.event_loops import compute
from resay.core.claim_verdict import ClaimVerdict
from resay.core.claims import Claim, is_single_sentence
from resay.core.code.blocks import code_in
from resay.core.growing_passage import FinalText, GrowingPassage
from resay.core.marks import with_marks
from resay.core.non_claims import says_anything
from resay.core.passage import Passage
from resay.core.reasoning import notice_after
from resay.core.reasoning_reader import ReasoningReader
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.engine.actions import Answer, Regenerated
from resay.engine.answer_chunk import AnswerChunk
from resay.engine.caveats import Caveat, caveats_in
from resay.engine.chain import Chain, SentenceView
from resay.engine.check import Check
from resay.engine.code_names import NameClaim
from resay.engine.decide import unscored_in
from resay.engine.main_call import MainCall, deadline_error
from resay.engine.marks import MarkWriter, begins_like_data
from resay.engine.reasoning import unscored_reasoning
from resay.engine.regeneration.base import Regenerator
from resay.engine.regeneration.whole_text import regenerate
from resay.engine.state import ClaimResult, RunState
from resay.policy import Annotate, Block, Policy
from resay.providers.base import Gathered, open_stream

# Cost for `compute` of joining a sentence's scores with the others, in characters.
_JOIN_COST = 100
# Number of sentences processed before other tasks on the event loop get a turn.
_BATCH_SIZE = 8


@dataclass(slots=True)
class _HeldText:
    """Text waiting for the scores of its sentences.

    restarts: How often text turned out to be no answer before this text was held.
    """

    settled: FinalText
    states: list[RunState]
    left: int
    restarts: int
    names: Sequence[tuple[Claim, ClaimResult]] = ()
    scored: anyio.Event = field(default_factory=anyio.Event)


class StreamGate:
    """Holds each sentence until it is scored, while later ones are still being written.

    If a flagged answer is not returned as it is, a sentence is held for as long as the response
    would be flagged if it ended there. The end is held until the passage is decided.

    Args:
        policy: The policy.
        chain: The policy's chain.
        check: The check of this request.
        main_call: The main call.
        tasks: The task group for scoring.
        regenerator: Repairs the answer from its first flagged sentence on; None for a policy that
            does not regenerate.
        explained: Whether parts say what is wrong with their flagged sentences; marks always do.
    """

    def __init__(
        self,
        policy: Policy,
        chain: Chain,
        check: Check,
        main_call: MainCall,
        tasks: TaskGroup,
        regenerator: Regenerator | None = None,
        *,
        explained: bool = True,
    ) -> None:
        self._policy = policy
        self._chain = chain
        self._check = check
        self._main_call = main_call
        self._tasks = tasks
        self._gathered = Gathered()
        self._rules = chain.rules(check.request.question)
        self._claims = 0
        self._reading = anyio.CancelScope(deadline=check.deadline)
        self._released = anyio.Event()
        self._withheld: _HeldText | None = None
        self._regenerator = regenerator
        self._shown = 0
        self._marks = policy.mark_style != "none"
        self._explained = explained or self._marks
        self._writer = MarkWriter(policy.mark_style)
        self._reader = ReasoningReader()
        self._restarts = 0
        # Set once it is known whether the text so far is the answer.
        self._answering = anyio.Event()
        self._scoring: set[anyio.CancelScope] = set()
        self._begin()

    def _begin(self) -> None:
        """Begin to check an answer; what was taken for one before is forgotten."""
        self._finder = self._chain.names(self._check.request.question)
        # Code may import names at its end, and marks stand below it, so it has to be complete.
        whole_code = self._finder is not None or self._marks
        self._growing = GrowingPassage(self._policy.splitter, whole_code=whole_code)
        self._names: list[NameClaim] = []
        self._compared: dict[NameClaim, ClaimResult] = {}
        self._states: dict[tuple[int, int], RunState] = {}
        self._waiting: list[FinalText] = []
        self._worth_checking = False
        self._tracker = self._chain.verdict_tracker()
        self._pending: list[AnswerChunk] = []
        self._pending_caveats: list[Caveat] = []
        for scope in self._scoring:
            scope.cancel()

    async def run(self, parts: MemoryObjectSendStream[AnswerChunk]) -> Answer:
        """Stream the answer.

        Args:
            parts: Where to send its parts.

        Returns:
            The answer, checked.

        Raises:
            ProviderError: The model gave no complete answer.
            DeadlineExceededError: It was not complete within `limits.deadline_s`.
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
        """
        sender, receiver = anyio.create_memory_object_stream[_HeldText](math.inf)
        self._tasks.start_soon(self._release, receiver, parts)
        with sender:
            try:
                last = await self._read(sender, parts)
            finally:
                self._answering.set()
        await self._released.wait()
        if self._withheld is not None:
            return await self._conclude_withheld(self._withheld, parts)
        if last is None:
            completion = await self._gathered.whole()
            verdict = await self._check.run(completion)
            return self._finish(Regenerated(completion.text, verdict), parts)
        await last.scored.wait()
        return await self._conclude(last, parts)

    async def _read(
        self, sender: MemoryObjectSendStream[_HeldText], parts: MemoryObjectSendStream[AnswerChunk]
    ) -> _HeldText | None:
        """Read the response and return its end; None if there is nothing to check."""
        with self._reading:
            async with open_stream(self._main_call.provider, self._main_call.request) as chunks:
                async for chunk in chunks:
                    if chunk.references and not self._gathered.text:
                        await self._check.add_retrieved(chunk.references)
                    self._gathered.add(chunk)
                    if not (chunk.text or self._policy.can_withhold):
                        # Nothing without text has to wait for a score.
                        parts.send_nowait(AnswerChunk(""))
                    await self._feed(self._reader.feed(chunk.text), sender, parts)
                    # Chunks that have arrived already are read without waiting. Let other tasks run
                    # in between, above all those that release earlier text.
                    await anyio.lowlevel.checkpoint()
            await self._feed(self._reader.finish(), sender, parts)
            settled = await self._growing.afinish()
            if (await self._gathered.whole()).was_cut:
                settled = self._without_cut_end(settled)
            # Without words there is nothing to score, as in an answer that is not streamed.
            is_empty = not says_anything(self._reader.split.answer)
            if is_empty or not await self._is_worth_checking(settled):
                return None
            last = self._waiting.pop()
            await self._hold(sender)
            return await self._score(last, is_end=True)
        if self._withheld is None:
            raise deadline_error(self._main_call.request, self._policy)
        return None

    async def _feed(
        self,
        answer: str,
        sender: MemoryObjectSendStream[_HeldText],
        parts: MemoryObjectSendStream[AnswerChunk],
    ) -> None:
        """Hold the text that has become final with the next part of the answer.

        Args:
            answer: The part. All of the answer so far if what came before was none.
            sender: Where to send held text.
            parts: Where to send reasoning, if it may be shown without a check.
        """
        if self._reader.restarts > self._restarts:
            self._restarts = self._reader.restarts
            self._begin()
        if self._reader.has_reasoning:
            self._answering.set()
            if not self._policy.can_withhold:
                self._show_reasoning(parts)
        settled = await self._growing.afeed(answer)
        if settled is not None and await self._is_worth_checking(settled):
            await self._hold(sender)

    def _without_cut_end(self, settled: FinalText) -> FinalText:
        """Return the end of an answer that was cut off, without what is not known to be whole."""
        passage = self._check.cut_end(settled.passage)
        count = len(passage.sentences)
        return replace(
            settled,
            passage=passage,
            sentences=tuple(index for index in settled.sentences if index < count),
            changed=tuple(index for index in settled.changed if index < count),
        )

    def _show_reasoning(self, parts: MemoryObjectSendStream[AnswerChunk]) -> None:
        """Send the reasoning before the answer, as far as it was not sent yet."""
        start = self._reader.start
        if start <= self._shown:
            return
        text = self._reader.since(self._shown)[: start - self._shown]
        unscored = unscored_reasoning(text, [(0, len(text))])
        moved = tuple(stretch.moved(self._shown) for stretch in unscored)
        self._shown = start
        parts.send_nowait(AnswerChunk(text, unscored=moved))

    async def _is_worth_checking(self, settled: FinalText) -> bool:
        """Store new text; return whether the policy wants it checked, as far as is known."""
        self._waiting.append(settled)
        if not self._worth_checking:
            self._worth_checking = await self._check.skip_reason(settled.passage) is None
        return self._worth_checking

    async def _hold(self, sender: MemoryObjectSendStream[_HeldText]) -> None:
        for settled in self._waiting if self._withheld is None else ():
            held = await self._score(settled)
            # Once something is withheld, nobody receives at the other end.
            if self._withheld is None:
                sender.send_nowait(held)
        self._waiting.clear()

    async def _score(self, settled: FinalText, *, is_end: bool = False) -> _HeldText:
        is_all = is_end and not self._states and is_single_sentence(settled.passage)
        states: list[RunState] = []
        for index in settled.sentences:
            alone = settled.passage.only([index])
            claims = self._rules.read(alone.sentences[0], 0, alone=is_all)
            states.append(RunState.of(alone, claims, skips_sources=self._chain.skips_sources))
            if len(states) % _BATCH_SIZE == 0:
                await anyio.lowlevel.checkpoint()
        before = tuple(self._names)
        names = self._names_in(settled, is_end=is_end)
        held = _HeldText(settled, states, len(states) + bool(names), self._restarts)
        for state in states:
            sentence = state.passage.sentences[0]
            self._states[sentence.start, sentence.end] = state
            self._claims += len(state.claims)
        self._check.raise_limits(self._claims)
        if names:
            self._tasks.start_soon(self._compare_names, names, before, held)
        for count, state in enumerate(states, 1):
            self._tasks.start_soon(self._score_one, state, held)
            if count % _BATCH_SIZE == 0:
                await anyio.lowlevel.checkpoint()
        if not held.left:
            held.scored.set()
        return held

    def _names_in(self, settled: FinalText, *, is_end: bool) -> tuple[NameClaim, ...]:
        """Find the names in code that became final."""
        if self._finder is None:
            return ()
        passage = settled.passage
        sentences = passage.only(settled.sentences).sentences
        placed = zip(settled.sentences, sentences, strict=True)
        code = code_in(placed, passage.unscored(settled.start))
        names = self._finder.read(code)
        if is_end and self._gathered.completion.was_cut:
            end = len(passage.text)
            names = tuple(name for name in names if name.end < end)
        self._names += names
        return names

    async def _compare_names(
        self, names: Sequence[NameClaim], before: Sequence[NameClaim], held: _HeldText
    ) -> None:
        evidence, deadline = self._check.evidence, self._check.deadline
        with self._scope() as scope:
            held.names = await self._chain.compare_names(names, evidence, deadline, before=before)
            self._compared.update((n, e) for n, e in held.names if isinstance(n, NameClaim))
        self._scoring.discard(scope)
        self._mark_scored(held)

    async def _score_one(self, state: RunState, held: _HeldText) -> None:
        with self._scope() as scope:
            await self._chain.score(state, self._check.evidence, self._check.deadline)
        self._scoring.discard(scope)
        self._mark_scored(held)

    def _scope(self) -> anyio.CancelScope:
        """Return a scope that is cancelled once the text so far turns out to be no answer."""
        # The task that enters it begins before more of the text is read.
        scope = anyio.CancelScope()
        self._scoring.add(scope)
        return scope

    def _mark_scored(self, held: _HeldText) -> None:
        held.left -= 1
        if not held.left:
            held.scored.set()

    async def _release(
        self,
        receiver: MemoryObjectReceiveStream[_HeldText],
        parts: MemoryObjectSendStream[AnswerChunk],
    ) -> None:
        with receiver:
            async for held in receiver:
                await held.scored.wait()
                if self._check.begins_unopened:
                    # This may be reasoning too, which only its end shows.
                    await self._answering.wait()
                views = await self._views(held)
                if held.restarts < self._restarts:
                    continue
                part = self._part(held.settled, views)
                is_invented = self._chain.flags_names(held.names, self._check.evidence)
                in_doubt = any(view.in_doubt for view in views)
                if self._withholds(part, is_invented=is_invented, in_doubt=in_doubt):
                    self._withheld = held
                    self._reading.cancel()
                    break
                self._track(held, views, is_invented=is_invented)
                self._pending.append(part)
                self._pending_caveats += self._caveats(part, held, views)
                # The reasoning before the answer may state what is withheld later.
                is_whole = self._reader.has_reasoning and self._policy.can_withhold
                # Whether an answer is data, which is not marked, shows at its end.
                is_whole = is_whole or (self._marks and begins_like_data(self._pending[0].text))
                # So does whether it claims nothing, after which nothing is marked.
                is_whole = is_whole or (
                    bool(self._pending_caveats) and not self._tracker.has_claims
                )
                shows_all = isinstance(self._policy.action, Annotate)
                if not is_whole and (shows_all or not self._tracker.flagged):
                    self._send_pending(parts)
        self._released.set()

    async def _views(self, held: _HeldText) -> list[SentenceView]:
        """Return the results for held sentences."""
        check = self._check
        views: list[SentenceView] = []
        for state in held.states:
            view = await self._chain.view(
                state, check.evidence, check.deadline, explained=self._explained
            )
            views.append(view)
            if len(views) % _BATCH_SIZE == 0:
                await anyio.lowlevel.checkpoint()
        return views

    def _track(self, held: _HeldText, views: Sequence[SentenceView], *, is_invented: bool) -> None:
        for state, view in zip(held.states, views, strict=True):
            for i, result in enumerate(state.results):
                self._tracker.add(result.score, sure=i not in view.in_doubt)
        if is_invented:
            self._tracker.flag()

    def _withholds(self, part: AnswerChunk, *, is_invented: bool, in_doubt: bool) -> bool:
        """Return whether a part is withheld regardless of the text after it."""
        policy = self._policy
        # A correction may still clear a flagged sentence.
        decided = isinstance(policy.action, Block) and not self._chain.corrects_late
        return (
            (decided and any(sentence.flagged for sentence in part.sentences))
            or (is_invented and isinstance(policy.action, Block))
            or (policy.on_error == "block" and in_doubt)
            or (policy.on_unscored == "block" and bool(part.unscored))
        )

    def _part(self, settled: FinalText, views: Sequence[SentenceView]) -> AnswerChunk:
        """Return text that became final, with the verdicts on its sentences."""
        sentences = [view.verdict for view in views]
        silent = [
            index
            for index, view in zip(settled.sentences, views, strict=True)
            if view.verdict.score is None and (view.verdict.reason is None or view.in_doubt)
        ]
        unscored = unscored_in(settled.passage, silent, start=settled.start)
        if not self._reader.has_reasoning:
            return AnswerChunk(settled.text, tuple(sentences), unscored=unscored)
        start = self._reader.start
        # The text itself, which may have more reasoning where the answer has none.
        text = self._reader.since(start + settled.start)[: len(settled.text)]
        moved = tuple(sentence.moved(start) for sentence in sentences)
        return AnswerChunk(
            text, moved, unscored=tuple(stretch.moved(start) for stretch in unscored)
        )

    def _caveats(
        self, part: AnswerChunk, held: _HeldText, views: Sequence[SentenceView]
    ) -> list[Caveat]:
        """Return what a reader of a part is warned of."""
        if not self._marks:
            return []
        start = self._reader.start if self._reader.has_reasoning else 0
        claims: list[ClaimVerdict] = []
        for index, view in enumerate(views):
            for claim in view.claims:
                # Its sentence is the only one of its state.
                moved = claim.moved(start)
                claims.append(replace(moved, claim=replace(moved.claim, sentence=index)))
        names = self._chain.name_verdicts(held.names, self._check.evidence)
        claims += (name.moved(start) for name in names)
        return caveats_in(
            self._reader.since(0),
            part.sentences,
            claims,
            part.unscored,
            warns_of_unscored=self._policy.on_unscored != "allow",
        )

    def _send_pending(self, parts: MemoryObjectSendStream[AnswerChunk]) -> None:
        """Release the held text in one part, because its beginning alone might be flagged."""
        held, self._pending = self._pending, []
        caveats, self._pending_caveats = self._pending_caveats, []
        chunk = AnswerChunk(
            text="".join(part.text for part in held),
            sentences=tuple(sentence for part in held for sentence in part.sentences),
            unscored=tuple(stretch for part in held for stretch in part.unscored),
        )
        marks = self._writer.add(caveats, self._reader.since(0)) if caveats else []
        for piece in chunk.marked(marks, self._shown) if marks else [chunk]:
            parts.send_nowait(piece)
        self._shown += len(chunk.text)

    async def _conclude_withheld(
        self, held: _HeldText, parts: MemoryObjectSendStream[AnswerChunk]
    ) -> Answer:
        """Return the answer with the results up to the withheld sentence."""
        state = await self._joined_state(held.settled.passage)
        verdict = await self._check.conclude(state, self._reader.split)
        return self._finish_withheld(verdict, parts)

    async def _conclude(
        self, last: _HeldText, parts: MemoryObjectSendStream[AnswerChunk]
    ) -> Answer:
        """Decide about the passage, then release or withhold its end."""
        state = await self._joined_state(last.settled.passage)
        completion = await self._gathered.whole()
        verdict = await self._check.finish(state, completion)
        best = Regenerated(completion.text, verdict)
        if self._regenerator is not None and verdict.flagged and not verdict.flagged_names:
            best = await regenerate(
                self._regenerator, best.text, verdict, self._check, shown=self._shown
            )
        return self._finish(best, parts)

    def _finish(self, best: Regenerated, parts: MemoryObjectSendStream[AnswerChunk]) -> Answer:
        """Send the text that was not shown yet, repaired or not."""
        shown_marks = tuple(self._writer.marks)
        answer = self._main_call.apply(
            self._policy,
            best.verdict,
            self._gathered.completion,
            text=best.text,
            shown=self._shown,
            writer=self._writer,
        )
        if answer.blocked:
            return self._with_message(answer, best.text, parts)
        verdict = answer.verdict
        # Other marks shift the offsets of the sentences.
        same = bool(answer.marks) or answer.text == answer.response
        text = answer.response
        if not same:
            # The text already shown cites nothing, so no citation has shifted the rest.
            text = answer.text[sum(len(mark.text) for mark in shown_marks) :]
        chunk = AnswerChunk(
            text=text[self._shown :],
            sentences=tuple(s for s in verdict.sentences if same and s.start >= self._shown),
            unscored=_after_offset(verdict.unscored, self._shown) if same else (),
            rewritten=answer.regenerated,
        )
        for piece in chunk.marked(answer.marks[len(shown_marks) :], self._shown):
            parts.send_nowait(piece)
        return answer

    async def _joined_state(self, passage: Passage) -> RunState:
        def join() -> RunState:
            states = [self._states[s.start, s.end] for s in passage.sentences]
            self._states.clear()
            state = RunState.joined(passage, states)
            end = passage.pieces[-1].end if passage.pieces else 0
            compared = self._compared.items()
            state.names = [(name, result) for name, result in compared if name.end <= end]
            return state

        return await compute(join, chars=_JOIN_COST * len(self._states))

    def _finish_withheld(
        self, verdict: Verdict, parts: MemoryObjectSendStream[AnswerChunk]
    ) -> Answer:
        """Send the message in place of withheld text, if anything was withheld."""
        completion, withheld = self._gathered.completion, self._withheld is not None
        answer = self._main_call.apply(
            self._policy, verdict, completion, withheld=withheld, shown=self._shown
        )
        # Without waiting: calls in flight must not be answered after usage was counted.
        return self._with_message(answer, completion.text, parts) if answer.blocked else answer

    def _with_message(
        self, answer: Answer, text: str, parts: MemoryObjectSendStream[AnswerChunk]
    ) -> Answer:
        """Send the message in place of withheld text; return the answer with all that was shown."""
        shown = text[: self._shown]
        notice = notice_after(shown, answer.message)
        parts.send_nowait(AnswerChunk(notice, is_replacement=True))
        return replace(answer, text=f"{with_marks(shown, self._writer.marks)}{notice}")


def _after_offset(unscored: Sequence[Unscored], start: int) -> tuple[Unscored, ...]:
    """Return the parts of the spans after an offset."""
    return tuple(
        replace(s, text=s.text[max(start - s.start, 0) :], start=max(s.start, start))
        for s in unscored
        if s.end > start
    )
