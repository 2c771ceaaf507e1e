"""The exceptions Resay raises.

ResayError
├── ConfigurationError         a setting, argument or combination that cannot work
│   ├── PolicyError            a policy file that is not valid, with file and line
│   └── MissingDependencyError an extra that is not installed
├── ProviderError              a provider could not give what was asked
│   ├── ProviderRefusedError   it said no, and would say no again (bad key, bad request)
│   ├── ProviderTimeoutError   it did not answer in time
│   └── BudgetExceededError    the check may not ask it any more
├── DeadlineExceededError      no answer at all within `limits.deadline_s`
├── StreamUnfinishedError      the answer was asked for before its stream was read to the end
├── ScorerError                a scorer could not do its work
└── HallucinationBlocked       the policy withheld the answer and asked for an exception; it lives
                               with the verdict that it carries, in `resay.core.verdict`

Messages name the offending value with `repr` and say what to do next. They never hold a key,
a prompt or a response.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BudgetExceededError",
    "ConfigurationError",
    "DeadlineExceededError",
    "MissingDependencyError",
    "PolicyError",
    "ProviderError",
    "ProviderRefusedError",
    "ProviderTimeoutError",
    "ResayError",
    "ScorerError",
    "StreamUnfinishedError",
]


class ResayError(Exception):
    """The root of everything Resay raises on purpose.

    Attributes:
        is_failure: Whether something went wrong; not so where the policy asked for the exception.
    """

    is_failure: ClassVar[bool] = True


class ConfigurationError(ResayError):
    """A setting, an argument, or a combination of them that cannot work."""


class PolicyError(ConfigurationError):
    """A policy that is not valid.

    Attributes:
        problems: One line each, `file:line: path: message`.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class MissingDependencyError(ConfigurationError):
    """An optional dependency that is needed here and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package!r}; install it with: pip install 'resay[{extra}]'"
        )
        self.package = package
        self.extra = extra


class ProviderError(ResayError):
    """A provider could not give what was asked.

    Attributes:
        status: The HTTP status, where there was one.
        retry_after_s: Seconds the provider asked us to wait, where it said so.
        retryable: Whether the same request may succeed when it is sent again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.retryable = retryable


class ProviderRefusedError(ProviderError):
    """The provider said no and would say no again: a bad key, model or request."""


class ProviderTimeoutError(ProviderError):
    """The provider did not answer in time."""


class BudgetExceededError(ProviderError):
    """The check has used what `limits` allow it, so the provider was not asked."""


class DeadlineExceededError(ResayError):
    """There is no answer to give within `limits.deadline_s`."""


class StreamUnfinishedError(ResayError):
    """An answer was asked of a stream that was not read to its end."""


class ScorerError(ResayError):
    """A scorer could not do its work."""
