"""The command `resay serve`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["serve"]


def serve(
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="The default policy's file.", show_default=False),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(help="Who answers: a base URL as OpenAI's clients take one."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A gateway file: keys, limits, more policies.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for a free one.")] = 8100,
) -> None:
    """Guard what any client asks of an upstream: OpenAI's and Anthropic's APIs, behind one URL."""
    from resay.gateway import Gateway, GatewayConfig, check_exposure, listener
    from resay.gateway import serve as serve_gateway

    told = GatewayConfig.load(config, upstream=upstream, policy=policy)
    check_exposure(told, host)
    gateway = Gateway(told)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Its lines have whole URLs, and some clients put their key there.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with listener(host, port) as listening:
        where = listening.getsockname()[1]
        typer.echo(f"serving on http://{host}:{where}/v1")
        serve_gateway(gateway, told.limits, listening)
