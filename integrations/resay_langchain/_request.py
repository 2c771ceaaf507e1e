"""One request of a guarded chat model: its request, its providers and its response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompt_values import PromptValue
from langchain_core.utils.function_calling import convert_to_openai_tool

from resay import Answer, AnswerChunk, Document, Guard, HallucinationBlocked, Request, Sources
from resay.adapters import Block, CallLog, CheckContext, GuardRuntime, Message, named_text
from resay.adapters.litellm_models import litellm_request
from resay.adapters.models import model_name, tool_name
from resay.adapters.stream_parts import read_parts
from resay.adapters.threads import CallStyle
from resay.adapters.upstream import UnmappedError, default_provider, litellm_provider
from resay.adapters.verdicts import VERDICT_KEY, answer_data, verdict_data
from resay.errors import ConfigurationError
from resay.plugins import Provider
from resay_langchain._inside import fresh
from resay_langchain._litellm import LITELLM_MODELS, source_of_model
from resay_langchain._outcome import in_place_of, outcome_of, without_text
from resay_langchain._policies import withholding
from resay_langchain._providers import ModelProvider, SampleProvider, own_judge
from resay_langchain._runs import JUDGE, SAMPLE, Runs, Traced, Watch, documents_in

OutputFormat = Literal["text", "json", "tools"]
"""How an answer is parsed: as text, or as an object in its text or in its tool calls."""


def logged_message(message: BaseMessage) -> dict[str, Any]:
    """Return what a message says of tool calls, also where its content has no equivalent."""
    logged: dict[str, Any] = {"role": message.type, "content": message.content}
    if isinstance(message, AIMessage):
        logged["tool_calls"] = message.tool_calls
    elif isinstance(message, ToolMessage):
        logged |= {"tool_call_id": message.tool_call_id, "status": message.status}
    return logged


@dataclass(frozen=True)
class ChatModelRequest:
    """One request.

    Attributes:
        guard: The guard that checks the answer and acts on the verdict.
        model: The chat model inside.
        messages: The conversation.
        kwargs: Keyword arguments of the call.
        output_format: How the answer is parsed.
        object_tools: The tools whose arguments are the answer, if the caller knows them.
        runs: Creates the child runs.
        watch: Collects retrieved documents, and receives the verdict for the whole chain.
        style: Whether the caller blocks or runs an event loop.
    """

    guard: Guard
    model: BaseChatModel
    messages: Sequence[BaseMessage]
    kwargs: Mapping[str, Any]
    output_format: OutputFormat
    object_tools: tuple[str, ...]
    runs: Runs
    watch: Watch | None
    style: CallStyle

    async def generate(self) -> ChatResult:
        """Call the model, check the answer and act."""
        try:
            with self.runs.around():
                answer = await self.style.run(
                    GuardRuntime(self.guard).aask_with, self.context, self.sources
                )
        except HallucinationBlocked as error:
            data = await self._record_block(error)
            message = AIMessage(self._refusal_message, response_metadata={VERDICT_KEY: data})
        else:
            message, data = outcome_of(answer)
            await self._report(data, answer)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def stream(self) -> AsyncGenerator[ChatGenerationChunk]:
        """Call the model, check the answer and act, streaming it as the policy says."""
        pieces = Pieces()
        stream = GuardRuntime(self.guard).astream_with(
            self.context, self.sources, every_chunk=True, explained=False
        )
        try:
            async with aclosing(read_parts(self.style, stream, self.runs.around())) as parts:
                async for part in parts:
                    if isinstance(part, Answer):
                        chunk, data = pieces.last(part)
                        await self._report(data, part)
                    else:
                        chunk = pieces.of(part)
                    if chunk is not None:
                        yield ChatGenerationChunk(message=chunk)
        except HallucinationBlocked as error:
            data = await self._record_block(error)
            block = withholding(self.guard.policy) or Block()
            yield ChatGenerationChunk(message=pieces.refusal(block, data))

    async def _record_block(self, error: HallucinationBlocked) -> dict[str, Any]:
        """Leave it to the watch of the whole chain to raise, or raise if there is none."""
        data = verdict_data(error.verdict, "block")
        await self.runs.dispatch_verdict(self.style, data)
        if self.watch is None:
            raise error
        self.watch.record(data, error, structured=self.context.wants_object)
        return data

    async def _report(self, data: dict[str, Any], answer: Answer) -> None:
        await self.runs.dispatch_verdict(self.style, data)
        if self.watch is not None:
            blocked = HallucinationBlocked(answer.verdict) if answer.blocked else None
            self.watch.record(data, blocked, structured=self.context.wants_object)

    @property
    def _refusal_message(self) -> str:
        return (withholding(self.guard.policy) or Block()).message

    @cached_property
    def context(self) -> CheckContext:
        """The request, as litellm's if the policy says so and the request can be."""
        # The guard gives one answer; LangChain provides several answers or streams itself.
        params = {k: v for k, v in self.kwargs.items() if k not in ("n", "stream")}
        messages = self._openai_messages or self._plain_messages
        request = self._mapped or Request(messages, None, params)
        tools = _tool_names(self.kwargs.get("tools")) if self.output_format == "tools" else ()
        context = CheckContext(
            request,
            calls=CallLog.of(map(logged_message, self.messages)),
            structured=self.output_format == "json",
            object_tools=self.object_tools or tools,
        )
        return GuardRuntime(self.guard).with_skip_reason(context)

    @cached_property
    def _mapped(self) -> Request | None:
        if self.guard.policy.sampling.via != "litellm" or not self._openai_messages:
            return None
        try:
            return litellm_request(LITELLM_MODELS, self.model, self._openai_messages, self.kwargs)
        except UnmappedError:
            return None

    @cached_property
    def _openai_messages(self) -> tuple[Message, ...]:
        # Unknown content raises many kinds of errors.
        with suppress(Exception):
            return tuple(cast("list[Message]", convert_to_openai_messages(list(self.messages))))
        return ()

    @property
    def _plain_messages(self) -> tuple[Message, ...]:
        """The text of the conversation, for the policy's rules and judges."""
        return tuple(
            {"role": "user" if isinstance(m, HumanMessage) else m.type, "content": str(m.text)}
            for m in self.messages
        )

    @property
    def sources(self) -> Sources:
        """The providers of the answer, samples and judgements."""
        return Sources(
            main=self._main,
            samples=self._samples,
            judge=self._judge,
            via="litellm" if self._through_litellm else "native",
            finds_references=True,
            model=self.kwargs.get("model") or model_name(self.model),
        )

    @property
    def _through_litellm(self) -> bool:
        return self._mapped is not None or self.guard.policy.sampling.model is not None

    @property
    def _main(self) -> Provider:
        # The model's own callbacks receive the guarded call instead: they might show unchecked text
        # to the user.
        changes: dict[str, Any] = {"callbacks": None}
        if self.guard.policy.can_withhold:
            # LangChain's cache would keep a draft that is withheld.
            changes["cache"] = False
        model = self.model.model_copy(update=changes)
        return ModelProvider(
            runnable=model,
            value=list(self.messages),
            kwargs=self.kwargs,
            style=self.style,
            config=lambda _: self.runs.plain(),
            references=self._found_references,
        )

    def _found_references(self) -> tuple[str | Document, ...]:
        tools = [message for message in self.messages if isinstance(message, ToolMessage)]
        of_chain = self.watch.references if self.watch else ()
        of_tools = (named_text(d.page_content, d.metadata) for d in documents_in(tools))
        by_text: dict[str, str | Document] = {}
        for reference in (*of_chain, *of_tools):
            text = reference if isinstance(reference, str) else reference.text
            by_text.setdefault(text, reference)
        return tuple(by_text.values())

    @property
    def _samples(self) -> Provider:
        if self._through_litellm:
            return Traced(litellm_provider(), self.runs.manager, SAMPLE, self.messages)
        sampling = self.guard.policy.sampling
        own = Request((), None, self.kwargs)
        kwargs = own.for_sampling(temperature=sampling.temperature, params=sampling.params).params
        source = source_of_model(self.model)
        model = fresh(self.model)
        return SampleProvider(
            runnable=model,
            model=model,
            value=list(self.messages),
            kwargs=kwargs,
            style=self.style,
            config=partial(self.runs.config, SAMPLE),
            source=source,
            # If the request holds the whole conversation, answers may be cached for others.
            cache_source=source if self._openai_messages else None,
        )

    @property
    def _judge(self) -> Provider:
        named_judges = Traced(default_provider(), self.runs.manager, JUDGE)
        if self._mapped is not None:
            return named_judges
        sampling = self.guard.policy.sampling
        config = partial(self.runs.config, JUDGE)
        return own_judge(self.model, sampling, self.style, config, named_judges)


