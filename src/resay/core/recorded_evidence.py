"""The evidence of a check, for those who record verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from resay.core.references import Reference

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question of a check to a model, and the answers to it.

    Attributes:
        method: The method that asked.
        prompt: The question; of a conversation all turns, each after its role.
        answers: The answers; none if the call failed.
        claims: The texts of the claims that it is about; empty if it is about the whole answer.
        model: The model that was asked; None for the one that wrote the answer.
        error: The type of the error if the call failed.
    """

    method: str
    prompt: str = field(repr=False)
    answers: tuple[str, ...] = field(default=(), repr=False)
    claims: tuple[str, ...] = field(default=(), repr=False)
    model: str | None = None
    error: str | None = None

    @property
    def chars(self) -> int:
        """The amount of its text, in characters."""
        return len(self.prompt) + sum(map(len, self.answers)) + sum(map(len, self.claims))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvidence:
    """An answer, and the texts that it was checked with.

    Attributes:
        response: The answer, with any reasoning; None if it was too long to store.
        samples: The samples, in the order in which verdicts count them.
        second_samples: The samples of the model that gives a second opinion.
        references: The trusted texts.
        judge_calls: The questions to judges and their answers, in the order of the answers.
        omitted_texts: The number of further samples and references, left out for their length.
        omitted_calls: The number of further questions, left out for their length.
    """

    response: str | None = field(default=None, repr=False)
    samples: tuple[str, ...] = field(default=(), repr=False)
    second_samples: tuple[str, ...] = field(default=(), repr=False)
    references: tuple[Reference, ...] = ()
    judge_calls: tuple[JudgeCall, ...] = ()
    omitted_texts: int = 0
    omitted_calls: int = 0

    def __bool__(self) -> bool:
        """Return whether there is anything that the answer was checked with."""
        texts = self.samples or self.second_samples or self.references or self.omitted_texts
        return bool(texts or self.judge_calls or self.omitted_calls)

    @property
    def chars(self) -> int:
        """The amount of its text, in characters."""
        texts = (
            self.response or "",
            *self.samples,
            *self.second_samples,
            *(item.text for item in self.references),
        )
        return sum(map(len, texts)) + sum(call.chars for call in self.judge_calls)

    # It is no part of a verdict's JSON.
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Return the schema of a value that JSON cannot have."""
        from pydantic_core import core_schema

        del source, handler
        return core_schema.is_instance_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: object, handler: object) -> dict[str, Any]:
        """Leave it out of JSON schemas."""
        from pydantic_core import PydanticOmit

        raise PydanticOmit
