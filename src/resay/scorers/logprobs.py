"""The response's own token probabilities (`logprobs`): SelfCheckGPT's four statistics.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 3.1, section 7.2 and appendix A.1.

A model writes facts it knows with probable tokens; if it makes something up, many tokens would do
as well. With p_ij the probability of the j-th token of sentence i, and H_ij the uncertainty of its
choice, a sentence of J tokens has (section 3.1)

    Avg(-log p)   -1/J sum_j log p_ij        Avg(H)   1/J sum_j H_ij
    Max(-log p)    max_j (-log p_ij)         Max(H)    max_j H_ij

and the passage has the average over the tokens of all its sentences, or the mean of its sentences'
maxima (section 7.2).

H_ij is the perplexity of the distribution, as in the paper's experiments: two to the power of its
entropy in bits (appendix A.1, Eq. 13), which is the number of equally probable tokens with the same
uncertainty. It is computed over the whole vocabulary if the model returns that, and else over the k
most probable tokens; as in the released experiments, these are normalised to sum to 1, so the total
probability of all other tokens is left out.

The values are unbounded: `raw` and `raw_passage` keep them, -log p in nats, H as a number of
tokens. The score keeps their order:

    probability   1 - exp(-value)    1 minus the (geometric mean) probability; 0.5 at p = 0.5
    entropy       1 - 1 / value      0.5 for a choice as open as between two tokens

The passage score is that of the average, or the mean of the sentence scores. Probabilities have a
lower bound of e^-100.

A provider's list of tokens does not quite match the response: white space around the text is
stripped, reasoning precedes it, special tokens end it, and a character may be split into several
tokens, which some providers show as a replacement character. The text is compared byte by byte,
from its end; a single mismatched byte rejects the tokens.

Cost: no calls; the tokens come with the response. Good at: names and numbers that the model
guesses. Bad at: errors the model is sure of, and open wording, which is as improbable as a guess:
it cannot distinguish not knowing what to say from not knowing how to say it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import exp, fsum
from statistics import fmean
from typing import ClassVar, Literal, cast

from pydantic import Field

from resay._internal.event_loops import compute
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.scorers.base import Need, ScorerConfig, ScorerTraits
from resay.scorers.common.composite import CompositeConfig, ScorerPart
from resay.scorers.evidence import Evidence

_SPACE = " \t\n\r\v\f"
_SPACE_BYTES = _SPACE.encode()
# </s>, <|im_end|>, <end_of_turn>, <｜end▁of▁sentence｜>, [EOS]
_SPECIAL = re.compile(rb"\s*(?:<[^<>\s]*>|\[/?[A-Z_]+\])\s*")
_UNREADABLE = "\ufffd".encode()
# A decoder replaces at most this many bytes by one replacement character.
_LONGEST_UNREADABLE = 3


@dataclass(frozen=True, slots=True)
class Alignment:
    """The positions of tokens in a text.

    Attributes:
        owners: For each token the index of its sentence in the passage, None for a token outside
            all sentences.
        texts: For each token the characters of the text that it is part of, without surrounding
            white space; empty for a token that is not in the text.
    """

    owners: tuple[int | None, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """A range of bytes; `shared` if several tokens have indistinguishable parts of it."""

    start: int
    end: int
    shared: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a token: its bytes, or None for a replacement character."""

    token: int
    data: bytes | None


def bytes_of(token: TokenLogprob) -> bytes:
    """Return the bytes of a token as the provider lists them, or else those of its text."""
    return token.token.encode(errors="surrogatepass") if token.bytes is None else bytes(token.bytes)


