"""The chunks of a streamed answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.providers.base import Chunk

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """A chunk of a streamed answer.

    Attributes:
        text: The text to show. The texts of all chunks except replacements, joined, are the
            response, or its beginning if the rest was withheld.
        sentences: The verdicts on its sentences; empty if they are shown before they are checked,
            and for text that is not prose.
        unscored: The spans in it that were not scored; empty if it is shown before it is checked.
        is_replacement: Whether this is the policy's message in place of withheld text.
        rewritten: Whether it belongs to a regenerated answer, and so is not the provider's text.
        provider_chunk: The provider's chunk, if text is passed on as it arrives.
    """

    text: str
    sentences: tuple[SentenceVerdict, ...] = ()
    unscored: tuple[Unscored, ...] = field(default=(), kw_only=True)
    is_replacement: bool = False
    rewritten: bool = False
    provider_chunk: Chunk | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.text
