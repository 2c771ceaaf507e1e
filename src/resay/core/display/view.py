"""What a display of a verdict reads of it."""

# ruff: noqa: D102 - `Verdict` documents them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from resay.core.claim_verdict import ClaimVerdict
from resay.core.decision import Decision
from resay.core.regeneration import Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.core.unscored import Unscored
from resay.core.usage import Usage


class VerdictView(Protocol):
    """A verdict, without its class, which has the displays as methods."""

    @property
    def decision(self) -> Decision: ...
    @property
    def score(self) -> float | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def sentences(self) -> Sequence[SentenceVerdict]: ...
    @property
    def steps(self) -> Sequence[StepRecord]: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def regeneration(self) -> Regeneration | None: ...
    @property
    def structured(self) -> bool: ...
    @property
    def unscored_blocks(self) -> Sequence[Unscored]: ...
    @property
    def flagged_names(self) -> Sequence[ClaimVerdict]: ...
    @property
    def claims_by_sentence(self) -> Mapping[int, Sequence[ClaimVerdict]]: ...
