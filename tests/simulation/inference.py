"""A server of classifiers and embedders on this machine, for tests and demonstrations."""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, ValidationError

from resay.errors import ConfigurationError
from resay.testing.faults import Fault, RateLimited, Refused, ServerError
from simulation.server import Exchange, ObservedServer

__all__ = [
    "END",
    "START",
    "Answer",
    "InferenceModel",
    "PairModel",
    "RefusedError",
    "SimulatedInference",
    "Word",
    "embed_words",
    "entailment",
    "entailments",
    "mean_of",
    "tei_answer",
    "unit",
    "vllm_answer",
    "words_of",
]

PairModel: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[float]]]
"""Gives the probability of each label for each pair, in the order of the labels."""

START, END = "<s>", "</s>"
_WORD = re.compile(rf"{START}|{END}|\w+|[^\w\s]")
_NUMBER = re.compile(r"\d+")
_NEGATIONS = frozenset({"no", "not", "never", "nobody", "nothing", "without"})
_BYTES_PER_NUMBER = 2


@dataclass(frozen=True, slots=True)
class Word:
    """A token of a text.

    Attributes:
        text: The token.
        start: Where it starts, in characters.
        stop: Where it ends.
    """

    text: str
    start: int
    stop: int


def words_of(text: str) -> list[Word]:
    """Cut a text into words and punctuation; each is a token."""
    return [Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]


def entailment(premise: str, hypothesis: str) -> dict[str, float]:
    """Return the probabilities of `entailment`, `neutral` and `contradiction`.

    The more of the hypothesis's words the premise has, the likelier it entails it. It contradicts
    it where half of the words or more are the same, but the numbers differ, or one is negated.
    """
    known, asked = _vocabulary(premise), _vocabulary(hypothesis)
    overlap = len(asked & known) / len(asked) if asked else 1.0
    numbers = [set(_NUMBER.findall(text)) for text in (premise, hypothesis)]
    differs = bool(numbers[0] and numbers[1] - numbers[0])
    negated = bool(_NEGATIONS & known) != bool(_NEGATIONS & asked)
    scores = {
        "entailment": 8.0 * overlap - 4.0,
        "neutral": 1.0,
        "contradiction": 6.0 if overlap >= 0.5 and (differs or negated) else -4.0,
    }
    total = sum(map(math.exp, scores.values()))
    return {label: math.exp(score) / total for label, score in scores.items()}


