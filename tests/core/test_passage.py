from __future__ import annotations

import re
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Passage
from resay.core.segmentation.choices import Splitter
from resay.errors import ConfigurationError, MissingDependencyError

FRAGMENTS = [
    *"aB1 .!?\n\r\t|`>-#*_=~$\\[]()\"'“”«»。！？「」，。।؟😀",
    *"e\u0301\u200d\u2028\u2029\x85\u00a0\ud800",
    *("```\n", "~~~", "\n\n", "    ", "- ", "1. ", "> ", "| a |\n|---|\n", "$$", "<!--", "-->"),
    *("The cat sat", "Dr. ", "U.S. ", "e.g. ", "J. ", "了", "です", "हाँ", "[1]", "A b. ", "...\n"),
    *(
        "เขาเกิดที่กรุงเทพมหานคร",
        " เขาทำงานเป็นวิศวกร ",
        "ปี ๒๓",
        "ជា។",
        "ល។",
        "သည်။",
        "εκεί; Ν",
        "؟",
        "د. ",
    ),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text(max_size=60)


@pytest.fixture(params=["builtin", "sentencex"], scope="module")
def splitter(request: pytest.FixtureRequest) -> Splitter:
    if request.param == "sentencex":
        pytest.importorskip("sentencex")
    return request.param


@given(text=TEXTS)
@settings(max_examples=50, deadline=None)
def test_pieces_make_up_the_text_and_hold_the_sentences(splitter: Splitter, text: str) -> None:
    passage = Passage.of(text, splitter=splitter)

    assert passage.text == text
    assert "".join(piece.text for piece in passage.pieces) == text
    assert all(piece.text == text[piece.start : piece.end] for piece in passage.pieces)
    assert all(piece.start < piece.end for piece in passage.pieces)

    unmatched = list(passage.sentences)
    for piece in passage.pieces:
        inside = [s for s in passage.sentences if piece.start <= s.start and s.end <= piece.end]
        assert len(inside) <= (piece.kind in {"prose", "heading", "table"})
        if inside:
            assert unmatched.pop(0) == inside[0]
    assert unmatched == []
    for sentence in passage.sentences:
        assert sentence.text == text[sentence.start : sentence.end] == sentence.text.strip()
        assert any(character.isalnum() for character in sentence.text)


# What may stand before a sentence unsaid: one label of a list or a footnote, and a checkbox.
# So may a fence around prose.
LABEL = re.compile(
    r"(?:[\W_]*(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]+)?[xX]?[\W_]*(?:```|~~~) ?(?:text|markdown)\b)*"
    r"[\W_]*(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]*)?[xX]?[\W_]*"
)
MARKDOWN = [
    *FRAGMENTS,
    *("# Opened 1932\n", "1932\n---\n", "\n\n    in 1932\n", "```in1932\n", "| 1932 | x |\n"),
    *("<!-- 1932", "<pre>\n", "</pre>", "<b title='1932'>\n", "<details>\n", "$$ 1932", "\\["),
    *('[a]: /b "1932"\n', "[^1]: ", "[^in-1932]: ", "(iv) ", "a) ", "7. ", "12.\n", "- [x] "),
    *(
        "```text\n",
        "~~~ markdown\n",
        "```\nIt opened there in June.\n",
        "```\n",
        "It is 5 m long.\n",
    ),
]


@given(text=st.lists(st.sampled_from(MARKDOWN), max_size=30).map("".join) | TEXTS)
@settings(max_examples=100, deadline=None)
def test_every_letter_and_digit_is_in_a_sentence_or_unscored(splitter: Splitter, text: str) -> None:
    passage = Passage.of(text, splitter=splitter)
    unscored = passage.unscored()
    assert all(part.text == text[part.start : part.end] for part in unscored)
    assert all(re.search(r"[^\W_]", p.text) and p.text == p.text.strip() for p in unscored)
    spans = sorted((part.start, part.end) for part in (*passage.sentences, *unscored))
    position = 0
    for start, end in [*spans, (len(text), len(text))]:
        assert position <= start
        assert LABEL.fullmatch(text, position, start)
        position = end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text.\n\n    It opened in 1932", ["code"]),
        ("```\nIt opened in 1932", ["code"]),
        ("~~~ It opened in 1932\n~~~", ["code"]),
        ("$$\n1932\n$$", ["math"]),
        ("\\[ 1932 \\]", ["math"]),
        ("<pre>\nIt opened in 1932\n</pre>", ["html"]),
        ("<!-- It opened in 1932 -->", ["html"]),
        ('<img alt="It opened in 1932">', ["html"]),
        ('[a]: http://x "It opened in 1932"', ["definition"]),
        ("[^opened-in-1932]: Text.", ["prose"]),
        ("1. 9. 3. 2. Text.", ["prose"]),
        ('It <!-- was built --> opened ![in](a "1932").', []),
        ("It opened `in 1932`.", []),
        ("3. It opened in 1932.", []),
        ("> (iv) [x] It opened in 1932.", []),
        ("[^1]: It opened in 1932.", []),
        ("# It opened in 1932", []),
        ("It opened in 1932\n---", []),
        ("| It |\n|---|\n| opened in 1932 |", []),
        ("---\nopened: 1932\n---\n\nText.", []),
        ("32.", []),
        ("---\n\n* * *\n\n| |\n|---|", []),
    ],
)
def test_text_outside_sentences_has_a_kind(text: str, expected: list[str]) -> None:
    assert [stretch.kind for stretch in Passage.of(text).unscored()] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# C# #\n", [("C#", "heading")]),
        ("1932\n===\nIt.", [("1932", "heading"), ("It.", "sentence")]),
        ("> ## A b\n> c", [("A b", "heading"), ("c", "sentence")]),
        ("- a\n- It is. So.", [("a", "item"), ("It is.", "item"), ("So.", "item")]),
        (
            "| a | b |\n|--:|---|\n| c \\| d | `e|f` |\n|g\n",
            [("a | b", "head"), ("c \\| d | `e|f`", "row"), ("g", "row")],
        ),
        ("> | a |\n> |---|\n> | b |\n\nc", [("a", "head"), ("b", "row"), ("c", "sentence")]),
        # A label with nothing to label is an answer.
        ("12.", [("12.", "sentence")]),
        ("(b)\n", [("(b)", "sentence")]),
        ("b)\n\nIt is.", [("b)", "sentence"), ("It is.", "sentence")]),
        ("- 12.", [("12.", "item")]),
        ("12.\nIt is.", [("It is.", "item")]),
        ("1. a\n\n2.", [("a", "item")]),
    ],
)
def test_a_sentence_knows_what_it_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(s.text, s.unit) for s in Passage.of(text).sentences] == expected


