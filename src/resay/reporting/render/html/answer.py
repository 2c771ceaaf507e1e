"""What the page of a verdict shows of the text of its answer."""

from __future__ import annotations

from dataclasses import dataclass

from resay.core.claim_verdict import ClaimVerdict
from resay.core.display.highlighting import pieces
from resay.core.display.texts import doubts
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.reporting.render.html.values import score_text


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
