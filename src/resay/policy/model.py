"""The policy, typed: its sections, their defaults, and its JSON Schema."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from resay._internal.importing import is_import_path
from resay._internal.strict import Found, OneOf, Strict
from resay.core.passage import Splitter
from resay.core.references import KINDS, is_path
from resay.core.verdict import Band, over
from resay.errors import PolicyError
from resay.policy.document import Document, copy_mapping, problems_of, shortened
from resay.policy.journal import JournalConfig
from resay.policy.reading import read_text, read_yaml, with_variables
from resay.providers.batching import CallsConfig, LiveCallsConfig, calls_configs
from resay.providers.caching import CacheConfig, MemoryCacheConfig, cache_configs
from resay.providers.prices import Price, Prices
from resay.providers.shared_limits import SharedLimitsConfig
from resay.retrieval import RetrieverConfig, retriever_configs
from resay.scorers import IMPORTED, ScorerConfig, registry, scorer_class
from resay.scorers.gate import When

__all__ = [
    "Allowance",
    "Annotate",
    "Block",
    "Finish",
    "Limits",
    "Params",
    "Policy",
    "Price",
    "Prices",
    "ProcessLimits",
    "Regenerate",
    "Sampling",
    "Step",
    "StreamMode",
    "Structured",
    "Threshold",
    "allowance",
    "default_text",
    "policy_schema",
]


def _place(value: object) -> object:
    if value in KINDS or (isinstance(value, str) and (is_path(value) or is_import_path(value))):
        return value
    raise PydanticCustomError(
        "reference_place",
        "must be one of {kinds}, a path such as `messages[*].metadata.docs`, or"
        " `package.module:function`",
        {"kinds": ", ".join(f"'{kind}'" for kind in KINDS)},
    )


_From = Annotated[
    str,
    BeforeValidator(_place),
    WithJsonSchema({"anyOf": [{"enum": list(KINDS)}, {"type": "string", "pattern": r"[.:\[]"}]}),
]


class ReferencesOf(Strict):
    """What trusted texts answers are held against, and what is made of what they do not mention."""

    # `from` is no name in Python, and what is written down there has the other.
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: tuple[_From, ...] = Field(
        default=KINDS,
        alias="from",
        strict=False,
        description="Where references are taken from: what is passed as `references`, context in"
        " the conversation, what tools returned, documents in a provider's own field, and what a"
        " retriever found; an empty list = nowhere. Places of your own are named by a path in the"
        " request, such as `messages[*].metadata.docs`, or by a function that finds them,"
        " `package.module:function`.",
    )
    by: Literal["auto", "judge", "words"] = Field(
        default="auto",
        description="Who compares: a judge, in one call; numbers, names and words; or a judge where"
        " the chain has one.",
    )
    unmentioned: Literal["auto", "flag", "samples"] = Field(
        default="auto",
        description="What is done about a claim that no reference mentions: it is flagged, or"
        " compared with samples; or flagged where the answer is to be written from the references.",
    )


def _configs() -> Mapping[str, type[BaseModel]]:
    scorers = registry()
    return Found(scorers, lambda name: scorers[name].Config)


Step = Annotated[ScorerConfig, OneOf("method", "method", _configs, imported=IMPORTED)]
"""A method with its settings."""
_WITHHELD = "Sorry, this answer was withheld because it could not be confirmed."
StreamMode = Literal["hold", "after", "buffer"]
Finish = Literal["content_filter", "stop"]
Unit = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
AutoLimit = Annotated[int, Field(ge=1)] | Literal["auto"] | None


class Params(Mapping[str, Any]):
    """Provider parameters that nobody can change, and whose values `repr` leaves out."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Params({', '.join(f'{key}=…' for key in self._items)})"


def _default_min(data: dict[str, Any]) -> int:
    return min(3, data.get("max", 3))


