"""Readable problems for pydantic's validation errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from resay._internal.patterns import lazy_pattern
from resay._internal.strict import MISSING_TAG, UNKNOWN_TAG, LazySection
from resay.policy.document import Document, Path, Problem, truncated
from resay.policy.redaction import displayed, is_secret, redacted
from resay.scorers import ScorerConfig, imported_config, registry

_KINDS: Mapping[str, str] = {
    "a whole number": "int_type int_parsing int_parsing_size int_from_float",
    "a number": "float_type float_parsing decimal_type decimal_parsing",
    "a finite number": "finite_number",
    "true or false": "bool_type bool_parsing",
    "text": "string_type string_sub_type string_unicode",
    "null": "none_required",
    "a mapping": "model_type model_attributes_type dict_type mapping_type dataclass_type",
    "a list": "list_type tuple_type set_type frozen_set_type iterable_type",
}
_EXPECTED = {kind: expected for expected, kinds in _KINDS.items() for kind in kinds.split()}
_BOUNDS: Mapping[str, str] = {
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_pattern_mismatch": "text that matches {pattern!r}",
}
# A number with a leading zero is text even without quotes.
_UNQUOTED: Mapping[str, re.Pattern[str]] = {
    "int_type": lazy_pattern(r"-?(?:0|[1-9][0-9]*)"),
    "float_type": lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"),
    "bool_type": lazy_pattern(r"true|false"),
}
_SIZES: Mapping[str, str] = {
    "too_short": "must have at least {min_length}, not {actual_length}",
    "too_long": "must have at most {max_length}, not {actual_length}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
}
_SIZES_OF_TEXT: Mapping[str, str] = {
    "too_short": "string_too_short",
    "too_long": "string_too_long",
}
_ACTIONS = ("annotate", "block", "regenerate")
_ACTION = "write `action: {do: block, message: …}`"
# Keys that people write at the top of a policy, and what to write instead.
_ELSEWHERE: Mapping[object, str] = {
    **dict.fromkeys(
        ("model", "api_base", "api_key", "params"),
        "it is no part of a policy: pass it to `Guard`, or as an option of the command",
    ),
    **dict.fromkeys(("block", "do", "exit", "message", "on_flag", "on_flagged"), _ACTION),
    **dict.fromkeys(("method", "methods", "scorer", "scorers", "steps"), "write `chain: [facts]`"),
    "samples": "write `sampling: {max: 5}`",
    "settle": "write it in a step of the `chain`: {method: facts, settle: 0.2}",
    "retriever": "write `action: {do: regenerate, retriever: …}`",
    "marks": "write `action: {do: annotate, marks: inline}`",
    "judge": "write it in a step of the `chain`: {method: prompt, judge: …}",
    **dict.fromkeys(("deadline_s", "timeout_s", "retries"), "write it under `limits`"),
}
_MISSING = frozenset({"missing", MISSING_TAG})
_CHOICES = frozenset({"literal_error", "enum"})
_QUOTED = lazy_pattern(r"'([^']*)'")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class _Finding:
    """One error: either the expected kind of value, or a message."""

    path: Path
    expected: str | None = None
    message: str = ""
    hint: str = ""


def problems_of(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Problem]:
    """Return readable problems for pydantic's validation errors.

    Args:
        error: pydantic's errors.
        document: The validated document.
        model: The model it was validated with.

    Returns:
        One problem for each thing to fix, without those that merely follow from problems found
        while reading.
    """
    errors = error.errors(include_url=False, include_input=False)
    causes = [details for details in errors if not _is_consequence(details, document)]
    if not causes and not document.problems:
        # There is no other problem that they could follow from.
        causes = errors
    findings = [_finding(details, document, model) for details in causes]
    return [*_type_problems(findings, document), *_other_problems(findings, document)]


def _is_consequence(details: ErrorDetails, document: Document) -> bool:
    """Return whether this error merely follows from another problem."""
    kind = details["type"]
    path = _data_path(details, document)
    if kind == "too_short":
        # pydantic does not count the rejected entries.
        min_length: int = details.get("ctx", {})["min_length"]
        value = document.value_at(path)
        if isinstance(value, str):
            # A text is short for a list of one entry, which was rejected.
            return bool(value) and not _is_length_of_text(details)
        return isinstance(value, list) and len(cast("list[object]", value)) >= min_length
    if kind == "default_factory_not_called":
        return True
    if kind == "extra_forbidden":
        return False
    return any(_is_inside(path, other) or _is_inside(other, path) for other in document.unreadable)


def _is_length_of_text(details: ErrorDetails) -> bool:
    """Return whether what is too short or too long is a text such as a key, and no list."""
    # pydantic reports the length of a `SecretStr` as it does that of a list.
    return details.get("ctx", {}).get("field_type") == "Value"


def _is_inside(path: Path, outer: Path) -> bool:
    return path[: len(outer)] == outer


def _type_problems(findings: list[_Finding], document: Document) -> Iterator[Problem]:
    """Join what union members expect; if the type of one matched, only its errors count."""
    for path in dict.fromkeys(finding.path for finding in findings if finding.expected):
        inside = [finding for finding in findings if _is_inside(finding.path, path)]
        if any(finding.path != path or not finding.expected for finding in inside):
            continue
        expected = " or ".join(dict.fromkeys(finding.expected or "" for finding in inside))
        hint = next((finding.hint for finding in inside if finding.hint), "")
        message = f"must be {expected}, not {displayed(path, document)}{hint}"
        yield Problem(path, message, document.line_of(path))


def _other_problems(findings: list[_Finding], document: Document) -> Iterator[Problem]:
    for finding in dict.fromkeys(findings):
        if not finding.expected:
            yield Problem(finding.path, finding.message, document.line_of(finding.path))


def _finding(details: ErrorDetails, document: Document, model: type[BaseModel]) -> _Finding:
    kind = details["type"]
    path = _data_path(details, document)
    context = details.get("ctx", {})
    if kind in _EXPECTED:
        return _Finding(path, _EXPECTED[kind], hint=_quotes_hint(kind, path, document))
    if kind in _CHOICES:
        expected = str(context["expected"])
        return _Finding(path, expected, hint=_choice_hint(expected, path, document))
    if kind in _BOUNDS:
        bounds = {name: _plain_number(bound) for name, bound in context.items()}
        return _Finding(path, _BOUNDS[kind].format_map(bounds))
    return _Finding(path, message=_message(details, path, document, model))


def _plain_number(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _message(details: ErrorDetails, path: Path, document: Document, model: type[BaseModel]) -> str:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "missing":
        return "required, but missing"
    if kind == MISSING_TAG:
        entry = document.value_at(path[:-1])
        keys = cast("dict[object, object]", entry) if isinstance(entry, dict) else {}
        # Steps have a key `mode`, which is no misspelt `method`.
        misspelt = get_close_matches(str(path[-1]), map(str, keys), n=1, cutoff=0.85)
        misspelt += [str(key) for key, value in keys.items() if value in context["known"]]
        if misspelt:
            return f"required, but missing; is {truncated(misspelt[0])} a misspelling of it?"
        return f"required, but missing; there are {_listed(context['known'])}"
    if kind == UNKNOWN_TAG:
        problem = f"unknown {context['noun']} {displayed(path, document)}"
        value = document.value_at(path)
        names = [*context["known"], "auto"] if path == ("chain",) else context["known"]
        remedy = _place_of(value, context["noun"], model) or _nearest(value, names)
        return f"{problem}; {remedy}"
    if kind == "extra_forbidden":
        problem = f"unknown key {truncated(path[-1])}"
        is_policy = "chain" in model.model_fields
        if is_policy and len(path) == 1 and path[0] in _ELSEWHERE:
            return f"{problem}; {_ELSEWHERE[path[0]]}"
        keys = _keys_at(path[:-1], document, model)
        return f"{problem}; {_nearest(path[-1], keys)}" if keys else problem
    if kind in _SIZES:
        if context.get("min_length") == 1:
            return "must not be empty"
        if kind in _SIZES_OF_TEXT and isinstance(document.value_at(path), str):
            remedy = "; choose a longer one" if kind == "too_short" else ""
            return _SIZES[_SIZES_OF_TEXT[kind]].format_map(context) + remedy
        return _SIZES[kind].format_map(context)
    return _validator_message(details, path, document)


def _place_of(value: object, noun: str, model: type[BaseModel]) -> str | None:
    """Return where what was given as a method belongs; None if it is nothing else either."""
    if noun != "method" or not isinstance(value, str):
        return None
    if value in _ACTIONS:
        return f"it is an action: write `action: {value}` beside `chain`"
    if value in model.model_fields:
        return f"it is a key of the policy: write `{value}: …` beside `chain`, not in it"
    return None


def _nearest(value: object, names: Iterable[str]) -> str:
    names = list(names)
    near = get_close_matches(value.casefold(), names, n=1) if isinstance(value, str) else []
    return f"did you mean {near[0]!r}?" if near else f"there are {_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _validator_message(details: ErrorDetails, path: Path, document: Document) -> str:
    """Return the message of a validator, which may be third-party code, without secrets."""
    if is_secret(path):
        return "is not valid"
    cause = details.get("ctx", {}).get("error")
    message = str(cause) if isinstance(cause, Exception) else details["msg"]
    message = " ".join(message.replace("Input should be", "must be").split())
    return redacted(message, path, document) or "is not valid"


def _quotes_hint(kind: str, path: Path, document: Document) -> str:
    value = document.value_at(path)
    if not isinstance(value, str) or kind not in _UNQUOTED:
        return ""
    return "; write it without quotes" if _UNQUOTED[kind].fullmatch(value) else ""


def _choice_hint(expected: str, path: Path, document: Document) -> str:
    value = document.value_at(path)
    choices: list[str] = _QUOTED.findall(expected)
    near = get_close_matches(value.casefold(), choices, n=1) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def _data_path(details: ErrorDetails, document: Document) -> Path:
    """Return the path without the names of union members and validators that pydantic inserts."""
    loc = details["loc"]
    path: Path = ()
    for step in loc:
        if document.value_at((*path, step), _ABSENT) is not _ABSENT:
            path = (*path, step)
    return (*path, loc[-1]) if details["type"] in _MISSING else path


def _keys_at(path: Path, document: Document, model: type[BaseModel]) -> list[str]:
    """Return the keys of all models that may appear at a path."""
    models = [model]
    for depth, step in enumerate(path, 1):
        if isinstance(step, str):
            # What is no field is a key of a mapping of such models.
            models = _models_of_field(step, models) or models
        value = document.value_at(path[:depth])
        if isinstance(value, dict):
            data = cast("dict[str, object]", value)
            models = [model for model in models if _may_be(model, data)] or _imported(data)
    keys: dict[str, None] = {}
    for model in models:
        for name, field in model.model_fields.items():
            keys[field.alias or name] = None
    return list(keys)


def _models_of_field(name: str, models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return the models that a field of any of these models may hold."""
    nested: list[type[BaseModel]] = []
    for model in models:
        if name in model.model_fields:
            nested += _models_in(model.model_fields[name].annotation)
    return nested


def _imported(data: dict[str, object]) -> list[type[BaseModel]]:
    """Return the settings model of a step's scorer, if the step names it by import path."""
    method = data.get("method")
    return [imported_config(method)] if isinstance(method, str) and ":" in method else []


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, LazySection):
        return [annotation.model]
    if annotation is ScorerConfig:
        return [scorer.Config for scorer in registry().values()]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _may_be(model: type[BaseModel], data: dict[str, object]) -> bool:
    """Return whether the data matches the model in every key that allows only one value."""
    for name, field in model.model_fields.items():
        choices = get_args(field.annotation)
        is_tag = get_origin(field.annotation) is Literal and len(choices) == 1
        if is_tag and data.get(name, choices[0]) != choices[0]:
            return False
    return True