def test_unscored_text_before_a_position_is_left_out() -> None:
    text = "# One\n\nTwo. Three.\n\n```\nfour\nfive\n```\n"
    told = Passage.of(text).unscored(text.index("five"))
    assert [(stretch.text, stretch.kind) for stretch in told] == [("five\n```", "code")]


@given(text=TEXTS)
@settings(max_examples=50, deadline=None)
def test_sentences_are_found_again_in_their_text(splitter: Splitter, text: str) -> None:
    passage = Passage.of(text, splitter=splitter)
    again = Passage.from_sentences([sentence.text for sentence in passage.sentences], text=text)
    assert [(s.text, s.start, s.end) for s in again.sentences] == [
        (s.text, s.start, s.end) for s in passage.sentences
    ]
    assert "".join(piece.text for piece in again.pieces) == text
    for sentence, piece in zip(again.sentences, again.pieces, strict=False):
        assert piece.start <= sentence.start
        assert sentence.end <= piece.end


@given(sentences=st.lists(st.text(min_size=1).filter(str.strip), max_size=6))
def test_sentences_without_a_text_are_joined_by_a_space(sentences: list[str]) -> None:
    passage = Passage.from_sentences(sentences)
    assert passage.text == " ".join(sentence.strip() for sentence in sentences)
    assert [s.text for s in passage.sentences] == [sentence.strip() for sentence in sentences]
    assert all(s.text == passage.text[s.start : s.end] for s in passage.sentences)
    assert "".join(piece.text for piece in passage.pieces) == passage.text
    assert len(passage.pieces) == len(sentences)


def test_the_empty_text_has_nothing_in_it() -> None:
    assert Passage.of("") == Passage("", (), ()) == Passage.from_sentences([])
    assert Passage.from_sentences([], text="") == Passage("", (), ())


