"""The prompt about an agent's answer, whose judge points at what was not done, and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, cast, get_args

from resay.core.action_verdict import ActionVerdict
from resay.core.call_log import LoggedCall
from resay.core.passage import Sentence
from resay.core.quotes import find_quote
from resay.core.quoting import quotable
from resay.core.segmentation.spans import Span
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.actions.calls import excerpt
from resay.scorers.actions.findings import Finding
from resay.scorers.common.fences import Fences
from resay.scorers.common.item_numbers import as_number
from resay.scorers.common.judge_json import numbered_objects

# Of the arguments or the result of a call, at least, and of all calls.
_MIN_CHARS: Final = 400
_MAX_CHARS: Final = 24_000
# The same of conversations with hundreds of calls, which models could not read otherwise.
_MIN_CHARS_OF_MANY: Final = 60
_MAX_CHARS_OF_MANY: Final = 120_000
_MAX_SENTENCE_CHARS: Final = 2_000
# The verdicts that say that there is no call.
_WITHOUT_CALL: Final = frozenset({"not_done", "invented"})


def actions_prompt(sentences: Sequence[Sentence], conversation: str, shown: Sequence[str]) -> str:
    """Return the prompt about the sentences of an answer.

    Args:
        sentences: The sentences, to be numbered from 1.
        conversation: What was said before the answer.
        shown: The tool calls of the conversation, by `shown_calls`.
    """
    prompt = load("en").prompts.actions
    calls = "\n".join(map(quotable, shown)) or "none"
    listed = "\n".join(
        f"{i}. {quotable(excerpt(sentence.text, _MAX_SENTENCE_CHARS))}"
        for i, sentence in enumerate(sentences, 1)
    )
    fences = Fences.around(conversation, calls, listed)
    parts = [
        prompt.task,
        fences.enclose("conversation", conversation),
        fences.enclose("calls", calls),
        fences.enclose("answer", listed),
        prompt.rules,
    ]
    return "\n\n".join(parts)


def shown_calls(calls: Sequence[LoggedCall]) -> list[str]:
    """Return calls on a line each, with as much of them as there is room for.

    Args:
        calls: The tool calls of a conversation.
    """
    if not calls:
        return []
    of_few = max(_MAX_CHARS // len(calls) // 2, _MIN_CHARS)
    of_many = max(_MAX_CHARS_OF_MANY // len(calls) // 2, _MIN_CHARS_OF_MANY)
    return [_shown(call, min(of_few, of_many)) for call in calls]


def _shown(call: LoggedCall, chars: int) -> str:
    """Return a call on a line, with so many characters of its arguments and of its result."""
    result = "no result" if call.result is None else excerpt(call.result, chars)
    error = " (an error)" if call.is_error else ""
    arguments = excerpt(json.dumps(call.arguments, ensure_ascii=False, default=str), chars)
    # A name may be anything that a model wrote, other lines of the list among it.
    return f"{call.index + 1}. {excerpt(call.name)} {arguments} -> {result}{error}"


def read_actions(
    completion: Completion,
    sentences: Sequence[Sentence],
    calls: Sequence[LoggedCall],
    shown: Sequence[str],
    judge: str,
) -> list[list[Finding] | None]:
    """Return what a judge finds about each sentence; None where that cannot be read.

    Args:
        completion: The judge's answer.
        sentences: The sentences.
        calls: The tool calls of the conversation.
        shown: What the judge was shown of each.
        judge: The judge's name, for the reasons.
    """
    entries = numbered_objects(completion.text, "sentence")
    if entries is None or completion.was_cut:
        return [None] * len(sentences)
    findings: list[list[Finding] | None] = [[] for _ in sentences]
    for fields in entries:
        number = as_number(fields.get("sentence"))
        if number is None or not 1 <= number <= len(sentences):
            # It may be about any sentence, or all may be numbered otherwise.
            return [None] * len(sentences)
        finding = _finding(fields, sentences[number - 1], calls, shown, judge)
        of_sentence = findings[number - 1]
        if finding is None or of_sentence is None:
            findings[number - 1] = None
        else:
            of_sentence.append(finding)
    return findings


def _finding(
    fields: Mapping[str, object],
    sentence: Sentence,
    calls: Sequence[LoggedCall],
    shown: Sequence[str],
    judge: str,
) -> Finding | None:
    """Return what an object says about a sentence.

    None if it cannot be read, names no call where one decides, or points at words that the sentence
    does not have.
    """
    name = str(fields.get("verdict")).strip().lower().replace(" ", "_")
    if name not in get_args(ActionVerdict):
        return None
    verdict = cast("ActionVerdict", name)
    words = str(fields.get("words") or "")
    span = _span_of(words, sentence.text)
    if span is None or (verdict == "invented" and not words):
        return None
    start, end = span
    number, quote = as_number(fields.get("call")), str(fields.get("quote") or "")
    call: LoggedCall | None = None
    if verdict in _WITHOUT_CALL:
        quote = ""
        reason = f"no call did this, says {judge}"
        if verdict == "invented":
            pointed_at = excerpt(sentence.text[start:end])
            reason = f"{pointed_at!r} appears in no call and no result, says {judge}"
    else:
        if number is None or not 1 <= number <= len(calls):
            return None
        call = calls[number - 1]
        # Looked for where the judge saw it: results can be megabytes.
        if quote and find_quote(quote, shown[number - 1]) is None:
            return None
        does = "did this" if verdict == "done" else "says otherwise"
        reason = f"call {number} ({call.name}) {does}, says {judge}"
    return Finding(
        start=sentence.start + start,
        end=sentence.start + end,
        verdict=verdict,
        reason=reason,
        call=call,
        quote=quote,
    )


def _span_of(words: str, sentence: str) -> Span | None:
    """Return where words of a sentence are: all of it if there are none; None if it lacks them."""
    if not words:
        return 0, len(sentence)
    start = sentence.find(words)
    if start >= 0:
        return start, start + len(words)
    return find_quote(words, sentence)
