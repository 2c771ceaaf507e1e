"""`resay label`: entries drawn and labelled, in the terminal and as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from resay import SentenceVerdict, Verdict
from resay.adapters import run_sync
from resay.plugins import VerdictRecord
from resay_server.journal import Entry, Feedback, JournalConfig, SampledEntry, open_journal
from support.claims import claim_verdict
from support.cli import resay_here


def verdict(score: float) -> Verdict:
    text = "It opened in 1932. It has 31 lamps."
    parts = [(text[:18], 0, 18, 0.0), (text[19:], 19, 35, score)]
    return Verdict(
        "flagged" if score > 0.5 else "consistent",
        score,
        f"passage {score:.2f} with 5 samples",
        tuple(SentenceVerdict(t, a, b, s, s > 0.5, "ngram") for t, a, b, s in parts),
        samples=5,
        claims=tuple(
            claim_verdict(t, a, b, score=s, flagged=s > 0.5, sentence=i)
            for i, (t, a, b, s) in enumerate(parts)
        ),
        mean_score=score,
    )


async def fill(file: Path, content: Any = "all", count: int = 6) -> None:
    journal = open_journal(JournalConfig(url=f"sqlite:///{file}", content=content))
    for i in range(count):
        found = verdict(i / 10 + 0.25)
        record = VerdictRecord(
            verdict=found,
            model="m",
            policy="p",
            action="annotate",
            request_id=f"req-{i}",
            question=f"Question {i}?",
        )
        await journal.append(Entry.of(record))
    await journal.aclose()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    run_sync(fill, tmp_path / "j.db")
    return tmp_path / "j.db"


def said(*words: str | Path, stdin: str = "", code: int = 0) -> str:
    done = resay_here("label", *words, stdin=stdin)
    assert done.returncode == code, done.stderr
    return " ".join((done.stdout if code == 0 else done.stderr).split())


async def _kept(file: Path) -> tuple[list[Feedback], list[SampledEntry]]:
    journal = open_journal(JournalConfig(url=f"sqlite:///{file}"))
    try:
        return await journal.feedback(), await journal.sampled()
    finally:
        await journal.aclose()


def kept(file: Path) -> tuple[list[Feedback], list[SampledEntry]]:
    return run_sync(_kept, file)


def test_claims_are_labelled_true_or_made_up(file: Path) -> None:
    # Back from the second claim to the first; a wrong key; the second answer is skipped.
    stdin = "1\nb\n1\nw\n2 it has 30\ns\n1\n1\n3\n1\n"
    shown = said(file, "--draw", "4", "--rater", "ann", "--seed", "1", stdin=stdin)
    assert "4 of 6 entries drawn at random; each represents about 1.5" in shown
    assert "question: Question" in shown
    assert "Is this claim true, made up, or can't you tell?" in shown
    assert "claim 2 of 2: It has 31 lamps." in shown
    assert "1 of 4" in shown
    assert "3 labelled by ann, 1 left" in shown
    feedback, draws = kept(file)
    assert {one.weight for one in draws} == {1.5}
    order = [one.entry_id for one in draws]
    labels = {
        (order.index(f.entry_id), f.claim): (f.rating, f.about, f.note, f.source) for f in feedback
    }
    assert labels == {
        (0, 0): ("right", "answer", None, "terminal"),
        (0, 1): ("wrong", "answer", "it has 30", "terminal"),
        (0, None): ("wrong", "answer", None, "terminal"),
        (2, 0): ("right", "answer", None, "terminal"),
        (2, 1): ("right", "answer", None, "terminal"),
        (2, None): ("right", "answer", None, "terminal"),
        (3, 0): ("unsure", "answer", None, "terminal"),
        (3, 1): ("right", "answer", None, "terminal"),
        (3, None): ("unsure", "answer", None, "terminal"),
    }
    # The next time there is what was skipped.
    assert "1 of 1" in said(file, "--rater", "ann", stdin="1\n2\n")
    assert "nothing is left for ann" in said(file, "--rater", "ann")
    assert "1 of 4" in said(file, "--rater", "ben")


def test_labels_are_blind(file: Path) -> None:
    words = ("--request", "req-5", "--rater", "ann")
    asked = said(file, *words, stdin="q\n")
    assert "It has 31 lamps." in asked
    for hidden in ("flagged", "0.75", "with 5 samples"):
        assert hidden not in asked
    labelled = said(file, *words, stdin="1\n2\n")
    assert "Resay: flagged, score 0.75" in labelled
    assert "claim 2: you: made up; Resay: 0.75, flagged" in labelled
    assert "0.75" in said(file, *words, "--show-verdict", stdin="q\n")


def test_an_unfinished_answer_is_not_labelled(file: Path) -> None:
    said(file, "--draw", "1", "--rater", "ann", stdin="1\n")
    assert kept(file)[0] == []


def test_nobody_sees_what_others_say(file: Path) -> None:
    said(file, "--draw", "1", "--rater", "ann", stdin="1\n2 because of Ben\n")
    assert "because of Ben" not in said(file, "--rater", "ben")
    said(file, "--rater", "ben", stdin="1\n1\n")
    assert "ann and ben: 0 of 1 entries alike" in said(file, "--agreement")
    (found,) = json.loads(resay_here("label", file, "--agreement", "--json").stdout)["agreement"]
    assert (found["raters"], found["entries"], found["agreed"]) == (["ann", "ben"], 1, 0)
    stats = resay_here("journal", "stats", "-j", file)
    assert "Cohen's kappa" in stats.stdout


def test_by_uncertainty_and_without_a_draw(file: Path) -> None:
    assert "these are the newest entries" in said(file, "--rater", "a", stdin="1\n1\n")
    assert "1 of 1" in said(file, "--rater", "a", "--request", "req-3", stdin="q\n")
    assert "nothing is left" in said(file, "--rater", "a", "--policy-name", "other")
    told = said(file, "--draw", "2", "--by", "uncertainty", "--since", "1h")
    assert "2 of 6 entries drawn by uncertainty" in told
    assert "needs entries drawn at random as well" in told


def test_without_text_nothing_can_be_labelled_here(tmp_path: Path) -> None:
    file = tmp_path / "j.db"
    run_sync(fill, file, "flagged")
    refused = said(file, "--draw", "3", code=2)
    assert "has no text for 3 of the 6 entries to draw from" in refused
    assert kept(file)[1] == []
    # Whoever has the text elsewhere can draw and label there.
    out = tmp_path / "out.csv"
    assert "6 rows" in said(file, "--draw", "6", "--csv-out", out)
    assert "no text for 3 of the 6 entries to label; they are left out" in said(file)
    bare = tmp_path / "bare.db"
    run_sync(fill, bare, "none")
    assert "so there is nothing to show; set `journal: {content: all}`" in said(bare, code=2)


def test_csv_goes_out_and_comes_in(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    said(file, "--draw", "3", "--rater", "ann", stdin="1 =1932\n2\nq\n")
    said(file, "--csv-out", out, "--rater", "ann")
    with out.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["rating"] for row in rows] == ["right", "wrong", "wrong", "", ""]
    assert {row["about"] for row in rows} == {"answer"}
    assert rows[0]["note"] == "'=1932"
    assert "score" not in rows[0]
    rows[3] |= {"rating": "Made up", "claim": "1", "rater": "", "id": rows[3]["request_id"]}
    rows[4] |= {"rating": "unsure", "about": "verdict", "rater": "ben"}
    with out.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "5 ratings, 2 of them new or changed" in said(file, "--csv-in", out, "--rater", "ann")
    feedback, _ = kept(file)
    assert [(f.rating, f.about, f.claim, f.rater, f.source) for f in feedback] == [
        ("right", "answer", 0, "ann", "terminal"),
        ("wrong", "answer", 1, "ann", "terminal"),
        ("wrong", "answer", None, "ann", "terminal"),
        ("wrong", "answer", 1, "ann", "csv"),
        ("unsure", "verdict", None, "ben", "csv"),
    ]
    assert feedback[0].note == "=1932"
    assert "5 ratings, 0 of them new" in said(file, "--csv-in", out, "--rater", "ann")
    said(file, "--csv-out", out, "--show-verdict")
    assert "score" in out.read_text(encoding="utf-8").partition("\n")[0]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_long_cells_and_other_separators_are_read(
    file: Path, tmp_path: Path, separator: str
) -> None:
    rows = [("id", "answer", "rating", "note"), ("req-1", "long " * 30_000, "wrong", "'＝1")]
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines, delimiter=separator).writerows(rows)
    assert "1 ratings, 1 of them new" in said(file, "--csv-in", tmp_path / "in.csv")
    assert kept(file)[0][0].note == "＝1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,note\n", "has no column 'rating'"),
        ("id,rating\nreq-1,right\nreq-2,good\n", ":3: a rating must be right, wrong or unsure"),
        ("id,rating,claim\nreq-1,right,first\n", "`claim` must be an index from 0, not 'first'"),
        ("id,rating,claim\nreq-1,right,\nreq-2,right,99\n", ":3: claim: the verdict has"),
        ("id,rating\nreq-1,right\nreq-9,wrong\n", "no entry or request 'req-9' ("),
    ],
)
def test_a_file_with_mistakes_changes_nothing(
    file: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "in.csv").write_text(text)
    assert message in said(file, "--csv-in", tmp_path / "in.csv", code=2)
    assert kept(file)[0] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--json",), "--json needs --agreement"),
        (("--agreement", "--draw", "3"), "pass it alone"),
        (("--draw", "3", "--request", "a"), "pass only one"),
        (("--request", "req-9"), "no entry or request 'req-9'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    file: Path, words: tuple[str, ...], message: str
) -> None:
    assert message in said(file, *words, code=2)


def test_a_journal_is_labelled_drawn_from_and_calibrated_with(tmp_path: Path) -> None:
    """The whole way, by the commands alone."""
    file, policy = tmp_path / "j.db", tmp_path / "policy.yaml"
    run_sync(fill, file, "all", 8)
    policy.write_text("chain: [{method: ngram}]\n")
    said(file, "--draw", "8", "--rater", "ann", stdin="1\n1\n" * 5 + "1\n2\n" * 3)
    words = ("--policy", policy, "--from-journal", file, "--bootstrap", "20")
    done = resay_here("calibrate", *words, "--guarantee", "expected", "--passage-fpr", "0.3")
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert "8 labelled entries were drawn at random" in out
    assert "of the 5 correct" in out
    for more, message in (
        (("--labels", "x.jsonl"), "--from-journal has labels and verdicts"),
        (("--rater", "ben"), "has no feedback by 'ben'"),
        (("--passage-fpr", "0.01"), "needs at least 230 responses labelled correct"),
    ):
        refused = resay_here("calibrate", *words, *more)
        assert refused.returncode == 2
        assert message in " ".join(refused.stderr.split())
