"""The metadata at the top of a file: YAML between two lines of dashes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, TypeGuard, cast

import yaml

from resay._internal.patterns import lazy_pattern

MetadataValue: TypeAlias = str | int | float
Metadata: TypeAlias = Mapping[str, MetadataValue | tuple[MetadataValue, ...]]
"""A file's metadata; booleans are integers here, as everywhere in Python."""

_FRONT_MATTER = lazy_pattern(
    r"---[ \t]*\r?\n(?P<body>[\w-]+:.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_TITLE = lazy_pattern(r"^title:[ \t]*(?P<title>.*)$", re.MULTILINE)
# Longer text is not a file's metadata, and deep nesting could exhaust the parser's stack.
_MAX_CHARS = 16_384
_NESTING = lazy_pattern(r"[\[{]|- |\? ")
_MAX_NESTING = 500
# A line can repeat another by its name (*name, <<: *name), and that one others: their number grows
# exponentially.
_MAX_VALUES = 10_000
# `key: value` in words or a whole number, as in most files: YAML reads them so, too.
_PLAIN_LINE = lazy_pattern(
    r"(?P<key>[A-Za-z][\w-]{0,99}): +(?:(?P<words>[A-Za-z][\w.,/-]*(?: [\w(][\w.,/()-]*)*)"
    r"|(?P<number>0|[1-9][0-9]{0,17}))[ \t]*\r?(?:\n|\Z)",
    re.ASCII,
)
# What YAML 1.1 does not read as words.
_NO_WORDS = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
# The C implementation, if PyYAML has it, takes a tenth of the time.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """YAML between two lines of dashes at the top of a file.

    Attributes:
        end: Its end offset (exclusive), in code points; 0 if there is none.
        title: Its title; empty if it has none.
        metadata: Its numbers, strings and lists of them; None if there is no front matter, or it
            is not valid YAML and therefore treated as text.
    """

    end: int
    title: str
    metadata: Metadata | None = None


def front_matter(text: str) -> FrontMatter:
    """Parse the front matter of a file."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(end=0, title="")
    metadata = _parse_plain_lines(match["body"])
    if metadata is None:
        metadata = _parse_metadata(match["body"])
    if metadata is None:
        title = _TITLE.search(match["body"])
        return FrontMatter(match.end(), title["title"].strip().strip("\"' ") if title else "")
    title = metadata.get("title", "")
    return FrontMatter(match.end(), "" if isinstance(title, tuple) else str(title), metadata)


def _parse_plain_lines(body: str) -> Metadata | None:
    """Parse front matter of plain lines only; None if it has others.

    YAML takes several times as long: tests/performance/folder.py measures it.
    """
    if len(body) > _MAX_CHARS:
        return None
    metadata: dict[str, MetadataValue | tuple[MetadataValue, ...]] = {}
    end = 0
    while end < len(body):
        line = _PLAIN_LINE.match(body, end)
        if line is None:
            return None
        key, words, number = line.groups()
        if key.lower() in _NO_WORDS or (words is not None and words.lower() in _NO_WORDS):
            return None
        metadata[key] = int(number) if words is None else words
        end = line.end()
    return metadata


def _parse_metadata(body: str) -> Metadata | None:
    if len(body) > _MAX_CHARS or len(_NESTING.findall(body)) > _MAX_NESTING:
        return None
    loader = _Loader(body)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        # Without aliases, there are no more values than characters.
        may_be_many = "*" in body or len(body) > _MAX_VALUES
        if may_be_many and _count_values(node) > _MAX_VALUES:
            return None
        document: object = loader.construct_document(node)
    # Impossible dates and overlong numbers raise other errors than YAML's.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None
    finally:
        loader.dispose()
    if not isinstance(document, dict):
        return None
    metadata: dict[str, MetadataValue | tuple[MetadataValue, ...]] = {}
    for key, raw in cast("dict[object, object]", document).items():
        name = _encodable(str(key))
        if isinstance(raw, list):
            items = map(_plain_value, cast("list[Any]", raw))
            metadata[name] = tuple(filter(_is_value, items))
        else:
            value = _plain_value(raw)
            if _is_value(value):
                metadata[name] = value
    return metadata


def _count_values(root: yaml.Node) -> float:
    """Return the number of values once all repetitions are written out; infinite for a cycle."""
    counts: dict[int, float] = {}

    def count(node: yaml.Node) -> float:
        if id(node) not in counts:
            # Until it is known: a node that contains itself has no end.
            counts[id(node)] = math.inf
            total = 1.0
            for child in _children(node):
                total += count(child)
            counts[id(node)] = total
        return counts[id(node)]

    return count(root)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)


def _plain_value(value: Any) -> Any:
    """Convert a value without a JSON form to text: a date becomes `2024-03-01`."""
    if isinstance(value, date):
        return value.isoformat()
    return _encodable(value) if isinstance(value, str) else value


def _is_value(value: object) -> TypeGuard[MetadataValue]:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
