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
    (
        (*COST, "Until when are there spare parts for it?"),
        "Garmo X100: Until when are there spare parts for it?",
    ),
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
        ("What does the Basic plan include?", "Ten users.", "And the Pro plan?"),
        "What does the Pro plan include?",
    ),
    (
        ("How long is the warranty of the Tarin 5?", "Two years.", "And for the Tarin 6?"),
        "How long is the warranty of the Tarin 6?",
    ),
    (
        ("Who is the mayor of Leeds?", "Abigail Marshall.", "When was she elected?"),
        "Abigail Marshall: When was she elected?",
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
    (*COST, "What is it like to live in Leeds?"),
    (*COST, "In German please"),
    (*COST, "What are the symptoms of flu and how long do they last?"),
    (*COST, "So what is the capital of Peru?"),
    (*COST, "Let's talk about Apple. Who leads it?"),
    ("Combien coûte le Garmo X100 ?", "300 euros.", "Le musée est-il ouvert le dimanche ?"),
    ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Tienen drones?"),
    ("¿Cuánto cuesta la Garmo X100?", "300 euros.", "¿Quién pintó la Mona Lisa?"),
    ("Quanto costa la Garmo X100?", "300 euro.", "Come si chiama il sindaco di Roma?"),
    ("Quanto custa a Garmo X100?", "300 euros.", "Quando abre a loja?"),
    ("Hoeveel kost de Garmo X100?", "300 euro.", "Waar is het museum?"),
    ("Was kostet der Garmo X100?", "300 Euro.", "Was macht ein Motor und wozu braucht man ihn?"),
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
    # Swedish
    (
        ("Vad kostar Garmo X100?", "Den kostar 300 euro.", "Vem har ritat den?"),
        "Garmo X100: Vem har ritat den?",
    ),
    (
        ("Vad kostar Garmo X100?", "300 euro.", "Och hur är det med X110?"),
        "Vad kostar Garmo X110?",
    ),
    (
        ("Vem ritade Garmo X100?", "Den ritades av Ada Moor.", "Var föddes hon?"),
        "Ada Moor: Var föddes hon?",
    ),
    (("Vad kostar Garmo X100?", "300 euro.", "Varför?"), "Vad kostar Garmo X100? Varför?"),
    (
        ("Vad kostar Garmo X100?", "300 euro.", "När öppnar museet i Halden?"),
        "När öppnar museet i Halden?",
    ),
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
    (
        ("Was kostet der Garmo X100?", "300 Euro.", "Und das Gewicht?"),
        "Was kostet der Garmo X100? Und das Gewicht?",
    ),
    (("Wie groß ist München?", "Groß.", "Und Berlin?"), "Wie groß ist Berlin?"),
    # French
    (
        ("Combien coûte le Garmo X100 ?", "300 euros.", "Est-ce qu'il est étanche ?"),
        "Garmo X100: Est-ce qu'il est étanche ?",
    ),
    (
        ("Combien coûte le Garmo X100 ?", "300 euros.", "Comment le réparer ?"),
        "Garmo X100: Comment le réparer ?",
    ),
    (
        ("Combien coûte le Garmo X100 ?", "300 euros.", "Pèse-t-il lourd ?"),
        "Garmo X100: Pèse-t-il lourd ?",
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
    (
        ("Qual è la capitale della Francia?", "Parigi.", "E dell'Italia?"),
        "Qual è la capitale della Francia? E dell'Italia?",
    ),
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


# After the same question about the same thing, in each language.
OPENINGS = {
    "en": (
        "How much does the Garmo X100 cost?",
        "The Garmo X100 costs 300 dollars. It is sold by Walmart.",
    ),
    "de": ("Was kostet der Garmo X100?", "Der Garmo X100 kostet 300 Euro."),
    "fr": ("Combien coûte le Garmo X100 ?", "Le Garmo X100 coûte 300 euros."),
    "es": ("¿Cuánto cuesta la Garmo X100?", "La Garmo X100 cuesta 300 euros."),
    "it": ("Quanto costa la Garmo X100?", "La Garmo X100 costa 300 euro."),
    "pt": ("Quanto custa a Garmo X100?", "A Garmo X100 custa 300 euros."),
    "nl": ("Hoeveel kost de Garmo X100?", "De Garmo X100 kost 300 euro."),
}
ABOUT_IT = {
    "en": [
        "Does it come with a charger?",
        "Where is it made?",
        "What colours does it come in?",
        "How good is its camera?",
        "Is the Garmo Z3 better than it?",
        "why is it so expensive",
        "it's waterproof?",
        "its weight?",
        "And what about its battery?",
        "Who makes it and where?",
        "Can I use it underwater?",
        "Has it been recalled?",
        "What do people say about it?",
        "Are there any problems with it?",
        "Could you tell me more about its battery life?",
        "Was it released in 2020?",
        "and the warranty",
        "Show me its manual.",
        "What year did it come out?",
    ],
    "de": [
        "Wer hat es gebaut?",
        "Wie schwer ist er?",
        "Wann kam er heraus?",
        "Wo kann ich ihn kaufen?",
        "Erzähl mir mehr darüber.",
        "Seit wann gibt es ihn?",
        "Und wie viel wiegt er?",
        "Welche Vorteile hat er?",
        "Ist seine Kamera gut?",
    ],
    "fr": [
        "Où l'acheter ?",
        "Quel est son poids ?",
        "Et le poids ?",
        "Pèse-t-il lourd ?",
        "Quand est-il sorti ?",
        "Est-ce qu'il est étanche ?",
        "Qu'en est-il du X110 ?",
        "Qui l'a fabriqué ?",
    ],
    "es": [
        "¿Y el peso?",
        "¿Cuál es su peso?",
        "¿Quién la fabrica?",
        "¿Cuándo salió?",
        "¿Tiene garantía?",
        "¿Dónde se fabrica?",
    ],
    "it": [
        "E il peso?",
        "Qual è il suo peso?",
        "Chi la produce?",
        "Quando è uscita?",
        "E quanto pesa?",
    ],
    "pt": [
        "E o peso?",
        "Qual é o peso dela?",
        "Quem a fabrica?",
        "Quando saiu?",
        "Tem garantia?",
        "Ela é boa?",
        "E quanto pesa?",
    ],
    "nl": [
        "En het gewicht?",
        "Wat is het gewicht ervan?",
        "Wie maakt het?",
        "Wanneer kwam hij uit?",
        "Hoe zwaar is hij?",
        "Is het waterdicht?",
        "Hoeveel weegt het?",
    ],
}
ABOUT_ITSELF = {
    "en": [
        "How does a lithium battery work, and can it explode?",
        "What is it like to live in Leeds?",
        "Can you help me?",
        "What do you think?",
        "How is the weather?",
        "I have a question about my order",
        "My order has not arrived. When will it come?",
        "What was the name of the ship that sank in 1912?",
        "What are the symptoms of flu and how long do they last?",
        "If I order today, when will my order arrive?",
        "Translate 'it is raining' into German.",
        "Who won it all in 1998, France or Brazil?",
        "Does Walmart ship to Canada?",
        "List the planets.",
        "Write a haiku about autumn.",
        "What's the difference between HTTP and HTTPS?",
        "Explain the theory of relativity and its consequences.",
        "Which countries border Germany?",
        "How many legs does a spider have?",
        "Is coffee healthy?",
        "So what is the capital of Peru?",
        "Ok, next topic: how do vaccines work?",
        "And what is the capital of Peru?",
        "Hi",
        "Where is the nearest store?",
        "Please write the answer in German.",
        "Shorter please",
        "In German please",
        "Yes",
        "No, the other one",
        "Let's talk about Apple. Who leads it?",
    ],
    "de": [
        "Wie funktioniert ein Akku?",
        "Was ist die Hauptstadt von Peru?",
        "Haben Sie auch Drohnen?",
        "Wie ist Ihre Adresse?",
        "Wann haben Sie geöffnet?",
        "Gibt es Rabatt?",
        "Wie geht es Ihnen?",
        "Was macht ein Kompressor und wozu braucht man ihn?",
        "Kann das wahr sein?",
        "Wie heißt der Bürgermeister von Berlin?",
    ],
    "fr": [
        "Quel temps fait-il à Paris ?",
        "Comment fonctionne une batterie ?",
        "Quelle est la hauteur de la tour Eiffel ?",
        "Est-ce que vous livrez en Suisse ?",
        "Qui a peint la Joconde ?",
        "Avez-vous des drones ?",
        "Qui est le président de la France et quel âge a-t-il ?",
        "Comment allez-vous ?",
        "Le musée est-il ouvert le dimanche ?",
    ],
    "es": [
        "¿Cómo funciona una batería?",
        "¿Quién pintó la Mona Lisa?",
        "¿Dónde está el museo?",
        "¿Hacen envíos a México?",
        "¿Tienen drones?",
        "¿Cuándo abre la tienda?",
        "¿Cómo se llama el alcalde de Madrid?",
        "¿Qué es la fotosíntesis y quién la descubrió?",
        "¿Es verdad que llueve?",
    ],
    "it": [
        "Come funziona una batteria?",
        "Chi ha dipinto la Gioconda?",
        "Dove si trova il museo?",
        "Spedite in Svizzera?",
        "Che cos'è la fotosintesi?",
        "Come ti chiami?",
        "Come si chiama il sindaco di Roma?",
        "È vero che piove?",
        "Quando apre il negozio?",
    ],
    "pt": [
        "Como funciona uma bateria?",
        "Quem pintou a Mona Lisa?",
        "Onde fica o museu?",
        "Vocês entregam no Brasil?",
        "Como você se chama?",
        "O que é fotossíntese?",
        "Quando abre a loja?",
        "Qual é a capital do Peru?",
    ],
    "nl": [
        "Hoe werkt een batterij?",
        "Wie schilderde de Nachtwacht?",
        "Waar is het museum?",
        "Leveren jullie in België?",
        "Wat is fotosynthese?",
        "Hoe heet de burgemeester van Amsterdam?",
        "Is het waar dat het regent?",
        "Wanneer gaat de winkel open?",
        "Het museum, is het gratis?",
    ],
}


def asked_after(questions: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, question) for language, of in questions.items() for question in of]


@pytest.mark.parametrize("asked", asked_after(ABOUT_IT))
def test_what_is_asked_of_it_gets_its_name(asked: tuple[str, str]) -> None:
    language, question = asked
    told = conversation(*OPENINGS[language], question)
    assert standalone_question(told) == f"Garmo X100: {question}"


@pytest.mark.parametrize("asked", asked_after(ABOUT_ITSELF))
def test_what_is_asked_of_something_else_does_not(asked: tuple[str, str]) -> None:
    language, question = asked
    assert standalone_question(conversation(*OPENINGS[language], question)) == question
