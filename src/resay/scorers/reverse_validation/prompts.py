"""The prompts of Reverse Validation (table 2 of the paper, in our words; the example is ours)."""

from __future__ import annotations

from typing import Literal

Variant = Literal["question", "matching"]
"""How to search: by a question, or by a list of requirements."""

_WHICH_ENTITY = (
    "{question}Text: {response}\n\n"
    "Which entity (a person, place, work, organisation, event or thing) is {what} mainly about?"
    " Answer with its name and nothing else."
)
WHICH_ENTITY_RESTATED = "Answer with the name of one entity and nothing else."

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
CONSTRUCT_RESTATED = {
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
SEARCH_RESTATED = {
    "question": "Answer with the name of one entity.",
    "matching": "Answer with the name of one entity and the percentage of requirements it meets.",
}


def render_which_entity(response: str, question: str) -> str:
    """Return the prompt that asks which entity a response is about.

    Args:
        response: The response.
        question: The question that it answers; empty if unknown.
    """
    return _WHICH_ENTITY.format(
        question=f"Question: {question}\n\n" if question else "",
        response=response,
        what="the question" if question else "the text",
    )


def render_construct(variant: Variant, entity: str, response: str) -> str:
    """Return the prompt of step 1."""
    return _CONSTRUCT[variant].format(entity=entity, response=response)


def render_search(variant: Variant, description: str) -> str:
    """Return the prompt of step 2, with the question or the list of step 1."""
    return _SEARCH[variant].format(description=description)
