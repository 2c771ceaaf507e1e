"""The command `resay demo`: catch a hallucination end to end, without a network.

Only the model is simulated, and the output says so; with `--model local` it is a small real one,
which runs here. Calls over HTTP, the samples, the judge, the policy and, with `--regenerate`, the
search are real.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from resay.cli.agent_demo import run_agent_demo
from resay.cli.local_model import run_local_demo
from resay.core.regeneration import Regeneration
from resay.engine.actions import Answer
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Policy
from resay.reporting.render import print_answer
from resay.testing import SimulatedProvider

app = typer.Typer(add_completion=False)

DOCUMENTS = Path(__file__).with_name("demo_documents")
"""The folder that the demo searches."""

_QUESTION = "Tell me about the Sydney Harbour Bridge."
_MODEL = "simulated"
_POLICY = """\
version: 1
sampling: {max: 5}
chain:
  - method: prompt
action: {do: annotate}
"""
_REPAIRING_POLICY = """\
version: 1
sampling: {{max: 5}}
chain:
  - method: prompt
action:
  do: regenerate
  retriever:
    kind: folder
    path: '{path}'
    index: '{index}'
"""


class _Model(str, Enum):
    simulated = "simulated"
    local = "local"


@app.command()
def demo(
    question: Annotated[
        str | None, typer.Argument(help="The question to ask the simulated model.")
    ] = None,
    regenerate: Annotated[
        bool, typer.Option("--regenerate", help="Also repair the answer with retrieved documents.")
    ] = False,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent", help="Show an agent that says it did what it did not do, without a model."
        ),
    ] = False,
    model: Annotated[
        _Model,
        typer.Option(
            help="A simulated model, or a small real one that runs here and answers ten questions."
        ),
    ] = _Model.simulated,
    gguf: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --model local: the model's file.",
            show_default="that of an installed package",
        ),
    ] = None,
) -> None:
    """Catch a hallucination from a simulated or a local model, without a key."""
    if agent:
        if question is not None or regenerate or model is _Model.local or gguf is not None:
            raise ConfigurationError("--agent shows a conversation of its own; omit the others")
        run_agent_demo(Console())
        return
    if model is _Model.local:
        if question is not None or regenerate:
            raise ConfigurationError("--model local asks its own questions; omit the others")
        run_local_demo(gguf, Console())
        return
    if gguf is not None:
        raise ConfigurationError("--gguf names a local model's file; pass --model local as well")
    run_demo(question, Console(), regenerate=regenerate)


def run_demo(question: str | None, console: Console, *, regenerate: bool = False) -> None:
    """Ask a simulated model twice without a guard, then once with one.

    Args:
        question: The question; by default one about which the simulated model partly guesses.
        console: The console to print to.
        regenerate: Instead show how a flagged answer is repaired with documents.
    """
    show = _show_repairing if regenerate else _show_catching
    show(question or _QUESTION, console)


def _show_catching(question: str, console: Console) -> None:
    with SimulatedProvider(seed=7) as provider:
        guard = Guard(
            Policy.parse(_POLICY), model=_MODEL, api_base=provider.base_url, api_key="simulated"
        )
        console.rule("Without a guard: two calls")
        console.print(Text(f"> {question}", "bold"))
        for _ in range(2):
            console.print()
            console.print(Text(_plain_answer(guard, question)))
        console.print()
        console.rule("With Resay: one call, resampled and judged")
        print_answer(guard.ask(question), console)
        console.print()
        console.rule("The policy")
        console.print(Text(_POLICY))
        console.print(
            Text(
                f"The model was simulated on {provider.base_url} and answered {provider.calls}"
                " calls. Try a real one: resay demo --model local, or resay ask '…' --model"
                " openai/gpt-4.1-mini",
                "dim",
            )
        )


def _plain_answer(guard: Guard, question: str) -> str:
    """Return an answer of the guard's model that nobody checks."""
    policy = {
        "chain": ["facts"],
        # Together with the answer they would be asked for before it is known that none is needed.
        "sampling": {"start": "after"},
        "when": {"min_chars": 1_000_000},
    }
    unchecked = guard.with_options(policy=policy)
    return unchecked.ask(question).text


def _show_repairing(question: str, console: Console) -> None:
    # Windows cannot delete the folder if the index is still open.
    with (
        SimulatedProvider(seed=7) as provider,
        TemporaryDirectory(prefix="resay-demo-", ignore_cleanup_errors=True) as folder,
    ):
        policy = _policy(DOCUMENTS, Path(folder, "index.sqlite"))
        guard = Guard(Policy.parse(policy), model=_MODEL, params=provider.params)
        answer = guard.ask(question)
        _show(question, answer, console)
        console.rule("The policy")
        console.print(Text(policy))
        console.print(
            Text(
                f"The model was simulated on {provider.base_url} and answered {provider.calls}"
                " calls. It always follows the documents; real models sometimes do not.",
                "dim",
            )
        )


def _policy(folder: Path, index: Path) -> str:
    quoted_folder = str(folder).replace("'", "''")
    quoted_index = str(index).replace("'", "''")
    return _REPAIRING_POLICY.format(path=quoted_folder, index=quoted_index)


def _show(question: str, answer: Answer, console: Console) -> None:
    regeneration = answer.verdict.regeneration
    if regeneration is not None:
        console.rule("The first answer: one call, resampled and judged")
        console.print(Text(f"> {question}\n", "bold"))
        console.print(_draft(regeneration))
        console.print(Text.assemble("\n", ("FLAGGED", "bold red"), f"  {regeneration.reason}\n"))
    console.rule("The answer, repaired with documents")
    print_answer(answer, console)
    console.print()


def _draft(regeneration: Regeneration) -> Text:
    text = Text(regeneration.draft)
    for edit in regeneration.edits:
        text.stylize("red", edit.start, edit.end)
    return text
