"""A verdict with what was written beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from resay.core.verdict import Usage, Verdict
from resay.engine.actions import Action
from resay.errors import ConfigurationError

__all__ = ["Reported"]


@dataclass(frozen=True, slots=True)
class Reported:
    """A verdict with what was written beside it.

    Attributes:
        verdict: The verdict.
        id: What tells it from others, where it was logged with an id.
        text: What was shown, where that is known.
        action: What was done, where that is known.
        usage: What everything cost, main call and check together, where that is known.
    """

    verdict: Verdict
    id: str | None = None
    text: str | None = field(default=None, repr=False)
    action: Action | None = None
    usage: Usage | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reported:
        """Read what `Verdict.to_dict` or `Answer.to_dict` wrote.

        Args:
            data: A verdict, with `id` or `action` beside its keys if you like, or an object with
                one under `verdict`.

        Raises:
            ConfigurationError: There is no verdict in it.
        """
        inner = data.get("verdict")
        held = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else data
        identity, text, action = data.get("id"), data.get("text"), data.get("action")
        return cls(
            Verdict.from_dict(held),
            id=str(identity) if isinstance(identity, (str, int)) else None,
            text=text if isinstance(text, str) and held is not data else None,
            action=action if action in get_args(Action) else None,
            # A verdict's own is what the check cost.
            usage=None if held is data else _usage(data.get("usage")),
        )


def _usage(data: object) -> Usage | None:
    from pydantic import TypeAdapter, ValidationError

    if data is None:
        return None
    try:
        return TypeAdapter(Usage).validate_python(data)
    except ValidationError:
        pass
    # Outside of the handler, as in `Verdict.from_dict`.
    raise ConfigurationError("`usage` is not what Answer.to_dict writes; leave it out")
