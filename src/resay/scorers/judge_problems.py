"""Why a judge's answers could not be used, in words without anything of a question or an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from resay.core.request import Request
from resay.errors import (
    BudgetExceededError,
    ProviderError,
    ProviderTimeoutError,
    without_cause,
)
from resay.providers.base import Completion
from resay.providers.preferring import TOKEN_LIMITS

Role = Literal["judge", "model"]
"""What reasons call the model that was asked."""
# Why an answer ended at the limit of its tokens, as the providers' APIs say. What else cuts answers
# off, such as a filter or a full context, does so with any limit.
_AT_TOKEN_LIMIT = frozenset({"length", "max_length", "max_tokens", "max_output_tokens"})


@dataclass(frozen=True, slots=True)
class JudgeProblem:
    """Why the answer to a question could not be used.

    Attributes:
        role: What reasons call the model.
        model: The model that was asked; None if its name is unknown.
        what_happened: The end of a sentence about the model, or about its answer.
        failure: What is known of a call that failed, in a few words; None if that is said already.
        is_about_answer: Whether there was an answer.
        is_lasting: Whether the model cannot be used as it is configured, so that it never answers.
        was_cut: Whether the answer was cut off.
    """

    role: Role
    model: str | None
    what_happened: str
    failure: str | None = None
    is_about_answer: bool = False
    is_lasting: bool = False
    was_cut: bool = False

    @classmethod
    def of_failure(
        cls, error: Exception, model: str | None, *, role: Role = "judge"
    ) -> JudgeProblem:
        """Return the problem of a call that failed.

        Args:
            error: The error.
            model: The model that was asked.
            role: What reasons call it.
        """
        if isinstance(error, ProviderTimeoutError):
            remedy = "" if error.setting is None else f"; raise `{error.setting}`"
            return cls(role, model, f"did not answer in time{remedy}")
        if not isinstance(error, ProviderError):
            return cls(role, model, "failed", failure=type(error).__name__)
        if not error.unusable:
            return cls(role, model, "failed", failure=error.detail or type(error).__name__)
        message = without_cause(error)
        name = f"{model!r} "
        if message.startswith(name):
            what_happened = message.removeprefix(name)
        else:
            what_happened = f"cannot be asked: {message}"
        return cls(role, model, what_happened, is_lasting=True)

    @classmethod
    def of_answer(
        cls, answer: Completion, request: Request, *, is_partly_read: bool
    ) -> JudgeProblem:
        """Return the problem of a judge's answer that could not be read.

        Args:
            answer: The answer.
            request: The request that it answers.
            is_partly_read: Whether a part of it could be read.
        """
        what_happened = "could be read only in part" if is_partly_read else "could not be read"
        if answer.was_cut and answer.finish_reason in _AT_TOKEN_LIMIT:
            own_limits = [param for param in request.params if param in TOKEN_LIMITS]
            limit = own_limits[0] if own_limits else "max_tokens"
            what_happened = (
                f"was cut off by the token limit; set a larger `{limit}` in its `params`"
            )
        elif answer.was_cut:
            what_happened = f"was cut off ({answer.finish_reason})"
        return cls(
            role="judge",
            model=request.model,
            what_happened=what_happened,
            is_about_answer=True,
            was_cut=answer.was_cut,
        )

    @property
    def reason(self) -> str:
        """The problem as a sentence."""
        kind = "" if self.failure is None else f" ({self.failure})"
        return f"{self._subject} {self.what_happened}{kind}"

    def reason_after(self, text: str) -> str | None:
        """Return the problem as a sentence, without what a text says already; None if that is all.

        Args:
            text: The text.
        """
        if self.failure is None:
            return None if self.what_happened in text else self.reason
        if self.failure not in text:
            return self.reason
        return None if self.model is None else f"{self._subject} {self.what_happened}"

    @property
    def _subject(self) -> str:
        model = f"the {self.role}" if self.model is None else f"the {self.role} {self.model!r}"
        return f"the answer of {model}" if self.is_about_answer else model


@dataclass(slots=True)
class JudgeProblems:
    """Collects the problems of a step with its judges."""

    _problems: list[JudgeProblem] = field(default_factory=list[JudgeProblem])

    def add(self, problem: JudgeProblem) -> None:
        """Add a problem."""
        self._problems.append(problem)

    def add_failures(self, errors: Iterable[Exception], model: str | None) -> None:
        """Add the problems of calls that failed, except those that no limit allowed.

        Args:
            errors: The errors.
            model: The model that was asked.
        """
        for error in errors:
            # The verdict's reason names the limit.
            if not isinstance(error, BudgetExceededError):
                self.add(JudgeProblem.of_failure(error, model))

    @property
    def are_cuts(self) -> bool:
        """Whether there are problems, and all are answers that were cut off."""
        return bool(self._problems) and all(problem.was_cut for problem in self._problems)

    def distinct(self, *, lasting: bool = False) -> list[JudgeProblem]:
        """Return the problems, each once.

        Args:
            lasting: Whether to return only those with models that never answer.
        """
        problems = [each for each in self._problems if each.is_lasting or not lasting]
        return list(dict.fromkeys(problems))
