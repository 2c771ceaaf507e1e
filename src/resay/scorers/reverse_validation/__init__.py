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

The entity is that of the query, else that of the policy, else the judge is asked for it. If step 1
names it nevertheless, the name is removed before step 2, where it would give the answer away.

`match: exact` compares as the released code does, and removes nothing. The paper calls exact
comparison "the primary factor causing false negatives" (section 7.1); the default compares names as
people do, see `resay.scorers.reverse_validation.match`, and takes names that the response
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
from importlib import import_module
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.errors import ProviderError
from resay.scorers.base import Need
from resay.scorers.common.judging import JudgedConfig, ask, judge_for, strip_decoration
from resay.scorers.evidence import Evidence, Judge
from resay.scorers.reverse_validation.match import stated_aliases

__all__ = ["Entity", "ReverseValidation", "Variant", "render_construct", "render_search", "without"]

Variant = Literal["question", "matching"]
Name = Annotated[str, Field(min_length=1)]

_TOKENS_OF_LIST = 2_048
_LONGEST_NAME = 120
_LONGEST_QUOTE = 100

_WHICH = (
    "{question}Text: {response}\n\n"
    "Which entity (a person, place, work, organisation, event or thing) is {what} mainly about?"
    " Answer with its name and nothing else."
)
_WHICH_RESTATED = "Answer with the name of one entity and nothing else."

# Table 2, in our words; the example is ours.
_CONSTRUCT = {
    "question": (
        "I will give you some information about an entity. Use all of this information to write"
        " one question to which the entity is the answer. Do not use the entity's name in the"
        " question.\n\n"
        "Entity: Rosetta Stone\n"
        "Information: The Rosetta Stone is a stele found in 1799 in Egypt. It carries one decree in"
        " three scripts and was the key to reading hieroglyphs.\n"
        "Question: Which stele, found in Egypt in 1799, carries one decree in three scripts and was"
        " the key to reading hieroglyphs?\n\n"
        "Entity: {entity}\n"
        "Information: {response}\n"
        "Question:"
    ),
    "matching": (
        "{response}\n\n"
        "Please list every feature of {entity} that is mentioned above, as a numbered list. Do not"
        " name {entity} in your list."
    ),
}
_CONSTRUCT_RESTATED = {
    "question": "Write one question on one line, ending in a question mark, and nothing else.",
    "matching": "Write a numbered list, one feature per line, and nothing else.",
}
_SEARCH = {
    "question": "Answer the following question as briefly as possible.\n\n{description}",
    "matching": (
        "Find an entity that meets the following requirements:\n\n{description}\n\n"
        "If none meets all of them, name the one that meets as many as possible. Say which"
        " percentage of the requirements the entity meets."
    ),
}
_SEARCH_RESTATED = {
    "question": "Answer with the name of one entity.",
    "matching": "Answer with the name of one entity and the percentage of requirements it meets.",
}
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
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


def render_construct(variant: Variant, entity: str, response: str) -> str:
    """Return the prompt of step 1."""
    return _CONSTRUCT[variant].format(entity=entity, response=response)


def render_search(variant: Variant, description: str) -> str:
    """Return the prompt of step 2, with the question or the list of step 1."""
    return _SEARCH[variant].format(description=description)


def without(description: str, entity: Entity, variant: Variant) -> str:
    """Return the question or list of step 1 with the entity's name removed."""
    from resay.scorers.reverse_validation.match import find_mentions

    parts: list[str] = []
    position = 0
    for start, end in find_mentions(description, entity.name, entity.aliases):
        parts += [_ARTICLE.sub("", description[position:start]), _PLACEHOLDER[variant]]
        position = end
    return "".join(parts) + description[position:]


