"""Scores claims by models trained to check answers against documents (`grounding`).

Three families, each with its published input format:

- MiniCheck: Tang, Laban and Durrett, "MiniCheck: Efficient Fact-Checking of LLMs on Grounding
  Documents", EMNLP 2024, and the code released with it. A classifier of single texts takes
  `DOCUMENT</s>CLAIM`, with its own end-of-text token; the T5 takes `predict: DOCUMENT</s>CLAIM`,
  and the first token of its answer, 209 or 3, decides whether the claim is supported. A long
  document is divided into chunks of whole sentences (400 tokens; 500 words for the T5), and
  supports a claim if one of its chunks does.
- HHEM: Vectara's HHEM-2.1-Open, its model card and code. A T5 encoder takes a premise and a
  hypothesis in a fixed prompt and labels its first token. Its own code is not run.
- LettuceDetect: Kovács and Recski, "LettuceDetect: A Hallucination Detection Framework for RAG
  Applications", 2025, and the code released with it. A classifier of tokens takes a prompt with the
  question and the passages, then the whole answer, and returns the probability that a token is
  unsupported; adjacent tokens over 0.5 form a span.

A claim's score is 1 - the greatest support by any chunk of any reference; for a classifier of
tokens, the greatest probability among the claim's own tokens. If the passages exceed the model's
input, they are divided into groups, and a token counts as supported if one group supports it; the
code released with LettuceDetect requires all groups to support it, and so flags everything that is
not in each of them. Claims, and answers, longer than half of the model's input are divided; a claim
is as supported as its least supported part.

Cost: no calls; the first two process one text for each claim and chunk, the third one for each
answer. Good at: statements that an answer adds to its documents. Bad at: conclusions from several
chunks together, and languages other than English, the training language of most of these models.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, cast

import anyio.to_thread
from pydantic import Field

from resay.core.passage import Passage
from resay.core.scores import Scores, UnsupportedSpan
from resay.errors import ConfigurationError, ScorerError
from resay.models import ModelConfig, ModelField, config_of, text_classifier, token_classifier
from resay.models.files import HHEM, folder_of, json_of, kind_of, separator_of
from resay.models.windows import cut, windows
from resay.scorers.base import Need, SampleConfig, ScorerTraits
from resay.scorers.evidence import Evidence

if TYPE_CHECKING:
    from resay.models import TextClassifier, TokenClassifier
    from resay.models.base import Measure

Format: TypeAlias = Literal["minicheck", "hhem", "lettucedetect"]

# Lower-case prefixes of their names on the hub.
_FORMATS: Mapping[str, Format] = {
    "lytang/minicheck-": "minicheck",
    "vectara/hallucination_evaluation_model": "hhem",
    "krlabsorg/lettucedect-": "lettucedetect",
    "krlabsorg/tinylettuce-": "lettucedetect",
}
_SUPPORTED = frozenset({"supported", "consistent", "entailment", "entailed", "faithful"})
_UNSUPPORTED = frozenset({"unsupported", "hallucinated", "hallucination", "inconsistent"})
# The meant one of two labels without a known name: label 1 means supported to MiniCheck and HHEM,
# and hallucinated to LettuceDetect.
_ONE = 1

_CHUNK_TOKENS, _CHUNK_WORDS = 400, 500
_LETTUCE_TOKENS = 4096
# The likelier of a token's two labels is the one over this probability.
_OVER = 0.5

_HHEM_PREMISE = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: "
_HHEM_HYPOTHESIS = "\n\nHypothesis: "
_QA = (
    "Briefly answer the following question:\n{question}\nBear in mind that your response should be"
    " strictly based on the following {count} passages:\n{passages}\nIn case the passages do not"
    ' contain the necessary information to answer the question, please reply with: "Unable to'
    ' answer based on given passages."\noutput:'
)
_SUMMARY = "Summarize the following text:\n{passages}\noutput:"


class Grounding:
    """Scores claims by a model trained to check them against references."""

    name: ClassVar[str] = "grounding"
    needs: frozenset[Need] = frozenset({"references"})

    class Config(SampleConfig):
        """Settings of `grounding`."""

        method: Literal["grounding"] = "grounding"
        # The settings are frozen, so narrowing the allowed values is safe.
        evidence: Literal["references"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
            default="references",
            description="The texts to compare the answer with: always the references.",
        )
        model: ModelField = Field(
            default="lytang/MiniCheck-Flan-T5-Large",
            description="A model trained to tell whether a document supports a text: a folder or a"
            " model on the Hugging Face hub, or a mapping with settings.",
        )
        format: Literal["auto", "minicheck", "hhem", "lettucedetect"] = Field(
            default="auto",
            description="The model's input format; auto = detect it from the model.",
        )
        chunk: int | None = Field(
            default=None,
            ge=16,
            description="The number of tokens of a document to read at once; null = as published:"
            " 400 for MiniCheck, or 500 words for its T5; the model's maximum for HHEM; 4,096 for"
            " LettuceDetect, including question and answer.",
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self._model = config_of(self.config.model)
        at_hand = self._model.remote or folder_of(self._model) is not None
        self._format = _known_format(self.config.format, self._model)
        if self._format is None and at_hand:
            self._format = _format_of(self._model)
        # A classifier of tokens needs the whole answer.
        self.traits = ScorerTraits(by_sentence=self._format in ("minicheck", "hhem"))
        self._reader: _Reader | None = None
        if at_hand or self._format in ("hhem", "lettucedetect"):
            self._reader = self._made()
        else:
            # Report missing packages now; only the hub knows the kind of the model.
            text_classifier(self._model, "classification")

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be loaded, or was not trained for this.
            ScorerError: Its server does not respond.
        """
        await (await self._ready()).prepare()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score every claim against the references.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: The references, and the query for its question.

        Returns:
            Scores, with the unsupported spans if the model classifies tokens.

        Raises:
            ConfigurationError: The model cannot be loaded, or was not trained for this.
            ScorerError: The model failed.
        """
        if not await evidence.references.all():
            return Scores((None,) * len(passage.sentences))
        reader = await self._ready()
        return await reader.score(passage, evidence)

    async def _ready(self) -> _Reader:
        if self._reader is None:
            # Looking up a model on the hub uses the network.
            self._reader = await anyio.to_thread.run_sync(self._made)
        return self._reader

    def _made(self) -> _Reader:
        chosen = self._format or _format_of(self._model)
        if chosen == "lettucedetect":
            return _ByToken(token_classifier(self._model), self.config.chunk or _LETTUCE_TOKENS)
        if chosen == "hhem":
            model = text_classifier(self._model, "token_classification")
            return _ByClaim(model, _Form(_HHEM_PREMISE, _HHEM_HYPOTHESIS), self.config.chunk, model)
        return self._minicheck()

    def _minicheck(self) -> _Reader:
        if self._model.remote:
            own = "separator" in self._model.model_fields_set
            between = self._model.separator if own else "</s>"
            kind = "classification"
        else:
            between, kind = separator_of(self._model), kind_of(self._model)
        if kind == "first_token":
            model = text_classifier(self._model, kind)
            form, words = _Form("predict: ", between), self.config.chunk is None
            measure = _Words() if words else model
            return _ByClaim(model, form, self.config.chunk or _CHUNK_WORDS, measure)
        model = text_classifier(self._model, "classification")
        return _ByClaim(model, _Form("", between), self.config.chunk or _CHUNK_TOKENS, model)


class _Reader(Protocol):
    async def prepare(self) -> None: ...

    async def score(self, passage: Passage, evidence: Evidence) -> Scores: ...


class _Words:
    """Counts words."""

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def max_input_tokens(self) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class _Form:
    """The format that joins a document and a claim to one text.

    Attributes:
        before: Text before the document.
        between: Text between the two.
    """

    before: str
    between: str

    def clean(self, text: str) -> str:
        """Return a text without separators, so that it cannot pass for several texts."""
        return text.replace(self.between, " ").replace("</s>", " ").replace("<pad>", " ")

    def joined(self, document: str, claim: str) -> str:
        return f"{self.before}{document}{self.between}{claim}"


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


class _ByClaim:
    """Classifies each claim with each chunk of the references.

    Args:
        model: The classifier.
        form: Its input format.
        chunk: Maximum length of a chunk; None = as long as the model's input.
        measure: Measures the length of chunks.
    """

    def __init__(
        self, model: TextClassifier, form: _Form, chunk: int | None, measure: Measure
    ) -> None:
        self._model = model
        self._form = form
        self._chunk = chunk
        self._measure = measure

    async def prepare(self) -> None:
        await self._model.prepare()
        await self._label_index()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
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
            texts += [(self._form.clean(text), reference.index + 1) for text in pieces]
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
            if chunk.tokens + claim <= room:
                fitting.append(chunk)
                continue
            pieces = await windows(Passage.of(chunk.text), room - claim, self._model)
            fitting += [_Chunk(piece, 0, chunk.reference) for piece in pieces]
        return fitting

    async def _label_index(self) -> int:
        return _label_index(await self._model.labels(), _SUPPORTED)


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    unsupported: float


class _ByToken:
    """Classifies each token of the answer as supported by the references or not.

    Args:
        model: The classifier.
        max_tokens: Maximum number of tokens per input, if the model allows as many.
    """

    def __init__(self, model: TokenClassifier, max_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def prepare(self) -> None:
        await self._model.prepare()
        await self._label_index()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
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
            reasons=tuple(_why(of_claim, passage.text) for of_claim in spans),
        )

    async def _tokens(self, passage: Passage, evidence: Evidence) -> list[_Token]:
        room = self._max_tokens - 3
        reads = await self._model.max_input_tokens()
        room = room if reads is None else min(room, reads)
        stretches = await self._stretches(passage, room // 2)
        sizes = await self._model.lengths([text for _, text in stretches])
        pairs: list[tuple[str, str]] = []
        counts: list[int] = []
        for (_, text), size in zip(stretches, sizes, strict=True):
            prompts = await self._prompts(evidence, room - size)
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

    async def _stretches(self, passage: Passage, max_tokens: int) -> list[tuple[int, str]]:
        """Divide the answer into parts that fit into one input, with the start of each."""
        whole = passage.text
        if (await self._model.lengths([whole]))[0] <= max_tokens:
            return [(0, whole)]
        pieces = [piece.text for piece in passage.pieces]
        lengths = await self._model.lengths(pieces)
        # A single character that is too long is kept, for the model to report the error.
        while any(n > max_tokens and len(p) > 1 for p, n in zip(pieces, lengths, strict=True)):
            divided: list[str] = []
            for piece, length in zip(pieces, lengths, strict=True):
                is_too_long = length > max_tokens and len(piece) > 1
                divided += _halves(piece) if is_too_long else [piece]
            pieces = divided
            lengths = await self._model.lengths(pieces)
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

    async def _prompts(self, evidence: Evidence, room: int) -> list[str]:
        """Return the prompts, each with as many references as fit before the answer."""
        query = evidence.user_query or evidence.query
        question = query.question.strip() if query else ""
        frame = (await self._model.lengths([_prompt(question, [""])]))[0]
        if frame > room // 2:
            question = ""
            frame = (await self._model.lengths([_prompt(question, [""])]))[0]
        # Joining texts may change the tokens at the seams.
        left = room - frame - 2
        if left < 16:
            raise ScorerError(
                f"the model reads {room!r} tokens beside the answer, too few for this"
            )
        passages: list[str] = []
        for reference in await evidence.references.all():
            passages += await windows(await reference.split(), left, self._model)
        # Allow for a number and a line break before each.
        lengths = [n + 5 for n in await self._model.lengths(passages)]
        groups: list[list[str]] = [[]]
        used = 0
        for passage, length in zip(passages, lengths, strict=True):
            if groups[-1] and used + length > left:
                groups.append([])
                used = 0
            groups[-1].append(passage)
            used += length
        return [_prompt(question, group) for group in groups]

    async def _label_index(self) -> int:
        return _label_index(await self._model.labels(), _UNSUPPORTED)


def _prompt(question: str, passages: Sequence[str]) -> str:
    listed = "\n".join(f"passage {i}: {passage}" for i, passage in enumerate(passages, 1))
    if not question:
        return _SUMMARY.format(passages=listed)
    return _QA.format(question=question, count=len(passages), passages=listed)


def _halves(text: str) -> tuple[str, str]:
    """Divide a text before a space near its middle, or else in the middle of a word."""
    space = text.rfind(" ", 1, len(text) // 2)
    middle = space if space > 0 else max(len(text) // 2, 1)
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


def _why(spans: Sequence[UnsupportedSpan], text: str) -> str:
    if not spans:
        return "the references support each of its words"
    listed = ", ".join(f'"{text[s.start : s.end]}" ({s.score:.2f})' for s in spans)
    return f"no reference supports {listed}"


def _label_index(labels: Sequence[str], names: frozenset[str]) -> int:
    """Return the index of the named one of two labels."""
    if len(labels) != 2:
        raise ConfigurationError(
            f"the model has the labels {', '.join(labels)!r}; `grounding` needs one of two labels:"
            " supported or not. A model for entailment is for `nli`"
        )
    return next((i for i, label in enumerate(labels) if label in names), _ONE)


def _known_format(given: str, model: ModelConfig) -> Format | None:
    """Return a model's format if it is known without looking up the model."""
    if given != "auto":
        return cast("Format", given)
    name = (model.name or "").lower()
    for prefix, format_ in _FORMATS.items():
        if name.startswith(prefix):
            return format_
    return "minicheck" if model.remote else None


def _format_of(model: ModelConfig) -> Format:
    """Return a model's format according to its configuration.

    Raises:
        ConfigurationError: There is no such model, or it was not trained for this.
    """
    kind = kind_of(model)
    if kind == "token_classification":
        described = json_of(model, "config.json")
        is_t5 = described.get("model_type") in (HHEM, "t5")
        return "hhem" if is_t5 else "lettucedetect"
    if kind in ("classification", "first_token"):
        return "minicheck"
    raise ConfigurationError(
        f"`grounding` cannot use {model.display_name!r}, which classifies neither texts nor tokens;"
        " use a model from docs/models.md"
    )