def align(tokens: Sequence[TokenLogprob], passage: Passage) -> Alignment | None:
    """Find the tokens of a passage, and the sentence each belongs to.

    A token belongs to the sentence with most of its bytes, of equal ones the earlier. A token with
    more bytes in other text (a heading, code, a sentence left out of the passage) belongs to none.

    Args:
        tokens: The tokens in order. Any tokens may precede those of the text; only white space and
            special tokens may follow them.
        passage: The text and its sentences.

    Returns:
        The alignment, or None if the tokens do not add up to the text.
    """
    spans = _spans([bytes_of(token) for token in tokens], passage.text)
    if spans is None:
        return None
    starts = [0, *accumulate(len(_encoded(character)) for character in passage.text)]
    stretches = sorted(_stretches(passage, starts))
    owners: list[int | None] = []
    for span in spans:
        touched = list(_touched(span, stretches)) if span else []
        if span and span.shared and len(touched) > 1:
            return None
        owners.append(max(touched, key=lambda found: found[0], default=(0, None))[1])
    return Alignment(tuple(owners), tuple(_text_at(span, starts, passage.text) for span in spans))


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _spans(tokens: Sequence[bytes], text: str) -> list[_Span | None] | None:
    core = _encoded(text.strip(_SPACE))
    offset = len(_encoded(text)) - len(_encoded(text.lstrip(_SPACE)))
    if not core:
        return [None for _ in tokens]
    for end in range(len(tokens), 0, -1):
        found = _match(_parts(tokens[:end]), core)
        if found is not None:
            return [
                _Span(found[i].start + offset, found[i].end + offset, found[i].shared)
                if i in found
                else None
                for i in range(len(tokens))
            ]
        last = tokens[end - 1]
        if last.strip() and not _SPECIAL.fullmatch(last):
            return None
    return None


def _parts(tokens: Sequence[bytes]) -> list[_Part]:
    """Return the parts of all tokens in order, without trailing white space."""
    parts: list[_Part] = []
    for i, token in enumerate(tokens):
        for position, data in enumerate(token.split(_UNREADABLE)):
            if position:
                parts.append(_Part(i, None))
            if data or not token:
                parts.append(_Part(i, data))
    while parts and parts[-1].data is not None:
        last = parts.pop()
        data = (last.data or b"").rstrip(_SPACE_BYTES)
        if data:
            parts.append(_Part(last.token, data))
            break
    return parts


def _match(parts: list[_Part], core: bytes) -> dict[int, _Span] | None:
    """Match parts with the text backwards, until the whole text is matched."""
    found: dict[int, _Span] = {}
    end = len(core)
    while end > 0:
        if not parts:
            return None
        run = _unreadable_run(parts)
        start = _before(parts[-run - 1 :], core, end) if run else _start(parts[-1], core, end)
        if start is None:
            return None
        for part in parts[-(run or 1) :]:
            found[part.token] = _joined(found.get(part.token), _Span(start, end, run > 1))
        del parts[-(run or 1) :]
        end = start
    first = min(found)
    rest = b"".join(_UNREADABLE if p.data is None else p.data for p in parts if p.token == first)
    return None if rest.strip() else found


def _unreadable_run(parts: Sequence[_Part]) -> int:
    count = 0
    while count < len(parts) and parts[-count - 1].data is None:
        count += 1
    return count


def _start(part: _Part, core: bytes, end: int) -> int | None:
    """Return the start of a part that ends here, or None if it does not match."""
    data = part.data or b""
    if core.endswith(data, 0, end):
        return end - len(data)
    # White space at the start of the text is stripped, even from within its first token.
    return 0 if data.lstrip() == core[:end] else None


def _before(parts: Sequence[_Part], core: bytes, end: int) -> int | None:
    """Return the start of a run of unreadable characters, or None if it is ambiguous.

    Args:
        parts: The run, preceded by the part before it, if any.
        core: The text.
        end: The end of the run.
    """
    before = parts[0] if parts[0].data is not None else None
    count = len(parts) - (before is not None)
    starts: list[int] = []
    for start in range(end - count, end - _LONGEST_UNREADABLE * count - 1, -1):
        if start < 0 or not all(byte >= 0x80 for byte in core[start:end]):
            break
        if start == 0 or (before and _start(before, core, start) is not None):
            starts.append(start)
    return starts[0] if len(starts) == 1 else None


def _joined(later: _Span | None, earlier: _Span) -> _Span:
    if later is None:
        return earlier
    return _Span(earlier.start, later.end, earlier.shared or later.shared)


