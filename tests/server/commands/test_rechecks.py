"""`resay journal recheck` and `resay journal compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resay import Guard
from resay.adapters import run_sync
from resay_server.journal import Entry, Feedback, JournalConfig, JournalSink, open_journal
from simulation import SimulatedProvider
from support.cli import resay_here
from support.html import parsed

RIGHT, WRONG = "It opened in 1932. It has 31 lamps.", "It opened in 1947. It has 31 lamps."
SAMPLES = ["It opened in 1932. It has 31 lamps."] * 3
STRICT = "chain: [{method: facts}]\nthreshold: {passage: 0.3, sentence: 0.3}\n"
LENIENT = "chain: [{method: facts}]\nthreshold: {passage: 1, sentence: 1}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two policies, and a journal of four answers, of which three are labelled."""
    (tmp_path / "strict.yaml").write_text(STRICT)
    (tmp_path / "lenient.yaml").write_text(LENIENT)
    (tmp_path / "judged.yaml").write_text("chain: [{method: prompt, judge: acme/judge}]\n")
    run_sync(_fill, f"sqlite:///{tmp_path / 'journal.db'}")
    return tmp_path


async def _fill(url: str) -> None:
    journal = open_journal(JournalConfig(url=url, content="all"))
    guard = Guard({"chain": [{"method": "facts"}]}, sinks=[JournalSink(journal)])
    for answer in (RIGHT, WRONG, WRONG):
        await guard.acheck(answer, question="When did <b>it</b> open?", samples=SAMPLES)
        await guard.aclose()
    await guard.acheck(RIGHT.replace("31", "<i>33</i>"), samples=SAMPLES, tenant="acme")
    await guard.aclose()
    entries = await journal.recent()
    for item, rating in zip(reversed(entries[1:]), ("right", "wrong", "right"), strict=True):
        await journal.rate(Feedback(entry_id=item.id, rating=rating, about="answer", rater="ann"))
    await journal.aclose()


def run(folder: Path, *words: str | Path, code: int = 0) -> str:
    command = resay_here("journal", *words, "-j", folder / "journal.db")
    assert command.returncode == code, command.stderr
    return command.stdout if code == 0 else command.stderr


def entries_in(folder: Path) -> list[Entry]:
    async def read() -> list[Entry]:
        journal = open_journal(JournalConfig(url=f"sqlite:///{folder / 'journal.db'}"))
        try:
            return await journal.recent()
        finally:
            await journal.aclose()

    return run_sync(read)


def two(folder: Path) -> tuple[str, Path, str, Path]:
    return "--policy", folder / "strict.yaml", "--policy", folder / "lenient.yaml"


def test_two_policies_side_by_side(folder: Path) -> None:
    output = json.loads(run(folder, "compare", *two(folder), "--json"))
    assert output["answers"] == 4
    assert output["flagged"] == {"both": 0, "first_only": 3, "second_only": 0, "neither": 1}
    strict, lenient = output["sides"]
    assert (strict["name"], strict["decisions"]) == ("strict", {"flagged": 3, "consistent": 1})
    # Two of three labelled answers are flagged, of which one is hallucinated.
    assert (strict["labelled"], strict["precision"], strict["recall"]) == (3, 0.5, 1.0)
    assert (lenient["precision"], lenient["recall"]) == (None, 0.0)
    assert [answer["first"]["decision"] for answer in output["disagreements"]] == ["flagged"] * 3
    shown = run(folder, "compare", *two(folder))
    for text in ("flagged by strict", "decided differently", "50%", "100%", "1 hallucinated"):
        assert text in shown


def test_filters_are_those_of_the_list(folder: Path) -> None:
    output = json.loads(run(folder, "compare", *two(folder), "--tenant", "acme", "--json"))
    assert output["answers"] == 1
    assert output["sides"][0]["labelled"] == 0
    assert "no answers to compare" in run(folder, "compare", *two(folder), "--tenant", "nobody")
    assert json.loads(run(folder, "compare", *two(folder), "-n", "2", "--json"))["answers"] == 2


