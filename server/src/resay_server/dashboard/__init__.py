"""The dashboard: a journal's verdicts and statistics in a browser.

It needs the extra `server`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from resay import Guard
from resay.errors import ConfigurationError, MissingDependencyError
from resay_server.journal import Journal

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

__all__ = ["routes"]

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def routes(
    journal: Journal,
    prefix: str = "/ui",
    *,
    hosts: Collection[str] | None = (),
    policies: Mapping[str, Guard] = MappingProxyType({}),
) -> list[BaseRoute]:
    """Return the routes of the dashboard, for a Starlette or FastAPI application.

    They require no authentication: anyone who can reach them can read the journal.

    Args:
        journal: The journal to show. Only feedback, and what is drawn to label, is written to it.
        prefix: The path of the dashboard; empty if the routes are mounted elsewhere.
        hosts: The host names of the application, without ports. `localhost` and IP addresses are
            always accepted. Any other name is refused, or a foreign page could resolve its own
            name to your machine (DNS rebinding) and read the journal. Pass None if a proxy in
            front checks the `Host` header or requires a login.
        policies: Guards with the policies by which recorded answers can be checked again, by name.
            Whoever uses the pages can let them ask their judges.

    Raises:
        ConfigurationError: The prefix is not a path such as `/ui`, or `hosts` is a string.
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
    from resay_server.dashboard.handlers import Dashboard

    pages = Dashboard(journal, prefix, hosts, policies)
    rest = [Route(f"{prefix}/{{rest:path}}", pages.missing)] if prefix else []
    return [
        Route(prefix or "/", pages.home),
        Route(f"{prefix}/live", pages.live),
        Route(f"{prefix}/figures", pages.figures),
        Route(f"{prefix}/verdicts/{{entry_id:path}}", pages.verdict),
        Route(f"{prefix}/label", pages.label, methods=["GET", "POST"]),
        Route(f"{prefix}/label/draw", pages.draw, methods=["POST"]),
        Route(f"{prefix}/feedback", pages.feedback, methods=["POST"]),
        Route(f"{prefix}/recheck", pages.recheck, methods=["POST"]),
        Route(f"{prefix}/api/entries", pages.entries),
        Route(f"{prefix}/api/entries/{{entry_id:path}}", pages.entry),
        Route(f"{prefix}/api/summary", pages.summary),
        Route(f"{prefix}/api/export.{{kind}}", pages.export),
        Route(f"{prefix}/static/{{name}}", pages.static),
        *rest,
    ]
