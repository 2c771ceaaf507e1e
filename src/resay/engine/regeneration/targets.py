"""The sentences of an answer to rewrite, and what is in doubt of each."""

from __future__ import annotations

from dataclasses import dataclass

from resay.core.claim_verdict import ClaimVerdict
from resay.engine.contradictions import stretches_in_doubt


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is in doubt of a sentence.

    Attributes:
        claim: The text of the claim.
        words: The words of it that are in doubt; empty for all of it.
        around: These words with those around them, which tell what they are about.
    """

    claim: str
    words: str
    around: str

    @property
    def quoted(self) -> str:
        """What a prompt says is in doubt."""
        return f'"{one_line(self.words)}"' if self.words else one_line(self.claim)


@dataclass(frozen=True, slots=True)
class Target:
    """A sentence of the draft to rewrite.

    Attributes:
        index: The index of the sentence in the draft.
        text: Its text in the best answer.
        claims: The claims it makes there.
        answer: The best answer.
    """

    index: int
    text: str
    claims: tuple[ClaimVerdict, ...]
    answer: str

    @property
    def doubts(self) -> list[Doubt]:
        """What is in doubt; all of it if no claim is flagged by itself."""
        doubts: list[Doubt] = []
        flagged = [claim for claim in self.claims if claim.flagged]
        for claim in flagged or self.claims:
            if not any(map(str.isalnum, self.undoubted_words(claim))):
                doubts.append(Doubt(claim=claim.text, words="", around=claim.text))
                continue
            text = self.answer[claim.start : claim.end]
            stretches = stretches_in_doubt(text, claim.start, claim.parts)
            for part, (start, end) in zip(claim.flagged_parts, stretches, strict=True):
                words = self.answer[part.start : part.end]
                doubts.append(Doubt(claim=claim.text, words=words, around=text[start:end]))
        return doubts

    def undoubted_words(self, claim: ClaimVerdict) -> str:
        """Return the words of a flagged claim that are not in doubt; none if all of it is."""
        if not claim.flagged_parts:
            return ""
        words: list[str] = []
        position = claim.start
        for part in claim.flagged_parts:
            words.append(self.answer[position : part.start])
            position = max(position, part.end)
        return " ".join([*words, self.answer[position : claim.end]])


def one_line(text: str) -> str:
    """Return a text with single spaces in place of its line breaks and other space."""
    return " ".join(text.split())
