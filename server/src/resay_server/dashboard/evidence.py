"""What the page of one verdict shows of the texts that the answer was checked with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from resay import Verdict
from resay.plugins import JudgeCall, RecordedEvidence
from resay_server.journal import Journal


@dataclass(frozen=True, slots=True)
class NumberedCall:
    """A question to a judge.

    Attributes:
        number: Its number on the page, from 1.
        call: The question, and the answers.
        claims: The indexes of the claims that it is about; none if it is about the whole answer, or
            about claims that are not in this answer, such as those of a repaired draft.
    """

    number: int
    call: JudgeCall
    claims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """The stored evidence of an answer, by claim.

    Attributes:
        evidence: The evidence; None if none is stored.
        missing_reason: Why none is stored.
    """

    evidence: RecordedEvidence | None
    missing_reason: str = ""
    _calls: Sequence[NumberedCall] = field(default=(), repr=False)

    def calls_beside(self, claim: int) -> list[NumberedCall]:
        """Return the questions that are shown beside a claim, the first of theirs."""
        return [item for item in self._calls if item.claims[:1] == (claim,)]

    def calls_elsewhere(self, claim: int) -> list[Sequence[NumberedCall]]:
        """Return the questions about a claim that are shown beside others.

        Those of a method that are shown beside the same claim are together.
        """
        groups: dict[tuple[str, int], list[NumberedCall]] = {}
        for item in self._calls:
            if claim in item.claims and item.claims[0] != claim:
                groups.setdefault((item.call.method, item.claims[0]), []).append(item)
        return list(groups.values())

    @property
    def other_calls(self) -> list[NumberedCall]:
        """The questions that are about none of the claims."""
        return [item for item in self._calls if not item.claims]

    def has_sample(self, index: int) -> bool:
        """Return whether a sample is stored."""
        return self.evidence is not None and index < len(self.evidence.samples)


def shown_evidence(
    evidence: RecordedEvidence | None, verdict: Verdict, journal: Journal
) -> ShownEvidence:
    """Return what is shown of an entry's evidence.

    Args:
        evidence: The stored evidence, or None.
        verdict: The entry's verdict.
        journal: The journal, whose settings say why none is stored.
    """
    if evidence is None:
        return ShownEvidence(None, _missing_reason(verdict, journal))
    by_text: dict[str, list[int]] = {}
    for index, claim in enumerate(verdict.claims):
        by_text.setdefault(_folded(claim.text), []).append(index)
    calls: list[NumberedCall] = []
    for number, call in enumerate(evidence.judge_calls, 1):
        claims: list[int] = []
        for text in call.claims:
            claims += by_text.get(_folded(text), [])
        calls.append(NumberedCall(number, call, tuple(claims)))
    return ShownEvidence(evidence, _calls=calls)


def _folded(text: str) -> str:
    """Return a text without line breaks, which prompts replace."""
    return " ".join(text.split())


def _missing_reason(verdict: Verdict, journal: Journal) -> str:
    if journal.content == "none":
        return (
            "The journal stores no samples and no judges' answers, because it stores no text"
            " (content: none). To see those of new checks, set content to flagged or to all in the"
            " settings of the journal."
        )
    if not journal.stores_evidence:
        return (
            "The journal stores no samples and no judges' answers (evidence: false). To see those"
            " of new checks, set evidence to true in the settings of the journal."
        )
    has_text = any(sentence.has_text for sentence in verdict.sentences)
    if journal.content == "flagged" and not has_text:
        return (
            "The journal stores the samples and judges' answers only of answers that were flagged,"
            " blocked or regenerated (content: flagged). To see those of all new checks, set"
            " content to all in the settings of the journal."
        )
    return (
        "None were stored with this entry: its check used none, or the entry was written by an"
        " earlier version or with other settings."
    )
