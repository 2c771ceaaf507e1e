"""Finds the references of a request.

Most production answers are written from documents that are already in the conversation: tool
results, documents in a provider's own field, and context that a prompt marks off. The model's own
messages are never searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from resay._internal.patterns import lazy_pattern
from resay.core.check_context import CheckContext
from resay.core.marked_context import makes_context_optional, marked_spans, requires_context
from resay.core.references import Reference, document_text, joined_text, own_reference
from resay.core.request import Message, Request
from resay.core.request_paths import is_path, steps_of

_WORD: Final = lazy_pattern(r"[^\W\d_]+")
_MIN_WORDS: Final = 3
# The keys of a model's message with its own words; the others are filled by somebody else.
_MODEL_OUTPUT_KEYS: Final = frozenset(
    (
        "annotations",
        "audio",
        "content",
        "function_call",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "refusal",
        "text",
        "thinking",
        "tool_calls",
    )
)


def references_in(context: CheckContext, sources: Collection[str]) -> tuple[Reference, ...]:
    """Find the references of a request.

    Args:
        context: The request, with the client's own.
        sources: Where to search: origins, and paths in the client's request.

    Returns:
        The references, in the order of the conversation, followed by those at paths; each text
        once.
    """
    references = list(_in_context(context, sources))
    for path in filter(is_path, sources):
        references += _at_path(context.client_request, path)
    by_text: dict[str, Reference] = {}
    for reference in references:
        if len(_WORD.findall(reference.text)) >= _MIN_WORDS:
            by_text.setdefault(reference.text.strip(), reference)
    return tuple(by_text.values())


def _in_context(context: CheckContext, sources: Collection[str]) -> Iterator[Reference]:
    request = context.request
    if "given" in sources:
        yield from context.client_references
    if "documents" in sources:
        for i, document in enumerate(_items(request.params.get("documents"))):
            yield Reference(
                text=document_text(document),
                source=f"documents[{i}]",
                origin="documents",
                label=str(i + 1),
            )
    is_required = _is_context_required(request) if "messages" in sources else None
    for i, message in enumerate(request.messages):
        yield from _in_message(message, f"messages[{i}]", sources, is_required=is_required)


def _in_message(
    message: Message, source: str, sources: Collection[str], *, is_required: bool | None
) -> Iterator[Reference]:
    role = message.get("role")
    content: Any = message.get("content")
    if role in ("tool", "function"):
        if "tools" in sources:
            yield Reference(text=joined_text(content), source=source, origin="tools")
    elif role in ("user", "system", "developer"):
        if "messages" in sources:
            for path, text in _texts(content):
                yield from _in_text(text, source + path, is_required=is_required)
        yield from _in_parts(content, source, sources)


def _is_context_required(request: Request) -> bool | None:
    """Whether the model is told to answer from the context; None if using it is optional."""
    texts: list[str] = []
    for message in request.messages:
        texts += (text for _, text in _texts(message.get("content")))
    if any(map(makes_context_optional, texts)):
        return None
    return any(map(requires_context, texts))


def _in_text(text: str, source: str, *, is_required: bool | None) -> Iterator[Reference]:
    """Yield the context that a text marks off, in order.

    Args:
        text: The text.
        source: Its place in the request.
        is_required: Whether the model is told to answer from it; None if it is optional.
    """
    spans = marked_spans(text)
    for span in spans:
        content = text[span.start : span.end]
        stripped = content.strip()
        if not stripped:
            continue
        start = span.start + content.index(stripped)
        is_rag = is_required or span.before_question or len(spans) > 1
        yield Reference(
            text=stripped,
            source=source,
            origin="messages",
            start=start,
            end=start + len(stripped),
            label=span.label,
            binding=is_required is not None and is_rag,
        )


def _in_parts(content: Any, source: str, sources: Collection[str]) -> Iterator[Reference]:
    """Yield references from providers' own content parts: tool results, documents, search hits."""
    for i, part in enumerate(_mappings(content)):
        kind = part.get("type")
        if kind in ("tool_result", "function_call_output") and "tools" in sources:
            yield Reference(
                text=joined_text(part.get("content") or part.get("output")),
                source=f"{source}.content[{i}]",
                origin="tools",
            )
        elif kind in ("document", "search_result") and "documents" in sources:
            title, address = part.get("title"), part.get("source")
            yield Reference(
                text=document_text(part),
                source=f"{source}.content[{i}]",
                origin="documents",
                title=title if isinstance(title, str) else None,
                url=address if isinstance(address, str) else None,
            )


