from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage, TokenLogprob
from resay.scorers.common.token_alignment import Alignment, align

TWO = "The bridge opened in 1932. Its painter was Harold Finch."
SENTENCES = ("One is 1.", "Zwei heißt 2!", "三是三。", "Four 🌉 4?", "Fünf… 5.", "- six\n")


def tokens_of(*pieces: str | bytes) -> list[TokenLogprob]:
    """Return tokens with their bytes, as OpenAI gives them."""
    datas = [p.encode() if isinstance(p, str) else p for p in pieces]
    return [TokenLogprob(d.decode(errors="replace"), -1.0, tuple(d)) for d in datas]


def shown(*texts: str) -> list[TokenLogprob]:
    """Return tokens without their bytes."""
    return [TokenLogprob(text, -1.0) for text in texts]


def owners(tokens: Sequence[TokenLogprob], passage: Passage | str) -> tuple[int | None, ...] | None:
    found = align(tokens, Passage.of(passage) if isinstance(passage, str) else passage)
    return found and found.owners


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(ends)]


def expected(pieces: Sequence[bytes], passage: Passage) -> tuple[int | None, ...]:
    """Return owners by counting, byte by byte, whose it is."""
    text = passage.text
    whose = [
        next((i for i, s in enumerate(passage.sentences) if s.start <= at < s.end), None)
        for at, character in enumerate(text)
        for _ in character.encode()
    ]
    found: list[int | None] = []
    end = 0
    for piece in pieces:
        mine = whose[end : end + len(piece)]
        end += len(piece)
        inside = [i for i in mine if i is not None]
        # The most frequent, of two the earlier.
        found.append(max(sorted(set(inside)), key=inside.count, default=None))
    return tuple(found)


passages = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map(" ".join)
places = st.lists(st.integers(0, 400), max_size=60)


@given(passages, places)
def test_any_text_cut_anywhere_aligns_exactly(text: str, where: list[int]) -> None:
    pieces = cut(text.encode(), where)
    passage = Passage.of(text)
    assert owners(tokens_of(*pieces), passage) == expected(pieces, passage)


@given(st.text(max_size=60), places)
def test_arbitrary_text_aligns(text: str, where: list[int]) -> None:
    tokens = [
        TokenLogprob("?", None, tuple(piece))
        for piece in cut(text.encode(errors="surrogatepass"), where)
    ]
    assert align(tokens, Passage.of(text)) is not None


@given(
    passages,
    places,
    st.sampled_from([(), (b"<think>", b"\xff\xfe", b"</think>\n\n"), (b"Four 4? ", b"\n")]),
    st.sampled_from([(), (b"\n",), (b"</s>",), (b" \n", b"<|im_end|>", b"\n")]),
    st.booleans(),
)
def test_tokens_outside_the_text_change_nothing(
    text: str, where: list[int], before: tuple[bytes, ...], after: tuple[bytes, ...], strip: bool
) -> None:
    pieces = cut(text.encode(), where)
    plain = Passage.of(text.strip() if strip else text)
    found = owners(tokens_of(*before, *pieces, *after), plain)
    assert found is not None
    inside = found[len(before) : len(before) + len(pieces)]
    assert inside == owners(tokens_of(*pieces), Passage.of(text))
    assert set(found[: len(before)] + found[len(before) + len(pieces) :]) <= {None}


@given(passages, places, st.integers(0, 10_000))
def test_a_text_with_another_letter_in_it_does_not_align(
    text: str, where: list[int], at: int
) -> None:
    core = text.strip()
    at %= len(core)
    other = core[:at] + ("x" if core[at] != "x" else "y") + core[at + 1 :]
    if other.strip() == other:
        assert align(tokens_of(*cut(core.encode(), where)), Passage.of(other)) is None


@given(passages, places)
def test_replacement_characters_never_mislead(text: str, where: list[int]) -> None:
    """What a server shows of a piece of a character must give the right owner, or none at all."""
    pieces = cut(text.encode(), where)
    passage = Passage.of(text)
    found = owners(shown(*(piece.decode(errors="replace") for piece in pieces)), passage)
    assert found is None or found == expected(pieces, passage)


