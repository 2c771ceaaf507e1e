"""Classifies each claim with each chunk of the references (MiniCheck, HHEM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resay._internal.patterns import lazy_pattern
from resay.core.grounds import Grounds
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.errors import ScorerError
from resay.models.windows import cut, windows
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.labels import label_index

if TYPE_CHECKING:
    from resay.models import TextClassifier
    from resay.models.base import Measure

_SUPPORTED = frozenset({"supported", "consistent", "entailment", "entailed", "faithful"})
SUPPORTED_OVER = 0.5
"""A document that gives a claim more support than this supports it."""
_TOKEN = lazy_pattern(r"\w+|[^\w\s]")


class WordCount:
    """Counts words.

    Args:
        marks: Whether punctuation marks count, too.
    """

    def __init__(self, *, marks: bool = False) -> None:
        self._marks = marks

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        if self._marks:
            return [len(_TOKEN.findall(text)) for text in texts]
        return [len(text.split()) for text in texts]

    async def max_input_tokens(self) -> int | None:
        """Return None: it measures chunks, not inputs."""
        return None


@dataclass(frozen=True, slots=True)
class InputFormat:
    """The format that joins a document and a claim to one text.

    Attributes:
        before: Text before the document.
        between: Text between the two.
        after: Text after the claim.
        by_line: Whether each sentence of a document is on a line of its own.
    """

    before: str
    between: str
    after: str = ""
    by_line: bool = False

    def clean(self, text: str) -> str:
        """Return a text without separators, so that it cannot pass for several texts."""
        return text.replace(self.between, " ").replace("</s>", " ").replace("<pad>", " ")

    def joined(self, document: str, claim: str) -> str:
        """Return the input about a document and a claim."""
        return f"{self.before}{document}{self.between}{claim}{self.after}"

    def lines(self, document: str) -> str:
        """Return a document with its sentences as the model reads them."""
        if not self.by_line:
            return document
        return "\n".join(piece.text.strip() for piece in Passage.of(document).pieces)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk of a reference.

    Attributes:
        text: The chunk.
        tokens: Its length in tokens.
        reference: The number of its reference, from 1.
    """

    text: str
    tokens: int
    reference: int


class ClaimClassifier:
    """Classifies each claim with each chunk of the references.

    Args:
        model: The classifier.
        form: Its input format.
        chunk: Maximum length of a chunk; None = as long as the model's input.
        measure: Measures the length of chunks.
    """

    def __init__(
        self, model: TextClassifier, form: InputFormat, chunk: int | None, measure: Measure
    ) -> None:
        self._model = model
        self._form = form
        self._chunk = chunk
        self._measure = measure

    async def prepare(self) -> None:
        """Load the model, and check its labels."""
        await self._model.prepare()
        await self._label_index()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score every claim by the chunk that supports it best."""
        claims = [self._form.clean(sentence.standalone) for sentence in passage.sentences]
        room = await self._room()
        chunks = await self._chunks(evidence, room)
        parts = await self._parts(claims, room)
        inputs: list[tuple[int, str, _Chunk]] = []
        for claim, of_claim in enumerate(parts):
            for part, tokens in of_claim:
                fitting = await self._fitting(chunks, room, tokens)
                inputs += [(claim, part, chunk) for chunk in fitting]
        supported = await self._label_index()
        texts = [self._form.joined(chunk.text, part) for _, part, chunk in inputs]
        supports = (await self._model.classify(texts))[:, supported]
        # For each claim, the greatest support of each of its parts, and the reference giving it.
        best: list[dict[str, tuple[float, int]]] = [{} for _ in claims]
        for (claim, part, chunk), support in zip(inputs, supports, strict=True):
            by_chunk = (float(support), -chunk.reference)
            best[claim][part] = max(best[claim].get(part, by_chunk), by_chunk)
        least_supported = [min(of_claim.values()) for of_claim in best]
        return Scores(
            tuple(min(max(1.0 - support, 0.0), 1.0) for support, _ in least_supported),
            reasons=tuple(
                f"best supported by reference {-reference}: {support:.2f}"
                for support, reference in least_supported
            ),
            grounds=tuple(
                (Grounds(-reference - 1, supports=True),) if support > SUPPORTED_OVER else ()
                for support, reference in least_supported
            ),
        )

    async def _room(self) -> int | None:
        """Return how many tokens a chunk and a claim may have in total."""
        room = await self._model.max_input_tokens()
        if room is None:
            return None
        (frame,) = await self._model.lengths([self._form.joined("", "")])
        # Joining texts may change the tokens at the seams.
        left = room - frame - 2
        if left < 16:
            raise ScorerError(f"the model reads only {room!r} tokens, too few for this method")
        return left

    async def _chunks(self, evidence: Evidence, room: int | None) -> list[_Chunk]:
        texts: list[tuple[str, int]] = []
        for reference in await evidence.references.all():
            document = await reference.split()
            if self._chunk is not None:
                pieces = await windows(document, self._chunk, self._measure)
            elif room is not None:
                pieces = await windows(document, room - room // 4, self._model)
            else:
                pieces = [document.text.strip()]
            number = reference.index + 1
            texts += [(self._form.lines(self._form.clean(piece)), number) for piece in pieces]
        lengths = await self._model.lengths([text for text, _ in texts])
        chunks: list[_Chunk] = []
        for (text, reference_number), tokens in zip(texts, lengths, strict=True):
            chunks.append(_Chunk(text=text, tokens=tokens, reference=reference_number))
        return chunks

    async def _parts(self, claims: Sequence[str], room: int | None) -> list[list[tuple[str, int]]]:
        """Return the parts of each claim that are classified separately, with their tokens."""
        lengths = await self._model.lengths(claims)
        parts: list[list[tuple[str, int]]] = []
        for claim, tokens in zip(claims, lengths, strict=True):
            if room is None or tokens <= room // 2:
                parts.append([(claim, tokens)])
                continue
            pieces = await cut(claim, room // 2, self._model)
            parts.append(list(zip(pieces, await self._model.lengths(pieces), strict=True)))
        return parts

    async def _fitting(
        self, chunks: Sequence[_Chunk], room: int | None, claim: int
    ) -> Sequence[_Chunk]:
        """Return the chunks, divided if they do not fit together with a claim of that length."""
        if room is None or all(chunk.tokens + claim <= room for chunk in chunks):
            return chunks
        fitting: list[_Chunk] = []
        for chunk in chunks:
            pieces = await windows(Passage.of(chunk.text), room - claim, self._model)
            fitting += [_Chunk(piece, 0, chunk.reference) for piece in pieces]
        return fitting

    async def _label_index(self) -> int:
        return label_index(await self._model.labels(), _SUPPORTED)
