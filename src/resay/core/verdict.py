"""The result of a check."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from resay._internal.plurals import counted
from resay.core.claim_verdict import ClaimVerdict
from resay.core.decision import Decision
from resay.core.display.frame import frame_of
from resay.core.display.html import html, sentences_html
from resay.core.display.markdown import markdown
from resay.core.display.outline import plain_text
from resay.core.display.spans import Label, spans_of
from resay.core.former_keys import with_current_keys
from resay.core.recorded_evidence import RecordedEvidence
from resay.core.references import Reference
from resay.core.regeneration import Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.core.unscored import Unscored
from resay.core.usage import Usage
from resay.core.verdict_json import to_json_value, with_claims, with_own_words
from resay.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Via = Literal["litellm", "native", "batch"]


class Sentences(tuple[SentenceVerdict, ...]):
    """Sentences, which notebooks show as a list with the evidence."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the sentences as an HTML list, each with what speaks against it."""
        return sentences_html(self)


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The result of a check.

    "Consistent" never means "true": a model that is wrong the same way every time agrees with
    itself.

    Attributes:
        decision: `flagged`, `consistent`, `inconclusive` if no decision was possible, or
            `skipped` if there is nothing to check: the policy's `when` says so, or the answer has
            no words, like one that calls tools.
        score: The score that was decided on, in [0, 1]: that of the worst claim. It is the mean
            score instead if only that is above its threshold, or if claims have no scores. None if
            nothing was decided, or nothing was compared.
        reason: The reason, in one line without content: `passage 0.71 > 0.50 with 5 samples`.
        sentences: The scored sentences in order, including headings and table rows, but not code;
            each has the score of its worst claim. For a structured answer its fields, one line
            each: `address.city: "Paris"`; their offsets refer to these lines.
        samples: Number of samples compared.
        steps: The record of each step of the chain.
        usage: The cost of the check: samples and judge calls, without the main call.
        elapsed_s: Wall-clock seconds of the check.
        via: How samples were drawn: through litellm, with the application's own client or provider
            (`native`), or through a Batch API (`batch`); None if none were drawn.
        regeneration: The repair of a flagged answer; None if it was not attempted.
        claims: The claims of the sentences, in order, at least one per sentence; none for a
            structured answer.
        unscored: The unscored spans of the response, in order: each letter and digit is in a scored
            sentence or in one of these, except for the labels of lists. Only reasoning is listed if
            the answer was not checked at all, or if a method scored its text as a whole.
        references: The trusted texts that claims were compared with, and their origin.
        threshold: What `score` was compared with: the answer is flagged if and only if the score
            is above it. None if there is no score.
        mean_score: The mean of the scores of the claims (SelfCheckGPT, Eq. 12), or the method's own
            score for the whole answer; None if nothing was decided.
        evidence: The texts that the answer was checked with, if a sink wants them; else None. JSON
            does not have them.
    """

    decision: Decision
    score: float | None
    reason: str
    sentences: tuple[SentenceVerdict, ...] = ()
    samples: int = 0
    steps: tuple[StepRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0
    via: Via | None = None
    regeneration: Regeneration | None = None
    unscored: tuple[Unscored, ...] = ()
    claims: tuple[ClaimVerdict, ...] = ()
    references: tuple[Reference, ...] = ()
    threshold: float | None = None
    mean_score: float | None = None
    evidence: RecordedEvidence | None = field(default=None, repr=False, compare=False)

    @property
    def regenerated(self) -> bool:
        """Whether this is the verdict on a regenerated answer."""
        return self.regeneration is not None and self.regeneration.adopted is not None

    @property
    def structured(self) -> bool:
        """Whether `sentences` are the fields of an object."""
        return any(step.method == "fields" for step in self.steps)

    @property
    def flagged(self) -> bool:
        """Whether the response looks hallucinated."""
        return self.decision == "flagged"

    @property
    def inconclusive(self) -> bool:
        """Whether no decision was possible. This does not mean that the answer is fine."""
        return self.decision == "inconclusive"

    @property
    def skipped(self) -> bool:
        """Whether there was nothing to check. This does not mean that the answer is fine."""
        return self.decision == "skipped"

    @property
    def unscored_blocks(self) -> tuple[Unscored, ...]:
        """The unscored spans that are not among `sentences` either."""
        starts = {sentence.start for sentence in self.sentences}
        return tuple(span for span in self.unscored if span.start not in starts)

    @property
    def flagged_claims(self) -> tuple[ClaimVerdict, ...]:
        """The claims whose own score is above the threshold."""
        return tuple(claim for claim in self.claims if claim.flagged)

    @property
    def flagged_names(self) -> tuple[ClaimVerdict, ...]:
        """The flagged claims that are names in code."""
        return tuple(claim for claim in self.flagged_claims if claim.unit == "code")

    @property
    def claims_by_sentence(self) -> dict[int, list[ClaimVerdict]]:
        """The claims of each sentence, in order, by the index of the sentence."""
        by_sentence: dict[int, list[ClaimVerdict]] = {}
        for claim in self.claims:
            by_sentence.setdefault(claim.sentence, []).append(claim)
        return by_sentence

    @property
    def flagged_sentences(self) -> Sentences:
        """The sentences whose own score is above the threshold."""
        return Sentences(sentence for sentence in self.sentences if sentence.flagged)

    def to_dict(self, *, content: bool = True) -> dict[str, Any]:
        """Return the verdict as JSON-ready values.

        Args:
            content: Whether to include text of the response, the samples and the judge. Without it,
                offsets and scores remain.

        Returns:
            A dictionary that `Verdict.from_dict` accepts.
        """
        verdict = self if content else self.without_content()
        # The caller has the references; their indexes suffice.
        verdict = replace(verdict, references=_bare(self.references), evidence=None)
        data = cast("dict[str, Any]", to_json_value(verdict))
        del data["evidence"]
        return data | {"flagged": self.flagged, "inconclusive": self.inconclusive}

    def to_json(self, *, content: bool = True) -> str:
        """Return the verdict as one line of JSON.

        Args:
            content: As for `to_dict`.
        """
        return json.dumps(self.to_dict(content=content))

    @classmethod
    def from_json(cls, text: str | bytes) -> Verdict:
        """Parse the output of `to_json`.

        Raises:
            ConfigurationError: The text is not a verdict.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise ConfigurationError("not a verdict: must be a JSON object")
        return cls.from_dict(cast("dict[str, Any]", data))

    def __repr__(self) -> str:
        score = "" if self.score is None else f" {self.score:.2f}"
        flagged = ""
        if self.sentences:
            unit = "field" if self.structured else "sentence"
            # As the reason counts: without headings and the like.
            scored = sum(sentence.score is not None for sentence in self.sentences)
            count = scored or len(self.sentences)
            flagged = f": {len(self.flagged_sentences)} of {counted(count, unit)}"
        return f"<Verdict {self.decision}{score}{flagged}>"

    def __str__(self) -> str:
        """Return what the command line shows of the verdict."""
        return plain_text(self)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return self.to_html()

    def to_html(self, response: str | None = None) -> str:
        """Return the verdict as an HTML fragment: the text in colours, with the evidence beside it.

        It needs no style sheet and runs no script; all text is escaped. `resay report` and
        `resay check --html` write whole pages.

        Args:
            response: The checked text. Without it, only its sentences are shown.
        """
        return html(self, response)

    def to_markdown(self, response: str | None = None) -> str:
        """Return the verdict as Markdown, with what is flagged in a table.

        Args:
            response: The checked text. Without it, only its sentences are shown.
        """
        return markdown(self, response)

    def spans(self, response: str | None = None) -> list[tuple[str, Label | None]]:
        """Return the text in pieces, each with what was decided about it.

        This is the value of Gradio's `HighlightedText`.

        Args:
            response: The checked text. Without it, only its sentences are returned.

        Returns:
            Texts, and for each a band, `not checked`, or None if there is nothing to decide.
        """
        return [(span.text, span.label) for span in spans_of(self, response)]

    def to_frame(self) -> Any:
        """Return the sentences as a pandas data frame, one row each.

        Returns:
            Its columns are `sentence`, `start`, `end`, `score`, `band`, `flagged`, `by`, `reason`,
            `contradicted_by` and `speaker`.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return frame_of(self.sentences)

    def moved(self, by: int) -> Verdict:
        """Return the verdict on the same answer at another place of a text.

        Args:
            by: How far it has moved, in code points. The fields of an object are in no text, and
                stay.
        """
        if by == 0:
            return self
        unscored = tuple(span.moved(by) for span in self.unscored)
        if self.structured:
            return replace(self, unscored=unscored)
        return replace(
            self,
            sentences=tuple(sentence.moved(by) for sentence in self.sentences),
            claims=tuple(claim.moved(by) for claim in self.claims),
            unscored=unscored,
        )

    def without_content(self) -> Verdict:
        """Return the verdict without text of the response, the samples, the judge or documents."""
        return replace(
            self,
            sentences=tuple(sentence.without_content() for sentence in self.sentences),
            claims=tuple(claim.without_content() for claim in self.claims),
            steps=tuple(replace(step, reason=None) for step in self.steps),
            regeneration=self.regeneration and self.regeneration.without_content(),
            unscored=tuple(replace(span, text="") for span in self.unscored),
            references=_bare(self.references),
            evidence=None,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Parse the output of `to_dict`, even after a round trip through JSON.

        Raises:
            ConfigurationError: The data is not a verdict.
        """
        from pydantic import ValidationError

        verdict: Verdict | None = None
        keys: list[str] = []
        try:
            fields = {name: value for name, value in data.items() if name != "evidence"}
            verdict = _adapter().validate_python(with_claims(with_current_keys(fields)))
        except ValidationError as error:
            problems = error.errors(include_input=False)
            keys = [".".join(map(str, problem["loc"])) for problem in problems]
        if verdict is None:
            # Raised outside the handler, because its exception contains text of the response.
            raise ConfigurationError(f"not a verdict; check {', '.join(keys)}")
        claims = tuple(
            with_own_words(claim, verdict.sentences, verdict.unscored) for claim in verdict.claims
        )
        return replace(verdict, claims=claims)


def _bare(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    return tuple(replace(reference, text="", title=None, url=None) for reference in references)


OnVerdict = Callable[[Verdict], object]
"""A callback for verdicts. It may be async."""


@cache
def _adapter() -> TypeAdapter[Verdict]:
    from pydantic import TypeAdapter

    return TypeAdapter(Verdict)
