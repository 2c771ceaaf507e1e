from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.core.non_claims import ResponseKind, non_claim_kind, nothing_to_check
from resay.core.questions import asking_part
from support.claims import claims_of


def sentences(*kinds: str) -> list[str]:
    """Read the sentences of some kinds from `sentences.tsv`."""
    table = Path(__file__).with_name("sentences.tsv").read_text(encoding="utf-8")
    rows = (row.split("\t") for row in table.splitlines())
    return [sentence for kind, sentence in rows if kind in kinds]


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
    *("That information isn't available.", "There's nothing about this in the handbook."),
    *("The handbook gives no price.", "I have no way of knowing that."),
    *("Dazu steht im Kontext nichts.", "Im Kontext wird kein Preis genannt."),
    *("Das geht aus dem Kontext nicht hervor.", "Darüber habe ich keine Informationen."),
    *("Je n'ai pas accès aux données en temps réel.", "Le texte ne le précise pas."),
    *("No dispongo de información sobre eso.", "Non sono in grado di rispondere."),
    *("Não sei quem vai ganhar.", "Não tenho como saber isso.", "De tekst vermeldt dit niet."),
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
    "The manual says that the pump has no valve.",
    "Ich habe keine Zweifel, dass Ada Moor die Brücke baute.",
    "The text gives no date, but the bridge opened in spring.",
    "Das weiß ich nicht, aber Ada Moor baute sie.",
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
    *("สวัสดี", "Γεια σας!", "Hyvää päivää!"),
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
def test_kinds_of_statements_to_check(text: str, kind: str | None) -> None:
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
    # The text may be "UNKNOWN", which is an answer of not knowing.
    assert nothing_to_check(Passage.of(text)) in {None, *get_args(ResponseKind)}


def test_no_real_passage_is_left_out(data_dir: Path) -> None:
    rows = (data_dir / "wikibio_gpt3.jsonl").read_text().splitlines()
    rows += (data_dir / "phd.jsonl").read_text().splitlines()
    passages = [json.loads(row)["passage"] for row in rows]
    assert {nothing_to_check(Passage.of(text)) for text in passages} == {None}


FILLER = [
    *("Sag Bescheid, wenn du mehr wissen möchtest.", "Kann ich sonst noch helfen?"),
    *("I hope this helps!", "Great question!", "That's a great question.", "Happy to help!"),
    *("Let me know if you need more.", "Let me know if you have any other questions!"),
    *("Feel free to ask more.", "Is there anything else?", "Would you like me to explain it?"),
    *("Gute Frage!", "Viel Erfolg!", "Bonne question !", "J'espère que cela vous aide."),
    *("¡Buena pregunta!", "Espero que te ayude.", "Ottima domanda!", "Boa pergunta!"),
    *("Goede vraag!", "Veel succes!"),
]
UNKNOWN = [
    *("I'm afraid I don't know.", "I do not know who that was.", "I don't have that information."),
    *("The documents don't say.", "The provided context does not mention the price."),
    *(
        "The handbook does not say anything about refunds.",
        "I cannot find the price in the context.",
    ),
    *("There is no information about refunds in the documents.", "The context doesn't say."),
    *("Der Kontext enthält keine Angaben dazu.", "Die Dokumente sagen dazu nichts."),
    *("Le contexte ne mentionne pas le prix.", "El contexto no menciona el precio."),
    *("Il contesto non menziona il prezzo.", "O contexto não menciona o preço."),
    "De documenten vermelden niets daarover.",
]


def non_claims(passage: Passage, question: str) -> dict[int, str]:
    """What the sentences are that claim nothing, not even in one of their clauses."""
    found = claims_of(passage, question)
    claims = {claim.sentence for claim in found if claim.is_checkable}
    return {claim.sentence: claim.kind for claim in found if claim.sentence not in claims}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "filler") for text in FILLER),
        *((text, "refusal") for text in UNKNOWN),
        ("Which product do you mean?", "question"),
        ("Do you mean the battery or the warranty?", "question"),
    ],
)
def test_a_sentence_that_claims_nothing_is_left_out_beside_a_claim(text: str, kind: str) -> None:
    passage = Passage.of(f"{text} The Louvre is in Paris. {text}")
    assert non_claims(passage, "Where is the Louvre?") == {0: kind, 2: kind}


