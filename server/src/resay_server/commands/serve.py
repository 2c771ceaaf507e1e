"""The command `resay serve`: run the gateway."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resay.commands import run_reporting_errors
from resay.errors import ConfigurationError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from resay_server.gateway import GatewayConfig
    from resay_server.gateway.logs import Format, Level

app = typer.Typer(add_completion=False)

JOURNAL = "sqlite:///resay-journal.db"
_NONE = "none"


class _Format(Enum):
    TEXT = "text"
    JSON = "json"


class _Level(Enum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@app.command()
def serve(
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            "-p",
            help="The default policy file.",
            show_default="the file that RESAY_POLICY names, or the built-in policy",
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(help="The upstream's base URL, as for OpenAI's clients."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A gateway file with keys, limits and more policies.")
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            help="The journal for verdicts, without content: sqlite:///FILE, postgresql://…, or"
            f" none. Default: the gateway file's, or {JOURNAL}.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            help="The Redis server through which gateways share quotas: redis://HOST:6379/0.",
            show_default=False,
        ),
    ] = None,
    log_format: Annotated[
        _Format, typer.Option(help="The log format: text, or one JSON object per line.")
    ] = _Format.TEXT,
    log_level: Annotated[_Level, typer.Option(help="The lowest level to log.")] = _Level.INFO,
    host: Annotated[str, typer.Option(help="The address to serve on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port, or 0 for a free one.")
    ] = 8100,
    workers: Annotated[
        int, typer.Option(min=1, help="The number of processes, about one per core (Linux).")
    ] = 1,
) -> None:
    """Serve OpenAI's and Anthropic's APIs behind one URL, and check the answers of an upstream."""
    from resay_server.gateway import (
        Gateway,
        GatewayConfig,
        check_exposure,
        listener,
        reserve,
        serve_workers,
    )
    from resay_server.gateway import serve as serve_gateway
    from resay_server.gateway.logs import configure

    gateway_config = GatewayConfig.load(
        config, upstream=upstream, policy=policy, journal=_url(journal), state=state
    )
    if workers > 1 and gateway_config.quotas and gateway_config.state is None:
        problem = "several workers must share their quotas"
        raise ConfigurationError(f"{problem}; set `state`, or serve with one worker")
    gateway_config = _with_journal(gateway_config, journal)
    check_exposure(gateway_config, host)
    log = log_format.value, log_level.value
    gateway = Gateway(gateway_config) if workers == 1 else None
    configure(*log)
    with listener(host, port) if gateway else reserve(host, port) as listening:
        url = f"http://{host}:{listening.getsockname()[1]}"

        def announce() -> None:
            typer.echo(f"serving on {url}/v1")
            if gateway_config.journal is not None:
                typer.echo(f"dashboard on {url}/ui")

        if gateway is not None:
            serve_gateway(gateway, gateway_config.limits, listening, announce)
            return
        work = partial(_work, gateway_config, host, listening.getsockname()[1], log)
        raise typer.Exit(serve_workers(workers, work, announce))


def _work(
    config: GatewayConfig, host: str, port: int, log: tuple[Format, Level], pipe: Connection
) -> None:
    """Serve in one of several worker processes."""
    from resay_server.gateway import Gateway, listener
    from resay_server.gateway import serve as serve_gateway
    from resay_server.gateway.logs import configure

    def serve_worker() -> None:
        configure(*log)
        gateway = Gateway(config)
        with listener(host, port, shared=True) as listening:
            serve_gateway(gateway, config.limits, listening, lambda: pipe.send_bytes(b"+"), pipe)

    raise SystemExit(run_reporting_errors(serve_worker))


def _url(journal: str | None) -> str | None:
    return None if journal == _NONE else journal


def _with_journal(config: GatewayConfig, journal: str | None) -> GatewayConfig:
    """Return the config with a journal set, unless it sets one or `--journal none` disables it.

    If only policies name a journal, the gateway uses theirs, since its dashboard shows just one.
    """
    from resay import Policy
    from resay_server.journal import JournalConfig

    if journal == _NONE:
        return config.model_copy(update={"journal": None})
    if "journal" in config.model_fields_set:
        return config
    policies = [Policy.load(file) for file in config.policy_files.values() if file is not None]
    journals = [policy.journal for policy in policies if policy.journal is not None]
    if any(other != journals[0] for other in journals):
        raise ConfigurationError(
            "the policies name different journals, and a gateway has one; set `journal` in the"
            " gateway file, or pass --journal"
        )
    chosen = journals[0] if journals else JournalConfig(url=JOURNAL)
    return config.model_copy(update={"journal": chosen})
