"""A verdict with what a report adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from resay.core.decision import Action
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Reported:
    """A verdict with its context. Unknown values are None.

    Attributes:
        verdict: The verdict.
        id: The id under which it was logged.
        text: The text that the user was shown.
        action: The action that was applied.
        usage: The total usage of the main call and the check.
    """

    verdict: Verdict
    id: str | None = None
    text: str | None = field(default=None, repr=False)
    action: Action | None = None
    usage: Usage | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reported:
        """Parse the output of `Verdict.to_dict` or `Answer.to_dict`.

        Args:
            data: A verdict, optionally with `id` and `action` beside its keys, or an object with
                a verdict under `verdict`.

        Raises:
            ConfigurationError: It contains no valid verdict.
        """
        inner = data.get("verdict")
        is_answer = isinstance(inner, Mapping)
        verdict = cast("Mapping[str, Any]", inner) if is_answer else data
        id_, action = data.get("id"), data.get("action")
        # The verdict is about the text without marks.
        text = data.get("response", data.get("text"))
        return cls(
            Verdict.from_dict(verdict),
            id=str(id_) if isinstance(id_, (str, int)) else None,
            text=text if isinstance(text, str) and is_answer else None,
            action=action if action in get_args(Action) else None,
            # A verdict's own `usage` covers only the check.
            usage=_usage(data.get("usage")) if is_answer else None,
        )


def _usage(data: object) -> Usage | None:
    from pydantic import TypeAdapter, ValidationError

    if data is None:
        return None
    try:
        return TypeAdapter(Usage).validate_python(data)
    except ValidationError:
        pass
    # Raised outside the handler, as in `Verdict.from_dict`.
    raise ConfigurationError("`usage` does not match the format of Answer.to_dict; omit it")
