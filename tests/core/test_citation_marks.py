from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.citation_marks import citation_marks, marks_within, without_marks

CLAIM = "The lock opens with code 4711"
# Marks after the claim, and the names in them.
MARKS = [
    (" [1].", ("1",)),
    (" [1, 3].", ("1", "3")),
    (" [2-4].", ("2", "3", "4")),
    (" [doc1].", ("doc1",)),
    (" [doc 1].", ("1",)),
    (" [Document 3].", ("3",)),
    (" [Source: 2].", ("2",)),
    (" [S3].", ("S3",)),
    (" [citation:7].", ("7",)),
    ("【4:0†source】.", ("4:0",)),
    ("【5†L12-L15】.", ("5",)),
    (".[^1]", ("1",)),
    (".[^note]", ("note",)),
    (" (Document 1).", ("1",)),
    (" （Document 1）.", ("1",)),
    (" (see documents 1 and 3).", ("1", "3")),
    (" (Doc. 2, p. 14).", ("2",)),
    (" (Quelle 3).", ("3",)),
    (".<sup>1</sup>", ("1",)),
    (".<sup>[7]</sup>", ("7",)),
    (".<cite>7</cite>", ("7",)),
    (".¹²", ("12",)),
    (" ¹.", ("1",)),
    (". ¹²", ("12",)),
    (" [¹].", ("1",)),
    (" [¹²].", ("12",)),
    (" [¹,²].", ("1", "2")),
    (" [¹⁻³].", ("1", "2", "3")),
    (" (¹).", ("1",)),
    (" ⁽¹⁾.", ("1",)),
    (" (Fn. 3).", ("3",)),
    (" (Anm. 3).", ("3",)),
    (" [note 3].", ("3",)),
    (" (vgl. Dok. 3).", ("3",)),
    (" (källa 3).", ("3",)),
    (" [1 och 3].", ("1", "3")),
    (" (sid. 12).", ()),
    (" {{cite:7}}.", ("7",)),
    (" (handbook.pdf, p. 12).", ("handbook.pdf",)),
    (" [handbook.pdf].", ("handbook.pdf",)),
    (" (see handbook.pdf §3.2).", ("handbook.pdf",)),
    (" (Safety Handbook, p. 12).", ("Safety Handbook",)),
    (" (Source: Safety Handbook).", ("Safety Handbook",)),
    (" (p. 12).", ()),
    (" (Moor, 2019).", ("Moor 2019",)),
    (" (Moor et al., 2019; Lee & Katz, 2021).", ("Moor 2019", "Lee 2021")),
    (" ([Handbook](https://example.org/h)).", ("https://example.org/h",)),
    (" [[7]](https://example.org/h).", ("7",)),
    (" [^1^].", ("1",)),
    (" [7](#ref-7).", ("7",)),
    (" [id:7].", ("7",)),
    (" <co: 7>.", ("7",)),
    ("⟦7⟧.", ("7",)),
    (" ^7.", ("7",)),
    (" †7.", ("7",)),
    (" [@moor2019].", ("moor2019",)),
    (" [Moor19].", ("Moor19",)),
    (" [Moor 2019].", ("Moor 2019",)),
    (" \\cite{moor2019}.", ("moor2019",)),
    (" (handbook.txt:3).", ("handbook.txt",)),
    (" [handbook.md#L12].", ("handbook.md",)),
    (" [Safety Handbook, ch. 3].", ("Safety Handbook",)),
    (" （文献7）.", ("7",)),
    (" [资料7].", ("7",)),
    (" （来源：文档7）.", ("7",)),
    ("\n\nDocuments used: 1, 2", ()),
    ("\n\n📚 Sources:\n• Safety Handbook 2004", ()),
    ("\n\n1. Source: Safety Handbook 2004", ()),
    ("\n\nSource(s): Document 1, Document 3", ()),
    ("\n\nSources: [1], handbook.pdf", ()),
    ("\n\n[^1]: Safety Handbook, p. 12", ()),
]
LEADS = [
    ("According to Document 1, ", ("1",)),
    ("According to source [3], ", ("3",)),
    ("As stated in handbook.pdf, ", ("handbook.pdf",)),
    ("Laut Dokument 3, ", ("3",)),
    ("Selon le document 2, ", ("2",)),
    ("Document 7 states that ", ("7",)),
]
FACTS = [
    "The treaty (1945) was signed by 3 states.",
    "The film Casablanca (Warner, 1942) won.",
    "He was born (March 19, 1932).",
    "Set a[0] to 5 and x[1] to 6.",
    "He has three (3) sons.",
    "He led in complete games (18), and in losses (17).",
    "It means an ordinary man. [From 1847]",
    "It takes ten (10) days.",
    "The value f(1) is 5.",
    "There are two steps: (1) mix, (2) bake.",
    "The set {1, 2, 3} has three members.",
    "The value of x ^2 is 4, and 10^2 is 100.",
    "The square of 12<sup>2</sup> is 12².",
    "They met (Berlin 1945) and left.",
    "It has 20 km² or 10³ units.",
    "It has 20 m ² and ¹²C in it.",
    "It holds ³He and x² (²³⁵U).",
    "Article 5 of the constitution, (Article 5), says so.",
    "Press [Enter] at 12 (ten to one).",
    "She lives in (Paris, France).",
    "The score was 3-1 (2-0).",
    "According to NASA, 5 planets are known.",
    "Sources of energy: coal and 3 kinds of oil",
    "The reference 5 kg weight is in config.json.",
    "The year [2019] was warm.",
]


