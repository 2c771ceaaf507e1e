"""Scores claims by models trained to check answers against documents (`grounding`).

Classifiers, each with its published input format:

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

- FactCG: Lei, Li, Li, Hassan and Wang, "FactCG: Enhancing Fact Checkers with Graph-Based Multi-Hop
  Data", NAACL 2025, and the code released with it. A classifier of single texts, which are a
  question with the options "Yes" and "No" about a chunk of up to 550 words and marks, each sentence
  on a line of its own.

Chat models behind OpenAI's chat completions (`backend: chat`), each with its published prompt:

- Bespoke-MiniCheck-7B and Granite Guardian 3.3 and 4.1 are asked about each claim;
- Lynx is asked about each claim as if it were the whole answer, with the question;
- LettuceDetect's generative models are asked once about the answer, and quote the spans without
  support with their kind: a contradiction, an invented reference or an addition.

A claim's score is 1 - the greatest support by any chunk of any reference; for a classifier of
tokens, the greatest probability among the claim's own tokens. If the passages exceed the model's
input, they are divided into groups, and a token counts as supported if one group supports it; the
code released with LettuceDetect requires all groups to support it, and so flags everything that is
not in each of them. Spans that a chat model quotes score 1. Claims, and answers, longer than half
of the model's input are divided; a claim is as supported as its least supported part.

Cost: no calls of your LLM; LettuceDetect reads each answer once, the others each claim with each
chunk, or with all documents. Good at: statements that an answer adds to its documents. Bad at:
conclusions from several chunks together, and languages other than English, the training language of
most of these models.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

import anyio.to_thread
from pydantic import Field, model_validator

from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.errors import ConfigurationError
from resay.models import ModelField, chat_model, config_of, text_classifier, token_classifier
from resay.models.files import folder_of, kind_of, separator_of
from resay.scorers.base import (
    Need,
    SampleConfig,
    ScorerTraits,
    WordsFirst,
    require_documents,
)
from resay.scorers.common.guardian import guardian_version
from resay.scorers.evidence import Evidence
from resay.scorers.grounding.answer_classifier import AnswerClassifier
from resay.scorers.grounding.chat_claims import ChatClaims
from resay.scorers.grounding.chat_prompts import Bespoke, GraniteGuardian, Lynx
from resay.scorers.grounding.chat_spans import ChatSpans
from resay.scorers.grounding.claim_classifier import ClaimClassifier, InputFormat, WordCount
from resay.scorers.grounding.formats import (
    CHAT_FORMATS,
    Format,
    format_of,
    known_format,
)

_CHUNK_TOKENS, _CHUNK_WORDS, _FACTCG_WORDS = 400, 500, 550
_LETTUCE_TOKENS = 4096
_HHEM_PREMISE = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: "
_HHEM_HYPOTHESIS = "\n\nHypothesis: "
_FACTCG_QUESTION = '\n\nChoose your answer: based on the paragraph above can we conclude that "'
_FACTCG_OPTIONS = '"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '


class Grounding:
    """Scores claims by a model trained to check them against references."""

    name: ClassVar[str] = "grounding"
    needs: frozenset[Need] = frozenset({"references"})

    class Config(SampleConfig):
        """Settings of `grounding`."""

        method: Literal["grounding"] = "grounding"
        # The settings are frozen, so narrowing the allowed values is safe.
        evidence: Literal["references", "documents"] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
            default="references",
            description="What to compare with: references that are passed; or all documents of the"
            " request, and its citations too.",
        )
        words_first: WordsFirst = False
        model: ModelField = Field(
            default="lytang/MiniCheck-Flan-T5-Large",
            description="A model trained to tell whether a document supports a text: a folder or a"
            " model on the Hugging Face hub, or a mapping with settings.",
        )
        format: Literal["auto", Format] = Field(
            default="auto",
            description="The model's input format; auto = detect it from the model.",
        )
        chunk: int | None = Field(
            default=None,
            ge=16,
            description="The number of tokens of a document to read at once; null = as published:"
            " 400 for MiniCheck, or 500 words for its T5; 550 words for FactCG; the model's maximum"
            " for HHEM; 4,096 for LettuceDetect, including question and answer; for chat models"
            " words, and null = all of it.",
        )

        @model_validator(mode="after")
        def _must_set_what_is_used(self) -> Grounding.Config:
            require_documents(self.words_first, self.evidence)
            return self

    def __init__(self, config: Grounding.Config | None = None) -> None:
        self.config = config or self.Config()
        self._model = config_of(self.config.model)
        at_hand = self._model.remote or folder_of(self._model) is not None
        self._format = known_format(self.config.format, self._model)
        if self._format is None and at_hand:
            self._format = format_of(self._model)
        # Those that read the whole answer need its end.
        by_answer = ("lettucedetect", "lettucedetect_chat", None)
        self.traits = ScorerTraits(by_sentence=self._format not in by_answer)
        self._classifier: _Classifier | None = None
        if self._format in CHAT_FORMATS and self._model.backend != "chat":
            raise ConfigurationError(
                f"`format: {self._format}` is of a chat model; set `model` to a mapping with"
                " `backend: chat`, `name` and `url`"
            )
        if at_hand or self._format in ("hhem", "lettucedetect"):
            self._classifier = self._classifier_of_format()
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
            evidence: The references, and the request for its question.

        Returns:
            Scores, with the unsupported spans if the model classifies tokens.

        Raises:
            ConfigurationError: The model cannot be loaded, or was not trained for this.
            ScorerError: The model failed.
        """
        if not await evidence.references.all():
            return Scores((None,) * len(passage.sentences))
        classifier = await self._ready()
        return await classifier.score(passage, evidence)

    async def _ready(self) -> _Classifier:
        if self._classifier is None:
            # Looking up a model on the hub uses the network.
            self._classifier = await anyio.to_thread.run_sync(self._classifier_of_format)
        return self._classifier

    def _classifier_of_format(self) -> _Classifier:
        chosen = self._format or format_of(self._model)
        if chosen in CHAT_FORMATS:
            return self._chat(chosen)
        if chosen == "lettucedetect":
            return AnswerClassifier(
                token_classifier(self._model), self.config.chunk or _LETTUCE_TOKENS
            )
        if chosen == "hhem":
            model = text_classifier(self._model, "token_classification")
            form = InputFormat(_HHEM_PREMISE, _HHEM_HYPOTHESIS)
            return ClaimClassifier(model, form, self.config.chunk, model)
        if chosen == "factcg":
            model = text_classifier(self._model, "classification")
            form = InputFormat("", _FACTCG_QUESTION, _FACTCG_OPTIONS, by_line=True)
            measure = WordCount(marks=True) if self.config.chunk is None else model
            return ClaimClassifier(model, form, self.config.chunk or _FACTCG_WORDS, measure)
        return self._minicheck()

    def _chat(self, chosen: str) -> _Classifier:
        model = chat_model(self._model)
        if chosen == "lettucedetect_chat":
            return ChatSpans(model)
        if chosen == "bespoke":
            return ChatClaims(model, Bespoke(), self.config.chunk)
        if chosen == "lynx":
            return ChatClaims(model, Lynx(), self.config.chunk)
        return ChatClaims(model, GraniteGuardian(guardian_version(self._model)), self.config.chunk)

    def _minicheck(self) -> _Classifier:
        if self._model.remote:
            own = "separator" in self._model.model_fields_set
            between = self._model.separator if own else "</s>"
            kind = "classification"
        else:
            between, kind = separator_of(self._model), kind_of(self._model)
        if kind == "first_token":
            model = text_classifier(self._model, kind)
            form, words = InputFormat("predict: ", between), self.config.chunk is None
            measure = WordCount() if words else model
            return ClaimClassifier(model, form, self.config.chunk or _CHUNK_WORDS, measure)
        model = text_classifier(self._model, "classification")
        return ClaimClassifier(
            model, InputFormat("", between), self.config.chunk or _CHUNK_TOKENS, model
        )


class _Classifier(Protocol):
    async def prepare(self) -> None: ...

    async def score(self, passage: Passage, evidence: Evidence) -> Scores: ...
