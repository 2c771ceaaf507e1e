"""Recorded verdicts with people's labels, for those who do not record them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from resay._internal.entry_points import installed_names, load_installed
from resay.core.verdict import Verdict
from resay.errors import MissingDependencyError

SamplingMethod = Literal["random", "uncertainty"]
"""How a recorded verdict was drawn for labelling."""

Unlabelled = Literal["waiting", "unsure", "disagreed", "undecided"]
"""Why a recorded verdict has no label: nobody rated it, raters are unsure or disagree, or the check
came to no decision that could be right or wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVerdict:
    """A recorded verdict that was rated, or drawn for that.

    Attributes:
        id: The key of its entry.
        policy: The name of the policy that it was made with.
        verdict: The verdict.
        hallucinated: Whether people say that the text is hallucinated; None without a label.
        sentences: The same of each sentence; empty unless all are labelled.
        unlabelled: Why it has no label; None if it has one.
        drawn: How it was drawn for labelling; None if people picked it themselves.
        weight: How many recorded verdicts it stands for, by its draws.
    """

    id: str
    policy: str
    verdict: Verdict
    hallucinated: bool | None = None
    sentences: tuple[bool, ...] = ()
    unlabelled: Unlabelled | None = None
    drawn: SamplingMethod | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLabels:
    """The labels in a record of verdicts.

    Attributes:
        verdicts: The verdicts that were rated by reviewers, or drawn for that.
        thumbs: How many others have only end users' feedback on the answer, which is no label: end
            users choose themselves which answers to rate.
    """

    verdicts: tuple[RecordedVerdict, ...]
    thumbs: int = 0


class VerdictRecords(Protocol):
    """A place where verdicts are recorded, such as the journal of resay-server.

    Attributes:
        name: Its name for people, without the password that its address may contain.
    """

    name: str

    async def labels(self, raters: Sequence[str] = ()) -> RecordedLabels:
        """Return the labels.

        Args:
            raters: Use only what these raters said; empty for all.
        """
        ...

    async def recent(self, limit: int) -> list[Verdict]:
        """Return the newest verdicts, newest first.

        Args:
            limit: The maximum number of verdicts.
        """
        ...


def open_records(address: str) -> VerdictRecords:
    """Return the verdicts recorded in a journal.

    What opens it is installed under the name `journal` in the entry point group `resay.records`: a
    function of the address.

    Args:
        address: A file, or the address of a database.

    Raises:
        ConfigurationError: There is no such journal, or the address is invalid.
        MissingDependencyError: resay-server is not installed.
    """
    if "journal" not in installed_names("resay.records"):
        raise MissingDependencyError("resay-server", "server", "reading a journal")
    return cast("VerdictRecords", load_installed("resay.records", "journal")(address))
