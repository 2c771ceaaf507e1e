from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from resay.scorers.reverse_validation.answer_match import names_entity, names_exactly
from resay.scorers.reverse_validation.mentions import find_mentions
from resay.scorers.reverse_validation.percentages import parse_percentage, parse_percentage_exactly

SAME = [
    # titles and abbreviations
    ("St. Columba.", "Saint Columba"),
    ("Saint Columba", "St. Columba"),
    ("Mt. Fuji", "Mount Fuji"),
    ("Dr. Strangelove", "Doctor Strangelove"),
    ("Sir Francis Drake", "Francis Drake"),
    ("Francis Drake", "Sir Francis Drake"),
    ("Boniface IX", "Pope Boniface IX"),
    ("Nero.", "Emperor Nero"),
    ("the U.S. Senate", "United States Senate"),
    ("US Senate", "United States Senate"),
    ("Martin Luther King", "Martin Luther King Jr."),
    # transliterations and diacritics
    ("Antonin Dvorak", "Antonín Dvořák"),
    ("Чайковский", "Pyotr Tchaikovsky"),
    ("Pyotr Chaikovsky", "Pyotr Tchaikovsky"),
    ("Fyodor Dostoevsky", "Fyodor Dostoyevsky"),
    ("Nikolaj Gogol", "Nikolai Gogol"),
    ("colour theory", "Color theory"),
    # order, initials, parts of a person's name
    ("Doe, John", "John Doe"),
    ("John Doe", "Doe, John"),
    ("Oe Kenzaburo", "Kenzaburō Ōe"),
    ("Oxford University", "University of Oxford"),
    ("Thames River", "River Thames"),
    ("Einstein.", "Albert Einstein"),
    ("Albert Einstein", "Einstein"),
    ("van Gogh", "Vincent van Gogh"),
    ("Tocqueville", "Alexis de Tocqueville"),
    ("J. R. R. Tolkien", "John Ronald Reuel Tolkien"),
    ("John Ronald Reuel Tolkien", "J.R.R. Tolkien"),
    ("John Kennedy", "John F. Kennedy"),
    ("John F. Kennedy", "John Kennedy"),
    # remarks
    ("Mercury", "Mercury (planet)"),
    ("Mercury (planet)", "Mercury"),
    ("Springfield", "Springfield, Illinois"),
    ("Springfield, a city in Illinois", "Springfield, Illinois"),
    ("Boleslav II", "Boleslav II of Bohemia"),
    # articles, plurals, hyphens, numerals
    ("Beatles", "The Beatles"),
    ("The Beatles", "Beatles"),
    ("Tomatoes", "Tomato"),
    ("Ponies.", "Pony"),
    ("Cello sonata", "Cello sonatas"),
    ("Spiderman", "Spider-Man"),
    ("Notre Dame", "Notre-Dame"),
    ("AC DC", "AC/DC"),
    ("Rock and Roll", "Rock & Roll"),
    ("World War 2", "World War II"),
    ("The Second World War", "World War II"),
    ("Apollo XI", "Apollo 11"),
    ("1934 World Cup", "World Cup 1934"),
    # titles of works, marks, scripts without spaces
    ("Tom Sawyer.", "The Adventures of Tom Sawyer"),
    ("The Name of the Rose is a novel by Eco", "The Name of the Rose"),
    ("In Cold Blood, a book by Capote", "In Cold Blood"),
    ("Mamma Mia! Here We Go Again", "Mamma Mia! Here We Go Again"),
    ("C++.", "C++"),
    ("!!! is a band", "!!!"),
    ("AT and T", "AT&T"),
    ("それは東京タワーです", "東京タワー"),
    # prose
    (
        "The entity that matches the requirements 100% is Ford Prefect, a hitchhiker.",
        "Ford Prefect",
    ),
    ("Ford Prefect matches all the requirements, 100%.", "Ford Prefect (character)"),
    ("Entity: Ford Prefect\n\nPercentage of match: 90%", "Ford Prefect"),
    ("**Ford Prefect** - 100%", "Ford Prefect"),
    ("Ford Prefect 100%", "Ford Prefect"),
    ("I couldn't find a perfect match, but Ford Prefect comes close.", "Ford Prefect"),
    ("There is no perfect match. However, the closest is Ford Prefect.", "Ford Prefect"),
    ("In Greek mythology, Alcmene is the mother of Heracles.", "Alcmene"),
    ("The city of Ghent in Belgium", "Ghent"),
    ("It refers to Halley's Comet.", "Halley's Comet"),
    ("Microsoft Corporation matches all requirements.", "Microsoft"),
    ("The Unknown Soldier matches all requirements.", "The Unknown Soldier"),
]

