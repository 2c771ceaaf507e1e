from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import pytest

from resay_lab.batch import Progress, Tally
from resay_lab.commands.batch import progress_line
from simulation import Refused, SimulatedProvider
from support.batch import lines_of, made_rows, write_lines
from support.cli import resay_here
from support.html import parsed

POLICY = "chain: [{method: ngram}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "in.jsonl", made_rows(9))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def test_a_file_is_checked(folder: Path) -> None:
    words = ["batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml"]
    done = resay_here(*words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "out.jsonl: 9 rows: 6 consistent, 3 flagged\n"
    assert len(lines_of(folder / "out.jsonl")) == 9
    again = resay_here(*words, cwd=folder)
    assert again.returncode == 2
    assert "'out.jsonl' exists" in again.stderr
    assert resay_here(*words, "--resume", cwd=folder).stdout == done.stdout


@pytest.mark.parametrize("is_dry", [True, False])
@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("langg == 'de'", "no row has a column 'langg'; did you mean 'lang'?"),
        ("lang == 'de' or len(respnse) > 9", "column 'respnse'; did you mean 'response'?"),
        ("zzz > 1", "no row has a column 'zzz'; the columns are "),
    ],
)
def test_a_filter_by_a_column_that_no_row_has_is_refused(
    folder: Path, where: str, problem: str, is_dry: bool
) -> None:
    words = ["batch", "in.jsonl", "--out", "out.jsonl", "--method", "facts", "--where", where]
    done = resay_here(*words, *(["--dry-run"] if is_dry else []), cwd=folder)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())
    assert not (folder / "out.jsonl").exists()


def test_a_column_may_be_in_a_few_rows_only(folder: Path) -> None:
    write_lines(folder / "in.jsonl", [*made_rows(4), {**made_rows(5)[-1], "rare": 1}])
    words = ["batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml"]
    done = resay_here(*words, "--where", "rare == 1", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines_of(folder / "out.jsonl")) == 1


UNASKABLE = {
    "no judge": ("chain: [prompt]", "method 'prompt' needs a judge; pass"),
    "no judge of an ensemble": (
        "chain: [{method: ensemble, parts: [{weight: 1, scorer: {method: zero_shot}}]}]",
        "needs a judge; pass",
    ),
    "no judge of references": ("chain: [facts]\nreferences: {by: judge}", "names no judge; pass"),
    "no such provider": (
        "chain: [{method: prompt, judge: opnai/gpt-4.1}]",
        "'opnai' is not a known provider",
    ),
}


@pytest.mark.parametrize("why", UNASKABLE)
def test_nothing_begins_where_no_judge_can_be_asked(folder: Path, why: str) -> None:
    policy, problem = UNASKABLE[why]
    (folder / "policy.yaml").write_text(policy)
    words = ["batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml"]
    done = resay_here(*words, cwd=folder)
    assert done.returncode == 2
    assert problem in " ".join(done.stderr.split())
    assert [path.name for path in folder.iterdir() if "out" in path.name] == []


