"""Requests to Granite Guardian, and what its answers mean.

Padhi et al., "Granite Guardian", 2024, and the cookbooks of ibm-granite/granite-guardian: without
reasoning, for vLLM, which passes further fields to the model's chat template. Version 3 is told the
criterion by a setting of its template, version 4 by a last message. Both answer "yes" where the
last text of the assistant meets the criterion, which is always a fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from resay._internal.patterns import lazy_pattern
from resay.core.logprobs import word_probability
from resay.models.chat import ChatAnswer, ChatRequest
from resay.models.config import ModelConfig

_NEWEST_VERSION: Final = 4
_VERSION: Final = lazy_pattern(r"granite-?(\d)|guardian-?(\d)")
_SCORE: Final = lazy_pattern(r"<score>\s*(yes|no)\b", re.IGNORECASE)
_BLOCK: Final = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given judging"
    " criteria using all available information, including conversations, documents, and tools."
    " Provide your score immediately without explanation. Output empty <think>\n</think> tags"
    " followed by your score in <score></score> tags.\n\n"
    "### Criteria: {criterion}\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise,"
    " return 'no'."
)


@dataclass(frozen=True, slots=True)
class GuardianCriterion:
    """What the model is to find.

    Attributes:
        id: Its name in the template of version 3.
        text: The model's own definition, for version 4.
    """

    id: str
    text: str


UNGROUNDED: Final = GuardianCriterion(
    id="groundedness",
    text="A text is considered ungrounded or unfaithful if it includes information lacking support"
    " from, or directly contradicting, the provided document(s). This risk arises when the text"
    " fabricates details, misinterprets the content, or makes unsupported extrapolations beyond"
    " what is explicitly stated in the document(s).",
)
WRONG_CALL: Final = GuardianCriterion(
    id="function_call",
    text="Function call hallucination occurs when a text includes function calls that either don't"
    " adhere to the correct format defined by the available tools or are inconsistent with the"
    " query's requirements. This risk arises from function calls containing incorrect argument"
    " names, values, or types that clash with the tool definitions or the query itself. Common"
    " examples include calling functions not present in the tool definitions, providing invalid"
    " argument values, or attempting to use parameters that don't exist.",
)


def guardian_version(model: ModelConfig) -> int:
    """Return the major version of a Granite Guardian: that of its name, or else the newest."""
    version = _VERSION.search((model.name or "").lower())
    return int(version[1] or version[2]) if version else _NEWEST_VERSION


def guardian_request(
    messages: Sequence[tuple[str, str]],
    criterion: GuardianCriterion,
    version: int,
    *,
    documents: Sequence[str] = (),
    tools: Sequence[Mapping[str, Any]] = (),
) -> ChatRequest:
    """Return the request about the last message, which is the assistant's.

    Args:
        messages: Pairs of a role and a text.
        criterion: What to find.
        version: The major version of the model.
        documents: The documents.
        tools: The definitions of the tools.
    """
    extra: dict[str, object] = {}
    template: dict[str, object] = {}
    if documents:
        extra["documents"] = [
            {"doc_id": str(index), "text": text} for index, text in enumerate(documents)
        ]
    if tools:
        template["available_tools"] = list(tools)
    if version >= _NEWEST_VERSION:
        messages = [*messages, ("user", _BLOCK.format(criterion=criterion.text))]
    else:
        template["guardian_config"] = {"criteria_id": criterion.id}
        template["think"] = False
    if template:
        extra["chat_template_kwargs"] = template
    return ChatRequest(messages=messages, max_tokens=48, top_logprobs=5, extra=extra)


def guardian_probability(answer: ChatAnswer) -> float | None:
    """Return the probability of "yes" against that of "no"; None if the answer is neither.

    Without log probabilities it is 1 or 0.
    """
    stated = _SCORE.findall(answer.text)
    if not stated:
        return None
    score = stated[-1].lower()
    for token in reversed(answer.tokens):
        yes, no = word_probability(token, "yes"), word_probability(token, "no")
        if token.token.strip().lower() == score and yes + no:
            return yes / (yes + no)
    return 1.0 if score == "yes" else 0.0
