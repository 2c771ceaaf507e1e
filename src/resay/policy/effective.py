"""A policy with all of its defaults, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import yaml

from resay.policy.document import Document, Path
from resay.policy.model import Policy
from resay.policy.redaction import CREDENTIALS, is_secret


def effective_text(policy: Policy, document: Document) -> str:
    """Return a policy with all of its defaults, as YAML.

    Secrets are left out, and so are the values of environment variables: `${NAME}` stays.

    Args:
        policy: The policy.
        document: The document that it was read from.
    """
    data = policy.model_dump(mode="json", exclude_none=True)
    shown = {key: _shown(value, (key,), document) for key, value in data.items()}
    lines: list[str] = []
    for key, value in shown.items():
        if value in ({}, []):
            continue
        text = yaml.safe_dump(
            {key: value},
            default_flow_style=None if isinstance(value, (dict, list)) else False,
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )
        first, _, others = text.partition("\n")
        is_default = key not in cast("Mapping[str, Any]", document.data or {})
        lines.append(f"{first}  # default\n{others}" if is_default else text)
    return "".join(lines)


def _shown(value: object, path: Path, document: Document) -> object:
    position = document.positions.get(path)
    if position is not None and position.written is not None:
        return position.written
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        return {key: _shown(item, (*path, key), document) for key, item in mapping.items()}
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_shown(item, (*path, i), document) for i, item in enumerate(items)]
    if not isinstance(value, str) or path == ("limits", "tokens"):
        return value
    return "***" if is_secret(path) or CREDENTIALS.search(value) else value
