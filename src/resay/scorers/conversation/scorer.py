"""Finds contradictions of what the model itself said in earlier turns (`evidence: conversation`).

Only the model's own turns are compared with; what users say is no evidence. A claim that
contradicts an earlier answer scores 1, and the reason quotes that answer and says which one it is.
All others have no score, so that the next step scores them: that an earlier answer is silent says
nothing, and that it says the same does not make it true. With `facts` by words (`comparison`), with
`prompt` by a judge (`prompt`). The method is ours.

Cost: none with `facts`; with `prompt` one call for an answer that shares words with earlier ones.
Good at: facts told twice in one conversation. Bad at: by words, paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from resay._internal.event_loops import compute
from resay.core.claim_verdict import Part
from resay.core.contradiction import Contradiction, ContraryKind
from resay.core.passage import Passage, Sentence
from resay.core.quantities import negations, quantities
from resay.core.request import Request
from resay.core.scores import Scores
from resay.lang.language import load
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_each, claims_by_prompt
from resay.scorers.common.judge_config import judge_for
from resay.scorers.common.words import stems_of
from resay.scorers.conversation.comparison import Conflict, ConversationComparison
from resay.scorers.conversation.prompt import (
    JudgedClaim,
    conversation_prompt,
    read_conversation_verdicts,
)
from resay.scorers.conversation.turns import EarlierAnswer, earlier_answers
from resay.scorers.evidence import Evidence
from resay.scorers.facts import Facts
from resay.scorers.prompt import Prompt

# Cost of comparing a character, in characters; see `compute`.
_COST = 60
_NO_ANSWER = "the conversation has no earlier answer"
_NO_CONFLICT = "no claim contradicts an earlier answer"
_MAX_QUOTE = 300
_TOKENS_OF_CLAIM = 96


class Conversation:
    """Finds contradictions of what the model said in earlier turns.

    Args:
        config: The settings of the method.
    """

    name: str
    needs: frozenset[Need]
    traits: ClassVar[ScorerTraits] = ScorerTraits(source="conversation", beside_calls=True)

    def __init__(self, config: Facts.Config | Prompt.Config) -> None:
        self.name = config.method_name
        self._config = config
        asks = isinstance(config, Prompt.Config)
        self.needs = frozenset({"judge"}) if asks else frozenset()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare each claim with the model's earlier answers.

        Args:
            passage: The answer, with its claims as its `sentences`.
            evidence: The conversation, and the judge's provider.

        Returns:
            1 for each claim that contradicts an earlier answer, and no score for the others.

        Raises:
            ScorerError: The method asks a judge, and none is available.
        """
        request = evidence.user_request or evidence.request
        answers = earlier_answers(request.messages)
        if not answers:
            return Scores(skip_reason=_NO_ANSWER)
        if isinstance(self._config, Facts.Config):
            compare = partial(_conflicts, passage, request.question, answers)
            chars = len(passage.text) + sum(len(answer.text) for answer in answers)
            return _scores(await compute(compare, chars=_COST * chars))
        return await self._by_judge(self._config, passage, request, answers, evidence)

    async def _by_judge(
        self,
        config: Prompt.Config,
        passage: Passage,
        request: Request,
        answers: Sequence[EarlierAnswer],
        evidence: Evidence,
    ) -> Scores:
        """Ask a judge about the claims that have words in common with earlier answers."""
        told = {stem for answer in answers for stem in stems_of(answer.text)}
        asked = [
            i for i, claim in enumerate(passage.sentences) if told & set(stems_of(claim.standalone))
        ]
        if not asked:
            return _scores([()] * len(passage.sentences))
        judge = judge_for(config.judge, evidence)

        async def ask_about(group: Sequence[int]) -> ParsedAnswer[JudgedClaim]:
            claims = [passage.sentences[index] for index in group]
            return await ask(
                judge.about(claim.standalone for claim in claims),
                conversation_prompt(claims, passage.text, request.messages),
                lambda completion: read_conversation_verdicts(completion, claims, answers),
                load("en").prompts.conversation.again if config.restate else None,
                tokens=_TOKENS_OF_CLAIM,
            )

        parsed = await ask_each(claims_by_prompt(asked), ask_about)
        slots = [slot for answer in parsed for slot in answer.slots]
        verdicts = dict(zip(asked, slots, strict=True))
        conflicts: list[tuple[Conflict, ...]] = []
        for index, claim in enumerate(passage.sentences):
            verdict = verdicts.get(index)
            conflicts.append(() if verdict is None else tuple(_judged(verdict, claim)))
        lost = tuple(index for index, verdict in verdicts.items() if verdict is None)
        scores = _scores(conflicts)
        if lost and not scores.sentences:
            scores = Scores(sentences=(None,) * len(conflicts))
        return replace(
            scores,
            failures=tuple(failure for answer in parsed for failure in answer.failures),
            lost=lost,
            undetermined=sum(answer.undetermined for answer in parsed),
        )


def _judged(verdict: JudgedClaim, claim: Sentence) -> Iterator[Conflict]:
    """Yield what a claim contradicts by the verdict of a judge."""
    if verdict.answer is None:
        return
    start, end = verdict.span or (0, len(claim.text))
    words = claim.text[start:end]
    values = quantities(words)
    kind: ContraryKind = "other"
    if values:
        kind = "date" if all(value.year_or_date for value in values) else "number"
    elif negations(words):
        kind = "negation"
    span = claim.start + start, claim.start + end
    yield Conflict(answer=verdict.answer, text=verdict.quote, span=span, kind=kind)


def _conflicts(
    passage: Passage, question: str, answers: Sequence[EarlierAnswer]
) -> list[tuple[Conflict, ...]]:
    return ConversationComparison(passage, question, answers).conflicts()


def _scores(conflicts: Sequence[tuple[Conflict, ...]]) -> Scores:
    """Return scores for the claims that contradict something, by what each contradicts."""
    if not any(conflicts):
        # Claims without a score go on to the next step; the answer as a whole contradicts nothing.
        return Scores(passage=0.0, passage_reason=_NO_CONFLICT, verdict_reason=_NO_CONFLICT)
    return Scores(
        sentences=tuple(1.0 if of_claim else None for of_claim in conflicts),
        reasons=tuple(_reason(of_claim) for of_claim in conflicts),
        contradictions=tuple(_contradiction(of_claim) for of_claim in conflicts),
        denied=tuple(True if of_claim else None for of_claim in conflicts),
        judged=tuple(tuple(map(_part, of_claim)) for of_claim in conflicts),
        lost=(),
    )


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_QUOTE else f"{words[:_MAX_QUOTE]}…"


def _reason(conflicts: Sequence[Conflict]) -> str | None:
    quotes = [f"{conflict.answer.name}: “{_quote(conflict.text)}”" for conflict in conflicts]
    return f"contradicts {', and '.join(dict.fromkeys(quotes))}" if quotes else None


def _contradiction(conflicts: Sequence[Conflict]) -> Contradiction | None:
    if not conflicts:
        return None
    conflict = conflicts[0]
    return Contradiction(
        source="conversation",
        index=conflict.answer.index,
        text=_quote(conflict.text),
        kind=conflict.kind,
        claim_span=conflict.span,
    )


def _part(conflict: Conflict) -> Part:
    start, end = conflict.span
    return Part(start=start, end=end, band="contradicted", kind=conflict.kind, score=1.0)
