from __future__ import annotations

import copy
import json
import pickle
import re
import sys
import tracemalloc
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.core.growing_passage import FinalText, GrowingPassage
from resay.core.segmentation.choices import Splitter
from resay.errors import ConfigurationError, MissingDependencyError

PROSE = [
    *("The cat sat", "on the mat", "Dr. ", "U.S. ", "e.g. ", "J. ", "Mr. Smith ", "3.14 ", "p. 5 "),
    *("No. 7 ", "a.m. ", '"Stop!" ', "he said", "She asked", "He ", "(c. 1240 – 1307) ", "Ph.D. "),
    *(" ", ". ", ". ", ". ", "! ", "? ", "... ", "… ", ", ", "; ", ": ", "“Yes.” ", "’s ", "[1] "),
    *(
        ".[2] ",
        "。",
        "これは本です。",
        "と言った",
        "猫。",
        "说。",
        '!" ',
        "?”",
        "Inc. ",
        "3. ",
        "März ",
    ),
    *("iPhone ", "vitamin C. ", "World War II. ", "e\u0301", "\u200d", "👩‍🚀", "\ud83d", "\ude00"),
    *("เขาเกิดที่กรุงเทพมหานคร ", "เขาทำงานเป็นวิศวกร ", "และ", "ปี 23 ", "ครับ ", "ជា។", "ល។", "သည်။"),
    *("είναι", "; ", "Ναι", "م. "),
    *("\n", "\r\n", "\r", "\n\n", "\r\n\r\n"),
]
MARKDOWN = [
    *PROSE,
    *("- ", "1. ", "2. ", "* ", "> ", "## ", "\n## Title\n", "\n- ", "\n1. ", "\n2. ", "\n  - "),
    *("```\n", "\n```python\nx = 1\n```\n", "`code` ", "``", "**bold** ", "\n---\n", "\n===\n"),
    *("| a | b |\n", "|---|---|\n", "\n\n    code\n", "$$", "\\[", "\\]", "<b>", "</b>", "***"),
    *("<!--", "-->\n", "\n[a]: http://x.y\n", "\u2028", "\u2029", "\x85", "\t", "i. ", "of. "),
    *("\n```text\n", "\n~~~ markdown\n", "\n```\nIt opened there in June.\n", "\n```\n", "\n~~~\n"),
    *("He left the old town.\n", "> ```\n", "- ```text\n"),
]


