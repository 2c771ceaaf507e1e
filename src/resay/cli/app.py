"""The `resay` command: its subcommands, and where the code of each is.

Some come with other distributions, which name them in the entry point group `resay.commands`. A
subcommand's code is imported only when it runs, to keep `resay --help` fast.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from resay._internal._version import __version__
from resay._internal.entry_points import installed_by, installed_names, load_installed
from resay.commands import BROKEN_PIPE, run_reporting_errors
from resay.errors import ConfigurationError, MissingDependencyError


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Attributes:
        help: The first line of its help.
        panel: The panel of the help that lists it.
        path: Its import path, `package.module:name`; None if it comes with another distribution.
        extra: The extra of `resay` that installs that distribution; None for our own commands.
    """

    help: str
    panel: str
    path: str | None = None
    extra: str | None = None


_FIRST, _RULES = "First steps", "Policies and documents"
_MANY, _SERVING, _MODELS = "Many answers", "In production", "Models and research"

COMMANDS: Mapping[str, Command] = {
    "demo": Command(
        help="Catch a hallucination from a simulated or a local model, without a key.",
        panel=_FIRST,
        path="resay.cli.demo:app",
    ),
    "check": Command(
        help="Check an existing response.", panel=_FIRST, path="resay.cli.ask:check_app"
    ),
    "ask": Command(
        help="Ask a model, check the answer, and apply the policy's action.",
        panel=_FIRST,
        path="resay.cli.ask:ask_app",
    ),
    "report": Command(
        help="Write verdicts to an HTML page that works offline.",
        panel=_FIRST,
        path="resay.cli.report:app",
    ),
    "doctor": Command(
        help="Show what is installed and configured, and whether a model's server answers.",
        panel=_FIRST,
        path="resay.cli.doctor:app",
    ),
    "policy": Command(
        help="Write, check and describe policy files.", panel=_RULES, path="resay.cli.policy:app"
    ),
    "index": Command(
        help="Index a folder of text, Markdown and PDF files to search for evidence.",
        panel=_RULES,
        path="resay.cli.index:app",
    ),
    "batch": Command(
        help="Check every response in a file, and write each row with its verdict.",
        panel=_MANY,
        extra="lab",
    ),
    "calibrate": Command(
        help="Fit a policy's thresholds and weights to labelled responses, with a guarantee.",
        panel=_MANY,
        extra="lab",
    ),
    "serve": Command(
        help="Serve OpenAI's and Anthropic's APIs behind one URL, and check the answers of an"
        " upstream.",
        panel=_SERVING,
        extra="server",
    ),
    "mcp": Command(
        help="Serve tools over the Model Context Protocol with which agents check answers and"
        " claims.",
        panel=_SERVING,
        extra="mcp",
    ),
    "hook": Command(
        help="Check what a coding agent says it did, as a hook of the agent.",
        panel=_SERVING,
        path="resay.cli.hook:app",
    ),
    "journal": Command(
        help="List, search, export or delete recorded verdicts.", panel=_SERVING, extra="server"
    ),
    "label": Command(
        help="Draw recorded answers and label their claims: true, made up, or can't tell.",
        panel=_SERVING,
        extra="server",
    ),
    "models": Command(
        help="Export and check neural models.", panel=_MODELS, path="resay.cli.models:app"
    ),
    "bench": Command(help="Run published benchmarks.", panel=_MODELS, extra="lab"),
}
"""Our subcommands, in the order of the help: that in which most people need them."""


class _Commands(TyperGroup):
    """Finds the commands of other distributions, and exits quietly on a closed pipe.

    typer would exit with 1 on a closed pipe, which means flagged here.
    """

    # The context's class is click's in some versions of typer and typer's own in others.
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments, and print help on request."""
        with _quiet():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _quiet():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return our own commands, then those that other distributions add."""
        others = (name for name in installed_names("resay.commands") if name not in COMMANDS)
        return [*COMMANDS, *others]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, whose code is imported when it runs; None if there is none."""
        if cmd_name in COMMANDS or cmd_name not in installed_names("resay.commands"):
            return super().get_command(ctx, cmd_name)
        distributions = installed_by("resay.commands", cmd_name)
        return _Deferred(
            cmd_name, help=f"Installed by {distributions}.", rich_help_panel="Other distributions"
        )


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
    """Import and return a command.

    Raises:
        ConfigurationError: The distribution that it comes with has none that can be loaded.
        MissingDependencyError: That distribution is not installed.
    """
    command = COMMANDS.get(name)
    if command is not None and command.path is not None:
        module, _, attribute = command.path.partition(":")
        return typer.main.get_command(getattr(import_module(module), attribute))
    if command is not None and name not in installed_names("resay.commands"):
        extra = f"{command.extra}"
        raise MissingDependencyError(f"resay-{extra}", extra, f"`resay {name}`")
    app = load_installed("resay.commands", name)
    if not isinstance(app, typer.Typer):
        kind = type(app).__name__
        raise ConfigurationError(f"the command {name!r} must be a typer.Typer, not a {kind}")
    return typer.main.get_command(app)


app = typer.Typer(
    cls=_Commands,
    name="resay",
    help="A hallucination guard for LLM applications.\n\n"
    "Exit codes: 0 fine or skipped, 1 flagged, 2 bad input, 3 inconclusive, 4 no answer, 5 internal"
    " error or output that cannot be written, 130 interrupted, 141 closed pipe.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name, cls=_Deferred, help=_command.help, rich_help_panel=_command.panel)(
        lambda: None
    )


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


def run() -> int:
    """Run the command line and return the exit code."""
    return run_reporting_errors(app)
