from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.standalone import standalone_question


def conversation(*turns: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(turns)]


COST = ("How much does the Garmo X100 cost?", "The Garmo X100 costs 300 dollars.")
WHO = ("Who designed the Garmo X100?", "It was designed by Ada Moor in 2019.")
MOOR = ("Who was Ada Moor?", "Ada Moor was an engineer, the daughter of Lord Byron.")
TOWER = ("When was the Eiffel Tower built?", "It was built from 1887 to 1889.")

ENGLISH = [
    # What a pronoun stands for
    ((*COST, "Who designed it?"), "Garmo X100: Who designed it?"),
    ((*COST, "Is it waterproof?"), "Garmo X100: Is it waterproof?"),
    ((*COST, "When did they launch it?"), "Garmo X100: When did they launch it?"),
    ((*COST, "What is the weight of it?"), "Garmo X100: What is the weight of it?"),
    ((*COST, "Did Ada Moor design it?"), "Garmo X100: Did Ada Moor design it?"),
    (
        (*COST, "How does it compare to the X110?"),
        "Garmo X100: How does it compare to the X110?",
    ),
    (
        (*COST, "How long does it take to charge it?"),
        "Garmo X100: How long does it take to charge it?",
    ),
    ((*COST, "What are its dimensions?"), "Garmo X100: What are its dimensions?"),
    ((*COST, "Tell me more about it."), "Garmo X100: Tell me more about it."),
    ((*COST, "Tell me more."), "Garmo X100: Tell me more."),
    ((*WHO, "Where was she born?"), "Ada Moor: Where was she born?"),
    ((*WHO, "Who is he?"), "Ada Moor: Who is he?"),
    ((*WHO, "What else did she design?"), "Ada Moor: What else did she design?"),
    ((*WHO, "How much does it cost?"), "Garmo X100: How much does it cost?"),
    ((*MOOR, "When did she die?"), "Ada Moor: When did she die?"),
    ((*MOOR, "Who was her husband?"), "Ada Moor: Who was her husband?"),
    ((*TOWER, "How tall is it?"), "Eiffel Tower: How tall is it?"),
    # Over several turns
    (
        (*COST, "Who designed it?", "Ada Moor did.", "Where was she born?"),
        "Ada Moor: Where was she born?",
    ),
    (
        (
            *COST,
            "Who designed it?",
            "Ada Moor did.",
            "Where was she born?",
            "In Leeds.",
            "And when did she die?",
        ),
        "Ada Moor: And when did she die?",
    ),
    (
        (
            *COST,
            "Who designed it?",
            "Ada Moor did.",
            "Where was she born?",
            "In Leeds.",
            "And is it waterproof?",
        ),
        "Garmo X100: And is it waterproof?",
    ),
    ((*COST, "Thanks!", "You are welcome.", "Who designed it?"), "Garmo X100: Who designed it?"),
    (
        ("Which is your best camera?", "That is the Garmo X100.", "Who designed it?"),
        "Garmo X100: Who designed it?",
    ),
    ((*COST, "Is that true?"), "Garmo X100: Is that true?"),
    (
        (*COST, "I want to buy it. Do you ship to France?"),
        "Garmo X100: I want to buy it. Do you ship to France?",
    ),
    (
        ("Who wrote Dune?", "Frank Herbert wrote Dune in 1965.", "What else did he write?"),
        "Frank Herbert: What else did he write?",
    ),
    (
        ("Who wrote Dune?", "Frank Herbert wrote Dune.", "How many pages does it have?"),
        "Dune: How many pages does it have?",
    ),
    (
        ("Tell me about Marie Curie.", "She worked with Pierre Curie.", "And her husband?"),
        "Marie Curie: And her husband?",
    ),
    # What is left out
    ((*COST, "And its price?"), "Garmo X100: And its price?"),
    ((*COST, "And the weight?"), "Garmo X100: And the weight?"),
    ((*COST, "What about shipping?"), "Garmo X100: What about shipping?"),
    ((*COST, "The battery?"), "Garmo X100: The battery?"),
    ((*COST, "What about the X110?"), "How much does the Garmo X110 cost?"),
    ((*COST, "And the Garmo Z3?"), "How much does the Garmo Z3 cost?"),
    ((*COST, "The X110?"), "How much does the Garmo X110 cost?"),
    ((*COST, "And in Germany?"), "How much does the Garmo X100 cost? And in Germany?"),
    ((*COST, "Since when?"), "How much does the Garmo X100 cost? Since when?"),
    ((*COST, "Why?"), "How much does the Garmo X100 cost? Why?"),
    (
        ("What is the capital of France?", "Paris.", "And of Italy?"),
        "What is the capital of Italy?",
    ),
    (("What is the capital of France?", "Paris.", "Italy?"), "What is the capital of Italy?"),
    (
        (*COST, "Who designed it?", "Ada Moor did.", "And the X110?"),
        "Garmo X110: Who designed it?",
    ),
    (("When was Einstein born?", "In 1879.", "And Newton?"), "When was Newton born?"),
    (
        ("What is the weather in Paris?", "Sunny.", "And in London?"),
        "What is the weather in London?",
    ),
    (
        ("What is photosynthesis?", "How plants turn light into sugar.", "Who discovered it?"),
        "What is photosynthesis? Who discovered it?",
    ),
    (
        ("How do I reset my password?", "Open the settings.", "And on Android?"),
        "How do I reset my password? And on Android?",
    ),
]
# What must stay as it is
AS_IT_IS = [
    (*COST, "Who is the CEO of Apple and where does he live?"),
    (*COST, "How tall is Mount Everest and who climbed it first?"),
    (*COST, "Give me a summary of the book Dune and its author."),
    (*COST, "Do you ship to France?"),
    (*COST, "Is there a warranty?"),
    (*COST, "Good morning"),
    (*COST, "Who designed the Eiffel Tower?"),
    (*COST, "And who designed the Eiffel Tower?"),
    (*COST, "What is photosynthesis and how does it work?"),
    (*COST, "When Ada Moor died, how old was she?"),
    (*COST, "Did Ada Moor sell her house?"),
    (*COST, "Does the museum open on Sundays, and is it free?"),
    (*COST, "What time is it?"),
    (*COST, "Is it raining in Paris?"),
    (*COST, "Is it possible to return a product?"),
    (*COST, "How do I reset my password?"),
    (*COST, "Are you sure?"),
    (*COST, "Really?"),
    (*COST, "Thanks, that helps!"),
    (*COST, "What about the battery of the X110?"),
    (*COST, "Write a poem about the sea."),
    ("Who designed it?",),
    ("And its price?",),
    (*COST, "Wie spät ist es?"),
    ("Was kostet der Garmo X100?", "Er kostet 300 Euro.", "Gibt es einen Rabatt für Studenten?"),
    ("Was kostet der Garmo X100?", "300 Euro.", "Können Sie mir Ihre Adresse geben?"),
    ("Combien coûte le Garmo X100 ?", "300 euros.", "Quelle heure est-il ?"),
    ("Combien coûte le Garmo X100 ?", "300 euros.", "Y a-t-il une garantie de deux ans ?"),
    ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Qué hora es?"),
    ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Cómo estás?"),
    ("Quanto costa la Garmo X100?", "300 euro.", "Che ore sono?"),
    ("Quanto custa a Garmo X100?", "300 euros.", "Qual é o seu nome?"),
    ("Hoeveel kost de Garmo X100?", "300 euro.", "Hoe laat is het?"),
    ("Hoeveel kost de Garmo X100?", "300 euro.", "Wat zijn de openingstijden van het museum?"),
]
OTHERS = [
    # German
    (
        ("Was kostet der Garmo X100?", "Er kostet 300 Euro.", "Wer hat ihn entworfen?"),
        "Garmo X100: Wer hat ihn entworfen?",
    ),
    (
        ("Was kostet der Garmo X100?", "Er kostet 300 Euro.", "Und sein Gewicht?"),
        "Garmo X100: Und sein Gewicht?",
    ),
    (
        ("Was kostet der Garmo X100?", "300 Euro.", "Und was ist mit dem X110?"),
        "Was kostet der Garmo X110?",
    ),
    (
        (
            "Wer hat den Garmo X100 entworfen?",
            "Ada Moor hat ihn entworfen.",
            "Wo wurde sie geboren?",
        ),
        "Ada Moor: Wo wurde sie geboren?",
    ),
    (("Was kostet der Garmo X100?", "300 Euro.", "Warum?"), "Was kostet der Garmo X100? Warum?"),
    (
        ("Wie hoch ist der Eiffelturm?", "330 Meter.", "Wann wurde er gebaut?"),
        "Eiffelturm: Wann wurde er gebaut?",
    ),
    (
        ("Was kostet der Garmo X100?", "300 Euro.", "Und in Österreich?"),
        "Was kostet der Garmo X100? Und in Österreich?",
    ),
    # French
    (
        ("Combien coûte le Garmo X100 ?", "300 euros.", "Comment le réparer ?"),
        "Garmo X100: Comment le réparer ?",
    ),
    (
        ("Qui est Victor Hugo ?", "Un écrivain.", "Quand est-il mort ?"),
        "Victor Hugo: Quand est-il mort ?",
    ),
    (
        ("Combien coûte le Garmo X100 ?", "Il coûte 300 euros.", "Qui l'a conçu ?"),
        "Garmo X100: Qui l'a conçu ?",
    ),
    (
        ("Combien coûte le Garmo X100 ?", "Il coûte 300 euros.", "Et son poids ?"),
        "Garmo X100: Et son poids ?",
    ),
    (
        ("Qui a conçu le Garmo X100 ?", "C'est Ada Moor qui l'a conçu.", "Où est-elle née ?"),
        "Ada Moor: Où est-elle née ?",
    ),
    (
        ("Combien coûte le Garmo X100 ?", "300 euros.", "Et le X110 ?"),
        "Combien coûte le Garmo X110 ?",
    ),
    # Spanish
    (
        ("¿Cuánto cuesta la Garmo X100?", "Cuesta 300 euros.", "¿Quién la diseñó?"),
        "Garmo X100: ¿Quién la diseñó?",
    ),
    (
        ("¿Quién diseñó la Garmo X100?", "La diseñó Ada Moor.", "¿Dónde nació?"),
        "Ada Moor: ¿Dónde nació?",
    ),
    (
        ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Y su peso?"),
        "Garmo X100: ¿Y su peso?",
    ),
    (
        ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Y la X110?"),
        "¿Cuánto cuesta la Garmo X110?",
    ),
    (
        ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Es impermeable?"),
        "Garmo X100: ¿Es impermeable?",
    ),
    # Italian
    (
        ("Quanto costa la Garmo X100?", "300 euro.", "È impermeabile?"),
        "Garmo X100: È impermeabile?",
    ),
    (
        ("Quanto costa la Garmo X100?", "Costa 300 euro.", "Chi l'ha progettata?"),
        "Garmo X100: Chi l'ha progettata?",
    ),
    (
        ("Chi ha progettato la Garmo X100?", "L'ha progettata Ada Moor.", "Dove è nata?"),
        "Ada Moor: Dove è nata?",
    ),
    (
        ("Quanto costa la Garmo X100?", "300 euro.", "E il suo peso?"),
        "Garmo X100: E il suo peso?",
    ),
    (("Quanto costa la Garmo X100?", "300 euro.", "E la X110?"), "Quanto costa la Garmo X110?"),
    # Portuguese
    (
        ("Quanto custa a Garmo X100?", "Custa 300 euros.", "Quem a projetou?"),
        "Garmo X100: Quem a projetou?",
    ),
    (
        ("Quem projetou a Garmo X100?", "Foi Ada Moor.", "Onde ela nasceu?"),
        "Ada Moor: Onde ela nasceu?",
    ),
    (
        ("Quanto custa a Garmo X100?", "300 euros.", "E o seu peso?"),
        "Garmo X100: E o seu peso?",
    ),
    (("Quanto custa a Garmo X100?", "300 euros.", "E a X110?"), "Quanto custa a Garmo X110?"),
    (
        ("Quanto custa a Garmo X100?", "300 euros.", "Quanto pesa?"),
        "Garmo X100: Quanto pesa?",
    ),
    # Dutch
    (
        ("Hoeveel kost de Garmo X100?", "300 euro.", "Is hij waterdicht?"),
        "Garmo X100: Is hij waterdicht?",
    ),
    (
        ("Hoeveel kost de Garmo X100?", "Hij kost 300 euro.", "Wie heeft het ontworpen?"),
        "Garmo X100: Wie heeft het ontworpen?",
    ),
    (
        ("Wie heeft de Garmo X100 ontworpen?", "Ada Moor.", "Waar is ze geboren?"),
        "Ada Moor: Waar is ze geboren?",
    ),
    (
        ("Hoeveel kost de Garmo X100?", "300 euro.", "En zijn gewicht?"),
        "Garmo X100: En zijn gewicht?",
    ),
    (("Hoeveel kost de Garmo X100?", "300 euro.", "En de X110?"), "Hoeveel kost de Garmo X110?"),
]


