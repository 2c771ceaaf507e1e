from __future__ import annotations

import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from resay import Guard, Policy
from support.cli import resay_here

POLICY = """# ours
version: 1
chain:
  - method: ngram       # cheap
threshold:
  passage: ${LIMIT:-0.5}  # x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = random.Random(0)
    lines = []
    for i in range(120):
        wrong, own = i % 2 == 1, rng.randint(100, 999)
        told = [own if rng.random() > 0.8 * wrong else rng.randint(100, 999) for _ in range(3)]
        row = {
            "id": i,
            "response": f"It opened in 1932. It has {own} lamps.",
            "samples": [f"It opened in 1932. It has {n} lamps." for n in told] + ["I am not sure."],
            "hallucinated": wrong,
        }
        lines.append(json.dumps(row))
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


BASE = ("--policy", "policy.yaml", "--labels", "labels.jsonl", "--bootstrap", "50")


def test_it_reports_and_prints_the_policy_and_changes_nothing(folder: Path) -> None:
    done = resay_here("calibrate", *BASE, cwd=folder)
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert "120 labelled responses. Thresholds rest on 120: 60 correct, 60 hallucinated." in out
    assert "Promised: in at least 90 % of calibrations like this, at most 5 % of the correct" in out
    assert "correct responses flagged" in out
    text = done.stdout[done.stdout.index("# ours") :]
    assert "  passage: 0" in text
    assert Policy.parse(text.rstrip() + "\n").threshold.passage != 0.5
    assert (folder / "policy.yaml").read_text() == POLICY
    # No terminal, so no bar.
    assert done.stderr == ""


def test_it_tells_what_is_caught_for_the_false_alarms_that_one_accepts(folder: Path) -> None:
    done = resay_here("calibrate", *BASE, cwd=folder)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    start = lines.index("if you accept false alarms you catch with threshold")
    rows = lines[start + 1 : start + 5]
    assert rows[0] == "2 % ? label 54 more correct responses"
    shares = [
        re.match(r"(\d+) % (\d+) % passage: [\d.]+, sentence: [\d.]+$", row) for row in rows[1:]
    ]
    assert all(shares)
    accepted = [int(share[1]) for share in shares if share]
    caught = [int(share[2]) for share in shares if share]
    assert accepted == [5, 10, 20]
    assert caught == sorted(caught)
    # The same as a calibration with that rate.
    data = json.loads(resay_here("calibrate", *BASE, "--json", cwd=folder).stdout)
    for row in data["trade_offs"][1:]:
        words = ("--passage-fpr", str(row["accepted"]), "--json")
        other = json.loads(resay_here("calibrate", *BASE, *words, cwd=folder).stdout)
        assert row["threshold"] == other["threshold"]
        assert row["caught"] == other["figures"]["passage_recall"]["value"]
        assert row["false_alarms"] == other["figures"]["passage_fpr"]["value"]


def test_it_warns_if_less_is_caught_than_before(folder: Path) -> None:
    lenient = resay_here("calibrate", *BASE, cwd=folder)
    assert "Warning" not in lenient.stdout
    # Now it flags everything.
    (folder / "policy.yaml").write_text(POLICY.replace("0.5", "0.0"))
    data = json.loads(resay_here("calibrate", *BASE, "--json", cwd=folder).stdout)
    flagged = data["flagged"]["hallucinated"]
    assert flagged["now"] < flagged["before"] == 60
    (warning,) = data["warnings"]
    assert warning.startswith(
        f"the new thresholds catch {flagged['now']} of the 60 hallucinated responses, and the"
        " policy as it is catches 60"
    )
    strict = resay_here("calibrate", *BASE, cwd=folder)
    assert f"Warning: {warning}." in " ".join(strict.stdout.split())


@pytest.mark.parametrize(
    ("plain", "statistical"),
    [
        (("--false-alarms", "10%"), ("--passage-fpr", "0.1")),
        (("--false-alarms", "10 %"), ("--passage-fpr", "0.1")),
        (("--catch", "90%"), ("--passage-recall", "0.9")),
        (("--catch", "0.9"), ("--passage-recall", "90%")),
    ],
)
def test_options_in_plain_words(
    folder: Path, plain: tuple[str, ...], statistical: tuple[str, ...]
) -> None:
    outputs = [
        resay_here("calibrate", *BASE, *words, cwd=folder).stdout for words in (plain, statistical)
    ]
    assert outputs[0] == outputs[1]
    assert "Promised" in outputs[0]


@pytest.mark.parametrize("share", ["ten", "%", "5%%", "nan", ""])
def test_a_share_is_a_number(folder: Path, share: str) -> None:
    refused = resay_here("calibrate", *BASE, "--false-alarms", share, cwd=folder)
    assert refused.returncode == 2
    assert "must be a share such as 5% or 0.05" in " ".join(refused.stderr.replace("│", "").split())


def test_write_changes_the_file_and_a_second_time_replaces_the_comment(folder: Path) -> None:
    for _ in range(2):
        done = resay_here("calibrate", *BASE, "--write", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("written to policy.yaml\n")
    text = (folder / "policy.yaml").read_text()
    assert text.count("#: calibrated ") == 1
    assert str(folder) not in text
    assert "from labels.jsonl: 120 labelled responses" in text
    assert "chain:\n  - method: ngram       # cheap\n" in text
    assert "  # x" in text


def test_what_is_written_keeps_the_promise_on_the_labels(folder: Path) -> None:
    words = ("--passage-fpr", "0.1", "--guarantee", "expected", "--out", "new.yaml", "--json")
    done = resay_here("calibrate", *BASE, *words, cwd=folder)
    found = json.loads(done.stdout)
    assert found["policy"] == (folder / "new.yaml").read_text()
    guard = Guard(folder / "new.yaml")
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    flags = [
        (guard.check(r["response"], samples=r["samples"]).flagged, r["hallucinated"]) for r in rows
    ]
    correct = [flag for flag, wrong in flags if not wrong]
    assert sum(correct) / len(correct) == found["figures"]["passage_fpr"]["value"] <= 0.1
    assert found["guarantee"]["kind"] == "expected"
    assert found["threshold"]["passage"] == Policy.load(folder / "new.yaml").threshold.passage


def test_a_mark_at_the_beginning_and_windows_line_ends_stay(folder: Path) -> None:
    path = folder / "policy.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + POLICY.replace("\n", "\r\n").encode())
    assert resay_here("calibrate", *BASE, "--write", cwd=folder).returncode == 0
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf# ours\r\n")
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"#: calibrated" in written


@pytest.mark.parametrize("name", ["plot.svg", "plot.html"])
def test_plots(folder: Path, name: str) -> None:
    assert resay_here("calibrate", *BASE, "--plot", name, cwd=folder).returncode == 0
    text = (folder / name).read_text()
    assert "lamps" not in text
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    ElementTree.fromstring(svg)


def test_from_a_log(folder: Path) -> None:
    guard = Guard(folder / "policy.yaml")
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    verdicts = [
        {"id": r["id"], **guard.check(r["response"], samples=r["samples"]).to_dict(content=False)}
        for r in rows
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, verdicts)))
    ids = [json.dumps({"id": r["id"], "hallucinated": r["hallucinated"]}) for r in rows[:110]]
    (folder / "ids.jsonl").write_text("\n".join(ids))
    words = ("--policy", "policy.yaml", "--labels", "ids.jsonl", "--from-log", "log.jsonl")
    done = resay_here("calibrate", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert "110 of 110 labelled responses are among the 120 logged verdicts" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--passage-fpr", "0.01"), "needs at least 230 responses labelled correct"),
        (("--passage-fpr", "5"), "passage-fpr must be between 0 and 1"),
        (("--passage-fpr", "0.1", "--passage-recall", "0.9"), "exclude each other"),
        (("--write", "--out", "x.yaml"), "exclude each other"),
        (("--plot", "x.png"), "not 'x.png'"),
        (("--sentence-fpr", "0.1"), "there are 0; label"),
        (("--settle-error", "0.02"), "set `settle` on one"),
        (("--from-log", "none.jsonl"), "cannot read 'none.jsonl'"),
        (("--confidence", "2"), "the confidence must be between 0 and 1"),
    ],
)
def test_what_cannot_be_done_is_said_and_writes_nothing(
    folder: Path, words: tuple[str, ...], message: str
) -> None:
    before = sorted(folder.iterdir())
    done = resay_here("calibrate", *BASE, *words, cwd=folder)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before
    assert (folder / "policy.yaml").read_text() == POLICY


def test_mistakes_in_the_labels_name_file_and_line(folder: Path) -> None:
    with (folder / "labels.jsonl").open("a") as file:
        file.write('\n{"response": "x", "lable": "correct"}')
    done = resay_here("calibrate", *BASE, cwd=folder)
    assert done.returncode == 2
    assert "labels.jsonl:121: unknown key 'lable'; did you mean 'label'?" in done.stderr