def _stretches(passage: Passage, starts: Sequence[int]) -> Iterator[tuple[int, int, int | None]]:
    """Yield the bytes of every sentence with its index, and of every other piece with None."""
    begins = [piece.start for piece in passage.pieces]
    held = {bisect_right(begins, sentence.start) - 1 for sentence in passage.sentences}
    for i, sentence in enumerate(passage.sentences):
        yield starts[sentence.start], starts[sentence.end], i
    for i, piece in enumerate(passage.pieces):
        inner = piece.text.strip()
        if inner and i not in held:
            start = piece.start + piece.text.index(inner)
            yield starts[start], starts[start + len(inner)], None


def _touched(
    span: _Span, stretches: Sequence[tuple[int, int, int | None]]
) -> Iterator[tuple[int, int | None]]:
    """Yield the number of bytes of a token in each range it touches, in order, and its owner.

    A token without bytes, as some providers list for parts of a character, touches the range around
    it.
    """
    first = bisect_right(stretches, span.start, key=lambda stretch: stretch[0]) - 1
    for start, end, owner in stretches[max(first, 0) :]:
        if start >= span.end:
            break
        overlap = min(end, span.end) - max(start, span.start)
        if overlap > 0 or (span.start == span.end and start < span.start < end):
            yield overlap, owner


def _text_at(span: _Span | None, starts: Sequence[int], text: str) -> str:
    if span is None or span.start == span.end:
        return ""
    # From the start of the character with the first byte to the end of the one with the last.
    first = bisect_right(starts, span.start) - 1
    last = bisect_right(starts, span.end - 1) - 1
    return text[first : last + 1].strip()


_HIGHEST_SURPRISE = 100.0
# Lower values are not distinguished: providers pad lists with -9999 or -inf.
_LOWEST = -9999.0


