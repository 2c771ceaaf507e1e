"""Asks a chat model about each claim (Bespoke-MiniCheck, Granite Guardian, Lynx)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.models.windows import windows
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.chat_prompts import ClaimPrompt
from resay.scorers.grounding.claim_classifier import WordCount

if TYPE_CHECKING:
    from resay.models.remote.chat import ChatModel


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
            *(self._best_support(claim, groups, question) for claim in claims)
        )
        scores: list[float | None] = []
        reasons: list[str | None] = []
        for support in supports:
            scores.append(None if support is None else 1.0 - support)
            reasons.append(None if support is None else f"support by the documents: {support:.2f}")
        return Scores(
            sentences=tuple(scores), reasons=tuple(reasons), undetermined=scores.count(None)
        )

    async def _groups(self, evidence: Evidence) -> list[list[str]]:
        """Return the documents that are read at once."""
        documents: list[str] = []
        for reference in await evidence.references.all():
            if self._chunk is None:
                documents.append(reference.text.strip())
            else:
                document = await reference.split()
                documents += await windows(document, self._chunk, WordCount())
        if self._prompt.together:
            return [documents]
        return [[document] for document in documents]

    async def _best_support(
        self, claim: str, groups: list[list[str]], question: str
    ) -> float | None:
        requests = [self._prompt.request(claim, documents, question) for documents in groups]
        answers = await asyncio.gather(*(self._model.answer(request) for request in requests))
        supports: list[float] = []
        for answer in answers:
            support = self._prompt.support(answer)
            # A document about which the model says nothing could be the one with the support.
            if support is None:
                return None
            supports.append(support)
        return max(supports)
