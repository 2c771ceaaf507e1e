"""References: the trusted texts that an answer is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from resay.core.documents import Document

Origin = Literal["given", "messages", "tools", "documents", "retriever", "own"]
"""The origin of a reference: the caller, context in a message, a tool result, a provider's field
for documents, a retriever used for the answer, or a path or function of the application that the
policy names."""
ORIGINS: Final = ("given", "messages", "tools", "documents", "retriever")
"""The origins that a policy can name by keyword."""
# Where the formats of providers have the text of a document.
_TEXT_KEYS: Final = ("text", "content", "data", "snippet")


@dataclass(frozen=True, slots=True)
class Reference:
    """A trusted text to compare an answer with.

    Attributes:
        text: The text.
        source: Its place: `references[0]`, `messages[1]`, `documents[0]`, `retriever[2]`.
        origin: The kind of place.
        start: Its start in the text of its message, in code points; None if it is a whole text.
        end: Its end (exclusive).
        label: Its label in the request, by which an answer can cite it: `2` for "[2] ...".
        binding: Whether the answer must be written from it: claims that no such reference mentions
            are made up.
        edition: Its edition or date, if known: "2024-03-01".
        id: Its id in its store, which a citation may name; not shown to the model.
        title: Its title.
        url: Its address, which an answer may link to.
    """

    text: str = field(repr=False)
    source: str = "references[0]"
    origin: Origin = "given"
    start: int | None = None
    end: int | None = None
    label: str | None = None
    binding: bool = True
    edition: str | None = None
    id: str | None = None
    title: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing."""
        return not self.text.strip()


def given_references(values: Iterable[str | Document]) -> tuple[Reference, ...]:
    """Return the references that a caller passed, in their order, without blank ones.

    A blank one counts: the label of the next is its number among all that were passed.

    Args:
        values: Their texts, or documents, whose ids and titles are kept.
    """
    references: list[Reference] = []
    for index, value in enumerate(values):
        reference = _reference(value, f"references[{index}]")
        if not reference.is_blank:
            references.append(replace(reference, label=str(index + 1)))
    return tuple(references)


def retrieved_references(values: Iterable[str | Document]) -> tuple[Reference, ...]:
    """Return the references that a retriever found for an answer, as `given_references` does.

    Args:
        values: As for `given_references`.
    """
    references: list[Reference] = []
    for index, value in enumerate(values):
        reference = _reference(value, f"retriever[{index}]")
        if not reference.is_blank:
            references.append(replace(reference, origin="retriever"))
    return tuple(references)


def _reference(value: str | Document, source: str) -> Reference:
    if isinstance(value, str):
        return Reference(value, source)
    url = _name_in(value.metadata, "url")
    return Reference(value.text, source, id=value.id, title=value.title, url=url)


def own_reference(value: object, source: str) -> Reference | None:
    """Convert an application's own reference.

    Args:
        value: A text, or a mapping with a text in `text` (or `content`, or a provider's key), and
            optionally an `id`, a `title` and a `url`.
        source: Its place in the request.

    Returns:
        The reference; None if it is neither.
    """
    text = document_text(value)
    if not text.strip():
        return None
    if not isinstance(value, Mapping):
        return Reference(text=text, source=source, origin="own")
    document = cast("Mapping[str, Any]", value)
    own_id = _name_in(document, "id")
    title = _name_in(document, "title")
    return Reference(
        text=text,
        source=source,
        origin="own",
        label=own_id or title,
        id=own_id,
        title=title,
        url=_name_in(document, "url"),
    )


def _name_in(document: Mapping[str, Any], key: str) -> str | None:
    value = document.get(key)
    return str(value) if isinstance(value, (str, int)) else None


def document_text(value: object) -> str:
    """Return the text of a document in any provider's format; empty if it has none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return ""
    document = cast("Mapping[str, Any]", value)
    source = document.get("source")
    if isinstance(source, Mapping):
        held = cast("Mapping[str, Any]", source)
        return joined_text(held.get("data") if held.get("type") == "text" else held.get("content"))
    for key in _TEXT_KEYS:
        text = joined_text(document.get(key))
        if text:
            return text
    return ""


def joined_text(content: object) -> str:
    """Return the text of a value that is a text, a part with one, or a list of them."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return joined_text(cast("Mapping[str, Any]", content).get("text"))
    if not isinstance(content, (list, tuple)):
        return ""
    texts = [joined_text(part) for part in cast("Sequence[object]", content)]
    return "\n".join(text for text in texts if text)
