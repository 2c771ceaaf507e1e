"""The query: the messages, the model and the parameters sent to a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from resay.errors import ConfigurationError

Message = Mapping[str, Any]
"""One chat message in OpenAI's shape: `{"role": "user", "content": "…"}`."""

CONNECTION_PARAMS = frozenset(
    {
        "allowed_openai_params",
        "api_base",
        "api_key",
        "api_version",
        "aws_access_key_id",
        "aws_bedrock_runtime_endpoint",
        "aws_region_name",
        "aws_secret_access_key",
        "aws_session_token",
        "azure_ad_token",
        "base_url",
        "custom_llm_provider",
        "extra_headers",
        "headers",
        "organization",
    }
)
"""Parameters that say where a request goes and who pays."""

# All that follows a query to another model, which may live at another provider. Whatever is not
# known to say only how to answer may be a key, a client or an address.
_FOLLOWING = frozenset(
    {
        "drop_params",
        "frequency_penalty",
        "function_call",
        "functions",
        "max_completion_tokens",
        "max_tokens",
        "modalities",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "stop",
        "temperature",
        "thinking",
        "timeout",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "verbosity",
        "web_search_options",
    }
)

_HEADERS, _KEY = ("extra_headers", "headers"), "idempotency-key"

# A sample is another stochastic answer to the same question. These parameters would make it a copy
# of the first (`seed`), break it into pieces (`stream`), leave traces at the provider (`store`,
# `metadata`), or pay for what nobody reads.
MAIN_CALL_ONLY = frozenset(
    {
        "logprobs",
        "metadata",
        "n",
        "prediction",
        "seed",
        "store",
        "stream",
        "stream_options",
        "top_logprobs",
    }
)

# Tools the model may call, those the provider runs itself included, and conversations it keeps.
_SIDE_EFFECTS = (
    "background",
    "container",
    "conversation",
    "functions",
    "mcp_servers",
    "previous_response_id",
    "thread_id",
    "tools",
    "web_search_options",
)


_OBJECTS = ("json_object", "json_schema")


