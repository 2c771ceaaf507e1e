"""Local and remote language models that compute the probability of each token of a text.

Two variants of OpenAI's `POST /v1/completions` are supported: `echo` with `logprobs`, which lists
the prompt's tokens as if they had been generated, and vLLM's `prompt_logprobs`, which lists the
likely tokens at each position of the prompt. All server behaviour described here is from the
servers' documentation, and untested with a real server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread

from resay.core.logprobs import TokenLogprob, TopLogprob, read_logprobs
from resay.errors import ConfigurationError, ScorerError
from resay.models.config import ModelConfig
from resay.models.encoding import Encoded, Spans
from resay.models.loading import text_model
from resay.models.remote.http import Reply, Server

if TYPE_CHECKING:
    from resay.models.config import ModelConfig


class LocalLanguageModel:
    """Scores texts with a local causal language model. Long texts are split into several parts.

    Args:
        config: The model's settings.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._model = text_model(config)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: The model is not available as configured.
        """
        await self._model.prepare()

    async def score_text(self, prompt: str, text: str) -> tuple[TokenLogprob, ...]:
        """Return the log-probabilities of a text after a prompt.

        Args:
            prompt: The text before it; may be empty.
            text: The text.

        Returns:
            The tokens of prompt and text, in order, each with its bytes and the entropy over the
            whole vocabulary. The first token of each part has no probability if the model has no
            start token.

        Raises:
            ConfigurationError: The model is not available as configured.
            ScorerError: The model failed.
        """
        encoder = await self._model.encoder()
        whole, spans = await anyio.to_thread.run_sync(encoder.spans, prompt + text)
        parts = encoder.split(whole)
        rows = await self._model.rows(parts)
        values = chain.from_iterable(
            (row for row, special in zip(found, part.special, strict=True) if not special)
            for found, part in zip(rows, parts, strict=True)
        )
        pieces = _pieces(whole, spans, prompt + text)
        return tuple(
            _token(piece, float(value[0]), float(value[1]))
            for piece, value in zip(pieces, values, strict=True)
        )


def _token(piece: bytes, logprob: float, entropy: float) -> TokenLogprob:
    known = not isnan(logprob)
    return TokenLogprob(
        piece.decode("utf-8", "replace"),
        logprob if known else None,
        tuple(piece),
        entropy=entropy if known else None,
    )


def _pieces(whole: Encoded, spans: Spans, text: str) -> Iterator[bytes]:
    """Yield the bytes of the text that each token covers; joined, they are the text.

    If several tokens share a character, its bytes are divided among them.
    """
    data = text.encode("utf-8", "surrogatepass")
    starts = [0, *accumulate(len(c.encode("utf-8", "surrogatepass")) for c in text)]
    own = [span for span, special in zip(spans, whole.special, strict=True) if not special]
    done = 0
    for i, (_, end) in enumerate(own):
        # A character has at most four bytes, so at most four tokens share it.
        sharing = sum(begin < end for begin, _ in own[i + 1 : i + 4])
        last = i == len(own) - 1
        stop = len(data) if last else max(starts[end] - sharing, done)
        yield data[done:stop]
        done = stop


CompletionsApi = Literal["echo", "prompt_logprobs"]
_PATH = "/v1/completions"


class RemoteLanguageModel:
    """Scores texts with a model behind an OpenAI-compatible completions endpoint.

    Args:
        config: The server's URL, key, timeout and concurrency, and its name for the model.
        api: The variant of the request that the server supports.
        top: The number of most probable tokens to request at each position, at least 0.

    Raises:
        ConfigurationError: The URL, the key or the name is invalid.
    """

    def __init__(self, config: ModelConfig, *, api: CompletionsApi = "echo", top: int = 0) -> None:
        if not config.name:
            raise ConfigurationError("`name` is missing; set it to the server's name for the model")
        self._name = config.name
        self._api: CompletionsApi = api
        self._top = top
        self._server = Server(config, "the completions server", suffix="/v1")

    async def score_text(self, prompt: str, text: str) -> tuple[TokenLogprob, ...]:
        """Return the log-probabilities of a text after a prompt.

        Args:
            prompt: The text before it; may be empty.
            text: The text.

        Returns:
            The tokens of prompt and text, in order. Without a prompt, the first token may have no
            probability.

        Raises:
            ConfigurationError: The key is wrong, or the endpoint does not exist.
            ScorerError: The server does not support this, or failed.
        """
        whole = prompt + text
        return await self._server.post(
            _PATH, self._body(whole), lambda reply: self._read(reply, whole)
        )

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the next request opens new ones."""
        await self._server.aclose()

    def _body(self, whole: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._name, "prompt": whole, "temperature": 0}
        if self._api == "echo":
            return {**body, "max_tokens": 0, "echo": True, "logprobs": max(self._top, 1)}
        # With 0 alternatives, only the prompt's own token is listed at each position.
        asked = {"prompt_logprobs": self._top, "return_token_ids": True}
        return {**body, "max_tokens": 1, **asked}

    def _read(self, reply: Reply, whole: str) -> tuple[TokenLogprob, ...]:
        choice = reply.body["choices"][0]
        read = _read_echo if self._api == "echo" else _read_prompt
        tokens = read(choice, whole)
        if not tokens:
            raise ScorerError(
                f"{self._server.display_name} returned no log-probabilities of the prompt; see that"
                f" it takes `{self._api}`, or change `api`"
            )
        return tokens


