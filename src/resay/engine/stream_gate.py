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
from resay.core.claims import Claim, is_single_sentence
from resay.core.code.blocks import code_in
from resay.core.growing_passage import FinalText, GrowingPassage
from resay.core.passage import Passage
from resay.core.reasoning_reader import ReasoningReader
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.engine.actions import Answer, Regenerated
from resay.engine.answer_chunk import AnswerChunk
from resay.engine.chain import Chain
from resay.engine.check import Check
from resay.engine.code_names import NameClaim
from resay.engine.decide import unscored_in
from resay.engine.main_call import MainCall, deadline_error
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
    """

    def __init__(
        self,
        policy: Policy,
        chain: Chain,
        check: Check,
        main_call: MainCall,
        tasks: TaskGroup,
        regenerator: Regenerator | None = None,
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
        self._reader = ReasoningReader()
        self._restarts = 0
        # Set once it is known whether the text so far is the answer.
        self._answering = anyio.Event()
        self._scoring: set[anyio.CancelScope] = set()
        self._begin()

    def _begin(self) -> None:
        """Begin to check an answer; what was taken for one before is forgotten."""
        self._finder = self._chain.names(self._check.request.question)
        # Code may import names at its end, so it has to be complete.
        whole_code = self._finder is not None
        self._growing = GrowingPassage(self._policy.splitter, whole_code=whole_code)
        self._names: list[NameClaim] = []
        self._compared: dict[NameClaim, ClaimResult] = {}
        self._states: dict[tuple[int, int], RunState] = {}
        self._waiting: list[FinalText] = []
        self._worth_checking = False
        self._tracker = self._chain.verdict_tracker()
        self._pending: list[AnswerChunk] = []
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
            is_empty = not self._reader.split.answer.strip()
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
            states.append(RunState.of(alone, claims))
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
        with self._scope(held) as scope:
            held.names = await self._chain.compare_names(names, evidence, deadline, before=before)
            self._compared.update((n, e) for n, e in held.names if isinstance(n, NameClaim))
        self._scoring.discard(scope)
        self._mark_scored(held)

    async def _score_one(self, state: RunState, held: _HeldText) -> None:
        with self._scope(held) as scope:
            await self._chain.score(state, self._check.evidence, self._check.deadline)
        self._scoring.discard(scope)
        self._mark_scored(held)

    def _scope(self, held: _HeldText) -> anyio.CancelScope:
        """Return a scope that is cancelled once the text turns out to be no answer."""
        scope = anyio.CancelScope()
        if held.restarts < self._restarts:
            scope.cancel()
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
                in_doubt = any(undecided for _, undecided in views)
                if self._withholds(part, is_invented=is_invented, in_doubt=in_doubt):
                    self._withheld = held
                    self._reading.cancel()
                    break
                self._track(held, [undecided for _, undecided in views], is_invented=is_invented)
                self._pending.append(part)
                # The reasoning before the answer may state what is withheld later.
                is_whole = self._reader.has_reasoning and self._policy.can_withhold
                shows_all = isinstance(self._policy.action, Annotate)
                if not is_whole and (shows_all or not self._tracker.flagged):
                    self._send_pending(parts)
        self._released.set()

    async def _views(self, held: _HeldText) -> list[tuple[SentenceVerdict, frozenset[int]]]:
        """Return the verdicts on held sentences, and which of their claims are in doubt."""
        check = self._check
        views: list[tuple[SentenceVerdict, frozenset[int]]] = []
        for state in held.states:
            views.append(await self._chain.view(state, check.evidence, check.deadline))
            if len(views) % _BATCH_SIZE == 0:
                await anyio.lowlevel.checkpoint()
        return views

    def _track(
        self, held: _HeldText, doubts: Sequence[frozenset[int]], *, is_invented: bool
    ) -> None:
        for state, undecided in zip(held.states, doubts, strict=True):
            for i, result in enumerate(state.results):
                self._tracker.add(result.score, sure=i not in undecided)
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

    def _part(
        self, settled: FinalText, views: Sequence[tuple[SentenceVerdict, frozenset[int]]]
    ) -> AnswerChunk:
        """Return text that became final, with the verdicts on its sentences."""
        sentences = [sentence for sentence, _ in views]
        silent = [
            index
            for index, (sentence, undecided) in zip(settled.sentences, views, strict=True)
            if sentence.score is None and (sentence.reason is None or undecided)
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

    def _send_pending(self, parts: MemoryObjectSendStream[AnswerChunk]) -> None:
        """Release the held text in one part, because its beginning alone might be flagged."""
        held, self._pending = self._pending, []
        text = "".join(part.text for part in held)
        self._shown += len(text)
        sentences = tuple(sentence for part in held for sentence in part.sentences)
        unscored = tuple(stretch for part in held for stretch in part.unscored)
        parts.send_nowait(AnswerChunk(text, sentences, unscored=unscored))

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
        completion, verdict = self._gathered.completion, best.verdict
        answer = self._main_call.apply(self._policy, verdict, completion, text=best.text)
        if answer.blocked:
            parts.send_nowait(AnswerChunk(answer.text, is_replacement=True))
        elif answer.text[self._shown :]:
            # The text already shown cites nothing, so no mark has shifted the rest.
            remaining = answer.text[self._shown :]
            # Inserted marks shift the sentences' offsets.
            same = answer.text == answer.response
            sentences = tuple(s for s in verdict.sentences if same and s.start >= self._shown)
            unscored = _after_offset(verdict.unscored, self._shown) if same else ()
            rewritten = answer.regenerated
            parts.send_nowait(
                AnswerChunk(remaining, sentences, unscored=unscored, rewritten=rewritten)
            )
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
        answer = self._main_call.apply(self._policy, verdict, completion, withheld=withheld)
        # Without waiting: calls in flight must not be answered after usage was counted.
        if answer.blocked:
            parts.send_nowait(AnswerChunk(answer.text, is_replacement=True))
        return answer


def _after_offset(unscored: Sequence[Unscored], start: int) -> tuple[Unscored, ...]:
    """Return the parts of the spans after an offset."""
    return tuple(
        replace(s, text=s.text[max(start - s.start, 0) :], start=max(s.start, start))
        for s in unscored
        if s.end > start
    )