def test_white_space_is_a_piece_without_a_sentence() -> None:
    passage = Passage.of(" \n\n ")
    assert passage.sentences == ()
    assert [piece.text for piece in passage.pieces] == [" \n\n "]


def test_offsets_count_code_points() -> None:
    passage = Passage.of("👩‍🚀 flew. Zoë́ did not.")
    assert [passage.text[s.start : s.end] for s in passage.sentences] == [
        "👩‍🚀 flew.",
        "Zoë́ did not.",
    ]


def test_white_space_inside_a_sentence_may_differ() -> None:
    text = "## Intro\n\nThe tower\n  is tall.  It  stands.\n- Still."
    passage = Passage.from_sentences([" The tower is tall.", "It\tstands.", "Still."], text=text)
    assert [s.text for s in passage.sentences] == ["The tower\n  is tall.", "It  stands.", "Still."]
    assert [piece.text for piece in passage.pieces] == [
        "## Intro\n\nThe tower\n  is tall.  ",
        "It  stands.\n",
        "- Still.",
    ]


def test_a_sentence_is_not_mistaken_for_the_same_words_in_a_heading() -> None:
    passage = Passage.from_sentences(["Paris", "Rome"], text="# Paris\n\n- Paris\n- Rome")
    assert [s.start for s in passage.sentences] == [11, 19]


@pytest.mark.parametrize(
    "text", ["<b>\na", "```\na a\n```\n\n   a", "1. 1", "[^a]: a", "[a]: /a\n\n> a"]
)
def test_a_sentence_is_found_behind_the_same_words_elsewhere(text: str) -> None:
    passage = Passage.of(text)
    assert len(passage.sentences) == 1
    (aligned,) = Passage.from_sentences([passage.sentences[0].text], text=text).sentences
    assert (aligned.text, aligned.start) == (passage.sentences[0].text, passage.sentences[0].start)


def test_sentences_may_come_from_anywhere_in_the_text() -> None:
    passage = Passage.from_sentences(["# Paris", "It is old."], text="# Paris\n\nIt is old.")
    assert [s.text for s in passage.sentences] == ["# Paris", "It is old."]


@pytest.mark.parametrize(
    ("sentences", "index"), [(["B.", "A."], 1), (["A.", "A."], 1), (["C."], 0), (["A. B. C."], 0)]
)
def test_a_sentence_that_does_not_fit_is_named_by_its_index(
    sentences: list[str], index: int
) -> None:
    with pytest.raises(ConfigurationError, match=f"sentence {index} of {len(sentences)}") as caught:
        Passage.from_sentences(sentences, text="A. B.")
    assert sentences[index] not in str(caught.value)


def test_a_blank_sentence_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="sentence 1 of 2 is blank"):
        Passage.from_sentences(["A.", " \n"])


def test_only_keeps_the_text_and_some_sentences() -> None:
    passage = Passage.of("One. Two. Three.")
    some = passage.only([2, 0, 2])
    assert [s.text for s in some.sentences] == ["One.", "Three."]
    assert (some.text, some.pieces) == (passage.text, passage.pieces)
    assert passage.only(()).sentences == ()
    assert some.only(range(2)) == some


@pytest.mark.parametrize("index", [-1, 3])
def test_only_refuses_a_sentence_that_is_not_there(index: int) -> None:
    with pytest.raises(IndexError, match=str(index)):
        Passage.of("One. Two. Three.").only([0, index])


def test_an_unknown_splitter_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'spacy'"):
        Passage.of("One.", splitter="spacy")  # type: ignore[arg-type]  (the error under test)


def test_a_missing_splitter_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingDependencyError, match=r"resay\[sentencex\]"):
        Passage.of("One.", splitter="sentencex")
    assert len(Passage.of("One. Two.").sentences) == 2


def test_sentencex_reads_the_prose_and_only_the_prose() -> None:
    pytest.importorskip("sentencex")
    passage = Passage.of("# A. B\n\n- One. Two.\n```\nc. D\n```", splitter="sentencex")
    assert [s.text for s in passage.sentences] == ["A. B", "One.", "Two."]


def test_sentencex_falls_back_on_a_lone_surrogate() -> None:
    pytest.importorskip("sentencex")
    passage = Passage.of("One \ud800 is. Two.", splitter="sentencex")
    assert [s.text for s in passage.sentences] == ["One \ud800 is.", "Two."]