def _read_echo(choice: Mapping[str, Any], whole: str) -> tuple[TokenLogprob, ...]:
    tokens = list(read_logprobs(choice.get("logprobs")))
    # A server that generates at least one token lists that as well.
    written = str(choice.get("text") or "").removeprefix(whole)
    while written and tokens and tokens[-1].token and written.endswith(tokens[-1].token):
        written = written.removesuffix(tokens.pop().token)
    return tuple(tokens)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A token that may appear at a position of the prompt."""

    text: str
    logprob: float

    @property
    def data(self) -> bytes:
        return self.text.encode(errors="surrogatepass")


_Place = Mapping[str, _Candidate]
"""The candidates at one position, by token id."""


def _read_prompt(choice: Mapping[str, Any], whole: str) -> tuple[TokenLogprob, ...]:
    # The first entry is empty, since nothing precedes it: it is the start token, or for models
    # without one, the first token of the prompt.
    places = [_place(entry) for entry in (choice.get("prompt_logprobs") or ())[1:]]
    if not places:
        return ()
    ids = choice.get("prompt_token_ids") or ()
    if len(ids) == len(places) + 1:
        own = [place[str(i)] for place, i in zip(places, ids[1:], strict=True)]
    else:
        own = _spell(places, whole.encode(errors="surrogatepass"))
    tokens = [
        TokenLogprob(
            token.text,
            token.logprob,
            top=tuple(TopLogprob(other.text, other.logprob) for other in place.values()),
        )
        for token, place in zip(own, places, strict=True)
    ]
    return (*_first(own, whole), *tokens)


def _place(entry: Mapping[str, Mapping[str, Any]]) -> _Place:
    return {
        token_id: _Candidate("".join(value["decoded_token"]), float(value["logprob"]))
        for token_id, value in entry.items()
    }


def _first(own: Sequence[_Candidate], whole: str) -> tuple[TokenLogprob, ...]:
    rest = "".join(token.text for token in own)
    if not rest or not whole.endswith(rest) or rest == whole:
        return ()
    return (TokenLogprob(whole.removesuffix(rest), None),)


def _spell(places: Sequence[_Place], whole: bytes) -> list[_Candidate]:
    """Find the candidates that spell the end of the prompt, if there is exactly one way.

    Raises:
        ScorerError: There is no way, or more than one.
    """
    # For each position where the rest of the prompt may begin, its spelling from there on.
    ways: dict[int, tuple[_Candidate, Any] | None] = {len(whole): None}
    unclear: set[int] = set()
    for place in reversed(places):
        before: dict[int, tuple[_Candidate, Any] | None] = {}
        unclear_before: set[int] = set()
        for end, way in ways.items():
            for token in place.values():
                start = end - len(token.data)
                if not whole.endswith(token.data, 0, end):
                    continue
                if start in before or end in unclear:
                    unclear_before.add(start)
                before[start] = (token, way)
        ways, unclear = before, unclear_before
    if len(ways) != 1 or unclear:
        raise ScorerError(
            "the server does not say which of the likely tokens are the prompt's own; use"
            " `api: echo`, or `measure: probability`"
        )
    found: list[_Candidate] = []
    (way,) = ways.values()
    while way is not None:
        token, way = way
        found.append(token)
    return found
