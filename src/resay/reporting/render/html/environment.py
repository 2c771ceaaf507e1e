"""The environment that renders templates in the style of Resay's reports."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import cast

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    PackageLoader,
    PrefixLoader,
)
from markupsafe import Markup

from resay._internal._version import __version__
from resay.core.display.spans import spans_of
from resay.core.display.templates import escaping_environment
from resay.core.display.texts import cost
from resay.reporting.render.html.answer import (
    flagged_claims,
    has_text,
    methods,
    sentence_pieces,
    summary,
)
from resay.reporting.render.html.values import (
    is_web_address,
    level,
    score_text,
    seconds,
)


@cache
def stylesheet() -> str:
    """Return the style sheet for the page and its parts."""
    file = resources.files("resay.reporting.render.html") / "style.css"
    return file.read_text(encoding="utf-8")


def environment(
    package: str | None = None,
    *,
    filters: Mapping[str, Callable[..., object]] | None = None,
    values: Mapping[str, object] | None = None,
) -> Environment:
    """Return a Jinja environment for the templates of a package.

    Text is escaped, and characters that control a terminal or the direction of text are replaced;
    None is shown as nothing, and a name that is not defined is an error.

    Templates can build on those of Resay's reports, whose names begin with `resay/`:
    `resay/document.html` is a page that loads nothing and runs nothing, with the block `body`;
    `resay/parts.html` has macros for scores, decisions, definitions and tables;
    `resay/verdict.html` has the macro `section` for a verdict.

    Args:
        package: The name of a package with a folder `templates`.
        filters: Its own filters, by name.
        values: What all of its templates can use, by name.
    """
    own = PackageLoader("resay.reporting.render.html")
    loaders: list[BaseLoader] = [PrefixLoader({"resay": own})]
    if package is not None:
        loaders.append(PackageLoader(package))
    made = escaping_environment(ChoiceLoader(loaders))
    made.filters |= {
        "cost": cost,
        "flagged_claims": flagged_claims,
        "level": level,
        "methods": methods,
        "score_text": score_text,
        "seconds": seconds,
        "sentence_pieces": sentence_pieces,
        "spans_of": spans_of,
        "summary": summary,
        **(filters or {}),
    }
    # Jinja has no types for these two.
    tests, names = cast("dict[str, object]", made.tests), cast("dict[str, object]", made.globals)
    tests |= {"web_address": is_web_address, "with_text": has_text}
    names.update(
        content_security_policy=content_security_policy(stylesheet()),
        # The style sheet is ours: it has no text of others, and escaping would change its hash.
        stylesheet=Markup(stylesheet()),  # noqa: S704
        version=__version__,
        **(values or {}),
    )
    return made


def content_security_policy(style: str, script: str | None = None) -> str:
    """Return the policy of a page that loads one style element, and runs at most one script.

    Args:
        style: The exact content of the style element.
        script: The exact content of the script element; None if there is none.
    """
    directives = ["default-src 'none'", f"style-src {_hash_source(style)}"]
    if script is not None:
        directives.append(f"script-src {_hash_source(script)}")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'"])


def _hash_source(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"
