from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.quantities import (
    Quantity,
    may_contain_negation,
    may_negate,
    negations,
    quantities,
)
from resay.core.quantities.reader import Reader
from resay.core.quantities.words import AFTER_NUMBERS, BEFORE_NUMBERS, STARTS_AND_ROMANS, UNITS
from resay.scorers.common.words import words_of


def only(text: str) -> Quantity:
    all_quantities = quantities(text)
    assert len(all_quantities) == 1, [text[q.start : q.end] for q in all_quantities]
    return all_quantities[0]


@pytest.mark.parametrize(
    "group",
    [
        (
            "5 km|5,000 m|five kilometres|5 000 m|fünf Kilometer|cinq kilomètres|cinco kilómetros"
            "|cinque chilometri und 5 km|vijf kilometer|五公里|5公里|5000米|a 5-km walk"
        ),
        (
            "1 million|1,000,000|one million|1.0 million|eine Million|un millón|um milhão|100万"
            "|een miljoen|1.000.000|1 000 000|一百万|a million"
        ),
        (
            "19 March 1932|March 19, 1932|19.03.1932|1932-03-19|the 19th of March 1932"
            "|19. März 1932|le 19 mars 1932|19 de marzo de 1932|19 marzo 1932|19 maart 1932"
            "|19 de março de 1932|1932年3月19日|3/19/1932|19/03/1932|1932년 3월 19일"
            "|一九三二年三月十九日|den 19 mars 1932"
        ),
        (
            "50 %|50 percent|fifty per cent|half of the vote|one half|die Hälfte|la moitié"
            "|50 procent|hälften"
        ),
        "€12|12 euros|12 €|twelve euros|EUR 12|zwölf Euro|12,00 €",
        "$2.5 million|2.5 million dollars|US$2,500,000|$2.5m|two and a half million dollars",
        (
            "12th century|twelfth century|the 1100s|12. Jahrhundert|XIIe siècle|siglo XII"
            "|XII secolo|十二世纪|12e eeuw"
        ),
        (
            "42|forty-two|zweiundvierzig|quarante-deux|cuarenta y dos|quarantadue|tweeënveertig"
            "|四十二|fyrtiotvå"
        ),
        "5000|fünftausend|five thousand|cinq mille|cinco mil|cinquemila|vijfduizend|五千",
        "1.5 hours|90 minutes|an hour and a half|une heure et demie|una hora y media|1,5 Stunden",
        "97|quatre-vingt-dix-sept|ninety-seven|siebenundneunzig",
        "206|two hundred and six|zweihundertsechs|doscientos seis|deux cent six",
        "100 °C|100 degrees Celsius|212 °F|100 Grad Celsius",
        "-41 °C|minus 41 °C|−41 °C",
        "10–12 km|10 to 12 km|between 10 and 12 km|10-12 kilometres",
        "5 feet 10 inches|70 inches",
        "120 km/h|120 kilometres per hour",
        "25 km²|25 square kilometres|25 kilomètres carrés|25 Quadratkilometer",
        "6 p.m.|18:00|6:00 PM|18 Uhr",
        "Louis XIV|Louis the fourteenth",
        "a dozen|12",
        "1990s|1990's",
        "٤٢|42",
    ],
)
def test_notations_and_languages_agree(group: str) -> None:
    first, *others = group.split("|")
    for other in others:
        quantity = quantities(other)[0]
        assert quantity.agrees(only(first)), other
        assert only(first).agrees(quantity), other
        assert quantity.comparable(only(first)), other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 km", "6 km"),
        ("5 km", "5 kg"),
        ("60 dB", "60 minutes"),
        ("5,000 mAh", "5,000 lumens"),
        ("1932", "1923"),
        ("1932", "1930"),
        ("19 March 1932", "18 March 1932"),
        ("19 March 1932", "19 March 1933"),
        ("04.05.1711", "05.04.1711"),
        ("120 seconds", "115 seconds"),
        ("about 42,000", "44,000"),
        ("12th century", "13th century"),
        ("10–12 km", "10–13 km"),
        ("€12", "$12"),
        ("31", "44"),
        ("41 °C", "-41 °C"),
        ("6 a.m.", "6 p.m."),
        ("12 to 15 years", "16 years"),
    ],
)
def test_different_quantities_disagree(one: str, other: str) -> None:
    assert not only(one).agrees(only(other))
    assert not only(other).agrees(only(one))


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        ("41,870", "about 42,000"),
        ("41,870", "42,000"),
        ("987,000", "about 1 million"),
        ("29", "about 30"),
        ("6.213 km", "6.2 km"),
        ("6.213 kilometers", "3.861 miles"),
        ("13 years", "12 to 15 years"),
        ("12,000", "rund 12.000 Menschen"),
    ],
)
def test_round_numbers_agree_within_rounding(exact: str, rounded: str) -> None:
    assert only(exact).agrees(only(rounded))
    assert only(rounded).agrees(only(exact))


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("5 in the afternoon", "17:00"),
        ("las 8:30 de la tarde", "20:30"),
        ("às 2 da tarde", "14:00"),
        ("8 Uhr abends", "20:00"),
        ("um 8 Uhr morgens", "08:00"),
        ("um 12 Uhr am Mittwoch", "12:00"),
        ("9:15 du soir", "21:15"),
        ("午後5時", "17時"),
        ("午前10時30分", "10:30"),
        ("下午3点半", "15:30"),
        ("오후 6시", "18:00"),
        ("18.30 Uhr", "18:30"),
        ("um 6.30 Uhr abends", "18:30"),
        ("alle 18.30", "18:30"),
        ("alle 18.30 e poi", "18:30"),
        ("a las 18.30 h", "18:30"),
        ("a las 6.30 de la tarde", "18:30"),
        ("kl. 18.30", "18:30"),
        ("à 18h30", "18:30"),
        ("18 h 30", "18:30"),
        ("à 8h05", "08:05"),
    ],
)
def test_times_agree_whatever_the_clock(written: str, time: str) -> None:
    assert only(written).unit == "clock"
    assert only(written).agrees(only(time))


