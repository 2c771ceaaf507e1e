"""The server, called by the SDK's client over stdio."""

import asyncio
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

SERVE = ["-I", "-m", "resay", "mcp"]


async def verify(claim: str) -> str:
    parameters = StdioServerParameters(command=sys.executable, args=SERVE, cwd=Path.cwd())
    async with Client(stdio_client(parameters)) as client:
        arguments = {"claim": claim, "documents": ["The bridge opened in March 1932."]}
        result = await client.call_tool("verify_claim", arguments)
    return result.structured_content["verdict"]


assert asyncio.run(verify("The bridge opened in May 1947.")) == "contradicted"
assert asyncio.run(verify("The bridge opened in March 1932.")) == "supported"
