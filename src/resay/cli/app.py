"""The `resay` command: its subcommands, shared input and output helpers, and exit codes.

A subcommand's code is imported only when it runs, to keep `resay --help` fast.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import typer
from typer.core import TyperCommand, TyperGroup

from resay._internal._version import __version__
from resay.errors import (
    ConfigurationError,
    DeadlineExceededError,
    ProviderError,
    ResayError,
    without_cause,
)

COMMANDS: Mapping[str, tuple[str, str]] = {
    "calibrate": (
        "resay.cli.calibrate:app",
        "Fit a policy's thresholds and weights to labelled responses, with a guarantee.",
    ),
    "index": (
        "resay.cli.index:app",
        "Index a folder of text, Markdown and PDF files to search for evidence.",
    ),
    "serve": (
        "resay.cli.serve:app",
        "Serve OpenAI's and Anthropic's APIs behind one URL, and check the answers of an upstream.",
    ),
    "report": (
        "resay.cli.report:app",
        "Write verdicts to an HTML page that works offline.",
    ),
    "journal": (
        "resay.cli.journal:app",
        "List, search, export or delete recorded verdicts.",
    ),
    "label": (
        "resay.cli.label:app",
        "Draw recorded verdicts and label them, in the terminal or as CSV.",
    ),
    "ask": (
        "resay.cli.ask:ask_app",
        "Ask a model, check the answer, and apply the policy's action.",
    ),
    "check": ("resay.cli.ask:check_app", "Check an existing response."),
    "batch": (
        "resay.cli.batch:app",
        "Check every response in a file, and write each row with its verdict.",
    ),
    "demo": (
        "resay.cli.demo:app",
        "Catch a hallucination from a simulated model, without a network or a key.",
    ),
    "policy": ("resay.cli.ask:policy_app", "Check policy files, or print their JSON Schema."),
    "bench": ("resay.benchmarks.commands:app", "Run published benchmarks."),
    "models": ("resay.cli.models:app", "Export and check neural models."),
}
"""Each command's import path and the first line of its help."""

FLAGGED, BAD_INPUT, INCONCLUSIVE, NO_ANSWER, FAILED = 1, 2, 3, 4, 5
BROKEN_PIPE = 141  # what a shell reports for a process killed by SIGPIPE

ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The provider's base URL, if not the default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


class _Commands(TyperGroup):
    """Exits quietly on a closed pipe; typer would exit with 1, which means flagged here."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments, and print help on request."""
        with _quiet():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _quiet():
            return super().invoke(ctx)


@contextmanager
def _quiet() -> Generator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise SystemExit(BROKEN_PIPE) from error
    # rich turns a broken pipe into a SystemExit.
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            raise SystemExit(BROKEN_PIPE) from left
        raise


class _Deferred(TyperCommand):
    """A command whose code is imported when it runs."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def make_context(
        self, info_name: str | None, args: list[str], *positional: Any, **extra: Any
    ) -> Any:
        """Let the imported command parse its arguments; typer then runs the context's command."""
        return imported(self.name or "").make_context(info_name, args, *positional, **extra)


def imported(name: str) -> Any:
    """Import and return a command."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    return typer.main.get_command(getattr(import_module(module), attribute))


app = typer.Typer(
    cls=_Commands,
    name="resay",
    help="A hallucination guard for LLM applications.\n\n"
    "Exit codes: 0 fine or skipped, 1 flagged, 2 bad input, 3 inconclusive, 4 no answer, 5 internal"
    " error or output that cannot be written, 130 interrupted, 141 closed pipe.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for _name, (_, _help) in COMMANDS.items():
    app.command(_name, cls=_Deferred, help=_help)(lambda: None)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    del version


def read_text(name: str | Path) -> str:
    """Read a text file, or stdin for `-`.

    Raises:
        ConfigurationError: The file cannot be read or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(name) == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(name)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{str(name)!r} is not UTF-8 text") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, with its line endings unchanged.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise ConfigurationError(f"cannot write {str(path)!r}: {error.strerror}") from error


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(document, indent=2))


def run() -> int:
    """Run the command line and return the exit code."""
    return run_reporting_errors(app)


def run_reporting_errors(command: Callable[[], object]) -> int:
    """Run a callable, print any error to stderr, and return the exit code."""
    _prepare_output()
    # litellm creates a coroutine before it awaits it; a call cancelled in between never does.
    warnings.filterwarnings("ignore", "coroutine '.*' was never awaited", RuntimeWarning)
    try:
        command()
    except SystemExit as left:
        return _finish(left.code if isinstance(left.code, int) else 0)
    except ResayError as error:
        return _failed(without_cause(error), _code_of(error))
    except Exception as error:
        if _cannot_write(error):
            return _unwritten(error)
        traceback.print_exc()
        return FAILED
    return _finish(0)


def _code_of(error: ResayError) -> int:
    # Imported late, because it is slow and only needed after an error.
    from resay.core.verdict import HallucinationBlocked

    if isinstance(error, HallucinationBlocked):
        return FLAGGED
    if isinstance(error, ConfigurationError):
        return BAD_INPUT
    return NO_ANSWER if isinstance(error, (ProviderError, DeadlineExceededError)) else FAILED


def _failed(message: str, code: int) -> int:
    _complain(message)
    return _finish(code)


def _complain(message: str) -> None:
    # Imported late because most runs print neither errors nor help.
    from rich.console import Console

    Console(stderr=True).print(message, style="red", markup=False, highlight=False, soft_wrap=True)


_UNWRITABLE = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


def _prepare_output() -> None:
    """Replace characters that the output's encoding lacks instead of failing on them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _finish(code: int) -> int:
    """Flush stdout.

    Args:
        code: The command's exit code.

    Returns:
        The same code, or another one if the output cannot be written.
    """
    try:
        # A process can be started without a stdout.
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        _discard()
        return BROKEN_PIPE
    except OSError as error:
        return _unwritten(error)
    return code


def _cannot_write(error: Exception) -> TypeGuard[OSError]:
    """Whether an error means that the output itself cannot be written (a full disk, say)."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None


def _unwritten(error: OSError) -> int:
    """Report that the output cannot be written, and return the exit code."""
    _discard()
    _complain(f"cannot write the output: {error.strerror}")
    return FAILED


def _discard() -> None:
    """Redirect stdout to the null device, or Python would retry the flush at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
