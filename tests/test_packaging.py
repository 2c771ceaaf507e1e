"""The wheels of the three distributions, and the environments that are locked for them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from runpy import run_path

import pytest
from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resay import __version__
from support.extras import EXTRAS, build_wheel

ROOT = Path(__file__).resolve().parents[1]
ADAPTERS = {path.name for path in (ROOT / "integrations").glob("resay_*")}
DISTRIBUTIONS = {"resay": ROOT, "resay-server": ROOT / "server", "resay-lab": ROOT / "lab"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheel of each distribution by its name."""
    target = tmp_path_factory.mktemp("wheels")
    for folder in DISTRIBUTIONS.values():
        build_wheel(folder, target)
    return {path.name.split("-")[0].replace("_", "-"): path for path in target.glob("*.whl")}


@pytest.fixture(scope="module")
def wheel(wheels: dict[str, Path]) -> Path:
    return wheels["resay"]


def test_the_wheels_hold_their_packages_and_nothing_else(wheels: dict[str, Path]) -> None:
    files = {name: zipfile.ZipFile(wheel).namelist() for name, wheel in wheels.items()}
    packages = {
        name: {file.split("/")[0] for file in listed if ".dist-info" not in file}
        for name, listed in files.items()
    }
    assert len(ADAPTERS) >= 5
    assert packages == {
        "resay": {"resay", *ADAPTERS},
        "resay-server": {"resay_server"},
        "resay-lab": {"resay_lab"},
    }
    for name, listed in files.items():
        assert {f"{package}/py.typed" for package in packages[name]} <= set(listed)
        assert any(file.endswith("licenses/LICENSE") for file in listed)
    assert "resay/reporting/render/html/style.css" in files["resay"]
    assert "resay_server/gateway/openapi/openapi.yaml" in files["resay-server"]
    languages = {path.name for path in (ROOT / "src/resay/lang").glob("*.toml")}
    assert {f"resay/lang/{name}" for name in languages} <= set(files["resay"])
    assert {"en.toml", "sv.toml"} <= languages


def test_the_distributions_have_one_version(wheels: dict[str, Path]) -> None:
    for name, wheel in wheels.items():
        described = metadata_of(wheel)
        assert described["version"] == __version__
        own = [Requirement(line) for line in described["requires_dist"]]
        for requirement in own:
            if requirement.name in DISTRIBUTIONS and requirement.name != name:
                assert str(requirement.specifier) == f"=={__version__}"


