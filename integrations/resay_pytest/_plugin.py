"""The hooks and fixtures of the plugin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest

if TYPE_CHECKING:
    from resay import Guard, Verdict

_PROPERTY = "resay"
# Compares names, numbers and dates, without a model.
_DEFAULT: Mapping[str, Any] = {"chain": [{"method": "facts"}]}


class AssertGrounded(Protocol):
    """The type of the fixture `assert_grounded`."""

    def __call__(
        self,
        answer: str,
        /,
        *,
        references: Sequence[str] = (),
        question: str | None = None,
        samples: Sequence[str] | None = None,
        may_refuse: bool = True,
    ) -> Verdict:
        """Check an answer, and fail the test unless it is consistent or refuses to answer.

        Args:
            answer: The answer.
            references: Trusted texts to compare it with.
            question: The question that it answers; needed to draw samples.
            samples: Other answers to the same question; None to draw them from the model.
            may_refuse: Whether an answer passes that says nothing but that it does not know or
                will not answer: it states nothing that could be unfaithful.

        Returns:
            The verdict.

        Raises:
            AssertionError: The answer is flagged, or the check was inconclusive, or skipped for
                another reason: an empty answer, or one without a claim.
        """
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's command-line and ini options."""
    group = parser.getgroup("resay")
    for name, what in (
        ("policy", "the file of the policy; by default one that compares facts, without a model"),
        ("model", "the model that draws samples and judges, such as openai/gpt-4.1-mini"),
    ):
        group.addoption(f"--resay-{name}", help=f"resay: {what}")
        parser.addini(f"resay_{name}", help=what)


def _option(config: pytest.Config, name: str) -> str | None:
    value = config.getoption(f"--resay-{name}") or config.getini(f"resay_{name}")
    return str(value) if value else None


@pytest.fixture(scope="session")
def resay_guard(request: pytest.FixtureRequest) -> Guard:
    """The guard of `assert_grounded`. Override it for a guard of your own."""
    # Imported here, because pytest loads the plugin in every run, even if no test uses it.
    from resay import Guard

    policy = _option(request.config, "policy")
    if policy is not None:
        policy = str(request.config.rootpath / policy)
    return Guard(policy or _DEFAULT, model=_option(request.config, "model"))


@pytest.fixture
def assert_grounded(request: pytest.FixtureRequest, resay_guard: Guard) -> AssertGrounded:
    """A function that checks an answer, and fails the test unless it is consistent."""

    def check(
        answer: str,
        /,
        *,
        references: Sequence[str] = (),
        question: str | None = None,
        samples: Sequence[str] | None = None,
        may_refuse: bool = True,
    ) -> Verdict:
        __tracebackhide__ = True
        verdict = resay_guard.check(
            answer, references=references, question=question, samples=samples
        )
        # pytest-xdist's workers send properties with their reports, and JUnit files include them.
        node = cast("pytest.Item", request.node)
        node.user_properties.append((_PROPERTY, f"{verdict.decision}: {verdict.reason}"))
        passes = verdict.decision == "consistent" or (may_refuse and _is_refusal(verdict))
        if not passes:
            pytest.fail(_message(verdict), pytrace=True)
        return verdict

    return check


def _is_refusal(verdict: Verdict) -> bool:
    """Return whether an answer claims nothing, because it refuses."""
    if verdict.decision != "skipped":
        return False
    return any(claim.kind == "refusal" for claim in verdict.claims)


def _message(verdict: Verdict) -> str:
    lines = [f"the answer is {verdict.decision}: {verdict.reason}"]
    for sentence in verdict.flagged_sentences:
        lines.append(f"  {sentence.score:.2f} {sentence.text}")
        if sentence.contradicted_by is not None:
            lines.append(f"       against: {sentence.contradicted_by.text}")
    return "\n".join(lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the number of checked answers, and list those that are not consistent."""
    checked = list(_checked(terminalreporter))
    if not checked:
        return
    # Imported here, as for `resay_guard`.
    from resay.adapters.terminal import counted

    decisions = Counter(result.partition(":")[0] for _, result in checked)
    counts = ", ".join(f"{count} {decision}" for decision, count in sorted(decisions.items()))
    terminalreporter.section("resay")
    terminalreporter.line(f"{counted(len(checked), 'answer')} checked: {counts}")
    for test, result in checked:
        if not result.startswith("consistent:"):
            terminalreporter.line(f"{test}: {result}")


def _checked(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str]]:
    stats: dict[str, list[Any]] = reporter.stats
    for report in chain.from_iterable(stats.values()):
        if getattr(report, "when", None) == "call":
            for name, value in report.user_properties:
                if name == _PROPERTY:
                    yield report.nodeid, value