class Sampling(Strict):
    """How the model is asked again."""

    max: int = Field(default=5, ge=1, le=100, description="Draw at most this many samples.")
    min: int = Field(
        default_factory=_default_min,
        ge=1,
        le=100,
        description="Look at this many samples before stopping early; by default 3, or max where "
        "that is less.",
        json_schema_extra={"default": 3},
    )
    confidence: float | None = Field(
        default=0.99,
        gt=0.5,
        le=1,
        description="Stop drawing samples, and comparing with them, once the decision that all of"
        " them would give is settled with this probability; 1 = only when nothing could change it,"
        " null = always draw max.",
    )
    ahead: int = Field(
        default=0,
        ge=0,
        le=100,
        description="Draw this many samples more than are looked at now: they are there at once"
        " when they are needed, and paid for when they are not.",
    )
    temperature: float | None = Field(
        default=None,
        gt=0,
        le=2,
        description="The samples' temperature; null = the provider's default. At 0 every sample "
        "would be the same text, and many current models refuse the parameter.",
    )
    start: Literal["together", "after"] = Field(
        default="together",
        description="When to draw samples: together with the main call, which is faster, or after "
        "it, which costs nothing when no sample is needed. Questions that may call tools or change"
        " what the provider stores are always sampled after it.",
    )
    via: Literal["auto", "litellm", "native"] = Field(
        default="auto",
        description="How an adapter asks again: through litellm, as the same provider with the same"
        " key, or with the application's own client (native); auto = through litellm where the"
        " client's settings can be carried over faithfully.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Who draws the samples, in litellm's notation; null = the model that wrote "
        "the response.",
    )
    params: Annotated[Mapping[str, Any], AfterValidator(Params), PlainSerializer(dict)] = Field(
        default_factory=Params,
        description="Further parameters the provider takes for samples, such as max_tokens.",
    )

    def __hash__(self) -> int:
        return hash((self.max, self.min, self.confidence, self.temperature, self.start, self.model))

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Sampling:
        if self.min > self.max:
            raise ValueError(f"min ({self.min!r}) must not be greater than max ({self.max!r})")
        return self


class Threshold(Strict):
    """From which score on something is flagged."""

    passage: Unit | None = Field(
        default=0.5,
        description="Flag the response when its score is above this; null = do not look at it.",
    )
    sentence: Unit | None = Field(
        default=0.5,
        description="Flag a sentence when its score is above this; null = look at none.",
    )
    doubtful: Unit | None = Field(
        default=None,
        description="Call a sentence doubtful, without flagging it, when its score is above this;"
        " null = what is not flagged is supported.",
    )

    @model_validator(mode="after")
    def _must_flag_something(self) -> Threshold:
        if self.passage is None and self.sentence is None:
            raise ValueError("passage and sentence must not both be null; nothing could be flagged")
        if self.doubtful is not None and (self.sentence is None or self.doubtful >= self.sentence):
            raise ValueError(
                f"doubtful ({self.doubtful!r}) must be less than sentence ({self.sentence!r})"
            )
        return self

    def band(self, score: float | None) -> Band | None:
        """Return what the score of a sentence or claim means; None where there is none to go by."""
        if score is None or self.sentence is None:
            return None
        if over(score, self.sentence):
            return "contradicted"
        return "doubtful" if over(score, self.doubtful) else "supported"

    @property
    def passage_alone(self) -> float | None:
        """The passage's, where its mean may be above it and no sentence is flagged; or None."""
        if self.passage is None or self.sentence is None or self.passage < self.sentence:
            return self.passage
        return None


class Structured(Strict):
    """What is done with answers that are objects in place of prose."""

    check: Literal["fields", "none"] = Field(
        default="fields",
        description="Compare the object field by field with those of the samples, in place of the"
        " chain, or do not check it.",
    )
    ignore: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(),
        strict=False,
        description="Fields that are not compared, with what is in them: `id`, `items[].sku`.",
    )


class Annotate(Strict):
    """Return the response with its verdict."""

    do: Literal["annotate"] = Field(
        default="annotate", description="Return the response with its verdict."
    )


