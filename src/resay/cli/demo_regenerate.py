"""`resay demo --regenerate`: what a model made up is mended by documents, on this machine alone.

The provider is simulated and says so; the documents are a few files about what it knows. Everything
between them is real: litellm over HTTP, samples, the judge, the search, the policy.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from resay.core.verdict import Regeneration
from resay.engine.actions import Answer
from resay.guard import Guard
from resay.policy import Policy
from resay.reporting.render import print_answer
from resay.testing import SimulatedProvider

__all__ = ["DOCUMENTS", "run_regenerating_demo"]

DOCUMENTS = Path(__file__).with_name("demo_documents")
"""The folder that the demo searches."""

_QUESTION = "Tell me about the Sydney Harbour Bridge."
_MODEL = "openai/simulated"

_POLICY = """\
version: 1
sampling: {{max: 5}}
chain:
  - method: prompt
    mode: per_sample
action:
  do: regenerate
  retriever:
    kind: folder
    path: '{path}'
    index: '{index}'
"""


def run_regenerating_demo(question: str | None, console: Console) -> None:
    """Ask a simulated model, and show how its flagged answer is mended.

    Args:
        question: What to ask; by default something the simulated model half knows.
        console: Where to print.

    Raises:
        MissingDependencyError: An extra of `resay[demo]` is not installed.
    """
    question = question or _QUESTION
    # The index may still be open when the folder goes, which only Windows minds.
    with (
        SimulatedProvider(seed=7) as provider,
        TemporaryDirectory(prefix="resay-demo-", ignore_cleanup_errors=True) as folder,
    ):
        policy = _policy(DOCUMENTS, Path(folder, "index.sqlite"))
        answer = Guard(Policy.parse(policy), model=_MODEL).ask(question, **provider.params)
        _show(question, answer, console)
        console.rule("The policy that did it")
        console.print(Text(policy))
        console.print(
            Text(
                f"The model is a simulation on {provider.base_url}; it was asked"
                f" {provider.calls} times. It writes what the documents say and nothing else, which"
                " real models do not always.",
                "dim",
            )
        )


def _policy(folder: Path, index: Path) -> str:
    path, place = (str(p).replace("'", "''") for p in (folder, index))
    return _POLICY.format(path=path, index=place)


def _show(question: str, answer: Answer, console: Console) -> None:
    regeneration = answer.verdict.regeneration
    if regeneration is not None:
        console.rule("The model's first answer: asked once, resampled, judged")
        console.print(Text(f"> {question}\n", "bold"))
        console.print(_draft(regeneration))
        console.print(Text.assemble("\n", ("FLAGGED", "bold red"), f"  {regeneration.reason}\n"))
    console.rule("The answer, mended by documents")
    print_answer(answer, console)
    console.print()


def _draft(regeneration: Regeneration) -> Text:
    text = Text(regeneration.draft)
    for edit in regeneration.edits:
        text.stylize("red", edit.start, edit.end)
    return text
