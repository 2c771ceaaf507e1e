"""The policy: its sections, and how it is read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from resay._internal.importing import import_named
from resay._internal.strict import LazyMapping, LazySection, OneOf, Shorthand, Strict
from resay.core.request import Request
from resay.core.segmentation.choices import Splitter
from resay.errors import ConfigurationError, PolicyError
from resay.policy.actions import Annotate, Block, MarkStyle
from resay.policy.document import Document, truncated
from resay.policy.limits import Limits
from resay.policy.mapping import copy_mapping
from resay.policy.origin import Origin
from resay.policy.references import ReferencesConfig
from resay.policy.sampling import Sampling
from resay.policy.schema import allow_auto, with_definitions, with_variables
from resay.policy.step import Step
from resay.policy.structured import Structured
from resay.policy.threshold import Threshold
from resay.providers.batching.config import CallsConfig, LiveCallsConfig, calls_configs
from resay.providers.caching import CacheConfig, MemoryCacheConfig, cache_configs
from resay.providers.prices import Prices
from resay.scorers import ScorerConfig, scorer_class

if TYPE_CHECKING:
    from resay.policy.auto import ChainBudget
    from resay.policy.journal import JournalConfig
    from resay.policy.lookups import LookupsConfig
    from resay.policy.observers import ObserverConfig
    from resay.policy.regenerate import Regenerate
    from resay.scorers.common.second_opinion import SecondOpinion
    from resay.scorers.gate import When
else:
    # Few policies have these sections.
    ChainBudget = Annotated[Any, LazySection("resay.policy.auto:ChainBudget")]
    JournalConfig = Annotated[Any, LazySection("resay.policy.journal:JournalConfig")]
    LookupsConfig = Annotated[Any, LazySection("resay.policy.lookups:LookupsConfig")]
    ObserverConfig = Annotated[Any, LazySection("resay.policy.observers:ObserverConfig")]
    Regenerate = Annotated[Any, LazySection("resay.policy.regenerate:Regenerate")]
    SecondOpinion = Annotated[Any, LazySection("resay.scorers.common.second_opinion:SecondOpinion")]
    When = Annotated[Any, LazySection("resay.scorers.gate:When")]

StreamMode = Literal["hold", "after", "buffer"]
_SOURCE = "<policy>"
_DEFAULT = "default.yaml"
POLICY_VARIABLE = "RESAY_POLICY"
"""The environment variable that names the policy file in place of the default policy."""


_ACTIONS = {
    "annotate": "resay.policy.actions:Annotate",
    "block": "resay.policy.actions:Block",
    "regenerate": "resay.policy.regenerate:Regenerate",
}


def _actions() -> Mapping[str, type[BaseModel]]:
    return LazyMapping(_ACTIONS, lambda name: import_named(_ACTIONS[name]))


class Policy(Strict):
    """A policy: what to check, how, and what to do with the result.

    A policy is immutable and may be shared between threads. Policies with equal settings are equal.
    """

    version: Literal[1] = Field(default=1, description="The version of this format.")
    sampling: Sampling = Field(
        default=Sampling.with_defaults(), description="How samples are drawn."
    )
    chain: tuple[Step, ...] = Field(
        min_length=1,
        strict=False,
        description="The methods, in the order in which they run; a name is short for the method of"
        " that name, auto = the best known chain that fits `budget`, with its number of samples.",
        json_schema_extra=allow_auto,
    )
    budget: ChainBudget | None = Field(
        default=None,
        description="The budget for `chain: auto`; null = the defaults.",
    )
    second_opinion: Annotated[SecondOpinion | None, Shorthand("model")] = Field(
        default=None,
        description="Another model to ask for a second opinion after the chain has run; a string is"
        " short for the model of that name, null = none.",
    )
    threshold: Annotated[Threshold, Shorthand("passage", "sentence", kind="number")] = Field(
        default=Threshold.with_defaults(),
        description="The scores above which the response or a sentence is flagged; a number is"
        " short for both.",
    )
    action: Annotated[
        Annotate | Block | Regenerate,
        OneOf("action", "do", _actions, short=lambda name: {"do": name}),
    ] = Field(
        default=Annotate.with_defaults(),
        description="What to do with a flagged response; a name is short for the action of that"
        " name.",
    )
    references: ReferencesConfig = Field(
        default=ReferencesConfig.with_defaults(),
        description="The trusted texts to compare answers with first.",
    )
    lookups: LookupsConfig | None = Field(
        default=None,
        description="Look-ups of packages, links and DOIs that an answer names, which flag what"
        " does not exist; null = none.",
    )
    limits: Limits = Field(default=Limits.with_defaults(), description="Limits for a check.")
    prices: Prices = Field(
        default_factory=Prices,
        description="Prices by model name, as used in calls. They override litellm's list.",
    )
    calls: Annotated[CallsConfig, OneOf("way to ask", "via", calls_configs)] = Field(
        default=LiveCallsConfig.with_defaults(),
        description="How to call models for samples and judges' answers: live, or through the"
        " providers' Batch APIs.",
    )
    cache: Annotated[
        CacheConfig, OneOf("store", "store", cache_configs, short=lambda store: {"store": store})
    ] = Field(
        default=MemoryCacheConfig.with_defaults(),
        description="The cache of samples and judges' answers.",
    )
    journal: JournalConfig | None = Field(
        default=None, description="The journal that records verdicts; null = none."
    )
    observers: tuple[ObserverConfig, ...] = Field(
        default=(), strict=False, description="The tools to which verdicts are pushed."
    )
    when: When | None = Field(default=None, description="Which responses to check; null = all.")
    stream_mode: StreamMode = Field(
        default="hold",
        description="When to release the text of a streamed answer: each sentence once it is scored"
        " (hold), immediately (after), or all at the end (buffer).",
    )
    structured: Structured = Field(
        default=Structured.with_defaults(),
        description="How to check answers that are objects instead of prose.",
    )
    tools: Literal["none", "arguments"] = Field(
        default="none",
        description="How to handle an answer that calls tools: pass it on unchecked, or compare the"
        " arguments of its calls field by field with those of the samples, and report values"
        " that are neither in the conversation nor in a tool result. No tool is run. Exclude"
        " fields with `structured.ignore`: `get_weather.unit`.",
    )
    splitter: Splitter = Field(
        default="builtin",
        description="The sentence splitter; sentencex needs resay[sentencex].",
    )
    on_uncheckable: Literal["auto", "refuse", "inconclusive", "skip"] = Field(
        default="auto",
        description="What to do with a request whose answer cannot be checked, for example because"
        " it must not be repeated for samples: refuse it before it is sent (refuse), send it and"
        " treat its answer as inconclusive and unscored (inconclusive), or skip the check (skip);"
        " auto = refuse if anything in the policy says `block`, else skip.",
    )
    on_error: Literal["allow", "annotate", "block"] = Field(
        default="annotate", description="The action for an inconclusive verdict or a failed check."
    )
    on_unscored: Literal["allow", "annotate", "block"] = Field(
        default="annotate",
        description="The action for an answer that is not flagged but has an unscored part, such as"
        " code or a formula; block withholds every such answer.",
    )
    claims: Literal["units", "model"] = Field(
        default="units",
        description="What to score: what the writer made, such as sentences, list items and the"
        " cells of tables (units); or single statements of these, as the model that wrote the"
        " answer splits them in one more call (model).",
    )
    non_claims: Annotated[
        str, Field(pattern=r"^(skip|score|[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*)$")
    ] = Field(
        default="skip",
        description="Whether to skip or score sentences that claim nothing: greetings, filler,"
        " refusals, questions to the user, poems, labels and similar. `package.module:function`"
        " names your own function that finds more of them.",
    )

    code: Literal["none", "names"] = Field(
        default="none",
        description="How to check code: not at all, or compare the external names it uses"
        " (packages, their functions, command flags) with those in the samples' code, without"
        " calls.",
    )

    @model_validator(mode="before")
    @classmethod
    def _may_write_the_chain_short(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        policy = cast("Mapping[str, object]", data)
        chain = policy.get("chain")
        if isinstance(chain, str) and chain != "auto":
            return {**policy, "chain": [chain]}
        if chain != "auto":
            return policy
        # Few policies leave the choice to us.
        from resay.policy.auto import with_chain

        return with_chain(policy)

    @model_validator(mode="after")
    def _budget_must_have_a_use(self) -> Policy:
        if self.budget is not None:
            from resay.policy.auto import check_budget_use

            check_budget_use(self.budget, self.chain, self.sampling.max)
        return self

    @field_validator("chain")
    @classmethod
    def _must_begin_with_scores(cls, chain: tuple[ScorerConfig, ...]) -> tuple[ScorerConfig, ...]:
        if "scores" in getattr(scorer_class(chain[0]), "needs", ()):
            raise ValueError(
                f"{chain[0].method_name} corrects the scores of the steps before it; put another"
                " method first"
            )
        return chain

    @field_validator("stream_mode")
    @classmethod
    def _must_be_able_to_change_the_answer(
        cls, stream_mode: StreamMode, info: ValidationInfo
    ) -> StreamMode:
        action: Annotate | Block | Regenerate | None = info.data.get("action")
        if stream_mode == "after" and action is not None and action.do == "regenerate":
            raise ValueError(
                "with `after`, the answer is shown before it can be regenerated; use `hold` or"
                " `buffer`"
            )
        if isinstance(action, Annotate):
            problem = marks_problem(action.marks, stream_mode)
            if problem is not None:
                raise ValueError(problem)
        return stream_mode

    @field_validator("version", mode="before")
    @classmethod
    def _must_be_a_number(cls, value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError("literal_error", {"expected": "1"})
        return value

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that differ for policies with other settings."""
        settings = self.model_dump(mode="json", fallback=repr)
        text = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def can_withhold(self) -> bool:
        """Whether users may get something other than the model's own words."""
        return self.action.do != "annotate" or "block" in {self.on_error, self.on_unscored}

    @property
    def needs_retriever(self) -> bool:
        """Whether the application has to pass a retriever."""
        action = self.action
        if action.do != "regenerate":
            return False
        return action.from_ == "documents" and action.retriever is None

    @property
    def last_resort(self) -> Annotate | Block:
        """What happens to an answer that is flagged in the end."""
        return self.action.otherwise if self.action.do == "regenerate" else self.action

    @property
    def mark_style(self) -> MarkStyle:
        """How the text of an answer with a caveat is marked."""
        action = self.last_resort
        return action.marks if isinstance(action, Annotate) else "none"

    @property
    def for_uncheckable(self) -> Literal["refuse", "inconclusive", "skip"]:
        """What to do with a request whose answer cannot be checked."""
        if self.on_uncheckable != "auto":
            return self.on_uncheckable
        blocks = "block" in {self.last_resort.do, self.on_error, self.on_unscored}
        return "refuse" if blocks else "skip"

    @cached_property
    def origin(self) -> Origin:
        """The file that it was read from, which changes nothing of what it does."""
        return Origin()

    @contextmanager
    def locating(self, *path: str | int) -> Generator[None]:
        """Say in configuration errors where in the policy's file the key is that they are about.

        Args:
            path: The path of the key.
        """
        try:
            yield
        except PolicyError:
            raise
        except ConfigurationError as error:
            error.args = (self.origin.located(str(error), path),)
            raise

    def __hash__(self) -> int:
        # Only fields that are always hashable; a scorer's configuration may contain anything.
        methods = tuple(type(step) for step in self.chain)
        return hash(
            (self.sampling, methods, self.threshold, self.action, self.limits, self.on_error)
        )

    @property
    def named_models(self) -> tuple[tuple[str, str], ...]:
        """The models named in addition to the answering one, as pairs of setting and model."""
        settings: list[tuple[str, str | None]] = [("sampling.model", self.sampling.model)]
        if self.second_opinion is not None:
            settings.append(("second_opinion", self.second_opinion.model))
        steps = self.chain
        if self.action.do == "regenerate":
            steps += self.action.recheck or ()
            settings.append(("action.writer", self.action.writer))
        settings += [(f"the judge of method {s.method_name!r}", s.named_judge) for s in steps]
        return tuple((setting, model) for setting, model in settings if model is not None)

    @property
    def named_requests(self) -> tuple[Request, ...]:
        """Requests without messages to the models of `named_models`, with their parameters."""
        return tuple(request for _, request in self.located_requests)

    @property
    def located_requests(self) -> tuple[tuple[tuple[str | int, ...], Request], ...]:
        """The requests of `named_requests`, each with the path of the key that names its model."""
        located: list[tuple[tuple[str | int, ...], Request]] = []
        if self.sampling.model is not None:
            request = Request((), self.sampling.model, self.sampling.params)
            located.append((("sampling", "model"), request))
        if self.second_opinion is not None:
            second = self.second_opinion
            located.append((("second_opinion",), Request((), second.model, second.params)))
        if self.action.do == "regenerate" and self.action.writer is not None:
            located.append((("action", "writer"), Request((), self.action.writer)))
        for index, step in enumerate(self.chain):
            located += [(("chain", index), request) for request in step.judge_requests]
        if self.action.do == "regenerate":
            for index, step in enumerate(self.action.recheck or ()):
                path = ("action", "recheck", index)
                located += [(path, request) for request in step.judge_requests]
        return tuple(located)

    @classmethod
    def configured(cls) -> Policy:
        """Return the policy that the environment variable `RESAY_POLICY` names, or the default.

        Raises:
            PolicyError: The file cannot be read or is not a valid policy.
        """
        path = os.environ.get(POLICY_VARIABLE)
        return cls.load(path) if path else cls.default()

    @classmethod
    def default(cls) -> Policy:
        """Return the default policy: a judge compares the claims with the samples.

        `default.yaml` next to this module defines it, and names the data its numbers are fitted to.
        """
        return _default()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy file.

        Args:
            path: The YAML file, in UTF-8. `${NAME}` in it is replaced by an environment variable.

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
        """Parse a policy's text.

        Args:
            text: YAML.
            source: The name of the text in error messages.
            env: Values for `${NAME}`; None for the environment variables.

        Returns:
            The policy.

        Raises:
            PolicyError: The policy is not valid; lists every problem with its line.
        """
        variables = os.environ if env is None else env
        # Policies made in Python are not read from YAML.
        from resay.policy.yaml_reader import read_yaml

        return cls._of_document(read_yaml(text, source=source, env=variables), source)

    @classmethod
    def of(cls, value: Policy | str | os.PathLike[str] | Mapping[str, Any] | None) -> Policy:
        """Convert a policy in any supported form to a `Policy`.

        Args:
            value: A policy, the path of a policy file, a mapping with the content of such a file
                (in which `${NAME}` has no meaning), or None for `configured()`.

        Returns:
            The policy.

        Raises:
            PolicyError: The policy is not valid.
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
            from resay.policy.problems import problems_of

            problems = [*problems, *problems_of(error, document, cls)]
        else:
            if not problems:
                if source not in (_SOURCE, _DEFAULT):
                    vars(policy)["origin"] = Origin.of_document(document, source)
                return policy
        # Raised outside the handler, so that the traceback does not contain the values.
        problems = sorted(problems, key=lambda problem: problem.line or 0)
        raise PolicyError(list(dict.fromkeys(problem.text(source) for problem in problems)))


def marks_problem(style: MarkStyle, stream_mode: StreamMode) -> str | None:
    """Return why the text of streams cannot be marked in a style, or None if it can."""
    if style == "inline" and stream_mode == "after":
        return (
            "with `after`, sentences are shown before they can be marked (`marks: inline`); use"
            " `hold`, `buffer`, or `marks: footnotes`, which are then a list after the answer"
        )
    return None


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
        raise PolicyError([f"{_SOURCE}: expected a path, not text; use Policy.parse for text"])
    from resay.policy.yaml_reader import read_text

    try:
        return read_text(Path(name), name)
    except ValueError:
        # A null character, which no file name can contain.
        raise PolicyError([f"{_SOURCE}: {truncated(name)} is not a path"]) from None


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, for editors.

    Returns:
        A schema of draft 2020-12. It covers every installed method, and accepts `${NAME}` in place
        of any value that is not text.
    """
    schema = with_definitions(with_variables(Policy.model_json_schema()))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
