from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from resay import Guard, Policy, Request, Verdict
from resay.adapters import act
from resay.errors import PolicyError
from resay.plugins import Chunk, Completion, Completions

CASES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("code_answers.yaml").read_text(encoding="utf-8")
)
OPENINGS = ("Here is one way:", "Try this:", "The following code does it:")
GUARD = Guard({"chain": [{"method": "facts"}], "code": "names"})


def written(code: str, language: str, opening: str = "You can do it like this:") -> str:
    return f"{opening}\n\n```{language}\n{code.strip()}\n```\n\nThat is all there is to it."


def python(code: str) -> str:
    return written(code, "python")


def samples(*codes: str, language: str = "python") -> list[str]:
    return [
        written(code, language, opening) for code, opening in zip(codes, OPENINGS, strict=False)
    ]


def check(answer: str, others: Sequence[str], guard: Guard = GUARD) -> Verdict:
    return guard.check(answer, samples=others)


def flagged(verdict: Verdict, answer: str) -> set[str]:
    return {answer[name.start : name.end] for name in verdict.flagged_names}


GET = "import requests\nr = requests.get(url)\nprint(r.json())"


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in CASES])
def test_invented_names_are_told_from_right_ones(case: dict[str, Any]) -> None:
    language = case["language"]
    answer = written(case["answer"], language)
    found = flagged(check(answer, samples(*case["samples"], language=language)), answer)
    invented = case.get("invented", [])
    told = len(found) == len(invented) and all(
        any(re.search(rf"(?:\A|[.:\s]){re.escape(name)}\Z", whole) for name in found)
        for whole in invented
    )
    assert told is not case.get("is_missed", False)


def test_a_name_is_a_claim_with_its_place_in_the_answer() -> None:
    answer = python("import requests\ndata = requests.getJSON(url)")
    verdict = check(answer, samples(GET, GET, GET))
    module, member = (claim for claim in verdict.claims if claim.unit == "code")
    assert (module.text, module.kind, module.score) == ("The code imports requests.", "fact", 0.0)
    assert member.text == "The code uses requests.getJSON."
    assert answer[member.start : member.end] == "getJSON"
    assert (member.sentence, member.score, member.flagged) == (-1, 1.0, True)
    said = member.contradicted_by
    assert said is not None
    assert (said.source, said.kind, said.text) == ("sample", "name", "requests.get")
    assert said.claim_span == (member.start, member.end)
    assert verdict.decision == "flagged"
    assert verdict.reason == (
        "1 of 2 names in code > 0.50 with 3 samples; compared: 2 names in code;"
        " not scored: 1 code block"
    )
    assert [stretch.kind for stretch in verdict.unscored] == ["code"]
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_places_are_counted_in_code_points() -> None:
    answer = "😀 " + python("# 😀😀\nimport requests\ns = 'é😀'; requests.getJSON(s)")
    assert flagged(check(answer, samples(GET, GET, GET)), answer) == {"getJSON"}


def test_names_are_left_alone_by_default() -> None:
    guard = Guard({"chain": [{"method": "ngram"}]})
    verdict = check(python("import requestz"), samples(GET, GET, GET), guard)
    assert all(claim.unit != "code" for claim in verdict.claims)
    with pytest.raises(PolicyError):
        Policy.of({"chain": [{"method": "ngram"}], "code": "run"})


def test_an_answer_of_nothing_but_code_is_decided_by_its_names() -> None:
    right = check("```python\nimport requests\nrequests.get(u)\n```", samples(GET, GET, GET))
    assert (right.decision, right.score) == ("consistent", 0.0)
    assert right.reason.startswith("every name in code <= 0.50 with 3 samples")
    wrong = check("```python\nimport requests\nrequests.getJSON(u)\n```", samples(GET, GET, GET))
    assert wrong.decision == "flagged"
    silent = check(
        "```python\nimport requests\n```", ["Use a library.", "Use requests for it."] * 2
    )
    assert silent.decision == "skipped"


def test_a_sentence_has_the_score_of_the_name_in_it() -> None:
    answer = "For that call `requests.getJSON(url)` once."
    verdict = check(
        answer, samples(GET, GET, GET), Guard({"chain": [{"method": "facts"}], "code": "names"})
    )
    (name,) = verdict.flagged_names
    assert (name.sentence, answer[name.start : name.end]) == (0, "getJSON")
    assert verdict.sentences[0].score == 1.0
    assert verdict.sentences[0].flagged


