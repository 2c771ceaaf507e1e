"""A simulated provider for tests: chat completions over HTTP, samples, and a judge.

As a judge it compares sentences with the question's context, singly or as a list, in the words of
SelfCheckGPT with Prompt. Asked for questions about claims, it turns their last numbers, dates and
names into gaps; asked to fill gaps, it answers what it knows, and makes up what it does not; asked
whether two answers mean the same, it looks for a word in both. Asked to check the claims of another
model's answer, it uses what it knows. Asked to rewrite sentences according to other answers, it
returns what most of them say, or `REMOVE`. Asked to answer from documents, it returns their
sentences about the question. Asked to correct a sentence from documents, it returns their sentence
about the same matter, or `REMOVE`. Each sentence is followed by the numbers of its documents.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resay.core.passage import Passage
from resay.errors import ConfigurationError
from resay.testing.faults import (
    EmptyAnswer,
    Fault,
    Garbled,
    IdenticalSamples,
    IgnoreN,
    RateLimited,
    Refused,
    RequestKind,
    ServerError,
)
from resay.testing.server import Exchange, LoopbackServer
from resay.testing.world import FUNCTION_WORDS, SUPPORT, WORD, World, exact, fold, stems, supports

_ONE = re.compile(
    r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
    r"Is the sentence supported by the context above\?",
    re.DOTALL,
)
_LIST = re.compile(
    r"<context-(?P<code>\w+)>\n(?P<context>.*)\n</context-(?P=code)>\s*"
    r"<claims-(?P=code)>\n(?P<sentences>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_QUIZ = re.compile(
    r"<claims-(?P<code>\w+)>\n(?P<claims>.*)\n</claims-(?P=code)>.*the right answer, copied from",
    re.DOTALL,
)
_PROBE = re.compile(
    r"<questions-(?P<code>\w+)>\n(?P<questions>.*)\n</questions-(?P=code)>.*in a few words",
    re.DOTALL,
)
_COMPARE = re.compile(
    r"Compare two short answers.*<answers-(?P<code>\w+)>\n(?P<pairs>.*)\n</answers-(?P=code)>",
    re.DOTALL,
)

# Numbers, dates and names after the first word.
_DETAIL = re.compile(
    r"(?<=\s)(?:\d[\d,.]*\d|\d|[A-Z][\w'’-]*)(?:\s(?:\d[\d,.]*\d|\d|[A-Z][\w'’-]*))*"
)
_NUMBERED_TEXTS = re.compile(
    r"<(?P<kind>documents|samples)-(?P<code>\w+)>\n(?P<texts>.*)\n</(?P=kind)-(?P=code)>\s*"
    r"<claims-(?P=code)>\n(?P<sentences>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_CHECK = re.compile(
    r"Check the claims of an answer that another model wrote\..*"
    r"<claims-(?P<code>\w+)>\n(?P<claims>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_AGAIN = re.compile(
    r"(?:Sentences of an answer are in doubt|Shorten sentences of an answer)\..*"
    r"<sentences-(?P<code>\w+)>\n(?P<sentences>.*)\n</sentences-(?P=code)>",
    re.DOTALL,
)
_SAID = re.compile(r"^ +(other answers|keep|in doubt): (.*?)(?: \(x(\d+)\))?$", re.MULTILINE)
_NUMBERED = re.compile(r"\s*(\d+)\s*[.):]\s*(.*)")
# A judge whose answer could not be parsed gets the form of the answer restated.
_RESTATED = re.compile(r"\s*(?:Answer with|Write) ")
# If a question to a judge contains a whole prompt of this kind, more text follows it.
_ANSWER = re.compile(
    r"(?P<question>.*?)^[ \t]*Answer by these documents:[ \t]*\n(?P<documents>.*)\n\s*"
    r"Rules:\n(?:\d+\. [^\n]*\n?)+\s*",
    re.DOTALL | re.MULTILINE,
)
_CORRECT = re.compile(
    r"\s*A sentence of an answer is in doubt\.\s+The question:\n(?P<question>.*?)\n\n"
    r"The answer around the sentence:\n.*?>>>\s*(?P<sentence>.*?)\s*<<<.*?\n\n"
    r"Documents from a search:\n(?P<documents>.*)",
    re.DOTALL,
)
# Only an end mark with the opening mark's code ends a document; a document's author cannot know it.
_FENCED = re.compile(
    r"<(?P<kind>document|sample)-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n"
    r"</(?P=kind)-(?P=code)>",
    re.DOTALL,
)
# A heading, or a short first line that is no sentence, with text right below.
_TITLES = re.compile(r"(?:\A[^\n.!?:]{1,60}|^#{1,6} [^\n]*)(?=\n\S)", re.MULTILINE)
# A wrapped line: the next line starts neither a list item nor a heading or the like.
_WRAPPED = re.compile(r"(?<![.!?:\n])\n(?![\s#>|]|[-*+•]\s|\d+[.)]\s)")
_SENTENCE = re.compile(r".*\w.*[.!?][\"'”’»)\]]*", re.DOTALL)
_LISTED = "answer compare describe explain give list say show summarise tell write"
_ORDERS = frozenset(_LISTED.split())
_NO_WORDS: set[str] = set()
_MOST = 6


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt of Resay's that was recognized, and the function that answers it."""

    kind: RequestKind
    answer: Callable[[World, random.Random], str]