DIFFERENT = [
    # numbers decide
    ("Pope Boniface IV", "Pope Boniface V"),
    ("Pope Boniface VI", "Pope Boniface V"),
    ("Henry VII", "Henry VIII"),
    ("Henry", "Henry VIII"),
    ("Henry VIII", "Henry"),
    ("1998 World Cup", "2002 World Cup"),
    ("2002 World Cup", "World Cup"),
    ("World Cup", "2002 World Cup"),
    ("World War I", "World War II"),
    ("World War 1", "World War 11"),
    ("Windows 95", "Windows"),
    ("The Mummy (1932 film)", "The Mummy (1999 film)"),
    # neighbours
    ("Battle of Poltava", "Battle of Lesnaya"),
    ("North Carolina", "South Carolina"),
    ("South Carolina", "Carolina"),
    ("Carolina", "South Carolina"),
    ("Jersey", "New Jersey"),
    ("Jordan River", "Jordan"),
    ("Oxford University Press", "Oxford University"),
    ("Springfield, Massachusetts", "Springfield, Illinois"),
    ("Boleslav II of Poland", "Boleslav II of Bohemia"),
    ("Alsace-Lorraine", "Alsace"),
    ("non-Euclidean geometry", "Euclidean geometry"),
    ("California Gold Rush", "The Gold Rush"),
    ("Romeo and Juliet", "Juliet"),
    ("Romeo and Juliet", "Romeo"),
    # persons
    ("John Adams", "John Quincy Adams"),
    ("John Quincy Adams", "John Adams"),
    ("John Adams", "Samuel Adams"),
    ("George H. W. Bush", "George W. Bush"),
    ("John F. Kennedy Jr.", "John F. Kennedy"),
    ("Henry James", "James Henry"),
    ("Francis", "Frances"),
    ("Edwards", "Edward"),
    # one letter is another thing
    ("Sodium nitrite", "Sodium nitrate"),
    ("Columbia", "Colombia"),
    ("Iran", "Iraq"),
    ("Vitamin B", "Vitamin A"),
    ("Vitamin", "Vitamin A"),
    ("C", "C++"),
    ("Wade v. Roe", "Roe v. Wade"),
    # parts
    ("Jordan", "Michael Jordan's brother"),
    ("Michael Jordan's brother", "Michael Jordan"),
    ("Michael Jordan's brother", "Jordan"),
    ("Street", "Wall Street"),
    ("Hastings", "Battle of Hastings"),
    ("Day", "Green Day"),
    ("Jordan", "History of Jordan"),
    ("Janeiro", "Rio de Janeiro"),
    ("Norwegian cuisine", "Norwegians"),
    ("Who is it?", "The Who"),
    # mentioned, not given
    ("The brother of Michael Jordan", "Michael Jordan"),
    ("Arthur Dent, a friend of Ford Prefect", "Ford Prefect"),
    ("Arthur Dent, not Ford Prefect", "Ford Prefect"),
    ("Arthur Dent. He travels with Ford Prefect.", "Ford Prefect"),
    ("The entity that matches is Arthur Dent, who meets Ford Prefect.", "Ford Prefect"),
    ("The Battle of Poltava was fought after the Battle of Lesnaya.", "Battle of Lesnaya"),
    ("It is not Ford Prefect.", "Ford Prefect"),
    ("an era of peace", "ERA"),
    # nothing given
    ("I couldn't find any entity that matches.", "Ford Prefect"),
    ("I could not find information about Ford Prefect.", "Ford Prefect"),
    ("", "Ford Prefect"),
    (" \n", "Ford Prefect"),
    ("anything", ""),
]


