"""Asks a chat model about each claim (Bespoke-MiniCheck, Granite Guardian, Lynx)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resay.core.grounds import Grounds
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.models.windows import windows
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.chat_prompts import ClaimPrompt, unread_problem
from resay.scorers.grounding.claim_classifier import SUPPORTED_OVER, WordCount

if TYPE_CHECKING:
    from resay.models.remote.chat import ChatModel


@dataclass(frozen=True, slots=True)
class _Group:
    """Documents that are read at once.

    Attributes:
        documents: Their texts.
        reference: The index of the reference that they are from; None if they are from several.
    """

    documents: Sequence[str]
    reference: int | None


@dataclass(frozen=True, slots=True)
class _Support:
    """The probability that documents support a claim, and the index of their reference."""

    probability: float
    reference: int | None


class ChatClaims:
    """Asks a chat model about each claim.

    Args:
        model: The model.
        prompt: Its published prompt.
        chunk: The maximum number of words of a document to read at once; None = all of it.
    """

    def __init__(self, model: ChatModel, prompt: ClaimPrompt, chunk: int | None) -> None:
        self._model = model
        self._prompt = prompt
        self._chunk = chunk

    async def prepare(self) -> None:
        """Check that the server responds."""
        await self._model.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score every claim by the documents that support it best."""
        groups = await self._groups(evidence)
        question = evidence.question.strip()
        claims = [sentence.standalone for sentence in passage.sentences]
        supports = await asyncio.gather(
            *(self._best_support(claim, groups, question, evidence) for claim in claims)
        )
        scores: list[float | None] = []
        reasons: list[str | None] = []
        grounds: list[tuple[Grounds, ...]] = []
        for support in supports:
            if support is None:
                scores.append(None)
                reasons.append(None)
                grounds.append(())
                continue
            scores.append(1.0 - support.probability)
            reasons.append(f"support by the documents: {support.probability:.2f}")
            if support.probability > SUPPORTED_OVER and support.reference is not None:
                grounds.append((Grounds(support.reference, supports=True),))
            else:
                grounds.append(())
        return Scores(
            sentences=tuple(scores),
            reasons=tuple(reasons),
            grounds=tuple(grounds),
            undetermined=scores.count(None),
        )

    async def _groups(self, evidence: Evidence) -> list[_Group]:
        """Return the documents that are read at once."""
        groups: list[_Group] = []
        for reference in await evidence.references.all():
            documents = [reference.text.strip()]
            if self._chunk is not None:
                documents = await windows(await reference.split(), self._chunk, WordCount())
            groups += [_Group([document], reference.index) for document in documents]
        if not self._prompt.together:
            return groups
        everything = [document for group in groups for document in group.documents]
        return [_Group(everything, 0 if len(groups) == 1 else None)]

    async def _best_support(
        self, claim: str, groups: Sequence[_Group], question: str, evidence: Evidence
    ) -> _Support | None:
        requests = [self._prompt.request(claim, group.documents, question) for group in groups]
        answers = await asyncio.gather(*(self._model.answer(request) for request in requests))
        best: _Support | None = None
        for group, request, answer in zip(groups, requests, answers, strict=True):
            probability = self._prompt.support(answer)
            # A document about which the model says nothing could be the one with the support.
            if probability is None:
                problem = unread_problem(self._model.display_name, request, answer)
                evidence.judge_problems.add(problem)
                return None
            if best is None or probability > best.probability:
                best = _Support(probability, group.reference)
        return best