def task_in(said: Sequence[str]) -> Task | None:
    """Return the task in the last user message; None if it is none of Resay's prompts."""
    if not said:
        return None
    # A document may contain what looks like a question to a judge.
    if found := _CORRECT.match(said[-1]):
        text = _corrected(found["question"], found["sentence"], found["documents"])
        return Task("chat", lambda world, rng: text)
    if found := _ANSWER.fullmatch(said[-1]):
        question, documents = found["question"], found["documents"]
        topic = next((names for t in (question, *said[-2::-1]) if (names := _names(t))), _NO_WORDS)
        return Task("chat", lambda world, rng: _written(topic, documents, world, rng))
    if found := _ONE.search(said[-1]):
        verdict = _yes_or_no(found["context"], found["sentence"])
        return Task("judge", lambda world, rng: verdict)
    if task := _second_look(said[-1]):
        return task
    if found := _LIST.search(said[-1]):
        verdicts = _verdicts(found["context"], found["sentences"])
        return Task("judge", lambda world, rng: verdicts)
    if found := _QUIZ.search(said[-1]):
        quiz = _quiz(found["claims"])
        return Task("judge", lambda world, rng: quiz)
    if found := _PROBE.search(said[-1]):
        text, questions = said[-1], _items(found["questions"])
        return Task("chat", lambda world, rng: _answered(text, questions, world, rng))
    if found := _NUMBERED_TEXTS.search(said[-1]):
        held = _held(_shown_in(found["texts"]), found["sentences"])
        return Task("judge", lambda world, rng: held)
    again = task_in(said[:-1]) if _RESTATED.match(said[-1]) else None
    return Task("restated", again.answer) if again and again.kind != "chat" else None


def _second_look(text: str) -> Task | None:
    """Return the task of comparing answers, of a second model, or of rewriting sentences."""
    if found := _COMPARE.match(text):
        compared = _compared(_items(found["pairs"]))
        return Task("judge", lambda world, rng: compared)
    if found := _CHECK.match(text):
        claims = _items(found["claims"])
        return Task("judge", lambda world, rng: _checked(claims, text, world))
    if found := _AGAIN.match(text):
        items = _items(found["sentences"])
        return Task("chat", lambda world, rng: _written_again(items, world))
    return None


def _yes_or_no(context: str, sentence: str) -> str:
    return "Yes" if supports(context, sentence) else "No"


def _verdicts(context: str, sentences: str) -> str:
    """Answer with one line per claim: "1: supported"."""
    said = [_verdict(context, item) for item in _items(sentences)]
    return "\n".join(f"{n}: {answer}" for n, answer in enumerate(said, 1))


def _verdict(context: str, claim: str) -> str:
    if supports(context, claim):
        return "supported"
    said = WORD.findall(claim)
    wanted = stems([word for word in said if fold(word) not in exact(said)])
    there = len(wanted & stems(WORD.findall(context)))
    return "contradicted" if there >= SUPPORT * len(wanted) else "not_mentioned"


