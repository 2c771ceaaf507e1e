"""What a reader of an answer is warned of, and where in its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from resay.core.claim_verdict import ClaimVerdict
from resay.core.decision import Band
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict

CaveatKind = Literal["contradicted", "unsupported", "not checked"]

_MAX_QUOTE = 300


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that is flagged, or was not scored.

    Attributes:
        position: The offset in the response after which it is marked, in code points.
        kind: What is wrong with it.
        words: The words in question; empty for the answer as a whole.
        evidence: What speaks against them, or why nothing speaks for them; may be empty.
        name: The name in a block of code that it is about. It is marked below the block.
        is_apart: Whether the mark is a paragraph of its own, as after a table.
    """

    position: int
    kind: CaveatKind
    words: str = ""
    evidence: str = ""
    name: str = ""
    is_apart: bool = False

    @property
    def is_about_all(self) -> bool:
        """Whether it is about the answer as a whole."""
        return not (self.words or self.name)


def caveats_of(response: str, verdict: Verdict, *, unscored: bool) -> list[Caveat]:
    """Return the caveats of a response, in order.

    Args:
        response: The response.
        verdict: The verdict on it.
        unscored: Whether to warn of text that was not scored, and of an answer that was not
            checked.
    """
    caveats = caveats_in(
        response,
        verdict.sentences,
        verdict.claims,
        verdict.unscored,
        warns_of_unscored=unscored,
    )
    kinds = {caveat.kind for caveat in caveats}
    if verdict.flagged and kinds <= {"not checked"}:
        caveats.append(_of_the_whole(response, "unsupported", verdict))
    elif verdict.inconclusive and not kinds and unscored:
        caveats.append(_of_the_whole(response, "not checked", verdict))
    return caveats


def _of_the_whole(response: str, kind: CaveatKind, verdict: Verdict) -> Caveat:
    return Caveat(len(response), kind, evidence=_shortened(verdict.reason), is_apart=True)


def caveats_in(
    response: str,
    sentences: Sequence[SentenceVerdict],
    claims: Sequence[ClaimVerdict],
    unscored: Sequence[Unscored],
    *,
    warns_of_unscored: bool,
) -> list[Caveat]:
    """Return the caveats of a part of a response, in order.

    Args:
        response: The response.
        sentences: The verdicts on sentences of it.
        claims: The verdicts on their claims, which name their sentence by its index.
        unscored: The spans that were not scored.
        warns_of_unscored: Whether to warn of these.
    """
    flagged_ends = {sentence.end for sentence in sentences if sentence.flagged}
    caveats = [
        *_of_sentences(sentences, claims),
        *(_of_unscored(unscored, flagged_ends) if warns_of_unscored else ()),
        *_of_names(response, claims, unscored),
    ]
    return sorted(caveats, key=lambda caveat: caveat.position)


def _of_sentences(
    sentences: Sequence[SentenceVerdict], claims: Sequence[ClaimVerdict]
) -> Iterator[Caveat]:
    """Yield the caveats of flagged sentences; in a table, those of flagged cells."""
    rows: set[int] = set()
    for claim in claims:
        if claim.flagged and claim.unit == "row":
            rows.add(claim.sentence)
            yield _of_unit(claim)
    for index, sentence in enumerate(sentences):
        if sentence.flagged and index not in rows:
            yield _of_unit(sentence)


def _of_unit(unit: SentenceVerdict | ClaimVerdict) -> Caveat:
    return Caveat(unit.end, _kind(unit.band), _shortened(unit.text), _evidence(unit))


def _kind(band: Band | None) -> CaveatKind:
    return "contradicted" if band == "contradicted" else "unsupported"


def _evidence(unit: SentenceVerdict | ClaimVerdict) -> str:
    contradiction = unit.contradicted_by
    if unit.band == "contradicted" and contradiction is not None:
        return f"{contradiction.speaker} says “{_shortened(contradiction.text)}”"
    return _shortened(unit.reason or "")


def _of_names(
    response: str, claims: Sequence[ClaimVerdict], unscored: Sequence[Unscored]
) -> Iterator[Caveat]:
    """Yield the caveats of flagged names in blocks of code."""
    for claim in claims:
        if not claim.flagged or claim.unit != "code" or claim.sentence >= 0:
            continue
        for block in unscored:
            if block.start <= claim.start < block.end:
                yield Caveat(
                    block.end,
                    _kind(claim.band),
                    evidence=_shortened(claim.reason or ""),
                    name=response[claim.start : claim.end],
                    is_apart=True,
                )


def _of_unscored(unscored: Sequence[Unscored], flagged_ends: set[int]) -> Iterator[Caveat]:
    for span in unscored:
        if span.kind in {"sentence", "prose"}:
            if span.end not in flagged_ends:
                yield Caveat(span.end, "not checked", _shortened(span.text))
        elif span.kind != "reasoning":
            yield Caveat(span.end, "not checked", f"the {span.called}", is_apart=True)


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_QUOTE else f"{words[: _MAX_QUOTE - 1].rstrip()}…"