class UncertaintyConfig(ScorerConfig):
    """Base class of the settings of methods that use token probabilities."""

    measure: Literal["probability", "entropy"] = Field(
        default="probability",
        description="What to measure for each token: how improbable it was (probability), or how"
        " open the choice was (entropy).",
    )
    pool: Literal["average", "maximum"] = Field(
        default="average",
        description="How to pool a sentence's tokens. The maximum exceeds 0.5 as soon as one token"
        " has a probability below 0.5, so adjust `threshold` with it.",
    )
    top: int = Field(
        default=5,
        ge=2,
        le=1000,
        description="For entropy: the number of most probable tokens to compute it over if the"
        " whole distribution is not known. OpenAI's chat models return at most 20, others 5.",
    )

    @property
    def alternatives(self) -> int:
        """Number of most probable tokens needed at each position."""
        return self.top if self.measure == "entropy" else 0


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of one token."""

    index: int
    value: float


def surprise(token: TokenLogprob) -> float | None:
    """Return -log p of a token in nats, in [0, 100]; None if p is unknown."""
    if token.logprob is None:
        return None
    return min(max(-token.logprob, 0.0), _HIGHEST_SURPRISE)


def perplexity(token: TokenLogprob, top: int) -> float | None:
    """Return the perplexity of the choice of a token, at least 1.

    Args:
        token: The token.
        top: How many of the most probable tokens to use if the entropy of the whole distribution
            is unknown.

    Returns:
        The number of equally probable tokens with the same uncertainty; None if fewer than two
        alternatives are known.
    """
    if token.entropy is not None:
        return exp(max(token.entropy, 0.0))
    logprobs = _most_probable(token, top)
    if len(logprobs) < 2:
        return None
    # Relative to the greatest, so that very small probabilities do not all underflow.
    shifted = [max(logprob - logprobs[0], -_HIGHEST_SURPRISE) for logprob in logprobs]
    total = fsum(map(exp, shifted))
    shares = [exp(logprob) / total for logprob in shifted]
    inverse = fsum(share * logprob for share, logprob in zip(shares, shifted, strict=True))
    return max(total * exp(-inverse), 1.0)


def _most_probable(token: TokenLogprob, top: int) -> list[float]:
    return sorted((max(other.logprob, _LOWEST) for other in token.top), reverse=True)[:top]


def score_tokens(
    passage: Passage, tokens: Sequence[TokenLogprob], settings: UncertaintyConfig
) -> Scores:
    """Score a passage by the probabilities of its tokens.

    Args:
        passage: The passage; its `sentences` are scored.
        tokens: The tokens of its text, see `align`.
        settings: The statistic to compute.

    Returns:
        Sentence and passage scores with their unbounded values in `raw` and `raw_passage`;
        inconclusive if the tokens are not those of the text, or lack the required values.
    """
    alignment = align(tokens, passage)
    if alignment is None:
        return Scores(error="the tokens given do not make up the text of the response")
    rows: list[list[_Value]] = [[] for _ in passage.sentences]
    for i, (token, owner) in enumerate(zip(tokens, alignment.owners, strict=True)):
        value = _value(token, settings)
        if owner is not None and value is not None:
            rows[owner].append(_Value(i, value))
    if not any(rows):
        return Scores(error=_nothing_known(settings))
    raw = [_pooled(row, settings) for row in rows]
    known = [value for value in raw if value is not None]
    averages = settings.pool == "average"
    raw_passage = fmean(v.value for row in rows for v in row) if averages else fmean(known)
    return Scores(
        sentences=tuple(None if value is None else _score(value, settings) for value in raw),
        passage=_score(raw_passage, settings) if averages else None,
        raw=tuple(value or 0.0 for value in raw),
        raw_passage=raw_passage,
        reasons=tuple(_why(row, tokens, alignment, settings) for row in rows),
        lost=tuple(i for i, value in enumerate(raw) if value is None),
    )


def _value(token: TokenLogprob, settings: UncertaintyConfig) -> float | None:
    if settings.measure == "probability":
        return surprise(token)
    return perplexity(token, settings.top)


def _nothing_known(settings: UncertaintyConfig) -> str:
    if settings.measure == "probability":
        return "no token of the response's sentences has a log-probability"
    return "the tokens came without their most probable alternatives, which an entropy is made of"


def _pooled(row: Sequence[_Value], settings: UncertaintyConfig) -> float | None:
    if not row:
        return None
    values = [value.value for value in row]
    return max(values) if settings.pool == "maximum" else fmean(values)


def _score(value: float, settings: UncertaintyConfig) -> float:
    return 1 - exp(-value) if settings.measure == "probability" else 1 - 1 / max(value, 1.0)


def _why(
    row: Sequence[_Value],
    tokens: Sequence[TokenLogprob],
    alignment: Alignment,
    settings: UncertaintyConfig,
) -> str | None:
    if not row:
        return None
    worst = max(row, key=lambda value: value.value)
    token_text = alignment.texts[worst.index] or "a blank"
    if settings.measure == "probability":
        return (
            f"its least probable token is {token_text!r}, with probability {exp(-worst.value):.2g}"
        )
    token = tokens[worst.index]
    over = (
        "the whole vocabulary"
        if token.entropy is not None
        else f"the {len(_most_probable(token, settings.top))} most probable tokens"
    )
    return (
        f"{token_text!r} was as open as a choice between {worst.value:.1f} equally probable tokens"
        f" (entropy over {over})"
    )


class Logprobs:
    """Scores sentences by the probabilities that the model gave its own tokens."""

    name: ClassVar[str] = "logprobs"
    needs: ClassVar[frozenset[Need]] = frozenset({"logprobs"})
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(UncertaintyConfig):
        """Settings of `logprobs`."""

        method: Literal["logprobs"] = "logprobs"

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage.

        Args:
            passage: The response; its `sentences` are scored.
            evidence: The tokens of the response, in `logprobs`.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`; inconclusive
            without tokens, or if they are not those of the response.
        """
        if not evidence.logprobs:
            return Scores(error="the provider returned no token log-probabilities for the response")
        return await compute(partial(score_tokens, passage, evidence.logprobs, self.config))


def alternatives_wanted(steps: Iterable[ScorerConfig]) -> int:
    """Return how many of the most probable tokens to request at each position of the response.

    Args:
        steps: The steps of a chain.

    Returns:
        The greatest number that any step needs; 0 if none needs any.
    """
    return max(map(_alternatives, steps), default=0)


def _alternatives(step: ScorerConfig) -> int:
    if isinstance(step, CompositeConfig):
        parts = cast("CompositeConfig[ScorerPart]", step).parts
        return alternatives_wanted(part.scorer for part in parts)
    return step.alternatives if isinstance(step, Logprobs.Config) else 0
