"""The programs of docs/frameworks.md and docs/typescript.md, each with its framework.

They ask a gateway, or guarded clients; `make test-frameworks` installs the frameworks first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from resay_server.gateway import Gateway, GatewayConfig, serving
from resay_server.gateway.openapi.document import document
from simulation import SimulatedProvider
from support.typescript import PACKAGE, run
from support.versions import ran

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = [(ROOT / "docs" / name).read_text() for name in ("frameworks.md", "typescript.md")]
POLICY = "chain: [{method: ngram}]\nsampling: {max: 2}\ncache: {store: none}\n"
GATEWAY = "http://127.0.0.1:8100"
INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")


class Program(NamedTuple):
    """A program of the page.

    Attributes:
        home: Where its framework is installed.
        language: `py` or `ts`.
        code: The program.
    """

    home: str
    language: str
    code: str


def programs() -> Iterator[Program]:
    for section in [
        one for page in PAGES for one in re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    ]:
        title = section.splitlines()[0]
        for language, code in re.findall(
            r"^```(py|ts)\n(.*?)^```", section, re.MULTILINE | re.DOTALL
        ):
            home = "node" if language == "ts" else title.lower().replace(" ", "-")
            yield Program(home.removesuffix("-sdk"), language, code)


PROGRAMS = list(programs())


def test_every_program_has_its_versions() -> None:
    elsewhere = {"fastapi", "gradio", "spark", "streamlit"}  # on pages with tests of their own
    newest = {path.stem for path in HERE.glob("*.txt") if not re.search(r"-[\d.]+$", path.stem)}
    listed = newest - elsewhere
    assert {program.home for program in PROGRAMS} == listed | {"node"}


def test_the_types_in_typescript_are_those_of_the_api() -> None:
    text = (PACKAGE / "src" / "verdict.ts").read_text()
    schemas = document()["components"]["schemas"]
    interfaces = dict(
        re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    )
    compared = interfaces.keys() & schemas.keys()
    assert compared >= {"Verdict", "SentenceVerdict", "ClaimVerdict", "Contradiction", "Usage"}
    for name in compared:
        fields = set(re.findall(r"^  (\w+):", interfaces[name], re.MULTILINE)) - {"action"}
        assert fields <= set(schemas[name]["required"]), name
    for name in ("Decision", "Action"):
        (union,) = re.findall(rf"^export type {name} = (.*);$", text, re.MULTILINE)
        assert re.findall(r'"(\w+)"', union) == schemas[name]["enum"]


@pytest.fixture(scope="session")
def compiled(node: Path, installed_package: Path) -> Iterator[Mapping[str, Path]]:
    """Check the programs in TypeScript as strictly as can be, and compile them."""
    assert (installed_package / "dist" / "verdict.d.ts").exists()
    folder = Path(tempfile.mkdtemp(dir=node))
    # `npm pkg set type=module`, as the page says.
    (folder / "package.json").write_text('{"type": "module"}')
    written = {}
    for number, program in enumerate(one for one in PROGRAMS if one.language == "ts"):
        (folder / f"program{number}.ts").write_text(program.code)
        written[program.code] = folder / "dist" / f"program{number}.js"
    settings = json.loads((PACKAGE / "tsconfig.json").read_text())
    settings["compilerOptions"] |= {"declaration": False, "rootDir": ".", "types": ["node"]}
    settings["include"] = ["*.ts"]
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    run(node / "node_modules" / ".bin" / "tsc", folder=folder)
    yield written
    shutil.rmtree(folder)


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
@pytest.mark.timeout(660)  # most of it imports
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.home}-{len(p.code)}")
def test_a_program_runs(
    program: Program,
    simulated: SimulatedProvider,
    gateway: str,
    policy: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    home = Path(INSTALLED or "").resolve() / program.home
    code = program.code.replace(GATEWAY, gateway)
    if program.language == "ts":
        path = request.getfixturevalue("compiled")[program.code]
        path.write_text(path.read_text().replace(GATEWAY, gateway))
        command = ["node", str(path)]
    else:
        command = [str(home / "bin" / "python"), "-c", code]
    told = {
        "ANTHROPIC_API_KEY": "simulated",
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
        cwd=home if program.language == "ts" else tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "Sydney Harbour Bridge" in done.stdout
    # One call for the answer, one for its samples.
    assert simulated.calls >= 2
    if "reason" in program.code:
        assert re.search(r"with 2 samples", done.stdout)
    ran("frameworks", Path(INSTALLED or ""), program.home)
