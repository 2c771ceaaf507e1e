"""A provider on this machine with the APIs of OpenAI and Anthropic, for tests and benches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from resay import Passage
from resay.testing import provider
from resay.testing.chat import InvalidRequestError, tokenize
from resay.testing.faults import Fault
from resay.testing.provider import Response
from resay.testing.tasks import Task
from resay.testing.world import Reply, Statement, World
from simulation import messages_api
from simulation.batches import Batches
from simulation.chat import (
    CALL,
    ChatBody,
    Choice,
    Completion,
    Function,
    Token,
    ToolCall,
    probable,
    shortened,
    speak,
    sure,
)
from simulation.completions import TextBody, TextCompletion, Written
from simulation.faults import BrokenStream, IgnoreLogprobs, IgnoreStreamOptions
from simulation.judges import find_task, knows
from simulation.messages_api import CountedBody, MessagesBody
from simulation.responses_api import ResponsesAnswer, ResponsesBody
from simulation.schemas import fill, json_pieces
from simulation.server import Exchange, ObservedServer, RequestRecord

__all__ = ["RequestRecord", "SimulatedProvider"]

_PATHS = ("/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens")
_WORDINGS = ("According to {}: {}", "The answer of {}: {}", "{} says: {}")


class SimulatedProvider(ObservedServer, provider.SimulatedProvider):
    """The provider of `resay.testing`, with more APIs and more of their parameters.

    `POST /v1/chat/completions` also has `logprobs`, `stop`, `tools` and `response_format`. OpenAI's
    `POST /v1/responses` and `/v1/completions`, its Batch API, and Anthropic's `POST /v1/messages`
    and `/v1/messages/count_tokens` answer the same conversation alike. It also answers the judged
    methods that `resay.testing` does not know (see `simulation.judges`).

    A tool is called if `tool_choice` says so, or if the user's message has `[[tool]]` or words of
    the tool's name or purpose. Arguments, and objects of a schema, are the same each time as far as
    the world or the user's words tell them; the rest is invented each time.

    Args:
        seed: The seed of all randomness.
        world: What it knows and makes up.
        latency_s: Duration of an answer, in seconds.
        jitter_s: Maximum addition to each answer's duration, in seconds.
        first_token_s: Time to a stream's first chunk, in seconds.
        judge_latency_s: In place of `latency_s`, for a judge's answers.
        judge_jitter_s: In place of `jitter_s`, for a judge's answers.
        faults: How it fails.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        world: World | None = None,
        latency_s: float = 0.0,
        jitter_s: float = 0.0,
        first_token_s: float = 0.0,
        judge_latency_s: float | None = None,
        judge_jitter_s: float | None = None,
        faults: Iterable[Fault] = (),
    ) -> None:
        provider.SimulatedProvider.__init__(
            self,
            seed=seed,
            world=world,
            latency_s=latency_s,
            first_token_s=first_token_s,
            faults=faults,
        )
        self._jitter_s = jitter_s
        self._judge_latency_s = latency_s if judge_latency_s is None else judge_latency_s
        self._judge_jitter_s = jitter_s if judge_jitter_s is None else judge_jitter_s
        self._batches = Batches(self._answer_in_batch)

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await super()._answer(exchange)
        # There are more ways to be no request than are worth telling apart here.
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            await self._fail(exchange, 400, f"Invalid request: {error!r}.")

    async def _route(self, exchange: Exchange) -> None:
        path = exchange.path
        if self._batches.serves(path):
            return await self._batches.respond(exchange)
        if messages_api.speaks(exchange):
            exchange.id_header = "request-id"
            if path == "/v1/models":
                return await exchange.reply(200, messages_api.models_body())
        if path == "/v1/chat/completions" and exchange.method == "POST":
            return await self._chat(exchange, ChatBody.parse(exchange.json))
        if path not in _PATHS or exchange.method != "POST":
            return await super()._route(exchange)
        if path == "/v1/completions":
            return await self._text(exchange, TextBody.parse(exchange.json))
        if path == "/v1/responses":
            body = ResponsesBody.parse(exchange.json)
            return await self._chat(exchange, body.chat, partial(ResponsesAnswer, body))
        if path == "/v1/messages/count_tokens":
            tokens = CountedBody.parse(exchange.json).chat.prompt_tokens
            return await exchange.reply(200, {"input_tokens": tokens})
        chat = MessagesBody.parse(exchange.json).chat
        return await self._chat(exchange, chat, messages_api.MessagesAnswer)

    async def _chat(
        self,
        exchange: Exchange,
        chat: ChatBody,
        answer: Callable[[Completion], Response] = lambda completion: completion,
    ) -> None:
        def respond(task: Task | None, fault: Fault | None) -> Response:
            choices = self._choices(chat, task, fault)
            request = chat
            if isinstance(fault, IgnoreLogprobs):
                request = chat.model_copy(update={"logprobs": False})
            if isinstance(fault, IgnoreStreamOptions):
                request = chat.model_copy(update={"stream_options": None})
            response = answer(Completion(request, choices, exchange.index))
            return fault.broken(response) if isinstance(fault, BrokenStream) else response

        return await self._complete(exchange, chat, respond)

    async def _text(self, exchange: Exchange, body: TextBody) -> None:
        def respond(task: Task | None, fault: Fault | None) -> Response:
            written = [
                Written(prompt, self._read(prompt), self._choices(chat, task, fault))
                for prompt, chat in zip(body.prompts, body.chats, strict=True)
            ]
            request = body
            if isinstance(fault, IgnoreLogprobs):
                request = body.model_copy(update={"logprobs": None, "prompt_logprobs": None})
            if isinstance(fault, IgnoreStreamOptions):
                request = body.model_copy(update={"stream_options": None})
            response = TextCompletion(request, written, exchange.index)
            return fault.broken(response) if isinstance(fault, BrokenStream) else response

        return await self._complete(exchange, body, respond, kind="text")

    def _answer_in_batch(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        chat = ChatBody.parse(body)
        choices = self._choices(chat, self._find_task(chat.user_texts), None)
        return Completion(chat, choices, 0).body()

    async def _fail(
        self,
        exchange: Exchange,
        status: int,
        message: str,
        cause: InvalidRequestError | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        if not messages_api.speaks(exchange):
            return await super()._fail(exchange, status, message, cause, headers)
        body = messages_api.error_body(status, message, f"req_{exchange.index}")
        return await exchange.reply(status, body, headers)

    def _find_task(self, texts: Sequence[str]) -> Task | None:
        return find_task(texts)

    def _latency(self, exchange: Exchange, task: Task | None) -> float:
        jitter = random.Random(f"jitter {self._seed} {exchange.index}").random()
        if task is not None and task.kind != "chat":
            return self._judge_latency_s + self._judge_jitter_s * jitter
        return self._latency_s + self._jitter_s * jitter

    def _draw(self, request: ChatBody, task: Task | None, rng: random.Random) -> Choice:
        functions = request.functions
        if functions:
            return self._call(request, functions, rng)
        if task is not None and task.kind != "chat":
            return self._say(task.answer(self._world, rng), request)
        schema = request.schema_
        if schema is not None:
            texts = [*request.user_texts, *(text for _, text in request.results)]
            return shortened(self._object(schema, texts, request, rng), request)
        if task is not None:
            return shortened(speak(task.answer(self._world, rng), rng, sure=True), request)
        tokens: list[Token] = []
        for statement in self._reply(request, rng).statements:
            space = " " if tokens else ""
            tokens += speak(space + statement.text, rng, sure=not statement.invented)
        return shortened(tokens, request)

    def _say(self, text: str, request: ChatBody) -> Choice:
        return shortened(sure(text), request)

    def _reply(self, request: ChatBody, rng: random.Random) -> Reply:
        *before, question = [text.replace(CALL, "") for text in request.user_texts] or [""]
        relayed = [_relay(*result, rng) for result in request.results]
        if relayed and not any(map(self._world.find, (question, *before))):
            return Reply(tuple(relayed))
        reply = self._world.answer(question, rng, before=before, context=request.context)
        return Reply((*relayed, *reply.statements))

    def _call(self, request: ChatBody, functions: Sequence[Function], rng: random.Random) -> Choice:
        remaining = request.max_answer_tokens
        calls: list[ToolCall] = []
        for function in functions:
            schema = {"type": "object", **(function.parameters or {})}
            tokens = self._object(schema, request.user_texts, request, rng)
            cut = tokens[:remaining]
            calls.append(ToolCall(f"call_{rng.getrandbits(96):024x}", function.name, cut))
            if len(cut) < len(tokens):
                return Choice((), "length", calls)
            if remaining is not None:
                remaining -= len(cut)
        return Choice((), "tool_calls", calls)

    def _object(
        self,
        schema: Mapping[str, Any],
        texts: Sequence[str],
        request: ChatBody,
        rng: random.Random,
    ) -> list[Token]:
        """Return the JSON text of an object that satisfies a schema."""
        value = fill(schema, texts, self._world, rng, lambda: self._reply(request, rng).text)
        tokens: list[Token] = []
        for text, invented in json_pieces(value):
            tokens += speak(text, rng, sure=not invented)
        return tokens

    def _read(self, text: str) -> list[Token]:
        """Return the tokens of a text that somebody else wrote.

        Sentences about the subject of the text are probable if they are known; names and numbers of
        others are not.
        """
        rng = random.Random(f"{self._seed} read {text}")
        subject = self._world.find(text)
        unknown = [s for s in Passage.of(text).sentences if not knows(subject, s.text)]
        tokens: list[Token] = []
        end = 0
        for token in tokenize(text):
            end += len(token)
            known = not any(s.start < end <= s.end for s in unknown)
            tokens.append(Token(token, probable(token, rng, sure=known)))
        return tokens


def _relay(name: str, result: str, rng: random.Random) -> Statement:
    """Repeat the result of a tool, in one of a few wordings."""
    text = " ".join(result.split()) or "nothing"
    end = "" if text.endswith((".", "!", "?")) else "."
    return Statement(rng.choice(_WORDINGS).format(name, text) + end, invented=False)
