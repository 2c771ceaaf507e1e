"""What the page of a verdict shows of the text of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from resay.core.claim_verdict import ClaimVerdict
from resay.core.highlighting import pieces
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.reporting.render.html.values import score_text
from resay.reporting.render.texts import doubts


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer: a sentence, an unscored span, or the text between them.

    Attributes:
        text: The text.
        sentence: The sentence, if it is one.
        number: The number of the sentence, from 1.
        title: The kind of an unscored span.
    """

    text: str
    sentence: SentenceVerdict | None = None
    number: int = 0
    title: str = ""

    @property
    def has_words(self) -> bool:
        """Whether it is more than white space and punctuation."""
        return re.search(r"\w{2}", self.text) is not None


@dataclass(frozen=True, slots=True)
class FlaggedClaim:
    """A flagged sentence, or a name in code that was flagged.

    Attributes:
        id: The end of its id on the page.
        claim: The sentence or name.
        doubts: What of it is in doubt; empty if it is all of it.
    """

    id: str
    claim: SentenceVerdict | ClaimVerdict
    doubts: tuple[str, ...] = ()


def has_text(verdict: Verdict) -> bool:
    """Return whether the text of the answer was stored."""
    return any(part.text for part in (*verdict.sentences, *verdict.unscored))


def answer_pieces(verdict: Verdict, text: str | None) -> Iterator[AnswerPiece]:
    """Yield the pieces of an answer.

    Args:
        verdict: The verdict, with its text stored.
        text: The text of the answer. If the sentences do not match it at their offsets, they and
            the unscored spans are shown without the text between them.
    """
    if text is not None and not _matches_text(verdict, text):
        text = None
    position = 0
    numbers = {sentence.start: i for i, sentence in enumerate(verdict.sentences, 1)}
    parts = (*verdict.sentences, *verdict.unscored_blocks)
    for part in sorted(parts, key=lambda part: part.start):
        if text is not None:
            yield AnswerPiece(text[position : part.start])
        elif position:
            # The text between is unknown; a longer gap may be a paragraph break or list marker.
            apart = part.start - position > 1 or verdict.structured
            yield AnswerPiece("\n" if apart else " ")
        if isinstance(part, Unscored):
            yield AnswerPiece(part.text, title=part.called)
        else:
            yield AnswerPiece(part.text, sentence=part, number=numbers[part.start])
        position = part.end
    if text is not None:
        yield AnswerPiece(text[position:])


def _matches_text(verdict: Verdict, text: str) -> bool:
    position = 0
    for sentence in verdict.sentences:
        if sentence.start < position or text[sentence.start : sentence.end] != sentence.text:
            return False
        position = sentence.end
    return True


def sentence_pieces(verdict: Verdict, number: int) -> list[tuple[str, bool]]:
    """Cut a sentence where what is in doubt begins and ends.

    Args:
        verdict: The verdict.
        number: The number of the sentence, from 1.

    Returns:
        Each piece, and whether it is in doubt.
    """
    sentence = verdict.sentences[number - 1]
    claims = verdict.claims_by_sentence.get(number - 1, ())
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    if not spans or not sentence.has_text:
        # Without claims, all of a flagged sentence is in doubt.
        return [(sentence.text, sentence.flagged)]
    return list(pieces(sentence.text, sentence.start, spans))


def flagged_claims(verdict: Verdict) -> list[FlaggedClaim]:
    """Return the flagged sentences, and the flagged names in code blocks."""
    claims = verdict.claims_by_sentence
    flagged = [
        FlaggedClaim(f"s{i + 1}", sentence, tuple(doubts(sentence, claims.get(i, ()))))
        for i, sentence in enumerate(verdict.sentences)
        if sentence.flagged
    ]
    names = [name for name in verdict.flagged_names if name.sentence < 0]
    return flagged + [FlaggedClaim(f"n{i}", name) for i, name in enumerate(names, 1)]


def methods(scored: SentenceVerdict | ClaimVerdict) -> str:
    """Return the methods that scored a sentence, with their scores if there are several."""
    if len(scored.scores) < 2:
        return scored.by or "none"
    return ", ".join(f"{name} {score_text(score)}" for name, score in scored.scores.items())


def summary(sentence: SentenceVerdict) -> str:
    """Summarize the result for a sentence in a few words."""
    if sentence.score is None:
        return "no score"
    text = f"score {score_text(sentence.score)}"
    if sentence.by:
        text += f" by {sentence.by}"
    if len(sentence.scores) > 1:
        text += f" ({methods(sentence)})"
    if sentence.flagged:
        return f"{text}, flagged"
    return f"{text}, doubtful" if sentence.band == "doubtful" else text
