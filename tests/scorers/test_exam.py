from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from resay.scorers.fibe import (
    Blank,
    Exam,
    Listing,
    build_exam,
    parse_exam_answers,
    parse_listings,
)


def listing(subject: str, *blanks: str) -> Listing:
    """Make a listing from `value:hypernym` strings."""
    pairs = (blank.rpartition(":") for blank in blanks)
    return Listing(subject, tuple(Blank(value, hypernym) for value, _, hypernym in pairs))


def question(sentence: str, subject: str, *blanks: str) -> str:
    return build_exam([sentence], [listing(subject, *blanks)]).questions[0]


def restored(exam: Exam) -> list[str]:
    if not exam.values:
        return list(exam.questions)
    anything = re.compile("|".join(map(re.escape, exam.values)))
    return [anything.sub(lambda m: exam.values[m[0]], text) for text in exam.questions]


_NASTY = """Paris 1 1983 1,000 3.5 York a.b (x) $5 $year_0 "$year_0" '"$term_' $term_1 [s0] C++ US
us é e\u0301 \u0301 北京 서울에서 Ωmega it's \\d+ .* {} %s ^$ | 12th the — “Hamlet” _x_ ß ﬁ İ 😀 \\
x\\1 ? <b> a:b"""
nasty_words = st.sampled_from(_NASTY.split())
values = st.one_of(
    nasty_words,
    st.lists(nasty_words, min_size=1, max_size=3).map(" ".join),
    st.text(max_size=6).map(lambda text: " ".join(text.split())),
)
sentences = st.lists(
    st.tuples(nasty_words, st.sampled_from([" ", " ", ", ", "-", "", ". ", '"'])), max_size=12
).map(lambda parts: "".join(word + gap for word, gap in parts).strip())
hypernyms = st.one_of(st.sampled_from(["year", "city", "number of cars", ""]), st.text(max_size=5))
listings = st.builds(
    Listing, values, st.lists(st.builds(Blank, values, hypernyms), max_size=8).map(tuple)
)
exams = st.lists(st.tuples(sentences, st.none() | listings), max_size=5)


@given(exams)
def test_the_values_put_back_give_the_sentences(made: list[tuple[str, Listing | None]]) -> None:
    texts = [text for text, _ in made]
    exam = build_exam(texts, [listed for _, listed in made])
    assert restored(exam) == texts
    for text, variables in zip(exam.questions, exam.variables, strict=True):
        assert set(variables) == {v for v in exam.values if v in text}


@given(exams)
def test_equal_strings_share_a_variable_and_different_ones_never(
    made: list[tuple[str, Listing | None]],
) -> None:
    exam = build_exam([text for text, _ in made], [listed for _, listed in made])
    assert len(set(exam.values.values())) == len(exam.values)
    used = [variable for variables in exam.variables for variable in variables]
    assert set(used) == set(exam.values)
    assert all(len(set(variables)) == len(variables) for variables in exam.variables)


@given(exams)
def test_variables_are_named_by_words_and_a_number(
    made: list[tuple[str, Listing | None]],
) -> None:
    exam = build_exam([text for text, _ in made], [listed for _, listed in made])
    assert all(re.fullmatch(r'"\$\w+_[0-9]+"', variable) for variable in exam.values)
    written = "\n".join(text for text, _ in made)
    assert not any(variable.strip('"') in written for variable in exam.values)


@given(sentences, sentences, st.lists(st.builds(Blank, values, hypernyms), max_size=8))
def test_nothing_up_to_the_subjects_end_is_blanked(
    before: str, after: str, blanks: list[Blank]
) -> None:
    head = f"{before} the Zarquon"
    exam = build_exam([f"{head} {after}"], [Listing("the Zarquon", tuple(blanks))])
    assert exam.questions[0].startswith(f"{head} ")


@given(exams, st.lists(st.builds(Blank, values, hypernyms), max_size=5))
def test_a_blank_that_is_not_in_the_sentence_changes_nothing(
    made: list[tuple[str, Listing | None]], more: list[Blank]
) -> None:
    texts = [text for text, _ in made]
    plain = [listed or Listing() for _, listed in made]
    padded = [
        Listing(p.subject, (*(b for b in more if b.value not in text), *p.blanks))
        for text, p in zip(texts, plain, strict=True)
    ]
    assert build_exam(texts, padded) == build_exam(texts, plain)


@given(st.text(min_size=1).map(lambda text: " ".join(text.split())))
def test_any_text_can_be_a_blank(value: str) -> None:
    assume(any(map(str.isalnum, value)))
    assume(not unicodedata.category(value[0]).startswith("M"))
    text = f"He saw {value} , {value} ."
    exam = build_exam([text], [Listing("He saw", (Blank(value, "thing seen"),))])
    variable = next(iter(exam.values))
    assert exam.questions == (f"He saw {variable} , {variable} .",)
    assert exam.values == {variable: value}


