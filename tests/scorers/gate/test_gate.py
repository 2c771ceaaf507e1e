from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.passage import Passage
from resay.scorers.gate import nothing_to_check

CODE = "```python\nprint('The capital of Australia is Sydney.')\n```\n"
GREETINGS = [
    *("Hi!", "Hello there!", "Thank you very much!", "You're welcome.", "Goodbye, take care!"),
    *("Hello! How can I help you today?", "Hi there 👋 How are you?", "**Hello!**"),
    *("I'm doing well, thanks for asking! How about you?", "Good morning. What can I do for you?"),
    *(
        "Guten Tag! Wie kann ich Ihnen helfen?",
        "Vielen Dank!",
        "Gern geschehen.",
        "Auf Wiedersehen!",
    ),
    *("Bonjour ! Comment puis-je vous aider ?", "Merci beaucoup !", "De rien.", "Bonne journée !"),
    *("¡Hola! ¿En qué puedo ayudarte hoy?", "Muchas gracias.", "De nada.", "¡Hasta luego!"),
    *("Ciao! Come posso aiutarti?", "Grazie mille!", "Prego.", "Arrivederci!"),
    *("Olá! Como posso ajudar?", "Muito obrigado!", "De nada!", "Tchau, até logo!"),
    *("Hallo! Hoe kan ik je helpen?", "Dank je wel!", "Graag gedaan.", "Tot ziens!"),
]
REFUSALS = [
    *(
        "I don't know.",
        "I’m sorry, but I don’t know the answer to that question.",
        "I have no idea.",
    ),
    *("I'm sorry, but I don't have any information about Jan Novak.", "I can't help with that."),
    "I apologize, but I could not find any information on John Smith. Could you please provide more"
    " context?",
    "As an AI language model, I don't have access to real-time data.",
    "Unfortunately, I cannot answer that question. Is there anything else I can help you with?",
    "I'm unable to provide medical advice. Please ask a doctor.",
    *(
        "Das weiß ich leider nicht.",
        "Es tut mir leid, ich habe keine Informationen über Jan Novak.",
    ),
    *("Dabei kann ich Ihnen leider nicht helfen.", "Ich weiß es nicht."),
    *("Je ne sais pas.", "Désolé, je n'ai pas d'informations sur Jan Novak."),
    *("Lo siento, no tengo información sobre Jan Novak.", "No lo sé."),
    *("Mi dispiace, ma non ho informazioni su Jan Novak.", "Non lo so."),
    *("Desculpe, não tenho informações sobre Jan Novak.", "Não sei."),
    *("Het spijt me, maar ik heb geen informatie over Jan Novak.", "Ik weet het niet."),
]
QUESTIONS = [
    *("May I ask what I'm to do?", "Do you think I’m late?"),
    *("Could you tell me more about the trip you have in mind?", "Which one do you mean?"),
    *("What is your budget?\n\n- How many seats do you need?\n- When do you leave?",),
    *("Können Sie mir mehr Details nennen?", "Pouvez-vous préciser votre demande ?"),
    *("¿Puedes darme más detalles?", "Puoi darmi qualche dettaglio in più?"),
    *("Você pode explicar melhor?", "Kunt u meer details geven?"),
]
ONLY_CODE = [
    *(CODE, f"Here is the code:\n\n{CODE}", f"Sure! Here's a simple example:\n\n{CODE}"),
    *(f"## Solution\n\n{CODE}", f"Hier ist der Code:\n{CODE}"),
]
CLAIMS = [
    # What looks like nothing and claims something.
    "Hi! The capital of Australia is Sydney.",
    "Hello from Sydney!",
    "Hello John!",
    "Hello, it's 5 o'clock!",
    "Thank you, Sydney is the capital.",
    "Thanks for asking! It was built by the Romans.",
    "I'm sorry, but I don't have information on X. However, he was born in 1950.",
    "I'm sorry, but I don't have information on Jan Novak, the mayor of Prague.",
    "I don't have any information about Jan Novak who was born in Prague.",
    "I don't have any information about the 1950 treaty.",
    "I don't know the answer, but Sydney is the capital.",
    "I don't know, probably Sydney.",
    "I cannot confirm that Sydney is the capital.",
    "There is no information about Jan Novak.",
    "I can't help with that because it is illegal in Australia.",
    *("I'm sorry.", "Thanks! I apologize for the confusion."),
    "I don't have information about an old man in a red coat with two dogs.",
    "Sorry, the capital is Canberra.",
    "Das weiß ich nicht, aber Sydney ist die Hauptstadt.",
    "Bonjour ! La capitale est Sydney.",
    "Lo siento, no lo sé, pero la capital es Sídney.",
    "Mi dispiace, non ho informazioni su Jan Novak che è nato a Praga.",
    # Short answers are answers.
    *("Yes.", "No.", "Sydney", "42", "Of course!", "Sure!", "Absolutely.", "True", "Ja.", "Oui."),
    # Questions that say something.
    "Did you know that Sydney is the capital of Australia?",
    "Do you know that it is the capital?",
    "Sydney is the capital, right?",
    "Isn't it the capital?",
    "The capital is Sydney, so where would you like to go?",
    *("Would you like to see Sydney?", "May I show you India?"),
    "Can you imagine that it was built in a year?",
    "What would you like to know about the king who died in exile?",
    "What is the capital? Sydney is the capital.",
    "Why is aspirin forbidden there?",
    "Wussten Sie, dass Sydney die Hauptstadt ist?",
    # Code with something said about it.
    f"This code prints the capital of Australia.\n\n{CODE}",
    f"Sure!\n\n{CODE}",
    f"{CODE}\nIt returns 42.",
    f"| a | b |\n|---|---|\n| c | d |\n\n{CODE}",
    # Nothing at all is for the chain to deal with.
    *("", " \n ", "👋", "...", "# Hello", "| a |\n|---|\n| b |"),
    # A language without phrases.
    *("こんにちは。", "Привет!", "Dzień dobry!"),
]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "a greeting") for text in GREETINGS),
        *((text, "a refusal") for text in REFUSALS),
        *((text, "only questions") for text in QUESTIONS),
        *((text, "only code") for text in ONLY_CODE),
        *((text, None) for text in CLAIMS),
    ],
)
def test_what_there_is_to_check(text: str, kind: str | None) -> None:
    assert nothing_to_check(Passage.of(text)) == kind