def test_only_a_flagged_name_is_contradicted() -> None:
    answer = python("import requests\nprint(requests.getJSON(url))")
    used = "import requests\nr = requests.getJSON(url)"
    verdict = check(answer, samples(GET, used, used))
    (name,) = (claim for claim in verdict.claims if claim.text.endswith("requests.getJSON."))
    assert (name.reason or "").endswith("1 something else in its place: requests.get")
    assert (name.flagged, name.contradicted_by) == (False, None)


def test_samples_without_code_and_copies_say_nothing() -> None:
    answer = python("import requests\nrequests.getJSON(url)")
    words = ["Here is one way: ask for it.", "Try this.", "The following does it."]
    for verdict in (check(answer, words), check(answer, [python(GET)] * 3)):
        assert not verdict.flagged_names
    only = check(answer, [*samples(GET), *words[1:]])
    assert {claim.reason for claim in only.claims if claim.unit == "code"} == {
        "fewer than 2 samples have such code to compare it with"
    }


def test_names_in_the_question_are_not_compared() -> None:
    answer = python("import requestz\nrequestz.fetch(url)")
    verdict = GUARD.check(
        answer, question="How do I fetch a page with requestz?", samples=samples(GET, GET, GET)
    )
    assert all(name.text != "The code imports requestz." for name in verdict.claims)


@pytest.mark.parametrize(
    "code",
    [
        "def getJSON(): pass\nrequests = Own()\nrequests.getJSON(url)",
        "def run(requests):\n    return requests.getJSON(url)",
        "import requests\nrequests = Own()\nrequests.getJSON(url)",
        "from .requests import getJSON\ngetJSON(url)",
        "for requests in things:\n    requests.getJSON()",
        "# requests.getJSON(url)\ns = 'requests.getJSON(url)'",
        "import json, os.path\njson.loads(s)\nos.path.exists(s)",
    ],
)
def test_own_names_strings_comments_and_the_standard_library_are_left_out(code: str) -> None:
    assert not check(python(code), samples(GET, GET, GET)).flagged_names


def test_aliases_are_resolved() -> None:
    other = "import anthropic\nc = anthropic.Anthropic()\nprint(c.messages.create(x))"
    for code in (
        "from anthropic import Anthropic as A\nme: A = A()\nme.messages.creat(x)",
        "import anthropic as a\nwith a.Anthropic() as me:\n    me.messages.creat(x)",
        "import anthropic\nanthropic.Anthropic().messages.creat(x)",
        "import anthropic\nanthropic.Anthropic(\n).messages \\\n .creat(x)",
    ):
        answer = python(code)
        assert flagged(check(answer, samples(other, other, other)), answer) == {"creat"}


def test_the_marked_answer_names_them() -> None:
    answer = python("import requests\nrequests.getJSON(url)")
    verdict = check(answer, samples(GET, GET, GET))
    marked = act(GUARD.policy, answer, verdict).annotated()
    assert "```\n\n[not checked]\n\n`getJSON` [contradicted]\n\nThat" in marked


def test_no_name_is_in_a_verdict_without_content() -> None:
    answer = python("import requests\nrequests.getJSON(url)")
    bare = str(check(answer, samples(GET, GET, GET)).to_dict(content=False))
    assert "getJSON" not in bare
    assert "requests" not in bare


