"""Classifies each token of the answer as supported by the references or not (LettuceDetect)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING

from resay.core.passage import Passage
from resay.core.scores import Scores, UnsupportedSpan
from resay.errors import ScorerError
from resay.models.windows import windows
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.labels import label_index

if TYPE_CHECKING:
    from resay.models import Measure, TokenClassifier

_UNSUPPORTED = frozenset({"unsupported", "hallucinated", "hallucination", "inconsistent"})
# The likelier of a token's two labels is the one over this probability.
_OVER = 0.5
_QA = (
    "Briefly answer the following question:\n{question}\nBear in mind that your response should be"
    " strictly based on the following {count} passages:\n{passages}\nIn case the passages do not"
    ' contain the necessary information to answer the question, please reply with: "Unable to'
    ' answer based on given passages."\noutput:'
)
_SUMMARY = "Summarize the following text:\n{passages}\noutput:"


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    unsupported: float


class _CachedMeasure:
    """Counts the tokens of each text once, for one check."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._lengths: dict[str, int] = {}

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._lengths]
        if missing:
            lengths = await self._measure.lengths(missing)
            self._lengths.update(zip(missing, lengths, strict=True))
        return [self._lengths[text] for text in texts]

    async def max_input_tokens(self) -> int | None:
        return await self._measure.max_input_tokens()