def test_a_person_is_told_how_to_see_the_results(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["batch", "in.jsonl", "--out", "my out.jsonl", "--policy", "policy.yaml"]
    done = resay_here(*words, "--prefix", "x_", cwd=folder)
    command = "resay report 'my out.jsonl' --html 'my out.html' --prefix x_"
    assert done.stdout.splitlines()[1].startswith("it took 0:")
    assert done.stdout.splitlines()[1].endswith(f"; to see the results: {command}")
    shown = resay_here(*shlex.split(command)[1:], cwd=folder)
    assert (shown.returncode, (folder / "my out.html").exists()) == (0, True)


def test_the_result_as_json(folder: Path) -> None:
    words = ["--policy", "policy.yaml", "--where", "lang == 'de'", "--limit", "3", "--json"]
    done = resay_here("batch", "in.jsonl", "--out", "out.jsonl", *words, cwd=folder)
    assert json.loads(done.stdout) == {
        "rows": 3,
        "decisions": {"consistent": 2, "flagged": 1},
        "errors": {},
        "calls": 0,
        "cost_usd": 0.0,
        "out": "out.jsonl",
        "new": 3,
        "stopped": None,
        "failures": [],
        "reasons": [],
    }


def test_rows_that_fail_are_told(folder: Path) -> None:
    write_lines(folder / "in.jsonl", [*made_rows(1), {"answer": "x"}])
    done = resay_here(
        "batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml", cwd=folder
    )
    assert done.returncode == 4
    assert done.stdout == "out.jsonl: 2 rows: 1 flagged, 1 failed (ConfigurationError)\n"
    error = lines_of(folder / "out.jsonl")[1]["error"]
    assert done.stderr == f"1 failed: {error} (row 2)\n"
    assert error.startswith("ConfigurationError: ")


def test_the_first_failures_are_told_with_their_rows(folder: Path) -> None:
    good = made_rows(2)
    write_lines(folder / "in.jsonl", [good[0], *[{"answer": "x"}] * 5, good[1]])
    words = ("batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml")
    done = resay_here(*words, "--json", cwd=folder)
    failures = json.loads(done.stdout)["failures"]
    assert [failure["row"] for failure in failures] == [2, 3, 4]
    assert len({failure["error"] for failure in failures}) == 1
    assert done.stderr == f"5 failed: {failures[0]['error']} (first row 2)\n"


def test_rows_without_a_decision_are_told_by_reason(folder: Path) -> None:
    few = {"response": "It has 7 lamps.", "samples": ["It has 7 lamps."]}
    rows = [*made_rows(1), few, {"response": 3}, few, {"response": None}, {"response": 4}]
    write_lines(folder / "in.jsonl", rows)
    words = ("batch", "in.jsonl", "--out", "out.jsonl", "--policy", "policy.yaml")
    done = resay_here(*words, "--json", cwd=folder)
    reasons = json.loads(done.stdout)["reasons"]
    assert [(one["decision"], one["rows"], one["first_row"]) for one in reasons] == [
        ("failed", 2, 3),
        ("failed", 1, 5),
        ("inconclusive", 2, 2),
    ]
    assert "must contain text, not int" in reasons[0]["reason"]
    lines = done.stderr.splitlines()
    assert lines[2] == "2 inconclusive: only 1 usable sample; `sampling.min` is 3 (first row 2)"


UNUSABLE = {
    "no key": ("openai/vary", (), "'openai/vary' needs an API key"),
    "no such provider": ("what/vary", (), "'what' is not a known provider"),
    "nothing there": (
        "openai/vary",
        ("--api-base", "http://127.0.0.1:9/v1"),
        "nothing listens at 127.0.0.1:9",
    ),
}


@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("why", UNUSABLE)
def test_a_provider_that_cannot_be_used_stops_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, why: str, rows: int
) -> None:
    model, words, said = UNUSABLE[why]
    if words:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    else:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "judged.yaml").write_text(
        "chain: [{method: prompt}]\nlimits: {retries: 0}\ncache: {store: none}\n"
    )
    asked = [
        {"question": "When?", "response": f"The bridge opened in {1900 + i}."} for i in range(rows)
    ]
    write_lines(folder / "in.jsonl", asked)
    run = ("batch", "in.jsonl", "--out", "out.jsonl", "--policy", "judged.yaml", "--model", model)
    done = resay_here(*run, *words, cwd=folder)
    assert done.returncode == 4
    assert done.stdout == "stopped: no model can be called; fix that, then pass --resume\n"
    assert said in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("row ")]) == 1
    assert not (folder / "out.jsonl").exists()