def _checked(claims: Sequence[str], prompt: str, world: World) -> str:
    """Answer with one line per claim: "2: wrong | It opened in 1932."."""
    lines: list[str] = []
    for n, claim in enumerate(claims, 1):
        subject = world.find(claim) or world.find(prompt)
        facts = [fact[0] for fact in subject.wordings] if subject else []
        against = next((fact for fact in facts if _verdict(fact, claim) == "contradicted"), None)
        if supports(" ".join(facts), claim):
            lines.append(f"{n}: right")
        else:
            lines.append(f"{n}: wrong | {against}" if against else f"{n}: unknown")
    return "\n".join(lines)


def _written_again(items: Sequence[str], world: World) -> str:
    """Answer with one line per sentence: "1: It opened in 1932."."""
    lines: list[str] = []
    for n, item in enumerate(items, 1):
        said = [(kind, text, int(count or 1)) for kind, text, count in _SAID.findall(item)]
        kept = [text for kind, text, _ in said if kind == "keep"]
        most = max((count for kind, _, count in said if kind == "other answers"), default=0)
        others = [text for kind, text, count in said if (kind, count) == ("other answers", most)]
        if not kept and most > 1:
            kept = others[:1]
        elif not kept and not most:
            # Without other answers or sentences to keep, it uses what it knows.
            doubt = next((text for kind, text, _ in said if kind == "in doubt"), "")
            subject = world.find(item)
            facts = [fact[0] for fact in subject.wordings] if subject else []
            kept = [fact for fact in facts if _verdict(fact, doubt) == "contradicted"][:1]
        lines.append(f"{n}: {' '.join(kept) or 'REMOVE'}")
    return "\n".join(lines)


def _quiz(claims: str) -> str:
    """Answer with one line per claim: "1: What belongs in the gap? It opened in ___. | 1932"."""
    lines: list[str] = []
    for n, claim in enumerate(_items(claims), 1):
        details = [*_DETAIL.finditer(claim)]
        if not details:
            lines.append(f"{n}: none")
            continue
        last = details[-1]
        gapped = f"{claim[: last.start()]}___{claim[last.end() :]}"
        lines.append(f"{n}: What belongs in the gap? {gapped} | {last.group()}")
    return "\n".join(lines)


def _answered(text: str, questions: Sequence[str], world: World, rng: random.Random) -> str:
    """Answer each question on a line of its own."""
    answers = [_filled(text, question, world, rng) for question in questions]
    return "\n".join(f"{n}: {answer}" for n, answer in enumerate(answers, 1))


def _compared(pairs: Sequence[str]) -> str:
    """Say of each question's two answers whether they have a number, name or other word in common.

    Args:
        pairs: Lines such as `Who built it? | Ada Moor | A. Moor`.
    """
    lines: list[str] = []
    for n, pair in enumerate(pairs, 1):
        _, first, second = (part.strip() for part in pair.rsplit("|", 2))
        shared = _telling(first) & _telling(second)
        lines.append(f"{n}: {'same' if shared else 'different'}")
    return "\n".join(lines)


def _filled(text: str, question: str, world: World, rng: random.Random) -> str:
    """Fill a gap: with what is known, something made up, or that it is not known."""
    subject = world.find(question) or world.find(text)
    before, _, after = question.partition("?")[2].partition("___")
    wanted = stems(WORD.findall(f"{before} {after}"))
    if subject is None or not wanted:
        return "I don't know."
    said = [wording for fact in subject.wordings for wording in fact]
    said += [invention.say(rng) for invention in subject.inventions]
    best = max(said, key=lambda known: len(wanted & stems(WORD.findall(known))))
    if len(wanted & stems(WORD.findall(best))) < SUPPORT * len(wanted):
        return "I don't know."
    details = [m.group() for m in _DETAIL.finditer(best) if m.group() not in question]
    return details[-1] if details else "I don't know."


def _items(sentences: str) -> list[str]:
    items: list[str] = []
    for line in sentences.strip().splitlines():
        mark = _NUMBERED.match(line)
        if mark and int(mark[1]) == len(items) + 1:
            items.append(mark[2])
        elif items and line.strip():
            items[-1] += "\n" + line
    return items


def _held(documents: Sequence[tuple[int, str]], sentences: str) -> str:
    """Answer with an object per claim: which documents support it, and which contradict it."""
    found: list[dict[str, object]] = []
    for place, item in enumerate(_items(sentences), 1):
        said = {number: _verdict(text, item) for number, text in documents}
        for_it = [number for number, verdict in said.items() if verdict == "supported"]
        against = [number for number, verdict in said.items() if verdict == "contradicted"]
        found.append(
            {"claim": place, "supported_by": for_it, "contradicted_by": against, "quote": ""}
        )
    return json.dumps(found)


