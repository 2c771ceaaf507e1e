"""`PYTHONPATH=tests python -m support.judge_cost`: what a judge costs for a long answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import anyio

from resay import Guard, Request
from resay.plugins import Completion, Completions

_ABOUT = (
    "The harbour of Orrlund was dug between 1871 and {year} by {count} workers from the villages of"
    " the northern coast and its islands.",
    "Its lighthouse number {count} stands {year} steps above the old quay, and its lamp is seen as"
    " far away as the island of Brenn.",
    "In {year} the town sold {count} barrels of salted herring to merchants who came from the south"
    " with ships of their own.",
)
_SAMPLES = 5
_SENTENCES = 12
_SHOWN = re.compile(r'<sample-\w+ number="(\d+)">')
_CLAIM = re.compile(r"^(\d+)\. ", re.MULTILINE)


@dataclass
class CountedJudge:
    """Supports every claim by every sample, and keeps what it read and wrote."""

    read: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])

    async def takes_n(self, request: Request) -> bool:
        """Return False."""
        del request
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer in the form that is asked for."""
        del n
        prompt = str(request.messages[-1]["content"])
        claims = prompt.partition("<claims-")[2].partition("</claims-")[0]
        shown = [int(number) for number in _SHOWN.findall(prompt)]
        verdicts = [
            {"claim": int(number), "supported_by": shown, "contradicted_by": []}
            for number in _CLAIM.findall(claims)
        ]
        answer = json.dumps({"verdicts": verdicts})
        self.read.append(prompt)
        self.written.append(answer)
        return Completions((Completion(answer),))


async def judged() -> CountedJudge:
    """Check an answer of 12 sentences of about 20 words with 5 samples of the same length."""
    sentences = [_ABOUT[i % 3].format(year=1880 + i, count=40 + 3 * i) for i in range(_SENTENCES)]
    samples = [" ".join([*sentences[k:], *sentences[:k]]) for k in range(_SAMPLES)]
    judge = CountedJudge()
    guard = Guard({"chain": [{"method": "prompt"}]}, provider=judge, model="m")
    await guard.acheck(" ".join(sentences), question="What do you know of it?", samples=samples)
    return judge


def _main() -> None:
    judge = anyio.run(judged)
    text = "".join([*judge.read, *judge.written])
    try:
        litellm: Any = import_module("litellm")
        tokens, by = litellm.token_counter(model="gpt-4", text=text), "tiktoken, cl100k_base"
    except ImportError:
        tokens, by = len(text) // 4, "4 characters a token"
    print(f"{len(judge.read)} calls, {len(text)} characters, {tokens} tokens ({by})")  # noqa: T201


if __name__ == "__main__":
    _main()
