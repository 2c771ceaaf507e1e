"""What the models behind Hugging Face's text-embeddings-inference (TEI) have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from resay.errors import ConfigurationError, ResayError, ScorerError
from resay.models.remote_batches import Kept, Once, Outcomes, Together, by_size
from resay.models.remote_http import Reply, Server, TooLargeError
from resay.models.remote_texts import Part, cut, without_halves

if TYPE_CHECKING:
    from resay.models.config import ModelConfig

__all__ = ["PROBE", "Edges", "Info", "TeiServer", "rows_of"]

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_PRODUCT = "the text-embeddings-inference server"
PROBE = "a"
"""A text that every tokenizer knows, to see what it puts around a text."""


@dataclass(frozen=True, slots=True)
class Info:
    """What `/info` says.

    Attributes:
        name: What the server calls the model.
        kind: What the model is: `classifier`, `reranker` (a classifier with one label) or
            `embedding`.
        labels: The labels as the server calls them, in the order of the model's outputs.
        max_tokens: How many tokens the model reads at once, special tokens included.
        max_items: How many texts or pairs a request may have.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    max_tokens: int
    max_items: int


def _read_info(reply: Reply) -> Info:
    # {"model_type": {"classifier": {"id2label": {"0": "..."}}}, ...}
    ((kind, model),) = reply.body["model_type"].items()
    names: Mapping[str, str] = model.get("id2label") or {}
    labels = tuple(names[number] for number in sorted(names, key=int))
    limits = int(reply.body["max_input_length"]), int(reply.body["max_client_batch_size"])
    if min(limits) < 1:
        raise ValueError("limits below 1")
    return Info(str(reply.body["model_id"]), str(kind).lower(), labels, *limits)


@dataclass(frozen=True, slots=True)
class Edges:
    """Special tokens around a text."""

    before: int
    after: int

    @property
    def count(self) -> int:
        """How many there are."""
        return self.before + self.after


class TeiServer:
    """A server with one model.

    Args:
        config: Where it is.
        wanted: What kind of model is needed.

    Attributes:
        config: Where it is.
        server: The way to talk to it.
        info: What it says of itself.
        edges: The special tokens around a single text.
    """

    def __init__(self, config: ModelConfig, wanted: Literal["classifier", "embedding"]) -> None:
        self.config = config
        self.server = Server(config, _PRODUCT)
        self.info = Once(self._ask_info)
        self.edges = Once(self._ask_edges)
        self._wanted = wanted
        self._lengths: Together[str, int] = self.together(
            self._ask_lengths, size=lambda text, _: len(text)
        )

    def together(
        self,
        send: Callable[[Sequence[K]], Any],
        *,
        size: Callable[[K, R], int],
        most: int | None = None,
    ) -> Together[K, R]:
        """Ask for items with others, splitting what the server finds too large."""

        async def limit() -> int:
            known = (await self.info.get()).max_items
            return min(known, most or known)

        async def fresh_limit() -> int:
            return (await self.info.again()).max_items

        async def split(items: Sequence[K]) -> Outcomes[R]:
            outcomes: Outcomes[R] = await by_size(items, send, fresh_limit)
            return [await self._explained(outcome) for outcome in outcomes]

        kept: Kept[K, R] = Kept(self.config.cache_mb * 1e6, size)
        return Together(split, most=limit, window_s=self.config.window_ms / 1000, kept=kept)

    async def _explained(self, outcome: R | ResayError) -> R | ResayError:
        if not isinstance(outcome, TooLargeError):
            return outcome
        limit = (await self.info.get()).max_tokens
        return ScorerError(
            f"{self.server.called} was sent a text, or a pair, longer than the {limit!r} tokens"
            " that its model reads at once; shorten it, or serve a model that reads more"
        )

    async def room(self, edges: int) -> int:
        """Return how many tokens fit beside so many special ones."""
        limit = (await self.info.get()).max_tokens
        return max(min(limit, self.config.max_tokens or limit) - edges, 0)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, without special tokens."""
        sound = [without_halves(text) for text in texts]
        # The server refuses an empty text.
        counts = await self._lengths.map([text for text in sound if text])
        rest = iter(counts)
        return [next(rest) if text else 0 for text in sound]

    async def cut(self, texts: Sequence[str]) -> list[list[Part]]:
        """Cut texts into parts that the model can read."""
        # To the server an empty text is an error. To most tokenizers a blank is no token.
        sound = [without_halves(text) or " " for text in texts]
        return await cut(sound, await self.room((await self.edges.get()).count), self.lengths)

    async def _ask_info(self) -> Info:
        info = await self.server.get("/info", _read_info)
        classifies = info.kind in ("classifier", "reranker")
        if classifies != (self._wanted == "classifier"):
            raise ConfigurationError(
                f"{self.server.called} serves a model of the type {info.kind!r}, and"
                f" {self._wanted!r} is needed; give the `url` of a server with such a model"
            )
        if classifies and (not info.labels or len(set(info.labels)) < len(info.labels)):
            raise ConfigurationError(
                f"{self.server.called} serves a model whose labels cannot be told apart,"
                f" {info.labels!r}; give each a name of its own in its config.json (`id2label`)"
            )
        return info

    async def _ask_edges(self) -> Edges:
        tokens = await self._tokenize([PROBE], special=True)
        flags = [bool(token["special"]) for token in tokens[0]]
        before = len(list(takewhile(bool, flags)))
        after = len(list(takewhile(bool, reversed(flags[before:]))))
        return Edges(before, after)

    async def _ask_lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens) for tokens in await self._tokenize(texts, special=False)]

    async def _tokenize(self, texts: Sequence[str], *, special: bool) -> list[list[Any]]:
        body = {"inputs": list(texts), "add_special_tokens": special}
        return await self.server.post("/tokenize", body, lambda r: rows_of(r.body, texts))


def rows_of(body: Any, items: Sequence[object]) -> list[Any]:
    """Return the rows of a decoded answer.

    Raises:
        ValueError: There is not one for each item.
    """
    rows: list[Any] = list(body)
    if len(rows) != len(items):
        raise ValueError("not one row for each item")
    return rows
