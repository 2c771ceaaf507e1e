"""One request of a guarded chat model: what is given, what is asked, and who answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, replace
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

from resay._internal.event_loops import run_sync
from resay.adapters import VERDICT_KEY, aparts_of, litellm_provider, parts_of, verdict_data
from resay.core.query import Message, Query
from resay.core.verdict import HallucinationBlocked
from resay.engine.actions import Answer
from resay.engine.stream import AnswerStream, Part
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Block, Policy
from resay.providers.base import Provider, Sources
from resay.providers.caching import source_of
from resay_langchain._inside import for_judging, for_sampling, sampling_kwargs
from resay_langchain._litellm import UnmappedError, request_of
from resay_langchain._outcome import in_place_of, outcome_of, without_text
from resay_langchain._policies import withholding
from resay_langchain._providers import (
    JudgeProvider,
    ModelProvider,
    Run,
    RunnableProvider,
    Stream,
    in_loop,
    in_thread,
    stream_in_loop,
    stream_in_thread,
)
from resay_langchain._runs import JUDGE, SAMPLE, Runs, Traced, Watch, documents_in

Reads = Literal["text", "json", "tools"]
"""What an answer is: words, or an object in its text or in the arguments of its calls."""


@dataclass(frozen=True)
class Asking:
    """One request.

    Attributes:
        model: The chat model inside.
        policy: What is to be done.
        messages: The conversation.
        kwargs: Keyword arguments of the call.
        reads: What the answer is to be read as.
        object_tools: The tools whose arguments are the answer, where the caller knows.
        runs: Makes the child runs.
        watch: Who knows about retrieved documents.
        asynchronous: Whether the caller's event loop is to be used.
    """

    model: BaseChatModel
    policy: Policy
    messages: Sequence[BaseMessage]
    kwargs: Mapping[str, Any]
    reads: Reads
    object_tools: tuple[str, ...]
    runs: Runs
    watch: Watch | None
    asynchronous: bool

    @cached_property
    def query(self) -> Query:
        """What is asked, as litellm takes it where the model can be reached that way."""
        mapped = self._mapped
        query = mapped or Query(self._openai_messages or self._plain_messages, None, self._params)
        tools = _tool_names(self.kwargs.get("tools")) if self.reads == "tools" else ()
        return replace(
            query, structured=self.reads == "json", object_tools=self.object_tools or tools
        )

    @cached_property
    def _mapped(self) -> Query | None:
        if self.policy.sampling.via == "native":
            return None
        try:
            return request_of(self.model, self.messages, self.kwargs)
        except UnmappedError:
            return None

    @cached_property
    def _openai_messages(self) -> tuple[Message, ...]:
        # Content of an unknown kind is refused in many ways.
        with suppress(Exception):
            return tuple(cast("list[Message]", convert_to_openai_messages(list(self.messages))))
        return ()

    @property
    def _plain_messages(self) -> tuple[Message, ...]:
        """The conversation as far as it is text, for what the policy looks at."""
        return tuple(
            {"role": "user" if isinstance(m, HumanMessage) else m.type, "content": str(m.text)}
            for m in self.messages
        )

    @property
    def _params(self) -> dict[str, Any]:
        # The guard gives one answer; who wants several, or a stream, gets it from LangChain.
        return {k: v for k, v in self.kwargs.items() if k not in ("n", "stream")}

    @property
    def sources(self) -> Sources:
        """Who answers what."""
        return Sources(
            main=self._main,
            samples=self._samples,
            judge=self._judge,
            via="litellm" if self._through_litellm else "native",
            finds_references=True,
        )

    @property
    def _through_litellm(self) -> bool:
        return self._mapped is not None or self.policy.sampling.model is not None

    @property
    def _run(self) -> Run:
        return in_loop if self.asynchronous else in_thread

    @property
    def _main(self) -> Provider:
        stream: Stream = stream_in_loop if self.asynchronous else stream_in_thread
        # The callbacks of the model itself hear of the guarded call instead: they may show what
        # they are told to whoever waits for the answer.
        model = self.model.model_copy(update={"callbacks": None})
        return ModelProvider(
            model, self.messages, self.kwargs, self._run, stream, self.runs.plain(), self._found
        )

    def _found(self) -> tuple[str, ...]:
        tools = [message for message in self.messages if isinstance(message, ToolMessage)]
        texts = [document.page_content for document in documents_in(tools)]
        return tuple(dict.fromkeys((*(self.watch.references if self.watch else ()), *texts)))

    @property
    def _samples(self) -> Provider:
        if self._through_litellm:
            return Traced(litellm_provider(), self.runs.manager, SAMPLE, self.messages)
        sampling = self.policy.sampling
        # The same model answers the same for whoever asks, if all of the question is in the query.
        source = f"langchain {source_of(self.model)}" if self._openai_messages else None
        return RunnableProvider(
            for_sampling(self.model, sampling),
            list(self.messages),
            sampling_kwargs(self.model, self.kwargs, sampling),
            self._run,
            partial(self.runs.config, SAMPLE),
            source,
        )

    @property
    def _judge(self) -> Provider:
        asked = Traced(litellm_provider(), self.runs.manager, JUDGE)
        if self._mapped is not None:
            return asked
        config = partial(self.runs.config, JUDGE)
        own = for_judging(self.model, self.policy.sampling)
        return JudgeProvider(own, self._run, config, asked)


def _tool_names(tools: object) -> tuple[str, ...]:
    """Return the names of tools in whatever shape the model's provider has them."""
    listed = cast("Sequence[Any]", tools) if isinstance(tools, (list, tuple)) else ()
    return tuple(name for tool in listed if (name := _tool_name(tool)))


