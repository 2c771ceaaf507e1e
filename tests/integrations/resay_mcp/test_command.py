"""`resay mcp` in a process of its own, called by the official SDK's client."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from simulation import SimulatedProvider
from support.cli import resay_here

COMMAND = [sys.executable, "-c", "from resay.cli import main; main()", "mcp"]
ARGUMENTS = {
    "claim": "The bridge opened in May 1947.",
    "documents": ["The Sydney Harbour Bridge opened in March 1932."],
}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_serves_over_stdio(mode: str, tmp_path: Path) -> None:
    program, *words = COMMAND
    parameters = StdioServerParameters(command=program, args=words, cwd=tmp_path)
    with (tmp_path / "stderr").open("w") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr), mode=mode) as client:
            result = await client.call_tool("verify_claim", ARGUMENTS)
    assert result.structured_content["verdict"] == "contradicted"
    printed = (tmp_path / "stderr").read_text()
    assert "method: facts" in printed
    assert "1947" not in printed


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a server over HTTP."""
    command = [*COMMAND, "--http", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if address := re.search(r"serving on (\S+)", line):
                yield address[1]
                break
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_serves_over_http(mode: str, url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    async with Client(url, mode=mode) as client:
        result = await client.call_tool("verify_claim", ARGUMENTS)
    assert result.structured_content["verdict"] == "contradicted"


def test_no_web_page_gets_in(url: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    for header in ({"origin": "https://example.com"}, {"host": "example.com"}):
        response = httpx.post(url, json=body, headers={**headers, **header})
        assert response.status_code in (403, 421)


@pytest.mark.anyio
async def test_it_asks_the_model_that_it_is_given(
    simulated: SimulatedProvider, tmp_path: Path
) -> None:
    program, *words = COMMAND
    words += ["--model", "simulated", "--api-base", simulated.base_url, "--api-key-env", "KEY"]
    parameters = StdioServerParameters(
        command=program, args=words, cwd=tmp_path, env={"KEY": "sk-secret"}
    )
    arguments = {
        "response": "The Sydney Harbour Bridge opened in May 1947.",
        "question": "Tell me about the Sydney Harbour Bridge.",
    }
    async with Client(stdio_client(parameters)) as client:
        result = await client.call_tool("check_answer", arguments)
    checked = result.structured_content
    assert checked["decision"] == "flagged"
    assert checked["session"]["calls"] == simulated.calls > 0


def test_its_help_needs_no_sdk() -> None:
    program = (
        "import sys, resay_mcp, typer.main; typer.main.get_command(resay_mcp.app);"
        " print(sorted({'mcp', 'mcp_types', 'uvicorn'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_what_is_wrong_is_said_before_it_serves(tmp_path: Path) -> None:
    done = resay_here("mcp", "--policy", "nowhere.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere.yaml: no such file" in done.stderr
    done = resay_here("mcp", "--model", "m", "--api-key-env", "NO_SUCH_KEY", cwd=tmp_path)
    assert done.returncode == 2
    assert "'NO_SUCH_KEY'" in done.stderr