@pytest.mark.parametrize(
    "text",
    [
        "3時間",
        "5点",
        "2시간",
        "2 de los 3",
        "8 de enero",
        "18.30",
        "um 18.30 Euro",
        "alle 2.50 euro",
        "um 18.75 Uhr",
        "1h30",
        "1 h 30 min",
        "18.30 bis 19.50 Euro",
    ],
)
def test_hours_and_points_are_no_times(text: str) -> None:
    assert all(quantity.unit != "clock" for quantity in quantities(text))


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("from about 4.2 to about 4.6 million dollars", "$4.2 million", "$4.6 million"),
        ("8-13 Uhr", "08:00", "13:00"),
        ("von 9.30 bis 18.00 Uhr", "09:30", "18:00"),
        ("9.30-18.00 Uhr", "09:30", "18:00"),
        ("dalle 9.30 alle 18.00", "09:30", "18:00"),
        ("de 9h30 à 18h00", "09:30", "18:00"),
        ("5 to 7 pm", "17:00", "19:00"),
        ("10 to 1 pm", "10:00", "13:00"),
    ],
)
def test_the_first_of_two_numbers_has_the_unit_of_the_second(
    text: str, first: str, second: str
) -> None:
    low, high = quantities(text)
    assert low.agrees(only(first))
    assert high.agrees(only(second))


def test_a_rounded_number_may_leave_its_unit_out() -> None:
    assert only("about 2.4 million").rounds(only("2.384.000 €"))
    assert not only("about 2.4 million").agrees(only("2.384.000 €"))
    assert not only("about 2.9 million").rounds(only("2.384.000 €"))
    assert not only("about 1930").rounds(only("1932 m"))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the end of March", 31),
        ("Anfang März", 3),
        ("mid-March", 15),
        ("fim de março", 30),
        ("fin mars", 28),
    ],
)
def test_a_part_of_a_month_agrees_with_its_days(text: str, day: int) -> None:
    (part,) = quantities(text, parts_of_months=True)
    assert part.agrees(only(f"{day} March"))
    assert not part.agrees(only(f"{(day + 15) % 31} March"))
    assert not any(quantity.is_part_of_month for quantity in quantities(text))


