"""Reverse Validation (`reverse_validation`).

Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for Passage-level Hallucination
Detection", Findings of EMNLP 2023, section 4, Table 2.

From the statements of a response about an entity, can the model find the entity again? Made-up
information leads to another entity, or to none.

    variant: question   1. write a question whose answer is the entity, without naming it
                        2. answer that question
    variant: matching   1. list what the response says of the entity, without naming it
                        2. find an entity that meets the list, and say what share of it is met

The response is flagged (score 1, else 0) if the answer does not name the entity; for `matching`
also if it says that less than 80 % of the list is met (as in the released code; the paper says that
only over 90 % will do, which does not reproduce its figures).

The entity is the caller's, else that of the policy, else the judge is asked for it. If step 1 names
it nevertheless, the name is removed before step 2, where it would give the answer away.

`match: exact` compares as the released code does, and removes nothing. The paper calls exact
comparison "the primary factor causing false negatives" (section 7.1); the default compares names as
people do, see `resay.scorers.reverse_validation.name_forms`, and takes names that the response
introduces with "also known as" for aliases. That flags fewer right responses. It also flags fewer
wrong ones: those that lead back to their entity in spite of an error were caught only by a
difference in spelling.

Cost: 2 calls in sequence, 3 if the entity must be asked for. Good at: whole passages about one
named thing, and at cost. Bad at: responses that are not about one thing, details that the search
does not need, and knowledge that is outdated in the same way both times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from resay._internal.patterns import lazy_pattern
from resay.core.failures import failure_kind
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.errors import ProviderError
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.judge_calls import ask
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge
from resay.scorers.reverse_validation.aliases import stated_aliases
from resay.scorers.reverse_validation.answer_match import names_entity, names_exactly
from resay.scorers.reverse_validation.judge_answers import (
    parse_list,
    parse_name,
    parse_question,
    parse_search_result,
)
from resay.scorers.reverse_validation.mentions import find_mentions
from resay.scorers.reverse_validation.percentages import (
    parse_percentage,
    parse_percentage_exactly,
)
from resay.scorers.reverse_validation.prompts import (
    CONSTRUCT_RESTATED,
    SEARCH_RESTATED,
    WHICH_ENTITY_RESTATED,
    Variant,
    render_construct,
    render_search,
    render_which_entity,
)

NonEmpty = Annotated[str, Field(min_length=1)]

_TOKENS_OF_LIST = 2_048
_LONGEST_QUOTE = 100
_ARTICLE = lazy_pattern(r"\bthe\s+$", re.IGNORECASE)
_PLACEHOLDER = {"question": "this entity", "matching": "the entity"}


@dataclass(frozen=True, slots=True)
class Entity:
    """The entity that a response is about.

    Attributes:
        name: Its name.
        aliases: Its other names.
    """

    name: str
    aliases: tuple[str, ...] = ()


def without(description: str, entity: Entity, variant: Variant) -> str:
    """Return the question or list of step 1 with the entity's name removed."""
    parts: list[str] = []
    position = 0
    for start, end in find_mentions(description, entity.name, entity.aliases):
        parts += [_ARTICLE.sub("", description[position:start]), _PLACEHOLDER[variant]]
        position = end
    return "".join(parts) + description[position:]


