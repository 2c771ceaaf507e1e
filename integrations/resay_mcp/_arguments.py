"""The arguments of the tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from resay.adapters.settings import Strict, message_of
from resay.errors import ConfigurationError

A = TypeVar("A", bound=Strict)


def _with_words(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _as_document(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


_AnyText = Annotated[str, Field(max_length=200_000)]
Text = Annotated[_AnyText, AfterValidator(_with_words)]


class DocumentArgument(Strict):
    """A trusted text to compare with."""

    text: _AnyText = Field(description="The text; a blank one is ignored.")
    name: str | None = Field(
        default=None,
        max_length=2_000,
        description="Its name, path or URL, by which results refer to it.",
    )


def _with_words_in_one(documents: list[DocumentArgument]) -> list[DocumentArgument]:
    if not any(document.text.strip() for document in documents):
        raise ValueError("must not all be blank")
    return documents


Documents = Annotated[
    list[
        Annotated[
            DocumentArgument,
            BeforeValidator(_as_document, json_schema_input_type=str | DocumentArgument),
        ]
    ],
    Field(min_length=1, max_length=200),
    AfterValidator(_with_words_in_one),
]
Question = Annotated[
    Text | None,
    Field(description="The question that was asked, with all that it needs to stand alone."),
]


class CheckAnswer(Strict):
    """The arguments of `check_answer`."""

    response: Text = Field(description="The answer to check.")
    question: Question = None
    samples: list[Text] | None = Field(
        default=None,
        max_length=100,
        description="Other answers to the same question, if you have some; if null, the server"
        " draws them from its model.",
    )


class CheckAgainstDocuments(Strict):
    """The arguments of `check_against_documents`."""

    response: Text = Field(description="The answer to check.")
    documents: Documents = Field(
        description="The documents: texts, or objects with a `text` and a `name`."
    )
    question: Question = None


class VerifyClaim(Strict):
    """The arguments of `verify_claim`."""

    claim: Text = Field(description="One statement, written out so that it stands alone.")
    documents: Documents | None = Field(
        default=None,
        description="Documents to compare it with; if null, the server asks its model several"
        " times.",
    )


def read_arguments(model: type[A], arguments: Mapping[str, Any] | None) -> A:
    """Validate the arguments of a tool.

    Raises:
        ConfigurationError: They are not valid; the message lists every problem, without values.
    """
    try:
        # As JSON, whose lists are tuples too.
        return model.model_validate(dict(arguments or {}))
    except ValidationError as error:
        problems = list(dict.fromkeys(_problem(details) for details in error.errors()))
    # Outside of the handler, so that no chained exception carries the values.
    raise ConfigurationError(f"the arguments are not valid: {'; '.join(problems)}")


def _problem(details: Any) -> str:
    path = ".".join(str(step)[:64] for step in details["loc"])
    messages = {"missing": "required, but missing", "extra_forbidden": "unknown argument"}
    message = messages.get(details["type"], message_of(details))
    return f"{path}: {message}"