NOTHING = [*GREETINGS, *REFUSALS, *QUESTIONS]


@given(
    before=st.sampled_from(NOTHING),
    claim=st.sampled_from(
        [
            "The capital of Australia is Sydney.",
            "He was born in Prague.",
            "Die Hauptstadt ist Sydney.",
            "Elle est née à Prague.",
            "It's 42.",
            "sydney won",
        ]
    ),
    after=st.sampled_from(["", *NOTHING]),
    between=st.sampled_from([" ", "\n", "\n\n", "\n- "]),
)
def test_a_claim_among_nothing_is_checked(
    before: str, claim: str, after: str, between: str
) -> None:
    text = between.join([before, claim, after])
    assert nothing_to_check(Passage.of(text)) is None


@given(text=st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    assert nothing_to_check(Passage.of(text)) in {None, "only code"}


@pytest.mark.parametrize(
    "text",
    ["The cat sat on the mat and was seen by Mr. Smith. " * 40, "Hello! How are you? " * 100],
)
def test_looking_at_an_answer_costs_less_than_splitting_it(text: str) -> None:
    passage = Passage.of(text)
    nothing_to_check(passage)

    def fastest(work: Callable[[], object]) -> float:
        times: list[float] = []
        for _ in range(10):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return min(times)

    assert fastest(lambda: nothing_to_check(passage)) < fastest(lambda: Passage.of(text))


def test_no_real_passage_is_left_out(data_dir: Path) -> None:
    rows = (data_dir / "wikibio_gpt3.jsonl").read_text().splitlines()
    rows += (data_dir / "phd.jsonl").read_text().splitlines()
    passages = [json.loads(row)["passage"] for row in rows]
    assert {nothing_to_check(Passage.of(text)) for text in passages} == {None}
