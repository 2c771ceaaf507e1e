"""Clean virtual environments, each with the packages of one `pip install` and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement

from support.docs import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:  # a dependency of pytest
    import tomli as tomllib

__all__ = ["BARE", "EXTRAS", "Environment", "Environments", "build_wheel"]

EXTRAS: Mapping[str, Sequence[str]] = tomllib.loads(
    (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)["project"]["optional-dependencies"]
BARE = ("resay",)
_WORKERS = 2
_RUN_S = 180

Installed = tuple[str, ...]


def build_wheel(project: Path, target: Path) -> None:
    """Build a distribution's wheel into a folder."""
    # The backend comes from the environment the tests run in, so that building needs no network.
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, project],
        check=True,
        capture_output=True,
        timeout=120,
    )


class Environment:
    """A virtual environment.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        (self.site,) = (folder / "lib").glob("python*/site-packages")

    def run(
        self, *words: str | Path, cwd: Path, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python, isolated from the environment that the tests run in."""
        return subprocess.run(
            self.command(*words),
            cwd=cwd,
            env=self.variables(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_RUN_S,
        )

    def command(self, *words: str | Path) -> list[str]:
        """Return the command that runs its Python, isolated from variables and user folders."""
        return [str(self.python), "-I", *map(str, words)]

    @staticmethod
    def variables(added: Mapping[str, str]) -> dict[str, str]:
        """Return a user's environment variables: a few of the system's, and the added ones."""
        kept = ("HOME", "LANG", "PATH", "SSL_CERT_FILE", "TMPDIR")
        known = {name: os.environ[name] for name in kept if name in os.environ}
        return {**known, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", **added}


class Environments:
    """Creates environments from the wheels of our distributions, two at a time.

    An environment that includes all of another starts as a hard-linked copy of it, so that common
    packages are unpacked once.

    Args:
        folder: The folder that contains them.
        wheels: The folder of the wheels.
    """

    def __init__(self, folder: Path, wheels: Path) -> None:
        self._folder = folder
        self._wheels = wheels
        (self._wheel,) = wheels.glob("resay-*.whl")
        self._pool = ThreadPoolExecutor(_WORKERS)
        self._made: dict[Installed, Future[Environment]] = {}

    def begin(self, installed: Installed) -> Future[Environment]:
        """Start to create an environment.

        Args:
            installed: The packages to install, in `pip`'s words.
        """
        if installed not in self._made:
            part = _part_of(installed)
            before = None if part is None else self.begin(part)
            self._made[installed] = self._pool.submit(self._make, installed, before)
        return self._made[installed]

    def close(self) -> None:
        """Start no more, and wait for those in progress."""
        self._pool.shutdown(cancel_futures=True)

    def _make(self, installed: Installed, before: Future[Environment] | None) -> Environment:
        folder = self._folder / "-".join(installed).replace("[", "-").replace("]", "")
        venv.create(folder, with_pip=False, symlinks=True)
        made = Environment(folder)
        if before is not None:
            # Parts are submitted first, and the pool starts its tasks in order: no deadlock.
            shutil.copytree(
                before.result().site, made.site, copy_function=os.link, dirs_exist_ok=True
            )
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(made.python), "install"]
        options = ["--no-compile", "--disable-pip-version-check", "--find-links", str(self._wheels)]
        pins = ["--constraint", str(ROOT / "requirements/all.txt")]
        wanted = [self._found(word) for word in installed]
        subprocess.run([*pip, *options, *pins, *wanted], check=True, capture_output=True, text=True)
        return made

    def _found(self, word: str) -> str:
        """Return our own package as a file: the one in the registry is a different package."""
        requirement = Requirement(word)
        if requirement.name != "resay":
            return word
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        return f"{self._wheel}{extras}"


def _part_of(installed: Installed) -> Installed | None:
    """Return a line that installs only part of this one; None for the shortest line."""
    if len(installed) > 1:
        return installed[:-1]
    extras = sorted(Requirement(installed[0]).extras)
    if not extras:
        return None
    if len(extras) > 1:
        return (f"resay[{','.join(extras[:-1])}]",)
    ours = (Requirement(word) for word in EXTRAS[extras[0]])
    inside = [extra for one in ours if one.name == "resay" for extra in sorted(one.extras)]
    return (f"resay[{inside[0]}]",) if inside else BARE