def test_the_exam_of_the_paper() -> None:
    exam = build_exam(
        [
            "Alice Liddell (21 March 1955 – 1 Dec. 2020) is the founder of Philz.",
            "Her branches were located in the USA and in Japan, for a total of two branches.",
            "In 1955 she left Japan.",
        ],
        [
            listing(
                "Alice Liddell",
                *("21:day", "March:month", "1955:year", "1:day"),
                *("Dec.:month", "2020:year", "Philz:shop"),
            ),
            listing("Her branches", "USA:country", "Japan:country", "two:number of branches"),
            listing("she", "1955:year", "Japan:state"),
        ],
    )
    assert exam.questions == (
        'Alice Liddell ("$day_0" "$month_1" "$year_2" – "$day_3" "$month_4" "$year_5") is the'
        ' founder of "$shop_6".',
        'Her branches were located in the "$country_7" and in "$country_8", for a total of'
        ' "$number_of_branches_9" branches.',
        'In 1955 she left "$country_8".',
    )
    assert exam.variables[2] == ('"$country_8"',)
    assert exam.values['"$day_3"'] == "1"
    assert exam.examined == (0, 1, 2)


@pytest.mark.parametrize(
    ("sentence", "blank", "masked"),
    [
        ("He was born in 1983.", "1:day", None),
        ("He was born in 1983 on day 1.", "1:day", 'He was born in 1983 on day "$day_0".'),
        ("He paid 1,000 dollars.", "1:sum", None),
        ("He paid 1,000 dollars.", "000:sum", None),
        ("He paid 1.5 dollars.", "5:sum", None),
        ("He came in 1983, 1984 and 1985.", "1984:year", 'He came in 1983, "$year_0" and 1985.'),
        ("He ran from 2002–2005.", "2005:year", 'He ran from 2002–"$year_0".'),
        ("He is a four-year letterman.", "four:number", 'He is a "$number_0"-year letterman.'),
        ("He took the Bulldogs' cup.", "Bulldogs:team", 'He took the "$team_0"\' cup.'),
        ("He sold Philz's shares.", "Philz:shop", 'He sold "$shop_0"\'s shares.'),
        ("He plays _Hamlet_ often.", "Hamlet:play", 'He plays _"$play_0"_ often.'),
        ("He likes Parisians.", "Paris:city", None),
        ("He met US and told us.", "us:land", 'He met US and told "$land_0".'),
        ("He likes cafe\u0301s.", "cafe:place", None),
        ("He met Rene\u0301e.", "e:letter", None),
        ("He saw n\u0303.", "n:letter", None),
        ("他出生于北京的医院。", "北京:city", '他出生于"$city_0"的医院。'),
        ("그는 서울에서 태어났다.", "서울:city", '그는 "$city_0"에서 태어났다.'),
        ("他有12年经验。", "1:number", None),
        ("वह राम है", "राम:name", 'वह "$name_0" है'),
        ("वह रामी है", "राम:name", None),
        ("He said so.", ".:mark", None),
        ("He said so.", ":mark", None),
        ("He saw 1 1 and 11 1 1.", "1 1:x", 'He saw "$x_0" and 11 "$x_0".'),
    ],
)
def test_only_whole_words_are_blanked(sentence: str, blank: str, masked: str | None) -> None:
    assert question(sentence, "He", blank) == (masked or sentence)


def test_longer_blanks_come_before_shorter_ones_and_never_overlap() -> None:
    assert question(
        "He left York for New York and New York City.",
        "He",
        *("York:city", "New York:state", "New York City:city", "York for:x"),
    ) == ('He left "$x_0" "$state_1" and "$city_2".')
    cut = question("He left York for New Rome.", "He", "York for:x", "for New Rome:y")
    assert cut == 'He left York "$y_0".'


@pytest.mark.parametrize(
    ("subject", "masked"),
    [
        ("he", 'In 2012, he left Rome in "$year_0", so he said.'),
        ("HE", 'In 2012, he left Rome in "$year_0", so he said.'),
        ("so", "In 2012, he left Rome in 2012, so he said."),
        ("ome", 'In "$year_0", he left Rome in "$year_0", so he said.'),
        ("she", 'In "$year_0", he left Rome in "$year_0", so he said.'),
        ("", 'In "$year_0", he left Rome in "$year_0", so he said.'),
    ],
)
def test_only_what_comes_after_the_subject_is_blanked(subject: str, masked: str) -> None:
    assert question("In 2012, he left Rome in 2012, so he said.", subject, "2012:year") == masked


