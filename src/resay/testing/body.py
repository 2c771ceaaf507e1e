"""What the bodies of all requests share."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = ["MODEL", "Body", "InvalidRequestError"]

MODEL = "simulated"
BodyT = TypeVar("BodyT", bound="Body")


class InvalidRequestError(Exception):
    """A request body that OpenAI's API would refuse."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


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
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            param = ".".join(map(str, problem["loc"]))
            raise InvalidRequestError(f"Invalid {param!r}: {problem['msg']}.", param) from None
