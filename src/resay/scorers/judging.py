"""What prompt-based scorers share: which judge to ask, and how to read a yes or a no."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from resay.errors import ScorerError
from resay.evidence import Evidence, Judge
from resay.query import CONNECTION_PARAMS, Query

__all__ = ["JudgeConfig", "judge_for", "read_numbered_answers", "read_yes_no"]


class JudgeConfig(BaseModel):
    """A judge with its own parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(
        default=None, description="In litellm's notation; null = the model that wrote the response."
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        repr=False,  # it may hold a key
        description="What the provider takes: api_base, api_key, temperature, max_tokens, …",
    )


def judge_for(config: str | JudgeConfig | None, evidence: Evidence) -> Judge:
    """Return the judge a policy names.

    The response's own model is asked with the query's connection parameters. A judge named in the
    policy gets none of them, because it may live at another provider.

    Args:
        config: The judge's model, a `JudgeConfig`, or None for the response's own model.
        evidence: The evidence, for its query and who answers for judges.

    Returns:
        The judge.

    Raises:
        ScorerError: Nobody can be asked.
    """
    if evidence.judge_provider is None:
        raise ScorerError("there is no judge to ask")
    chosen = JudgeConfig(model=config) if isinstance(config, str) else config or JudgeConfig()
    if chosen.model is not None:
        return Judge(evidence.judge_provider, Query((), chosen.model, chosen.params))
    query = evidence.query or Query(())
    connection = {k: v for k, v in query.params.items() if k in CONNECTION_PARAMS}
    return Judge(evidence.judge_provider, Query((), query.model, {**connection, **chosen.params}))


# Decoration a model may put around a bare answer: markdown, quotes, brackets, a label.
_LABEL = re.compile(r"^(?:final\s+)?answer\s*(?:is)?\s*[:：-]?\s*", re.IGNORECASE)
_DECORATION = " \t\r\n*_`\"'“”‘’#>[](){}:-•"
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)?")


def read_yes_no(text: str) -> bool | None:
    """Read a judge's answer.

    Only the first word counts, after markdown, quotes and the label "Answer:" are taken off, and
    it must be the whole word: "Not sure" is no "no", and "Yes" anywhere later counts for nothing.

    Args:
        text: What the judge wrote.

    Returns:
        True for yes, False for no, None for anything else.
    """
    rest = _LABEL.sub("", text.strip(_DECORATION)).lstrip(_DECORATION)
    word = _FIRST_WORD.match(rest)
    return {"yes": True, "no": False}.get(word.group().casefold()) if word else None


_NUMBERED = re.compile(r"^[\W_]*(?:sentence\s+)?(\d+)[\W_]+(\S.*)$", re.IGNORECASE)
_FENCE = re.compile(r"^\s*```[a-z]*\s*|\s*```\s*$")


def read_numbered_answers(text: str, count: int) -> list[bool | None]:
    """Read one yes or no for each of several numbered sentences.

    Takes lines such as `1: Yes`, `2. **No**`, `- Sentence 3 - yes, because …`, and a JSON object
    such as `{"1": "yes"}`. A number that is missing, out of range or answered twice in different
    ways is undetermined.

    Args:
        text: What the judge wrote.
        count: How many sentences it was given, numbered from 1.

    Returns:
        One entry per sentence: True for yes, False for no, None for undetermined.
    """
    found: dict[int, set[bool]] = {}
    for number, answer in _numbered(text):
        value = read_yes_no(answer)
        if value is not None:
            found.setdefault(number, set()).add(value)
    answers = [found.get(i + 1, set()) for i in range(count)]
    return [next(iter(a)) if len(a) == 1 else None for a in answers]


def _numbered(text: str) -> list[tuple[int, str]]:
    bare = _FENCE.sub("", text)
    data: object = None
    with suppress(ValueError, RecursionError):
        data = json.loads(bare)
    if isinstance(data, dict):
        pairs = cast("dict[str, object]", data)
        return [(int(k), str(v)) for k, v in pairs.items() if k.isascii() and k.isdigit()]
    matches = (_NUMBERED.match(line) for line in bare.splitlines())
    return [(int(m.group(1)), m.group(2)) for m in matches if m]
