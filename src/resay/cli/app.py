"""The command `resay`: which commands there are, what all of them print on, and the exit codes.

A command's code is imported when the command runs: `resay --help` need not wait for it.
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
from resay.errors import ConfigurationError, DeadlineExceededError, ProviderError, ResayError

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
"""For each command where its code is, and the first line of its help."""

FLAGGED, BAD_INPUT, INCONCLUSIVE, NO_ANSWER, FAILED = 1, 2, 3, 4, 5
NOBODY_READS = 141  # as of a process that SIGPIPE ends

ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The provider's base URL, if not the default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


class _Commands(TyperGroup):
    """Ends in silence when nobody reads the output; typer says 1, which means flagged here."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments, and print help where that is asked for."""
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
        raise SystemExit(NOBODY_READS) from error
    # rich handles it like this.
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):
            raise SystemExit(NOBODY_READS) from left
        raise


class _Deferred(TyperCommand):
    """A command whose code is imported when it runs."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Have the command itself read its arguments; what is run is the context's command."""
        return imported(self.name or "").make_context(info_name, args, *more, **extra)


def imported(name: str) -> Any:
    """Import a command's code, and return the command."""
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
        ConfigurationError: It cannot be read as UTF-8 text.
    """
    try:
        data = sys.stdin.buffer.read() if str(name) == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(name)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{str(name)!r} is not UTF-8 text") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8, with line ends as they are.

    Raises:
        ConfigurationError: It cannot be written.
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
    return run_and_say(app)


def run_and_say(command: Callable[[], object]) -> int:
    """Run something, say on stderr why it failed, and return the exit code."""
    _prepare_output()
    # litellm makes it before it waits for it; a call that is cancelled in between leaves it behind.
    warnings.filterwarnings("ignore", "coroutine '.*' was never awaited", RuntimeWarning)
    try:
        command()
    except SystemExit as left:
        return _finish(left.code if isinstance(left.code, int) else 0)
    except ResayError as error:
        return _failed(str(error), _code_of(error))
    except Exception as error:
        if _cannot_write(error):
            return _unwritten(error)
        traceback.print_exc()
        return FAILED
    return _finish(0)


def _code_of(error: ResayError) -> int:
    # The verdict takes long to import; where this was raised it has been.
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
    # Most runs complain of nothing and print no help: they do without rich.
    from rich.console import Console

    Console(stderr=True).print(message, style="red", markup=False, highlight=False, soft_wrap=True)


_UNWRITABLE = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


def _prepare_output() -> None:
    """Have characters replaced that the output's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _finish(code: int) -> int:
    """Write out what is still buffered.

    Args:
        code: What the command exits with.

    Returns:
        The same; another code where the output could not be written.
    """
    try:
        # There is none where the process was started without.
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        _discard()
        return NOBODY_READS
    except OSError as error:
        return _unwritten(error)
    return code


def _cannot_write(error: Exception) -> TypeGuard[OSError]:
    """Return whether an error says that there is no room for the output."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None


def _unwritten(error: OSError) -> int:
    """Say that the output cannot be written, and return the exit code."""
    _discard()
    _complain(f"cannot write the output: {error.strerror}")
    return FAILED


def _discard() -> None:
    """Keep Python from trying to write the rest once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
