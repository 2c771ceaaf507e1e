from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resay.engine.regeneration.asked_questions import asked_about
from resay.engine.regeneration.queries import search_queries
from resay.engine.regeneration.subjects import names_of, without_values
from resay.errors import ConfigurationError

MEMBERS = "She led the team of ten people there."


def search_for(question, sentence, entity=None):
    (query,) = search_queries(asked_about(question, names_of(question, entity)), [sentence])
    return query


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who built the Golden Gate Bridge?", "Who built the Golden Gate Bridge?"),
        ("**Who** was [Ada](https://example.org/ada) [1]?", "Who was Ada?"),
        ("Tell me about\n ada lovelace.", "Tell me about ada lovelace."),
        ("You are an assistant. Be brief.\n\nQuestion: Who was Ada?", "Question: Who was Ada?"),
        ("Use three sentences. Tell me about Ada Byron. No lists.", "Tell me about Ada Byron."),
        ("I was in Paris. Which museum is the oldest?", "Paris: Which museum is the oldest?"),
        ("Where is it? Who built it? It is The Shard.", "Shard: Where is it? Who built it?"),
        ("请写一篇关于长城的短文", "请写一篇关于长城的短文"),
        ("서울타워에 대해 알려줘", "서울타워에 대해 알려줘"),
    ],
)
def test_the_question_is_put_in_front(question, asked):
    assert search_for(question, MEMBERS) == f"{asked} {MEMBERS}"


@pytest.mark.parametrize("question", ["", "  ", "???", "\n\n"])
def test_a_question_without_words_puts_nothing_in_front(question):
    assert search_for(question, MEMBERS) == MEMBERS


def test_of_a_long_question_its_names_are_put_in_front():
    question = f"Is it, {'as I read somewhere, ' * 6}true that nobody built Fort Ada?"
    assert search_for(question, MEMBERS).startswith("Fort Ada: Is it, as I read somewhere,")
    assert search_for(question, MEMBERS).endswith(MEMBERS)


def test_a_known_entity_stands_for_what_the_question_names():
    question = "When did the author of Notes meet Babbage?"
    assert search_for(question, MEMBERS, entity="Ada Lovelace") == (
        f"Ada Lovelace: {question} {MEMBERS}"
    )
    assert search_for(question, MEMBERS, entity=" ") == f"{question} {MEMBERS}"
    assert search_for("", MEMBERS, entity="**Ada**") == f"Ada {MEMBERS}"


def test_a_sentence_is_searched_for_with_the_question_that_it_answers():
    message = "Where is the Garmo X100 made? How much noise does it make?"
    names = names_of(message)
    assert asked_about(message, names, "Its noise is 80 dB.") == (
        "Garmo X100: How much noise does it make?"
    )
    assert asked_about(message, names, "It is red.") == message


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who built the Golden Gate Bridge?", ("Golden Gate Bridge",)),
        ("Is Venice sinking?", ("Venice",)),
        ("When did Apollo 11 land on the Moon?", ("Apollo 11", "Moon")),
        ("What is Marie Curie's best known work?", ("Marie Curie",)),
        ('Who wrote "the old man and the sea"?', ("the old man and the sea",)),
        ("X100 or X110?", ("X100", "X110")),
        ("How do I get a refund?", ()),
        ("why is the sky blue?", ()),
        ("WHO WAS NAPOLEON?", ()),
        ("Explain photosynthesis in detail. Answer briefly.", ()),
        ("Wer war Ada Lovelace?", ("Ada Lovelace",)),
        ("Háblame sobre Ada Lovelace, por favor", ("Ada Lovelace",)),
        ("Расскажи о Москве", ("Москве",)),
        ("《红楼梦》的作者是谁？", ("红楼梦",)),
        ("서울타워에 대해 알려줘", ()),
        # The first word may be any word.
        ("Describe Venice.", ("Describe Venice", "Venice")),
        # What surrounds a question matters only if it names nothing.
        ("I was in Paris. Is it older than Rome?", ("Rome",)),
        ("Tell me about Anna Berg\n\nWhen did she die", ("Anna Berg",)),
    ],
)
def test_the_names_of_what_a_question_is_about(question, names):
    assert names_of(question) == names


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("**Ada** was *born* in __London__ in `1815`.", "Ada was born in London in 1815."),
        ("Ada was born in London [1], I think [2][3].", "Ada was born in London, I think."),
        ("Ada was born in London [1, 2; 4-7].[^note]", "Ada was born in London."),
        ("Ada was born in London.【4†source】", "Ada was born in London."),
        ("Ada was born in London[citation needed].¹²", "Ada was born in London."),
        ("Ada was [born](http://x.org/a_(b) 'so') here [1](http://x.org).", "Ada was born here."),
        ("- [x] Ada was born in London.", "Ada was born in London."),
        ("> 2. Ada was born in London.", "Ada was born in London."),
        ("### Ada was born\n  in London.", "Ada was born in London."),
        ("Ada was <b>born</b> in London &amp; Paris.", "Ada was born in London & Paris."),
        ("Ada\x00 was \\*born\\* in\u2028London.", "Ada was *born* in London."),
        ("东京**铁塔**高三百米。", "东京铁塔高三百米。"),
        # These are no Markdown.
        ("3. Oktober 1990 war ein Feiertag.", "3. Oktober 1990 war ein Feiertag."),
        ("It has 2 * 3 * 4 m² and snake_case_names.", "It has 2 * 3 * 4 m² and snake_case_names."),
        ("Ada [sic] was born in [London].", "Ada [sic] was born in [London]."),
        ("[citation needed]", "citation needed"),
        ("`[^a]`", "a"),
    ],
)
def test_markdown_and_marks_of_citation_are_removed(sentence, expected):
    assert search_for("", sentence) == expected