def texts(fragments: Sequence[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(fragments), max_size=40).map("".join)


def tokens(text: str) -> list[str]:
    """Parts about as small as a model's."""
    return re.findall(r"\s?\S{1,5}|\s", text)


def cut(text: str, sizes: Iterable[int]) -> list[str]:
    parts: list[str] = []
    at = 0
    for size in sizes:
        parts.append(text[at : at + size])
        at += size
    return [*parts, text[at:]]


def stream(
    parts: Sequence[str], splitter: Splitter = "builtin"
) -> tuple[list[FinalText], FinalText]:
    growing = GrowingPassage(splitter)
    settled = [growing.feed(part) for part in parts]
    return [s for s in settled if s], growing.finish()


def spans(settled: FinalText) -> list[tuple[int, int]]:
    sentences = settled.passage.sentences
    return [(sentences[i].start, sentences[i].end) for i in settled.sentences]


@pytest.fixture(params=["builtin", "sentencex"], scope="module")
def splitter(request: pytest.FixtureRequest) -> Splitter:
    if request.param == "sentencex":
        pytest.importorskip("sentencex")
    return request.param


LABEL = re.compile(
    r"(?:[\W_]*(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]+)?[xX]?[\W_]*(?:```|~~~) ?(?:text|markdown)\b)*"
    r"[\W_]*(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]*)?[xX]?[\W_]*"
)


@given(text=texts(MARKDOWN), sizes=st.lists(st.integers(0, 12)))
def test_every_released_letter_and_digit_is_in_a_sentence_or_unscored(
    text: str, sizes: list[int]
) -> None:
    before, last = stream(cut(text, sizes))
    for settled in (*before, last):
        passage = settled.passage
        position = len(passage.text) - len(settled.text)
        parts = (*passage.sentences, *passage.unscored(position))
        spans = sorted((part.start, part.end) for part in parts if part.end > position)
        for start, end in [*spans, (len(passage.text),) * 2]:
            assert LABEL.fullmatch(passage.text, position, max(start, position))
            position = max(position, end)


@given(text=texts(MARKDOWN) | st.text(), sizes=st.lists(st.integers(0, 12)))
def test_the_released_texts_are_the_response_and_each_sentence_is_reported(
    splitter: Splitter, text: str, sizes: list[int]
) -> None:
    before, last = stream(cut(text, sizes), splitter)

    assert "".join([*(s.text for s in before), last.text]) == text
    assert last.passage == Passage.of(text, splitter=splitter)
    reported = [span for s in before for span in spans(s)]
    assert all(end <= start for (_, end), (start, _) in pairwise(reported))
    finals = [(s.start, s.end) for s in last.passage.sentences]
    assert sorted({*finals} - {*reported}) == spans(last)
    released = len(text) - len(last.text)
    assert [i for i in last.sentences if finals[i][0] < released] == list(last.changed)


@given(text=texts(MARKDOWN), sizes=st.lists(st.integers(1, 12)))
def test_final_text_is_a_passage_of_its_own(
    splitter: Splitter, text: str, sizes: list[int]
) -> None:
    released = 0
    sentences: tuple[object, ...] = ()
    for settled in stream(cut(text, sizes), splitter)[0]:
        passage = settled.passage
        assert passage.text == text[: len(passage.text)]
        assert settled.text == passage.text[released:] != ""
        released = len(passage.text)
        assert passage.sentences[: len(sentences)] == sentences
        assert list(settled.sentences) == list(range(len(sentences), len(passage.sentences)))
        sentences = passage.sentences
        assert all(s.text == text[s.start : s.end] == s.text.strip() for s in passage.sentences)
        assert "".join(piece.text for piece in passage.pieces) == passage.text
        assert all(p.text == text[p.start : p.end] for p in passage.pieces)


@given(text=texts(MARKDOWN), sizes=st.lists(st.integers(1, 12)))
def test_final_text_is_like_any_other_passage(text: str, sizes: list[int]) -> None:
    # Each is compared before its text has been joined.
    for index, settled in enumerate(stream(cut(text, sizes))[0]):
        again, third, fourth = (stream(cut(text, sizes))[0][index].passage for _ in range(3))
        passage = settled.passage
        plain = Passage(again.text, again.sentences, again.pieces)
        start = settled.start
        assert len(plain.text) - len(settled.text) == start
        assert passage.unscored(start) == plain.unscored(start)
        for chosen in (settled.sentences, [0] * len(plain.sentences), []):
            assert passage.only(chosen) == plain.only(chosen) == third.only(chosen)
            assert passage.only(chosen).unscored(start) == plain.only(chosen).unscored(start)
        for end in (start, start + 3, len(plain.text)):
            assert passage.excerpt(start // 2, end) == plain.excerpt(start // 2, end)
        with pytest.raises(IndexError, match=f"a passage of {len(plain.sentences)}"):
            passage.only([-1])
        assert passage.unscored() == plain.unscored()
        assert passage == fourth == plain
        assert hash(fourth) == hash(plain)
        assert pickle.loads(pickle.dumps(fourth)) == copy.deepcopy(passage) == plain


def test_a_long_response_is_not_copied_for_each_sentence() -> None:
    sizes: list[int] = []
    for length in (100, 400):
        parts = tokens("She was born in 1950. He was not.\n\n" * length)
        tracemalloc.start()
        try:
            before, _ = stream(parts)
            alone = [s.passage.only([i]) for s in before for i in s.sentences]
            unscored = [s.passage.unscored(s.start) for s in before]
            sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        assert (len(alone), any(unscored)) == (2 * length, False)
    # 16 times, if each held all of it.
    assert sizes[1] < 6 * sizes[0]


@given(text=texts(PROSE), sizes=st.lists(st.integers(1, 12)))
def test_prose_never_changes_once_it_has_settled(text: str, sizes: list[int]) -> None:
    before, last = stream(cut(text, sizes))
    finals = [(s.start, s.end) for s in last.passage.sentences]
    assert [span for s in [*before, last] for span in spans(s)] == finals
    assert last.changed == ()


def test_sentences_come_one_by_one_with_the_text_up_to_the_next() -> None:
    growing = GrowingPassage()
    assert growing.feed("Dr. Smith was born in 19") is None
    assert growing.feed("50. He") is None
    assert growing.released == 0
    settled = growing.feed(" died young.")
    assert settled is not None
    assert settled.text == settled.passage.text == "Dr. Smith was born in 1950. "
    assert [settled.passage.sentences[i].text for i in settled.sentences] == [
        "Dr. Smith was born in 1950."
    ]
    assert growing.released == 28
    assert growing.text == "Dr. Smith was born in 1950. He died young."
    last = growing.finish()
    assert last.text == "He died young."
    assert [last.passage.sentences[i].text for i in last.sentences] == ["He died young."]
    assert (last.sentences, last.changed) == ((1,), ())


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        # Without anything after it a full stop may be an abbreviation's or a number's.
        ("He left.", ""),
        ("He left. ", ""),
        ("He left. Th", ""),
        ("He left. The ", "He left. "),
        ("It is 3.", ""),
        ("He was born in the U.S. The ", "He was born in the U.S. "),
        ("He met J. Smith ", ""),
        # A paragraph's end settles it.
        ("He left\n\n", "He left\n\n"),
        ("He left.\r\n\r", "He left.\r\n\r"),
        ("He left.\r\n", ""),
        ("He left.\n", ""),
        ("He left.\u2029", "He left.\u2029"),
        # A line may turn out to be a title, a list's next entry, or more of the same sentence.
        ("He left\n--", ""),
        ("- One thing\n- A", ""),
        ("- One thing\n- Another thing ", "- One thing\n"),
        ("- One thing\n2. August ", ""),
        ("Rules\n***", ""),
        ("One thing\n  - |", ""),
        # Code, headings and tables settle line by line.
        ("## Title\nHe left ", "## Title\n"),
        ("```\nx = 1\ny = 2", "```\nx = 1\n"),
        ("| a | b |\n|---|---|\n| c", "| a | b |\n|---|---|\n"),
        # A quotation may be followed by who said it, a sentence by where it stands.
        ('"Stop! It is late!" Mr. John ', '"Stop! '),
        ("He left. [1] ", ""),
        ("He left. “Go,” she said then, not looking ", "He left. "),
        # Inline code may still be closed.
        ("Use `a. It is ", ""),
        ("Use `a`. It is ", "Use `a`. "),
        # No capitals so far: whether small letters begin sentences is still open.
        ("he left. she stayed. they were", ""),
        ("he left. she stayed. They were", "he left. she stayed. "),
        ("猫がいる。犬がい", ""),
        ("猫がいる。犬がいると聞いています", "猫がいる。"),
    ],
)
def test_unfinished_text_is_held_back(text: str, settled: str) -> None:
    before, last = stream(list(text))
    assert "".join(s.text for s in before) == settled
    assert last.text == text[len(settled) :]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("It was\n<!-- so. But then it\nwas not -->", ["It was"]),
        ("It was\nred | blue. And so it\n|---|---|", ["It was", "red | blue. And so it"]),
    ],
)
def test_changed_sentences_are_judged_again(text: str, changed: list[str]) -> None:
    last = stream(list(text))[1]
    assert [last.passage.sentences[i].text for i in last.changed] == changed
    assert set(last.changed) <= set(last.sentences)


