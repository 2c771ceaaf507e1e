from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.core.segmentation.blocks import parse_layout


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in parse_layout(text).blocks]


def sentences(text: str) -> list[str]:
    return [sentence.text for sentence in Passage.of(text).sentences]


FENCES = {
    "backticks": "```\na. B\n```\n",
    "tildes": "~~~ python\na. B\n~~~\n",
    "longer fence": "````py\n```\na. B\n```\n````\n",
    "fence inside the other": "~~~\n```\n~~~\n",
    "indented": "  ```\n  a. B\n  ```\n",
    "blank lines inside": "```\na\n\n\nb\n```\n",
    "carriage returns": "```\r\na. B\r\n```\r\n",
    "closing fence is longer": "```\na\n`````\n",
    "info string on a closing line does not close": "```\n``` python\n```\n",
}


@pytest.mark.parametrize("code", FENCES.values(), ids=FENCES)
def test_fenced_code_is_one_block_and_what_follows_is_prose(code: str) -> None:
    assert kinds(f"Before.\n{code}After.") == [
        ("prose", "Before.\n"),
        ("code", code),
        ("prose", "After."),
    ]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    text = "See.\n\n```py\nx = 1. Y\n\n# No heading. Nothing."
    assert kinds(text) == [("prose", "See.\n\n"), ("code", text[6:])]


def test_inline_code_that_looks_like_a_fence_is_prose() -> None:
    assert sentences("```x``` is code. So is ``y``.") == ["```x``` is code.", "So is ``y``."]


def test_a_fence_in_a_list_item_may_be_badly_indented() -> None:
    text = "1. Run:\n   ```python\nx = 1. Y\n   ```\n2. Look."
    assert kinds(text) == [
        ("prose", "1. Run:\n"),
        ("code", "   ```python\nx = 1. Y\n   ```\n"),
        ("prose", "2. Look."),
    ]


def test_a_fence_may_open_on_the_line_of_the_marker() -> None:
    assert [kind for kind, _ in kinds("- ```\n  a\n  ```\n- b")] == ["code", "prose"]


def test_a_fence_in_a_quote_ends_with_the_quote() -> None:
    text = "> ```\n> a. B\nAfter it. Done."
    assert kinds(text) == [("code", "> ```\n> a. B\n"), ("prose", "After it. Done.")]


def test_indented_code_needs_a_blank_line_before_it() -> None:
    assert [kind for kind, _ in kinds("Text:\n\n    a = 1\n\n    b = 2\n\nMore.")] == [
        "prose",
        "code",
        "prose",
    ]
    assert [kind for kind, _ in kinds("Text\n    goes on.")] == ["prose"]


def test_indented_text_in_a_list_is_prose() -> None:
    assert sentences("1. One.\n\n    More of one.\n\nAfter.\n\n    code()") == [
        "One.",
        "More of one.",
        "After.",
    ]


def test_a_text_indented_throughout_is_prose() -> None:
    assert sentences("    One.\n\n    Two.\n") == ["One.", "Two."]


@pytest.mark.parametrize("heading", ["# A", "###### A. B", "#", "A title\n===", "**A**\n---"])
def test_headings_hold_no_sentences(heading: str) -> None:
    assert kinds(f"{heading}\nText.") == [("heading", f"{heading}\n"), ("prose", "Text.")]


@pytest.mark.parametrize("text", ["#hashtag is prose.", "####### seven", "5\n# of them"])
def test_a_hash_alone_makes_no_heading(text: str) -> None:
    assert kinds(text)[0][0] == "prose"


@pytest.mark.parametrize("underline", ["---", "===", "- - -", "***", "___"])
def test_a_line_below_a_sentence_is_a_rule(underline: str) -> None:
    assert kinds(f"It is 324 m tall.\n{underline}\nNext.") == [
        ("prose", "It is 324 m tall.\n"),
        ("rule", f"{underline}\n"),
        ("prose", "Next."),
    ]


