"""Documents in a prompt, between marks that hold a code, as Resay puts them there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from resay.core.passage import Passage

__all__ = ["Shown", "outside", "shown_in"]

# Only a mark with the code of the first one ends a document; whoever wrote it cannot know that.
_FENCED = re.compile(
    r"<document-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n</document-(?P=code)>",
    re.DOTALL,
)
# A first line that is short and no sentence, or a heading, with text right below.
_TITLES = re.compile(r"(?:\A[^\n.!?:]{1,60}|^#{1,6} [^\n]*)(?=\n\S)", re.MULTILINE)
# A line that goes on in the next, where that begins nothing of its own.
_WRAPPED = re.compile(r"(?<![.!?:\n])\n(?![\s#>|]|[-*+•]\s|\d+[.)]\s)")
_LEFT_OUT = "[…]"
_SENTENCE = re.compile(r".*\w.*[.!?][\"'”’»)\]]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shown:
    """A document that a prompt shows.

    Attributes:
        number: Its number.
        text: What it says, its title in the first line where it has one.
    """

    number: int
    text: str

    @property
    def sentences(self) -> list[str]:
        """Its sentences, each on one line, without titles and headings."""
        text = self.text.replace(_LEFT_OUT, "\n\n").strip()
        text = _WRAPPED.sub(" ", _TITLES.sub(r"\g<0>\n", text))
        lines = (" ".join(sentence.text.split()) for sentence in Passage.of(text).sentences)
        return [line for line in lines if _SENTENCE.fullmatch(line)]


def shown_in(text: str) -> tuple[Shown, ...]:
    """Return the documents that a prompt shows, in order."""
    return tuple(Shown(int(m["number"]), m["text"].strip()) for m in _FENCED.finditer(text))


def outside(text: str) -> str:
    """Return a prompt without the documents that it shows."""
    return _FENCED.sub("\n", text)