class Block(Strict):
    """Withhold a flagged response."""

    do: Literal["block"] = Field(default="block", description="Withhold a flagged response.")
    exit: Literal["replace", "raise"] = Field(
        default="replace",
        description="Return the message in its place, or raise HallucinationBlocked.",
    )
    message: str = Field(
        default=_WITHHELD, min_length=1, description="What is said in place of a withheld response."
    )
    finish: Finish = Field(
        default="content_filter",
        description="How a withheld answer ends for clients of an API: as one that a filter stopped"
        " (`finish_reason: content_filter`, `status: incomplete`, `stop_reason: refusal`), or as a"
        " completed one (`stop`, `completed`, `end_turn`), for clients that take the first for an"
        " error.",
    )


class ProcessLimits(Strict):
    """What all checks of this process may take together."""

    concurrency: int | None = Field(
        default=None, ge=1, le=10_000, description="Calls at the same time; null = no limit."
    )
    calls_per_minute: int | None = Field(
        default=None, ge=1, description="Calls within any minute; null = no limit."
    )


class Limits(Strict):
    """What a check may take."""

    deadline_s: Seconds | None = Field(
        default=120.0, description="Seconds a whole guarded request may take; null = no limit."
    )
    timeout_s: Seconds | None = Field(
        default=60.0,
        description="Seconds one call of the check, a sample or a judge's answer, may take; "
        "null = no limit.",
    )
    calls: AutoLimit = Field(
        default="auto",
        description="Calls one check may make, those tried again included; auto = 100, and 2 for"
        " each sentence and sample (counting at least 10 samples), at most 1,000; null = no limit.",
    )
    tokens: AutoLimit = Field(
        default="auto",
        description="Tokens one check may have read and written; auto = 50,000, and 1,000 for each"
        " sentence and sample (counting at least 10 samples), at most 500,000, and what the length"
        " of the question and the references takes; null = no limit.",
    )
    cost_usd: float | None = Field(
        default=None, gt=0, description="Dollars one check may cost; null = no limit."
    )
    concurrency: int = Field(
        default=16, ge=1, le=1000, description="Calls of one check at the same time."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="How often a failed call is tried again."
    )
    process: ProcessLimits = Field(
        default=ProcessLimits(),
        description="What all checks of this process may take together.",
    )
    shared: SharedLimitsConfig | None = Field(
        default=None,
        description="What the checks of several processes and machines may take together, by way"
        " of Redis; needs resay[redis]. null = each process has limits of its own.",
    )


def _otherwise() -> Mapping[str, type[BaseModel]]:
    return {"annotate": Annotate, "block": Block}


