"""Verdicts as users of a framework see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

from resay._internal.event_loops import compute
from resay.core.logprobs import field_of
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.errors import ConfigurationError, DeadlineExceededError

NO_ANSWER = "the provider's response contains no readable answer"
"""Why the check of a response without an answer is inconclusive."""
VERDICT_KEY = "hallucination"
"""The key of the verdict in the metadata that a framework attaches to an answer."""


VerdictDetail = Literal["full", "summary", "none"]
"""How much of a verdict a response contains: every sentence and claim, the flagged sentences only,
or nothing."""

_MAX_VERDICT_CHARS = 500_000
_MAX_SUMMARY_SENTENCES = 50
_MAX_SUMMARY_CHARS = 500
# The names and punctuation of a sentence or a claim in JSON.
_UNIT_CHARS = 350
# `compute` weight of a sentence or a claim.
_UNIT_COST = 150


def verdict_data(
    verdict: Verdict, action: str, *, detail: VerdictDetail = "full"
) -> dict[str, Any]:
    """Return the representation of a verdict for users of a framework.

    Args:
        verdict: The verdict.
        action: The action taken. If the answer was withheld, its words are omitted here too.
        detail: How much to represent. A full verdict of more than half a million characters is
            represented by its summary.

    Returns:
        The verdict as JSON-ready values, with `action`, and with `detail` if it is a summary; empty
        for `none`.
    """
    if detail == "none":
        return {}
    return {**_bounded(verdict, detail, content=action != "block"), "action": action}


def answer_data(answer: Answer, *, detail: VerdictDetail = "full") -> dict[str, Any]:
    """Like `verdict_data`, with the text without marks in `response` if the answer has marks."""
    data = verdict_data(answer.verdict, answer.action, detail=detail)
    return {**data, "response": answer.response} if data and answer.marks else data


async def aanswer_data(answer: Answer, *, detail: VerdictDetail = "full") -> dict[str, Any]:
    """Do the same as `answer_data`, off the event loop if it takes long."""
    work = partial(answer_data, answer, detail=detail)
    return await compute(work, chars=verdict_cost(answer.verdict))


def withheld_data(verdict: Verdict, detail: VerdictDetail) -> dict[str, Any]:
    """Return the representation of a verdict in the error of a withheld answer, without its words.

    Args:
        verdict: The verdict.
        detail: As for `verdict_data`.
    """
    return {} if detail == "none" else {"verdict": _bounded(verdict, detail, content=False)}


def _bounded(verdict: Verdict, detail: VerdictDetail, *, content: bool) -> dict[str, Any]:
    if detail == "full" and _size_of(verdict) <= _MAX_VERDICT_CHARS:
        return verdict.to_dict(content=content)
    return {**_summary_of(verdict).to_dict(content=content), "detail": "summary"}


def verdict_cost(verdict: Verdict) -> int:
    """Return what representing a verdict costs, in characters for `compute`."""
    return _UNIT_COST * (len(verdict.sentences) + len(verdict.claims) + len(verdict.unscored))


def _size_of(verdict: Verdict) -> int:
    """Return about how many characters a verdict has in JSON."""
    chars = 0
    for unit in (*verdict.sentences, *verdict.claims):
        chars += _UNIT_CHARS + len(unit.text) + len(unit.reason or "")
        if unit.contradicted_by is not None:
            chars += _UNIT_CHARS // 2 + len(unit.contradicted_by.text)
        # There is no need to count a verdict to its end that is far too long.
        if chars > _MAX_VERDICT_CHARS:
            return chars
    for stretch in verdict.unscored:
        chars += _UNIT_CHARS // 4 + len(stretch.text)
    regeneration = verdict.regeneration
    if regeneration is not None:
        chars += len(regeneration.draft)
        chars += sum(len(edit.before) + len(edit.after) + 100 for edit in regeneration.edits)
        chars += sum(len(source.text) + 100 for source in regeneration.sources)
    return chars


def _summary_of(verdict: Verdict) -> Verdict:
    """Return a verdict with its first flagged sentences, shortened, and no other lists."""
    sentences: list[SentenceVerdict] = []
    for sentence in verdict.flagged_sentences[:_MAX_SUMMARY_SENTENCES]:
        shortened = replace(
            sentence,
            text=sentence.text[:_MAX_SUMMARY_CHARS],
            reason=sentence.reason and sentence.reason[:_MAX_SUMMARY_CHARS],
            contradicted_by=None,
            citations=sentence.citations[:_MAX_SUMMARY_SENTENCES],
        )
        sentences.append(shortened)
    return replace(
        verdict,
        sentences=tuple(sentences),
        claims=(),
        unscored=(),
        references=(),
        regeneration=verdict.regeneration
        and replace(verdict.regeneration.without_content(), edits=(), sources=()),
    )


def failed_check(error: Exception) -> Verdict:
    """Return the verdict on an answer whose check failed."""
    reason = f"the check failed with {type(error).__name__}"
    if isinstance(error, DeadlineExceededError):
        reason = "the answer was not complete within `limits.deadline_s`"
    return Verdict("inconclusive", None, reason)


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict that a guard attached to a provider's response.

    Args:
        response: A response, a message, a stream event, one of several answers, or the output of a
            chain or an agent; an object or a mapping. The verdict may be in the response itself, or
            in the framework's metadata.

    Returns:
        The verdict; None if there is none.
    """
    for holder in _holders(response):
        data = field_of(holder, VERDICT_KEY)
        if isinstance(data, Mapping):
            try:
                return Verdict.from_dict(cast("dict[str, Any]", data))
            # An unrelated entry of the same name.
            except ConfigurationError:
                continue
    return None


# Where frameworks store metadata of an answer.
_BESIDE = ("response_metadata", "additional_kwargs", "metadata")


def _holders(response: object) -> Iterator[object]:
    yield response
    # An agent's output wraps the message.
    for holder in (response, field_of(response, "response")):
        yield from (field_of(holder, name) for name in _BESIDE)
    # The last event of a stream contains the whole response, or the data of one answer.
    yield from (field_of(response, name) for name in ("response", "chunk", "message", "delta"))
    choices = field_of(response, "choices")
    for choice in cast("list[object]", choices) if isinstance(choices, list) else []:
        delta = field_of(choice, "delta")
        yield from (choice, field_of(choice, "message"), delta)
        # The only unknown field that litellm passes on.
        yield field_of(delta, "provider_specific_fields")