@dataclass(frozen=True, slots=True)
class _Located:
    """A place in a request.

    Attributes:
        path: The path to it.
        value: What is there.
        is_model_output: Whether it is a message of the model.
    """

    path: str
    value: object
    is_model_output: bool = False


def _at_path(request: Mapping[str, Any], path: str) -> Iterator[Reference]:
    """Yield the references at a path in the client's request, except the model's own words."""
    values = [_Located(path="", value=request)]
    for key, index in steps_of(path):
        inner: list[_Located] = []
        for value in values:
            inner += _under_key(value, key) if key else _under_index(value, index)
        values = inner
    for value in values:
        items = _items(value.value)
        texts = [(f"{value.path}[{i}]", item) for i, item in enumerate(items)]
        for source, text in texts or [(value.path, value.value)]:
            reference = own_reference(text, source)
            if reference is not None:
                yield reference


def _under_index(place: _Located, index: str) -> Iterator[_Located]:
    """Yield the item of a list at an index, or all of them at `*`."""
    for i, item in enumerate(_items(place.value)):
        if index == "*" or i == int(index):
            yield _Located(f"{place.path}[{i}]", item, _is_model_output(item))


def _under_key(place: _Located, key: str) -> Iterator[_Located]:
    if not isinstance(place.value, Mapping):
        return
    fields = cast("Mapping[str, object]", place.value)
    if key in fields and not (place.is_model_output and key in _MODEL_OUTPUT_KEYS):
        yield _Located(f"{place.path}.{key}" if place.path else key, fields[key])


def _is_model_output(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    fields = cast("Mapping[str, object]", item)
    return fields.get("role") in ("assistant", "model") or fields.get("type") == "function_call"


def without_references(request: Request, references: Sequence[Reference]) -> Request:
    """Return the request with the references quoted in its messages replaced by a mark."""
    by_source: dict[str, list[Reference]] = {}
    for reference in references:
        if reference.origin == "messages" and reference.start is not None:
            by_source.setdefault(reference.source, []).append(reference)
    if not by_source:
        return request
    messages: list[Message] = []
    for i, message in enumerate(request.messages):
        if message.get("role") == "assistant":
            messages.append(message)
        else:
            content = _without_references(message.get("content"), f"messages[{i}]", by_source)
            messages.append({**message, "content": content})
    return replace(request, messages=tuple(messages))


def _without_references(
    content: Any, source: str, by_source: Mapping[str, Sequence[Reference]]
) -> str | list[Mapping[str, Any]]:
    if isinstance(content, str):
        return _cut(content, by_source.get(source, ()))
    parts: list[Mapping[str, Any]] = []
    for i, part in enumerate(_mappings(content)):
        text = part.get("text")
        if isinstance(text, str):
            part = {**part, "text": _cut(text, by_source.get(f"{source}.content[{i}]", ()))}
        parts.append(part)
    return parts


def _cut(text: str, references: Sequence[Reference]) -> str:
    pieces: list[str] = []
    position = 0
    for reference in sorted(references, key=lambda reference: reference.start or 0):
        pieces += [text[position : reference.start], "[...]"]
        position = reference.end or position
    return "".join([*pieces, text[position:]])


def _texts(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of a message's content, each with its place in the message."""
    if isinstance(content, str):
        yield "", content
    for i, part in enumerate(_mappings(content)):
        text = part.get("text")
        if isinstance(text, str):
            yield f".content[{i}]", text


def _mappings(content: object) -> Iterator[Mapping[str, Any]]:
    for part in _items(content):
        yield cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _items(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
