"""What a guarded chain hears of its own runs: documents, and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage

from resay.core.verdict import HallucinationBlocked

__all__ = ["Watch", "documents_in", "watch_among"]

_DEEP = 6


class Watch(BaseCallbackHandler):
    """Collects the documents that pass through a call, and what its guard found.

    Args:
        collects: Whether documents are wanted.
        found: Documents that are known already.
    """

    run_inline = True

    def __init__(self, *, collects: bool, found: Iterable[Document] = ()) -> None:
        self._collects = collects
        self._texts: dict[str, None] = {}
        self.verdict: dict[str, Any] | None = None
        """What users see of the verdict on the last answer."""
        self.blocked: HallucinationBlocked | None = None
        """Why it was withheld, where it was."""
        self.structured = False
        """Whether it was to be an object."""
        self._add(found)

    def note(
        self, verdict: dict[str, Any], blocked: HallucinationBlocked | None, *, structured: bool
    ) -> None:
        """Take what a guard inside found."""
        self.verdict, self.blocked, self.structured = verdict, blocked, structured

    @property
    def references(self) -> tuple[str, ...]:
        """The texts of the documents, each once, in the order in which they were found."""
        return tuple(self._texts)

    def look(self, value: object) -> None:
        """Take the documents in an input, an output or a state."""
        if self._collects:
            self._add(documents_in(value))

    def _add(self, documents: Iterable[Document]) -> None:
        self._texts.update((d.page_content, None) for d in documents if d.page_content.strip())

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.look(inputs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.look(outputs)

    def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        self.look(documents)

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.look(output)


def watch_among(handlers: Iterable[BaseCallbackHandler]) -> Watch | None:
    """Return the innermost watch among the handlers of a run."""
    return next((h for h in reversed(list(handlers)) if isinstance(h, Watch)), None)


def documents_in(value: object, depth: int = _DEEP) -> Iterator[Document]:
    """Yield the documents in a value: a document, or mappings, sequences and messages with some.

    Args:
        value: Anything.
        depth: How many levels are looked into.
    """
    if isinstance(value, Document):
        yield value
    elif not depth:
        return
    elif isinstance(value, ToolMessage):
        # Where tools that retrieve leave what they found.
        yield from documents_in(value.artifact, depth - 1)
    elif isinstance(value, (str, bytes, BaseMessage)):
        return
    elif isinstance(value, Mapping):
        for item in cast("Mapping[Any, object]", value).values():
            yield from documents_in(item, depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[object]", value):
            yield from documents_in(item, depth - 1)