def _tool_name(tool: Any) -> str | None:
    if not isinstance(tool, dict):
        with suppress(Exception):
            return str(convert_to_openai_tool(tool)["function"]["name"])
        return None
    known = cast("dict[str, Any]", tool)
    shapes: list[Any] = [known.get("function"), known.get("toolSpec"), known]
    held = [cast("dict[str, Any]", shape) for shape in shapes if isinstance(shape, dict)]
    names: list[Any] = [shape.get("name") for shape in held]
    return next((name for name in names if isinstance(name, str)), None)


# Of LangChain's standard parameters those that go with each request. The others (`timeout`,
# `max_retries`, keys) are for the existing client.
_STANDARD = ("temperature", "max_tokens", "stop", "streaming")


def with_standard(
    model: BaseChatModel, fields: dict[str, Any], known: Collection[str]
) -> BaseChatModel:
    """Take what belongs to the model inside out of the fields, and set it on a copy.

    Args:
        model: The model inside.
        fields: What is given; changed.
        known: What may be left of it.

    Raises:
        ConfigurationError: The model is none, or a field is unknown.
    """
    if not isinstance(model, BaseChatModel):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"GuardedChatModel takes a chat model, not {type(model).__name__!r}; guard() takes"
            " other runnables"
        )
    names = {info.alias or name: name for name, info in type(model).model_fields.items()}
    names |= {name: name for name in type(model).model_fields}
    given = {names[key]: fields.pop(key) for key in _STANDARD if key in fields and key in names}
    if unknown := fields.keys() - set(known):
        raise ConfigurationError(
            f"{min(unknown)!r} is not a field of GuardedChatModel; set it on the model inside"
        )
    return model.model_copy(update=given) if given else model


def question_in(value: object) -> tuple[Message, ...]:
    """Return what the input of a runnable asks; nothing where that cannot be told.

    Args:
        value: The input: a text, messages, a prompt, or a mapping that holds one of these.
    """
    if isinstance(value, str):
        return ({"role": "user", "content": value},)
    if isinstance(value, Mapping):
        held = map(question_in, cast("Mapping[Any, object]", value).values())
        asked = [messages for messages in held if messages]
        return asked[0] if len(asked) == 1 else ()
    found: Any = value.to_messages() if isinstance(value, PromptValue) else value
    # Content of an unknown kind is refused in many ways, and so is what is no message.
    with suppress(Exception):
        read = cast("list[Message] | Message", convert_to_openai_messages(found))
        return tuple(read) if isinstance(read, list) else (read,)
    return ()


def asked_for(kwargs: Mapping[str, Any]) -> Reads | None:
    """Return what an answer is read as, by the note that `with_structured_output` leaves."""
    noted: Any = kwargs.get("ls_structured_output_format")
    if not isinstance(noted, dict):
        return None
    method = cast("dict[str, Any]", noted).get("kwargs", {}).get("method")
    return "tools" if method == "function_calling" else "json"


