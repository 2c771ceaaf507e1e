"""The versions of other packages that the special test runs use: tests/versions.md.

A test that passes in an environment says so by `ran`, which also checks that what is installed
there is what was pinned. `python -m support.versions RUN FILE` is the last step of a run: it fails
unless each environment in the table was run. `python -m support.versions` writes the table anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
TABLE = TESTS / "versions.md"
RUNS = ("frameworks", "ecosystem")
EVALUATION = TESTS.parent / "examples" / "evaluation"
_PIN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)")
_PARTS: Mapping[str, str] = {
    "autogen": "program of docs/frameworks.md",
    "fastapi": "application of docs/cookbook.md",
    "gradio": "application of docs/cookbook.md",
    "instructor": "program of docs/frameworks.md",
    "mcp": "`resay mcp`",
    "pytest": "plugin of pytest",
    "spark": "program of docs/scale.md",
    "streamlit": "application of docs/cookbook.md",
}
_NODE_PARTS: Mapping[str, str] = {
    "@portkey-ai/gateway": "webhook of Portkey",
    "promptfoo": "`examples/evaluation/with_promptfoo.yaml`",
}
_TYPESCRIPT = "`@resay/verdict`, programs of docs/typescript.md"
_HEAD = """\
# Versions

Each part is driven by the other side's own packages in these versions. `make test-frameworks` and
`make test-ecosystem` fail if they ran anything else; `python -m support.versions` (with
`PYTHONPATH=tests`) writes this page from what is pinned beside the tests.
"""
_PRINT_VERSIONS = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


def environments(run: str) -> list[str]:
    """Return the names of the environments of a run."""
    return [*sorted(path.stem for path in (TESTS / run).glob("*.txt")), "node"]


def program_of(environment: str) -> str:
    """Return what runs in an environment, whose name may end with a version."""
    return re.sub(r"-(?:skinny|[\d.]+)$", "", environment).replace("-", "_")


def pinned(run: str, environment: str) -> dict[str, str]:
    """Return the versions that an environment should have, by package."""
    folder = TESTS / run
    if environment == "node":
        packages = json.loads((folder / "package.json").read_text())["dependencies"]
        return dict(sorted(packages.items()))
    return dict(_PIN.findall((folder / f"{environment}.txt").read_text()))


def installed(home: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions that an environment has, by package."""
    if home.name == "node":
        folder = home / "node_modules"
        described = {name: folder / name / "package.json" for name in packages}
        return {name: json.loads(path.read_text())["version"] for name, path in described.items()}
    command = [home / "bin" / "python", "-c", _PRINT_VERSIONS, *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ran(run: str, folder: Path, environment: str) -> None:
    """Note that a test has passed in an environment.

    Args:
        run: `frameworks` or `ecosystem`.
        folder: The folder with the environments of the run.
        environment: The environment.
    """
    expected = pinned(run, environment)
    assert installed(folder / environment, list(expected)) == expected, environment
    with (folder / "versions").open("a") as file:
        file.write(_line(environment, expected) + "\n")


def table() -> str:
    """Return the page with all versions."""
    lines = [_HEAD]
    for run in RUNS:
        lines += [f"## make test-{run}\n", "| part | with |", "|---|---|"]
        by_part: dict[str, list[str]] = {}
        for environment in environments(run):
            for part, packages in _parts(run, environment):
                by_part.setdefault(part, []).append(_listed(packages))
        lines += (f"| {part} | {'; '.join(by_part[part])} |" for part in by_part)
        lines.append("")
    return "\n".join(lines)


def missing(run: str, file: Path) -> list[str]:
    """Return the environments of a run of which its file does not say that they were run."""
    noted = set(file.read_text().splitlines()) if file.exists() else set()
    expected = {name: _line(name, pinned(run, name)) for name in environments(run)}
    return [name for name, line in expected.items() if line not in noted]


def _parts(run: str, environment: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    packages = pinned(run, environment)
    if environment == "node" and run == "ecosystem":
        for name, version in packages.items():
            yield _NODE_PARTS[name], {name: version}
        return
    program = program_of(environment)
    if environment == "node":
        yield _TYPESCRIPT, packages
    elif (TESTS / "frameworks" / "objects" / f"with_{program}.py").exists():
        yield f"`resay_frameworks.{program}`", packages
    elif program in _PARTS:
        yield _PARTS[program], packages
    if run == "ecosystem" and (TESTS / run / "observers" / f"push_to_{program}.py").exists():
        yield f"observer `{program}`", packages
    is_example = (EVALUATION / f"with_{program}.py").exists() and not environment.endswith("skinny")
    if run == "ecosystem" and is_example:
        yield f"`examples/evaluation/with_{program}.py`", packages


def _line(environment: str, packages: Mapping[str, str]) -> str:
    return f"{environment}: {_listed(packages)}"


def _listed(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def main(arguments: Sequence[str]) -> int:
    """Write the table, or check what a run has noted."""
    if not arguments:
        TABLE.write_text(table())
        return 0
    run, file = arguments
    noted = sorted(set(Path(file).read_text().splitlines()))
    sys.stdout.writelines(f"{line}\n" for line in noted)
    names = missing(run, Path(file))
    if names:
        sys.stderr.write(f"not run, although in {TABLE.name}: {', '.join(names)}\n")
    return int(bool(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
