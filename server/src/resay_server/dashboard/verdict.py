"""What the page of one verdict shows of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resay import ClaimVerdict, Verdict
from resay.adapters.pages import Reported, pieces
from resay.errors import ConfigurationError
from resay.plugins import Grounds
from resay_server.journal import Entry, Feedback

# Pieces of a text, each with whether it is marked.
Pieces = Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Review:
    """The feedback on an entry, and its reader.

    Attributes:
        feedback: The feedback, oldest first.
        rater: The reader's name; empty if unknown.
        waiting: The ids of the sampled entries that the reader has yet to label.
    """

    feedback: Sequence[Feedback]
    rater: str
    waiting: Sequence[str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that supports or contradicts a claim.

    Attributes:
        title: The name of the document.
        source: The part of the request that it comes from.
        label: What else is known of its place.
        pieces: Its text, if it is known.
        sample: The index of the sample that it is from; None if it is from elsewhere.
    """

    title: str | None = None
    source: str | None = None
    label: str = ""
    pieces: Pieces = ()
    sample: int | None = None


def reported_entry(entry: Entry) -> Reported | None:
    """Return the verdict of an entry with its context; None if it cannot be read."""
    try:
        verdict = Verdict.from_dict(entry.verdict)
    except ConfigurationError:
        return None
    usage = entry.usage + entry.check_usage
    return Reported(verdict, entry.id, action=entry.action, usage=usage)


def evidence(verdict: Verdict, claim: ClaimVerdict) -> list[tuple[str, list[Evidence]]]:
    """Return the evidence for and against a claim."""
    supports = [_ground(verdict, ground) for ground in claim.grounds if ground.supports]
    opposes = [_ground(verdict, ground) for ground in claim.grounds if not ground.supports]
    if 0 <= claim.sentence < len(verdict.sentences) and verdict.regeneration:
        cited = verdict.sentences[claim.sentence].citations
        supports += [
            Evidence(title=source.title, label=": ", pieces=[(source.text, False)])
            for source in verdict.regeneration.sources
            if source.id in cited and source.text
        ]
    if against := claim.contradicted_by:
        spans = [against.evidence_span] if against.evidence_span else []
        opposes.append(
            Evidence(
                label=f"{against.source.capitalize()} {against.index + 1}: ",
                pieces=list(pieces(against.text, 0, spans)) or [("", False)],
                sample=against.index if against.source == "sample" else None,
            )
        )
    return [("For", supports), ("Against", opposes)]


def _ground(verdict: Verdict, ground: Grounds) -> Evidence:
    span = "" if ground.start is None else f", characters {ground.start}–{ground.end}"
    if not 0 <= ground.reference < len(verdict.references):
        return Evidence(label=f"reference {ground.reference + 1}{span}")
    reference = verdict.references[ground.reference]
    return Evidence(
        title=reference.id or reference.label or None, source=reference.source, label=span
    )


def claim_in_place(verdict: Verdict, claim: ClaimVerdict) -> Pieces:
    """Return the claim's sentence with the claim, or what of it is in doubt, marked.

    If the text of the sentence was not stored, just the claim's text.
    """
    if 0 <= claim.sentence < len(verdict.sentences):
        sentence = verdict.sentences[claim.sentence]
        if sentence.has_text:
            spans = claim.spans_in_doubt or [(claim.start, claim.end)]
            # A mark around everything points at nothing.
            if spans == [(sentence.start, sentence.end)]:
                spans = []
            return list(pieces(sentence.text, sentence.start, spans))
    return [(claim.text, False)]
