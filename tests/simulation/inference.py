"""A server of classifiers and embedders on this machine, for tests and demonstrations."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, Literal, cast

import anyio.to_thread

from resay.errors import ConfigurationError
from resay.testing.faults import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    Slow,
)
from simulation.inference_model import PairModel, entailments
from simulation.inference_wire import (
    Answer,
    InferenceModel,
    RefusedError,
    tei_answer,
    vllm_answer,
)
from simulation.observed import ObservedServer
from simulation.record import RequestRecord
from simulation.serving import Exchange

__all__ = ["SimulatedInference"]

_STATEMENTS = ("contradiction", "entailment", "neutral")
_TEI = {
    "/info": "GET",
    "/predict": "POST",
    "/embed": "POST",
    "/embed_all": "POST",
    "/tokenize": "POST",
}
_VLLM = {
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
    `simulation.inference_model`); what contradicts is a number that differs, or a negation.

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
        self._routes = _VLLM if self._vllm else _TEI
        self._model = InferenceModel(
            name,
            tuple(labels) if serves == "classifier" else (),
            classify or entailments(labels),
            dimensions,
            max_tokens,
            max_items,
            separator,
        )
        self._api_key = api_key
        self._one_call = threading.Lock()
        super().__init__("the simulated inference server", faults, 0)

    @property
    def url(self) -> str:
        """Where it serves, such as `http://127.0.0.1:40123`.

        Raises:
            ConfigurationError: It does not run.
        """
        return self._address

    async def _handle(self, exchange: Exchange) -> None:
        body = _decoded(exchange.body)
        headers = {k: v for k, v in exchange.headers.items() if k != "authorization"}
        index, gate = self._log.begin(RequestRecord(exchange.path, body, headers, time.monotonic()))
        exchange.on_start = lambda status: self._log.note(index, status=status)
        exchange.on_end = lambda: self._log.end(index)
        try:
            await self._route(exchange, body, index, gate)
        except RefusedError as error:
            await _reply(exchange, error.status, _error_body(error, vllm=self._vllm))
        finally:
            self._log.end(index)

    async def _route(
        self, exchange: Exchange, body: dict[str, Any] | None, index: int, gate: asyncio.Event
    ) -> None:
        method = self._routes.get(exchange.path)
        if self._api_key is not None:
            wanted = f"Bearer {self._api_key}"
            if exchange.headers.get("authorization") != wanted:
                raise RefusedError(401, "Unauthorized")
        if method != exchange.method:
            raise RefusedError(405 if method else 404, "Not Found")
        fault = None if exchange.path in _SPARED else self._schedule.strike("chat")
        if fault is not None:
            self._log.note(index, fault=type(fault).__name__)
        if isinstance(fault, RateLimited):
            after = fault.retry_after_s
            sent = [] if after is None else [("retry-after", f"{after:g}")]
            error = RefusedError(429, "Model is overloaded")
            return await _reply(exchange, 429, _error_body(error, vllm=self._vllm), *sent)
        if isinstance(fault, (ServerError, Refused)):
            raise RefusedError(fault.status, "The simulated server fails on command")
        if isinstance(fault, Hang):
            await gate.wait()
        if isinstance(fault, Slow):
            await asyncio.sleep(fault.seconds)
        return await self._answer(exchange, body, fault)

    async def _answer(self, exchange: Exchange, body: object, fault: Fault | None) -> None:
        answer = await anyio.to_thread.run_sync(self._compute, exchange.path, body)
        data = json.dumps(answer.body).encode()
        sent = data[: len(data) // 2] if isinstance(fault, MalformedJson) else data
        headers = [("content-length", str(len(sent))), *answer.headers.items()]
        await exchange.start(200, "application/json", headers)
        if isinstance(fault, CutConnection):
            await exchange.send(data[: len(data) // 2], last=False)
            await exchange.cut()
        await exchange.send(sent, last=True)

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


def _decoded(data: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(data)
        # Half of a surrogate pair is no text to either server.
        json.dumps(body, ensure_ascii=False).encode()
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None


def _error_body(error: RefusedError, *, vllm: bool) -> dict[str, Any]:
    if vllm:
        return {"error": {"message": str(error), "type": "Error", "code": error.status}}
    kinds = {413: "Validation", 422: "Tokenizer", 424: "Backend", 429: "Overloaded"}
    return {"error": str(error), "error_type": kinds.get(error.status, "Unhealthy")}


async def _reply(exchange: Exchange, status: int, body: object, *headers: tuple[str, str]) -> None:
    data = json.dumps(body).encode()
    length = ("content-length", str(len(data)))
    await exchange.start(status, "application/json", [length, *headers])
    await exchange.send(data, last=True)