def test_a_run_goes_on_once_its_provider_can_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, simulated: SimulatedProvider
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "judged.yaml").write_text("chain: [{method: prompt}]\ncache: {store: none}\n")
    asked = [{"question": f"Tell me about {i}.", "response": f"It has {i} lamps."} for i in (7, 8)]
    write_lines(folder / "in.jsonl", asked)
    run = ("batch", "in.jsonl", "--out", "out.jsonl", "--policy", "judged.yaml")
    words = ("--model", "openai/simulated", "--api-base", simulated.base_url)
    simulated.set_faults(Refused(status=401))
    assert resay_here(*run, *words, cwd=folder).returncode == 4
    simulated.set_faults()
    done = resay_here(*run, *words, "--resume", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert all(row["error"] is None for row in lines_of(folder / "out.jsonl"))


def test_a_row_that_needs_no_model_keeps_the_run_going(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "judged.yaml").write_text("chain: [{method: prompt}]\ncache: {store: none}\n")
    asked = [{"question": "When?", "response": f"It opened in {1900 + i}."} for i in range(2)]
    write_lines(folder / "in.jsonl", [{"question": "Hi", "response": ""}, *asked])
    run = ("batch", "in.jsonl", "--out", "out.jsonl", "--policy", "judged.yaml")
    done = resay_here(*run, "--model", "openai/vary", "--concurrency", "1", cwd=folder)
    assert done.returncode == 4
    assert done.stdout.startswith("out.jsonl: 3 rows: 1 skipped, 2 failed (ProviderUnusable)")
    assert "2 failed: ProviderUnusable: 'openai/vary' needs an API key" in done.stderr
    row = lines_of(folder / "out.jsonl")[1]
    assert row["decision"] is None
    assert row["error"].startswith("ProviderUnusable: 'openai/vary' needs an API key")


def test_a_dry_run_writes_nothing(folder: Path) -> None:
    done = resay_here("batch", "in.jsonl", "--method", "ngram", "--dry-run", cwd=folder)
    assert (
        done.stdout == "rows: 9\ncalls: 0.0 per row, 0 in total\nfrom 9 rows; no model was called\n"
    )
    assert {path.name for path in folder.iterdir()} == {"in.jsonl", "policy.yaml"}
    policy = "chain: [{method: prompt, judge: any}]\nprices: {any: {input: 1, output: 2}}\n"
    (folder / "policy.yaml").write_text(policy)
    done = resay_here("batch", "in.jsonl", "-p", "policy.yaml", "--dry-run", "--json", cwd=folder)
    data = json.loads(done.stdout)
    assert (data["rows"], data["sampled"], data["failed"]) == (9, 9, 0)
    assert data["calls_per_row"] == [2.0, 2.0]
    assert data["cost_usd_per_row"][0] > 0


def test_an_output_must_be_named(folder: Path) -> None:
    done = resay_here("batch", "in.jsonl", "--method", "ngram", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--out" in done.stderr


def test_a_url_of_json_lines_is_refused(folder: Path) -> None:
    url = f"file://{folder}/in.jsonl"
    done = resay_here("batch", url, "--out", "out.jsonl", "--method", "ngram", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "only Parquet (.parquet) can be read from a URL" in done.stderr


def test_a_page_of_the_results(folder: Path) -> None:
    rows = made_rows(9)
    rows[0]["response"] += " <b>"
    write_lines(folder / "in.jsonl", [*rows, {"lang": "de"}])
    resay_here("batch", "in.jsonl", "--out", "out.jsonl", "--method", "ngram", cwd=folder)
    words = ["--html", "page.html", "--group", "lang", "--worst", "4"]
    done = resay_here("report", "out.jsonl", *words, cwd=folder)
    assert done.stdout == "page.html: 10 rows, 3 flagged\n"
    page = parsed((folder / "page.html").read_text(encoding="utf-8"))
    # Only flagged rows, however many are asked for; what is flagged is marked in the text.
    articles = page.all("article")
    assert len(articles) == 3
    assert all(article.all("mark") for article in articles)
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "3 (30.0%)" in text
    reasons = page.all("section")[2]
    assert "failed" in reasons.text
    assert "row 10" in reasons.text
    assert "ConfigurationError: " in reasons.text
    assert "&lt;b&gt;" in text
    bars = [svg for svg in page.all("svg") if "shares" in (svg.attributes.get("class") or "")]
    assert [bar.attributes["aria-label"] for bar in bars] == [
        "All rows: 30.0% flagged, 10.0% failed, 60.0% consistent",
        "en: 40.0% flagged, 60.0% consistent",
        "de: 20.0% flagged, 20.0% failed, 60.0% consistent",
    ]
    for words, said in (
        (["--group", "none"], "no column 'none'"),
        (["--prefix", "x_", "--group", "lang"], "is not an output of `resay batch`"),
    ):
        failed = resay_here("report", "out.jsonl", "--html", "page.html", *words, cwd=folder)
        assert failed.returncode == 2
        assert said in failed.stderr


def test_how_far_it_is_in_one_line() -> None:
    tally = Tally()
    for number in range(1500):
        tally.add("flagged" if number % 3 == 0 else "consistent", 2, 0.001, "")
    tally.add("", 0, 0.0, "ProviderError")
    said = progress_line(Progress(tally, 5_000, 1_000, 20.0))
    assert said == "1,501/5,000 rows, 50.0/s, 500 flagged, 1 failed, $1.5000, 1:10 left"
    assert progress_line(Progress(Tally(), None, 0, 0.0)) == "0 rows, 0.0/s, 0 flagged"
    tally.add("consistent", 1, math.nan, "")
    assert "price unknown" in progress_line(Progress(tally, 500_000, 1, 1.0))
    assert progress_line(Progress(tally, 500_000, 1, 1.0)).endswith("138:28:18 left")


def test_the_policy_that_the_environment_names_applies(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESAY_POLICY", "policy.yaml")
    done = resay_here("batch", "in.jsonl", "--out", "out.jsonl", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "policy: policy.yaml (RESAY_POLICY)\n")
    assert done.stdout == "out.jsonl: 9 rows: 6 consistent, 3 flagged\n"
    done = resay_here("batch", "in.jsonl", "--dry-run", cwd=folder)
    assert "calls: 0.0 per row" in done.stdout


def test_a_row_without_a_decision_is_not_ranked_by_its_score(folder: Path) -> None:
    lines = [
        "question,response,samples",
        "When?,It has 31 lamps.,",
        'How many?,It has 32 lamps.,"[""It has 7 lamps.""]"',
    ]
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    words = ("batch", "in.csv", "--out", "out.jsonl", "--method", "ngram")
    done = resay_here(*words, cwd=folder)
    assert done.stdout == "out.jsonl: 2 rows: 2 inconclusive\n"
    without, with_one = lines_of(folder / "out.jsonl")
    # It was compared with nothing.
    assert (without["score"], without["claims"][0]["score"]) == (None, None)
    assert without["claims"][0]["reason"] is None
    # It was compared with fewer samples than a decision needs.
    assert (with_one["score"], with_one["claims"][0]["score"] is None) == (None, False)
    resay_here("report", "out.jsonl", "--html", "page.html", cwd=folder)
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "No flagged rows" in text
    page = parsed(text)
    assert not page.all("article")
    assert "2 usable" not in page.text
    assert [row.text for row in page.all("tr") if "inconclusive" in row.text]