TABLES = {
    "outer pipes": "| a | b |\n|---|---|\n| 1. X | 2 |\n",
    "no outer pipes": "a | b\n:-- | --:\n1. X | 2\n",
    "one column": "| a |\n|---|\n| b |\n",
    "no rows": "| a |\n|---|\n",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_hold_no_sentences(table: str) -> None:
    assert kinds(f"Look:\n{table}After it.") == [
        ("prose", "Look:\n"),
        ("table", table),
        ("prose", "After it."),
    ]
    assert kinds(table) == [("table", table)]


@pytest.mark.parametrize("text", ["| a | b |\n| c | d |", "a | b\n--x|--", "a\n|--|", "a | b\n|:|"])
def test_pipes_without_a_delimiter_row_are_prose(text: str) -> None:
    assert [kind for kind, _ in kinds(text)] == ["prose"]


def test_items_are_sentences_without_their_markers() -> None:
    text = (
        "Intro:\n- One. Two\n  goes on.\n  - Nested\n* [x] Done\n+ [ ] Open\n• Dot\n"
        "1. First\n2) Second\n   10. Tenth\n\na) Letter\n(b) Enclosed\n"
    )
    assert sentences(text) == [
        "Intro:",
        "One.",
        "Two\n  goes on.",
        "Nested",
        "Done",
        "Open",
        "Dot",
        "First",
        "Second",
        "Tenth",
        "Letter",
        "Enclosed",
    ]


def test_pieces_keep_the_marker_and_the_white_space_after() -> None:
    pieces = Passage.of("- One. Two.\n\n  - Three.\n").pieces
    assert [piece.text for piece in pieces] == ["- One. ", "Two.\n\n", "  - Three.\n"]


@pytest.mark.parametrize(
    "text",
    [
        "He counted up to\n14. It took long",
        "It happened in\n1986. It was May",
        "He was born on\n3. Mai 1950 in Bonn",
    ],
)
def test_a_number_at_the_start_of_a_line_of_prose_is_no_marker(text: str) -> None:
    assert parse_layout(text).markers == ()


def test_years_stay_in_their_sentences() -> None:
    assert sentences("1986. The reactor exploded.")[0].startswith("1986.")


def test_quotes_are_prose_without_their_markers() -> None:
    text = "> One is\n> long. Two.\n>\n> > Three.\n\n- > Four.\n"
    assert sentences(text) == ["One is\n> long.", "Two.", "Three.", "Four."]


def test_a_marker_inside_a_sentence_does_not_hide_what_follows_the_stop() -> None:
    assert sentences("> It was Dr.\n> Smith. Then he left.\n> She stayed.") == [
        "It was Dr.\n> Smith.",
        "Then he left.",
        "She stayed.",
    ]


UNSCORED = {
    "comment": ("html", "<!-- A. B\n\nC. -->\n"),
    "tags": ("html", "<br/>\n"),
    "raw": ("html", "<pre>\nA. B\n\nC\n</pre>\n"),
    "dollars": ("math", "$$\nx = 1. Y\n$$\n"),
    "one-line dollars": ("math", "$$ x = 1. Y $$.\n"),
    "brackets": ("math", "\\[ x \\]\n"),
    "definition": ("definition", '[1]: https://a.example/x "A. B"\n'),
    "stars": ("rule", "* * *\n"),
}


@pytest.mark.parametrize(("kind", "block"), UNSCORED.values(), ids=UNSCORED)
def test_other_blocks_hold_no_sentences(kind: str, block: str) -> None:
    assert kinds(f"Before.\n\n{block}\nAfter it.") == [
        ("prose", "Before.\n\n"),
        (kind, f"{block}\n"),
        ("prose", "After it."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- never closed. It goes on.",
        "<!-- note --> The tower is 500 m tall.",
        "<p>The tower is 500 m tall.</p>",
        "$$ is a variable. It holds a number.",
        "$$5 million was paid. No more.",
        "$$ opened\n\nand closed after a blank line $$",
        "\\[1\\] Smith wrote it.",
        "[Note]: this is important. It is.",
        "[1] is a citation: see https://a.example",
    ],
)
def test_possible_claims_stay_prose(text: str) -> None:
    assert {kind for kind, _ in kinds(text)} == {"prose"}


def test_footnotes_are_prose_without_their_label() -> None:
    assert sentences("A claim.[^1]\n\n[^1]: The source. It is old.") == [
        "A claim.[^1]",
        "The source.",
        "It is old.",
    ]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\v", "\f"])
def test_every_line_break_is_one(line_break: str) -> None:
    text = line_break.join(["# Head", "One goes", "on. Two.", "", "- Three.", "```", "a", "```"])
    assert sentences(text) == ["Head", f"One goes{line_break}on.", "Two.", "Three."]
    assert [kind for kind, _ in kinds(text)] == ["heading", "prose", "prose", "code"]


def test_a_paragraph_separator_ends_a_sentence() -> None:
    assert sentences("One goes on\u2029two") == ["One goes on", "two"]


@given(st.text(st.sampled_from("a1 \n\r\t\u2028\u2029`~#>-*|:=$\\[]<!.)x^")))
def test_blocks_cover_the_text_and_masking_keeps_its_length(text: str) -> None:
    layout = parse_layout(text)
    assert "".join(text[block.start : block.end] for block in layout.blocks) == text
    assert all(block.start < block.end for block in layout.blocks)
    assert len(layout.masked) == len(text)
    masked = [
        " " if any(start <= at < end for start, end in layout.markers) else character
        for at, character in enumerate(text)
    ]
    assert layout.masked == "".join(masked)
    ends = [0, *(end for _, end in layout.markers)]
    assert all(end <= start for end, (start, _) in zip(ends, layout.markers, strict=False))
