"""The exceptions that Resay raises.

ResayError
├── ConfigurationError         a setting, argument or combination that cannot work
│   ├── PolicyError            an invalid policy file, with file and line
│   ├── UncheckableError       a request whose answer could not be checked; the policy refuses it
│   └── MissingDependencyError an extra that is not installed
├── ProviderError              a provider call failed
│   ├── ProviderRefusedError   a refusal that a retry would not change (bad key, bad request)
│   ├── ProviderTimeoutError   no answer in time
│   └── BudgetExceededError    the check has used up its limits
├── DeadlineExceededError      no answer at all within `limits.deadline_s`
├── StreamUnfinishedError      `answer` was read before its stream was exhausted
├── ScorerError                a scorer failed
└── HallucinationBlocked       the policy withheld the answer and says `exit: raise`; defined in
                               `resay.core.verdict`, next to the verdict that it carries

Messages name the offending value with `repr` and say what to do next. They never contain a key,
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
    "UncheckableError",
]


SEE_CAUSE = "see the error's `cause`"
"""The remedy in messages of errors that another one caused whose own message may hold anything."""


def without_cause(error: ResayError) -> str:
    """Return an error's message for those who do not hold the error, as in a terminal or a file."""
    return str(error).removesuffix(f"; {SEE_CAUSE}")


class ResayError(Exception):
    """The base class of all exceptions that Resay raises on purpose.

    Attributes:
        is_failure: Whether something went wrong; False if the policy asked for the exception.
    """

    is_failure: ClassVar[bool] = True


class ConfigurationError(ResayError):
    """A setting, an argument, or a combination of them that cannot work."""


class PolicyError(ConfigurationError):
    """A policy is not valid.

    Attributes:
        problems: One line each, `file:line: path: message`.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class UncheckableError(ConfigurationError):
    """The answer to a request could not be checked, and the policy refuses such requests.

    Nothing was sent. `on_uncheckable` in the policy decides.

    Attributes:
        field: The field of the request that makes it so; None if it is no single one.
    """

    is_failure: ClassVar[bool] = False

    def __init__(self, reason: str, field: str | None = None) -> None:
        remedy = "change the request" if field is None else f"omit or change {field!r}"
        super().__init__(
            f"the answer to this request could not be checked: {reason}; {remedy}, or set"
            " `on_uncheckable` in the policy"
        )
        self.field = field


class MissingDependencyError(ConfigurationError):
    """A required optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package!r}; install it with: pip install 'resay[{extra}]'"
        )
        self.package = package
        self.extra = extra


class ProviderError(ResayError):
    """A provider call failed.

    Attributes:
        status: The HTTP status, if there was one.
        retry_after_s: Seconds that the provider asked to wait, if it did.
        retryable: Whether the same request may succeed if it is sent again.
        unusable: Whether the provider cannot be used as it is configured, so that all requests
            fail: no key, no such model, nothing at its address. The message then says what to do,
            contains nothing of a request, and is quoted in verdicts.
        detail: What went wrong in a few words, without anything of a request, for verdicts; by
            default the HTTP status. None if only the type is known.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        retryable: bool = False,
        unusable: bool = False,
        detail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.retryable = retryable
        self.unusable = unusable
        self.detail = detail or (f"HTTP {status}" if status else None)

    @property
    def cause(self) -> BaseException | None:
        """The error of the provider's client behind this one; None if there is none.

        It is not shown in tracebacks, because it may repeat a prompt, a response or a key.
        """
        return self.__cause__ or self.__context__


class ProviderRefusedError(ProviderError):
    """The provider refused, and would refuse again: a bad key, model or request."""


class ProviderTimeoutError(ProviderError):
    """The provider did not answer in time.

    Attributes:
        setting: The setting of the policy that allowed no more time; None if it was another limit.
    """

    setting: str | None = None


class BudgetExceededError(ProviderError):
    """The check has used up its `limits`, so the provider was not called."""


class DeadlineExceededError(ResayError):
    """No answer is available within `limits.deadline_s`."""


class StreamUnfinishedError(ResayError):
    """The answer of a stream was read before the stream was exhausted."""


class ScorerError(ResayError):
    """A scorer failed."""