@pytest.mark.parametrize(
    "text",
    [
        *(
            t
            for t in CLAIMS
            if len(Passage.of(t).sentences) == 1 and "sorry" not in t and "#" not in t
        ),
        "The Bible does not mention dinosaurs.",
        "The treaty does not mention Denmark.",
        "Let me know if you see Mr. Smith, who was born in 1950.",
        "The documents do not say that he was born in Prague, which is wrong.",
    ],
)
def test_a_sentence_that_claims_something_is_a_claim(text: str) -> None:
    assert non_claims(Passage.of(text), "Is it so?") == {}


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Where is the Louvre?", {0: "filler"}),
        ("How many are there?", {0: "filler"}),
        ("Wo ist der Louvre?", {0: "filler"}),
        ("Can you help me find the Louvre?", {0: "filler"}),
        ("Can you see the Louvre from here?", {}),
        ("Is the Louvre in Paris?", {}),
        ("", {}),
    ],
)
def test_sure_is_filler_unless_it_may_be_the_answer(question: str, found: dict[int, str]) -> None:
    assert non_claims(Passage.of("Sure! The Louvre is in Paris."), question) == found


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Write a poem about the sea.", "The sea is wide and grey.\nIt was there in 1932."),
        ("Write two lines about the sea.", "The sea is wide and grey,\nit sings the night away."),
        ("Suggest a name for my bakery.", "How about Golden Crust?"),
        ("Which season do you like most?", "I like autumn, for its colours."),
        ("Schreibe ein Gedicht über das Meer.", "Das Meer ist weit."),
        ("Écris un poème sur la mer.", "La mer est grise."),
    ],
)
def test_fiction_on_request_claims_nothing(question: str, text: str) -> None:
    passage = Passage.of(text)
    assert non_claims(passage, question) == dict.fromkeys(range(len(passage.sentences)), "creative")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Write two lines about Rome.", "Rome was founded in 753 BC. It is in Italy."),
        ("Write two lines about Rome.", "Rome was founded in 753 BC.\nIt is in Italy."),
        ("Write a paragraph about the poet.", "She was born in Leeds."),
        ("Who wrote the poem?", "Ada Finch wrote it."),
        ("What is the name of the bakery?", "It is called Golden Crust."),
    ],
)
def test_a_question_about_facts_has_claims_for_an_answer(question: str, text: str) -> None:
    assert non_claims(Passage.of(text), question) == {}


NOTHING_IN_OTHER_LANGUAGES = {
    "refusal": (
        *("Det vet jag tyvärr inte.", "Dokumenten säger inget om det."),
        *("Niestety nie mam takich informacji.", "W tekście nie ma informacji o cenie."),
        *("К сожалению, я не знаю.", "В документах об этом ничего не сказано."),
        *("Üzgünüm, bu konuda bilgim yok.", "Metinde fiyat belirtilmemiş."),
        *("آسف، لا أستطيع مساعدتك في ذلك.", "لا تذكر المستندات هذا الأمر."),
        *("मुझे इसकी जानकारी नहीं है।", "दस्तावेज़ों में इसका उल्लेख नहीं है।"),
        *("申し訳ありませんが、わかりません。", "定員は資料に書かれていません。"),
        *("抱歉，我无法回答这个问题。", "文档中没有提到这一点。"),
        *("죄송하지만 도와드릴 수 없습니다.", "문서에는 그 내용이 나와 있지 않습니다."),
        *("No he encontrado información al respecto.", "En el texto no se menciona el precio."),
        *("Il documento non ne parla.", "Je n'en sais rien.", "Da muss ich leider passen."),
        *("None of the documents mention this.", "The answer is not in the context."),
    ),
    "filler": (
        *("Bra fråga!", "Jag hoppas att det hjälper!", "Mam nadzieję, że to pomoże!"),
        *("Надеюсь, это поможет!", "İyi günler!", "سؤال جيد!", "नमस्ते!"),
        *("ご質問ありがとうございます。", "お役に立てれば幸いです。", "希望这对您有帮助！"),
        *("도움이 되었기를 바랍니다.", "Je reste à votre disposition.", "Estou à disposição."),
    ),
    "question": (
        *(
            "Vilken produkt menar du?",
            "O który produkt ci chodzi?",
            "Какой продукт вы имеете в виду?",
        ),
        *("Hangi ürünü kastediyorsunuz?", "أي منتج تقصد؟", "どの製品のことでしょうか？"),
        *(
            "请问您指的是哪个产品？",
            "어떤 제품을 말씀하시는 건가요?",
            "A que produto você se refere?",
        ),
        *("¿A qué producto te refieres?", "De quel produit parlez-vous ?"),
    ),
}


