from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resay.core.segmentation.blocks import parse_layout
from resay.retrieval.chunks import MAX_CHARS, Chunk, split_markdown, split_text
from resay.retrieval.front_matter import front_matter

PARAGRAPH = "The bridge was opened in 1932, after eight years of work. "
WORDS = st.text("ab .\n", min_size=1, max_size=12)
LINES = st.sampled_from(
    ["# Title", "## Part", "text. ", "text\n", "\n", "---", "===", "```", "| a |", "- item", "\r\n"]
)
MARKDOWN = st.builds(
    "".join,
    st.lists(
        st.one_of(
            LINES.map(lambda line: f"{line}\n"),
            st.builds(lambda word, count: word * count, WORDS, st.integers(1, 400)),
            st.text(max_size=40),
        ),
        max_size=25,
    ),
)


def titles(text: str) -> list[tuple[str, str]]:
    chunks = split_markdown(text, title="name")
    return [(chunk.title, text[chunk.start : chunk.end]) for chunk in chunks]


def assert_covered(text: str, chunks: list[Chunk]) -> str:
    """See that chunks hold all from the first on; return what follows the last."""
    end = chunks[0].start if chunks else 0
    for chunk in chunks:
        assert not text[end : chunk.start].strip()
        assert 0 < chunk.end - chunk.start <= MAX_CHARS
        assert text[chunk.start : chunk.end] == text[chunk.start : chunk.end].strip()
        end = chunk.end
    return text[end:]


@given(st.one_of(MARKDOWN, st.text()))
@example("text.\n\n# Empty\n\n## Empty too\n")
@example("---\na: b\n---\ntext")
def test_every_character_is_in_one_chunk(text: str) -> None:
    plain = split_text(text, title="name")
    assert not assert_covered(text, plain).strip()
    assert not text[: plain[0].start if plain else 0].strip()
    chunks = split_markdown(text, title="name")
    uncovered = assert_covered(text, chunks)
    # What is left out: metadata before, and headings that nothing follows.
    matter = front_matter(text)
    if chunks:
        left_out = text[: chunks[0].start]
        assert not left_out.strip() or left_out.strip() == text[: matter.end].strip()
    else:
        uncovered = uncovered[matter.end :]
    kinds = {block.kind for block in parse_layout(uncovered).blocks if uncovered.strip()}
    assert kinds <= {"heading", "rule"}


def test_a_heading_that_nothing_follows_is_in_no_chunk() -> None:
    assert titles("# Guide\n\n## Install\n\nA.\n\n## To do\n\n### Later\n\n---\n") == [
        ("Guide > Install", "# Guide\n\n## Install\n\nA.")
    ]
    assert titles("# Guide\n\n## Install\n") == []
    # A paragraph that somebody drew a line below is text.
    assert titles(f"{PARAGRAPH * 5}\n---\n") != []


@pytest.mark.parametrize("later", ["", "\n## Part", "\n\n> # Quoted", "\nPart\n==="])
def test_a_short_text_is_divided_as_a_long_one(later: str) -> None:
    text = f"# Guide\n\n{PARAGRAPH}\n{later}\n\nThe end."
    long = f"{text}\n\n## More\n\n{PARAGRAPH * 20}"
    assert len(text) < MAX_CHARS < len(long)
    assert titles(text) == titles(long)[:-1]


def test_short_paragraphs_are_joined_and_long_ones_divided_between_sentences() -> None:
    text = f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH * 50}"
    chunks = [text[c.start : c.end] for c in split_text(text, title="name")]
    assert chunks[0].count("\n\n") == 2
    assert all(chunk.endswith("work.") for chunk in chunks)
    assert all(len(chunk) > MAX_CHARS - len(PARAGRAPH) for chunk in chunks[:-1])


def test_what_has_no_sentences_is_divided_between_words_or_anywhere() -> None:
    text = "word " * 600 + "x" * 3000
    chunks = [text[c.start : c.end] for c in split_text(text, title="name")]
    assert re.fullmatch(r"(word )+word", chunks[0])
    assert len(chunks[0]) > MAX_CHARS - len("word ")
    assert "x" * MAX_CHARS in chunks


def test_lines_of_code_and_rows_of_tables_stay_whole() -> None:
    code = "```\n" + "value = compute(value)\n" * 100 + "```\n"
    chunks = [code[c.start : c.end] for c in split_markdown(code, title="name")]
    assert len(chunks) == 2
    assert all(line in {"value = compute(value)", "```"} for c in chunks for line in c.split("\n"))


def test_a_chunk_bears_the_headings_above_it() -> None:
    text = "Before.\n\n# Guide\n\n## *First* `part` {#one}\n\nA.\n\n### Deep\n\nB.\n\n"
    text += "## Second ##\n\nC.\n"
    assert titles(text) == [
        ("name", "Before."),
        ("Guide > First part", "# Guide\n\n## *First* `part` {#one}\n\nA."),
        ("Guide > First part > Deep", "### Deep\n\nB."),
        ("Guide > Second", "## Second ##\n\nC."),
    ]


def test_headings_with_lines_below_and_with_links() -> None:
    text = "Guide\n=====\n\nA.\n\n[Part](part.md) _two_ of max_size\n---\n\nB.\n"
    assert [title for title, _ in titles(text)] == ["Guide", "Guide > Part two of max_size"]


def test_what_looks_like_a_heading_in_code_or_in_plain_text_is_none() -> None:
    text = "# Guide\n\n```\n# comment\n```\n\nText.\n"
    assert titles(text) == [("Guide", text.strip())]
    assert {c.title for c in split_text("# no heading\n\nText.", title="name")} == {"name"}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_front_matter_gives_the_title(newline: str) -> None:
    text = '---\ntitle: "Refunds"\ntags: [a]\n---\n\n# Refunds\n\nA.\n\n## Late\n\nB.\n'
    text = text.replace("\n", newline)
    (first, start), (second, _) = titles(text)
    assert (first, second) == ("Refunds", "Refunds > Late")
    assert start.split() == ["#", "Refunds", "A."]


def test_a_line_at_the_top_begins_no_metadata() -> None:
    assert [title for title, _ in titles("---\n\n# One\n\nA.\n\n---\n\n# Two\n\nB.\n")] == [
        "One",
        "Two",
    ]


def test_a_heading_is_not_left_alone() -> None:
    heading = f"# Guide{' to bridges' * 6}\n\n"
    text = f"{heading}{PARAGRAPH * 20}"
    assert len(PARAGRAPH * 20) < MAX_CHARS < len(text.strip())
    assert [chunk.startswith(heading) for _, chunk in titles(text)] == [True, False]


@pytest.mark.parametrize("unit", ["x", "x ", "# a\n", "---\n", "a\n\n", "---\na: b\n", "\t", "- "])
def test_the_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    def seconds(chars: int) -> float:
        text = unit * (chars // len(unit))
        start = time.process_time()
        split_markdown(text, title="name")
        return time.process_time() - start

    short = min(seconds(12_500) for _ in range(3))
    assert seconds(100_000) < 30 * max(short, 0.002)
