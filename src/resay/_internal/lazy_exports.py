"""The names of a package that come from its modules, which are imported when a name is first used.

So that whoever needs one module of a package does not import all of them. What type checkers read
stands beside it, under `TYPE_CHECKING`; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module


def lazy_exports(
    package: str, modules: Mapping[str, Collection[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, the `__dir__` and the `__all__` of a package.

    Args:
        package: The package.
        modules: The names that it exports, by the full name of the module that has them. None of
            them may be the name of one of the package's own modules, which would take its place.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get_attribute(name: str) -> object:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        # The next time, Python does not ask.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get_attribute, list_names, sorted(module_of)
