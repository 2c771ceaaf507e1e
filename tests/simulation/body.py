"""What the bodies of all requests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["MODEL", "Body", "InvalidRequestError", "Location", "Refuse", "read"]

MODEL = "simulated"
BodyT = TypeVar("BodyT", bound="Body")
ModelT = TypeVar("ModelT", bound=BaseModel)

Location = Sequence[int | str]
"""Where in a body something stands: names and indices, outermost first."""


class InvalidRequestError(Exception):
    """A request body that the API would refuse.

    Args:
        message: What is wrong with it.
        param: Where that stands, as OpenAI's API says it; None for nowhere in particular.
        code: What OpenAI's API calls the error; None where it has no name.
    """

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


Refuse = Callable[[Location, str, str], InvalidRequestError]
"""How an API words a refusal: from where, pydantic's name of the problem, and its message."""


def read(model: type[ModelT], value: object, refuse: Refuse, where: Location = ()) -> ModelT:
    """Check a part of a decoded body.

    Args:
        model: What it should be.
        value: What it is.
        refuse: Words the refusal.
        where: Where in the body it stands.

    Raises:
        InvalidRequestError: It is something else.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        raise refuse([*where, *problem["loc"]], problem["type"], problem["msg"]) from None


class Body(BaseModel):
    """The body of a request, as far as the simulated provider looks at it."""

    # A provider takes parameters that this one has no use for.
    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def parse(cls: type[BodyT], body: object) -> BodyT:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("We could not parse the JSON body of your request.")
        return read(cls, cast("object", body), _refusal)


def _refusal(where: Location, _: str, message: str) -> InvalidRequestError:
    param = ".".join(map(str, where))
    return InvalidRequestError(f"Invalid {param!r}: {message}.", param)
