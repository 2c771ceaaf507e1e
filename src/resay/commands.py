"""What the commands of the command line have in common: options, exit codes, input and output.

A distribution adds a command with an entry point in the group `resay.commands`, whose object is a
`typer.Typer`.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from resay.errors import (
    ConfigurationError,
    DeadlineExceededError,
    ProviderError,
    ResayError,
    without_cause,
)

if TYPE_CHECKING:
    from resay.guard import Guard

FLAGGED, BAD_INPUT, INCONCLUSIVE, NO_ANSWER, FAILED = 1, 2, 3, 4, 5
BROKEN_PIPE = 141  # what a shell reports for a process killed by SIGPIPE

MODEL_PANEL, POLICY_PANEL, OUTPUT_PANEL = "Model", "Policy", "Output"
"""Panels of options in the help of commands."""

ApiBaseOption = Annotated[
    str | None,
    typer.Option(
        "--api-base",
        help="The address of a server with OpenAI's API, such as http://127.0.0.1:11434/v1.",
        show_default="the provider's own",
        rich_help_panel=MODEL_PANEL,
    ),
]
ApiKeyEnvOption = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="NAME",
        help="The environment variable with the API key.",
        show_default="the provider's own",
        rich_help_panel=MODEL_PANEL,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document on stdout.", rich_help_panel=OUTPUT_PANEL),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Also write the verdict to an HTML page that works offline.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        "-p",
        help="A policy file.",
        show_default="the file that RESAY_POLICY names, or the built-in policy",
        rich_help_panel=POLICY_PANEL,
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="Check with this method instead of a policy file. Repeatable.",
        show_default="facts, if there is neither a policy file nor a model",
        rich_help_panel=POLICY_PANEL,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The model as litellm names it, such as openai/gpt-4.1-mini; with --api-base, as the"
        " server does.",
        rich_help_panel=MODEL_PANEL,
    ),
]


def connection_params(api_base: str | None, api_key_env: str | None = None) -> dict[str, Any]:
    """Return the provider's parameters for the address and the key that a command names.

    Args:
        api_base: The address.
        api_key_env: The environment variable with the key.

    Raises:
        ConfigurationError: That variable is not set.
    """
    params: dict[str, Any] = {}
    if api_base is not None:
        params["api_base"] = api_base
    if api_key_env is not None:
        key = os.environ.get(api_key_env)
        if not key:
            raise ConfigurationError(
                f"the environment variable {api_key_env!r} of --api-key-env is not set"
            )
        params["api_key"] = key
    return params


def guard_of(path: Path | None, methods: list[str] | None, *, model: str | None = None) -> Guard:
    """Return a guard with the policy that a command's options or `RESAY_POLICY` select.

    Without any of them, and without a model, it is the method `facts`, which asks no judge.

    Args:
        path: The policy file that the command names; None for none.
        methods: The methods that it names in place of a policy file.
        model: The default model.

    Raises:
        ConfigurationError: Both options are given, or the policy is invalid.
    """
    # Imported late, because `resay --help` needs only the options.
    from resay.guard import Guard

    if path and methods:
        raise ConfigurationError("--policy and --method exclude each other; pass only one")
    if not methods and model is None and not has_policy(path):
        methods = ["facts"]
    if methods:
        return Guard({"chain": [{"method": method} for method in methods]}, model=model)
    return Guard(path, model=model)


def has_policy(path: Path | None) -> bool:
    """Return whether a command has a policy file: one that it names, or that of `RESAY_POLICY`.

    Args:
        path: The policy file that the command names; None for none.
    """
    from resay.policy.model import POLICY_VARIABLE

    return path is not None or bool(os.environ.get(POLICY_VARIABLE))


def print_policy(path: Path | None, methods: list[str] | None, *, model: str | None = None) -> None:
    """Say which policy applies, on stderr, if the command does not name it itself.

    Args:
        path: The policy file that the command names; None for none.
        methods: The methods that it names in place of a policy file.
        model: The model that it names.
    """
    from resay.policy.model import POLICY_VARIABLE

    configured = os.environ.get(POLICY_VARIABLE)
    if configured and not path and not methods:
        typer.echo(f"policy: {configured} ({POLICY_VARIABLE})", err=True)
    elif not path and not methods and model is None:
        typer.echo("method: facts (name a --model to have a judge check as well)", err=True)


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


def print_json(document: Mapping[str, Any], *, compact: bool = False) -> None:
    """Print one JSON document on stdout.

    Args:
        document: The document.
        compact: Whether to print it on one line, for programs.
    """
    if compact:
        typer.echo(json.dumps(document, separators=(",", ":")))
    else:
        typer.echo(json.dumps(document, indent=2))


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
    from resay.core.blocked import HallucinationBlocked

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
