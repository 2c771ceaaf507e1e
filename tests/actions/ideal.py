"""A judge that points at what is wrong in a case, and at nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from resay import Request
from support.judged_cases import Case

_ANSWER = re.compile(r"<answer-(\w+)>\n(.*)\n</answer-\1>", re.DOTALL)
_SENTENCE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_CALL = re.compile(r"<calls-(\w+)>\n1\. ")


def ideal_answer(request: Request, case: Case) -> str:
    """Return what a judge that knows the truth answers about a case."""
    prompt = request.question
    answer = _ANSWER.search(prompt)
    assert answer is not None, prompt
    sentences = [(int(match[1]), match[2]) for match in _SENTENCE.finditer(answer[2])]
    call = 1 if _CALL.search(prompt) else None
    objects = [
        {"sentence": number, "words": words, "verdict": verdict, "call": call}
        for number, sentence in sentences
        for words, verdict in _claims(case, sentence)
    ]
    return f"Here is what I found:\n```json\n{json.dumps(objects, ensure_ascii=False)}\n```"


def _claims(case: Case, sentence: str) -> Iterator[tuple[str, str]]:
    expected = [(claim["match"], claim["verdict"]) for claim in case["expected"]]
    others = [(pattern, "not_done") for pattern in case["flag"]]
    known: set[str] = set()
    for pattern, verdict in [*expected, *others]:
        for match in re.finditer(pattern, sentence):
            if match[0] not in known:
                known.add(match[0])
                yield match[0], verdict
