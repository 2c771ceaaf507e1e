"""What a policy can say, typed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticKnownError

from resay._internal.strict import Strict
from resay._internal.tagged_union import OneOf
from resay.core.passage import Splitter
from resay.errors import PolicyError
from resay.policy.document import Document, copy_mapping, shortened
from resay.policy.problems import problems_of
from resay.policy.reading import read_text, read_yaml
from resay.policy.regenerating import Regenerate
from resay.policy.schema import with_variables
from resay.policy.sections import (
    Annotate,
    Block,
    Finish,
    Limits,
    Params,
    ProcessLimits,
    Sampling,
    StreamMode,
    Structured,
    Threshold,
)
from resay.policy.steps import Step
from resay.providers.caching import CacheConfig, MemoryCacheConfig, cache_configs
from resay.providers.prices import Price, Prices
from resay.scorers import ScorerConfig, registry
from resay.scorers.gate import When

__all__ = [
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
    "StreamMode",
    "Structured",
    "Threshold",
    "policy_schema",
]

_SOURCE = "<policy>"
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
    limits: Limits = Field(default=Limits(), description="What a check may take.")
    prices: Prices = Field(
        default_factory=Prices,
        description="What models cost, by their names as they are asked; they go before those of"
        " litellm's list.",
    )
    cache: Annotated[CacheConfig, OneOf("store", "store", cache_configs)] = Field(
        default=MemoryCacheConfig(), description="Where samples and judges' answers are kept."
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
        " as a table or a heading; block withholds every answer with such a stretch.",
    )

    @field_validator("chain")
    @classmethod
    def _must_begin_with_scores(cls, chain: tuple[ScorerConfig, ...]) -> tuple[ScorerConfig, ...]:
        first = chain[0].method_name
        if "scores" in getattr(registry()[first], "needs", ()):
            raise ValueError(
                f"{first} corrects the scores of the steps before it; put another method first"
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
        """Return the policy for those who have none: one judge's answer for each sample."""
        return cls.of({"chain": [{"method": "prompt", "mode": "per_sample"}]})

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