def test_it_imports_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False, symlinks=True)
    python = tmp_path / "bin" / "python"
    site = next((tmp_path / "lib").glob("python*")) / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    done = subprocess.run(
        [python, "-c", "import resay; print(resay.__version__, resay.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
    )
    version, file = done.stdout.split()
    assert wheel.name.startswith(f"resay-{version}-")
    assert Path(file).is_relative_to(tmp_path)


@pytest.mark.parametrize("environment", ["demo", "dev", "docs"])
def test_an_environment_has_the_versions_that_the_others_have(environment: str) -> None:
    """If not, a requirement was changed without `make lock`."""
    pins = _locked("all")
    for name, versions in _locked(environment).items():
        assert versions <= pins[name], name


@pytest.mark.parametrize(
    ("environment", "extras"),
    [
        ("all", set(EXTRAS)),
        ("demo", {"demo"}),
        ("dev", {"dev"}),
        ("docs", {"calibrate", "mcp", "server"}),
        ("proxy", {"anthropic", "litellm", "openai", "server"}),
    ],
)
def test_an_environment_has_what_the_package_requires(
    wheels: dict[str, Path], environment: str, extras: set[str]
) -> None:
    """If not, a requirement was changed without `make lock`."""
    pins = _locked(environment)
    missing = []
    for requirement in required_by("resay", extras, wheels):
        # pip installs torch by itself.
        if environment == "dev" and requirement.name == "torch":
            continue
        versions = pins.get(canonicalize_name(requirement.name), set())
        if not versions or not all(map(requirement.specifier.contains, versions)):
            missing.append(str(requirement))
    assert not missing


# Packages that belong to another one: it requires the right version, and its API has their names.
COMPANIONS = {
    "langgraph": "langchain",
    "langsmith": "langchain-core",
    "llama_index_instrumentation": "llama-index-core",
    "markupsafe": "jinja2",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
}
# What an adapter adapts where it is installed, besides the package of its extra.
ADAPTED = {"langchain", "pytest"}
# Its modules adapt one framework each, which is there before Resay.
FRAMEWORKS = "resay_frameworks/"


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_what_is_imported_is_required(wheels: dict[str, Path], name: str) -> None:
    # The others require the same version of `resay`, and have what it requires.
    lines = {line for own in {name, "resay"} for line in metadata_of(wheels[own])["requires_dist"]}
    required = {canonicalize_name(Requirement(line).name) for line in lines}
    distributions = packages_distributions()
    undeclared = {}
    for package, file in imported_packages(wheels[name]).items():
        providers = distributions.get(package, [package])
        if package in COMPANIONS:
            providers = [COMPANIONS[package]]
        if not {*map(canonicalize_name, providers)} & (required | ADAPTED):
            undeclared[package] = file
    assert not undeclared


def imported_packages(wheel: Path) -> dict[str, str]:
    """Return the packages of others that a wheel's modules import, each with one of the modules."""
    packages: dict[str, str] = {}
    with zipfile.ZipFile(wheel) as archive:
        for file in archive.namelist():
            if not file.endswith(".py") or file.startswith(FRAMEWORKS):
                continue
            for node in ast.walk(ast.parse(archive.read(file))):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [node.module]
                packages.update((module.partition(".")[0], file) for module in names)
    own = {"resay", "resay_server", "resay_lab", *ADAPTERS}
    return {
        package: file
        for package, file in packages.items()
        if package not in own and package not in sys.stdlib_module_names
    }


def required_by(name: str, extras: set[str], wheels: dict[str, Path]) -> Iterator[Requirement]:
    """Yield what a distribution of ours requires from others, with the given extras."""
    for line in metadata_of(wheels[name])["requires_dist"]:
        requirement = Requirement(line)
        applies = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras or {""}
        )
        if not applies:
            continue
        if requirement.name not in DISTRIBUTIONS:
            yield requirement
        elif requirement.name != "resay" or name == "resay":
            yield from required_by(requirement.name, requirement.extras, wheels)


def metadata_of(wheel: Path) -> RawMetadata:
    archive = zipfile.ZipFile(wheel)
    (described,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    return parse_email(archive.read(described))[0]


def _locked(environment: str) -> dict[str, set[str]]:
    """Return the versions of each package; one that left Python 3.10 behind has two."""
    versions: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / f"{environment}.txt").read_text().splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            (pin,) = requirement.specifier
            versions.setdefault(requirement.name, set()).add(pin.version)
    return versions


def test_the_long_description_has_no_link_that_only_the_repository_has(wheel: Path) -> None:
    description = metadata_of(wheel)["description"]
    assert "## A first verdict" in description
    assert "How it works explains" in description
    assert not re.findall(r"\]\((?!https?:)[^)]*\)", description)


def test_links_of_the_long_description_lead_to_the_repository() -> None:
    long_description = run_path(str(ROOT / "hatch_build.py"))["long_description"]
    linked = (
        "![A picture](docs/a.svg)\n\n[Page](docs/a.md#b), [site](https://a.example), [top](#top)."
    )
    assert long_description(linked, "https://example.org/resay/") == (
        "![A picture](https://example.org/resay/raw/HEAD/docs/a.svg)\n\n"
        "[Page](https://example.org/resay/blob/HEAD/docs/a.md#b), [site](https://a.example),"
        " [top](#top)."
    )
    assert long_description(linked, None) == "Page, [site](https://a.example), [top](#top)."