class AnswerClassifier:
    """Classifies each token of the answer as supported by the references or not.

    Args:
        model: The classifier.
        max_tokens: Maximum number of tokens per input, if the model allows as many.
    """

    def __init__(self, model: TokenClassifier, max_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def prepare(self) -> None:
        """Load the model, and check its labels."""
        await self._model.prepare()
        await self._label_index()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score every claim by its token that is least supported."""
        tokens = await self._tokens(passage, evidence)
        scores: list[float | None] = []
        spans: list[tuple[UnsupportedSpan, ...]] = []
        for claim in passage.sentences:
            score, of_claim = _of_claim(tokens, claim.start, claim.end, passage.text)
            scores.append(score)
            spans.append(of_claim)
        return Scores(
            sentences=tuple(scores),
            spans=tuple(spans),
            reasons=tuple(_reason(of_claim, passage.text) for of_claim in spans),
        )

    async def _tokens(self, passage: Passage, evidence: Evidence) -> list[_Token]:
        room = self._max_tokens - 3
        measure = _CachedMeasure(self._model)
        reads = await measure.max_input_tokens()
        room = room if reads is None else min(room, reads)
        references = await evidence.references.all()
        # All at once, since each call waits for the thread that counts.
        await measure.lengths(
            [
                passage.text,
                _prompt(evidence.question.strip(), [""]),
                *(reference.text.strip() for reference in references),
            ]
        )
        stretches = await _stretches(passage, room // 2, measure)
        sizes = await measure.lengths([text for _, text in stretches])
        pairs: list[tuple[str, str]] = []
        counts: list[int] = []
        for (_, text), size in zip(stretches, sizes, strict=True):
            prompts = await _prompts(evidence, room - size, measure)
            pairs += [(prompt, text) for prompt in prompts]
            counts.append(len(prompts))
        labelled = await self._model.classify_tokens(pairs)
        unsupported = await self._label_index()
        import numpy as np

        tokens: list[_Token] = []
        done = 0
        for (offset, _), count in zip(stretches, counts, strict=True):
            # The same part of the answer with each group of references: one must support a token.
            with_groups = labelled[done : done + count]
            probabilities = [labels.probabilities[:, unsupported] for labels in with_groups]
            least = np.min(probabilities, axis=0).tolist()
            for (start, end), probability in zip(with_groups[0].spans, least, strict=True):
                tokens.append(_Token(offset + start, offset + end, probability))
            done += count
        return tokens

    async def _label_index(self) -> int:
        return label_index(await self._model.labels(), _UNSUPPORTED)


async def _stretches(passage: Passage, max_tokens: int, measure: Measure) -> list[tuple[int, str]]:
    """Divide the answer into parts that fit into one input, with the start of each."""
    whole = passage.text
    if (await measure.lengths([whole]))[0] <= max_tokens:
        return [(0, whole)]
    pieces = [piece.text for piece in passage.pieces]
    lengths = await measure.lengths(pieces)
    # A single character that is too long is kept, for the model to report the error.
    while any(n > max_tokens and len(p) > 1 for p, n in zip(pieces, lengths, strict=True)):
        divided: list[str] = []
        for piece, length in zip(pieces, lengths, strict=True):
            is_too_long = length > max_tokens and len(piece) > 1
            divided += _halves(piece) if is_too_long else [piece]
        pieces = divided
        lengths = await measure.lengths(pieces)
    stretches: list[tuple[int, str]] = [(0, "")]
    used = 0
    for piece, length in zip(pieces, lengths, strict=True):
        start, text = stretches[-1]
        if text and used + length > max_tokens:
            stretches.append((start + len(text), piece))
            used = length
        else:
            stretches[-1] = start, text + piece
            used += length
    return stretches


async def _prompts(evidence: Evidence, room: int, measure: Measure) -> list[str]:
    """Return the prompts, each with as many references as fit before the answer."""
    question = evidence.question.strip()
    frame = (await measure.lengths([_prompt(question, [""])]))[0]
    if frame > room // 2:
        question = ""
        frame = (await measure.lengths([_prompt(question, [""])]))[0]
    # Joining texts may change the tokens at the seams.
    left = room - frame - 2
    if left < 16:
        raise ScorerError(f"the model reads {room!r} tokens beside the answer, too few for this")
    passages: list[str] = []
    for reference in await evidence.references.all():
        whole = reference.text.strip()
        if (await measure.lengths([whole]))[0] <= left:
            passages.append(whole)
        else:
            passages += await windows(await reference.split(), left, measure)
    # Allow for a number and a line break before each.
    lengths = [n + 5 for n in await measure.lengths(passages)]
    groups: list[list[str]] = [[]]
    used = 0
    for passage, length in zip(passages, lengths, strict=True):
        if groups[-1] and used + length > left:
            groups.append([])
            used = 0
        groups[-1].append(passage)
        used += length
    return [_prompt(question, group) for group in groups]


def _prompt(question: str, passages: Sequence[str]) -> str:
    listed = "\n".join(f"passage {i}: {passage}" for i, passage in enumerate(passages, 1))
    if not question:
        return _SUMMARY.format(passages=listed)
    return _QA.format(question=question, count=len(passages), passages=listed)


def _halves(text: str) -> tuple[str, str]:
    """Divide a text before a space near its middle, or else in the middle of a word."""
    space = text.rfind(" ", 1, len(text) // 2)
    middle = max(len(text) // 2, 1) if space == -1 else space
    return text[:middle], text[middle:]


def _of_claim(
    tokens: Sequence[_Token], start: int, end: int, text: str
) -> tuple[float | None, tuple[UnsupportedSpan, ...]]:
    """Return the score of a span of the answer, and the unsupported spans in it."""
    first = bisect_right(tokens, start, key=lambda token: token.end)
    own = list(takewhile(lambda token: token.start < end, islice(tokens, first, None)))
    if not own:
        return None, ()
    spans: list[UnsupportedSpan] = []
    for unsupported, group in groupby(own, key=lambda token: token.unsupported > _OVER):
        adjacent = list(group)
        first_start = max(adjacent[0].start, start)
        words = text[first_start : min(adjacent[-1].end, end)]
        if unsupported and words.strip():
            # Some tokenizers count the space before a word as part of it.
            first_start += len(words) - len(words.lstrip())
            score = max(token.unsupported for token in adjacent)
            spans.append(UnsupportedSpan(first_start, first_start + len(words.strip()), score))
    return max(token.unsupported for token in own), tuple(spans)


def _reason(spans: Sequence[UnsupportedSpan], text: str) -> str:
    if not spans:
        return "the references support each of its words"
    listed = ", ".join(f'"{text[s.start : s.end]}" ({s.score:.2f})' for s in spans)
    return f"no reference supports {listed}"