def test_claiming_nothing_is_known_in_other_languages() -> None:
    found = {
        kind: [t for t in texts if non_claims(Passage.of(t), "") != {0: kind}]
        for kind, texts in NOTHING_IN_OTHER_LANGUAGES.items()
    }
    assert found == {"refusal": [], "filler": [], "question": []}


def read_table() -> list[list[str]]:
    """Read the rows: what it is, its language, the question, and the sentence."""
    table = Path(__file__).with_name("non_claims.tsv").read_text(encoding="utf-8")
    return [row.split("\t") for row in table.splitlines()]


TABLE = read_table()
# Swedish, Danish and Norwegian share their words.
LANGUAGES = [("en",), ("de",), ("nl",), ("sv", "da", "no"), ("fr",), ("es",), ("it",), ("pt",)]


def test_no_claim_is_skipped_that_is_worded_like_talk() -> None:
    skipped: list[str] = []
    for what, _, question, sentence in TABLE:
        if what == "claim" and non_claim_kind(sentence, is_open=True, question=question):
            skipped.append(sentence)
    assert skipped == []


@pytest.mark.parametrize("languages", LANGUAGES)
def test_nine_tenths_of_talk_are_recognized_in_each_language(languages: tuple[str, ...]) -> None:
    missed: list[str] = []
    count = 0
    for what, language, question, sentence in TABLE:
        if what == "nothing" and language in languages:
            count += 1
            if non_claim_kind(sentence, is_open=True, question=question) is None:
                missed.append(sentence)
    assert len(missed) <= 0.1 * count, missed


@given(st.lists(st.sampled_from(sorted({w for row in TABLE for w in row[3].split()})), max_size=12))
def test_a_new_name_and_a_number_are_claims_among_any_words(words: list[str]) -> None:
    text = " ".join(words)
    assert non_claim_kind(f"{text} 1932", is_open=True, question="Why?") is None
    assert non_claim_kind(f"It is {text} of Zürich", is_open=True, question="Why?") is None


def test_denials_about_the_world_are_claims_in_any_language() -> None:
    texts = (
        *("Det finns ingen hiss på stationen.", "Jan Nowak nie miał dzieci."),
        *("В Заречье нет моста.", "Он не знал ответа.", "Köprüde asansör yok."),
        *("لا يوجد مصعد في المحطة.", "इस स्टेशन पर लिफ्ट नहीं है।", "作者は不明です。"),
        *(
            "桜湯にはエレベーターがありません。",
            "青岚站没有电梯。",
            "이 역에는 엘리베이터가 없습니다.",
        ),
        *("Il n'y a pas d'ascenseur dans la gare.", "Er is geen lift op het station."),
        *(
            "None of the bridges collapsed.",
            "Nothing remains of the abbey.",
            "The price is not included.",
        ),
    )
    assert [text for text in texts if non_claims(Passage.of(text), "")] == []


