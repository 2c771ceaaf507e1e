"""The shapes of text-embeddings-inference's and vLLM's APIs, as clients send and read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from simulation.inference_model import (
    END,
    START,
    PairModel,
    embed_words,
    mean_of,
    unit,
    words_of,
)

__all__ = ["Answer", "InferenceModel", "RefusedError", "tei_answer", "vllm_answer"]

Body = TypeVar("Body", bound=BaseModel)
Vectors: TypeAlias = list[list[float]]


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
    """

    name: str
    labels: tuple[str, ...]
    classify: PairModel
    dimensions: int
    max_tokens: int
    max_items: int
    separator: str

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
        return embed_words(self.words(text, truncate=truncate), self.dimensions)


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
