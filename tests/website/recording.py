"""Records a newcomer's way from nothing to a first verdict: `python -m website.recording`.

The commands and programs are those of README.md and docs/local-models.md. All are run, in an empty
folder, with wheels made from these sources; nothing is taken from pip's cache. The time that each
takes is measured, printed, and part of the picture. Where it takes longer than the documentation
promises, there is no picture.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from resay import __version__
from resay.testing import SimulatedProvider
from support.docs import snippets
from support.extras import build_wheel
from website.terminal import WIDTH, Output, drawing

__all__ = ["PICTURE", "record"]

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pictures" / "first-verdict.svg"
MAX_WALL_S = 60.0
MAX_CHECK_CPU_S = 2.0
MAX_ASK_CPU_S = 5.0
# In the picture nobody waits longer than this for a command.
_MAX_SHOWN_S = 3.0
_PAUSE_S = 0.8
# Times below this say nothing.
_MIN_SHOWN_S = 0.1
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[38;5;245m", "\x1b[0m"


@dataclass(frozen=True)
class Command:
    """A command that was run.

    Attributes:
        line: The command, as it was typed.
        output: What it printed.
        wall_s: How long it took.
        cpu_s: The processor time of its processes.
    """

    line: str
    output: str
    wall_s: float
    cpu_s: float

    @property
    def took(self) -> str:
        """Its times, as text."""
        return f"{self.wall_s:.1f} s, {self.cpu_s:.1f} s of CPU"


def _run(line: str, folder: Path, *, wheels: Path, exit_codes: tuple[int, ...] = (0,)) -> Command:
    """Run a command in the environment, once there is one."""
    (folder / "constraints.txt").write_text(f"resay=={__version__}\n")
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "COLUMNS": str(WIDTH),
        "FORCE_COLOR": "1",
        "PIP_CONSTRAINT": str(folder / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_CACHE_DIR": "1",
        # It says nothing of this machine's settings, nor of each package.
        "PIP_QUIET": "2",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    activated = f"[ -d .venv ] && . .venv/bin/activate\n{line}"
    started = time.perf_counter()
    process = subprocess.Popen(
        ["bash", "-c", activated],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    # Those of its own processes alone: this one serves the model.
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in exit_codes, f"{line}\n{output}"
    return Command(line, output, wall_s, usage.ru_utime + usage.ru_stime)


def record() -> None:
    """Run the commands, and draw what they showed.

    Raises:
        AssertionError: A command fails, or takes longer than is promised.
    """
    with TemporaryDirectory() as wheels, TemporaryDirectory() as parent:
        build_wheel(ROOT, Path(wheels))
        folder = Path(parent)
        program = snippets("python")[0].text
        (folder / "first.py").write_text(program)

        def run(line: str, *exit_codes: int) -> Command:
            return _run(line, folder, wheels=Path(wheels), exit_codes=exit_codes or (0,))

        installing = [
            run("python3 -m venv .venv && . .venv/bin/activate"),
            run("pip install resay"),
        ]
        program_shown = run("cat first.py")
        check = run("python first.py")
        with SimulatedProvider(seed=7) as server:
            ask = run(
                'resay ask "Tell me about the Sydney Harbour Bridge." \\\n'
                f"    --model simulated --api-base {server.base_url}",
                1,
            )
    first = [*installing, program_shown, check]
    wall_s = sum(command.wall_s for command in first)
    for command in [*first, ask]:
        sys.stdout.write(f"{command.line}\n    {command.took}\n")
    sys.stdout.write(f"From nothing to a first verdict: {wall_s:.1f} s\n")
    assert wall_s < MAX_WALL_S, f"the first verdict took {wall_s:.1f} s"
    assert check.cpu_s < MAX_CHECK_CPU_S, f"the check took {check.cpu_s:.1f} s of CPU"
    assert ask.cpu_s < MAX_ASK_CPU_S, f"the question took {ask.cpu_s:.1f} s of CPU"
    summary = f"{wall_s:.0f} s from nothing to a first verdict. With a server on this machine:"
    outputs = _outputs(first)
    asked_s = outputs[-1].delay_s + _PAUSE_S
    outputs.append(Output(f"{_BOLD}# {summary}{_RESET}\n", asked_s))
    outputs += _outputs([ask], asked_s)
    picture = drawing(outputs, title="From nothing to a first verdict", name="first")
    PICTURE.write_text(picture, encoding="utf-8")


def _outputs(commands: Sequence[Command], start_s: float = 0.0) -> list[Output]:
    """Return what a terminal shows of commands, and when."""
    outputs: list[Output] = []
    now_s = start_s
    for command in commands:
        now_s += _PAUSE_S
        outputs.append(Output(f"{_BOLD}$ {command.line}{_RESET}", now_s))
        now_s += min(command.wall_s, _MAX_SHOWN_S)
        lines = [line.rstrip() for line in command.output.rstrip().splitlines()]
        if command.wall_s >= _MIN_SHOWN_S:
            lines.append(f"{_DIM}{command.took.rjust(WIDTH)}{_RESET}")
        outputs.append(Output("\n".join([*lines, ""]), now_s))
    return outputs


def main() -> None:
    """Record it, and print what each command took."""
    record()


if __name__ == "__main__":
    main()