def test_sentencex_reads_long_blocks_in_parts() -> None:
    pytest.importorskip("sentencex")
    text = "The tower is tall. It is old. " * 1000
    assert len(Passage.of(text, splitter="sentencex").sentences) == 2000


HOSTILE = {
    "fences": "```\n",
    "stops": ".",
    "letters and stops": "a.",
    "initials": "A. ",
    "parentheses": "(",
    "quotes": '"',
    "curly quotes": "“",
    "apostrophes": "'",
    "backticks": "`",
    "code spans": "`` ` ",
    "pipes": "| ",
    "pipe lines": "|\n",
    "tables": "a|b\n-|-\n",
    "delimiter": "|-    ",
    "blank lines": "\n",
    "spaces": " ",
    "tabs": "\t",
    "carriage returns": "\r",
    "numbers": "1. ",
    "items": "1. a\n",
    "hashes": "# ",
    "quote markers": "> ",
    "quote lines": "> > a\n",
    "dashes": "- ",
    "mixed markers": "- > ",
    "words": "word ",
    "one word": "x",
    "abbreviations": "U.S. ",
    "e.g.": "e.g. ",
    "ellipses": "... ",
    "spaced stops": ". ",
    "exclamations": "! ",
    "ideographic stops": "。",
    "ideographic quotations": "「あ？」と",
    "citations": "a.[1](",
    "brackets": "[1]",
    "link definitions": "[a]: /b\n",
    "open comments": "<!--\n",
    "open tags": "<b",
    "raw tags": "<pre>\n",
    "open math": "\\[ a\n",
    "math across blank lines": "$$ a\n\n",
    "indented": "    c\n\n",
    "surrogates": "\ud800. A",
    "run-on": "aaa.Bbb ",
    "underlines": "=",
    "Thai phrases": "เขาเกิดที่กรุงเทพมหานคร ",
    "Thai words": "ก ",
    "Thai word": "ก",
    "Khmer stops": "។ល",
    "Greek questions": "αα; ",
}
LATE_CLOSERS = {
    "comments": ("<!--\n", "--> x"),
    "comments and spaces": ("<!--\n", "-->" + " " * 20_000 + "x"),
    "math": ("\\[\n", "\\] x"),
    "stops": (".", "x"),
    "quoted stop": ('"', 'x."'),
    "dashes": ("- ", "x"),
    "pipes": ("|-", "x"),
    "math after a blank line": ("\\[ a\n\n", "\\]"),
}
SIZE = 12_500


def seconds(text: str, splitter: Splitter) -> float:
    start = time.process_time()
    Passage.of(text, splitter=splitter)
    return time.process_time() - start


def assert_linear(small: str, large: str, splitter: Splitter) -> None:
    """Four times the text takes less than eight times as long; quadratic work takes sixteen."""
    for _ in range(3):
        allowed = 8 * max(seconds(small, splitter), 0.005)
        if seconds(large, splitter) < allowed:
            return
    pytest.fail("the time grows faster than the text")


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_the_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    count = SIZE // len(unit)
    assert_linear(unit * count, unit * count * 4, "builtin")


@pytest.mark.parametrize(("unit", "end"), LATE_CLOSERS.values(), ids=LATE_CLOSERS)
def test_a_closer_far_away_is_looked_for_once(unit: str, end: str) -> None:
    count = SIZE // len(unit)
    assert_linear(unit * count + end, unit * count * 4 + end, "builtin")


@pytest.mark.parametrize("unit", ["```\n", "“", '"a." ', "'", "`", "« a. ", "(a. "])
def test_sentencex_is_spared_what_it_is_slow_at(unit: str) -> None:
    pytest.importorskip("sentencex")
    count = SIZE // len(unit)
    assert_linear(unit * count, unit * count * 4, "sentencex")


def test_finding_sentences_again_grows_with_the_text_and_no_faster() -> None:
    def realign(sentences: int) -> float:
        passage = Passage.of("# A b\n\n- A\n  b.\n" * sentences)
        texts = [sentence.text.replace("\n  ", " ") for sentence in passage.sentences]
        start = time.process_time()
        assert len(Passage.from_sentences(texts, text=passage.text).sentences) == 2 * sentences
        return time.process_time() - start

    for _ in range(3):
        allowed = 8 * max(realign(500), 0.01)
        if realign(2000) < allowed:
            return
    pytest.fail("the time grows faster than the text")
