"""The wheel, with its two source roots, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml
from packaging.metadata import parse_email
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resay import __version__
from support.extras import EXTRAS

ADAPTERS = {path.name for path in (Path(__file__).parents[1] / "integrations").glob("resay_*")}
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    # The backend comes from the environment the tests run in, so that building needs no network.
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT],
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = target.glob("*.whl")
    return built


def test_both_roots_are_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert len(ADAPTERS) >= 5
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "resay",
        *ADAPTERS,
    }
    assert "resay/py.typed" in names
    assert "resay/reporting/render/html/style.css" in names
    languages = {path.name for path in (ROOT / "src/resay/lang").glob("*.toml")}
    assert {f"resay/lang/{name}" for name in languages} <= set(names)
    assert {"en.toml", "sv.toml"} <= languages
    assert {f"{adapter}/py.typed" for adapter in ADAPTERS} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


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
        ("docs", {"calibrate", "server"}),
        ("proxy", {"anthropic", "litellm", "openai", "server"}),
    ],
)
def test_an_environment_has_what_the_package_requires(
    wheel: Path, environment: str, extras: set[str]
) -> None:
    """If not, a requirement was changed without `make lock`."""
    pins = _locked(environment)
    missing = []
    (described,) = (name for name in zipfile.ZipFile(wheel).namelist() if "METADATA" in name)
    raw, _ = parse_email(zipfile.ZipFile(wheel).read(described))
    for line in raw["requires_dist"]:
        requirement = Requirement(line)
        asked_for = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        )
        # pip installs torch by itself.
        if not asked_for or (environment == "dev" and requirement.name == "torch"):
            continue
        versions = pins.get(canonicalize_name(requirement.name), set())
        if not versions or not all(map(requirement.specifier.contains, versions)):
            missing.append(line)
    assert not missing


def _locked(environment: str) -> dict[str, set[str]]:
    """Return the versions of each package; one that left Python 3.10 behind has two."""
    versions: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / f"{environment}.txt").read_text().splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            (pin,) = requirement.specifier
            versions.setdefault(requirement.name, set()).add(pin.version)
    return versions


def test_the_recipe_for_conda_has_the_same_version_and_dependencies() -> None:
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == __version__
    required = metadata("resay").get_all("Requires-Dist") or []
    run = {_unconditional(one) for one in recipe["requirements"]["run"] if "python " not in one}
    # A package for any Python needs what only some of them need.
    assert run == {_unconditional(one) for one in required if "extra ==" not in one}


def _unconditional(requirement: str) -> str:
    """Return a requirement without the Pythons that need it."""
    parsed = Requirement(requirement)
    return f"{parsed.name}{parsed.specifier}"