class Pieces:
    """The chunks of one answer.

    Where text is held, its sentences come as they are released, and everything else the model said
    (calls of tools, thoughts, usage) with the last chunk; of an answer that was written again, no
    more than the usage. The chunks have no id of their own, so that LangChain gives all of them
    that of the run.
    """

    def __init__(self) -> None:
        self._passed_on = False
        self._in_blocks = False

    def of(self, part: Part) -> AIMessageChunk | None:
        """Return a part as a chunk; None where there is nothing in it."""
        if part.chunk is None:
            return AIMessageChunk(content=part.text) if part.text else None
        self._passed_on = True
        if part.chunk.raw is None:
            return None
        chunk = _as_chunk(part.chunk.raw)
        self._in_blocks = isinstance(chunk.content, list)
        # Which chunk is the last one is not for the model to say.
        return chunk.model_copy(update={"id": None, "chunk_position": None})

    def last(self, answer: Answer) -> tuple[AIMessageChunk, dict[str, Any]]:
        """Return the last chunk, which has the verdict, and the verdict."""
        data = verdict_data(answer.verdict, answer.action)
        if self._passed_on:
            return self._closing({VERDICT_KEY: data}), data
        whole = _whole(answer)
        if answer.blocked or answer.regenerated:
            empty = in_place_of(whole, "", data, complete=answer.regenerated)
            return self._closing(empty.response_metadata, empty.usage_metadata), data
        update = {
            "content": without_text(cast("Any", whole.content)),
            "response_metadata": {**whole.response_metadata, VERDICT_KEY: data},
            "id": None,
            "chunk_position": "last",
        }
        return whole.model_copy(update=update), data

    def refusal(self, message: str, data: dict[str, Any]) -> AIMessageChunk:
        """Return the last chunk of an answer that was withheld with an exception."""
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
        # A model that does not stream gives the whole message at once.
        return AIMessageChunk(**message.model_dump(exclude={"type"}))
    return AIMessageChunk(content="")


class Request:
    """One request, in each of the four ways in which LangChain makes it.

    Args:
        guard: Checks and acts.
        asking: What is asked, and of whom.
    """

    def __init__(self, guard: Guard, asking: Asking) -> None:
        self._guard = guard
        self._asking = asking

    def generate(self) -> ChatResult:
        """Ask, check and act."""
        try:
            with self._asking.runs.around():
                answer = run_sync(self._guard.arun, self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            self._asking.runs.tell(data)
            self._leave_raising(error, data)
            return _result(self._refusal(data))
        message, data = outcome_of(answer)
        self._asking.runs.tell(data)
        self._note(data, answer)
        return _result(message)

    async def agenerate(self) -> ChatResult:
        """Ask, check and act, on the caller's event loop."""
        try:
            with self._asking.runs.around():
                answer = await self._guard.arun(self._asking.query, self._asking.sources)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            await self._asking.runs.atell(data)
            self._leave_raising(error, data)
            return _result(self._refusal(data))
        message, data = outcome_of(answer)
        await self._asking.runs.atell(data)
        self._note(data, answer)
        return _result(message)

    def stream(self) -> Iterator[ChatGenerationChunk]:
        """Ask, check and act, handing over the answer as the policy says."""
        pieces = Pieces()
        try:
            with closing(parts_of(self._opened(), self._asking.runs.around())) as parts:
                for part in parts:
                    if isinstance(part, Answer):
                        chunk, data = pieces.last(part)
                        self._note(data, part)
                        self._asking.runs.tell(data)
                        yield ChatGenerationChunk(message=chunk)
                    else:
                        yield from _chunks(pieces, part)
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            self._asking.runs.tell(data)
            self._leave_raising(error, data)
            yield ChatGenerationChunk(message=pieces.refusal(self._instead, data))

    async def astream(self) -> AsyncIterator[ChatGenerationChunk]:
        """Do what `stream` does, on the caller's event loop."""
        pieces = Pieces()
        try:
            async with aclosing(aparts_of(self._opened(), self._asking.runs.around())) as parts:
                async for part in parts:
                    if isinstance(part, Answer):
                        chunk, data = pieces.last(part)
                        self._note(data, part)
                        await self._asking.runs.atell(data)
                        yield ChatGenerationChunk(message=chunk)
                    else:
                        for piece in _chunks(pieces, part):
                            yield piece
        except HallucinationBlocked as error:
            data = verdict_data(error.verdict, "block")
            await self._asking.runs.atell(data)
            self._leave_raising(error, data)
            yield ChatGenerationChunk(message=pieces.refusal(self._instead, data))

    def _opened(self) -> AnswerStream:
        return self._guard.arun_stream(self._asking.query, self._asking.sources, every_chunk=True)

    def _refusal(self, data: dict[str, Any]) -> AIMessage:
        return AIMessage(self._instead, response_metadata={VERDICT_KEY: data})

    @property
    def _instead(self) -> str:
        return (withholding(self._guard.policy) or Block()).message

    def _leave_raising(self, error: HallucinationBlocked, data: dict[str, Any]) -> None:
        """Leave it to whoever watches the whole chain; where nobody does, raise."""
        if self._asking.watch is None:
            raise error
        self._asking.watch.note(data, error, structured=self._asking.query.wants_object)

    def _note(self, data: dict[str, Any], answer: Answer) -> None:
        watch = self._asking.watch
        if watch is not None:
            blocked = HallucinationBlocked(answer.verdict) if answer.blocked else None
            watch.note(data, blocked, structured=self._asking.query.wants_object)


def _result(message: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunks(pieces: Pieces, part: Part) -> Iterator[ChatGenerationChunk]:
    chunk = pieces.of(part)
    if chunk is not None:
        yield ChatGenerationChunk(message=chunk)