def test_a_line_that_has_only_begun_is_not_yet_looked_at() -> None:
    growing = GrowingPassage()
    settled = growing.feed("- It was so. One thing\n2. A")
    assert settled is not None
    assert settled.text == "- It was so. "
    growing.feed("ugust was late. It was dark.")
    assert [s.text for s in growing.finish().passage.sentences][1] == (
        "One thing\n2. August was late."
    )
    assert growing.finish().changed == ()


def test_sentencex_is_not_asked_about_half_a_bracket() -> None:
    pytest.importorskip("sentencex")
    text = "King Otto (c. 1240 – 13 July 1307) ruled. He died in bed, it is said."
    before, last = stream(tokens(text), "sentencex")
    assert [s.text for s in before] == ["King Otto (c. 1240 – 13 July 1307) ruled. "]
    assert last.changed == ()


def test_the_last_part_of_a_sentence_is_judged_before_release() -> None:
    pytest.importorskip("sentencex")
    text = 'He said "' + "It was so. " * 60 + 'It ended." Then more came. And that was it.'
    before, last = stream(tokens(text), "sentencex")
    reported = [text[start:end] for s in before for start, end in spans(s)]
    assert reported[0] == 'He said "It was so.'
    assert reported[-2:] == ['It ended."', "Then more came."]
    assert " ".join(reported) == "".join(s.text for s in before).strip()
    changed = [last.passage.sentences[i].text for i in last.changed]
    assert changed == [text[: text.index(" Then")]]


