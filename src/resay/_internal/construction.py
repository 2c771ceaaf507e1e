"""Create plug-ins: objects of code that is not ours, with the settings that a policy gives them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, cast, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, to_json
from typing_extensions import NotRequired, Required, TypedDict

from resay._internal.entry_points import Group, installed_names, load_installed
from resay._internal.importing import import_named, is_import_path
from resay.errors import ConfigurationError, MissingDependencyError, ResayError


def load_plugin(group: Group, name: str) -> Any:
    """Return the class, function or object of a plug-in.

    Args:
        group: The entry point group of such plug-ins.
        name: Its name there, or its import path, `package.module:name`.

    Raises:
        ConfigurationError: It cannot be imported.
    """
    is_path = is_import_path(name) and name not in installed_names(group)
    return import_named(name) if is_path else load_installed(group, name)


def create(plugin: Any, settings: Mapping[str, object], what: str) -> Any:
    """Create a plug-in.

    Args:
        plugin: Its class, or a function that returns it; or an object, which takes no settings.
        settings: The settings that the policy gives it, by parameter.
        what: What the error calls it: where it is named, and its name.

    Returns:
        The plug-in.

    Raises:
        ConfigurationError: It does not take these settings, or its code fails.
        MissingDependencyError: It needs a package that is not installed.
    """
    try:
        arguments = check_settings(plugin, settings, what)
    except ValidationError as error:
        raise ConfigurationError("; ".join(d["msg"] for d in error.errors())) from None
    if not callable(plugin):
        return plugin
    with creating(what):
        return plugin(**arguments)


@contextmanager
def creating(what: str) -> Generator[None]:
    """Say which plug-in it is if creating it fails.

    Args:
        what: What the error calls it.

    Raises:
        ConfigurationError: It fails; its own message is quoted if it is one of our errors.
        MissingDependencyError: It needs a package that is not installed.
    """
    try:
        yield
    except MissingDependencyError:
        raise
    except ResayError as error:
        raise ConfigurationError(f"{what} cannot be created: {error}") from error
    # It may raise anything, and may exit; its message may be private.
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{what} cannot be created: {type(error).__name__}") from error


def check_settings(
    plugin: Any, settings: Mapping[str, object], what: str, *, keys: Collection[str] = ()
) -> dict[str, Any]:
    """Return the settings of a plug-in as its parameters are annotated.

    Args:
        plugin: Its class, or a function that returns it; an object takes none.
        settings: The settings, as in the policy.
        what: What the errors call it.
        keys: The keys beside the settings, which a wrong one may have meant.

    Raises:
        ValidationError: It does not take these; each error has the key as its location.
    """
    adapter, names = _settings_of(plugin) if callable(plugin) else _settings_of(_no_settings)
    try:
        # As JSON, as all sections of a policy: strict mode then takes a list for a tuple.
        return cast("dict[str, Any]", adapter.validate_json(to_json(dict(settings)), strict=True))
    except ValidationError as error:
        problems: list[InitErrorDetails] = []
        for details in error.errors(include_url=False, include_input=False):
            message = _message(details, what, names, keys)
            problem = PydanticCustomError("plugin", "{message}", {"message": message})
            problems.append(InitErrorDetails(type=problem, loc=details["loc"], input=None))
    # Outside of the handler, so that the traceback has no values.
    raise ValidationError.from_exception_data("settings", problems, hide_input=True)


def _message(
    details: ErrorDetails, what: str, names: Collection[str], keys: Collection[str]
) -> str:
    name = str(details["loc"][0])
    if details["type"] == "missing" and len(details["loc"]) == 1:
        return f"{what} needs the setting {name!r}"
    if details["type"] == "extra_forbidden" and len(details["loc"]) == 1:
        if nearest := get_close_matches(name, [*names, *keys], n=1):
            hint = f"did you mean {nearest[0]!r}?"
        elif names:
            hint = f"there are {', '.join(map(repr, names))}"
        else:
            hint = "it takes none"
        return f"{what} has no setting {name!r}; {hint}"
    problem = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if details["type"] == "needs_python_object":
        problem = "cannot be written in a policy"
    return f"{what}: {name!r} {problem}"


def _no_settings() -> None: ...


def _settings_of(plugin: Callable[..., Any]) -> tuple[TypeAdapter[Any], tuple[str, ...]]:
    """Return what validates the keyword arguments of a plug-in, and their names."""
    try:
        parameters = inspect.signature(plugin).parameters.values()
    except ValueError:
        # Some classes written in C have no signature.
        parameters = ()
    hints = _type_hints(plugin)
    required: dict[str, bool] = {}
    takes_any = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            required[parameter.name] = parameter.default is parameter.empty
    try:
        adapter = _adapter(required, hints, takes_any=takes_any)
    # Some annotations mean nothing to pydantic, or name what only a type checker imports.
    except (PydanticUserError, NameError):
        adapter = _adapter(required, {}, takes_any=takes_any)
    return adapter, tuple(required)


def _type_hints(plugin: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return get_type_hints(plugin.__init__ if isinstance(plugin, type) else plugin)
    # Annotations are expressions, and may be texts that name what only a type checker imports.
    except Exception:
        return {}


def _adapter(
    required: Mapping[str, bool], hints: Mapping[str, Any], *, takes_any: bool
) -> TypeAdapter[Any]:
    fields: dict[str, Any] = {}
    for name, is_required in required.items():
        hint = hints.get(name, Any)
        fields[name] = Required[hint] if is_required else NotRequired[hint]
    settings: Any = TypedDict("Settings", fields)  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType]
    settings.__pydantic_config__ = ConfigDict(
        extra="allow" if takes_any else "forbid",
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,
    )
    return TypeAdapter(settings)