def _shown_in(text: str) -> list[tuple[int, str]]:
    """Return the documents that a prompt shows, with their numbers."""
    return [(int(m["number"]), m["text"].strip()) for m in _FENCED.finditer(text)]


def _sentences_of(document: str) -> Iterator[str]:
    """Yield the sentences of a document, each on one line, without titles and headings."""
    text = document.replace("[…]", "\n\n").strip()
    text = _WRAPPED.sub(" ", _TITLES.sub(r"\g<0>\n", text))
    lines = (" ".join(sentence.text.split()) for sentence in Passage.of(text).sentences)
    return (line for line in lines if _SENTENCE.fullmatch(line))


def _names(text: str) -> set[str]:
    said = [word for word in WORD.findall(text) if word[0].isupper()]
    return stems([word for word in said if fold(word) not in FUNCTION_WORDS | _ORDERS])


def _telling(text: str) -> set[str]:
    words = WORD.findall(text)
    return stems(words) | {fold(word) for word in words if word[0].isdigit()}


def _sentences(topic: set[str], documents: str) -> Mapping[str, list[int]]:
    """Return the sentences about a topic, with the numbers of the documents that contain them."""
    found: dict[str, list[int]] = {}
    for number, text in _shown_in(documents):
        if 2 * len(topic & _telling(text)) >= len(topic):
            for sentence in dict.fromkeys(_sentences_of(text)):
                found.setdefault(sentence, []).append(number)
    return found


def _written(topic: set[str], documents: str, world: World, rng: random.Random) -> str:
    """Return sentences of documents, reworded at random, those with the topic's names first."""
    sentences = _sentences(topic, documents)
    first = sorted(sentences, key=lambda text: 2 * len(topic & _telling(text)) < len(topic))
    facts = [fact for subject in world.subjects for fact in subject.wordings]
    said: list[str] = []
    for text in first[:_MOST]:
        worded = rng.choice(next((fact for fact in facts if text in fact), (text,)))
        said.append(_marked(worded, sentences[text]))
    return " ".join(said) or "This could not be confirmed."


def _corrected(question: str, sentence: str, documents: str) -> str:
    """Return the correction of a sentence: one from the documents, itself, or `REMOVE`."""
    sentences = _sentences(_names(question), documents)
    agreeing = [number for number, text in _shown_in(documents) if supports(text, sentence)]
    if agreeing:
        return _marked(sentence, agreeing)
    # The sentence may be wrong in names and numbers.
    said = WORD.findall(sentence)
    kept = stems([word for word in said if fold(word) not in exact(said)])
    wanted = kept - _telling(question) or kept
    best = max(sentences, key=lambda text: len(wanted & _telling(text)), default="")
    enough = len(wanted & _telling(best)) >= max(1.0, SUPPORT * len(wanted))
    return _marked(best, sentences[best]) if enough else "REMOVE"


def _marked(sentence: str, numbers: Sequence[int]) -> str:
    return f"{sentence} {''.join(f'[{number}]' for number in numbers)}"


MODEL = "simulated"
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")