class Writer:
    """Writes an answer a few characters at a time, and other answers as samples."""

    def __init__(self, answer: str, others: Sequence[str]) -> None:
        self.answer = answer
        self.others = others
        self.drawn = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.drawn += 1
        return Completions((Completion(self.others[(self.drawn - 1) % len(self.others)]),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def parts() -> AsyncGenerator[Chunk]:
            for at in range(0, len(self.answer), 7):
                yield Chunk(self.answer[at : at + 7])

        yield parts()


def streamed(
    answer: str, others: Sequence[str], question: str = "How?", **policy: Any
) -> tuple[str, Verdict, Writer]:
    """Return what is shown of a held answer, and its verdict."""
    writer = Writer(answer, others)
    sampling = {"max": 3, "min": 3, "confidence": None}
    settings = {"chain": [{"method": "facts"}], "code": "names", "sampling": sampling, **policy}
    guard = Guard({**settings, "cache": {"store": "none"}}, provider=writer)

    async def run() -> tuple[str, Verdict, Writer]:
        async with guard.astream(question, model="m", stream_mode="hold") as stream:
            shown = [part.text async for part in stream if not part.is_replacement]
        return "".join(shown), stream.answer.verdict, writer

    return asyncio.run(run())


BEFORE = "You can do it like this:"
INVENTED = python("import requests\ndata = requests.getJSON(url)")


def test_a_held_stream_has_the_verdict_of_the_whole_answer() -> None:
    answer = f"{INVENTED}\n\nOr use `requests.getXML(url)` for that.\n\n{python(GET)}"
    others = samples(GET, GET, GET)
    shown, verdict, writer = streamed(answer, others)
    whole = check(answer, others)
    assert shown == answer
    assert verdict.claims == whole.claims
    assert flagged(verdict, answer) == {"getJSON", "getXML"}
    assert verdict.unscored == whole.unscored
    assert (verdict.decision, verdict.reason) == (whole.decision, whole.reason)
    assert writer.drawn == 3


def test_results_of_shown_names_do_not_change() -> None:
    answer = INVENTED.removeprefix(BEFORE).strip()
    shown = asyncio.Event()

    class Late(Writer):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.index >= 2:
                await shown.wait()
            return Completions((Completion(self.others[request.index]),))

    sampling = {"max": 4, "min": 2, "confidence": None}
    policy = {"chain": [{"method": "facts"}], "code": "names", "sampling": sampling}
    guard = Guard(
        {**policy, "cache": {"store": "none"}},
        provider=Late(answer, ["Ask for it.", "Use a library.", *samples(GET, GET)]),
    )

    async def run() -> Verdict:
        async with guard.astream("How?", model="m", stream_mode="hold") as stream:
            async for part in stream:
                if "getJSON" in part.text:
                    shown.set()
        return stream.answer.verdict

    verdict = asyncio.run(asyncio.wait_for(run(), 20))
    assert verdict.samples == 4
    assert not verdict.flagged_names


@pytest.mark.parametrize(
    "action",
    [{"do": "block"}, {"do": "regenerate", "from": "samples", "otherwise": "block"}],
    ids=["block", "regenerate"],
)
def test_code_with_an_invented_name_is_withheld_before_any_of_it_is_shown(
    action: dict[str, Any],
) -> None:
    answer = f"{INVENTED}\n\nMore follows here, and then some more."
    shown, verdict, _ = streamed(answer, samples(GET, GET, GET), action=action)
    assert shown.strip() == BEFORE
    assert verdict.flagged_names
    fine, verdict, _ = streamed(python(GET), samples(GET, GET, GET), action=action)
    assert fine == python(GET)
    assert verdict.decision == "consistent"


def test_names_in_the_question_are_not_compared_in_a_stream() -> None:
    answer = python("import requestz\nrequestz.fetch(url)")
    for question, names in (("How?", {"requestz", "fetch"}), ("How with requestz?", {"fetch"})):
        _, verdict, _ = streamed(answer, samples(GET, GET, GET), question)
        assert {answer[c.start : c.end] for c in verdict.claims if c.unit == "code"} == names


def test_code_that_breaks_off_is_compared_to_its_end() -> None:
    answer = "```python\nimport requests\nrequests.getJSON"
    _, verdict, _ = streamed(answer, samples(GET, GET, GET))
    assert flagged(verdict, answer) == {"getJSON"}


def test_names_take_no_calls_but_the_samples_that_are_drawn_anyway() -> None:
    for mode in ("names", "none"):
        _, verdict, _ = streamed(INVENTED, samples(GET, GET, GET), code=mode)
        assert verdict.usage.calls == 3


def test_documents_do_not_repair_code() -> None:
    searched: list[str] = []

    def find(query: str) -> list[str]:
        searched.append(query)
        return []

    guard = Guard(
        {
            "chain": [{"method": "facts"}],
            "code": "names",
            "sampling": {"max": 3, "start": "after"},
            "action": {"do": "regenerate", "otherwise": "block"},
        },
        provider=First(INVENTED, samples(GET, GET, GET)),
        retriever=find,
    )
    answer = guard.ask("How?", model="m")
    assert answer.verdict.flagged_names
    assert (answer.blocked, searched) == (True, [])


class First(Writer):
    """Answers first, and gives samples then."""

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if not self.answer:
            return await super().complete(request, n=n)
        answer, self.answer = self.answer, ""
        return Completions((Completion(answer),))
