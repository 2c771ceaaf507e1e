"""Import optional packages, and objects that users name as `package.module:name`."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay.errors import ConfigurationError, MissingDependencyError

_IMPORT_PATH = lazy_pattern(r"[\w-]+(\.[\w-]+)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

# The beginning of Python's own messages; the rest may be a path of this machine.
_NOT_IMPORTED = lazy_pattern(
    r"cannot import name '[\w.]+'( from (partially initialized module )?'[\w.]+')?"
    r"|No module named '[\w.]+'"
)


def is_import_path(text: str) -> bool:
    """Return whether a text has the form `package.module:name`; nothing is imported."""
    return _IMPORT_PATH.fullmatch(text) is not None


def load_optional(module: str, *, package: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional dependency.

    Args:
        module: The module, such as `sklearn.metrics`.
        package: The package it belongs to, such as `scikit-learn`.
        extra: Resay's extra that installs it.
        purpose: The feature that needs it.

    Returns:
        The module.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(package, extra, purpose) from error


def require_optional(module: str, *, package: str, extra: str, purpose: str) -> None:
    """Check that an optional dependency is installed, without importing it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        spec = find_spec(module)
    # The parent package is missing.
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise MissingDependencyError(package, extra, purpose)


# How the paths are written that come from environment variables, whose values stay out of messages.
_written: dict[str, str] = {}


def name_as_written(path: str, written: str) -> None:
    """Call an import path by what a file says, `${NAME}:x`, in messages about it."""
    if is_import_path(path):
        _written[path] = written


@cache
def import_named(path: str) -> Any:
    """Import the object that a path names; the result is cached.

    Args:
        path: The path, `package.module:name`; the name may be dotted.

    Raises:
        ConfigurationError: The module or the name cannot be imported.
    """
    module, _, name = path.partition(":")
    # Messages name the module and the attribute, unless they are from a variable.
    if path in _written:
        path_text = f"the value of {_written[path]!r}"
        module_text = name_text = "it"
    else:
        path_text, module_text, name_text = repr(path), repr(module), repr(name)
    try:
        module_object = _import_module(module)
    # The imported code may raise anything, and may exit.
    except (Exception, SystemExit) as error:
        if _is_missing(module, error):
            problem = ConfigurationError(
                f"cannot import {path_text}: {type(error).__name__} in {module_text}; check that it"
                " is installed or on PYTHONPATH"
            )
            # Python's own message names the module.
            raise problem from (None if path in _written else error)
        raise ConfigurationError(
            f"cannot import {path_text}: importing {module_text} failed with {_summary(error)}"
        ) from error
    try:
        return attrgetter(name)(module_object)
    except AttributeError as error:
        spec = getattr(module_object, "__spec__", None)
        if module_object is _main_module() or getattr(spec, "_initializing", False):
            raise ConfigurationError(
                f"cannot import {path_text}: {module_text} creates a guard that needs {name_text}"
                " before defining it; define it first, or in another module"
            ) from error
        problem = ConfigurationError(f"cannot import {path_text}: {module_text} has no {name_text}")
        raise problem from (None if path in _written else error)


def _is_missing(module: str, error: BaseException) -> bool:
    """Return whether an error says that a module, or a package that it is in, does not exist."""
    return (
        isinstance(error, ModuleNotFoundError)
        and error.name is not None
        and f"{module}.".startswith(f"{error.name}.")
    )


def _summary(error: BaseException) -> str:
    """Return an error's type, and which name it could not import; other messages may be private."""
    name = type(error).__name__
    match = _NOT_IMPORTED.match(str(error)) if isinstance(error, ImportError) else None
    return f"{name}: {match[0]}" if match else name


def _import_module(module: str) -> Any:
    main_module = _main_module()
    if module in sys.modules or main_module is None:
        return import_module(module)
    # Do not import the running script again under its module name: it would run twice.
    spec = find_spec(module)
    origin = spec.origin if spec is not None else None
    same = origin is not None and Path(origin).resolve() == Path(main_module.__file__).resolve()
    return main_module if same else import_module(module)


def _main_module() -> Any:
    """Return the module of the script that Python runs; None if there is none."""
    main_module = sys.modules.get("__main__")
    file = getattr(main_module, "__file__", None)
    return None if file is None else main_module


def is_async(function: object) -> bool:
    """Return whether a callable is declared as async."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method of the object's class
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def import_path_of(target: object) -> str:
    """Return the `package.module:name` of a function or object, for messages and JSON."""
    if isinstance(target, str):
        return target
    name = getattr(target, "__qualname__", type(target).__qualname__)
    return f"{getattr(target, '__module__', type(target).__module__)}:{name}"