class ReverseValidation:
    """Asks whether the entity can be found again from the response's statements about it."""

    name: ClassVar[str] = "reverse_validation"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_text=True)
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(JudgedConfig):
        """Settings of `reverse_validation`."""

        method: Literal["reverse_validation"] = "reverse_validation"
        variant: Variant = Field(
            default="matching",
            description="Search by a question, or by a list of requirements, for which the judge"
            " also gives the share that is met; this is more accurate.",
        )
        entity: NonEmpty | None = Field(
            default=None,
            description="The subject of the responses, if the request does not say; null = ask the"
            " judge.",
        )
        aliases: tuple[NonEmpty, ...] = Field(
            default=(), strict=False, description="Other names of the entity."
        )
        match: Literal["names", "exact"] = Field(
            default="names",
            description="Compare names as people do (names), or as strings, as in the paper"
            " (exact).",
        )
        share: Annotated[float, Field(ge=0, le=100)] = Field(
            default=80.0,
            description="With `variant: matching`: the minimum percentage of requirements that must"
            " be met.",
        )

    def __init__(self, config: ReverseValidation.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Search for the entity.

        Args:
            passage: The passage; all of it is used for the search.
            evidence: The request, for its entity and question, and the judge's provider.

        Returns:
            A passage score of 0 or 1.

        Raises:
            ScorerError: No judge is available.
        """
        search = _EntitySearch(self.config, judge_for(self.config.judge, evidence))
        try:
            entity = await search.entity(passage.text, evidence)
            description = await search.description(entity, passage.text)
            answer = await search.answer(description)
        except ProviderError as error:
            return Scores(failures=(failure_kind(error),), error="a call of the search failed")
        except _UnreadableAnswerError as error:
            return Scores(
                failures=error.failures, undetermined=1, error=f"the judge {error.problem}"
            )
        is_wrong, reason = self._compare(answer, entity)
        return Scores(passage=float(is_wrong), passage_reason=reason)

    def _compare(self, answer: str, entity: Entity) -> tuple[bool, str]:
        """Return whether the search failed, and why."""
        is_exact = self.config.match == "exact"
        if is_exact:
            is_named = names_exactly(answer, entity.name)
        else:
            is_named = names_entity(answer, entity.name, entity.aliases)
        if not is_named:
            return True, f"from what it says the judge found no {entity.name}: {_shortened(answer)}"
        if self.config.variant == "matching":
            share = parse_percentage_exactly(answer) if is_exact else parse_percentage(answer)
            if share is not None and share < self.config.share:
                return True, f"by the judge {entity.name} meets only {share:g} % of what it says"
        return False, f"from what it says the judge found {entity.name} again"


class _UnreadableAnswerError(Exception):
    """A judge's answer cannot be parsed, so the search cannot continue."""

    def __init__(self, problem: str, failures: tuple[str, ...] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.failures = failures


@dataclass(frozen=True, slots=True)
class _EntitySearch:
    """The steps of one search."""

    config: ReverseValidation.Config
    judge: Judge

    async def entity(self, response: str, evidence: Evidence) -> Entity:
        """Return the entity the response is about, asking the judge if it is not given."""
        name = evidence.entity or self.config.entity
        if name is None:
            name = await self._ask(
                render_which_entity(response, evidence.quoted_question),
                parse_name,
                restatement=WHICH_ENTITY_RESTATED,
                problem="did not say what the response is about",
            )
        return Entity(name, (*self.config.aliases, *stated_aliases(response)))

    async def description(self, entity: Entity, response: str) -> str:
        """Return the question or list to search by, without the entity's name."""
        variant = self.config.variant
        is_question = variant == "question"
        description = await self._ask(
            render_construct(variant, entity.name, response),
            parse_question if is_question else parse_list,
            restatement=CONSTRUCT_RESTATED[variant],
            problem=f"wrote no {'question' if is_question else 'list of features'}",
        )
        if self.config.match == "exact":
            return description
        unnamed = without(description, entity, variant)
        was_named = unnamed != description
        if was_named and not _is_description(unnamed.replace(_PLACEHOLDER[variant], "")):
            raise _UnreadableAnswerError("named the entity and said nothing else about it")
        return unnamed

    async def answer(self, description: str) -> str:
        """Return the result of the search, in the judge's words."""
        variant = self.config.variant
        return await self._ask(
            render_search(variant, description),
            parse_search_result,
            restatement=SEARCH_RESTATED[variant],
            problem="did not say what it found",
        )

    async def _ask(
        self, prompt: str, parse: Callable[[str], str | None], *, restatement: str, problem: str
    ) -> str:
        parsed = await ask(
            self.judge,
            prompt,
            lambda answer: [parse(answer.text)],
            restatement if self.config.restate else None,
            tokens=_TOKENS_OF_LIST,
        )
        text = parsed.slots[0]
        if text is None:
            raise _UnreadableAnswerError(
                problem if parsed.answered else "did not answer", parsed.failures
            )
        return text


def _is_description(text: str) -> bool:
    # More than three words: "Who is this?" describes nothing.
    return len(re.findall(r"[^\W\d_]{3,}|\d+", text)) > 3


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"