class Regenerate(Strict):
    """Repair a flagged response by what is found about it."""

    do: Literal["regenerate"] = Field(
        default="regenerate", description="Repair a flagged response by documents that are found."
    )
    retriever: (
        Annotated[
            RetrieverConfig,
            OneOf(
                "retriever",
                "kind",
                retriever_configs,
                short=lambda name: {"kind": "function", "name": name},
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Where documents are found; a text is short for the function of that name, null"
        " = the retriever that the application gives.",
    )
    mode: Literal["repair", "rewrite"] = Field(
        default="repair",
        description="Replace or remove the flagged sentences and leave the rest as it is (repair),"
        " or write the whole answer again (rewrite).",
    )
    attempts: int = Field(
        default=2, ge=1, le=5, description="How often a better answer is tried for."
    )
    otherwise: Annotated[
        Annotate | Block, OneOf("action", "do", _otherwise, short=lambda name: {"do": name})
    ] = Field(
        default=Annotate(),
        description="What to do with the best answer there is when even that is flagged, or could"
        " not be checked; a text is short for the action of that name.",
    )
    k: int = Field(default=3, ge=1, le=50, description="How many documents each search gives.")
    max_documents: int = Field(
        default=6, ge=1, le=50, description="How many documents the model reads at the most."
    )
    max_chars: int = Field(
        default=12_000,
        ge=500,
        description="How many characters of documents the model reads at the most.",
    )
    timeout_s: Seconds = Field(default=10.0, description="Seconds a search may take.")
    writer: str | None = Field(
        default=None,
        min_length=1,
        description="Who writes, in litellm's notation; null = the model that wrote the response.",
    )
    recheck: (
        Annotated[
            tuple[Step, ...],
            Field(min_length=1, strict=False),
        ]
        | None
    ) = Field(
        default=None,
        description="The methods that compare the new answer with the documents; null = those of"
        " `chain` that compare with samples, with the documents in their place, or `prompt` where"
        " there are none.",
    )
    resample: bool = Field(
        default=False,
        description="Whether to ask the model for the new answer several times too, and to check it"
        " with `chain` against those samples.",
    )
    edition: str | None = Field(
        default=None,
        min_length=1,
        description="Where a document's metadata has its edition or date: of documents that"
        " contradict each other, the newest is right; null = the first there is of `edition`,"
        " `version`, `date`, `updated` and the like.",
    )
    max_removed: Unit = Field(
        default=0.75,
        description="How much of an answer, by characters, may be removed because no document"
        " speaks of it; where it would be more, `otherwise` decides.",
    )
    abstention: str | None = Field(
        default="auto",
        min_length=1,
        description="What is said where nothing would be left of an answer; auto = that the"
        " documents do not say this, in the question's language, null = `otherwise` decides.",
    )
    citations: Literal["verdict", "marks"] = Field(
        default="verdict",
        description="Where the new answer's sources are named: in the verdict, or in the text too,"
        " as [1] with a list at the end.",
    )

    @field_validator("max_documents")
    @classmethod
    def _must_take_one_search(cls, most: int, info: ValidationInfo) -> int:
        k = info.data.get("k")
        if isinstance(k, int) and most < k:
            raise ValueError(f"must not be less than k ({k!r})")
        return most


_CALLS, _MOST_CALLS = 100, 1_000
_TOKENS, _MOST_TOKENS = 50_000, 500_000
_PAIR_CALLS, _PAIR_TOKENS = 2, 1_000
_LEAST_SAMPLES = 10
_READING_SENTENCES = 50
_REQUESTS_BESIDE = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a check may spend.

    Attributes:
        calls: How many calls.
        tokens: How many tokens, read and written.
    """

    calls: int
    tokens: int


def allowance(
    sentences: int, *, samples: int, question_tokens: int = 0, reference_tokens: int = 0
) -> Allowance:
    """Return what `auto` in `limits` stands for.

    A method may put each sentence beside each sample. For each such pair there are 2 calls and
    1,000 tokens, up to a ceiling, so that what an answer may cost does not grow with it for ever.
    What callers supply is read again with each sample, or each sentence, and comes on top: nobody
    who asks a long question is to be left without a check.

    Args:
        sentences: How many the answer has; fields, if it is an object.
        samples: How many there may be; fewer than 10 count as 10, for methods that need none.
        question_tokens: How long the question is, with all that is sent with it.
        reference_tokens: How long the references are, and the documents that a flagged answer is
            written again from.
    """
    pairs = sentences * max(samples, _LEAST_SAMPLES)
    given = (samples + _REQUESTS_BESIDE) * question_tokens
    given += min(sentences, _READING_SENTENCES) * reference_tokens
    return Allowance(
        min(_CALLS + _PAIR_CALLS * pairs, _MOST_CALLS),
        min(_TOKENS + _PAIR_TOKENS * pairs, _MOST_TOKENS) + 2 * given,
    )


_SOURCE = "<policy>"
_DEFAULT = "default.yaml"
_VARIABLE = "RESAY_POLICY"


def _actions() -> Mapping[str, type[BaseModel]]:
    return {"annotate": Annotate, "block": Block, "regenerate": Regenerate}


class Policy(Strict):
    """What to check, how, and what to do about it.

    A policy cannot be changed and may be shared between threads. Two that say the same are equal.
    """

    version: Literal[1] = Field(default=1, description="The version of this format.")
    sampling: Sampling = Field(default=Sampling(), description="How the model is asked again.")
    chain: tuple[Step, ...] = Field(
        min_length=1, strict=False, description="The methods, in the order in which they look."
    )
    threshold: Threshold = Field(
        default=Threshold(), description="From which score on something is flagged."
    )
    action: Annotated[Annotate | Block | Regenerate, OneOf("action", "do", _actions)] = Field(
        default=Annotate(), description="What to do with a flagged response."
    )
    references: ReferencesOf = Field(
        default=ReferencesOf(),
        description="What trusted texts answers are held against before anything else.",
    )
    limits: Limits = Field(default=Limits(), description="What a check may take.")
    prices: Prices = Field(
        default_factory=Prices,
        description="What models cost, by their names as they are asked; they go before those of"
        " litellm's list.",
    )
    calls: Annotated[CallsConfig, OneOf("way to ask", "via", calls_configs)] = Field(
        default=LiveCallsConfig(),
        description="How models are asked for samples and judges' answers: live, or through their"
        " providers' Batch APIs.",
    )
    cache: Annotated[CacheConfig, OneOf("store", "store", cache_configs)] = Field(
        default=MemoryCacheConfig(), description="Where samples and judges' answers are kept."
    )
    journal: JournalConfig | None = Field(
        default=None, description="Where verdicts are written down; null = nowhere."
    )
    when: When | None = Field(
        default=None, description="What is worth checking; null = everything."
    )
    stream: StreamMode = Field(
        default="hold",
        description="When the text of a streamed answer is released: each sentence once its own"
        " score is in (hold), as it comes (after), or all at the end (buffer).",
    )
    structured: Structured = Field(
        default=Structured(),
        description="What is done with answers that are objects in place of prose.",
    )
    tools: Literal["none", "arguments"] = Field(
        default="none",
        description="What is done with an answer that calls tools: it is passed on unchecked, or"
        " the arguments of its calls are compared field by field with those of the samples' calls,"
        " and values that neither the conversation nor a tool's result has are named. No tool is"
        " run. `structured.ignore` leaves fields out: `get_weather.unit`.",
    )
    splitter: Splitter = Field(
        default="builtin",
        description="What splits a response into sentences; sentencex needs resay[sentencex].",
    )
    on_error: Literal["allow", "annotate", "block"] = Field(
        default="annotate", description="What an inconclusive verdict or a failed check does."
    )
    unscored: Literal["allow", "annotate", "block"] = Field(
        default="annotate",
        description="What is done with an otherwise fine answer of which some was not scored, such"
        " as code or a formula; block withholds every answer with such a stretch.",
    )
    claims: Literal["none", "rules", "model"] = Field(
        default="rules",
        description="What is scored: each claim of a sentence by itself, as rules find them, or as"
        " the model that wrote the answer finds them, which is one more call; or whole sentences.",
    )
    non_claims: Annotated[
        str, Field(pattern=r"^(skip|score|[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*)$")
    ] = Field(
        default="skip",
        description="What is done with sentences that claim nothing: greetings, filler, refusals,"
        " questions to the user, poems, labels and the like: they are left out (skip) or scored."
        " `package.module:function` names a function of yours that finds more of them.",
    )

    code: Literal["none", "names"] = Field(
        default="none",
        description="What is done with code: nothing, or the names it uses of others (packages,"
        " what is called of them, flags of commands) are compared with those in the samples' code,"
        " without calls.",
    )

    @field_validator("chain")
    @classmethod
    def _must_begin_with_scores(cls, chain: tuple[ScorerConfig, ...]) -> tuple[ScorerConfig, ...]:
        if "scores" in getattr(scorer_class(chain[0]), "needs", ()):
            raise ValueError(
                f"{chain[0].method_name} corrects the scores of the steps before it; put another"
                " method first"
            )
        return chain

    @field_validator("stream")
    @classmethod
    def _must_be_able_to_change_the_answer(
        cls, stream: StreamMode, info: ValidationInfo
    ) -> StreamMode:
        if stream == "after" and isinstance(info.data.get("action"), Regenerate):
            raise ValueError(
                "an answer that was shown cannot be regenerated; write `hold` or `buffer`"
            )
        return stream

    @field_validator("version", mode="before")
    @classmethod
    def _must_be_a_number(cls, value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError("literal_error", {"expected": "1"})
        return value

    @property
    def can_withhold(self) -> bool:
        """Whether users may get something else than the model's own words."""
        return self.action.do != "annotate" or "block" in {self.on_error, self.unscored}

    def __hash__(self) -> int:
        # Only what is always hashable; a scorer's configuration may hold anything.
        methods = tuple(type(step) for step in self.chain)
        return hash(
            (self.sampling, methods, self.threshold, self.action, self.limits, self.on_error)
        )

    @property
    def named_models(self) -> tuple[tuple[str, str], ...]:
        """The models named beside the one that answers, each after the setting that names it."""
        named: list[tuple[str, str | None]] = [("sampling.model", self.sampling.model)]
        steps = self.chain
        if isinstance(self.action, Regenerate):
            steps = (*steps, *(self.action.recheck or ()))
            named.append(("action.writer", self.action.writer))
        named += [(f"the judge of method {s.method_name!r}", s.named_judge) for s in steps]
        return tuple((setting, model) for setting, model in named if model is not None)

    @classmethod
    def configured(cls) -> Policy:
        """Return the policy that the environment variable `RESAY_POLICY` names, or the default.

        Raises:
            PolicyError: The file it names cannot be read or is not a valid policy.
        """
        path = os.environ.get(_VARIABLE)
        return cls.load(path) if path else cls.default()

    @classmethod
    def default(cls) -> Policy:
        """Return the policy for those who have none: one judge's answer for each sample.

        It is what `default.yaml` beside this module says, with the data its numbers are fitted to.
        """
        return _default()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file.

        Args:
            path: The YAML file, in UTF-8. `${NAME}` in it stands for an environment variable.

        Returns:
            The policy.

        Raises:
            PolicyError: The file cannot be read or is not a valid policy.
        """
        return cls.parse(_text_of(path), source=os.fspath(path))

    @classmethod
    def parse(
        cls, text: str, *, source: str = _SOURCE, env: Mapping[str, str] | None = None
    ) -> Policy:
        """Read a policy's text.

        Args:
            text: YAML.
            source: What to call it in messages.
            env: What `${NAME}` stands for; None for the environment variables.

        Returns:
            The policy.

        Raises:
            PolicyError: It is not a valid policy; every problem is in it, with its line.
        """
        return cls._of_document(
            read_yaml(text, source=source, env=os.environ if env is None else env), source
        )

    @classmethod
    def of(cls, value: Policy | str | os.PathLike[str] | Mapping[str, Any] | None) -> Policy:
        """Make a policy from whatever describes one.

        Args:
            value: A policy, the path of a policy file, a mapping as such a file would hold it
                (in which `${NAME}` has no meaning), or None for `configured()`.

        Returns:
            The policy.

        Raises:
            PolicyError: It is not a valid policy.
        """
        if isinstance(value, Policy):
            return value
        if value is None:
            return cls.configured()
        if isinstance(value, Mapping):
            return cls._of_document(copy_mapping(value, source=_SOURCE), _SOURCE)
        return cls.load(value)

    @classmethod
    def _of_document(cls, document: Document, source: str) -> Policy:
        problems = document.problems
        try:
            policy = cls.model_validate(document.data)
        except ValidationError as error:
            problems = [*problems, *problems_of(error, document, cls)]
        else:
            if not problems:
                return policy
        # Outside of the handler, so that no traceback drags the values along.
        problems = sorted(problems, key=lambda problem: problem.line or 0)
        raise PolicyError(list(dict.fromkeys(problem.text(source) for problem in problems)))


def default_text() -> str:
    """Return the text of the default policy."""
    return (resources.files("resay.policy") / _DEFAULT).read_text(encoding="utf-8")


@cache
def _default() -> Policy:
    return Policy.parse(default_text(), source=_DEFAULT, env={})


def _text_of(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        kind = type(path).__qualname__
        raise PolicyError([f"{_SOURCE}: must be a path, a mapping or a Policy, not {kind!r}"])
    name = os.fspath(path)
    if "\n" in name:
        raise PolicyError([f"{_SOURCE}: a path was expected, not text; use Policy.parse for text"])
    try:
        return read_text(Path(name), name)
    except ValueError:
        # A null character, which no file name can have.
        raise PolicyError([f"{_SOURCE}: {shortened(name)} is not a path"]) from None


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, for editors.

    Returns:
        A schema of draft 2020-12. It covers every method that is installed, and takes `${NAME}`
        wherever a value is expected that is not text.
    """
    schema = with_variables(Policy.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
