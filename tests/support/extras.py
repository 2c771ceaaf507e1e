"""Clean virtual environments, each with what one line of `pip install` brings and nothing else."""

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
else:  # pytest brings it
    import tomli as tomllib

__all__ = ["BARE", "EXTRAS", "Environment", "Environments"]

EXTRAS: Mapping[str, Sequence[str]] = tomllib.loads(
    (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)["project"]["optional-dependencies"]
BARE = ("resay",)
_WORKERS = 2
_RUN_S = 180

Installed = tuple[str, ...]


class Environment:
    """A virtual environment.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        (self.site,) = (folder / "lib").glob("python*/site-packages")

    def run(
        self, *words: str | Path, cwd: Path, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python, which sees nothing of the environment that the tests run in."""
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
        """Return what runs its Python, without the variables and folders of others."""
        return [str(self.python), "-I", *map(str, words)]

    @staticmethod
    def variables(added: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables of a user: a few of the system's, and what is added."""
        kept = ("HOME", "LANG", "PATH", "SSL_CERT_FILE", "TMPDIR")
        known = {name: os.environ[name] for name in kept if name in os.environ}
        return {**known, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_OFFLINE": "1", **added}


class Environments:
    """Makes environments from one wheel, two at a time.

    One that brings all of another begins as a copy of it, made of links: what both have is unpacked
    once.

    Args:
        folder: Where they are.
        wheel: The wheel.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        self._folder = folder
        self._wheel = wheel
        self._pool = ThreadPoolExecutor(_WORKERS)
        self._made: dict[Installed, Future[Environment]] = {}

    def begin(self, installed: Installed) -> Future[Environment]:
        """Have an environment made.

        Args:
            installed: What is installed in it, in `pip`'s words.
        """
        if installed not in self._made:
            part = _part_of(installed)
            before = None if part is None else self.begin(part)
            self._made[installed] = self._pool.submit(self._make, installed, before)
        return self._made[installed]

    def close(self) -> None:
        """Begin no more, and wait for those that are being made."""
        self._pool.shutdown(cancel_futures=True)

    def _make(self, installed: Installed, before: Future[Environment] | None) -> Environment:
        folder = self._folder / "-".join(installed).replace("[", "-").replace("]", "")
        venv.create(folder, with_pip=False, symlinks=True)
        made = Environment(folder)
        if before is not None:
            # Parts are begun first, and the pool begins what it is given in order.
            shutil.copytree(
                before.result().site, made.site, copy_function=os.link, dirs_exist_ok=True
            )
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(made.python), "install"]
        options = ["--no-compile", "--disable-pip-version-check"]
        pins = ["--constraint", str(ROOT / "constraints.txt")]
        wanted = [self._found(word) for word in installed]
        subprocess.run([*pip, *options, *pins, *wanted], check=True, capture_output=True, text=True)
        return made

    def _found(self, word: str) -> str:
        """Return our own package as a file: the registry's is another one."""
        requirement = Requirement(word)
        if requirement.name != "resay":
            return word
        extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
        return f"{self._wheel}{extras}"


def _part_of(installed: Installed) -> Installed | None:
    """Return a line that brings only what this one brings too; None for the shortest there is."""
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
