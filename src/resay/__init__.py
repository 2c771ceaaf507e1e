"""Resay: a hallucination guard for LLM applications.

It asks the model the same question several more times: statements that the model cannot repeat
consistently are probably made up.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from resay._internal._version import __version__ as __version__

if TYPE_CHECKING:
    from resay._public import *  # noqa: F403 - the list of the public names
else:
    # Imported on first use, so that `import resay` is almost free, and an error or a verdict needs
    # no guard. Type checkers do not see these functions, or they would accept any name.

    def __getattr__(name: str) -> object:
        if name == "__all__":
            return __dir__()
        from resay._internal.public_names import public_modules

        module = public_modules().get(name)
        if module is None:
            raise AttributeError(f"module 'resay' has no attribute {name!r}")
        return getattr(import_module(module), name)

    def __dir__() -> list[str]:
        from resay._internal.public_names import public_modules

        return sorted(public_modules())
