"""The chunks of a streamed answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from resay.core.marks import Mark
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.engine.actions import Answer
from resay.providers.base import Chunk


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """A chunk of a streamed answer.

    Attributes:
        text: The text to show. The texts of all chunks except replacements and marks, joined, are
            the response, or its beginning if the rest was withheld.
        sentences: The verdicts on its sentences; empty if they are shown before they are checked,
            and for text that is not prose.
        unscored: The spans in it that were not scored; empty if it is shown before it is checked.
        is_replacement: Whether this is the policy's message in place of withheld text.
        rewritten: Whether it belongs to a regenerated answer, and so is not the provider's text.
        provider_chunk: The provider's chunk, if text is passed on as it arrives.
        mark: The mark that the chunk consists of, if it is one: then its text is ours.
    """

    text: str
    sentences: tuple[SentenceVerdict, ...] = ()
    unscored: tuple[Unscored, ...] = field(default=(), kw_only=True)
    is_replacement: bool = False
    rewritten: bool = False
    provider_chunk: Chunk | None = field(default=None, repr=False)
    mark: Mark | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of_mark(cls, mark: Mark) -> AnswerChunk:
        """Return the chunk of a mark."""
        return cls(mark.text, mark=mark)

    def marked(self, marks: Sequence[Mark], start: int) -> list[AnswerChunk]:
        """Return the chunk cut at the marks in it, with the marks between the pieces.

        Args:
            marks: Marks of the response, in order, none of them before the chunk.
            start: The offset of the chunk's text in the response.
        """
        chunks: list[AnswerChunk] = []
        position = start
        for mark in marks:
            if mark.position > position:
                chunks.append(self._piece(position, mark.position, start))
                position = mark.position
            chunks.append(AnswerChunk.of_mark(mark))
        if position < start + len(self.text):
            chunks.append(self._piece(position, start + len(self.text), start))
        return chunks

    def _piece(self, piece_start: int, piece_end: int, start: int) -> AnswerChunk:
        """Return the chunk from one offset in the response to another."""
        return replace(
            self,
            text=self.text[piece_start - start : piece_end - start],
            sentences=tuple(s for s in self.sentences if piece_start <= s.start < piece_end),
            unscored=tuple(s for s in self.unscored if piece_start <= s.start < piece_end),
        )


def chunks_of(answer: Answer) -> list[AnswerChunk]:
    """Return an answer that is released all at once in chunks: one, or more if it has marks."""
    if answer.marks:
        verdict = answer.verdict
        whole = AnswerChunk(answer.response, verdict.sentences, unscored=verdict.unscored)
        return whole.marked(answer.marks, 0)
    # Inserted citations shift the offsets of the sentences.
    same = answer.text == answer.response
    chunk = AnswerChunk(
        answer.text,
        answer.verdict.sentences if same or answer.blocked else (),
        unscored=answer.verdict.unscored if same else (),
        is_replacement=answer.blocked,
        rewritten=answer.regenerated,
    )
    return [chunk]