def test_a_number_without_a_unit_may_have_any() -> None:
    assert only("57.").agrees(only("57 cm"))
    assert only("57 cm").agrees(only("57."))
    assert only("50").agrees(only("50 %"))


def test_a_less_precise_date_supports_a_date_in_part() -> None:
    date, year = only("19 March 1932"), only("1932")
    assert date.supported_by(year) == pytest.approx(1 / 3)
    assert year.supported_by(date) == 1.0
    assert date.supported_by(only("1923")) == 0.0
    assert date.comparable(only("1923"))


@pytest.mark.parametrize(
    "text",
    [
        "She is one of the best.",
        "I am sure, and you may go.",
        "Er ist ein Maler.",
        "He came at once, due to the dos and don'ts.",
        "一般来说",
        "of course, a mix of civil and vivid",
    ],
)
def test_words_that_look_like_numbers_are_no_quantities(text: str) -> None:
    assert quantities(text) == ()


def test_offsets_are_those_of_the_text() -> None:
    text = "In 1932 the 5 km bridge cost €2.5 million; 31 of 50 % (17 × 23 = 391)."
    written = [text[q.start : q.end] for q in quantities(text)]
    assert written == ["1932", "5 km", "€2.5 million", "31", "50 %", "17", "23", "391"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It does not float.", ["not"]),
        ("It doesn't float, and it isn’t red.", ["doesn't", "isn’t"]),
        ("Er hat kein Haus.", ["kein"]),
        ("Elle n'est pas venue.", ["pas"]),
        ("Não é verdade.", ["Não"]),
        ("Hij is niet gekomen.", ["niet"]),
        ("Bron är inte röd.", ["inte"]),
        ("Det är inte bara en bro.", []),
        ("I am not sure, but it may float.", []),
        ("It is not only red.", []),
        ("See no. 5 of the list.", []),
        ("Ele mora no Rio com uma irmã.", []),
    ],
)
def test_negations(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in negations(text)] == words


def test_the_quick_check_misses_no_negation() -> None:
    for sentence in ("it does not float", "it isn 't", "er hat kein haus"):
        assert may_negate(sentence.split()) or not negations(sentence)
    assert may_negate(["isn", "t"])
    assert not may_negate(["it", "floats"])


@given(st.lists(st.sampled_from(["not", "no", "isn", "t", "kein", *" '’-.&_1aβ不"]), max_size=12))
def test_the_quick_check_of_words_misses_no_negation(pieces: list[str]) -> None:
    text = "".join(pieces)
    words = words_of(text).findall(text.lower())
    assert may_contain_negation(words) or not negations(text)


ANY = st.text(
    st.sampled_from(list("0123456789 .,-–:/%€$°'\nabimstXVILkm十百年月日万半½٣²")), max_size=40
)
WORDS = st.lists(
    st.sampled_from(
        [
            "two",
            "hundred",
            "and",
            "forty",
            "million",
            "half",
            "a",
            "dozen",
            "km",
            "March",
            "19",
            "1932",
            "5,000",
            "–",
            "%",
            "vingt",
            "quatre",
            "zweiundvierzig",
            "XIV",
            "century",
            "s",
            "about",
            "minus",
            "6",
            "p.m.",
            "三十",
            "年",
            "the",
            "Louis",
            "$",
            "12",
            "per",
            "hour",
        ]
    ),
    max_size=12,
).map(" ".join)


