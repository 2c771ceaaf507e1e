"""Base classes for user settings: strict models and extensible unions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeVar, cast

from pydantic import (
    VERSION,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    core_schema,
    to_json,
)
from typing_extensions import Self

from resay._internal.importing import import_named
from resay.errors import ConfigurationError

DEFERS_BUILD: Final = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)
"""Whether sections are built when they are first used by themselves, as most never are. Before
2.14, pydantic cannot dump a model that contains one which is not built."""


def message_of(details: ErrorDetails) -> str:
    """Return the message of a validation error, without pydantic's prefix for a `ValueError`."""
    return details["msg"].removeprefix("Value error, ")


class Strict(BaseModel):
    """A section of a policy. Its validation errors never show the input."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=DEFERS_BUILD,
    )

    @classmethod
    def with_defaults(cls) -> Self:
        """Return the section with its defaults; unlike `cls()`, without building a validator."""
        return cls.model_construct()


class Shorthand:
    """Accepts a single value as shorthand for a mapping that has it; use in `Annotated`.

    Args:
        keys: The keys that the value stands for.
        kind: The JSON type of the value.
    """

    def __init__(self, *keys: str, kind: Literal["string", "number"] = "string") -> None:
        self._keys = keys
        self._kind = kind

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._expand, handler(source))

    def _expand(self, value: object) -> object:
        types = (str,) if self._kind == "string" else (int, float)
        if isinstance(value, types) and not isinstance(value, bool):
            return dict.fromkeys(self._keys, value)
        if self._kind == "number" and isinstance(value, str):
            raise PydanticKnownError("float_type")
        return value

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        short: JsonSchemaValue = {"type": self._kind}
        if self._kind == "number":
            short |= {"minimum": 0, "maximum": 1}
        return {"anyOf": [short, handler(schema)]}


T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """A mapping that looks values up on access, because a lookup may import a module.

    Args:
        names: The keys, in order; they too are looked at on access only.
        find: Returns the value of a key.
    """

    def __init__(self, names: Collection[str], find: Callable[[str], T]) -> None:
        self._names = names
        self._find = find

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Validated(ABC):
    """Validates a section by itself, without pydantic's schema of its type."""

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    @abstractmethod
    def _validate(self, value: object) -> BaseModel: ...


class LazySection(_Validated):
    """Validates a section with a model of another module, imported when it is used.

    For sections that few policies have; use in `Annotated`, with `Any` as the type.

    Args:
        path: The model, `package.module:Class`.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def model(self) -> type[BaseModel]:
        """The model."""
        return import_named(self._path)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(self.model.__pydantic_core_schema__)

    def _validate(self, value: object) -> BaseModel:
        return self.model.model_validate(value)


UNKNOWN_TAG: Final = "unknown_tag"
MISSING_TAG: Final = "missing_tag"
_IMPORT_PATH: Final = r"^[\w-]+(\.[\w-]+)*:\w+(\.\w+)*$"


@dataclass(frozen=True, slots=True)
class Imported:
    """Models that users name by import path.

    Attributes:
        base: Their base class, whose JSON Schema describes all of them.
        find: Returns the model for `package.module:name`, or raises ConfigurationError.
        names: Returns the names, besides import paths, that `find` takes.
    """

    base: type[BaseModel]
    find: Callable[[str], type[BaseModel]]
    names: Callable[[], Collection[str]] = tuple

    def takes(self, name: str) -> bool:
        """Return whether a name is meant for `find`."""
        return ":" in name or name in self.names()


class OneOf(_Validated):
    """Validates a mapping with the model that one of its keys names; use in `Annotated`.

    pydantic's discriminated unions must be complete when the class is created, and they add the
    name to the path of an error, where it looks like a key.

    Args:
        noun: What messages call a model.
        key: The key that names the model.
        models: Returns the models by name; called for each validation.
        short: Returns the mapping for a text; None if only mappings are allowed.
        imported: Models that users name as `package.module:name`; None if not allowed.
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

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        branches = [self._branch(n, m, handler) for n, m in self._models().items()]
        if self._short is not None:
            branches.insert(0, self._short_branch())
        if self._imported is not None:
            branches.append(handler(self._imported.base.__pydantic_core_schema__))
        return {"oneOf": branches}

    def _short_branch(self) -> JsonSchemaValue:
        name = "name"
        if self._short is None or self._short(name) != {self._key: name}:
            return {"type": "string"}
        names: JsonSchemaValue = {"enum": list(self._models())}
        if self._imported is None:
            return names
        return {"anyOf": [names, {"type": "string", "pattern": _IMPORT_PATH}]}

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
        if self._key not in data:
            message = "required, but missing; there are {names}"
            self._refuse(PydanticCustomError(MISSING_TAG, message, self._names(models)))
        name = data[self._key]
        model = models.get(name) if isinstance(name, str) else None
        imported = self._imported
        if model is None and imported and isinstance(name, str) and imported.takes(name):
            model = self._import(name, imported)
        if model is None:
            message = "unknown {noun}; there are {names}"
            self._refuse(PydanticCustomError(UNKNOWN_TAG, message, self._names(models)))
        # As JSON: its strict mode rejects "5" and true as numbers, but accepts a list for a tuple.
        return model.model_validate_json(to_json(data), strict=True)

    def _names(self, models: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
        """Return what messages say of the models: only they need the names of all."""
        names = tuple(models)
        if self._imported is not None:
            names += tuple(self._imported.names())
        return {"noun": self._noun, "known": names, "names": ", ".join(names)}

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
