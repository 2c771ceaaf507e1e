"""The command `resay mcp`: run the server."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

from resay.commands import (
    ApiBaseOption,
    ApiKeyEnvOption,
    MethodOption,
    ModelOption,
    PolicyOption,
    connection_params,
    guard_of,
    print_policy,
)

app = typer.Typer(add_completion=False)

_HOST = "127.0.0.1"


@app.command()
def mcp(
    model: ModelOption = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    api_base: ApiBaseOption = None,
    api_key_env: ApiKeyEnvOption = None,
    http: Annotated[
        bool,
        typer.Option("--http", help=f"Serve over HTTP on {_HOST}, instead of stdin and stdout."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port for --http, or 0 for a free one.")
    ] = 8200,
) -> None:
    """Serve tools over the Model Context Protocol with which agents check answers and claims."""
    # Imported late: the SDK takes long, and `resay mcp --help` does not need it.
    from resay_mcp._server import create_server

    guard = guard_of(policy, method, model=model)
    guard = guard.with_options(params=connection_params(api_base, api_key_env))
    print_policy(policy, method, model=model)
    server = create_server(guard)
    serving: Coroutine[Any, Any, None]
    serving = _serve_http(server, port) if http else _serve_stdio(server)
    try:
        asyncio.run(serving)
    finally:
        guard.close()


async def _serve_stdio(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _serve_http(server: Any, port: int) -> None:
    import uvicorn

    # The SDK refuses hosts and origins that are not this machine, so that no web page gets in.
    application = server.streamable_http_app(host=_HOST)
    config = uvicorn.Config(application, host=_HOST, port=port, log_config=None, access_log=False)
    listener = config.bind_socket()
    # From here on clients can connect, although they are answered a moment later.
    listener.listen()
    typer.echo(f"serving on http://{_HOST}:{listener.getsockname()[1]}/mcp", err=True)
    await uvicorn.Server(config).serve(sockets=[listener])
