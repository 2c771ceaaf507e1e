"""Models on a vLLM server.

All behaviour described here is from vLLM's documentation, and untested with a real server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from resay.errors import ConfigurationError, ScorerError
from resay.models.arrays import are_probabilities, doubles, floats, stack, units
from resay.models.remote.batches import (
    CachedRequest,
    RequestBatcher,
    replace_surrogates,
)
from resay.models.remote.http import Reply, Server, TooLargeError
from resay.models.remote.model_server import (
    PROBE,
    ModelServer,
    RemoteSentenceEmbedder,
    SingleTextClassifier,
    text_bytes,
)

if TYPE_CHECKING:
    from resay.models.base import Doubles, Floats, Pair
    from resay.models.config import ModelConfig

R = TypeVar("R")

_PRODUCT = "the vLLM server"
_MAX_TEXTS = 64


@dataclass(frozen=True, slots=True)
class _Served:
    max_tokens: int | None


class _Vllm(ModelServer):
    """A vLLM server."""

    def __init__(self, config: ModelConfig) -> None:
        # vLLM itself returns 400 for a text that is too long; 413 comes from a proxy before it.
        server = Server(config, _PRODUCT, suffix="/v1", too_large=frozenset({400, 413}))
        # `/tokenize` accepts one text per request.
        super().__init__(config, server, max_lengths=1)
        self.served = CachedRequest(self._request_served)

    async def max_items(self, *, refresh: bool = False) -> int:
        """Return the maximum number of items in a request, which is our own."""
        del refresh
        return _MAX_TEXTS

    async def max_tokens(self) -> int | None:
        """Return the model's maximum input length, including special tokens; None = no limit."""
        return (await self.served.get()).max_tokens

    def too_long_message(self, max_tokens: int | None) -> str:
        """Return the message of the error for a text that the server refuses."""
        return (
            f"{self.server.display_name} refused a text, or a pair, most likely because it is"
            f" longer than the {max_tokens!r} tokens that its model reads at once; shorten it, or"
            " serve a model that reads more"
        )

    async def tokens(self, text: str, *, special: bool) -> int:
        """Return the number of tokens in a text."""
        body = {"model": self.config.name, "prompt": text, "add_special_tokens": special}
        return await self.server.post("/tokenize", body, lambda r: int(r.body["count"]))

    async def _request_lengths(self, texts: Sequence[str]) -> list[int]:
        return [await self.tokens(text, special=False) for text in texts]

    async def _request_text_edges(self) -> int:
        tokens = await self.tokens(PROBE, special=True)
        return tokens - await self.tokens(PROBE, special=False)

    async def _request_served(self) -> _Served:
        models = await self.server.get("/v1/models", _read_models)
        served = models.get(self.config.name or "")
        if served is None:
            raise ConfigurationError(
                f"{self.server.display_name} serves {sorted(models)!r}, not {self.config.name!r};"
                " set `name` to a model that it serves"
            )
        return served


def _read_models(reply: Reply) -> dict[str, _Served]:
    return {str(m["id"]): _Served(m.get("max_model_len")) for m in reply.body["data"]}


