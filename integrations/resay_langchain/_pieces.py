"""Makes message chunks of a guarded answer that is being written."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk

from resay.adapters import VERDICT_KEY, verdict_data
from resay.engine.actions import Answer
from resay.engine.stream_gate import Part
from resay_langchain._outcome import in_place_of, without_text

__all__ = ["Pieces"]


class Pieces:
    """The chunks of one answer.

    Where text is held, its sentences come as they are released, and everything else the model said
    (calls of tools, thoughts, usage) with the last chunk; of an answer that was written again, no
    more than the usage. The chunks have no id of their own, so that LangChain gives all of them
    that of the run.
    """

    def __init__(self) -> None:
        self._passed_on = False
        self._in_blocks = False

    def of(self, part: Part) -> AIMessageChunk | None:
        """Return a part as a chunk; None where there is nothing in it."""
        if part.chunk is None:
            return AIMessageChunk(content=part.text) if part.text else None
        self._passed_on = True
        if part.chunk.raw is None:
            return None
        chunk = _as_chunk(part.chunk.raw)
        self._in_blocks = isinstance(chunk.content, list)
        # Which chunk is the last one is not for the model to say.
        return chunk.model_copy(update={"id": None, "chunk_position": None})

    def last(self, answer: Answer) -> tuple[AIMessageChunk, dict[str, Any]]:
        """Return the last chunk, which has the verdict, and the verdict."""
        data = verdict_data(answer.verdict, answer.action)
        if self._passed_on:
            return self._closing({VERDICT_KEY: data}), data
        whole = _whole(answer)
        if answer.blocked or answer.regenerated:
            empty = in_place_of(whole, "", data, complete=answer.regenerated)
            return self._closing(empty.response_metadata, empty.usage_metadata), data
        update = {
            "content": without_text(cast("Any", whole.content)),
            "response_metadata": {**whole.response_metadata, VERDICT_KEY: data},
            "id": None,
            "chunk_position": "last",
        }
        return whole.model_copy(update=update), data

    def refusal(self, message: str, data: dict[str, Any]) -> AIMessageChunk:
        """Return the last chunk of an answer that was withheld with an exception."""
        return self._closing({VERDICT_KEY: data}).model_copy(update={"content": message})

    def _closing(self, metadata: dict[str, Any], usage: Any = None) -> AIMessageChunk:
        return AIMessageChunk(
            content=[] if self._in_blocks else "",
            response_metadata=metadata,
            usage_metadata=usage,
            chunk_position="last",
        )


def _whole(answer: Answer) -> AIMessageChunk:
    raw = answer.completion.raw if answer.completion else None
    if not isinstance(raw, tuple):
        return _as_chunk(raw)
    chunks = [_as_chunk(piece) for piece in cast("tuple[Any, ...]", raw)]
    return reduce(add, chunks) if chunks else AIMessageChunk(content="")


def _as_chunk(message: Any) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
    if isinstance(message, AIMessage):
        # A model that does not stream gives the whole message at once.
        return AIMessageChunk(**message.model_dump(exclude={"type"}))
    return AIMessageChunk(content="")
