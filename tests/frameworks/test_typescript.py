"""The package for TypeScript, with a gateway: `make test-frameworks`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from resay import __version__
from resay_server.gateway import Gateway, GatewayConfig, serving
from simulation import SimulatedProvider
from support.typescript import PACKAGE, run

INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")
POLICY = "chain: [{method: facts}]\ncache: {store: none}\n"
needs_node = pytest.mark.skipif(
    INSTALLED is None, reason="`make test-frameworks` installs the frameworks"
)


def test_the_package_has_the_version_of_the_others() -> None:
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == __version__


def test_the_package_depends_on_nothing() -> None:
    described = json.loads((PACKAGE / "package.json").read_text())
    assert "dependencies" not in described
    assert all(
        described["peerDependenciesMeta"][name]["optional"]
        for name in described["peerDependencies"]
    )
    reader = (PACKAGE / "src" / "verdict.ts").read_text()
    assert not re.findall(r"^import ", reader, re.MULTILINE)


def test_its_tools_are_those_of_the_frameworks() -> None:
    used = json.loads((PACKAGE / "package.json").read_text())["devDependencies"]
    installed = json.loads((PACKAGE.parents[1] / "tests/frameworks/package.json").read_text())
    assert used.items() <= installed["dependencies"].items()


def test_the_readme_lists_all_that_it_exports() -> None:
    reader = (PACKAGE / "src" / "verdict.ts").read_text()
    functions = re.findall(r"^export (?:async )?function\*? (\w+)", reader, re.MULTILINE)
    readme = (PACKAGE / "README.md").read_text()
    assert len(functions) == 5
    assert all(f"`{name}(" in readme for name in functions)


@needs_node
def test_the_packed_package_holds_its_code_and_types(installed_package: Path) -> None:
    files = {
        path.relative_to(installed_package).as_posix() for path in installed_package.rglob("*")
    }
    assert files == {
        "README.md",
        "dist",
        "dist/ai-sdk.d.ts",
        "dist/ai-sdk.js",
        "dist/verdict.d.ts",
        "dist/verdict.js",
        "package.json",
    }


@needs_node
@pytest.mark.timeout(180)
def test_its_own_tests_pass_with_a_gateway(
    simulated: SimulatedProvider, built_package: Path, tmp_path: Path
) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    settings = {
        "upstream": {"url": simulated.root_url},
        "policies": {"default": str(tmp_path / "policy.yaml")},
    }
    config = GatewayConfig.of(settings)
    tests = [str(path) for path in (built_package / "build" / "test").glob("*.test.js")]
    with serving(Gateway(config), config.limits) as url:
        printed = run(
            "node",
            "--test",
            "--test-reporter=tap",
            *tests,
            folder=built_package,
            env={"RESAY_GATEWAY": url},
        )
    assert re.search(r"^# fail 0$", printed, re.MULTILINE)
    assert re.search(r"^# skipped 0$", printed, re.MULTILINE)