@given(st.one_of(ANY, WORDS, st.text(max_size=40)))
def test_spans_are_in_order_and_inside_the_text(text: str) -> None:
    end = 0
    for quantity in quantities(text):
        assert end <= quantity.start < quantity.end <= len(text)
        end = quantity.end
    for start, end in negations(text):
        assert 0 <= start < end <= len(text)


@given(st.one_of(ANY, WORDS), st.one_of(ANY, WORDS))
def test_agreement_is_symmetric_and_reflexive(one: str, other: str) -> None:
    for a in quantities(one):
        assert a.agrees(a)
        assert a.comparable(a)
        for b in quantities(other):
            assert a.agrees(b) == b.agrees(a)
            assert a.comparable(b) == b.comparable(a)


@given(st.integers(1, 999_999_999))
def test_a_number_is_the_same_with_and_without_separators(number: int) -> None:
    plain = only(f"{number} m")
    assert plain.low == number
    assert only(f"{number:,} m").agrees(plain)
    assert only(f"{number:,} m".replace(",", "\u202f")).agrees(plain)
    assert only(f"{number / 1000:.4f} km").agrees(plain)
    assert not only(f"{number + max(number // 8, 1)} m").agrees(plain)


@given(st.dates(min_value=date(1000, 1, 1)))
def test_a_date_is_the_same_in_every_notation(day: date) -> None:
    iso = only(day.isoformat())
    assert (iso.year, iso.month, iso.day) == (day.year, day.month, day.day)
    for form in ("%d.%m.%Y", "%-d %B %Y", "%B %-d, %Y", "%Y年%-m月%-d日"):
        assert only(day.strftime(form)).agrees(iso), form


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("It weighs $5.2$ kg.", "It weighs 5.2 kg."),
        ("It weighs $5.2\\,\\text{kg}$.", "It weighs 5.2 kg."),
        ("It weighs \\(5{,}200\\) g.", "It weighs 5,200 g."),
        ("It weighs $5.2 \\times 10^{3}$ g.", "It weighs 5,200 g."),
        ("It weighs 5.2 × 10³ g.", "It weighs 5,200 g."),
        ("$v \\approx 30\\ \\mathrm{m/s}$", "v ≈ 30 m/s"),
        ("It is $20\\%$.", "It is 20 %."),
        ("There are $5$ and $7$ of them.", "There are 5 and 7 of them."),
        ("It costs $5 and then $7.", "It costs 5 dollars and then 7 dollars."),
        ("It costs $5/$10.", "It costs 5 dollars or 10 dollars."),
    ],
)
def test_math_is_read_like_plain_text(text: str, plain: str) -> None:
    in_math, expected = quantities(text), quantities(plain)
    assert [(q.low, q.high, q.unit) for q in in_math] == [(q.low, q.high, q.unit) for q in expected]
    assert in_math
    for quantity in in_math:
        assert text[quantity.start].isdigit() or text[quantity.start] in "$"
        assert 0 <= quantity.start < quantity.end <= len(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("£12.50", "12.50 pounds"),
        ("1/2 cup", "half a cup"),
        ("1/2 cup", "half"),
        ("1.6e-19 C", "1.6 × 10^-19 C"),
        ("6.02E+23", "6.02 × 10²³"),
        ("₹5,00,000", "500,000 rupees"),
        ("₹12,34,567", "1,234,567 rupees"),
        ("24 months", "two years"),
        ("18 months", "one and a half years"),
        ("the 1980s", "the eighties"),
        ("the '80s", "the 1980s"),
        ("5'10\"", "5 feet 10 inches"),
        ("2 1/2 hours", "2.5 hours"),
        ("3 tablespoons", "3 tbsp"),
    ],
)
def test_notations_of_one_quantity_agree(one: str, other: str) -> None:
    assert only(one).agrees(only(other))
    assert only(other).agrees(only(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/2 cup", "2 cups"),
        ("half", "2 cups"),
        ("1.6e-19", "1.6e-18"),
        ("24 months", "three years"),
        ("the eighties", "the 1970s"),
        ("£12.50", "13.50 pounds"),
    ],
)
def test_different_quantities_in_such_notations_disagree(one: str, other: str) -> None:
    assert not only(one).agrees(only(other))


