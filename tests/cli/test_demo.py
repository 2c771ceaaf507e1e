"""The demo that repairs an answer, and the documents it does that by."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from resay.cli import demo as demo_command
from resay.cli.demo import DOCUMENTS, run_demo
from resay.testing import SimulatedProvider, Subject, World
from resay.testing.tasks import sentences_of
from support.cli import resay_here

SUBJECTS = World.default().subjects


def demo(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    done = resay_here("demo", "--regenerate")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_repairs_what_was_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    draft, rest = demo(monkeypatch).split("─ The answer, repaired with documents ─")
    answer, rest = rest.split("REPAIRED")
    record, policy = rest.split("─ The policy ─")

    assert "FLAGGED" in draft
    assert "CONSISTENT" in answer
    # The documents are named once, not as references and as documents.
    assert re.search(r"every sentence <= 0\.50, by \d documents?\b", " ".join(answer.split()))
    assert re.search(r"^ +searched: .*Sydney Harbour Bridge", record, re.MULTILINE)
    assert re.search(r"^ +found: .*sydney-harbour-bridge\.md#\d+", record, re.MULTILINE)
    before = re.findall(r"^ +- (.+?) *$", record, re.MULTILINE)
    after = re.findall(r"^ +\+ (.+?)  \(sydney-harbour-bridge\.md#\d+\) *$", record, re.MULTILINE)
    assert before
    assert len(before) == len(after) + record.count("+ (removed)")
    assert all(sentence in " ".join(draft.split()) for sentence in before)
    assert all(sentence not in answer for sentence in before)
    assert all(sentence in answer and sentence not in draft for sentence in after)
    assert "do: regenerate" in policy
    assert re.search(r"^Total: \d+ calls, [\d,]+ tokens", record, re.MULTILINE)


def test_another_question_can_be_asked() -> None:
    console = Console(file=io.StringIO(), width=200)
    run_demo("Tell me about Marie Curie.", console, regenerate=True)
    said = console.file.getvalue()

    assert "marie-curie.md#" in said
    assert "Bridge" not in said.split("The policy")[0]


@pytest.mark.parametrize(
    ("regenerate", "unchecked_calls"), [(False, 2), (True, 0)], ids=["catch", "repair"]
)
def test_the_calls_that_it_prints_are_those_that_the_model_received(
    regenerate: bool, unchecked_calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    providers: list[SimulatedProvider] = []

    def recorded(*, seed: int) -> SimulatedProvider:
        providers.append(SimulatedProvider(seed=seed))
        return providers[-1]

    monkeypatch.setattr(demo_command, "SimulatedProvider", recorded)
    # What starts together with an answer may or may not be sent: once proves nothing.
    for _ in range(5):
        console = Console(file=io.StringIO(), width=200)
        run_demo(None, console, regenerate=regenerate)
        output = console.file.getvalue()
        total = re.search(r"^Total: (\d+) calls", output, re.MULTILINE)
        answered = re.search(r"and answered (\d+) calls", output)
        assert total is not None
        assert answered is not None
        received = len(providers[-1].requests)
        assert int(answered[1]) == received
        assert unchecked_calls + int(total[1]) == received


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_the_documents_say_what_is_known_of_each_subject(subject: Subject) -> None:
    name = subject.name.lower().replace(" ", "-")
    text = (DOCUMENTS / f"{name}.md").read_text(encoding="utf-8")
    told = [*sentences_of(text)]

    assert text.startswith(f"# {subject.name}\n")
    for wordings in subject.wordings:
        assert any(wording in told for wording in wordings)


def test_every_document_is_about_a_subject() -> None:
    assert len([*DOCUMENTS.iterdir()]) == len(SUBJECTS)


def test_an_agent_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = resay_here("demo", "--agent")
    assert done.returncode == 0, done.stderr
    _, judged = done.stdout.split("─ With Resay: compared with the calls, no model asked ─")
    lines = re.findall(r"^[✓✗] (done|failed|not done|invented) +(.+?) *$", judged, re.MULTILINE)
    assert [verdict for verdict, _ in lines] == ["done", "done", "invented", "not done", "failed"]
    assert ("invented", "AH-3391") in lines
    assert "FLAGGED" in judged


def test_the_agent_has_a_conversation_of_its_own() -> None:
    refused = resay_here("demo", "--agent", "What now?")
    assert refused.returncode != 0
    assert "--agent shows a conversation of its own" in refused.stderr
