"""The command `resay` and its subcommands."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import typer
from rich.console import Console
from typer.core import TyperGroup

from resay._internal._version import __version__
from resay._internal.sync import run_sync
from resay.benchmarks.commands import app as bench_app
from resay.cli.calibrate import calibrate
from resay.cli.demo import run_demo
from resay.cli.files import SeveralValues, read_logprobs, read_text, read_texts
from resay.cli.models import app as models_app
from resay.cli.report import report
from resay.cli.serve import serve
from resay.core.verdict import Document, HallucinationBlocked, Verdict
from resay.engine.stream import SyncAnswerStream
from resay.errors import (
    ConfigurationError,
    DeadlineExceededError,
    PolicyError,
    ProviderError,
    ResayError,
)
from resay.guard import Guard
from resay.policy import Policy, policy_schema
from resay.reporting.render import print_answer, print_part, print_verdict
from resay.retrieval import FolderRetriever, IndexReport, index_folder
from resay.scorers import SampleConfig

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "FLAGGED",
    "INCONCLUSIVE",
    "INTERRUPTED",
    "NOBODY_READS",
    "NO_ANSWER",
    "app",
    "cannot_write",
    "finish",
    "index",
    "prepare_output",
    "run",
    "unwritten",
]

FLAGGED, BAD_INPUT, INCONCLUSIVE, NO_ANSWER, FAILED = 1, 2, 3, 4, 5
# As of a process that the signal ends: SIGINT, SIGPIPE.
INTERRUPTED, NOBODY_READS = 130, 141


_UNWRITABLE = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


def prepare_output() -> None:
    """Have characters replaced that the output's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def finish(code: int) -> int:
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
        return unwritten(error)
    return code


def cannot_write(error: Exception) -> TypeGuard[OSError]:
    """Return whether an error says that there is no room for the output."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None


def unwritten(error: OSError) -> int:
    """Say that the output cannot be written, and return the exit code."""
    _discard()
    Console(stderr=True).print(
        f"the output cannot be written: {error.strerror}", style="red", highlight=False
    )
    return FAILED


def _discard() -> None:
    """Keep Python from trying to write the rest once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


_MOST_LINES = 20
_MOST_CHARS = 100


def index(
    folder: Annotated[Path, typer.Argument(help="The folder.", show_default=False)],
    index: Annotated[
        Path | None,
        typer.Option(help="The file of the index.", show_default=".resay-index.sqlite in there"),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="Also search for these words.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many documents to find.")] = 5,
) -> None:
    """Index a folder of text, Markdown and PDF files, so that it can be searched for evidence."""
    # What it says of damaged files is said once, and better, by the report.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    _print_report(index_folder(folder, index))
    if search is not None:
        retriever = FolderRetriever(folder, index=index, refresh=False)
        _print_documents(run_sync(lambda: retriever.retrieve(search, k=k)))


def _print_report(report: IndexReport) -> None:
    _print_paths("added", report.added)
    _print_paths("changed", report.changed)
    _print_paths("removed", report.removed)
    for skipped in report.skipped:
        typer.echo(f"skipped: {skipped.path}: {skipped.reason}")
    typer.echo(
        f"{len(report.added)} added, {len(report.changed)} changed, {len(report.removed)} removed,"
        f" {len(report.unchanged)} unchanged, {len(report.skipped)} skipped;"
        f" {report.documents} documents"
    )


def _print_paths(what: str, paths: Sequence[str]) -> None:
    for path in paths[:_MOST_LINES]:
        typer.echo(f"{what}: {path}")
    if len(paths) > _MOST_LINES:
        typer.echo(f"{what}: and {len(paths) - _MOST_LINES} more")


def _print_documents(documents: Sequence[Document]) -> None:
    if not documents:
        typer.echo("nothing found")
    for document in documents:
        line = document.text.splitlines()[0]
        short = line if len(line) <= _MOST_CHARS else f"{line[:_MOST_CHARS]}…"
        typer.echo(f"{document.id}  {document.score:.2f}  {short}")


_OPTIONS = {
    "question": "--prompt",
    "samples": "--samples",
    "references": "--references",
    "logprobs": "--logprobs",
    "model": "--model",
    "entity": "--entity",
    "api_base": "--api-base",
}
_ARGUMENT = re.compile(f"`({'|'.join(_OPTIONS)})`")


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


