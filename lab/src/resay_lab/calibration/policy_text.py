"""Changes values in the text of a policy, and leaves everything else as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

import yaml
from pydantic import BaseModel

from resay import Policy
from resay.errors import ConfigurationError

Path = tuple[str | int, ...]
_HEADER = re.compile(r"[ \t]*#: calibrated ")
_OURS = re.compile(r"[ \t]*#:( |$)")
_COMMENT = re.compile(r"[ \t]*(#|$)")
_END = re.compile(r"^\.\.\.[ \t]*(#[^\n]*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A comment above a key under which values may differ.

    Attributes:
        path: The path of the key.
        comment: The lines of the comment.
    """

    path: Path
    comment: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement for the text from `start` to `end`."""

    start: int
    end: int
    text: str


def changed_text(
    text: str,
    old: Policy,
    new: Policy,
    changes: Sequence[Change],
    *,
    env: Mapping[str, str] | None = None,
) -> str:
    """Return a policy's text with changed values.

    Args:
        text: The policy's text.
        old: The policy in the text.
        new: The policy that the text is to contain. Only values under the paths of `changes` may
            differ.
        changes: The keys, and the comments that replace those of earlier calibrations there.
        env: The values of `${NAME}`; None for the environment variables.

    Returns:
        The text. It was parsed again to check that it contains the new policy.

    Raises:
        ConfigurationError: It cannot be changed in place.
    """
    if Policy.parse(text, env=env) != old:
        raise ConfigurationError(
            "the text is not that of the policy that was calibrated; pass the text of that one"
        )
    values: list[tuple[Path, float | None]] = []
    for change in changes:
        path = change.path
        values += _differences(path, _at(old, path), _at(new, path))
    edits = _Editor(text).edits(changes, values)
    result = text
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        result = result[: edit.start] + edit.text + result[edit.end :]
    try:
        same = Policy.parse(result, env=env) == new
    except ConfigurationError:
        same = False
    if not same:
        settings = ", ".join(f"{_named(path)}: {_scalar(value)}" for path, value in values)
        raise ConfigurationError(
            "the policy file is written in a way that cannot be changed in place, as with anchors"
            f" (&name) that several keys share; set these yourself: {settings}"
        )
    return result


def _named(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _at(policy: Policy, path: Path) -> object:
    value: Any = policy
    for key in path:
        value = value[key] if isinstance(key, int) else getattr(value, key)
    return value


def _differences(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, float | None]]:
    """Yield the paths and new values of the numbers under a path that differ."""
    if old == new:
        return
    if isinstance(new, BaseModel):
        for name in type(new).model_fields:
            yield from _differences((*path, name), getattr(old, name), getattr(new, name))
    elif isinstance(new, tuple):
        for i, (before, after) in enumerate(zip(old, cast("tuple[object, ...]", new), strict=True)):
            yield from _differences((*path, i), before, after)
    else:
        yield path, new


def _scalar(value: float | None) -> str:
    if value is None:
        return "null"
    # Without an exponent and with a point, so that every version of YAML reads a number.
    text = format(Decimal(repr(float(value))), "f")
    return text if "." in text else f"{text}.0"


class _Editor:
    """Finds the edits of a YAML text that change values and comments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = cast("yaml.MappingNode", yaml.compose(text, Loader=yaml.SafeLoader))
        self._newline = "\r\n" if "\r\n" in text else "\n"
        # Only in block scalars can a line that looks like a comment be text.
        self._blocks = [
            (node.start_mark.index, node.end_mark.index)
            for node in _nodes(self._root, set())
            if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        ]

    def edits(
        self, changes: Sequence[Change], values: Sequence[tuple[Path, float | None]]
    ) -> set[_Edit]:
        """Return the edits that change values and put comments above them."""
        edits: set[_Edit] = set()
        added: dict[Path, dict[str, float | None]] = {}
        for path, value in values:
            node = self._node(path)
            if node is not None:
                edits.add(_Edit(node.start_mark.index, node.end_mark.index, _scalar(value)))
            else:
                added.setdefault(path[:-1], {})[str(path[-1])] = value
        comments: dict[int, tuple[str, ...]] = {}
        for change in changes:
            line = self._line_of(change.path)
            if line is None:
                # A new key includes its comment.
                new = added.pop(change.path, {})
                edits.add(self._appended(change.path, new, change.comment))
            else:
                comments[line] = (*comments.get(line, ()), *change.comment)
        edits.update(self._inserted(path, new) for path, new in added.items())
        for line, comment in comments.items():
            edits.update(self._commented(line, comment))
        return edits

    def _node(self, path: Path) -> yaml.Node | None:
        node: yaml.Node = self._root
        for key in path:
            entry = _child(node, key)
            if entry is None:
                return None
            node = entry[1]
        return node

    def _line_of(self, path: Path) -> int | None:
        """Return the offset of the line of a key; None if there is no such key."""
        parent = self._node(path[:-1])
        entry = _child(parent, path[-1]) if parent else None
        if entry is None:
            return None
        key = entry[0]
        return self._text.rfind("\n", 0, key.start_mark.index) + 1

    def _inserted(self, path: Path, values: Mapping[str, float | None]) -> _Edit:
        """Return the edit that adds keys to a mapping, before its first."""
        node = self._node(path)
        if isinstance(node, yaml.ScalarNode) and path == ("threshold",):
            # A number is short for both thresholds.
            scores = dict.fromkeys(("passage", "sentence"), node.value)
            scores |= {key: _scalar(value) for key, value in values.items()}
            text = ", ".join(f"{key}: {score}" for key, score in scores.items())
            return _Edit(node.start_mark.index, node.end_mark.index, f"{{{text}}}")
        pairs = [f"{key}: {_scalar(value)}" for key, value in values.items()]
        if not isinstance(node, yaml.MappingNode):
            # `changed_text` parses the result and reports the failure.
            return _Edit(0, 0, "")
        if node.flow_style:
            offset = self._text.index("{", node.start_mark.index) + 1
            return _Edit(offset, offset, ", ".join(pairs) + (", " if node.value else ""))
        first = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)[0][0].start_mark
        line_break = self._newline + " " * first.column
        return _Edit(first.index, first.index, "".join(pair + line_break for pair in pairs))

    def _appended(
        self, path: Path, values: Mapping[str, float | None], comment: Sequence[str]
    ) -> _Edit:
        """Return the edit that adds a new key with values to the document."""
        inner = ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items())
        pair = f"{path[-1]}: {{{inner}}}"
        if not values:
            return _Edit(0, 0, "")
        newline = self._newline
        if self._root.flow_style:
            offset = self._text.index("{", self._root.start_mark.index) + 1
            lines = "".join(f"#: {line}{newline}" for line in comment)
            return _Edit(offset, offset, f"{newline}{lines}{pair}, ")
        indent = " " * self._root.start_mark.column
        end = _END.search(self._text)
        offset = end.start() if end else len(self._text)
        before = self._text[:offset]
        gap = "" if before.endswith("\n") else newline
        lines = "".join(f"{indent}#: {line}{newline}" for line in comment)
        return _Edit(offset, offset, f"{gap}{lines}{indent}{pair}{newline}")

    def _commented(self, offset: int, comment: Sequence[str]) -> Iterator[_Edit]:
        """Yield the edits that put a comment above a line, and remove an earlier one."""
        line = self._text[offset:]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        lines = "".join(f"{indent}#: {text}{self._newline}" for text in comment)
        yield _Edit(offset, offset, lines)
        above: list[tuple[int, str]] = []
        end = offset
        while end > 0:
            start = self._text.rfind("\n", 0, end - 1) + 1
            if any(first <= start < last for first, last in self._blocks):
                break
            if not _COMMENT.match(self._text[start:end].rstrip("\r\n")):
                break
            above.insert(0, (start, self._text[start:end].rstrip("\r\n")))
            end = start
        removing = False
        for start, written in above:
            removing = bool(_HEADER.match(written) or (removing and _OURS.match(written)))
            if removing:
                yield _Edit(start, self._text.index("\n", start) + 1, "")


def _nodes(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    """Yield a node and all nodes in it, each once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    if isinstance(node, yaml.CollectionNode):
        # A mapping contains pairs, a list items.
        for entry in cast("list[yaml.Node | tuple[yaml.Node, yaml.Node]]", node.value):
            for child in entry if isinstance(entry, tuple) else (entry,):
                yield from _nodes(child, seen)


def _child(node: yaml.Node, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the key and the value of a mapping's entry; for a list, the item twice."""
    if isinstance(key, int):
        if not isinstance(node, yaml.SequenceNode):
            return None
        items = cast("list[yaml.Node]", node.value)
        return (items[key], items[key]) if key < len(items) else None
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
    for key_node, value_node in pairs:
        if key_node.value == key:
            return key_node, value_node
    return None