def test_a_character_shown_as_replacement_characters_is_found() -> None:
    text = "It shines 🌉 at night. It is 中 old."
    tokens = shown("It", " shines", " �", "�", "�", " at", " night.", " It is", " �", "��", " old.")
    assert owners(tokens, text) == (0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    # A replacement character that was really written.
    assert owners(shown("A ", "�", " b."), "A � b.") == (0, 0, 0)
    # Several characters in a row are one sentence's, or nobody can say whose.
    assert owners(shown("Look", " �", "�", "�", "�", "."), "Look 🌉🌉.") == (0,) * 6
    two = Passage.from_sentences(["看山。", "看水。"], text="看山。看水。")
    assert owners(shown("看", "山", "。", "看水。"), two) == (0, 0, 0, 1)
    assert align(shown("看", *"������", "水。"), two) is None
    two = Passage.from_sentences(["é", "é"], text="éé")
    assert align(shown("�", "�"), two) is None
    # How much of a character a token has, beside what it has of another sentence.
    two = Passage.from_sentences(["A.", "🌉 b."], text="A. 🌉 b.")
    assert align(shown("A. �", "�", " b."), two) is None
    # No decoder shows all four bytes of a character as one.
    assert align(shown("A. ", "�", " b."), two) is None


def test_ambiguous_replacement_characters_do_not_align() -> None:
    # Two letters and half of a third, or one letter and what comes before the text.
    assert align(shown("é", "é", "�", "�"), Passage.of("ééé")) is None
    # The beginning of the first token is not in the text.
    assert owners(shown(" �", " bridge."), "é bridge.") == (0, 0)
    assert align(shown("X�", " bridge."), Passage.of("é bridge.")) is None


def test_one_replacement_character_in_a_token_of_two_sentences_is_found() -> None:
    assert owners(shown("Caf", "\ufffd. ", "No."), "Café. No.") == (0, 0, 1)
    assert owners(shown("Caf", "\ufffd. N", "o."), "Café. No.") == (0, 0, 1)


def test_tokens_of_indented_code_belong_to_no_sentence() -> None:
    text = "It is.\n\n    code here\n\nIt was."
    tokens = tokens_of("It is.", "\n\n    ", "code", " here", "\n\n", "It was.")
    assert owners(tokens, text) == (0, None, None, None, None, 1)
    # More of it is code than of either sentence.
    assert owners(tokens_of("It is", ".\n\n    co", "de here\n\nI", "t was."), text) == (
        0,
        None,
        None,
        1,
    )


def test_a_token_belongs_to_the_sentence_it_has_most_bytes_in() -> None:
    text = "It opened. No."
    assert owners(tokens_of("It opened", ". No."), text) == (0, 1)
    assert owners(tokens_of("It open", "ed. No", "."), text) == (0, 0, 1)
    # Of two with as many bytes, the earlier.
    assert owners(tokens_of("It opene", "d. No", "."), text) == (0, 0, 1)


def test_tokens_between_sentences_belong_to_no_sentence() -> None:
    text = "$$ x $$\n\n- One is here.\n\n```\ncode\n```\n\nTwo is there."
    tokens = tokens_of("$$ ", "x $$\n\n", "- ", "One", " is here.\n\n", "```\ncode\n```", "\n\n", "Two is there.")  # fmt: skip  # noqa: E501
    assert owners(tokens, text) == (None, None, None, 0, 0, None, None, 1)
    # A token with more of what is no sentence than of one is none's either.
    assert owners(tokens_of("$$ ", "x $$\n\n- On", "e is here."), text[:23]) == (None, None, 0)


def test_white_space_before_the_text_moves_nothing() -> None:
    assert owners(tokens_of("It", " is.", " So", " it is."), "\n\nIt is. So it is.") == (0, 0, 1, 1)


def test_a_sentence_that_is_left_out_keeps_its_tokens() -> None:
    passage = Passage.of(TWO).only([1])
    tokens = tokens_of("The bridge opened in", " 1932. It", "s painter was Harold Finch.")
    assert owners(tokens, passage) == (None, None, 0)


def test_tokens_without_bytes_touch_what_they_are_inside_of() -> None:
    # So vLLM shows the first tokens of a character, and the whole of it as the last.
    assert owners(shown("See ", "", "", "🌉", " now.", ""), "See 🌉 now.") == (0, 0, 0, 0, 0, None)


def test_reasoning_that_says_the_same_is_not_the_answer() -> None:
    tokens = tokens_of("<think>", "Yes.", "</think>", "\n\n", "Yes", ".", "<|end|>")
    assert owners(tokens, "Yes.") == (None, None, None, None, 0, 0, None)


@pytest.mark.parametrize(
    "tokens",
    [
        tokens_of(),
        tokens_of("The bridge"),
        tokens_of(TWO, " More."),
        tokens_of("The bridge opened in 1932.", "Its painter was Harold Finch."),
        tokens_of("So the bridge", TWO[10:]),
        tokens_of("XThe", TWO[3:]),
        shown("The�", TWO[3:]),
        tokens_of("<|im_end|>"),
    ],
)
def test_tokens_of_another_text_do_not_align(tokens: list[TokenLogprob]) -> None:
    assert align(tokens, Passage.of(TWO)) is None


def test_the_characters_of_a_token_are_told() -> None:
    data = "Its Brücke 🌉.".encode()
    tokens = tokens_of(data[:7], data[7:14], data[14:15], data[15:])
    found = align(tokens, Passage.of("Its Brücke 🌉."))
    assert isinstance(found, Alignment)
    assert found.texts == ("Its Brü", "ücke 🌉", "🌉", "🌉.")


def test_a_long_text_is_aligned_in_no_time() -> None:
    text = " ".join(f"Sentence {i} says 🌉 {i * 7}." for i in range(400))
    data = text.encode()
    pieces = [data[i : i + 3] for i in range(0, len(data), 3)]
    specials = [b"<pad>"] * 50
    found = owners(tokens_of(*pieces, *specials), text)
    assert found is not None
    assert found[: len(pieces)] == expected_fast(pieces, Passage.of(text))


def expected_fast(pieces: Sequence[bytes], passage: Passage) -> tuple[int | None, ...]:
    whose: list[int | None] = []
    at = 0
    for i, sentence in enumerate(passage.sentences):
        whose += [None] * len(passage.text[at : sentence.start].encode())
        whose += [i] * len(sentence.text.encode())
        at = sentence.end
    found: list[int | None] = []
    for k in range(len(pieces)):
        inside = [i for i in whose[3 * k : 3 * k + 3] if i is not None]
        found.append(max(sorted(set(inside)), key=inside.count, default=None))
    return tuple(found)
