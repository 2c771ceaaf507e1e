from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from resay import (
    Answer,
    Contradiction,
    SentenceVerdict,
    StepRecord,
    Unscored,
    Usage,
    Verdict,
)
from resay.adapters.terminal import print_verdict
from resay.core.claim_verdict import Part
from resay.reporting.render import print_answer
from support.claims import claim_verdict

RESPONSE = "# Bridge\n\nIt opened in 1932. It has [red]six[/red] lanes.\n\n```\ncode\n```\n"
KEPT = SentenceVerdict("It opened in 1932.", 10, 28, 0.0, by="prompt")
MADE_UP = SentenceVerdict(
    "It has [red]six[/red] lanes.",
    29,
    57,
    0.8,
    True,
    "prompt",
    "not supported by 4 of 5 texts compared",
    Contradiction("sample", 2, "It has nine lanes."),
)
VERDICT = Verdict(
    "flagged",
    0.4,
    "1 of 2 sentences > 0.50 with 5 samples",
    (KEPT, MADE_UP),
    samples=5,
    usage=Usage(6, 1000, 200, 0.0123),
    elapsed_s=1.26,
)


def shown(verdict: Verdict = VERDICT, response: str = RESPONSE, *, terminal: bool = False) -> str:
    file = io.StringIO()
    print_verdict(verdict, response, Console(file=file, force_terminal=terminal, width=80))
    return file.getvalue()


def test_sentences_are_shown_with_scores_and_contradictions() -> None:
    lines = [line.rstrip() for line in shown().splitlines()]
    assert lines == [
        "FLAGGED  1 of 2 sentences > 0.50 with 5 samples",
        "",
        "    -   # Bridge",
        " 0.00   It opened in 1932.",
        " 0.80 ! It has [red]six[/red] lanes.",
        "            prompt: not supported by 4 of 5 texts compared",
        "            sample 3 says: It has nine lanes.",
        "    -   ```",
        "        code",
        "        ```",
        "",
        "The check: 6 calls, 1,200 tokens, $0.0123, 1.3 s",
    ]


TEXT = "It opened in 1932, has \x1b lamps and spans 503 m."
LAMPS = claim_verdict(
    text=TEXT,
    start=0,
    end=len(TEXT),
    score=0.9,
    flagged=True,
    band="unsupported",
    parts=(
        Part(start=13, end=17, band="supported", kind="date"),
        Part(start=23, end=30, band="unsupported"),
        Part(start=41, end=46, band="contradicted", kind="number"),
    ),
)
HALF_WRONG = Verdict(
    "flagged",
    0.9,
    "1 of 1 sentence > 0.50",
    (SentenceVerdict(TEXT, 0, len(TEXT), 0.9, True, "facts"),),
    claims=(LAMPS,),
)


def test_of_a_sentence_half_right_the_other_half_is_underlined_and_named() -> None:
    assert "            in doubt: “� lamps”, “503 m” " in shown(HALF_WRONG, TEXT)
    coloured = shown(HALF_WRONG, TEXT, terminal=True)
    assert re.findall(r"\x1b\[4;31m(.*?)\x1b", coloured) == ["� lamps", "503 m"]
    # If nothing is told from the rest, all of it is in doubt, which needs no words.
    whole = replace(HALF_WRONG, claims=(replace(LAMPS, parts=LAMPS.parts[:1]),))
    assert "in doubt" not in shown(whole, TEXT)
    assert re.findall(r"\x1b\[4;31m(.*?)\x1b", shown(whole, TEXT, terminal=True)) == [
        TEXT.replace("\x1b", "�")
    ]


def test_of_the_cells_of_a_row_those_in_doubt_are_named() -> None:
    row = "A1 | 500 | Graz"
    cells = (
        claim_verdict(text="A1: watts: 500", start=5, end=8, unit="row", score=0.9, flagged=True),
        claim_verdict(text="A1: made in: Graz", start=11, end=15, unit="row", score=0.1),
    )
    sentence = SentenceVerdict(row, 0, len(row), 0.9, True, "facts")
    verdict = replace(HALF_WRONG, sentences=(sentence,), claims=cells)
    assert "            in doubt: A1: watts: 500\n" in shown(verdict, row)
    assert re.findall(r"\x1b\[4;31m(.*?)\x1b", shown(verdict, row, terminal=True)) == ["500"]


def test_without_its_text_a_sentence_has_no_lines() -> None:
    bare = Verdict.from_dict(HALF_WRONG.to_dict(content=False))
    assert "in doubt" not in shown(bare, "")


