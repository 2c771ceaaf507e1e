"""Writes answers and sentences from documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from resay._internal.plurals import counted
from resay.core.claim_verdict import Part
from resay.core.documents import Document
from resay.core.failures import tally
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.segmentation.spans import Span
from resay.engine.check import Check
from resay.engine.regeneration.asked_questions import asked_about
from resay.engine.regeneration.citations import CitedText, parse_citations
from resay.engine.regeneration.plausibility import fits
from resay.engine.regeneration.prompts import repair_prompt, rewrite_request, shortened_question
from resay.engine.regeneration.rechecking import (
    nearest,
)
from resay.engine.regeneration.replacements import Replacement, in_form_of, parse_replacement
from resay.engine.regeneration.search import full_text, named_first
from resay.engine.regeneration.subjects import names_of, subject_of, without_values
from resay.errors import ProviderError
from resay.scorers.common.judge_config import judge_for

_TOKENS_AROUND_SENTENCE = 512
_CONTEXT_CHARS = 300


class DocumentWriter:
    """Writes text on behalf of one answer.

    Args:
        model: The writing model, in litellm's notation; None for the one that wrote the answer.
        check: The check of the request, with its limits, budget and metering.
        edition: The metadata key of the documents' edition; None for the usual keys.
    """

    def __init__(self, model: str | None, check: Check, edition: str | None = None) -> None:
        self._model = model
        self._check = check
        self._edition = edition

    def question(self, documents: Sequence[Document], *, index: int = 0) -> Request:
        """Return the main call's question, to be answered from documents.

        Args:
            documents: The documents to answer from.
            index: The number of the answer, if several are wanted for the same request.
        """
        request = self._check.request
        model = self._model or request.model
        rewritten = rewrite_request(request, documents, self._edition)
        params: Mapping[str, Any] = rewritten.params if self._model is None else {}
        return replace(rewritten, model=model, params=params, index=index)

    async def answer(self, documents: Sequence[Document], *, index: int = 0) -> CitedText:
        """Write a whole answer.

        Args:
            documents: The documents to answer from.
            index: The number of the answer, if several are wanted for the same request.

        Raises:
            ProviderError: The model gave no answer.
        """
        request = self.question(documents, index=index)
        judge = replace(judge_for(self._model, self._check.evidence), request=request)
        return parse_citations((await judge.ask(request.messages)).strip(), len(documents))

    async def repairs(
        self,
        question: str,
        passage: Passage,
        spans: Mapping[int, Span],
        parts: Sequence[Part],
        documents: Sequence[Document],
    ) -> tuple[dict[int, Replacement], str | None]:
        """Write replacements for sentences.

        Args:
            question: The question, understandable without the turns before it.
            passage: The answer that contains them.
            spans: Their spans in it, by any key that identifies them.
            parts: The parts of the answer that are in doubt.
            documents: The documents to correct them by; each prompt shows the nearest ones.

        Returns:
            The replacements obtained, and one line about failures, without content, or None.
        """
        replacements: dict[int, Replacement] = {}
        failures: list[str] = []

        async def repair(key: int, start: int, end: int) -> None:
            inside = [part for part in parts if start <= part.start and part.end <= end]
            try:
                replacement = await self._sentence(
                    question, passage.text, start, end, inside, documents
                )
            except ProviderError as error:
                failures.append(type(error).__name__)
            else:
                if replacement is not None:
                    replacements[key] = replacement

        async with anyio.create_task_group() as tasks:
            for key, (start, end) in spans.items():
                tasks.start_soon(repair, key, start, end)
        missing = len(spans) - len(replacements)
        if not missing:
            return replacements, None
        reason = tally(failures) or "no usable sentence came back"
        error = f"{missing} of {counted(len(spans), 'sentence')} could not be rewritten: {reason}"
        return replacements, error

    async def _sentence(
        self,
        question: str,
        text: str,
        start: int,
        end: int,
        parts: Sequence[Part],
        documents: Sequence[Document],
    ) -> Replacement | None:
        sentence = text[start:end]
        bare = without_values(sentence, question)
        subject = subject_of(bare)
        names = names_of(question, self._check.context.entity)
        about = [subject] if subject else names
        topic = asked_about(question, names, sentence)
        shown = nearest(f"{topic} {bare}", named_first(documents, about))
        prompt = repair_prompt(
            shortened_question(question),
            text[max(start - _CONTEXT_CHARS, 0) : start],
            sentence,
            text[end : end + _CONTEXT_CHARS],
            shown,
            self._edition,
            doubted=[text[part.start : part.end] for part in parts],
        )
        judge = judge_for(self._model, self._check.evidence)
        max_tokens = _TOKENS_AROUND_SENTENCE + 2 * len(sentence)
        replacement = parse_replacement(await judge.ask(prompt, max_tokens=max_tokens), shown)
        if not replacement or not replacement.text:
            return replacement
        evidence = " ".join(map(full_text, shown))
        if not fits(replacement.text, sentence, evidence, f"{text} {evidence}".casefold()):
            return None
        written = in_form_of(replacement.text, sentence)
        # With another number of bars, a table's row would have other columns.
        has_same_cells = written.count("|") == sentence.count("|")
        return replace(replacement, text=written) if has_same_cells else None