def test_a_subject_as_it_is_written_comes_before_another_spelling() -> None:
    assert question("There he saw 7, He took 7.", "He", "7:n") == (
        'There he saw 7, He took "$n_0".'
    )


@pytest.mark.parametrize(
    ("hypernym", "variable"),
    [
        ("number of years", '"$number_of_years_0"'),
        ("Sports event!", '"$sports_event_0"'),
        ("a_b", '"$a_b_0"'),
        ('"; drop $x', '"$drop_x_0"'),
        ("", '"$term_0"'),
        ("???", '"$term_0"'),
        ("city of Oslo", '"$term_0"'),
    ],
)
def test_hints_are_words_and_give_nothing_away(hypernym: str, variable: str) -> None:
    exam = build_exam(["It is Oslo."], [Listing("It", (Blank("Oslo", hypernym),))])
    assert exam.variables == ((variable,),)


def test_a_sentence_that_has_a_variable_of_its_own_is_not_confused() -> None:
    text = 'It sets "$year_0" and $year_1 in 1983.'
    assert question(text, "It", "1983:year") == 'It sets "$year_0" and $year_1 in "$year_2".'


def test_words_not_listed_stay_unchanged() -> None:
    exam = build_exam(["It opened in 1932.", "It is old."], [None, Listing("It")])
    assert exam == Exam(("It opened in 1932.", "It is old."), ((), ()), {})
    assert exam.examined == ()


ALICE = listing("Alice", "21:day", "March:month", "10:30:time")
BRANCHES = listing("Her branches", "Portland, Oregon:city")
LISTED = """Text=[s0] Alice was born on 21 March at 10:30.
Subject=<Alice:person>
Blanks=<21:day>, <March:month>, <10:30:time>

Text=[s1] Her branches stood in Portland, Oregon.
Subject=<Her branches:branches>
Blanks=<Portland, Oregon:city>
"""


@pytest.mark.parametrize(
    "text",
    [
        LISTED,
        LISTED.replace("Text=", ""),
        LISTED.replace("=", ": "),
        re.sub(r"^(\w+)=", r"**\1:** ", LISTED, flags=re.MULTILINE),
        re.sub(r"^(\w+)=", r"- **\1**=", LISTED, flags=re.MULTILINE),
        re.sub(r"^Text=\[(s\d)\]", r"### **[\1]**", LISTED, flags=re.MULTILINE),
        re.sub(r"^Text=\[(s\d)\]", r"1. \1:", LISTED, flags=re.MULTILINE),
        re.sub(r"^Text=.*\n", "", LISTED, flags=re.MULTILINE),
        LISTED.replace(", <", "\n- <").replace("Blanks=", "Blanks:\n- "),
        re.sub(r":(?=[^:]*?>)", "：", LISTED.replace(", <", " and <")),
        "\n\n".join(reversed(LISTED.strip().split("\n\n"))),
        LISTED.replace("=", " = "),
        f"Here you are (from [s0],[s1]):\n\n```\n{LISTED}```\n\nI hope this > helps!",
        LISTED + "\nText=[s2] It is.\nSubject=<It:thing>\nBlanks=<is:x>\n",
        LISTED + "\nText=[s0] Alice.\nSubject=<Her>\nBlanks=<1:x>\n",
        "No problem.\nText=[s0] ?\nSubject=<?>\nBlanks: I am not sure\n" + LISTED,
    ],
)
def test_lists_of_blanks_are_read_in_many_forms(text: str) -> None:
    assert parse_listings(text, 2) == [ALICE, BRANCHES]


def test_the_case_of_the_keywords_does_not_matter() -> None:
    text = "TEXT=[S0] It is 7.\nsubject = <It:thing>\nBLANK = <7:x>"
    assert parse_listings(text, 1) == [listing("It", "7:x")]


@pytest.mark.parametrize(
    "nothing",
    [
        "",
        " ",
        "none",
        "None.",
        "<>",
        "(none)",
        "**None**",
        "-",
        "—",
        "N/A",
        "[]",
        "No blanks",
        "\n",
    ],
)
def test_a_sentence_may_have_nothing_to_blank(nothing: str) -> None:
    text = f"Text=[s0] It is.\nSubject=<It:thing>\nBlanks={nothing}"
    assert parse_listings(text, 1) == [Listing("It")]


@pytest.mark.parametrize(
    ("item", "blank"),
    [
        ("<21:day>", Blank("21", "day")),
        ("< 21 : day >", Blank("21", "day")),
        ("<`21`:day>", Blank("21", "day")),
        ("<Alien: Covenant:film>", Blank("Alien: Covenant", "film")),
        ("<10:30>", Blank("10:30")),
        ("<Rome>", Blank("Rome")),
        ("<x > 5:condition>", Blank("x > 5", "condition")),
        ("<a<b:comparison>", Blank("a<b", "comparison")),
        ("<New\n York:city>", Blank("New York", "city")),
        ("<4:number of cars>.", Blank("4", "number of cars")),
    ],
)
def test_a_blank_is_split_at_its_last_colon(item: str, blank: Blank) -> None:
    read = parse_listings(f"[s0] It.\nSubject=<It:thing>\nBlanks={item}, <7:x>", 1)
    assert read == [Listing("It", (blank, Blank("7", "x")))]


