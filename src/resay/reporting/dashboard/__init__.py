"""The dashboard: the journal's verdicts and figures, for people with a browser.

It needs the extra `server`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from resay.errors import ConfigurationError, MissingDependencyError
from resay.reporting.journal import Journal

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

__all__ = ["routes"]

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def routes(
    journal: Journal, prefix: str = "/ui", *, hosts: Collection[str] | None = ()
) -> list[BaseRoute]:
    """Return the routes of the dashboard, for a Starlette or FastAPI application.

    They ask nobody for a password: whoever can reach them sees what the journal holds.

    Args:
        journal: The journal to show. Only feedback is written to it.
        prefix: Under which path; empty where the routes are mounted elsewhere.
        hosts: The names by which browsers reach the application, without ports. `localhost` and
            addresses are always accepted. A page elsewhere can have its own name lead to your
            machine (DNS rebinding), and would read the journal by it. None if something in front
            checks the `Host` header, or a login does.

    Raises:
        ConfigurationError: The prefix is no path such as `/ui`, or `hosts` is a text.
        MissingDependencyError: The extra `server` is not installed.
    """
    if not _PREFIX.fullmatch(prefix):
        raise ConfigurationError(
            f"the dashboard's prefix must be a path such as '/ui', without a slash at its end,"
            f" not {prefix!r}"
        )
    if isinstance(hosts, str):
        raise ConfigurationError(f"hosts must be a list of names, such as [{hosts!r}]")
    try:
        from starlette.routing import Route
    except ImportError as error:
        raise MissingDependencyError("starlette", "server", "the dashboard") from error
    from resay.reporting.dashboard.serving import Dashboard

    pages = Dashboard(journal, prefix, hosts)
    rest = [Route(f"{prefix}/{{rest:path}}", pages.missing)] if prefix else []
    return [
        Route(prefix or "/", pages.home),
        Route(f"{prefix}/live", pages.live),
        Route(f"{prefix}/figures", pages.figures),
        Route(f"{prefix}/verdicts/{{entry_id:path}}", pages.verdict),
        Route(f"{prefix}/feedback", pages.feedback, methods=["POST"]),
        Route(f"{prefix}/api/entries", pages.entries),
        Route(f"{prefix}/api/entries/{{entry_id:path}}", pages.entry),
        Route(f"{prefix}/api/summary", pages.summary),
        Route(f"{prefix}/api/export.{{kind}}", pages.export),
        Route(f"{prefix}/static/{{name}}", pages.static),
        *rest,
    ]