def test_invention_is_asked_for_in_other_languages() -> None:
    asked = (
        *(
            "秋の俳句を一つ書いてください。",
            "猫の名前を考えてください。",
            "给我写一首关于春天的诗。",
        ),
        *("가을에 대한 시를 써 줘.", "Napisz wiersz o jesieni.", "Напиши двустишие о зиме."),
        *("Bana bir fıkra anlat.", "Skriv en dikt om hösten.", "اكتب قصيدة قصيرة عن البحر."),
        *(
            "शरद ऋतु पर एक कविता लिखो।",
            "Qual é a tua cor preferida?",
            "Was ist deine Lieblingsfarbe?",
        ),
        *("Write a tweet announcing our new lemonade.", "What should I call my parrot?"),
    )
    facts = ("谁写了这首诗？", "Кто написал стихи «Зима»?", "霧野村の名前の由来を教えてください。")
    found = [text for text in (*asked, *facts) if non_claims(Passage.of("Oslo, 1932."), text)]
    assert found == list(asked)


@given(text=st.text(), question=st.text())
def test_any_text_can_be_looked_at_for_claims(text: str, question: str) -> None:
    passage = Passage.of(text)
    assert non_claims(passage, question).keys() <= set(range(len(passage.sentences)))


def test_no_sentence_of_a_real_passage_is_left_out(data_dir: Path) -> None:
    rows = (data_dir / "wikibio_gpt3.jsonl").read_text().splitlines()
    rows += (data_dir / "phd.jsonl").read_text().splitlines()
    passages = [Passage.of(json.loads(row)["passage"]) for row in rows]
    assert not [found for p in passages if (found := non_claims(p, "Tell me about it."))]


@pytest.mark.parametrize("text", sentences("silent documents"))
def test_statements_about_silent_documents_are_no_claims(text: str) -> None:
    question = "What is known of it, of the Garmo and of the Kessel Bridge?"
    assert non_claims(Passage.of(text), question) == {0: "refusal"}


@pytest.mark.parametrize(
    "text",
    [
        "The manual is not included in the box.",
        "I do not know if he was born in Paris but he was a painter.",
        "The Garmo is not sold in France.",
        "I have no data on Marie Curie, who was born in Warsaw.",
        "Le prix est mentionné dans les documents.",
        "De prijs staat in de documenten.",
        "Das Gewicht ist in den Dokumenten angegeben.",
        "The context says that it is not waterproof.",
        "The bridge is not in Paris.",
        "Nothing in the universe travels faster than light.",
        "The documents say that it weighs three kilos.",
        "Il prezzo è nei documenti.",
    ],
)
def test_statements_about_contents_are_claims(text: str) -> None:
    assert non_claims(Passage.of(text), "What is known of it?") == {}


def test_a_number_that_was_asked_about_is_not_claimed() -> None:
    text = Passage.of("The documents do not say when the X100 was launched.")
    assert non_claims(text, "When was the X100 launched?") == {0: "refusal"}
    assert non_claims(text, "When was it launched?") == {}


def kinds(text: str, question: str) -> set[str]:
    return {claim.kind for claim in claims_of(Passage.of(text), question)}


@pytest.mark.parametrize(
    "text", sentences("refused", "referred", "pleasantry", "in other languages")
)
def test_self_descriptions_and_courtesies_claim_nothing(text: str) -> None:
    assert kinds(text, "What is it of Olof Dahlman?") <= {"refusal", "filler", "question"}


@pytest.mark.parametrize("text", sentences("refused"))
def test_stated_inabilities_are_refusals(text: str) -> None:
    assert "refusal" in kinds(text, "What is it of Olof Dahlman?")


@pytest.mark.parametrize("text", sentences("claimed"))
def test_statements_worded_like_non_claims_are_claims(text: str) -> None:
    assert kinds(text, "Is it so?") & {"fact", "hedged"}


@pytest.mark.parametrize("question", ["Who should I call?", "Where can I check the forecast?"])
def test_where_to_turn_is_a_claim_for_whoever_asks_that(question: str) -> None:
    assert kinds("Please contact the support team.", question) == {"fact"}


@pytest.mark.parametrize(
    "question",
    [
        "Come up with a tagline for a bike shop.",
        "I need a slogan for my café.",
        "Give me ideas for a birthday party.",
        "Write a polite email declining a meeting.",
        "Draft a thank-you note to my teacher.",
    ],
)
def test_drafts_on_request_claim_nothing(question: str) -> None:
    assert kinds("We look forward to it.", question) == {"creative"}