class InvalidRequestError(Exception):
    """A request body that the API would refuse; `param` is the refused parameter."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class _StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The supported part of a chat completion request's body."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    messages: list[dict[str, Any]] = Field(min_length=1)
    model: str = MODEL
    n: int | None = Field(None, ge=1, le=128)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)

    @classmethod
    def parse(cls, body: object) -> ChatRequest:
        """Validate a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("We could not parse the JSON body of your request.")
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            param = ".".join(map(str, problem["loc"]))
            raise InvalidRequestError(f"Invalid {param!r}: {problem['msg']}.", param) from None

    @property
    def said_by_user(self) -> list[str]:
        """The texts of all user messages, oldest first."""
        return [_text_of(m) for m in self.messages if m.get("role") == "user"]

    @property
    def context(self) -> str:
        """The text given to the model, apart from one-line requests and its own messages."""
        texts = [(m.get("role"), _text_of(m)) for m in self.messages]
        given = [(role, text) for role, text in texts if role != "assistant"]
        return "\n".join(t for role, t in given if role != "user" or "\n" in t.strip())

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens in the messages."""
        return sum(len(_TOKEN.findall(_text_of(message))) for message in self.messages)


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (
        cast("dict[str, object]", p) for p in cast("list[object]", content) if isinstance(p, dict)
    )
    texts = [part.get("text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the answers to a request; its reason is `stop`, or `length` if it was cut off."""

    tokens: Sequence[str] = ()
    finish_reason: str = "stop"

    @classmethod
    def of(cls, text: str, most_tokens: int | None) -> Choice:
        """Return a choice with a text, truncated to the maximum number of tokens."""
        tokens = _TOKEN.findall(text)
        if most_tokens is None or len(tokens) <= most_tokens:
            return cls(tokens)
        return cls(tokens[:most_tokens], "length")


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to a chat completion request; `number` is unique within one provider."""

    request: ChatRequest
    choices: Sequence[Choice]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def reports_usage(self) -> bool:
        """Whether the client gets the usage."""
        options = self.request.stream_options
        return not self.request.stream or bool(options and options.include_usage)

    @property
    def usage(self) -> dict[str, int]:
        """Token counts of the request and the answers."""
        read, written = self.request.prompt_tokens, sum(len(c.tokens) for c in self.choices)
        return {"prompt_tokens": read, "completion_tokens": written}

    @property
    def _said_usage(self) -> dict[str, int]:
        return {**self.usage, "total_tokens": sum(self.usage.values())}

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, choice in enumerate(self.choices):
            said = {"role": "assistant", "content": "".join(choice.tokens)}
            choices.append({"index": index, "message": said, "finish_reason": choice.finish_reason})
        return self._envelope("chat.completion", choices, usage=self._said_usage)

    def events(self) -> Iterator[str]:
        """Return the answer as a stream."""
        yield from (json.dumps(chunk) for chunk in self._chunks())
        yield "[DONE]"

    def _chunks(self) -> Iterator[dict[str, Any]]:
        kind = "chat.completion.chunk"
        for index, choice in enumerate(self.choices):
            deltas = [{"content": token} for token in choice.tokens]
            for delta in [{"role": "assistant", "content": ""}, *deltas]:
                yield self._envelope(kind, [{"index": index, "delta": delta}])
            end = {"index": index, "finish_reason": choice.finish_reason}
            yield self._envelope(kind, [{**end, "delta": {"content": ""}}])
        if self.reports_usage:
            yield self._envelope(kind, [], usage=self._said_usage)

    def _envelope(self, kind: str, choices: list[dict[str, Any]], **more: object) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": self.created,
            "model": self.request.model,
            "choices": choices,
            **more,
        }


_ROUTES = {"/v1/chat/completions": "POST", "/v1/models": "GET"}
_ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("requests", "rate_limit_exceeded"),
}


class SimulatedProvider(LoopbackServer):
    """A provider that knows a little, makes up the rest, and fails on command.

    It serves on 127.0.0.1 and a free port, from a thread of its own. Use it as a context manager.
    It has OpenAI's `POST /v1/chat/completions` (with `n`, `stream`, `temperature`, `seed` and
    `max_tokens`; other parameters are accepted and ignored) and `GET /v1/models`.

    Its answers are determined by the seed, the conversation and how often that conversation was
    answered before; at temperature 0, and with the request parameter `seed`, they are the same each
    time. It is its own judge for the method `prompt`, and answers from documents that Resay shows
    it (see `resay.testing.provider`).

    Args:
        seed: The seed of all randomness.
        world: What it knows and makes up; `World.default()` unless given.
        latency_s: Duration of an answer, in seconds; a stream spreads its chunks over it.
        first_token_s: Time to a stream's first chunk, in seconds.
        faults: How it fails; see `resay.testing.Fault`.

    Raises:
        ConfigurationError: A duration is negative, or something in `faults` is not a fault.

    Example:
        >>> with SimulatedProvider(seed=7) as provider:
        ...     params = provider.params  # for litellm, a Query or a Guard
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        world: World | None = None,
        latency_s: float = 0.0,
        first_token_s: float = 0.0,
        faults: Iterable[Fault] = (),
    ) -> None:
        if (least := min(latency_s, first_token_s)) < 0:
            raise ConfigurationError(f"a duration is {least!r} s; give 0 or more")
        super().__init__("the simulated provider", faults, seed)
        self._world = world or World.default()
        self._latency_s = latency_s
        self._first_token_s = first_token_s
        self._drawn: Counter[str] = Counter()

    @property
    def base_url(self) -> str:
        """The base URL, such as `http://127.0.0.1:40123/v1`; see `root_url`."""
        return f"{self.root_url}/v1"

    @property
    def params(self) -> dict[str, str]:
        """The connection parameters, as litellm and `Query` accept them."""
        return {"api_base": self.base_url, "api_key": "simulated"}

    @property
    def prompt_tokens(self) -> int:
        """Total number of prompt tokens it has reported."""
        return sum(record.prompt_tokens for record in self.requests)

    @property
    def completion_tokens(self) -> int:
        """Total number of completion tokens it has reported."""
        return sum(record.completion_tokens for record in self.requests)

    async def _answer(self, exchange: Exchange) -> None:
        method, path = exchange.method, exchange.path.partition("?")[0]
        if path not in _ROUTES:
            return await _fail(exchange, 404, f"Invalid URL ({method} {path})")
        if method != _ROUTES[path]:
            return await _fail(exchange, 405, f"Not allowed: {method} {path}")
        if path == "/v1/models":
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "resay"}
            return await exchange.reply(200, {"object": "list", "data": [model]})
        try:
            return await self._complete(exchange, ChatRequest.parse(exchange.body))
        except InvalidRequestError as error:
            return await _fail(exchange, 400, str(error), error.param)

    async def _complete(self, exchange: Exchange, request: ChatRequest) -> None:
        task = task_in(request.said_by_user)
        fault = self._strike(exchange, task.kind if task else "chat")
        if isinstance(fault, RateLimited):
            after = fault.retry_after_s
            headers = {} if after is None else {"retry_after": f"{after:g}"}
            return await _fail(exchange, 429, "Rate limit reached for requests.", **headers)
        if isinstance(fault, (ServerError, Refused)):
            return await _fail(exchange, fault.status, "The simulated provider fails on command.")
        # Drawn before any waiting, so that answers depend on the order of arrival alone.
        completion = Completion(request, self._choices(request, task, fault), exchange.index)
        await exchange.hold_up(fault)
        if not request.stream:
            await asyncio.sleep(self._latency_s)
            return await exchange.send(completion.body(), completion.usage, fault)
        events = [*completion.events()]
        pause = max(0.0, self._latency_s - self._first_token_s) / len(events)
        spent = completion.usage if completion.reports_usage else {}
        return await exchange.stream(events, spent, fault, self._first_token_s, pause)

    def _choices(
        self, request: ChatRequest, task: Task | None, fault: Fault | None
    ) -> list[Choice]:
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [Choice()] * count
        most = request.max_completion_tokens or request.max_tokens
        if isinstance(fault, Garbled):
            return [Choice.of(fault.text, most)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        draws = [self._generator(request, index, same=same) for index in range(count)]
        return [Choice.of(self._say(request, task, rng), most) for rng in draws]

    def _say(self, request: ChatRequest, task: Task | None, rng: random.Random) -> str:
        if task is not None:
            return task.answer(self._world, rng)
        *before, question = request.said_by_user or [""]
        return self._world.answer(question, rng, before=before, context=request.context).text

    def _generator(self, request: ChatRequest, index: int, *, same: bool) -> random.Random:
        """Return the generator for one answer, independent of other conversations."""
        conversation = json.dumps(request.messages, sort_keys=True)
        if same:
            turn = "same"
        elif request.seed is not None:
            turn = f"seed {request.seed} {index}"
        else:
            turn = f"draw {self._drawn[conversation]}"
            self._drawn[conversation] += 1
        # The generator controls a simulated model; nothing about it is secret.
        return random.Random(f"{self._seed} {turn} {conversation}")  # noqa: S311 - see above


async def _fail(
    exchange: Exchange, status: int, message: str, param: str | None = None, **headers: str
) -> None:
    usual = "server_error" if status >= 500 else "invalid_request_error"
    kind, code = _ERRORS.get(status, (usual, None))
    error = {"message": message, "type": kind, "param": param, "code": code}
    await exchange.reply(status, {"error": error}, **headers)
