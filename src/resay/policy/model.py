"""What a policy can say, typed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from resay.errors import PolicyError
from resay.one_of import OneOf
from resay.passage import Splitter
from resay.policy.document import Document, copy_mapping, shortened
from resay.policy.problems import problems_of
from resay.policy.reading import read_yaml
from resay.policy.schema import with_variables
from resay.scorers import ScorerConfig, registry

__all__ = [
    "Annotate",
    "Block",
    "Limits",
    "Params",
    "Policy",
    "Sampling",
    "Threshold",
    "policy_schema",
]

_SOURCE = "<policy>"
_WITHHELD = "Sorry, this answer was withheld because the model could not give it consistently."

Unit = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]


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


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


def _default_min(data: dict[str, Any]) -> int:
    return min(3, data.get("max", 3))


class Sampling(_Strict):
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
        "it, which costs nothing when no sample is needed.",
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
        return hash((self.max, self.min, self.temperature, self.start, self.model))

    @model_validator(mode="after")
    def _must_be_in_order(self) -> Sampling:
        if self.min > self.max:
            raise ValueError(f"min ({self.min!r}) must not be greater than max ({self.max!r})")
        return self


class Threshold(_Strict):
    """From which score on something is flagged."""

    passage: Unit | None = Field(
        default=0.5,
        description="Flag the response when its score is above this; null = do not look at it.",
    )
    sentence: Unit | None = Field(
        default=0.5,
        description="Flag a sentence when its score is above this; null = look at none.",
    )

    @model_validator(mode="after")
    def _must_flag_something(self) -> Threshold:
        if self.passage is None and self.sentence is None:
            raise ValueError("passage and sentence must not both be null; nothing could be flagged")
        return self


class Annotate(_Strict):
    """Return the response with its verdict."""

    do: Literal["annotate"] = Field(
        default="annotate", description="Return the response with its verdict."
    )


class Block(_Strict):
    """Withhold a flagged response."""

    do: Literal["block"] = Field(default="block", description="Withhold a flagged response.")
    exit: Literal["replace", "raise"] = Field(
        default="replace",
        description="Return the message in its place, or raise HallucinationBlocked.",
    )
    message: str = Field(
        default=_WITHHELD, min_length=1, description="What is said in place of a withheld response."
    )


def _actions() -> Mapping[str, type[BaseModel]]:
    return {"annotate": Annotate, "block": Block}


def _steps() -> Mapping[str, type[BaseModel]]:
    return {name: scorer.Config for name, scorer in registry().items()}


class Limits(_Strict):
    """What a check may take."""

    deadline_s: Seconds | None = Field(
        default=120.0, description="Seconds a whole guarded request may take; null = no limit."
    )
    timeout_s: Seconds | None = Field(
        default=60.0,
        description="Seconds one call of the check, a sample or a judge's answer, may take; "
        "null = no limit.",
    )
    concurrency: int = Field(
        default=16, ge=1, le=1000, description="Calls of one check at the same time."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="How often a failed call is tried again."
    )


class Policy(_Strict):
    """What to check, how, and what to do about it.

    A policy cannot be changed and may be shared between threads. Two that say the same are equal.
    """

    version: Literal[1] = Field(default=1, description="The version of this format.")
    sampling: Sampling = Field(default=Sampling(), description="How the model is asked again.")
    chain: tuple[Annotated[ScorerConfig, OneOf("method", "method", _steps)], ...] = Field(
        min_length=1, strict=False, description="The methods, in the order in which they look."
    )
    threshold: Threshold = Field(
        default=Threshold(), description="From which score on something is flagged."
    )
    action: Annotated[Annotate | Block, OneOf("action", "do", _actions)] = Field(
        default=Annotate(), description="What to do with a flagged response."
    )
    limits: Limits = Field(default=Limits(), description="What a check may take.")
    splitter: Splitter = Field(
        default="builtin",
        description="What splits a response into sentences; sentencex needs resay[sentencex].",
    )
    on_error: Literal["allow", "annotate", "block"] = Field(
        default="annotate", description="What an inconclusive verdict or a failed check does."
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

    @field_validator("version", mode="before")
    @classmethod
    def _must_be_a_number(cls, value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError("literal_error", {"expected": "1"})
        return value

    def __hash__(self) -> int:
        # Only what is always hashable; a scorer's configuration may hold anything.
        methods = tuple(type(step) for step in self.chain)
        return hash(
            (self.sampling, methods, self.threshold, self.action, self.limits, self.on_error)
        )

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
                (in which `${NAME}` has no meaning), or None for the default.

        Returns:
            The policy.

        Raises:
            PolicyError: It is not a valid policy.
        """
        if isinstance(value, Policy):
            return value
        if value is None:
            return cls.default()
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
        return Path(name).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 (byte {error.start}); save the file as UTF-8"
    except FileNotFoundError:
        message = "there is no such file"
    except IsADirectoryError:
        message = "is a directory; name the file in it"
    except OSError as error:
        message = f"cannot be read: {error.strerror or type(error).__name__}"
    except ValueError:
        # A null character, which no file name can have.
        raise PolicyError([f"{_SOURCE}: {shortened(name)} is not a path"]) from None
    raise PolicyError([f"{name}: {message}"])


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of a policy file, for editors.

    Returns:
        A schema of draft 2020-12. It covers every method that is installed, and takes `${NAME}`
        wherever a value is expected that is not text.
    """
    schema = with_variables(Policy.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