def test_doubtful_sentences_have_a_mark() -> None:
    doubtful = replace(VERDICT, sentences=(replace(KEPT, score=0.4, band="doubtful"), MADE_UP))
    assert " 0.40 ~ It opened in 1932." in shown(doubtful).splitlines()[3]


def test_without_a_terminal_there_is_no_colour() -> None:
    assert "\x1b" not in shown()


def test_on_a_terminal_there_is() -> None:
    assert "\x1b[31m" in shown(terminal=True)


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in shown(terminal=True)


def test_a_models_control_characters_do_not_reach_the_terminal() -> None:
    text = "It is \x1b]0;owned\x07 \x1b[31mred\u202e."
    verdict = Verdict("consistent", 0.0, "fine", (SentenceVerdict(text, 0, len(text), 0.0),))
    out = shown(verdict, text)
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert "\N{REPLACEMENT CHARACTER}[31mred" in out


def test_unscored_text_is_labelled() -> None:
    unscored = (Unscored("# Bridge", 0, 8, "heading"), Unscored(RESPONSE[59:71], 59, 71, "code"))
    lines = [line.rstrip() for line in shown(replace(VERDICT, unscored=unscored)).splitlines()]
    assert "    -   # Bridge  (heading, not scored)" in lines
    assert "        ```  (code block, not scored)" in lines
    assert lines.index("    -   ```") == lines.index("        code") - 1


def test_an_unscored_sentence_shows_a_question_mark() -> None:
    verdict = Verdict("inconclusive", None, "why", (SentenceVerdict("It is.", 0, 6),))
    assert "    ?   It is." in shown(verdict, "It is.")


def test_a_withheld_answer_is_not_shown() -> None:
    file = io.StringIO()
    answer = Answer("Withheld.", RESPONSE, "block", VERDICT, Usage(7, 1, 1, None))
    print_answer(answer, Console(file=file, width=80))
    assert "Withheld." in file.getvalue()
    assert "price unknown" in file.getvalue()
    assert "lanes" not in file.getvalue()


@pytest.mark.parametrize(("kind", "mark"), [("fact", "?"), ("hedged", "?"), ("filler", "-")])
def test_a_sentence_that_claims_nothing_lacks_no_score(kind: str, mark: str) -> None:
    claim = claim_verdict(text="Hope so!", start=0, end=8, kind=kind)
    sentence = SentenceVerdict("Hope so!", 0, 8)
    verdict = Verdict("consistent", 0.0, "why", (sentence,), claims=(claim,))
    assert f"    {mark}   Hope so!" in shown(verdict, "Hope so!")


@pytest.mark.parametrize(("flagged", "colour"), [(True, "31"), (False, "33")])
def test_flagged_sentences_are_red_at_any_threshold(flagged: bool, colour: str) -> None:
    text = "It is."
    sentence = SentenceVerdict(text, 0, 6, 0.55, flagged, "facts")
    coloured = shown(Verdict("consistent", 0.55, "why", (sentence,)), text, terminal=True)
    assert f"\x1b[{colour}m 0.55\x1b" in coloured


def test_reasons_of_passage_scores_are_shown() -> None:
    step = StepRecord("zero_shot", 2, 1.0, reason="the judge called [red]it[/red] non-factual")
    unscored = replace(KEPT, score=None, by=None)
    verdict = replace(VERDICT, sentences=(unscored,), steps=(step,))
    assert shown(verdict).splitlines()[:3] == [
        "FLAGGED  1 of 2 sentences > 0.50 with 5 samples",
        "zero_shot: the judge called [red]it[/red] non-factual",
        "",
    ]


def test_a_flagged_name_stands_below_its_code() -> None:
    code = Unscored(RESPONSE[59:71], 59, 71, "code")
    names = tuple(
        claim_verdict(
            text,
            start,
            start + 4,
            unit="code",
            score=score,
            flagged=score > 0.5,
            by="code_names",
            reason="0 of 3 samples use it",
            sentence=-1,
        )
        for text, start, score in (("The code imports code.", 63, 1.0), ("It imports a.", 64, 0.2))
    )
    lines = [
        line.rstrip()
        for line in shown(replace(VERDICT, unscored=(code,), claims=names)).splitlines()
    ]
    place = lines.index(" 1.00 ! The code imports code.")
    assert lines[place - 1].endswith("(code block, not scored)")
    assert lines[place + 1] == "            code_names: 0 of 3 samples use it"
    assert not any("It imports a." in line for line in lines)