def _tool_names(tools: object) -> tuple[str, ...]:
    """Return the names of tools in any provider's format."""
    if not isinstance(tools, (list, tuple)):
        return ()
    names = [tool_name(_as_mapping(tool)) for tool in cast("Sequence[Any]", tools)]
    return tuple(name for name in names if name)


def _as_mapping(tool: Any) -> Any:
    if not isinstance(tool, dict):
        with suppress(Exception):
            return convert_to_openai_tool(tool)
    return cast("Any", tool)


# LangChain's standard parameters that are sent with each request. The others (`timeout`,
# `max_retries`, keys) configure the existing client.
_STANDARD = ("temperature", "max_tokens", "stop", "streaming")


def with_standard(
    model: BaseChatModel, fields: dict[str, Any], allowed: Collection[str]
) -> BaseChatModel:
    """Move the fields of the model inside out of the given ones, and set them on a copy of it.

    Args:
        model: The model inside.
        fields: The given fields; modified.
        allowed: The fields that may remain.

    Raises:
        ConfigurationError: The model is not a chat model, or a field is unknown.
    """
    if not isinstance(model, BaseChatModel):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"GuardedChatModel takes a chat model, not {type(model).__name__!r}; guard_runnable()"
            " takes other runnables"
        )
    names = {info.alias or name: name for name, info in type(model).model_fields.items()}
    names |= {name: name for name in type(model).model_fields}
    changes = {names[key]: fields.pop(key) for key in _STANDARD if key in fields and key in names}
    if unknown := fields.keys() - set(allowed):
        raise ConfigurationError(
            f"{min(unknown)!r} is not a field of GuardedChatModel; set it on the model inside"
        )
    return model.model_copy(update=changes) if changes else model