app = typer.Typer(
    cls=_Commands,
    name="resay",
    help="A hallucination guard for LLM applications.\n\n"
    "Exit codes: 0 fine or skipped, 1 flagged, 2 bad input, 3 inconclusive, 4 no answer, 5 internal"
    " error or output that cannot be written, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(calibrate)
app.command()(index)
app.command()(serve)
app.command()(report)
policy_app = typer.Typer(help="Policy files.", no_args_is_help=True)
app.add_typer(policy_app, name="policy")
app.add_typer(bench_app, name="bench", help="Published benchmarks, and speed.")
app.add_typer(models_app, name="models", help="Neural models: export and check them.")

PolicyOption = Annotated[
    Path | None, typer.Option("--policy", "-p", help="A policy file.", show_default=False)
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option("--method", help="A chain of this method, in place of a policy file; repeatable."),
]
ModelOption = Annotated[
    str | None, typer.Option("--model", "-m", help="In litellm's notation: openai/gpt-4.1-mini.")
]
EntityOption = Annotated[
    str | None, typer.Option("--entity", help="What the response is about: reverse_validation.")
]
ApiBaseOption = Annotated[
    str | None, typer.Option("--api-base", help="The provider's address, if not its usual one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


class _Mode(str, Enum):
    hold = "hold"
    after = "after"
    buffer = "buffer"


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    del version


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask the model.")],
    model: ModelOption = None,
    entity: EntityOption = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    api_base: ApiBaseOption = None,
    stream: Annotated[
        _Mode | None,
        typer.Option(
            help="Print the answer while it is written: hold each sentence until its score is in,"
            " or check it all after, or buffer it.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a model, check its answer, and act as the policy says."""
    guard = Guard(_policy(policy, method))
    with _named_as_options():
        if stream is not None and not as_json:
            parts = guard.stream(
                question, mode=stream.value, model=model, entity=entity, **_params(api_base)
            )
            raise typer.Exit(_exit_code(_print_stream(parts)))
        answer = guard.ask(question, model=model, entity=entity, **_params(api_base))
    if as_json:
        _print_json(answer.to_dict())
    else:
        print_answer(answer, Console())
    raise typer.Exit(_exit_code(answer.verdict))


@app.command(cls=SeveralValues)
def check(
    response: Annotated[
        str, typer.Option("--response", "-r", help="A file with the response; - reads stdin.")
    ],
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="What the response answers; to draw samples.")
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option("--samples", help="Files with other responses; .json and .jsonl hold many."),
    ] = None,
    references: Annotated[
        list[Path] | None, typer.Option("--references", help="Files with trusted texts.")
    ] = None,
    logprobs: Annotated[
        Path | None,
        typer.Option(help="A JSON file with the response's tokens: OpenAI's logprobs.content."),
    ] = None,
    model: ModelOption = None,
    entity: EntityOption = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    api_base: ApiBaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a response that is there already."""
    text = read_text(response)
    trusted = [t for path in references or () for t in read_texts(path)]
    drawn = [t for path in samples or () for t in read_texts(path)]
    guard = Guard(_policy(policy, method, against_references=bool(trusted and not drawn)))
    tokens = None if logprobs is None else read_logprobs(logprobs)
    with _named_as_options():
        verdict = guard.check(
            text,
            question=prompt,
            samples=drawn or None,
            references=trusted,
            logprobs=tokens,
            model=model,
            entity=entity,
            **_params(api_base),
        )
    if as_json:
        _print_json(verdict.to_dict())
    else:
        print_verdict(verdict, text, Console())
    raise typer.Exit(_exit_code(verdict))


@app.command()
def demo(
    question: Annotated[str | None, typer.Argument(help="Ask the simulated model this.")] = None,
    regenerate: Annotated[
        bool, typer.Option("--regenerate", help="Mend the answer by documents, too.")
    ] = False,
) -> None:
    """Catch a hallucinated sentence, with a simulated provider on this machine."""
    run_demo(question, Console(), regenerate=regenerate)


@policy_app.command("schema")
def show_schema() -> None:
    """Print the JSON Schema of policy files, for editors."""
    _print_json(policy_schema())


@policy_app.command("check")
def check_policy(
    file: Annotated[Path, typer.Argument(help="The policy file.")],
) -> None:
    """Say whether a policy file is valid, and where it is not."""
    loaded = Policy.load(file)
    steps = " -> ".join(step.method_name for step in loaded.chain)
    typer.echo(f"{file}: valid; {steps}; action: {loaded.action.do}")


def _print_stream(stream: SyncAnswerStream) -> Verdict:
    console = Console()
    with stream:
        for part in stream:
            print_part(part, console)
    console.print("\n")
    print_answer(stream.answer, console)
    return stream.answer.verdict


def _policy(
    path: Path | None, methods: list[str] | None, *, against_references: bool = False
) -> Policy:
    if path and methods:
        raise ConfigurationError("--policy and --method exclude each other; pass one of them")
    if path:
        return Policy.load(path)
    steps: list[dict[str, Any]] = [{"method": m} for m in methods or ()]
    policy = Policy.of({"chain": steps}) if steps else Policy.default()
    if not against_references:
        return policy
    chain = tuple(
        step.model_copy(update={"evidence": "references"})
        if isinstance(step, SampleConfig)
        else step
        for step in policy.chain
    )
    return policy.model_copy(update={"chain": chain})


@contextmanager
def _named_as_options() -> Generator[None]:
    """Name the arguments that an error speaks of as they are called on the command line."""
    try:
        yield
    except PolicyError:
        raise
    except (ConfigurationError, ProviderError) as error:
        told = _ARGUMENT.sub(lambda found: f"`{_OPTIONS[found[1]]}`", str(error))
        error.args = (told, *error.args[1:])
        raise


def _params(api_base: str | None) -> dict[str, Any]:
    return {} if api_base is None else {"api_base": api_base}


def _print_json(document: dict[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=2))


def _exit_code(verdict: Verdict) -> int:
    return {"flagged": FLAGGED, "inconclusive": INCONCLUSIVE}.get(verdict.decision, 0)


def run() -> int:
    """Run the command line and return the exit code."""
    prepare_output()
    # litellm makes it before it waits for it; a call that is cancelled in between leaves it behind.
    warnings.filterwarnings("ignore", "coroutine '.*' was never awaited", RuntimeWarning)
    try:
        app()
    except SystemExit as left:
        return finish(left.code if isinstance(left.code, int) else 0)
    except HallucinationBlocked as error:
        return _failed(str(error), FLAGGED)
    except ConfigurationError as error:
        return _failed(str(error), BAD_INPUT)
    except (ProviderError, DeadlineExceededError) as error:
        return _failed(str(error), NO_ANSWER)
    except ResayError as error:
        return _failed(str(error), FAILED)
    except Exception as error:
        if cannot_write(error):
            return unwritten(error)
        traceback.print_exc()
        return FAILED
    return finish(0)


def _failed(message: str, code: int) -> int:
    Console(stderr=True).print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    return finish(code)