def _read_rows(reply: Reply, items: Sequence[object]) -> list[Any]:
    rows = sorted(reply.body["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(len(items))):
        raise ValueError("not one row for each item")
    return rows


def _read_row(row: Any) -> tuple[Doubles, str]:
    return doubles(row["probs"], 1), str(row.get("label")).lower()


class VllmClassifier:
    """A classifier of pairs, using vLLM's `/classify`.

    vLLM accepts one text, so the texts of a pair are joined with `separator`, which must be the one
    that the model's tokenizer puts between two texts: `</s></s>` for RoBERTa and its relatives,
    `[SEP]` for BERT and DeBERTa. A separator inside a text becomes a blank, or it would end that
    text. Models with token types, such as BERT, receive the first text's type for both, and
    answer differently than elsewhere; serve those with text-embeddings-inference.

    vLLM does not name the labels, so the policy must (`labels`). It does name the most probable
    label. If the policy has that label at another position, the policy is wrong and is refused.
    Probabilities are vLLM's own.

    `max_tokens` only affects `max_input_tokens`; `classify` refuses only pairs that the server
    refuses.

    Args:
        config: The server's settings, with the label names in the order of the model's outputs.

    Raises:
        ConfigurationError: `labels` is missing.
    """

    def __init__(self, config: ModelConfig) -> None:
        if not config.labels:
            raise ConfigurationError(
                f"`labels` is missing for {config.name!r}: vLLM does not name them; list the names"
                " in `id2label` of the model's config.json, in that order"
            )
        self._labels = tuple(name.lower() for name in config.labels)
        self._separator = config.separator
        self._vllm = _Vllm(config)
        self._works = CachedRequest(self._try)
        self._edges = CachedRequest(self._request_edges)
        self._gives_logits = CachedRequest(self._try_logits)
        self._rows: RequestBatcher[str, Doubles] = self._vllm.batcher(
            self._classify, size=text_bytes
        )
        self._raw: RequestBatcher[str, Doubles] = self._vllm.batcher(
            self._request_logits, size=text_bytes
        )

    async def prepare(self) -> None:
        """Check that the server responds, and classifies with the labels of the policy.

        Raises:
            ConfigurationError: It does not classify with them, or there is no such server.
            ScorerError: It does not respond.
        """
        await self._works.get()

    async def labels(self) -> tuple[str, ...]:
        """Return the label names; see `PairClassifier`."""
        return self._labels

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special ones; one request per text."""
        return await self._vllm.lengths(texts)

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a pair of texts; None = no limit."""
        return await self._vllm.max_input_tokens(await self._edges.get())

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Classify pairs; see `PairClassifier`."""
        if pairs:
            await self._works.get()
        rows = await self._rows.map(list(map(self._join, pairs)))
        return stack(rows, len(self._labels))

    async def classify_texts(self, texts: Sequence[str]) -> Doubles:
        """Classify single texts; see `TextClassifier`."""
        if texts:
            await self._works.get()
        rows = await self._rows.map([replace_surrogates(text) or " " for text in texts])
        return stack(rows, len(self._labels))

    async def max_text_tokens(self) -> int | None:
        """Return the maximum number of tokens in a single text; None = no limit."""
        return await self._vllm.max_input_tokens(await self._vllm.text_edges.get())

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Score pairs; see `PairScorer`.

        Raises:
            ConfigurationError: The server only returns probabilities, as old versions do.
            ScorerError: A pair is too long, or the server failed.
        """
        if pairs:
            await self._gives_logits.get()
        rows = await self._raw.map(list(map(self._join, pairs)))
        return stack(rows, len(self._labels))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._vllm.server.aclose()

    def _join(self, pair: Pair) -> str:
        return self._separator.join(self._clean(replace_surrogates(text)) for text in pair)

    def _clean(self, text: str) -> str:
        return text if self._separator.isspace() else text.replace(self._separator, " ")

    async def _classify(self, texts: Sequence[str]) -> list[Doubles]:
        rows = await self._send(texts)
        for probabilities, label in rows:
            if not are_probabilities(probabilities):
                raise ScorerError(
                    f"{self._vllm.server.display_name} returned numbers that are not probabilities"
                    " of mutually exclusive labels; serve a model with one label per text, and"
                    " leave its activation on"
                )
            self._check_order(label, probabilities)
        return [probabilities for probabilities, _ in rows]

    async def _request_logits(self, texts: Sequence[str]) -> list[Doubles]:
        return [logits for logits, _ in await self._send(texts, use_activation=False)]

    async def _send(self, texts: Sequence[str], **options: bool) -> list[tuple[Doubles, str]]:
        body = {"model": self._vllm.config.name, "input": list(texts), **options}
        rows = await self._vllm.server.post(
            "/classify", body, lambda r: [_read_row(row) for row in _read_rows(r, texts)]
        )
        widths = {len(numbers) for numbers, _ in rows} - {len(self._labels)}
        if widths:
            raise ConfigurationError(
                f"{self._vllm.server.display_name} serves a model with {widths.pop()!r} labels, and"
                f" `labels` names {self._labels!r}; name each, in the order of `id2label` in its"
                " config.json"
            )
        return rows

    def _check_order(self, likeliest: str, probabilities: Doubles) -> None:
        if likeliest not in self._labels:
            return
        index = self._labels.index(likeliest)
        if probabilities[index] < probabilities.max():
            raise ConfigurationError(
                f"`labels` has {self._labels[int(probabilities.argmax())]!r} where"
                f" {self._vllm.server.display_name} has {likeliest!r}; put `labels` into the order"
                " of `id2label` in the model's config.json"
            )

    async def _try(self) -> bool:
        await self._vllm.served.get()
        try:
            await self._classify([self._join((PROBE, PROBE))])
        except TooLargeError as error:
            raise ConfigurationError(
                f"{self._vllm.server.display_name} serves {self._vllm.config.name!r}, which does"
                " not classify; start it with a classifier, `--runner pooling`"
            ) from error
        return True

    async def _try_logits(self) -> bool:
        await self._works.get()
        text = self._join((PROBE, PROBE))
        (probabilities,), (logits,) = (
            await self._classify([text]),
            await self._request_logits([text]),
        )
        if (probabilities == logits).all():
            raise ConfigurationError(
                f"{self._vllm.server.display_name} returns probabilities where logits are needed:"
                " it does not know `use_activation`; update it, or use the backend 'tei'"
            )
        return True

    async def _request_edges(self) -> int:
        tokens = await self._vllm.tokens(self._join((PROBE, PROBE)), special=True)
        return tokens - 2 * await self._vllm.tokens(PROBE, special=False)


class VllmTextClassifier(SingleTextClassifier):
    """A classifier of single texts, using vLLM's `/classify`; see `VllmClassifier`.

    Args:
        config: The server's settings, with the label names in the order of the model's outputs.

    Raises:
        ConfigurationError: `labels` is missing.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(VllmClassifier(config))


class VllmSentenceEmbedder(RemoteSentenceEmbedder):
    """A sentence embedder, using vLLM's `/v1/embeddings`; see `RemoteSentenceEmbedder`.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._vllm = _Vllm(config)
        self._works = CachedRequest(self._try)
        super().__init__(self._vllm)

    async def prepare(self) -> None:
        """Check that the server responds, and serves an embedder."""
        await self._works.get()

    async def _request_embeddings(self, texts: Sequence[str]) -> list[Floats]:
        body = {"model": self._vllm.config.name, "input": list(texts), "encoding_format": "float"}
        return await self._vllm.server.post("/v1/embeddings", body, lambda r: _vectors(r, texts))

    async def _try(self) -> bool:
        await self._vllm.served.get()
        try:
            await self._request_embeddings([PROBE])
        except TooLargeError as error:
            raise ConfigurationError(
                f"{self._vllm.server.display_name} serves {self._vllm.config.name!r}, which does"
                " not embed; start it with an embedder, `--runner pooling`"
            ) from error
        return True


def _vectors(reply: Reply, texts: Sequence[str]) -> list[Floats]:
    rows = [row["embedding"] for row in _read_rows(reply, texts)]
    return list(units(floats(rows, 2)))