def entailments(labels: Sequence[str]) -> PairModel:
    """Return the model behind `entailment`, with its labels in an order of your choice."""

    def model(pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        rows = [entailment(premise, hypothesis) for premise, hypothesis in pairs]
        return [[row[label.lower()] for label in labels] for row in rows]

    return model


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(word.text.lower() for word in words_of(text) if word.text.isalnum())


def embed_words(words: Sequence[str], dimensions: int) -> list[list[float]]:
    """Return a vector for each word, the same for equal words, of no particular length."""
    return [_vector(word.lower(), dimensions) for word in words]


def _vector(word: str, dimensions: int) -> list[float]:
    data = hashlib.shake_256(word.encode()).digest(_BYTES_PER_NUMBER * dimensions)
    pairs = zip(data[::2], data[1::2], strict=True)
    return [(high * 256 + low) / 32768 - 1.0 for high, low in pairs]


def mean_of(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of vectors."""
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def unit(vector: Sequence[float]) -> list[float]:
    """Scale a vector to length 1; one of zeros stays as it is."""
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


Body = TypeVar("Body", bound=BaseModel)
Vectors: TypeAlias = list[list[float]]
WordModel: TypeAlias = Callable[[str], Sequence[float]]


class RefusedError(Exception):
    """A request that the server refuses.

    Attributes:
        status: With which HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with.

    Attributes:
        body: The JSON.
        headers: Headers beyond the usual ones.
    """

    body: Any
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class InferenceModel:
    """The model that is served.

    Attributes:
        name: What it is called.
        labels: Its labels in the order of its outputs; none for an embedder.
        classify: Gives the labels' probabilities.
        dimensions: How long embeddings are.
        max_tokens: How many tokens it reads at once, special tokens included.
        max_items: How many texts or pairs a request may have.
        separator: What stands between the two texts of a pair in one text.
        embed: Gives the vector of a token, in place of `embed_words`.
    """

    name: str
    labels: tuple[str, ...]
    classify: PairModel
    dimensions: int
    max_tokens: int
    max_items: int
    separator: str
    embed: WordModel | None = None

    def words(self, *texts: str, truncate: bool = False) -> list[str]:
        """Return the tokens of a text, or of a pair, special ones included."""
        inside = [f" {END} ".join(texts)]
        words = [word.text for text in inside for word in words_of(text)]
        if len(words) + 2 > self.max_tokens:
            if not truncate:
                raise RefusedError(413, _too_long(self.max_tokens, len(words) + 2))
            words = words[: self.max_tokens - 2]
        return [START, *words, END]

    def classified(self, pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        """Return the labels' probabilities for each pair."""
        if not self.labels:
            raise RefusedError(424, "Inference failed: Model is not a classifier model")
        return [[float(p) for p in row] for row in self.classify(pairs)]

    def embedded(self, text: str, *, truncate: bool) -> Vectors:
        """Return an embedding of each token, special ones included."""
        if self.labels:
            raise RefusedError(424, "Inference failed: Model is not an embedding model")
        words = self.words(text, truncate=truncate)
        if self.embed is not None:
            return [[*self.embed(word)] for word in words]
        return embed_words(words, self.dimensions)


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Predict(_Body):
    inputs: str | list[str] | list[list[str]]
    truncate: bool = False
    raw_scores: bool = False


class _Embed(_Body):
    inputs: str | list[str]
    truncate: bool = False
    normalize: bool = True


class _Tokenize(_Body):
    inputs: str | list[str]
    add_special_tokens: bool = True


class _VllmTexts(_Body):
    input: str | list[str]
    model: str | None = None
    use_activation: bool = True


class _VllmTokenize(_Body):
    prompt: str
    model: str | None = None
    add_special_tokens: bool = True


def _parsed(kind: type[Body], body: object) -> Body:
    try:
        return kind.model_validate(body)
    except ValidationError:
        raise RefusedError(422, "Failed to deserialize the JSON body") from None


def _batch(model: InferenceModel, inputs: Sequence[object]) -> None:
    if not inputs:
        raise RefusedError(413, "`inputs` cannot be empty")
    if len(inputs) > model.max_items:
        raise RefusedError(
            413, f"batch size {len(inputs)} > maximum allowed batch size {model.max_items}"
        )


def _too_long(limit: int, given: int) -> str:
    return f"Input validation error: `inputs` must have less than {limit} tokens. Given: {given}"


def tei_answer(model: InferenceModel, path: str, body: object) -> Answer:
    """Answer as text-embeddings-inference would.

    Raises:
        RefusedError: It would refuse.
    """
    return _TEI[path](model, body)


def _info(model: InferenceModel, _: object) -> Answer:
    # The server keeps them in a hash map, whose order means nothing.
    names = {str(number): label for number, label in reversed([*enumerate(model.labels)])}
    numbers = {label: number for number, label in enumerate(model.labels)}
    kind = "classifier" if len(names) > 1 else "reranker"
    labelled = {kind: {"id2label": names, "label2id": numbers}}
    return Answer(
        {
            "model_id": model.name,
            "model_type": labelled if names else {"embedding": {"pooling": "mean"}},
            "max_input_length": model.max_tokens,
            "max_client_batch_size": model.max_items,
            "max_concurrent_requests": 512,
            "auto_truncate": False,
            "version": "simulated",
        }
    )


def _predict(model: InferenceModel, body: object) -> Answer:
    request = _parsed(_Predict, body)
    rows = _sequences(request.inputs)
    batch = isinstance(request.inputs, list) and isinstance(request.inputs[0], list)
    if batch:
        _batch(model, rows)
    tokens = 0
    for row in rows:
        if not any(row):
            raise RefusedError(413, "`inputs` cannot be empty")
        tokens += len(model.words(*row, truncate=request.truncate))
    pairs = [(row[0], row[-1]) for row in rows]
    scored = [_sorted(model, p, raw=request.raw_scores) for p in model.classified(pairs)]
    return Answer(scored if batch else scored[0], {"x-compute-tokens": str(tokens)})


def _sequences(inputs: str | list[str] | list[list[str]]) -> list[list[str]]:
    """Read what text-embeddings-inference takes; a plain list of two texts is ONE pair."""
    if isinstance(inputs, str):
        return [[inputs]]
    lists = [item for item in inputs if isinstance(item, list)]
    texts = [item for item in inputs if isinstance(item, str)]
    rows = lists or [texts]
    if (lists and texts) or not all(1 <= len(row) <= 2 for row in rows):
        raise RefusedError(422, "expected a string, a pair, or a batch of those")
    return rows


def _sorted(
    model: InferenceModel, probabilities: Sequence[float], *, raw: bool
) -> list[dict[str, Any]]:
    scores = [_logit(p, len(probabilities)) for p in probabilities] if raw else probabilities
    rows = [{"label": n, "score": s} for n, s in zip(model.labels, scores, strict=True)]
    return sorted(rows, key=lambda row: -row["score"])


def _logit(probability: float, labels: int) -> float:
    tiny = 1e-300
    logit = math.log(max(probability, tiny))
    return logit if labels > 1 else logit - math.log(max(1.0 - probability, tiny))


def _embed(model: InferenceModel, body: object) -> Answer:
    request = _parsed(_Embed, body)
    rows = [mean_of(tokens) for tokens in _token_rows(model, request)]
    return Answer([unit(row) for row in rows] if request.normalize else rows)


def _embed_all(model: InferenceModel, body: object) -> Answer:
    return Answer(_token_rows(model, _parsed(_Embed, body)))


def _token_rows(model: InferenceModel, request: _Embed) -> list[Vectors]:
    texts = _texts(model, request.inputs)
    return [model.embedded(text, truncate=request.truncate) for text in texts]


def _texts(model: InferenceModel, inputs: str | list[str]) -> list[str]:
    texts = [inputs] if isinstance(inputs, str) else inputs
    _batch(model, texts)
    if not all(texts):
        raise RefusedError(413, "`inputs` cannot be empty")
    return texts


def _tokenize(model: InferenceModel, body: object) -> Answer:
    request = _parsed(_Tokenize, body)
    rows: list[list[dict[str, Any]]] = []
    for text in _texts(model, request.inputs):
        words = [
            {"id": 9, "text": w.text, "special": False, "start": w.start, "stop": w.stop}
            for w in words_of(text)
        ]
        rows.append(
            [_special(START), *words, _special(END)] if request.add_special_tokens else words
        )
    return Answer(rows)


def _special(text: str) -> dict[str, Any]:
    return {"id": 1, "text": text, "special": True, "start": None, "stop": None}


def vllm_answer(model: InferenceModel, path: str, body: object) -> Answer:
    """Answer as vLLM would.

    Raises:
        RefusedError: It would refuse.
    """
    return _VLLM[path](model, body)


def _models(model: InferenceModel, _: object) -> Answer:
    served = {"id": model.name, "object": "model", "created": 0, "owned_by": "vllm"}
    return Answer({"object": "list", "data": [{**served, "max_model_len": model.max_tokens}]})


def _classify(model: InferenceModel, body: object) -> Answer:
    request = _parsed(_VllmTexts, body)
    texts = _vllm_texts(model, request)
    pairs = [(text.partition(model.separator)) for text in texts]
    rows = model.classified([(first, second or first) for first, _, second in pairs])
    data: list[dict[str, Any]] = []
    for index, row in enumerate(rows):
        shown = row if request.use_activation else [_logit(p, len(row)) for p in row]
        label = model.labels[row.index(max(row))]
        data.append({"index": index, "label": label, "probs": shown, "num_classes": len(row)})
    return _listed(model, data)


def _vllm_embed(model: InferenceModel, body: object) -> Answer:
    texts = _vllm_texts(model, _parsed(_VllmTexts, body))
    rows = [unit(mean_of(model.embedded(text, truncate=False))) for text in texts]
    kind = "embedding"
    data = [{"index": i, "object": kind, "embedding": row} for i, row in enumerate(rows)]
    return _listed(model, data)


def _listed(model: InferenceModel, data: Sequence[Mapping[str, Any]]) -> Answer:
    # The order is not promised; the index says where a row belongs.
    rows = list(reversed(data))
    return Answer({"object": "list", "model": model.name, "data": rows, "usage": {}})


def _vllm_texts(model: InferenceModel, request: _VllmTexts) -> list[str]:
    _vllm_model(model, request.model)
    texts = [request.input] if isinstance(request.input, str) else request.input
    for text in texts:
        if not text or len(words_of(text)) + 2 > model.max_tokens:
            raise RefusedError(400, f"maximum context length is {model.max_tokens} tokens")
    return texts


def _vllm_tokenize(model: InferenceModel, body: object) -> Answer:
    request = _parsed(_VllmTokenize, body)
    _vllm_model(model, request.model)
    count = len(words_of(request.prompt)) + (2 if request.add_special_tokens else 0)
    return Answer({"count": count, "max_model_len": model.max_tokens, "tokens": [9] * count})


def _vllm_model(model: InferenceModel, name: str | None) -> None:
    if name not in (None, model.name):
        raise RefusedError(404, "The model does not exist.")


Route: TypeAlias = Callable[[InferenceModel, object], Answer]

_TEI: Mapping[str, Route] = {
    "/info": _info,
    "/predict": _predict,
    "/embed": _embed,
    "/embed_all": _embed_all,
    "/tokenize": _tokenize,
}
_VLLM: Mapping[str, Route] = {
    "/v1/models": _models,
    "/classify": _classify,
    "/v1/embeddings": _vllm_embed,
    "/tokenize": _vllm_tokenize,
}


_STATEMENTS = ("contradiction", "entailment", "neutral")
_TEI_ROUTES = {
    "/info": "GET",
    "/predict": "POST",
    "/embed": "POST",
    "/embed_all": "POST",
    "/tokenize": "POST",
}
_VLLM_ROUTES = {
    "/v1/models": "GET",
    "/classify": "POST",
    "/v1/embeddings": "POST",
    "/tokenize": "POST",
}
# What asks about the model, not the model itself, always goes well.
_SPARED = frozenset({"/info", "/v1/models", "/tokenize"})


class SimulatedInference(ObservedServer):
    """A text-embeddings-inference or vLLM server whose model looks at words only.

    It answers on 127.0.0.1 and a free port, from a thread of its own. Use it as a context manager.
    As text-embeddings-inference it has `/info`, `/predict`, `/embed`, `/embed_all` and
    `/tokenize`; as vLLM `/v1/models`, `/classify`, `/v1/embeddings` and `/tokenize`.

    Each word and each punctuation mark is a token; two special ones stand around a text, one more
    between the texts of a pair. What it says is fixed by the text (see `entailment` in
    `simulation.inference`); what contradicts is a number that differs, or a negation.

    Faults strike requests to the model in the order of arrival; `RateLimited`, `ServerError`,
    `Refused` (with 424 as text-embeddings-inference says that the model failed), `Slow`, `Hang`,
    `CutConnection` and `MalformedJson` are understood.

    Args:
        api: Which server it is.
        serves: Which kind of model it has.
        labels: A classifier's labels in the order of its outputs; of `entailment`, `neutral` and
            `contradiction`, in any case, unless `classify` is given.
        classify: A model of your own: it gets a sequence of pairs of texts and returns the
            probabilities of the labels for each. It is called on other threads, once at a time.
        name: What the model is called.
        dimensions: How long embeddings are.
        max_tokens: How many tokens the model reads at once, special tokens included.
        max_items: How many texts or pairs a request may have (text-embeddings-inference).
        separator: What stands between the two texts of a pair (vLLM).
        embed: An embedder of your own: it gets a token and returns its vector.
        api_key: The key it asks for; None = none.
        faults: What goes wrong; see `simulation.Fault`.

    Attributes:
        api: Which server it is.

    Raises:
        ConfigurationError: A value cannot be used.

    Example:
        >>> with SimulatedInference() as server:
        ...     model = {"backend": "tei", "url": server.url}
    """

    def __init__(
        self,
        *,
        api: Literal["tei", "vllm"] = "tei",
        serves: Literal["classifier", "embedder"] = "classifier",
        labels: Sequence[str] = _STATEMENTS,
        classify: PairModel | None = None,
        name: str = "simulated",
        dimensions: int = 16,
        max_tokens: int = 512,
        max_items: int = 32,
        separator: str = "</s></s>",
        embed: WordModel | None = None,
        api_key: str | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        _check(api, ("tei", "vllm"), "api")
        _check(serves, ("classifier", "embedder"), "serves")
        if min(dimensions, max_items) < 1 or max_tokens < 4:
            raise ConfigurationError(
                f"dimensions, max_items and max_tokens are {(dimensions, max_items, max_tokens)!r};"
                " give at least 1, 1 and 4"
            )
        unknown = {label.lower() for label in labels} - set(_STATEMENTS)
        if unknown and classify is None:
            raise ConfigurationError(
                f"labels has {min(unknown)!r} in it; give `classify` for labels other than"
                f" {', '.join(map(repr, _STATEMENTS))}"
            )
        self.api: Literal["tei", "vllm"] = api
        self._vllm = api == "vllm"
        self._routes = _VLLM_ROUTES if self._vllm else _TEI_ROUTES
        self._model = InferenceModel(
            name,
            tuple(labels) if serves == "classifier" else (),
            classify or entailments(labels),
            dimensions,
            max_tokens,
            max_items,
            separator,
            embed,
        )
        self._api_key = api_key
        self._one_call = threading.Lock()
        super().__init__("the simulated inference server", faults, 0)

    @property
    def url(self) -> str:
        """The server's URL; see `root_url`."""
        return self.root_url

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self._route(exchange)
        except RefusedError as error:
            await self._refuse(exchange, error)

    async def _route(self, exchange: Exchange) -> None:
        method = self._routes.get(exchange.path)
        key = exchange.headers.get("authorization")
        if self._api_key is not None and key != f"Bearer {self._api_key}":
            raise RefusedError(401, "Unauthorized")
        if method != exchange.method:
            raise RefusedError(405 if method else 404, "Not Found")
        fault = None if exchange.path in _SPARED else self._strike(exchange, "chat")
        if isinstance(fault, RateLimited):
            after = fault.retry_after_s
            headers = [] if after is None else [("retry-after", f"{after:g}")]
            error = RefusedError(429, "Model is overloaded")
            return await self._refuse(exchange, error, headers)
        if isinstance(fault, (ServerError, Refused)):
            raise RefusedError(fault.status, "The simulated server fails on command")
        await exchange.hold_up(fault)
        answer = await anyio.to_thread.run_sync(self._compute, exchange.path, _decoded(exchange))
        return await exchange.send_answer(answer.body, {}, fault, answer.headers.items())

    async def _refuse(
        self, exchange: Exchange, error: RefusedError, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        await exchange.reply(error.status, _error_body(error, vllm=self._vllm), headers)

    def _compute(self, path: str, body: object) -> Answer:
        answer = vllm_answer if self._vllm else tei_answer
        try:
            with self._one_call:
                return answer(self._model, path, body)
        except RefusedError:
            raise
        # A model of the user's own may raise anything; as a server's it fails the request.
        except Exception as error:
            status = 500 if self._vllm else 424
            raise RefusedError(status, f"Inference failed: {type(error).__name__}") from error


def _check(value: str, known: Sequence[str], name: str) -> None:
    if value not in known:
        raise ConfigurationError(f"{name} is {value!r}; give {' or '.join(map(repr, known))}")


def _decoded(exchange: Exchange) -> Mapping[str, Any] | None:
    body = exchange.json
    try:
        # Half of a surrogate pair is no text to either server.
        json.dumps(body, ensure_ascii=False).encode()
    except ValueError:
        return None
    return body


def _error_body(error: RefusedError, *, vllm: bool) -> dict[str, Any]:
    if vllm:
        return {"error": {"message": str(error), "type": "Error", "code": error.status}}
    kinds = {413: "Validation", 422: "Tokenizer", 424: "Backend", 429: "Overloaded"}
    return {"error": str(error), "error_type": kinds.get(error.status, "Unhealthy")}