@pytest.mark.parametrize(("answer", "entity"), SAME)
def test_another_way_to_write_the_name_is_accepted(answer: str, entity: str) -> None:
    assert names_entity(answer, entity)


@pytest.mark.parametrize(("answer", "entity"), DIFFERENT)
def test_another_name_is_refused(answer: str, entity: str) -> None:
    assert not names_entity(answer, entity)


def test_another_name_is_accepted_where_it_is_an_alias() -> None:
    assert not names_entity("NHL.", "National Hockey League")
    assert names_entity("NHL.", "National Hockey League", ["NHL"])
    assert names_entity("The plant is called jimsonweed.", "Datura stramonium", ["Jimsonweed"])
    assert not names_entity("Henbane.", "Datura stramonium", ["Jimsonweed"])


def test_the_exact_match_is_containment() -> None:
    assert names_exactly("It was FORD PREFECT's towel.", "Ford Prefect (character)")
    assert names_exactly("the ERA (earned run average)", "ERA")
    assert not names_exactly("an operative", "ERA")
    assert not names_exactly("St. Columba", "Saint Columba")
    assert not names_exactly("", "Ford Prefect")
    assert not names_exactly("anything", "")


@pytest.mark.parametrize(
    ("text", "entity", "named"),
    [
        ("Who knew Ford Prefect's towel?", "Ford Prefect (character)", ["Ford Prefect"]),
        ("ford prefect and FORD PREFECT", "Ford Prefect", ["ford prefect", "FORD PREFECT"]),
        ("Where did Dvořák and Dvorak live?", "Antonín Dvořák", ["Dvořák", "Dvorak"]),
        ("Who was Lovelace, Ada?", "Ada Lovelace", ["Lovelace, Ada"]),
        ("What did Countess Lovelace write?", "Ada Lovelace", ["Lovelace"]),
        ("Which brown dog did Brown own?", "James Brown", ["Brown"]),
        ("Which street has a wall?", "Wall Street", []),
        ("Which battle of the war was lost?", "Battle of Hastings", []),
        ("On which day is the grass green?", "Green Day", []),
        ("Prefectures of Fordham", "Ford Prefect", []),
        ("Which league is the NHL?", "National Hockey League", []),
        ("Henry VIII, Henry VII", "Henry VII", ["Henry VII"]),
        ("東京タワーはどこ", "東京タワー", ["東京タワー"]),
        ("What is !!!?", "!!!", ["!!!"]),
        ("Anything", "", []),
        ("", "Ford Prefect", []),
    ],
)
def test_mentions_are_found(text: str, entity: str, named: list[str]) -> None:
    assert [text[start:end] for start, end in find_mentions(text, entity)] == named


def test_aliases_are_mentions() -> None:
    text = "Which league, the NHL, plays hockey?"
    assert find_mentions(text, "National Hockey League", ["NHL"]) == ((18, 21),)