@pytest.mark.parametrize(
    "question",
    [
        "Write an email about our refund policy.",
        "Draft a letter that explains the new prices.",
        "Give me the title of his first book.",
        "What is the slogan of Acme?",
    ],
)
def test_drafts_about_facts_have_claims(question: str) -> None:
    assert kinds("We look forward to it.", question) == {"fact"}


MATERIAL = "The bridge over the harbour has 6,512,331 rivets and needs paint.\n" * 40


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("Write a poem about the sea.", "creative"),
        ("Schreibe ein Gedicht über das Meer.", "creative"),
        ("写一首关于大海的诗", "creative"),
        ("When was it opened?", "fact"),
        ("", "fact"),
    ],
)
@pytest.mark.parametrize("form", ["{asked}\n\n{material}", "{material}\n\n{asked}"])
def test_a_question_is_read_above_and_below_long_material(form: str, asked: str, kind: str) -> None:
    message = form.format(asked=asked, material=MATERIAL)
    passage = Passage.of("The waves are high and green.")
    assert [claim.kind for claim in claims_of(passage, message)] == [kind]


def test_material_is_not_searched_for_a_question() -> None:
    passage = Passage.of("Sure! The bridge was opened by a queen.")
    message = f"{MATERIAL} Write a poem about the sea. Who asks why? {MATERIAL}"
    assert [claim.kind for claim in claims_of(passage, message)] == ["fact", "fact"]


@given(st.text(max_size=6000))
def test_the_asking_part_of_a_message_is_short_and_from_its_ends(message: str) -> None:
    part = asking_part(message)
    assert len(part) <= 2100
    if len(message) <= 2000:
        assert part == message
    else:
        beginning, mark, end = part.partition("\n[.....] ")
        assert mark
        assert message.lstrip().startswith(beginning.lstrip())
        assert message.endswith(end)


@pytest.mark.parametrize("text", sentences("documents without the price"))
def test_documents_that_say_nothing_are_no_claim(text: str) -> None:
    assert non_claims(Passage.of(text), "What is the price of the lamp?") == {0: "refusal"}


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The brochure doesn't mention the fires.", "What does the brochure say about the Vento?"),
        ("The report is silent on the missing millions.", "Tell me about the bank."),
        ("The documents don't mention the price increase.", "What do they say about the lamp?"),
        ("Die Broschüre erwähnt die Brände nicht.", "Was steht in der Broschüre zum Vento?"),
        ("La brochure ne mentionne pas les incendies.", "Que dit la brochure sur la Vento ?"),
        ("El folleto no menciona los incendios.", "¿Qué dice el folleto del Vento?"),
        ("La brochure non menziona gli incendi.", "Cosa dice la brochure della Vento?"),
        ("O folheto não menciona os incêndios.", "O que diz o folheto sobre o Vento?"),
        ("De brochure vermeldt de branden niet.", "Wat zegt de brochure over de Vento?"),
    ],
)
def test_presuppositions_of_silence_are_claims(text: str, question: str) -> None:
    assert non_claims(Passage.of(text), question) == {}


@pytest.mark.parametrize(
    ("text", "question", "kind"),
    [
        ("Hello Tom! How can I help you?", "Hi, I am Tom.", "a greeting"),
        ("Nice to meet you, Tom.", "Hi, I am Tom.", "a greeting"),
        ("Hello Tom! How can I help you?", "Who wrote it?", None),
        ("Paris, thank you.", "What is the capital of France?", None),
        ("I do not know why Corvel killed nine hundred workers.", "Who is Corvel?", None),
        ("I do not know who Ada Moor is.", "Who is Ada Moor?", "a refusal"),
        ("I do not know who Ada Moor is.", "Who is he?", None),
    ],
)
def test_a_response_is_skipped_only_for_what_the_question_contains(
    text: str, question: str, kind: str | None
) -> None:
    assert nothing_to_check(Passage.of(text), question=question) == kind


@pytest.mark.parametrize("text", sentences("disclaimer"))
def test_a_disclaimer_is_no_claim(text: str) -> None:
    assert kinds(text, "Explain taxes and headaches.") <= {"filler", "refusal"}