@dataclass(frozen=True, slots=True)
class Query:
    """What is sent to a provider.

    Attributes:
        messages: The conversation, oldest first, in OpenAI's message shape.
        model: The model in litellm's notation, such as `openai/gpt-4.1-mini`. None where the
            provider already knows it.
        params: Everything else the provider takes: `temperature`, `max_tokens`, `api_key`,
            `api_base` and so on. Left out of `repr`, because it may hold a key.
        entity: What the question is mainly about, for methods that ask back for it. It is not
            sent.
        tenant: On whose behalf it is asked, where an application serves several: what was cached
            for one is never given to another. It is not sent.
        index: Which of several stochastic answers to the same question is wanted, from 0, so that
            a cache can tell them apart. It is not sent.
        structured: Whether an object is wanted, where `params` does not tell: what is sent asks for
            one in words, say. It is not sent.
        object_tools: The tools whose arguments are the answer: offered to get an object, not to be
            run. They are not sent.
        unchecked: Why the answer is not to be checked, where that is known before it is there. It
            is not sent.
        unrepeatable: Why no samples of it may be drawn, though its answer is to be checked by what
            the provider found for it. It is not sent.
        references: Trusted texts that came with it for its answer. They are not sent.
        body: What the client sent, where that is another request than `messages` and `params`, so
            that policies can name places in it. It is not sent.
        varied: Whether it is asked for an answer that may differ each time. It is not sent; it
            is for providers with a temperature, a seed or a cache of their own, of which `params`
            know nothing. A cache tells answers apart by `params` and `index`, not by this.
    """

    messages: tuple[Message, ...]
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    entity: str | None = None
    tenant: str | None = None
    index: int = 0
    structured: bool = False
    object_tools: tuple[str, ...] = ()
    unchecked: str | None = None
    references: tuple[str, ...] = field(default=(), repr=False)
    varied: bool = False
    body: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    unrepeatable: str | None = None

    @classmethod
    def of(
        cls,
        question: str | Sequence[Message] | Query,
        /,
        *,
        model: str | None = None,
        entity: str | None = None,
        tenant: str | None = None,
        **params: Any,
    ) -> Query:
        """Make a query from a question, a list of messages, or another query.

        Args:
            question: A user's question, a conversation, or a query to build on.
            model: The model to ask.
            entity: What the question is mainly about.
            tenant: On whose behalf it is asked.
            **params: Provider parameters; they win over those of a given query.

        Returns:
            The query.

        Raises:
            ConfigurationError: `question` is empty or not one of the three.
        """
        if isinstance(question, Query):
            return replace(
                question,
                model=model or question.model,
                params={**question.params, **params},
                entity=entity or question.entity,
                tenant=tenant or question.tenant,
            )
        if isinstance(question, str):
            if not question.strip():
                raise ConfigurationError(f"the question is empty: {question!r}; pass a text")
            return cls(({"role": "user", "content": question},), model, params, entity, tenant)
        if not isinstance(cast("object", question), Sequence):
            kind = type(question).__name__
            raise ConfigurationError(
                f"the question must be a text, a list of messages or a Query, not of type {kind}"
            )
        messages = tuple(question)
        if not messages:
            raise ConfigurationError("the conversation has no messages; pass at least one")
        if not all(_is_message(m) for m in messages):
            raise ConfigurationError("every message must be a mapping with a 'role'")
        return cls(messages, model, params, entity, tenant)

    @property
    def question(self) -> str:
        """The text of the user's last message; empty where there is none.

        Of a message in parts only the text counts.
        """
        asked = [m for m in self.messages if m.get("role") == "user"]
        return text_of(asked[-1].get("content")) if asked else ""

    def conversation(self, chars: int) -> str:
        """Return the end of the conversation as text, one turn after the other with its role.

        Args:
            chars: How long it may be; of a turn that does not fit, the end is kept.
        """
        turns: list[str] = []
        for message in reversed(self.messages):
            role, said = message.get("role"), text_of(message.get("content")).strip()
            if role not in ("user", "assistant") or not said:
                continue
            turn = f"{role}: {said}"
            if chars <= 0:
                break
            turns.append(turn if len(turn) <= chars else f"[…] {turn[-chars:]}")
            chars -= len(turn)
        return "\n".join(reversed(turns))

    @property
    def has_side_effects(self) -> bool:
        """Whether asking may do more than answer: call tools, or go on a stored conversation."""
        present = [name for name in _SIDE_EFFECTS if self.params.get(name)]
        return present != ["tools"] if self._only_object_tools else bool(present)

    @property
    def _only_object_tools(self) -> bool:
        tools: Any = self.params.get("tools")
        if not tools or not isinstance(tools, (list, tuple)):
            return False
        names = {_tool_name(tool) for tool in cast("Sequence[Any]", tools)}
        return names <= set(self.object_tools)

    @property
    def wants_object(self) -> bool:
        """Whether a structured answer is asked for, an object in place of prose."""
        if self.structured or self.object_tools:
            return True
        wanted = self.params.get("response_format")
        if wanted is None:
            return False
        if isinstance(wanted, Mapping):
            return cast("Mapping[str, object]", wanted).get("type") in _OBJECTS
        # litellm takes a class of pydantic's too.
        return isinstance(wanted, type)

    @property
    def request(self) -> dict[str, Any]:
        """What was asked as one mapping, without where it goes and who pays: `messages` and all."""
        asked = {"messages": list(self.messages), **self.params} if self.body is None else self.body
        return {name: value for name, value in asked.items() if name not in CONNECTION_PARAMS}

    @property
    def connection(self) -> dict[str, Any]:
        """Where it goes and who pays, for what else is asked in the same place."""
        return {k: _beside(k, v) for k, v in self.params.items() if k in CONNECTION_PARAMS}

    def for_sampling(
        self,
        *,
        model: str | None = None,
        temperature: float | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Query:
        """Return the same question asked for a sample.

        A temperature of 0 set for the main call is left out: at 0 all samples would be the same
        text, and leaving the parameter out is accepted by every model, while raising it is not.

        Args:
            model: Ask this model instead; only parameters that say how to answer go with it.
            temperature: Set this temperature; None keeps the caller's unless that is 0.
            params: Further parameters for samples; they win over those of the query.

        Returns:
            A query without the parameters that make no sense for a sample, marked as `varied`.
        """
        elsewhere = model is not None and model != self.model
        kept = {
            name: _beside(name, value)
            for name, value in self.params.items()
            if name not in MAIN_CALL_ONLY and (name in _FOLLOWING or not elsewhere)
        }
        if kept.get("temperature") == 0:
            del kept["temperature"]
        if temperature is not None:
            kept["temperature"] = temperature
        asked = {**kept, **(params or {})}
        return replace(self, model=model or self.model, params=asked, varied=True)


def _beside(name: str, value: Any) -> Any:
    """Return a parameter as it goes with what is asked beside the main call.

    Whoever is asked twice with one key for idempotency gives the first answer again.
    """
    if name not in _HEADERS or not isinstance(value, Mapping):
        return value
    known = cast("Mapping[Any, Any]", value)
    return {k: v for k, v in known.items() if not (isinstance(k, str) and k.lower() == _KEY)}


def _tool_name(tool: Any) -> str | None:
    try:
        name: Any = tool["function"]["name"]
    except (KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and "role" in value


def text_of(content: object) -> str:
    """Return the text of a message's content: of content in parts, only the text."""
    if isinstance(content, str):
        return content.strip()
    parts = cast("list[object]", content) if isinstance(content, list) else []
    mappings = [cast("Mapping[str, object]", p) for p in parts if isinstance(p, Mapping)]
    texts = [part.get("text") for part in mappings]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
