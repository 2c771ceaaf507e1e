"""Runs another library in its own environment, where nothing of Resay is.

`python peer_worker.py NAME` reads JSON documents from standard input, one on each line: the first
is what the library is given, each further one asks for one turn. It answers with a line each:
first the version, then what a turn took.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

__all__ = ["main"]

Turn = Callable[[], object]


def _selfcheckgpt(given: Mapping[str, Any]) -> Turn:
    import spacy
    from selfcheckgpt.modeling_selfcheck import SelfCheckNgram

    if not spacy.util.is_package("en_core_web_sm"):
        # spaCy does not publish it where pip looks. A blank one splits texts alike, and is quicker.
        def blank(name: str) -> Any:
            nlp = spacy.blank("en")
            nlp.add_pipe("sentencizer")
            return nlp

        spacy.load = blank
    scorer = SelfCheckNgram(n=1)

    def turn() -> None:
        for item in given["items"]:
            scorer.predict(item["sentences"], item["passage"], item["samples"])

    return turn


def _uqlm(given: Mapping[str, Any]) -> Turn:
    from uqlm import BlackBoxUQ

    scorer = BlackBoxUQ(scorers=["exact_match"])
    responses: Sequence[str] = [item["passage"] for item in given["items"]]
    samples = [item["samples"] for item in given["items"]]
    return lambda: scorer.score(responses, samples, show_progress_bars=False)


def _uqlm_asking(given: Mapping[str, Any]) -> Turn:
    from langchain_openai import ChatOpenAI
    from uqlm import BlackBoxUQ

    model = ChatOpenAI(model=given["model"], base_url=given["api_base"], api_key="simulated")
    scorer = BlackBoxUQ(llm=model, scorers=["exact_match"])

    async def ask() -> None:
        await scorer.generate_and_score(
            [given["question"]], num_responses=given["samples"], show_progress_bars=False
        )

    loop = (
        asyncio.new_event_loop()
    )  # Its connections stay open, on the loop that they were opened on.
    return lambda: loop.run_until_complete(ask())


def _openai_guardrails(given: Mapping[str, Any]) -> Turn:
    from guardrails import GuardrailsAsyncOpenAI

    check = {
        "name": "Hallucination Detection",
        "config": {
            "model": given["model"],
            "confidence_threshold": 0.7,
            "knowledge_source": "vs_simulated",
        },
    }
    config = {"version": 1, "output": {"version": 1, "guardrails": [check]}}
    client = GuardrailsAsyncOpenAI(
        config=config,
        raise_guardrail_errors=True,
        base_url=given["api_base"],
        api_key="simulated",
    )
    messages = [{"role": "user", "content": given["question"]}]
    loop = asyncio.new_event_loop()

    async def ask() -> None:
        await client.chat.completions.create(model=given["model"], messages=messages)

    return lambda: loop.run_until_complete(ask())


_PEERS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Turn]]] = {
    "selfcheckgpt": ("selfcheckgpt", _selfcheckgpt),
    "uqlm": ("uqlm", _uqlm),
    "uqlm asking": ("uqlm", _uqlm_asking),
    "openai-guardrails": ("openai-guardrails", _openai_guardrails),
}


def main() -> None:
    """Serve turns until standard input ends."""
    # What a library prints must not come between the lines.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    package, prepare = _PEERS[sys.argv[1]]
    turn = prepare(json.loads(sys.stdin.readline()))
    turn()  # What is loaded at first use is no figure.
    print(json.dumps({"version": version(package)}), file=answers, flush=True)
    for _ in sys.stdin:
        started, worked = time.perf_counter(), time.process_time()
        turn()
        took = {"cpu_s": time.process_time() - worked, "wall_s": time.perf_counter() - started}
        print(json.dumps(took), file=answers, flush=True)


if __name__ == "__main__":
    main()
