"""Bases of what users write: strict models, and unions that can grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    core_schema,
    to_json,
)


class Strict(BaseModel):
    """A part of a policy. Errors about it never show what was written."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


UNKNOWN_TAG: Final = "unknown_tag"
MISSING_TAG: Final = "missing_tag"


class OneOf:
    """Validates a mapping with the model that one of its keys names; goes into `Annotated`.

    pydantic's own discriminated unions must be known when the class is made, and put the name
    between the steps of the path, where it cannot be told from a key.

    Args:
        noun: What a model is called in messages.
        key: The key that names it.
        models: Gives the models by name; asked anew each time.
        short: What a text stands for in place of a mapping; None where it may not.
    """

    def __init__(
        self,
        noun: str,
        key: str,
        models: Callable[[], Mapping[str, type[BaseModel]]],
        *,
        short: Callable[[str], Mapping[str, object]] | None = None,
    ) -> None:
        self._noun = noun
        self._key = key
        self._models = models
        self._short = short

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        text: list[JsonSchemaValue] = [] if self._short is None else [{"type": "string"}]
        return {"oneOf": [*text, *(self._branch(n, m, handler) for n, m in self._models().items())]}

    def _branch(
        self, name: str, model: type[BaseModel], handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(model.__pydantic_core_schema__)
        definition = handler.resolve_ref_schema(reference)
        definition["title"] = name
        definition["required"] = list(dict.fromkeys([self._key, *definition.get("required", ())]))
        tag = definition["properties"][self._key]
        tag.pop("default", None)
        tag.pop("enum", None)
        tag["const"] = name
        tag.setdefault("description", "Which one it is.")
        return reference

    def _validate(self, value: object) -> BaseModel:
        models = self._models()
        if isinstance(value, BaseModel) and type(value) in models.values():
            return value
        if self._short is not None and isinstance(value, str):
            value = self._short(value)
        if not isinstance(value, Mapping):
            raise PydanticKnownError("dict_type")
        data = cast("Mapping[str, object]", value)
        names = {"noun": self._noun, "known": tuple(models), "names": ", ".join(models)}
        if self._key not in data:
            message = "required, but missing; there are {names}"
            self._refuse(PydanticCustomError(MISSING_TAG, message, names))
        name = data[self._key]
        if not isinstance(name, str) or name not in models:
            self._refuse(
                PydanticCustomError(UNKNOWN_TAG, "unknown {noun}; there are {names}", names)
            )
        # As JSON, where strict means that "5" and true are no numbers but a list is a tuple.
        return models[name].model_validate_json(to_json(data), strict=True)

    def _refuse(self, error: PydanticCustomError) -> NoReturn:
        details = InitErrorDetails(type=error, loc=(self._key,), input=None)
        raise ValidationError.from_exception_data("policy", [details], hide_input=True)
