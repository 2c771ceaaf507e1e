"""Bases of what users write: strict models, and unions that can grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar, cast

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

from resay.errors import ConfigurationError


class Strict(BaseModel):
    """A part of a policy. Errors about it never show what was written."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


T = TypeVar("T")


class Found(Mapping[str, T]):
    """What has names, each found when somebody asks for it: finding may mean importing.

    Args:
        names: The names, in order.
        find: Finds what has a name.
    """

    def __init__(self, names: Iterable[str], find: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._find = find

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


UNKNOWN_TAG: Final = "unknown_tag"
MISSING_TAG: Final = "missing_tag"


@dataclass(frozen=True, slots=True)
class Imported:
    """Models that users name by where they are.

    Attributes:
        base: The base of these models; its JSON Schema describes all of them.
        find: Returns the model for `package.module:name`, or raises ConfigurationError.
    """

    base: type[BaseModel]
    find: Callable[[str], type[BaseModel]]


class OneOf:
    """Validates a mapping with the model that one of its keys names; goes into `Annotated`.

    pydantic's own discriminated unions must be known when the class is made, and put the name
    between the steps of the path, where it cannot be told from a key.

    Args:
        noun: What a model is called in messages.
        key: The key that names it.
        models: Gives the models by name; asked anew each time.
        short: What a text stands for in place of a mapping; None where it may not.
        imported: Models that users name as `package.module:name`; None where they may not.
    """

    def __init__(
        self,
        noun: str,
        key: str,
        models: Callable[[], Mapping[str, type[BaseModel]]],
        *,
        short: Callable[[str], Mapping[str, object]] | None = None,
        imported: Imported | None = None,
    ) -> None:
        self._noun = noun
        self._key = key
        self._models = models
        self._short = short
        self._imported = imported

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        branches = [self._branch(n, m, handler) for n, m in self._models().items()]
        if self._short is not None:
            branches.insert(0, {"type": "string"})
        if self._imported is not None:
            branches.append(handler(self._imported.base.__pydantic_core_schema__))
        return {"oneOf": branches}

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
        if isinstance(value, BaseModel) and self._is_known(value, models):
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
        model = models.get(name) if isinstance(name, str) else None
        if model is None and self._imported is not None and isinstance(name, str) and ":" in name:
            model = self._import(name, self._imported)
        if model is None:
            self._refuse(
                PydanticCustomError(UNKNOWN_TAG, "unknown {noun}; there are {names}", names)
            )
        # As JSON, where strict means that "5" and true are no numbers but a list is a tuple.
        return model.model_validate_json(to_json(data), strict=True)

    def _is_known(self, value: BaseModel, models: Mapping[str, type[BaseModel]]) -> bool:
        if self._imported is not None and isinstance(value, self._imported.base):
            return type(value) is self._imported.find(getattr(value, self._key))
        name: object = getattr(value, self._key, None)
        return isinstance(name, str) and models.get(name) is type(value)

    def _import(self, name: str, imported: Imported) -> type[BaseModel]:
        try:
            return imported.find(name)
        except ConfigurationError as error:
            self._refuse(PydanticCustomError("not_imported", "{message}", {"message": str(error)}))

    def _refuse(self, error: PydanticCustomError) -> NoReturn:
        details = InitErrorDetails(type=error, loc=(self._key,), input=None)
        raise ValidationError.from_exception_data("policy", [details], hide_input=True)