def test_the_page_shows_the_answers_that_differ(folder: Path) -> None:
    page = folder / "page.html"
    run(folder, "compare", *two(folder), "--html", page)
    text = page.read_text(encoding="utf-8")
    tree = parsed(text)
    assert "<b>it</b>" not in text
    assert "<i>33</i>" not in text
    assert len(tree.all("section", "compared")) == 3
    assert len(tree.all("article")) == 6
    ids = [item.attributes["id"] for item in tree.walk() if "id" in item.attributes]
    assert len(ids) == len(set(ids))
    assert not tree.all("script")
    policies = [item.attributes.get("content") or "" for item in tree.all("meta")]
    assert any(policy.startswith("default-src 'none'") for policy in policies)


def test_an_entry_is_checked_again(folder: Path) -> None:
    before = entries_in(folder)
    wrong = before[1].id
    options = ("--policy", folder / "lenient.yaml")
    shown = run(folder, "recheck", wrong, *options)
    assert "recorded: flagged" in shown
    assert "lenient: consistent" in shown
    assert "It opened in 1947." in shown
    output = json.loads(run(folder, "recheck", wrong, *options, "--json"))
    decisions = {name: verdict["decision"] for name, verdict in output["verdicts"].items()}
    assert decisions == {"recorded": "flagged", "lenient": "consistent"}
    run(folder, "recheck", wrong, *options, "--html", folder / "page.html")
    assert parsed((folder / "page.html").read_text(encoding="utf-8")).all("section", "compared")
    # What is recorded stays as it is.
    assert entries_in(folder) == before


def test_all_entries_are_checked_again(folder: Path) -> None:
    options = ("--policy", folder / "lenient.yaml", "--json")
    output = json.loads(run(folder, "recheck", *options))
    assert [side["name"] for side in output["sides"]] == ["recorded", "lenient"]
    assert output["flagged"]["first_only"] == 3
    same = json.loads(run(folder, "recheck", "--policy", folder / "strict.yaml", "--json"))
    assert same["disagreements"] == []
    assert "decide the same" in run(folder, "recheck", "--policy", folder / "strict.yaml")


def test_no_judge_is_asked_without_leave(folder: Path) -> None:
    judged = ("--policy", folder / "judged.yaml")
    output = run(folder, "recheck", *judged, code=2)
    assert "method 'prompt' asks a judge; pass --calls to let it" in output
    output = run(folder, "compare", *judged, "--policy", folder / "strict.yaml", code=2)
    assert "pass --calls" in output


def test_what_is_not_stored_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text(STRICT)

    async def fill() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{tmp_path / 'journal.db'}"))
        guard = Guard({"chain": [{"method": "facts"}]}, sinks=[JournalSink(journal)])
        await guard.acheck(WRONG, samples=SAMPLES)
        await guard.aclose()
        await journal.aclose()

    run_sync(fill)
    policy = ("--policy", tmp_path / "strict.yaml")
    assert "1 answer left out: the text of the answer is not stored" in run(
        tmp_path, "recheck", *policy
    )
    output = run(tmp_path, "recheck", entries_in(tmp_path)[0].id, *policy, code=2)
    assert "the text of the answer is not stored" in output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["compare", "--policy", "strict.yaml"], "pass --policy twice, not 1 times"),
        (["compare", *["--policy", "strict.yaml"] * 2], "both policies are 'strict.yaml'"),
        (["recheck", "nobody", "--policy", "strict.yaml"], "no entry or request 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, words: list[str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert problem in run(folder, *words, code=2)


def test_the_journal_is_that_of_a_policy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    url = f"sqlite:///{folder / 'journal.db'}"
    (folder / "own.yaml").write_text(f"{STRICT}journal: {{url: '{url}', content: all}}\n")
    command = resay_here(
        "journal", "compare", "--policy", "lenient.yaml", "--policy", "own.yaml", "--json"
    )
    assert json.loads(command.stdout)["answers"] == 4
    # Nothing was added to it.
    assert len(entries_in(folder)) == 4


def test_a_judge_is_asked_with_leave(folder: Path, simulated: SimulatedProvider) -> None:
    (folder / "judged.yaml").write_text("chain: [{method: prompt}]\n")
    options = ("--policy", folder / "judged.yaml", "--calls")
    output = run(folder, "recheck", *options, code=2)
    assert "'prompt' asks the model that wrote the answer; pass --judge" in output
    judge = ("--judge", "openai/simulated", "--api-base", simulated.base_url)
    output = json.loads(run(folder, "recheck", *options, *judge, "--json"))
    assert output["answers"] == 4
    assert output["sides"][1]["calls"] >= 3