@pytest.mark.parametrize(
    "text",
    [
        "# On cats\n\nA cat is an animal. It was tamed 9,500 years ago.\n\n1. It eats mice.\n"
        "   It sleeps a lot.\n2. It sees well (see fig. 3). Dr. No said so.\n\n> Cats rule.\n"
        "> They do.\n\n| Cat | Age |\n|---|---|\n| Tom | 3. |\n\n```python\nage = 3.5\n```\n\n"
        "Title\n=====\n\nIt ends here. Or not?\n\n    code. It is.\n",
        "1. One thing\n```\nx = 1\n```\nSo it goes\n2. Two things are here.\n\nThat is all.\n",
        "1. One thing\n```\nx\n```\nSo\n---\nSo it goes\n2. Two things are here.\n\nThat is all.\n",
        "- **Cats.** They sleep. `x. Y` is code.\n- Dogs: they bark.\n  - Big ones. Small ones.\n"
        "---\nAs Mr. Poe said, “No!” Then he left. $$x. Y$$ was meant.\n\n"
        "$$\nx. Y\n$$\nSo it was.\n",
    ],
)
def test_markdown_as_it_is_written_never_changes(text: str, splitter: Splitter) -> None:
    for newline in ("\n", "\r\n"):
        written = text.replace("\n", newline)
        assert stream(list(written), splitter)[1].changed == ()
        assert stream(tokens(written), splitter)[1].changed == ()


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("She was born in 1950. He was not. " * 400, 500),
        ("- She was born in 1950. He was not.\n" * 400, 20),
        ("She was born in 1950. He was not.\n\n" * 400, 20),
        ("```\n" + "x = 1.5\n" * 1500 + "```\n", 500),
    ],
    ids=["one paragraph", "list", "paragraphs", "code"],
)
def test_little_is_read_again(text: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    original = Passage.of

    def counting(text: str, *, splitter: Splitter = "builtin") -> Passage:
        nonlocal read
        read += len(text)
        return original(text, splitter=splitter)

    monkeypatch.setattr(Passage, "of", counting)
    before, last = stream(tokens(text))
    assert read <= times * len(text)
    assert len(last.text) <= 1000
    assert len(before) >= 90


def test_blank_and_empty_responses_have_nothing_to_judge() -> None:
    assert stream([]) == ([], FinalText(Passage.of(""), (), ""))
    before, last = stream(["\n"] * 50)
    assert "".join([*(s.text for s in before), last.text]) == "\n" * 50
    assert last.sentences == ()


def test_an_unknown_splitter_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="unknown splitter 'words'"):
        GrowingPassage("words")  # pyright: ignore[reportArgumentType] - that is what is tested


def test_a_splitter_that_is_not_installed_is_missed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(MissingDependencyError):
        GrowingPassage("sentencex")


def test_real_passages_never_change(data_dir: Path) -> None:
    rows = (data_dir / "wikibio_gpt3.jsonl").read_text().splitlines()
    late: list[int] = []
    for row in rows:
        text: str = json.loads(row)["passage"]
        growing = GrowingPassage()
        length = 0
        for token in tokens(text):
            length += len(token)
            settled = growing.feed(token)
            late += [length - end for _, end in spans(settled)] if settled else []
        assert growing.finish().changed == ()
    assert sum(late) / len(late) < 12