@pytest.mark.parametrize(("turns", "expected"), ENGLISH)
def test_a_follow_up_gets_what_it_needs(turns: tuple[str, ...], expected: str) -> None:
    assert standalone_question(conversation(*turns)) == expected


@pytest.mark.parametrize(("turns", "expected"), OTHERS)
def test_in_other_languages_too(turns: tuple[str, ...], expected: str) -> None:
    assert standalone_question(conversation(*turns)) == expected


@pytest.mark.parametrize("turns", AS_IT_IS)
def test_what_can_be_understood_stays_as_it_is(turns: tuple[str, ...]) -> None:
    assert standalone_question(conversation(*turns)) == turns[-1]


def test_only_what_was_said_counts() -> None:
    told = [
        {"role": "system", "content": "You sell the Garmo Z3."},
        *conversation(*COST),
        {"role": "tool", "content": "The Garmo Z9 is new."},
        {"role": "user", "content": [{"type": "text", "text": "Who designed it?"}]},
        {"role": "assistant", "content": ""},
    ]
    assert standalone_question(told) == "Garmo X100: Who designed it?"
    assert standalone_question([]) == ""
    assert standalone_question([{"role": "assistant", "content": "Hello."}]) == ""


def test_a_long_question_explains_itself() -> None:
    long = "Who designed it? " + "I would like to know. " * 20
    assert standalone_question(conversation(*COST, long)) == long.strip()


@given(st.lists(st.text() | st.sampled_from([*COST, *WHO, "And it?", "What about X?"]), max_size=7))
def test_nothing_of_the_question_is_lost(turns: list[str]) -> None:
    told = conversation(*turns)
    found = standalone_question(told)
    asked = [message["content"].strip() for message in told if message["role"] == "user"]
    assert bool(found) == any(asked)