@pytest.mark.parametrize("sentence", ["", " \n", "---", "***", "[1]", "“”…!?", "🙂"])
def test_nothing_is_searched_for_where_there_are_no_words(sentence):
    assert search_queries("Who was Ada?", [sentence]) == ()
    assert search_queries("Who was Ada?", [sentence, MEMBERS]) == (f"Who was Ada? {MEMBERS}",)


def test_each_sentence_is_searched_for_in_order():
    sentences = ["Ada was born in London.", "Her mother was Anne Milbanke.", "Ada died in 1852."]
    assert search_queries("Who was Ada?", sentences) == (
        "Who was Ada? Ada was born in London.",
        "Who was Ada? Her mother was Anne Milbanke.",
        "Who was Ada? Ada died in 1852.",
    )


def test_similar_queries_are_searched_once():
    sentences = [
        "She was a mathematician.",
        "Ada was a mathematician and a writer, she was.",
        "She was a **mathematician**!",
    ]
    assert search_queries("", sentences) == (sentences[1],)


def test_other_names_and_numbers_are_searched_for():
    text = "She moved with her whole family to the old town of {} in the year {}."
    sentences = [text.format("Leeds", 1831), text.format("Leeds", 1832), text.format("York", 1831)]
    assert search_queries("", sentences) == tuple(sentences)
    assert search_queries("", [*sentences, sentences[0]]) == tuple(sentences)


def test_a_long_sentence_is_divided_where_clauses_end():
    clauses = [
        f"in {1800 + i} she went to the village number {i} with her friends," for i in range(9)
    ]
    found = search_queries("Who was Ada?", [" ".join(clauses)])
    assert len(found) > 1
    assert all(
        query.startswith("Who was Ada? in 18") and query.endswith("friends,") for query in found
    )
    assert " ".join(query.removeprefix("Who was Ada? ") for query in found) == " ".join(clauses)


@pytest.mark.parametrize("text", ["word " * 200, "長" * 900, "x" * 900, "長い、" * 300])
def test_text_without_clauses_is_divided_anywhere(text):
    found = search_queries("", [text], most=8)
    assert found
    assert all(len(query) <= 300 for query in found)


def test_short_neighbours_are_joined_where_there_are_too_many():
    sentences = [f"In {1800 + i} she won." for i in range(6)]
    sentences[2] = "In 1802 she wrote a long book about the theory of numbers."
    assert search_queries("", sentences, most=4) == (
        "In 1800 she won. In 1801 she won.",
        sentences[2],
        "In 1803 she won. In 1804 she won.",
        sentences[5],
    )