@pytest.mark.parametrize(
    "text",
    [
        "Otto Hahn discovered it in the lab.",
        "Sei from the north",
        "They talk about sex.",
        "Elva from the north",
    ],
)
def test_words_of_another_language_are_no_numbers(text: str) -> None:
    assert quantities(text) == ()


def _agree(a: str, b: str) -> bool:
    (first,), (second,) = quantities(a), quantities(b)
    return first.comparable(second) and first.agrees(second) and second.agrees(first)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("CHF 1'250", "1250 Swiss francs"),
        ("CHF 1’250", "1,250 Swiss francs"),
        ("1_000_000", "one million"),
        ("Rs 2.5 crore", "₹2,50,00,000"),
        ("Rs. 500", "500 rupees"),
        ("10k yen", "10,000 yen"),
        ("99¢", "$0.99"),
        ("99 cents", "€0.99"),
        ("50p", "£0.50"),
        ("20 pence", "£0.20"),
        ("AU$20", "20 Australian dollars"),
        ("NZ$20", "20 New Zealand dollars"),
        ("US$300", "300 dollars"),
        ("C$300", "CAD 300"),
        ("1h 45m", "105 minutes"),
        ("1:45 hours", "105 minutes"),
        ("three quarters of an hour", "45 minutes"),
        ("6 ft 2 in", "6'2\""),
        ("3 hours and 20 minutes", "200 minutes"),
        ("3 timmar och 20 minuter", "200 minuter"),
        ("3/4", "75%"),
        ("9.1*10^-31", "9.1E-31"),
        ("3 x 10^8", "300 million"),
        ("3 × 10**8", "3·10⁸"),
        ("10⁻³", "0.001"),
        ("1.2 GW", "1,200 MW"),
        ("50 kph", "50 km/h"),
        ("31 mph", "31 miles per hour"),
        ("5 µg", "5 micrograms"),
        ("at noon", "12:00"),
        ("midnight", "24:00"),
        ("at 18:30 amid rain", "6:30 p.m."),
        ("12 noon", "12 p.m."),
        ("Q3", "the third quarter"[:9]),
        ("FY2021", "2021"),
        ("in her thirties", "in her 30s"),
        ("his mid-40s", "his mid-forties"),
        ("1 250,50 €", "1250,50 €"),
        ("1\u00a0250,50 €", "1250,50 €"),
        ("1\u202f250,50 €", "€1,250.50"),
        ("2 001 250,5 m", "2001250,5 m"),
        ("cuatro mil quinientos millones", "4.5 billion"),
        ("tausend Millionen", "one billion"),
        ("two thousand million", "2 billion"),
        ("two million three hundred thousand", "2,300,000"),
        ("viereinhalb Millionen", "4.5 million"),
        ("zehneinhalb Kilometer", "10.5 km"),
        ("eineinhalb Stunden", "90 minutes"),
    ],
)
def test_further_notations_of_one_quantity_agree(a: str, b: str) -> None:
    assert _agree(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("50 km/h", "50 mph"),
        ("99¢", "$99"),
        ("99 cents", "99 dollars"),
        ("US$300", "300 Canadian dollars"),
        ("AU$20", "NZ$20"),
        ("€20", "$20"),
        ("1.2 GW", "1.2 MW"),
        ("5 µg", "5 mg"),
        ("10⁻³ m", "10³ m"),
        ("10²", "102"),
        ("noon", "midnight"),
        ("1h 45m", "145 minutes"),
        ("75%", "3/5"),
        ("in her thirties", "in her 40s"),
        ("in her thirties", "the 1930s"),
        ("Q3", "second"),
    ],
)
def test_further_different_quantities_disagree(a: str, b: str) -> None:
    assert not _agree(a, b)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("It weighs 300 K.", ["300"]),
        ("A $5 fee.", ["$5"]),
        ("Set a 3 m rope 45 m from it.", ["3 m", "45 m"]),
        ("See p. 12.", ["12"]),
        ("It rose by 5 in 2021.", ["5", "2021"]),
        ("The CE mark and 7 more.", ["7"]),
        ("Paint 20 can covers.", ["20"]),
        ("He beat 5 Swiss", ["5"]),
        ("They came from New Zealand, all 5 New Zealand", ["5"]),
        ("The 7 US", ["7"]),
        ("They left shortly after midnight.", []),
        ("The 2001 BC Liberals won.", ["2001"]),
    ],
)
def test_letters_and_words_that_are_no_units(text: str, written: list[str]) -> None:
    assert [text[q.start : q.end] for q in quantities(text)] == written


