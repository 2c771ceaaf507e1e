"""Asks a chat model for the spans of an answer without support (LettuceDetect, generative)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from resay.core.claim_verdict import PartError
from resay.core.passage import Passage
from resay.core.scores import Scores, UnsupportedSpan
from resay.models.chat import ChatAnswer, ChatRequest
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.chat_prompts import json_object_in, unread_problem
from resay.scorers.judge_problems import JudgeProblem

if TYPE_CHECKING:
    from resay.models.remote.chat import ChatModel

# The prompt that the models were trained with, to the letter.
_SYSTEM = """You are an expert annotator who identifies hallucinated spans in a generated answer \
with respect to a given context (the only trusted evidence). A hallucinated span is a substring of \
the answer that is not supported by the context. Spans consistent with the context are not \
hallucinations.

Quote each hallucinated span verbatim from the answer and classify it into exactly one category \
and one subcategory.

Categories (the kinds of unsupported span):
- contradiction: conflicts with the context (a wrong value, number, date, name, or relationship)
- fabricated_reference: an entity, name, identifier, or section that is absent from the context
- unsupported_addition: a claim, detail, or behavior the context never states

Subcategories:
- entity: a wrong or invented name, entity, or object
- temporal: an incorrect date, time, duration, or ordering
- numerical: an incorrect number, quantity, or amount
- value: a wrong value, setting, or attribute value
- relational: an incorrect relationship or association between things
- identifier: an invented identifier or name not found in the context
- section: a reference to a section, part, or location that does not exist
- attribute: an invented or incorrect attribute or property
- claim: an added factual claim the context does not support
- behavior: an added or changed action or behavior the context never states
- elaboration: extra detail or elaboration beyond what the context supports
- subjective: an unsupported subjective or evaluative statement
- unspecified: unsupported, with no more specific subtype

Reply with ONLY a JSON object (no markdown, no code fences): {"hallucinated_spans": [{"text": \
"...", "category": "...", "subcategory": "..."}]}. If nothing is unsupported, reply \
{"hallucinated_spans": []}."""
_ERRORS: Mapping[str, PartError] = {
    "contradiction": "contradiction",
    "fabricated_reference": "invention",
    "unsupported_addition": "addition",
}
_SPANS = "hallucinated_spans"
_MAX_TOKENS = 2048


class ChatSpans:
    """Asks a chat model for the spans of an answer without support.

    Args:
        model: The model.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def prepare(self) -> None:
        """Check that the server responds."""
        await self._model.prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score every claim by whether a span in it has no support."""
        documents = [reference.text.strip() for reference in await evidence.references.all()]
        request = span_request(passage.text, documents, evidence.question.strip())
        answer = await self._model.answer(request)
        quotes = _quotes(answer)
        if quotes is None:
            problem = unread_problem(self._model.display_name, request, answer)
            evidence.judge_problems.add(problem)
            return Scores((None,) * len(passage.sentences), undetermined=1)
        spans = _locate(quotes, passage.text)
        if quotes and not spans:
            # It found something, but not in this answer.
            problem = JudgeProblem(
                role="model",
                model=self._model.display_name,
                what_happened="quotes words that it was not asked about",
                is_about_answer=True,
            )
            evidence.judge_problems.add(problem)
            return Scores((None,) * len(passage.sentences), undetermined=1)
        scores: list[float] = []
        spans_by_claim: list[tuple[UnsupportedSpan, ...]] = []
        for claim in passage.sentences:
            overlapping = _overlapping(spans, claim.start, claim.end, passage.text)
            scores.append(1.0 if overlapping else 0.0)
            spans_by_claim.append(overlapping)
        return Scores(
            sentences=tuple(scores),
            spans=tuple(spans_by_claim),
            reasons=tuple(_reason(of_claim, passage.text) for of_claim in spans_by_claim),
            denied=tuple(_is_denied(of_claim) for of_claim in spans_by_claim),
        )


def span_request(answer: str, documents: Sequence[str], question: str) -> ChatRequest:
    """Return the request about an answer.

    Args:
        answer: The answer.
        documents: The documents.
        question: The question; empty if there is none.
    """
    context = "\n\n".join(documents)
    asked = f"User request: {question}\n\n" if question else ""
    user = f"{asked}{context}\n\nAnswer to verify:\n{answer}"
    return ChatRequest(messages=[("system", _SYSTEM), ("user", user)], max_tokens=_MAX_TOKENS)


def _quotes(answer: ChatAnswer) -> list[tuple[str, PartError | None]] | None:
    """Return the quoted spans and their errors; None if the answer cannot be read."""
    if answer.was_cut:
        return None
    spans = (json_object_in(answer.text, _SPANS) or {}).get(_SPANS)
    if not isinstance(spans, list):
        return None
    quotes: list[tuple[str, PartError | None]] = []
    for span in cast("list[object]", spans):
        if isinstance(span, Mapping):
            fields = cast("Mapping[str, object]", span)
            text = fields.get("text")
            if isinstance(text, str) and text.strip():
                quotes.append((text.strip(), _ERRORS.get(str(fields.get("category")))))
    return quotes


def _locate(quotes: Sequence[tuple[str, PartError | None]], text: str) -> list[UnsupportedSpan]:
    """Return the spans of the quotes, each the first that none before it has taken."""
    spans: list[UnsupportedSpan] = []
    for quote, error in quotes:
        start = text.find(quote)
        while start != -1:
            end = start + len(quote)
            if not any(start < span.end and span.start < end for span in spans):
                spans.append(UnsupportedSpan(start=start, end=end, score=1.0, error=error))
                break
            start = text.find(quote, start + 1)
    return spans


def _overlapping(
    spans: Sequence[UnsupportedSpan], start: int, end: int, text: str
) -> tuple[UnsupportedSpan, ...]:
    """Return what of the spans is in a claim."""
    overlapping: list[UnsupportedSpan] = []
    for span in spans:
        first, last = max(span.start, start), min(span.end, end)
        if first < last and text[first:last].strip(" \n.,;:"):
            overlapping.append(
                UnsupportedSpan(start=first, end=last, score=span.score, error=span.error)
            )
    return tuple(overlapping)


def _reason(spans: Sequence[UnsupportedSpan], text: str) -> str:
    if not spans:
        return "the documents support each of its words"
    phrases: list[str] = []
    for span in spans:
        words = f'"{text[span.start : span.end]}"'
        phrases.append(f"{words} ({span.error})" if span.error else words)
    return f"no document supports {', '.join(phrases)}"


def _is_denied(spans: Sequence[UnsupportedSpan]) -> bool:
    return any(span.error == "contradiction" for span in spans)