@pytest.mark.parametrize(
    ("subject", "read"),
    [("<He:person>", "He"), ("He", "He"), ("He:person", "He"), ("", ""), ("<>", "")],
)
def test_a_subject_may_stand_without_its_brackets(subject: str, read: str) -> None:
    text = f"[s0] He ran.\nSubject={subject}\nBlanks=<7:x>"
    assert parse_listings(text, 1) == [Listing(read, (Blank("7", "x"),))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I'm sorry, I can't help with that.",
        "Text=[s0] It opened in 1932.\nSubject=<It:bridge>",
        "Text=[s0] It opened in 1932.\nSubject=<It:bridge>\nBlanks=1932, a year",
        "Text=[s7] It.\nSubject=<It:bridge>\nBlanks=<1932:year>",
        "Subject=<It:bridge>\nBlanks=<1932:year>\nSubject=<It:bridge>\nBlanks=<1932:year>",
        '{"s0": {"subject": "It", "blanks": ["1932:year"]}}',
    ],
)
def test_invalid_lists_of_blanks_are_not_read(text: str) -> None:
    assert parse_listings(text, 1) == [None]


def test_a_sentence_left_out_is_not_read() -> None:
    assert parse_listings(LISTED, 3) == [ALICE, BRANCHES, None]
    without_numbers = re.sub(r"^Text=.*\n", "", LISTED, flags=re.MULTILINE)
    assert parse_listings(without_numbers, 3) == [None] * 3


@given(st.text(), st.integers(0, 3))
def test_any_text_can_be_read_as_a_list(text: str, count: int) -> None:
    assert len(parse_listings(text, count)) == count
    assert len(parse_listings(f"[s0] x\nSubject={text}\nBlanks={text}", count)) == count


EXAM = build_exam(
    ["It opened in 1932.", "It is old.", "It has six lanes."],
    [listing("It", "1932:year"), listing("It"), listing("It", "six:number of lanes")],
)


@pytest.mark.parametrize(
    "text",
    [
        "[s0] It opened in 1931.\n[s1] It is old.\n[s2] It has 8 lanes.",
        "[s0] It opened in 1931.\n[s2] It has 8 lanes.",
        "[s2] It has 8 lanes.\n\n[s0] It opened in 1931.\n\nGood luck!",
        "**[s0]** It opened in 1931.\n**[s2]**: It has 8 lanes.",
        "- [S0]: It opened in 1931.\n- [S2]: It has 8 lanes.",
        "1. s0: It opened in 1931.\n2. s1: It is old.\n3. s2: It has 8 lanes.",
        "Text=[s0] It opened in 1931.\nText=[s2] It has 8 lanes.",
        "[s0]\nIt opened\nin 1931.\n[s2]\nIt has  8 lanes.",
        'Answers (up to [s2]):\n"A question"\n[s0] It opened in 1931.\n[s2] It has 8 lanes.',
        '[s0] It opened in "$year_0".\n[s0] It opened in 1931.\n[s2] It has 8 lanes.\n[s9] More.',
        "[s0] It opened in 1931.\n[s2] It has 8 lanes.\n[s0] It opened in 1930.",
    ],
)
def test_exam_answers_are_read_in_many_forms(text: str) -> None:
    assert parse_exam_answers(text, EXAM) == ["It opened in 1931.", "It has 8 lanes."]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[s2]",
        "[s1] It has 8 lanes.",
        "It has 8 lanes.",
        '[s2] It has "$number_of_lanes_1" lanes.',
        "[s2] It has $number_of_lanes_1 lanes.",
    ],
)
def test_an_answer_left_out_is_none(said: str) -> None:
    read = parse_exam_answers(f"[s0] It opened in 1931.\n\n{said}", EXAM)
    assert read == ["It opened in 1931.", None]


def test_a_price_is_no_variable() -> None:
    text = "[s0] It opened in $year_01.\n[s2] It has $8 lanes."
    assert parse_exam_answers(text, EXAM) == ["It opened in $year_01.", "It has $8 lanes."]


@given(st.text())
def test_any_text_can_be_read_as_answers(text: str) -> None:
    assert len(parse_exam_answers(text, EXAM)) == 2
    assert len(parse_exam_answers(f"[s0] {text}", EXAM)) == 2