class ReverseValidation:
    """Asks whether the entity can be found again from the response's statements about it."""

    name: ClassVar[str] = "reverse_validation"
    by_text: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(JudgedConfig):
        """Settings of `reverse_validation`."""

        method: Literal["reverse_validation"] = "reverse_validation"
        variant: Variant = Field(
            default="matching",
            description="Search by a question, or by a list of requirements, for which the judge"
            " also gives the share that is met; this is more accurate.",
        )
        entity: Name | None = Field(
            default=None,
            description="The subject of the responses, if the query does not say; null = ask the"
            " judge.",
        )
        aliases: tuple[Name, ...] = Field(
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

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        # A string library and long word lists: few policies need them, and those that do load them
        # here and not in the middle of a check.
        import_module("resay.scorers.reverse_validation.match")

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Search for the entity.

        Args:
            passage: The passage; all of it is used for the search.
            evidence: The query, for its entity and question, and the judge's provider.

        Returns:
            A passage score of 0 or 1.

        Raises:
            ScorerError: No judge is available.
        """
        search = _Search(self.config, judge_for(self.config.judge, evidence))
        try:
            entity = await search.entity(passage.text, evidence)
            description = await search.description(entity, passage.text)
            answer = await search.answer(description)
        except ProviderError as error:
            return Scores(
                failures=(type(error).__name__,), inconclusive="a call of the search failed"
            )
        except _UnreadableError as error:
            return Scores(
                failures=error.failures, undetermined=1, inconclusive=f"the judge {error.problem}"
            )
        wrong, why = self._compare(answer, entity)
        return Scores(passage=float(wrong), why_passage=why)

    def _compare(self, answer: str, entity: Entity) -> tuple[bool, str]:
        """Return whether the search failed, and why."""
        if not self._found(answer, entity):
            return True, f"from what it says the judge found no {entity.name}: {_cut(answer)}"
        met = self._met(answer)
        if met is not None and met < self.config.share:
            return True, f"by the judge {entity.name} meets only {met:g} % of what it says"
        return False, f"from what it says the judge found {entity.name} again"

    def _found(self, answer: str, entity: Entity) -> bool:
        from resay.scorers.reverse_validation.match import names_entity, names_exactly

        if self.config.match == "exact":
            return names_exactly(answer, entity.name)
        return names_entity(answer, entity.name, entity.aliases)

    def _met(self, answer: str) -> float | None:
        from resay.scorers.reverse_validation.match import (
            parse_percentage,
            parse_percentage_exactly,
        )

        if self.config.variant == "question":
            return None
        exact = self.config.match == "exact"
        return parse_percentage_exactly(answer) if exact else parse_percentage(answer)


class _UnreadableError(Exception):
    """A judge's answer cannot be parsed, so the search cannot continue."""

    def __init__(self, problem: str, failures: tuple[str, ...] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.failures = failures


@dataclass(frozen=True, slots=True)
class _Search:
    """The steps of one search."""

    config: ReverseValidation.Config
    judge: Judge

    async def entity(self, response: str, evidence: Evidence) -> Entity:
        """Return the entity the response is about, asking the judge if it is not given."""
        query = evidence.query
        name = (query.entity if query else None) or self.config.entity
        if name is None:
            question = evidence.quoted_question
            name = await self._ask(
                _WHICH.format(
                    question=f"Question: {question}\n\n" if question else "",
                    response=response,
                    what="the question" if question else "the text",
                ),
                _parse_name,
                _WHICH_RESTATED,
                "did not say what the response is about",
            )
        return Entity(name, (*self.config.aliases, *stated_aliases(response)))

    async def description(self, entity: Entity, response: str) -> str:
        """Return the question or list to search by, without the entity's name."""
        variant = self.config.variant
        description = await self._ask(
            render_construct(variant, entity.name, response),
            _parse_question if variant == "question" else _parse_list,
            _CONSTRUCT_RESTATED[variant],
            f"wrote no {'question' if variant == 'question' else 'list of features'}",
        )
        if self.config.match == "exact":
            return description
        bare = without(description, entity, variant)
        if bare != description and not _says_something(bare.replace(_PLACEHOLDER[variant], "")):
            raise _UnreadableError("named the entity and said nothing else about it")
        return bare

    async def answer(self, description: str) -> str:
        """Return the result of the search, in the judge's words."""
        variant = self.config.variant
        return await self._ask(
            render_search(variant, description),
            _parse_answer,
            _SEARCH_RESTATED[variant],
            "did not say what it found",
        )

    async def _ask(
        self, prompt: str, parse: Callable[[str], str | None], restatement: str, problem: str
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
            reason = problem if parsed.answered else "did not answer"
            raise _UnreadableError(reason, parsed.failures)
        return text


_WILL_NOT = re.compile(
    r"\b(?:can(?:no|['’])t|cannot|am unable to|(?:am|['’]m) not able to|won['’]t|will not)\s+"
    r"(?:\w+\s+){0,2}?(?:help|assist|comply|answer|discuss|respond|fulfil)",
    re.IGNORECASE,
)


def _parse_answer(text: str) -> str | None:
    """Parse the result of the search; finding nothing is an answer too, but refusing is not."""
    answer = text.strip()
    return None if not answer or _WILL_NOT.search(answer) else answer


_REFUSAL = re.compile(
    r"^(?:i(?:['’]m| am)? (?:sorry|cannot|can['’]t|could not|couldn['’]t|don['’]t|do not)|sorry"
    r"|unfortunately|there is no|none\b|unknown\b|n/?a\b|as an ai)",
    re.IGNORECASE,
)
# Matched in lower case only, since titles may contain these words: "Life Is Beautiful".
_PROSE = re.compile(r"\b(?:is|are|was|were|seems?|appears?|depends|about)\b|\?")
_NAME_LABEL = re.compile(r"^(?:the\s+)?(?:main\s+)?entity\s*(?:is)?\s*[:：-]?\s*", re.IGNORECASE)


def _parse_name(text: str) -> str | None:
    """Parse a bare name: one line that is neither a refusal nor prose."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    name = _NAME_LABEL.sub("", strip_decoration(line)).strip(" .*_`\"'“”")
    if not name or len(name) > _LONGEST_NAME or _REFUSAL.match(name) or _PROSE.search(name):
        return None
    return name


def _parse_question(text: str) -> str | None:
    """Parse a question: the last line that ends in a question mark, without its label."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip().rstrip("*_`\"'”)").endswith("?")
    ]
    if not lines:
        return None
    return re.sub(
        r"^[*_`\"'“#>\s]*(?:question\s*[:：]\s*)?", "", lines[-1], flags=re.IGNORECASE
    ).strip("*_`\"'“” ")


_LISTED = re.compile(r"^\s*(?:\d+\s*[.):-]|[-*•])\s*(?=\S)")


def _parse_list(text: str) -> str | None:
    """Parse a list: its lines, without the text before and after them."""
    lines = [line.rstrip() for line in text.strip().splitlines() if _LISTED.match(line)]
    return "\n".join(lines) or None


def _says_something(text: str) -> bool:
    # More than three words: "Who is this?" describes nothing.
    return len(re.findall(r"[^\W\d_]{3,}|\d+", text)) > 3


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"
