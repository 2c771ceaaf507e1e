"""Types that only annotations name, for modules that do not import them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, ForwardRef


def lazy_type(module: str, name: str) -> Any:
    """Return what stands for a type of another module in annotations until somebody reads them.

    `typing.get_type_hints`, and what is built on it, import the module then and find the type. For
    the `else` of `if TYPE_CHECKING`, where the module would take too long to import at once, or
    imports the one that names it.

    Args:
        module: The full name of the module.
        name: The name of the type in it.
    """
    reference = ForwardRef(f"__import__({module!r}, fromlist=[{name!r}]).{name}")
    # Python 3.10 refuses `reference | None`; hints are without `Annotated`.
    return reference if sys.version_info >= (3, 11) else Annotated[reference, name]
