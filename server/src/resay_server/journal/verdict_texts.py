"""The texts in a verdict's JSON: those that its version without content lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

# Fields that hold labels instead of content; in the metadata of documents they may hold anything.
_METADATA = "metadata"
_LABELS = frozenset({"by", "band", "kind", "mode", "source", "unit", "via"})


def content_texts(full: object, bare: object, *, in_metadata: bool = False) -> Iterator[str]:
    """Yield the texts of a verdict.

    Args:
        full: A value of the verdict.
        bare: The same value without content.
        in_metadata: Whether it belongs to the metadata of a document.
    """
    if isinstance(full, str):
        if full and full != bare:
            yield full
    elif isinstance(full, Mapping):
        bare_fields = _fields(bare)
        for key, value in cast("Mapping[str, object]", full).items():
            if in_metadata or key not in _LABELS:
                yield from content_texts(
                    value, bare_fields.get(key), in_metadata=in_metadata or key == _METADATA
                )
    elif isinstance(full, (list, tuple)):
        bare_items = _items(bare)
        for i, value in enumerate(cast("Sequence[object]", full)):
            bare_item = bare_items[i] if i < len(bare_items) else None
            yield from content_texts(value, bare_item, in_metadata=in_metadata)


def replace_texts(
    full: Any, bare: object, replace: Callable[[str], str], *, in_metadata: bool = False
) -> Any:
    """Return a value of a verdict with each of its texts replaced, in metadata the keys too.

    Args:
        full: A value of the verdict.
        bare: The same value without content.
        replace: Returns the replacement of a text; it may raise anything.
        in_metadata: Whether it belongs to the metadata of a document.
    """
    if isinstance(full, str):
        return replace(full) if full and full != bare else full
    if isinstance(full, dict):
        bare_fields = _fields(bare)
        replaced: dict[str, Any] = {}
        for key, value in cast("dict[str, Any]", full).items():
            if in_metadata:
                replaced[replace(key)] = replace_texts(value, None, replace, in_metadata=True)
            elif key in _LABELS:
                replaced[key] = value
            else:
                replaced[key] = replace_texts(
                    value, bare_fields.get(key), replace, in_metadata=key == _METADATA
                )
        return replaced
    if isinstance(full, list):
        bare_items = _items(bare)
        items: list[Any] = []
        for i, value in enumerate(cast("list[Any]", full)):
            bare_item = bare_items[i] if i < len(bare_items) else None
            items.append(replace_texts(value, bare_item, replace, in_metadata=in_metadata))
        return items
    return full


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
