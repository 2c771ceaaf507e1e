"""The programs of docs/frameworks.md, each with its framework.

They ask a gateway, or guarded clients; `make test-frameworks` installs the frameworks first.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from resay.gateway import Gateway, GatewayConfig, serving
from simulation import SimulatedProvider

HERE = Path(__file__).resolve().parent
PAGE = (HERE.parents[1] / "docs" / "frameworks.md").read_text()
POLICY = "chain: [{method: ngram}]\nsampling: {max: 2}\ncache: {store: none}\n"
GATEWAY = "http://127.0.0.1:8100"
INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")


class Program(NamedTuple):
    """A program of the page.

    Attributes:
        home: Where its framework is installed.
        language: `py` or `js`.
        code: The program.
    """

    home: str
    language: str
    code: str


def programs() -> Iterator[Program]:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        for language, code in re.findall(
            r"^```(py|js)\n(.*?)^```", section, re.MULTILINE | re.DOTALL
        ):
            home = "node" if language == "js" else title.lower().replace(" ", "-")
            yield Program(home.removesuffix("-sdk"), language, code)


PROGRAMS = list(programs())


def test_every_program_has_its_versions() -> None:
    listed = {path.stem for path in HERE.glob("*.txt")} - {"spark"}  # which has its own page
    assert {program.home for program in PROGRAMS} == listed | {"node"}


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return str(path)


@pytest.fixture
def gateway(simulated: SimulatedProvider, policy: str) -> Iterator[str]:
    told = {"upstream": {"url": simulated.root_url}, "policies": {"default": policy}}
    config = GatewayConfig.of(told)
    with serving(Gateway(config), config.limits) as url:
        yield url


@pytest.mark.skipif(INSTALLED is None, reason="`make test-frameworks` installs the frameworks")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.home}-{len(p.code)}")
def test_a_program_runs(
    program: Program, simulated: SimulatedProvider, gateway: str, policy: str, tmp_path: Path
) -> None:
    home = Path(INSTALLED or "").resolve() / program.home
    code = program.code.replace(GATEWAY, gateway)
    if program.language == "js":
        command = ["node", "--input-type=module", "--eval", code]
    else:
        command = [str(home / "bin" / "python"), "-c", code]
    told = {
        "OPENAI_API_KEY": "simulated",
        "OPENAI_BASE_URL": simulated.base_url,
        "RESAY_POLICY": policy,
        # None of them is to look for anything elsewhere.
        "CREWAI_DISABLE_TELEMETRY": "true",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OTEL_SDK_DISABLED": "true",
    }
    done = subprocess.run(
        command,
        env={**os.environ, **told},
        cwd=home if program.language == "js" else tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    assert "Sydney Harbour Bridge" in done.stdout
    # One call for the answer, one for its samples.
    assert simulated.calls >= 2
    if "reason" in program.code:
        assert re.search(r"with 2 samples", done.stdout)
