"""Selects the responses to check: the `when` of a policy and of its steps."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, cast, get_args

import anyio.to_thread
from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from resay._internal.importing import import_named, import_path_of, is_async
from resay._internal.plurals import counted
from resay._internal.strict import Strict
from resay.core.non_claims import nothing_to_check
from resay.core.passage import Passage
from resay.core.request import Request
from resay.errors import ConfigurationError

Decide = Callable[[Request | None, str], bool | Awaitable[bool]]
"""Called with the request and the response's text; returns whether to check the response."""


def resolve(function: str | Decide) -> Decide:
    """Find a function, and verify that it accepts a request and a text.

    Args:
        function: The function, or its import path, `package.module:name`. Modules are imported
            once.

    Returns:
        The function.

    Raises:
        ConfigurationError: It cannot be imported, or does not accept these arguments.
    """
    found: Any = import_named(function) if isinstance(function, str) else function
    if not callable(found):
        raise ConfigurationError(f"{import_path_of(function)!r} is not a function")
    try:
        inspect.signature(found).bind(None, "")
    except TypeError as error:
        raise ConfigurationError(
            f"{import_path_of(function)!r} must take two arguments, the request and the response's"
            " text"
        ) from error
    except ValueError:
        pass  # Some functions written in C have no signature.
    return cast("Decide", found)


async def asks(function: Decide, request: Request | None, text: str) -> bool:
    """Call a user's function, in a worker thread unless it is asynchronous.

    Args:
        function: The function that `resolve` returned.
        request: The request, if there is one.
        text: The response's text.

    Returns:
        Its answer.

    Raises:
        TypeError: It returned None.
        Exception: Anything the function raises.
    """
    if is_async(function):
        answer: Any = function(request, text)
    else:
        # Abandoned on cancellation, so that a hanging function cannot delay a deadline.
        answer = await anyio.to_thread.run_sync(function, request, text, abandon_on_cancel=True)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None:
        raise TypeError("it returned None; return True or False")
    return bool(answer)


_log = logging.getLogger(__name__)
Role = Literal["user", "tool", "system", "developer", "assistant", "function"]
_ROLES: tuple[object, ...] = get_args(Role)
_PATH = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
Count = Annotated[int, Field(ge=0)]


def _function(value: object) -> object:
    if value is None or callable(value):
        return value
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    if not re.match(_PATH, value):
        raise PydanticCustomError("import_path", "must be written as package.module:function")
    return value


Function = Annotated[
    str | Decide | None,
    PlainValidator(_function),
    PlainSerializer(lambda f: f and import_path_of(f), when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _PATH}, {"type": "null"}]}),
]


class When(Strict):
    """Conditions for checking a response. Without any, every response is checked.

    A condition that cannot be evaluated does not skip the check.
    """

    min_chars: Count | None = Field(
        default=None,
        description="Check only responses with at least this many characters, not counting"
        " surrounding white space.",
    )
    max_chars: Count | None = Field(
        default=None, description="Check only responses with at most this many characters."
    )
    min_sentences: Count | None = Field(
        default=None, description="Check only responses with at least this many sentences."
    )
    max_sentences: Count | None = Field(
        default=None, description="Check only responses with at most this many sentences."
    )
    roles: Annotated[tuple[Role, ...], Field(strict=False, min_length=1)] | None = Field(
        default=None,
        description="Check only when the conversation's last message is from one of these.",
    )
    checkable: bool = Field(
        default=False,
        description="Skip responses that claim nothing: greetings, code, refusals, questions.",
    )
    call: Function = Field(
        default=None,
        description="A function, package.module:name, that takes the request and the response's"
        " text and returns whether to check it. It may be async.",
    )

    @model_validator(mode="after")
    def _must_leave_something(self) -> When:
        for what in ("chars", "sentences"):
            minimum, maximum = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if minimum is not None and maximum is not None and minimum > maximum:
                raise ValueError(
                    f"min_{what} ({minimum!r}) must not be greater than max_{what} ({maximum!r})"
                )
        return self

    def load(self) -> None:
        """Import the function of `call` now instead of at the first check.

        Raises:
            ConfigurationError: It cannot be imported, or does not accept a request and a text.
        """
        if self.call is not None:
            resolve(self.call)

    def before(self, request: Request) -> str | None:
        """Return why not to check, as far as the request alone decides.

        Args:
            request: The request; without messages if they are unknown.

        Returns:
            A one-line reason without any content of the request; None to check.
        """
        if self.roles is None or not request.messages:
            return None
        role = request.messages[-1].get("role")
        if role in self.roles:
            return None
        shown = repr(role) if role in _ROLES else "something else"
        return f"the last message is from {shown}, not from `when.roles` ({', '.join(self.roles)})"

    async def after(self, request: Request, passage: Passage) -> str | None:
        """Return why not to check a response.

        Args:
            request: The request; without messages if they are unknown.
            passage: The response.

        Returns:
            A one-line reason without any content; None to check. `before` is not evaluated again.

        Raises:
            ConfigurationError: The function of `call` cannot be imported or called.
        """
        return (
            self._by_length(passage)
            or self._by_gate(request, passage)
            or await self._by_call(request, passage)
        )

    def _by_length(self, passage: Passage) -> str | None:
        chars = len(passage.text.strip())
        sentences = len(passage.sentences)
        return (
            _too_few(chars, "character", "min_chars", self.min_chars)
            or _too_many(chars, "character", "max_chars", self.max_chars)
            or _too_few(sentences, "sentence", "min_sentences", self.min_sentences)
            or _too_many(sentences, "sentence", "max_sentences", self.max_sentences)
        )

    def _by_gate(self, request: Request, passage: Passage) -> str | None:
        kind = nothing_to_check(passage, question=request.question) if self.checkable else None
        return f"the response is {kind}, with nothing to check (`when.checkable`)" if kind else None

    async def _by_call(self, request: Request, passage: Passage) -> str | None:
        if self.call is None:
            return None
        name = import_path_of(self.call)
        function = resolve(self.call)
        try:
            known = None if request == Request(()) else request
            is_wanted = await asks(function, known, passage.text)
        except Exception as error:
            # An error in the user's function must not skip the check.
            _log.warning(
                "%s of `when.call` failed (%s); the response is checked", name, type(error).__name__
            )
            return None
        return None if is_wanted else f"`when.call` ({name}) says not to check the response"


def _too_few(count: int, what: str, rule: str, minimum: int | None) -> str | None:
    if minimum is None or count >= minimum:
        return None
    return f"the response has {counted(count, what)}, fewer than `when.{rule}` ({minimum})"


def _too_many(count: int, what: str, rule: str, maximum: int | None) -> str | None:
    if maximum is None or count <= maximum:
        return None
    return f"the response has {counted(count, what)}, more than `when.{rule}` ({maximum})"