def question_in(value: object) -> tuple[Message, ...]:
    """Return the question in the input of a runnable, or nothing if it cannot be determined.

    Args:
        value: The input: a text, messages, a prompt, or a mapping with one of these.
    """
    if isinstance(value, str):
        return ({"role": "user", "content": value},)
    if isinstance(value, Mapping):
        values = cast("Mapping[Any, object]", value).values()
        questions = [messages for messages in map(question_in, values) if messages]
        return questions[0] if len(questions) == 1 else ()
    messages: Any = value.to_messages() if isinstance(value, PromptValue) else value
    # Unknown content and values that are no messages raise many kinds of errors.
    with suppress(Exception):
        converted = cast("list[Message] | Message", convert_to_openai_messages(messages))
        return tuple(converted) if isinstance(converted, list) else (converted,)
    return ()


def output_format_in(kwargs: Mapping[str, Any]) -> OutputFormat | None:
    """Return how an answer is parsed, from the note that `with_structured_output` leaves."""
    noted: Any = kwargs.get("ls_structured_output_format")
    if not isinstance(noted, dict):
        return None
    method = cast("dict[str, Any]", noted).get("kwargs", {}).get("method")
    return "tools" if method == "function_calling" else "json"


class Pieces:
    """The chunks of one answer.

    If text is held, its sentences come as they are released, and everything else (tool calls,
    thoughts, usage) comes with the last chunk; a regenerated answer keeps only the usage. The
    chunks have no ids, so LangChain gives all of them the id of the run.
    """

    def __init__(self) -> None:
        self._passes_on = False
        self._in_blocks = False
        self._has_text = False

    def of(self, part: AnswerChunk) -> AIMessageChunk | None:
        """Return a part as a chunk, or None if it is empty."""
        self._has_text = self._has_text or bool(part.text.strip())
        if part.provider_chunk is None:
            return AIMessageChunk(content=part.text) if part.text else None
        self._passes_on = True
        if part.provider_chunk.raw is None:
            return None
        chunk = _as_chunk(part.provider_chunk.raw)
        self._in_blocks = isinstance(chunk.content, list)
        # The guard decides which chunk is the last one, not the model.
        return chunk.model_copy(update={"id": None, "chunk_position": None})

    def last(self, answer: Answer) -> tuple[AIMessageChunk, dict[str, Any]]:
        """Return the last chunk, which carries the verdict, and the verdict."""
        data = answer_data(answer)
        if self._passes_on:
            return self._closing({VERDICT_KEY: data}), data
        message = _whole(answer)
        if answer.blocked or answer.regenerated:
            empty = in_place_of(message, "", data, complete=answer.regenerated)
            return self._closing(empty.response_metadata, empty.usage_metadata), data
        update = {
            "content": without_text(cast("Any", message.content)),
            "response_metadata": {**message.response_metadata, VERDICT_KEY: data},
            "id": None,
            "chunk_position": "last",
        }
        return message.model_copy(update=update), data

    def refusal(self, block: Block, data: dict[str, Any]) -> AIMessageChunk:
        """Return the last chunk of an answer that an exception withheld."""
        message = f"\n\n{block.message_for_rest}" if self._has_text else block.message
        return self._closing({VERDICT_KEY: data}).model_copy(update={"content": message})

    def _closing(self, metadata: dict[str, Any], usage: Any = None) -> AIMessageChunk:
        return AIMessageChunk(
            content=[] if self._in_blocks else "",
            response_metadata=metadata,
            usage_metadata=usage,
            chunk_position="last",
        )


def _whole(answer: Answer) -> AIMessageChunk:
    raw = answer.completion.raw if answer.completion else None
    if not isinstance(raw, tuple):
        return _as_chunk(raw)
    chunks = [_as_chunk(piece) for piece in cast("tuple[Any, ...]", raw)]
    return reduce(add, chunks) if chunks else AIMessageChunk(content="")


def _as_chunk(message: Any) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
    if isinstance(message, AIMessage):
        # A model that does not stream returns the whole message at once.
        return AIMessageChunk(**message.model_dump(exclude={"type"}))
    return AIMessageChunk(content="")
