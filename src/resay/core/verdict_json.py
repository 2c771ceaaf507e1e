"""The JSON form of verdicts.

It is flat: the fields of a claim are beside those of the verdict on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, cast

from resay.core.claim_verdict import ClaimVerdict
from resay.core.claims import Claim
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored

_SIMPLE = frozenset({str, int, float, bool, type(None)})
_CLAIM_TYPES = {"text": str, "start": int, "end": int, "unit": str, "kind": str, "sentence": int}


def to_json_value(value: Any) -> Any:
    """Return a value in the form in which JSON returns it, without tuples and classes.

    `dataclasses.asdict` does the same in three times the time, because it copies immutable values.
    """
    value_type = cast("type[object]", type(value))
    if value_type in _SIMPLE:
        return value
    if value_type is ClaimVerdict:
        return _claim_verdict_json(value)
    if names := _field_names(value_type):
        return {name: to_json_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: to_json_value(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in cast("Sequence[Any]", value)]
    return deepcopy(value)


def _claim_verdict_json(verdict: ClaimVerdict) -> dict[str, Any]:
    data: dict[str, Any] = {name: getattr(verdict, name) for name in _CLAIM_TYPES}
    for name in _field_names(ClaimVerdict):
        if name != "claim":
            data[name] = to_json_value(getattr(verdict, name))
    return data


@cache
def _field_names(value_type: type) -> tuple[str, ...]:
    if not is_dataclass(value_type):
        return ()
    return tuple(field.name for field in fields(value_type))


def with_claims(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict as JSON, whose claims have a `Claim` in place of its fields.

    Args:
        verdict: A verdict as JSON. What is malformed is left for the validation.
    """
    nested = dict(verdict)
    items = nested.get("claims")
    if isinstance(items, (list, tuple)):
        nested["claims"] = [_with_claim(item) for item in cast("Sequence[Any]", items)]
    return nested


def _with_claim(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    data: dict[str, Any] = {"sentence": 0, "unit": "sentence", "kind": "fact", **item}
    # Only types are checked, since earlier versions had other units and kinds.
    if not all(type(data.get(name)) is expected for name, expected in _CLAIM_TYPES.items()):
        return cast("Any", item)
    claim_fields = {name: data.pop(name) for name in _CLAIM_TYPES}
    return {**data, "claim": Claim(**claim_fields)}


def with_own_words(
    verdict: ClaimVerdict, sentences: Sequence[SentenceVerdict], unscored: Sequence[Unscored]
) -> ClaimVerdict:
    """Return a verdict whose claim has its own words, which JSON has in the sentences alone.

    Args:
        verdict: The verdict on a claim, read from JSON.
        sentences: The sentences of the response.
        unscored: The rest of the response.
    """
    claim = verdict.claim
    spans = unscored if claim.sentence < 0 else sentences[claim.sentence : claim.sentence + 1]
    for span in spans:
        has_text = len(span.text) == span.end - span.start
        if has_text and span.start <= claim.start <= claim.end <= span.end:
            words = span.text[claim.start - span.start : claim.end - span.start]
            if words == claim.text:
                return verdict
            return replace(verdict, claim=replace(claim, text=words, completed_text=claim.text))
    return verdict
