"""Asks a model to write from documents, within the limits of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from resay.core.passage import Passage
from resay.core.query import MAIN_CALL_ONLY, Query
from resay.core.verdict import Document, tally
from resay.engine.check import Check
from resay.engine.regeneration.citing import nearest
from resay.engine.regeneration.repairs import Replacement, replacement_in
from resay.engine.regeneration.writing import Written, repairing, rewriting, unmarked
from resay.errors import ProviderError
from resay.scorers.judging import judge_for

__all__ = ["Writer"]

# What makes an answer something else than words, or more than an answer.
_NOT_WORDS = frozenset(
    {
        "audio",
        "background",
        "container",
        "conversation",
        "function_call",
        "functions",
        "mcp_servers",
        "modalities",
        "parallel_tool_calls",
        "response_format",
        "thread_id",
        "tool_choice",
        "tools",
        "web_search_options",
    }
)
_AROUND = 300
_LONGEST_QUESTION = 4_000


class Writer:
    """Writes on behalf of one answer.

    Args:
        model: Who writes, in litellm's notation; None for the model that wrote the answer.
        check: The check of the request: its limits, its budget and its meters.
    """

    def __init__(self, model: str | None, check: Check) -> None:
        self._model = model
        self._check = check

    def question(self, documents: Sequence[Document], *, index: int = 0) -> Query:
        """Return the question of the main call, to be answered by documents.

        Args:
            documents: What to answer by.
            index: Which of several answers to the same is wanted.
        """
        query = self._check.query or Query(())
        model = self._model or query.model
        return replace(
            rewriting(query, documents), model=model, params=self._params(query), index=index
        )

    async def answer(self, documents: Sequence[Document], *, index: int = 0) -> Written:
        """Write a whole answer.

        Args:
            documents: What to answer by.
            index: Which of several answers to the same is wanted.

        Raises:
            ProviderError: There is no answer.
        """
        query = self.question(documents, index=index)
        judge = replace(judge_for(self._model, self._check.evidence), query=query)
        return unmarked((await judge.ask(query.messages)).strip(), len(documents))

    async def repairs(
        self,
        passage: Passage,
        places: Mapping[int, tuple[int, int]],
        documents: Sequence[Document],
    ) -> tuple[dict[int, Replacement], str | None]:
        """Write sentences in place of others.

        Args:
            passage: The answer they stand in.
            places: Where they stand in it, by whatever tells them apart.
            documents: What to correct them by; of many, each is shown those nearest to it.

        Returns:
            What could be had, and what went wrong in one line without content, or None.
        """
        written: dict[int, Replacement] = {}
        failures: list[str] = []

        async def repair(key: int, start: int, end: int) -> None:
            try:
                found = await self._sentence(passage.text, start, end, documents)
            except ProviderError as error:
                failures.append(type(error).__name__)
            else:
                if found is not None:
                    written[key] = found

        async with anyio.create_task_group() as tasks:
            for key, (start, end) in places.items():
                tasks.start_soon(repair, key, start, end)
        left = len(places) - len(written)
        why = tally(failures) or "no words came back"
        note = f"{left} of {len(places)} sentences could not be rewritten: {why}" if left else None
        return written, note

    async def _sentence(
        self, text: str, start: int, end: int, documents: Sequence[Document]
    ) -> Replacement | None:
        query = self._check.query
        sentence = text[start:end]
        shown = nearest(sentence, documents)
        prompt = repairing(
            _shortened(query.question) if query else "",
            text[max(start - _AROUND, 0) : start],
            sentence,
            text[end : end + _AROUND],
            shown,
        )
        judge = judge_for(self._model, self._check.evidence)
        return replacement_in(await judge.ask(prompt), shown)

    def _params(self, query: Query) -> dict[str, Any]:
        """Return the parameters of the main call that go for a whole answer as well."""
        if self._model is not None:
            return {}
        left_out = MAIN_CALL_ONLY | _NOT_WORDS
        return {k: v for k, v in query.params.items() if k not in left_out}


def _shortened(question: str) -> str:
    # What is asked stands at the beginning of a long message, or at its end.
    if len(question) <= _LONGEST_QUESTION:
        return question
    half = _LONGEST_QUESTION // 2
    return f"{question[:half]} […] {question[-half:]}"