# Ordinary words, and of each language what may begin a quantity or change the number next to it.
WORDS_NEAR_NUMBERS = st.sampled_from(
    sorted(
        {
            *(
                "item",
                "the",
                "Kapitel",
                "chapter",
                "and",
                "und",
                "et",
                "y",
                "en",
                "och",
                "half",
                "of",
            ),
            *("US", "american", "Canadian", "about", "etwa", "bis", "to", "tausend", "zweihundert"),
            *("Q", "FY", "century", "siglo", "minus", "a", "one", "May", "mars", "III", "x", "not"),
            *(word for word in STARTS_AND_ROMANS if word.isascii() and word.isalpha()),
            *(word for word in UNITS if word.isascii() and word.isalpha()),
        }
    )
)


@given(
    st.lists(WORDS_NEAR_NUMBERS, min_size=1, max_size=4),
    st.integers(0, 10**17),
    st.sampled_from(["", '"', "'", "."]),
)
def test_a_number_behind_words_is_read_like_any_other(
    words: list[str], number: int, mark: str
) -> None:
    text = f"{mark}{' '.join(words)} {number}{mark}"
    assert quantities(text) == tuple(Reader(text).read())


class ReaderWithoutFastPath(Reader):
    def _is_plain(self, index: int) -> bool:
        return False


NUMBERS = st.integers(0, 12) | st.integers(1000, 2100) | st.integers(0, 10**6)
BESIDE_NUMBERS = sorted(AFTER_NUMBERS | BEFORE_NUMBERS | STARTS_AND_ROMANS)
MARKS_AND_PHRASES = [
    "/",
    "'",
    '"',
    "$",
    "~",
    "6 ft",
    "in the morning",
    "p.m.",
    "2-1/2",
    "house",
    "年",
]


@given(
    st.lists(
        st.tuples(
            NUMBERS.map(str)
            | st.sampled_from(BESIDE_NUMBERS)
            | st.sampled_from(["-", "in", "to", "and", "the", *MARKS_AND_PHRASES]),
            st.sampled_from([" ", "", ". ", ", "]),
        ),
        max_size=9,
    )
)
def test_a_plain_number_is_read_like_any_other(parts: list[tuple[str, str]]) -> None:
    text = "".join(part + gap for part, gap in parts)
    assert Reader(text).read() == ReaderWithoutFastPath(text).read()


@pytest.mark.parametrize("join", ["and", "und", "et", "y", "och", "en"])
def test_a_join_changes_a_number_only_before_a_half(join: str) -> None:
    assert [q.plain for q in quantities(f"12 {join} 30")] == [12, 30]
    assert [q.plain for q in quantities(f"1932 {join} 1941")] == [1932, 1941]
    assert quantities(f"in 1932 {join} later")[0].year == 1932
    assert only(f"2 {join} a half").plain == 2.5
    assert only("between 5 and 10 km").unit == "m"


@pytest.mark.parametrize("text", ["an American film", "US law", "Canadian rules", "HK cinema"])
def test_a_country_is_no_amount(text: str) -> None:
    assert quantities(text) == ()
    assert only(f"{text.split()[-2]} $5").unit != ""