PIECES = st.sampled_from(
    [
        *("Ada", "Lovelace", "lovelace", "LOVELACE", "Augusta", "King", "Countess", "A.", "St."),
        *("of", "the", "and", "&", "Ada's", "1", "II", "é", "東", "京"),
        *(",", ".", "'", "-", "(", ")", "\n", ""),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).flatmap(
    lambda pieces: st.sampled_from([" ".join(pieces), "".join(pieces)])
)
ENTITIES = st.sampled_from(
    ["Ada Lovelace", "Ada Augusta King, Countess of Lovelace", "Lovelace (crater)", "東京", "II"]
)


@given(TEXTS, ENTITIES)
def test_redacting_every_mention_leaves_none(text: str, entity: str) -> None:
    spans = find_mentions(text, entity)
    assert list(spans) == sorted(spans)
    redacted, last = "", 0
    for start, end in spans:
        assert last <= start < end <= len(text)
        redacted += text[last:start] + "[…]"
        last = end
    assert find_mentions(redacted + text[last:], entity) == ()


@given(st.text(), st.text())
def test_any_text_can_be_searched(text: str, entity: str) -> None:
    spans = find_mentions(text, entity)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    names_entity(text, entity, [text])


LETTERS = st.characters(categories=["Ll"], max_codepoint=0x24F)
# "Us" and "US" are two words, but no three letters are.
NAME_WORDS = st.text(LETTERS, min_size=3, max_size=10).map(str.title)
NAMES = st.lists(NAME_WORDS, min_size=1, max_size=5).map(" ".join)
NOISE = st.sampled_from(
    ["{}", "{}.", "The {}", '"{}"', " {} ", "{} - 100%", "Entity: {}", "{} (remark)", "**{}**"]
)


@given(st.text().filter(lambda text: any(c.isalnum() for c in text)))
def test_a_name_matches_itself(name: str) -> None:
    assert names_entity(name, name)


@given(NAMES, NOISE)
def test_a_name_matches_itself_whatever_stands_around_it(name: str, noise: str) -> None:
    assert names_entity(noise.format(name), name)
    assert names_entity(name, f"{name} (remark)")


@given(NAMES)
def test_a_name_matches_itself_in_another_case(name: str) -> None:
    assume(name.lower().upper().lower() == name.upper().lower() == name.lower())
    for other in (name.upper(), name.lower()):
        assert names_entity(other, name)
        assert names_entity(name, other)


ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIV", "XXIII"]


@given(st.sampled_from(["Henry", "Apollo", "Pope Pius", "World War", "Louis"]), st.data())
def test_numbers_must_agree(name: str, data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.sampled_from(ROMAN), min_size=2, max_size=2, unique=True))
    assert names_entity(f"{name} {one}", f"{name} {one}")
    assert not names_entity(f"{name} {one}", f"{name} {other}")
    assert not names_entity(f"The entity is {name} {one}.", f"{name} {other}")
    assert not names_entity(f"{name} {one}", name)


@given(st.integers(0, 2100), st.integers(0, 2100))
def test_years_must_agree(one: int, other: int) -> None:
    assert names_entity(f"{one} Games", f"{other} Games") == (one == other)
    assert names_entity(f"Games {one}", f"{other} Games") == (one == other)


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("It meets 100% of the requirements.", 100),
        ("100 percent of the criteria are met.", 100),
        ("It meets about 90 per cent of the requirements.", 90),
        ("It matches 90-95% of the requirements.", 90),
        ("It matches 90% to 95% of them.", 90),
        ("It meets between 80% and 85% of the requirements.", 80),
        ("The percentage is 87.5%.", 87.5),
        ("It matches 87,5 % of the requirements.", 87.5),
        ("Latin - 100%", 100),
        ("Latin (100%)", 100),
        ("0% of the requirements", 0),
        ("It meets all of the requirements.", 100),
        ("It meets all 8 criteria.", 100),
        ("It is a perfect match.", 100),
        ("It meets 7 out of 8 criteria.", 87.5),
        ("It meets seven of the eight requirements.", 87.5),
        ("It meets 7/8 requirements.", 87.5),
        # a number counts before words
        ("It meets all the requirements. The percentage is 80%.", 80),
        # of something else
        ("Beer with 5% alcohol matches 80% of the requirements.", 80),
        ("Beer with 5% alcohol.", None),
        ("The film won 2 of 8 awards.", None),
        # not as much as that
        ("It is not as high as 100%, I estimate a match of 70%.", 70),
        ("It meets all requirements except one.", None),
        ("It does not meet all requirements.", None),
        ("There is no perfect match.", None),
        # impossible
        ("It meets 150% of the requirements.", None),
        ("It meets 12 of 10 requirements.", None),
        ("It meets 0 of 0 requirements.", None),
        ("Ford Prefect.", None),
        ("", None),
    ],
)
def test_the_share_of_requirements_is_read(answer: str, share: float | None) -> None:
    assert parse_percentage(answer) == share


@given(st.text(st.sampled_from("0123456789 .,%-/ofmetchal\n")))
def test_a_share_is_between_0_and_100(answer: str) -> None:
    share = parse_percentage(answer)
    assert share is None or 0 <= share <= 100
    parse_percentage_exactly(answer)


def test_the_exact_percentage_is_the_digits_before_the_sign() -> None:
    assert parse_percentage_exactly("Beer with 5% alcohol: 100%") == 5
    assert parse_percentage_exactly("87.5%") == 5
    assert parse_percentage_exactly("100 percent") is None