@pytest.mark.parametrize(("mark", "names"), MARKS)
def test_marks_after_a_claim_are_found(mark: str, names: tuple[str, ...]) -> None:
    text = CLAIM + mark
    marks = citation_marks(text)
    assert [name for mark in marks for name in mark.names] == list(names)
    rest = without_marks(text)
    assert len(rest) == len(text)
    assert rest.strip(" .\n") == CLAIM


@pytest.mark.parametrize(("lead", "names"), LEADS)
def test_marks_before_a_claim_are_found(lead: str, names: tuple[str, ...]) -> None:
    (mark,) = citation_marks(f"{lead}the lock opens with code 4711.")
    assert mark.names == names
    assert without_marks(f"{lead}the lock opens.").strip(" ,") == "the lock opens."


@pytest.mark.parametrize("mark", ["<sup>7</sup>", "<sup>[7]</sup>", "⁷", "^7"])
def test_a_number_raised_behind_a_year_is_a_mark(mark: str) -> None:
    assert without_marks(f"It opened in 1932{mark}.").split() == ["It", "opened", "in", "1932", "."]


@pytest.mark.parametrize("text", FACTS)
def test_facts_are_no_marks(text: str) -> None:
    assert not citation_marks(text)


def test_a_list_of_sources_ends_where_sentences_begin() -> None:
    text = (
        "It opened in 1932.\n\n## Sources\n\n1. Moor, K. (2019). Locks of the World.\n"
        "2. https://example.org/h\n\nIt is 300 m long.\n- Width: 3 m"
    )
    rest = " ".join(without_marks(text).split())
    assert rest == "It opened in 1932. It is 300 m long. - Width: 3 m"


def test_sentences_under_a_heading_are_no_sources() -> None:
    text = "Sources:\nThe bridge opened in 1932.\n- It is 300 m long."
    assert "1932" in without_marks(text)
    assert "300" in without_marks(text)


PIECES = st.lists(
    st.sampled_from(
        [
            *(mark for mark, _ in MARKS),
            *(lead for lead, _ in LEADS),
            CLAIM,
            "(",
            "[",
            "\n",
            " ",
            "ﬁ",
        ]
    )
).map("".join)


@given(st.text() | PIECES)
def test_offsets_are_of_the_text(text: str) -> None:
    marks = citation_marks(text)
    ends = [0, *(mark.end for mark in marks)]
    for mark, end in zip(marks, ends, strict=False):
        assert end <= mark.start < mark.end <= len(text)
    rest = without_marks(text)
    assert len(rest) == len(text)
    assert all(a in (b, " ") for a, b in zip(rest, text, strict=True))


@given(PIECES, st.integers(0, 80), st.integers(0, 80))
def test_marks_within_a_part_are_those_of_the_text(text: str, start: int, size: int) -> None:
    part = text[start : start + size]
    marks = marks_within(citation_marks(text), start, start + size)
    whole = without_marks(text)[start : start + size]
    assert without_marks(part, [mark for mark in marks if mark.end <= len(part)]) == whole
