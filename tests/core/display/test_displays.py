"""Verdicts as text, HTML, Markdown, spans and a table."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from resay import Answer, Contradiction, Guard, SentenceVerdict, Verdict
from resay.adapters import GuardRuntime
from resay.adapters.terminal import print_verdict
from resay.core.display.spans import Label
from resay.errors import ConfigurationError

TEXT = (
    "# Bridge\n\nIt opened in 1932.\n\n- It has 31415 lamps.\n- It has six lanes.\n\n"
    "```py\nx = 1\n```\n"
)
SAMPLES = ["It opened in 1932. It has six lanes."] * 3
SAMPLES[2] = "In 1932 it opened. It has six lanes."
GUARD = Guard({"chain": [{"method": "facts"}], "sampling": {"min": 3}})
VERDICT = GUARD.check(TEXT, samples=SAMPLES, question="Tell me about the Garmo bridge.")
SCORE = f"{VERDICT.score:.2f}"
SECRET = "<img src=x onerror=alert(1)> & \u202etxt"


def terminal(verdict: Verdict, response: str) -> list[str]:
    file = io.StringIO()
    print_verdict(verdict, response, Console(file=file, width=1000, color_system=None))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize(
    "verdict",
    [
        VERDICT,
        Verdict("skipped", None, "the answer calls tools"),
        Verdict("inconclusive", None, "only 1 usable sample; `sampling.min` is 3"),
    ],
)
def test_a_verdict_prints_like_on_the_terminal(verdict: Verdict) -> None:
    shown = [line for line in terminal(verdict, "") if line]
    assert [line for line in str(verdict).splitlines() if line] == shown


def test_a_verdict_is_one_line_in_lists_and_logs() -> None:
    assert repr(VERDICT) == f"<Verdict flagged {SCORE}: 1 of 3 sentences>"
    assert repr(Verdict("skipped", None, "why")) == "<Verdict skipped>"
    answer = GuardRuntime(GUARD).apply(TEXT, VERDICT)
    assert repr(answer) == f"<Answer annotate: <Verdict flagged {SCORE}: 1 of 3 sentences>>"
    assert str(answer) == TEXT


def test_a_contradiction_prints_its_text() -> None:
    assert str(Contradiction("sample", 1, "It opened in 1932.")) == "It opened in 1932."


@given(st.text(max_size=40))
def test_spans_are_the_whole_text(text: str) -> None:
    verdict = GUARD.check(text, samples=SAMPLES)
    assert "".join(piece for piece, _ in verdict.spans(text)) == text


def test_spans_say_what_was_decided() -> None:
    labels: dict[str, Label | None] = dict(VERDICT.spans(TEXT))
    assert labels["It has 31415 lamps."] == "unsupported"
    assert labels["It has six lanes."] == "supported"
    assert labels["```py\nx = 1\n```"] == "not checked"
    assert labels["\n- "] is None
    # Of another text, and without one, the sentences are known.
    assert ("It has six lanes.", "supported") in VERDICT.spans("another text")
    assert GuardRuntime(GUARD).apply(TEXT, VERDICT).spans() == VERDICT.spans(TEXT)


def secretive(**fields: object) -> Verdict:
    contradiction = Contradiction("reference", 0, SECRET)
    sentence = SentenceVerdict(
        SECRET,
        0,
        len(SECRET),
        0.9,
        flagged=True,
        reason=SECRET,
        contradicted_by=contradiction,
        band="contradicted",
    )
    return Verdict("flagged", 0.9, SECRET, (sentence,))


def test_html_has_the_text_in_colours_and_the_evidence_beside_it() -> None:
    html = VERDICT.to_html(TEXT)
    assert "It has 31415 lamps.</span><sup>1</sup>" in html
    assert f"<b>unsupported {SCORE}</b> &#39;31415&#39; is in " in html
    assert html == GuardRuntime(GUARD).apply(TEXT, VERDICT).to_html()
    assert "\n- <span" in html


def test_html_and_markdown_escape_all_text() -> None:
    verdict = secretive()
    for html in (
        verdict.to_html(SECRET),
        verdict.to_html(),
        verdict.flagged_sentences.to_html(),
    ):
        assert "<img" not in html
        assert "<script" not in html
        assert "\u202e" not in html
        assert html.count("&lt;img") >= 2
    assert "\\<img" in verdict.to_markdown(SECRET)
    assert "<img" not in verdict.to_markdown(SECRET).replace("\\<img", "")


def test_a_withheld_answer_is_in_no_display() -> None:
    blocking = Guard({"chain": [{"method": "facts"}], "action": {"do": "block", "message": "No."}})
    answer = GuardRuntime(blocking).apply(TEXT, VERDICT)
    assert answer.spans() == [("No.", None)]
    for shown in (answer.to_html(), answer.to_markdown(), repr(answer)):
        assert "lamps" not in shown
    assert "No." in answer.to_html()


def test_markdown_lists_what_is_flagged() -> None:
    assert (
        VERDICT.to_markdown(TEXT)
        .splitlines()[-1]
        .startswith(f"| 1 | {SCORE} | It has 31415 lamps. | unsupported: '31415' is in ")
    )
    assert "> - **It has 31415 lamps.** [1]" in VERDICT.to_markdown(TEXT)
    assert Verdict("skipped", None, "why").to_markdown() == "**skipped**: why"


def test_a_verdict_without_content_has_displays_without_it() -> None:
    bare = VERDICT.without_content()
    for shown in (str(bare), bare.to_html(), bare.to_markdown(), repr(bare.spans())):
        assert "lamps" not in shown


def test_lists_of_sentences_are_still_tuples() -> None:
    assert VERDICT.flagged_sentences == tuple(s for s in VERDICT.sentences if s.flagged)
    assert "It has 31415 lamps." in VERDICT.flagged_sentences.to_html()


def test_a_frame_has_a_row_for_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = VERDICT.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["flagged"]) == [False, False, True, False]
    assert list(frame["sentence"]) == [sentence.text for sentence in VERDICT.sentences]
    assert list(Verdict("skipped", None, "why").to_frame().columns) == list(frame.columns)


def test_a_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigurationError, match="pip install pandas"):
        VERDICT.to_frame()


def test_notebooks_show_answers_verdicts_and_lists_of_sentences() -> None:
    answer = Answer(TEXT, TEXT, "annotate", VERDICT)
    for shown in (answer, VERDICT, VERDICT.flagged_sentences):
        notebook_html: Any = getattr(shown, "_repr_html_", None)
        assert notebook_html() == shown.to_html()