def test_least_specific_words_are_left_out_of_long_queries():
    filler = "and so on and so on as it was before then and there with all of it " * 3
    telling = "{} then in Leeds with Mary Somerville and Charles Babbage, {}"
    sentences = [telling.format(f"In {1830 + i}", filler) for i in range(3)]
    vague = f"They went, {filler}"
    found = search_queries("", [sentences[0], vague, *sentences[1:]], most=3)
    assert found == tuple(" ".join(sentence.split()) for sentence in sentences)


def test_there_must_be_room_for_a_search():
    with pytest.raises(ConfigurationError, match="most must be at least 1, not 0"):
        search_queries("Who?", ["Ada."], most=0)


def test_a_very_long_question_is_read_at_its_end():
    context = "Bob Smith went to some town or other. " * 2000
    question = f"Read this.\n\n{context}\n\nWho was Ada Lovelace?"
    assert search_for(question, MEMBERS) == f"Who was Ada Lovelace? {MEMBERS}"


TEXTS = st.text(max_size=80) | st.sampled_from(
    [
        "**Ada** [1]",
        "She was there. " * 50,
        "東京" * 200,
        "[a](b)",
        "Write about Ada of X and Y:",
        "ก็" * 150,
        "1999",
        "He asked, 'Is it \"The One\"?'",
        "&#10;&lt;b&gt;",
    ]
)


@given(
    TEXTS,
    st.lists(TEXTS | st.text(max_size=900), max_size=12),
    st.none() | TEXTS,
    st.integers(1, 9),
)
@example("", ["!" * 5000 + " word"], None, 1)
@example("Ab " * 100, ["Cd " * 400], "Ef " * 100, 2)
@example("\ud800", ["a\udfff"], "\ud800b", 1)
def test_searches_are_few_short_and_about_something(question, sentences, entity, most):
    asked = asked_about(question, names_of(question, entity))
    found = search_queries(asked, sentences, most=most)
    assert found == search_queries(asked, sentences, most=most)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    for query in found:
        assert 0 < len(query) <= 300
        assert query == " ".join(query.split())
        assert any(map(str.isalnum, query))
        query.encode()
    if any(any(map(str.isalpha, sentence)) for sentence in sentences):
        assert found
    if not any(any(map(str.isalnum, sentence)) for sentence in sentences):
        assert found == ()


@given(TEXTS, st.text(max_size=900).filter(lambda text: any(map(str.isalpha, text))))
def test_no_sentence_with_words_is_without_a_search(question, sentence):
    others = ["Ada was born in London.", "Her mother was Anne Milbanke."]
    asked = asked_about(question, names_of(question))
    assert search_queries(asked, [sentence])
    assert len(search_queries(asked, [*others, sentence], most=100)) >= 2


WORDS = st.lists(
    st.text(st.characters(categories=["Ll", "Lo"], include_characters=" "), min_size=3, max_size=9),
    min_size=3,
    max_size=12,
).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_the_words_of_the_sentences_are_searched_for(sentences):
    found = " ".join(search_queries("", sentences, most=99))
    # What is left out as nearly the same may have letters of its own.
    longest = max((" ".join(s.split()) for s in sentences), key=len)
    assert longest in found


@pytest.mark.parametrize(
    ("question", "sentence", "left"),
    [
        ("When was the X100 launched?", "It was launched in 1992.", "It was launched in"),
        (
            "When was the Garmo X100 launched?",
            "The Garmo X100 was launched in March 1992 by Peter Holm.",
            "The Garmo X100 was launched in by",
        ),
        ("Who wrote Hamlet?", "Hamlet was written by Kit Marlowe.", "Hamlet was written by"),
        (
            "Wann kam es?",
            "Es wurde 1992 in einer Fabrik von Hans Holm gebaut.",
            "Es wurde in einer Fabrik von gebaut",
        ),
        ("When?", "1992.", ""),
        ("Did it open in 1992?", "It opened in 1992.", "It opened in 1992."),
    ],
)
def test_doubtful_values_are_left_out_of_queries(question, sentence, left):
    assert without_values(sentence, question) == left


def test_contradicted_words_are_left_out_of_queries():
    assert without_values("Marlowe wrote it.", "Who wrote it?", ["Marlowe"]) == "wrote it"
