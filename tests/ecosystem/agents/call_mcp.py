"""Calls `resay mcp` with the SDK's own client, over each transport and in each protocol."""

import asyncio
import re
import subprocess
import sys
from contextlib import contextmanager

from mcp import Client, StdioServerParameters, stdio_client

SERVE = [sys.executable, "-m", "resay", "mcp"]
ARGUMENTS = {
    "claim": "The bridge opened in May 1947.",
    "documents": ["The bridge opened in March 1932."],
}


@contextmanager
def serving():
    with subprocess.Popen([*SERVE, "--http", "--port", "0"], stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if address := re.search(r"serving on (\S+)", line.decode()):
                yield address[1]
                break
        process.terminate()


async def verify(server, mode):
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("verify_claim", ARGUMENTS)
        refused = await client.call_tool("check_answer", {})
    assert refused.is_error
    print(mode, len(tools), result.structured_content["verdict"])


async def main():
    for mode in ("legacy", "auto"):
        await verify(stdio_client(StdioServerParameters(command=SERVE[0], args=SERVE[1:])), mode)
    with serving() as url:
        for mode in ("legacy", "auto"):
            await verify(url, mode)


asyncio.run(main())
