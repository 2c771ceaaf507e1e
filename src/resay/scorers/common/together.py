"""Compares the claims of an answer with several samples in one call of a judge.

The judge sees the conversation, the numbered samples and the numbered claims, and names for each
claim the samples that support it, those that contradict it, the words of the claim that are wrong,
and the words of a sample against them. Words that stand in no claim and quotes that stand in no
sample are not believed.

The claims are the answer's sentences in their order, so that the answer is not shown again, unless
they leave out much of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from resay.core.passage import Passage
from resay.core.quoting import LEFT_OUT, quotable
from resay.lang.language import load
from resay.lang.prompts import TogetherPrompt
from resay.providers.base import Completion
from resay.scorers.common.document_verdicts import DocumentVerdict, read_document_verdicts
from resay.scorers.common.fences import Fences
from resay.scorers.common.judge_calls import ParsedAnswer, ask
from resay.scorers.judge import Judge
from resay.scorers.samples import Sample

# For a claim: two lists of numbers, two quotations, and a reason.
_TOKENS_OF_VERDICT = 120
# Claims that leave out more of an answer than this may refer to what they leave out.
_MOST_LEFT_OUT = 0.25
# Of the answer that is shown beside its claims.
_MAX_ANSWER_CHARS = 2_000

_NUMBERS: Final = {"type": "array", "items": {"type": "integer"}}
_VERDICT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "claim": {"type": "integer"},
        "supported_by": _NUMBERS,
        "contradicted_by": _NUMBERS,
        "words": {"type": "string"},
        "quote": {"type": "string"},
    },
    "required": ["claim", "supported_by", "contradicted_by"],
    "additionalProperties": False,
}


def render(
    claims: Sequence[str],
    samples: Sequence[Sample],
    conversation: str = "",
    *,
    answer: str = "",
    prompt: TogetherPrompt | None = None,
    brief: bool = False,
) -> str:
    """Return the prompt about the claims of an answer and several samples.

    Args:
        claims: The claims, to be numbered from 1.
        samples: The samples; the prompt shows the index of each plus 1.
        conversation: The conversation that all of them answer; empty if unknown.
        answer: The answer that the claims are from; empty if they tell enough of it.
        prompt: The wording; None for the English one.
        brief: Whether the judge is to give a short reason for each verdict.
    """
    wording = prompt or load("en").prompts.together
    listed = "\n".join(f"{i}. {' '.join(claim.split())}" for i, claim in enumerate(claims, 1))
    texts = [sample.derived(quotable).strip() for sample in samples]
    fences = Fences.around(conversation, answer, listed, *texts)
    enclosed = [
        fences.enclose("sample", text, number=sample.index + 1)
        for sample, text in zip(samples, texts, strict=True)
    ]
    parts = [wording.task]
    if conversation:
        parts.append(fences.enclose("conversation", conversation))
    if answer:
        parts.append(fences.enclose("answer", answer))
    parts.append(fences.enclose("samples", "\n".join(enclosed)))
    parts.append(fences.enclose("claims", listed))
    instructions = (wording.about if conversation else "") + wording.rules
    parts.append(f"{instructions} {wording.brief}" if brief else instructions)
    parts.append(f"{wording.example}\n{_example(wording, brief=brief)}")
    return "\n\n".join(parts)


def _example(wording: TogetherPrompt, *, brief: bool) -> str:
    """Return the answer to the example of a prompt."""
    contradicted: dict[str, Any] = {
        "claim": 1,
        "supported_by": [],
        "contradicted_by": [1],
        "words": wording.words,
        "quote": wording.quote,
    }
    supported: dict[str, Any] = {"claim": 2, "supported_by": [1], "contradicted_by": []}
    verdicts = [contradicted, supported]
    if brief:
        verdicts = [
            {"reason": reason, **verdict}
            for reason, verdict in zip(wording.reasons, verdicts, strict=True)
        ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _schema(*, brief: bool) -> Mapping[str, Any]:
    """Return the JSON Schema of an answer."""
    verdict = _VERDICT
    if brief:
        # Models write the properties in this order, and the reason is to come before the verdict.
        verdict = {
            **_VERDICT,
            "properties": {"reason": {"type": "string"}, **_VERDICT["properties"]},
            "required": ["reason", *_VERDICT["required"]],
        }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": verdict}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def answer_beside(passage: Passage) -> str:
    """Return the answer to show beside its claims, or nothing if they tell enough of it.

    Args:
        passage: The answer, with the claims that are asked about as its `sentences`.
    """
    claims = passage.sentences
    claimed_chars = sum(len(claim.text) for claim in claims)
    if claimed_chars >= (1 - _MOST_LEFT_OUT) * len(passage.text.strip()):
        return ""
    if len(passage.text) <= _MAX_ANSWER_CHARS:
        return quotable(passage.text).strip()
    # What claims refer to usually comes before them.
    end = max(claims[-1].end, _MAX_ANSWER_CHARS)
    start = end - _MAX_ANSWER_CHARS
    claimed_chars = sum(len(claim.text) for claim in claims if claim.start >= start)
    if claimed_chars >= (1 - _MOST_LEFT_OUT) * _MAX_ANSWER_CHARS:
        end = claims[0].start
    shown = quotable(passage.text[max(end - _MAX_ANSWER_CHARS, 0) : end]).strip()
    if not shown:
        return ""
    return f"{LEFT_OUT} {shown} {LEFT_OUT}"


async def ask_about_samples(
    judge: Judge,
    passage: Passage,
    samples: Sequence[Sample],
    conversation: str = "",
    *,
    restate: bool,
    language: str = "en",
    brief: bool = False,
) -> ParsedAnswer[DocumentVerdict]:
    """Ask a judge which samples support and contradict which claims, in one call.

    Args:
        judge: The judge.
        passage: The answer, with the claims to ask about as its `sentences`.
        samples: The samples.
        conversation: The conversation that all of them answer; empty if unknown.
        restate: Whether to ask once more for an answer that cannot be parsed.
        language: The language of the prompt.
        brief: Whether the judge is to give a short reason for each verdict.

    Returns:
        The verdict on each claim, by the indexes of the samples.
    """
    claims = [sentence.standalone for sentence in passage.sentences]
    indexes = [sample.index for sample in samples]
    wording = load(language).prompts.together

    def parse(answer: Completion) -> list[DocumentVerdict | None]:
        return read_document_verdicts(answer.text, len(claims), indexes, was_cut=answer.was_cut)

    question = render(
        claims,
        samples,
        conversation,
        answer=answer_beside(passage),
        prompt=wording,
        brief=brief,
    )
    form = _example(wording, brief=brief)
    again = wording.again.format(count=len(claims), form=form)
    return await ask(
        judge.about(claims),
        question,
        parse,
        again if restate else None,
        tokens=_TOKENS_OF_VERDICT,
        schema=_schema(brief=brief),
    )
