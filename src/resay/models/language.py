"""Local and remote language models that compute the probability of each token of a text.

Two variants of OpenAI's `POST /v1/completions` are supported: `echo` with `logprobs`, which lists
the prompt's tokens as if they had been generated, and vLLM's `prompt_logprobs`, which lists the
likely tokens at each position of the prompt. All server behaviour described here is from the
servers' documentation, and untested with a real server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
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
        encoded, spans = await anyio.to_thread.run_sync(encoder.spans, prompt + text)
        parts = encoder.split(encoded)
        pieces = _pieces(encoded, spans, prompt + text)
        tokens: list[TokenLogprob] = []
        for part, rows in zip(parts, await self._model.rows(parts), strict=True):
            for row, special in zip(rows, part.special, strict=True):
                if not special:
                    tokens.append(_token(next(pieces), float(row[0]), float(row[1])))
        return tuple(tokens)


def _token(piece: bytes, logprob: float, entropy: float) -> TokenLogprob:
    has_logprob = not isnan(logprob)
    return TokenLogprob(
        token=piece.decode("utf-8", "replace"),
        logprob=logprob if has_logprob else None,
        bytes=tuple(piece),
        entropy=entropy if has_logprob else None,
    )


def _pieces(encoded: Encoded, spans: Spans, text: str) -> Iterator[bytes]:
    """Yield the bytes of the text that each token covers; joined, they are the text.

    If several tokens share a character, its bytes are divided among them.
    """
    data = text.encode("utf-8", "surrogatepass")
    starts = [0, *accumulate(len(c.encode("utf-8", "surrogatepass")) for c in text)]
    text_spans = [span for span, special in zip(spans, encoded.special, strict=True) if not special]
    start = 0
    for i, (_, end) in enumerate(text_spans):
        # A character has at most four bytes, so at most four tokens share it.
        sharing = sum(begin < end for begin, _ in text_spans[i + 1 : i + 4])
        is_last = i == len(text_spans) - 1
        stop = len(data) if is_last else max(starts[end] - sharing, start)
        yield data[start:stop]
        start = stop


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
        return {**body, "max_tokens": 1, "prompt_logprobs": self._top, "return_token_ids": True}

    def _read(self, reply: Reply, whole: str) -> tuple[TokenLogprob, ...]:
        choice = reply.body["choices"][0]
        read = _read_echo if self._api == "echo" else _read_prompt
        tokens = read(choice, whole)
        if not tokens:
            raise ScorerError(
                f"{self._server.display_name} returned no log-probabilities of the prompt; check"
                f" that it supports `{self._api}`, or change `api`"
            )
        return tokens


def _read_echo(choice: Mapping[str, Any], whole: str) -> tuple[TokenLogprob, ...]:
    tokens = list(read_logprobs(choice.get("logprobs")))
    # A server that generates at least one token lists that as well.
    generated = str(choice.get("text") or "").removeprefix(whole)
    while generated and tokens and tokens[-1].token and generated.endswith(tokens[-1].token):
        generated = generated.removesuffix(tokens.pop().token)
    return tuple(tokens)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A token that may appear at a position of the prompt."""

    text: str
    logprob: float

    @property
    def data(self) -> bytes:
        return self.text.encode(errors="surrogatepass")


_Candidates = Mapping[str, _Candidate]
"""The candidates at one position, by token id."""


def _read_prompt(choice: Mapping[str, Any], whole: str) -> tuple[TokenLogprob, ...]:
    # The first entry is empty, since nothing precedes it: it is the start token, or for models
    # without one, the first token of the prompt.
    positions = list(map(_read_candidates, (choice.get("prompt_logprobs") or ())[1:]))
    if not positions:
        return ()
    ids = choice.get("prompt_token_ids") or ()
    if len(ids) == len(positions) + 1:
        prompt = [candidates[str(i)] for candidates, i in zip(positions, ids[1:], strict=True)]
    else:
        prompt = _spell(positions, whole.encode(errors="surrogatepass"))
    tokens = [*_first_token(prompt, whole)]
    for token, candidates in zip(prompt, positions, strict=True):
        top = [TopLogprob(other.text, other.logprob) for other in candidates.values()]
        tokens.append(TokenLogprob(token.text, token.logprob, top=tuple(top)))
    return tuple(tokens)


def _read_candidates(entry: Mapping[str, Mapping[str, Any]]) -> _Candidates:
    candidates: dict[str, _Candidate] = {}
    for token_id, value in entry.items():
        text = "".join(value["decoded_token"])
        candidates[token_id] = _Candidate(text, float(value["logprob"]))
    return candidates


def _first_token(prompt: Sequence[_Candidate], whole: str) -> tuple[TokenLogprob, ...]:
    text = "".join(token.text for token in prompt)
    if not text or not whole.endswith(text) or text == whole:
        return ()
    return (TokenLogprob(whole.removesuffix(text), None),)


def _spell(positions: Sequence[_Candidates], whole: bytes) -> list[_Candidate]:
    """Find the candidates that spell the end of the prompt, if there is exactly one way.

    Raises:
        ScorerError: There is no way, or more than one.
    """
    # For each offset where the end of the prompt may begin, its spelling from there on.
    ways: dict[int, tuple[_Candidate, Any] | None] = {len(whole): None}
    unclear: set[int] = set()
    for candidates in reversed(positions):
        before: dict[int, tuple[_Candidate, Any] | None] = {}
        unclear_before: set[int] = set()
        for end, way in ways.items():
            for token in candidates.values():
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
    tokens: list[_Candidate] = []
    (way,) = ways.values()
    while way is not None:
        token, way = way
        tokens.append(token)
    return tokens
