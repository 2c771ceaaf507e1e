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
    StrictUndefined,
)
from markupsafe import Markup

from resay._internal._version import __version__
from resay.core.display.spans import spans_of
from resay.core.display.texts import cost, printable
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
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        finalize=printable,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
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
        content_security_policy=_content_security_policy(stylesheet()),
        # The style sheet is ours: it has no text of others, and escaping would change its hash.
        stylesheet=Markup(stylesheet()),  # noqa: S704
        version=__version__,
        **(values or {}),
    )
    return made


def _content_security_policy(style: str) -> str:
    """Return the policy of a page that loads only one style element.

    Args:
        style: The exact content of the element.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
