"""The environment of templates that show the words of models and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay.core.display.texts import printable

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment


def escaping_environment(loader: BaseLoader) -> Environment:
    """Return a Jinja environment that escapes text.

    Characters that control a terminal or the direction of text are replaced; None is shown as
    nothing, and a name that is not defined is an error.

    Args:
        loader: Finds the templates.
    """
    # Imported late, because it takes a tenth of a second.
    from jinja2 import Environment, StrictUndefined

    return Environment(
        loader=loader,
        autoescape=True,
        finalize=printable,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
