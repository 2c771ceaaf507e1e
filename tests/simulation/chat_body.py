"""The body of a chat completion request."""

from __future__ import annotations

from typing import Any, cast

from pydantic import Field

from simulation.body import MODEL, Body, InvalidRequestError
from simulation.formats import ResponseFormat
from simulation.messages import audio_tokens, check_messages, text_of
from simulation.tokens import tokenize
from simulation.tools import Function, Tool, called_for, check_choice

__all__ = ["ChatBody"]

_MOST_STOPS = 4


class _StreamOptions(Body):
    include_usage: bool = False


class ChatBody(Body):
    """The body of a chat completion request."""

    messages: list[dict[str, Any]] = Field(min_length=1)
    model: str = MODEL
    n: int | None = Field(None, ge=1, le=128)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stop: Any = None
    tools: list[Tool] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None

    @classmethod
    def parse(cls, body: object) -> ChatBody:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = super().parse(body)
        check_messages(request.messages)
        check_choice(request.functions, request.tool_choice)
        _check_stop(request.stop)
        if request.response_format:
            request.response_format.check(map(text_of, request.messages))
        return request

    @property
    def prompt(self) -> str:
        """The text of the user's last message."""
        return next(reversed(self.said_by_user), "")

    @property
    def said_by_user(self) -> list[str]:
        """The text of all messages of the user, oldest first."""
        return [text_of(message) for message in self.messages if message.get("role") == "user"]

    @property
    def given(self) -> list[str]:
        """The text of all messages but the model's own, oldest first."""
        return [text_of(m) for m in self.messages if m.get("role") != "assistant"]

    @property
    def told(self) -> str:
        """What the model is given to read, beyond one-line requests and its own messages."""
        given = [m for m in self.messages if m.get("role") != "assistant"]
        texts = [(m.get("role"), text_of(m)) for m in given]
        return "\n".join(t for role, t in texts if role != "user" or "\n" in t.strip())

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the messages have."""
        said = sum(len(tokenize(text_of(message))) for message in self.messages)
        return said + self.audio_tokens

    @property
    def audio_tokens(self) -> int:
        """How many of them are audio."""
        return sum(audio_tokens(message) for message in self.messages)

    @property
    def most_tokens(self) -> int | None:
        """How many tokens an answer may have; None for as many as it takes."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> list[str]:
        """The texts before which an answer ends."""
        return [self.stop] if isinstance(self.stop, str) else [*(self.stop or ())]

    @property
    def functions(self) -> list[Function]:
        """The functions that may be called."""
        return [tool.function for tool in self.tools or () if tool.function]

    @property
    def wanted_functions(self) -> list[Function]:
        """The functions to call; see `simulation.tools`."""
        asked = self.messages[-1].get("role") == "user"
        wanted = called_for(self.functions, self.tool_choice, self.prompt, asked=asked)
        return wanted[:1] if self.parallel_tool_calls is False else wanted

    @property
    def results(self) -> list[tuple[str, str]]:
        """What the tools answered at the end of the conversation: their names and their words."""
        results: list[tuple[str, str]] = []
        for message in reversed(self.messages):
            if message["role"] not in ("tool", "function"):
                break
            results.append((self._caller(message), text_of(message)))
        return results[::-1]

    def _caller(self, result: dict[str, Any]) -> str:
        calls = [call for message in self.messages for call in message.get("tool_calls") or ()]
        wanted = result.get("tool_call_id")
        named = (call["function"]["name"] for call in calls if call["id"] == wanted)
        return next(named, result.get("name") or "the tool")


def _check_stop(stop: object) -> None:
    texts = cast("list[object]", stop) if isinstance(stop, list) else [stop]
    good = stop is None or all(isinstance(text, str) for text in texts)
    if not good or len(texts) > _MOST_STOPS:
        raise InvalidRequestError(
            f"Invalid value for 'stop': expected a string or up to {_MOST_STOPS} strings.", "stop"
        )
