"""What the sentences of a response claim, and where that stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage
from resay.core.claims import Rules, is_single_sentence
from resay.core.growing_passage import GrowingPassage
from resay.plugins import Claim
from support.claims import claims_of

QUESTION = "Tell me about it."


def said(text: str, question: str = QUESTION) -> list[str]:
    return [c.standalone for c in claims_of(Passage.of(text), question) if c.is_checkable]


def own(text: str, question: str = QUESTION) -> list[str]:
    return [c.text for c in claims_of(Passage.of(text), question) if c.is_checkable]


WHOLE = [
    "It opened in 1932 and has 6,512,331 rivets.",
    "Express delivery takes one working day and costs several euros.",
    "In 1899 she moved to Riga and taught botany, but she returned in 1904.",
    "Ilse Brand was a painter who died in 1877.",
    "The mill, which was built in 1743, stands in Corby Vale.",
    "Launched at Kiel, the Valkenor carried 212 passengers.",
    "She studied in Uppsala; her teacher was Emil Krone.",
    "Ilse Brand war eine Malerin, die 1877 in Riga starb.",
    "Die Brücke wurde 1932 eröffnet und hat zwölf Tore.",
    "Le pont a été ouvert en 1932 et compte douze arches.",
    "El puente se inauguró en 1932 y tiene doce arcos.",
    "Paris, the capital of France, has two million inhabitants.",
    "Although the lift dates from 1911, it reaches the roof in 48 seconds.",
    "Its members are Ana Ruiz, Tom Beck, and Lee Song.",
    "Il s'agit d'Ana Ruiz, de Tom Beck et de Lee Song.",
    "俳優は佐伯、水野、青木です。",
    "悉尼海港大桥于1932年开放，长1149米。",
    "Мост открылся в 1932 году и имеет 12 арок.",
    "It grows in sand (which holds 3 % of water and has salt).",
    "It has a range of 45 km, but the documents do not state the price.",
    "He has not yet paid the fine.",
    "Anna has not yet paid and owes 40 euros.",
    "The company never sold cars and did not pay taxes.",
    "If the patient has a fever that lasts three days, call a doctor.",
    "He claimed that the firm, which made lamps, was bankrupt.",
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_sentence_is_one_claim_whatever_it_joins(text: str) -> None:
    assert own(text) == said(text) == [text]


def test_an_apology_with_a_claim_in_it_is_a_claim() -> None:
    text = "I have no data on Ada Moor, who was born in Riga."
    assert said(text, "Who is Ada Moor?") == [text]


def test_items_need_no_space_behind_their_bullet() -> None:
    assert said("俳優：\n\n・佐伯\n・水野") == ["俳優: 佐伯", "俳優: 水野"]


def test_items_are_claims_with_their_lead_in() -> None:
    text = "Its members are:\n\n- Ana Ruiz\n- Tom Beck, who plays drums\n\nIt was so."
    assert said(text) == [
        "Its members are: Ana Ruiz",
        "Its members are: Tom Beck, who plays drums",
        "It was so.",
    ]
    assert own(text) == ["Ana Ruiz", "Tom Beck, who plays drums", "It was so."]
    assert said("## Grey Harbour\n\n1. Ana Ruiz") == ["Grey Harbour: Ana Ruiz"]
    # What is said before the list belongs to it only where it leads in.
    assert said("Ana sings.\n\n- Tom") == ["Ana sings.", "Tom"]


TABLE = "| model | watts | made in |\n|---|---|---|\n| A1 | 500 | Graz |\n| B2 | | Cork |\n"


def test_cells_are_claims_with_their_heads() -> None:
    question = "Give a table of A1 and B2."
    assert own(TABLE, question) == ["500", "Graz", "Cork"]
    assert said(TABLE, question) == ["A1: watts: 500", "A1: made in: Graz", "B2: made in: Cork"]
    # A row that nobody asked for is a claim as well.
    assert said(TABLE, "Which heaters are there?")[0] == "model: A1"
    assert said(f"# Heaters\n\n{TABLE}", question)[0] == "Heaters: A1: watts: 500"
    years = "| year | winner |\n|---|---|\n| 1911 | Vorst |\n"
    assert said(years) == ["1911: winner: Vorst"]


def test_lines_of_fields_are_claims_with_their_heading() -> None:
    text = "## Garmo bridge\n\n**Opened:** 1932\n**Length:** 503 m\n📍 Tynefleet"
    assert own(text) == ["**Opened:** 1932", "**Length:** 503 m", "📍 Tynefleet"]
    assert said(text)[1] == "Garmo bridge: **Length:** 503 m"
    # One line that is no field makes all of them a sentence.
    letter = "Opened: 1932\nand it is long"
    assert own(letter) == [letter]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Height", "label"),
        ("## 3. Early life", "label"),
        ("The flag is `--keep`:\n\n```sh\nquorra build\n```", "fact"),
        ("## Step 2: Weighing", "label"),
        ("# Who was Ada Moor?", "label"),
        ("# Farrow mill, built in 1743", "fact"),
        ("# Ada Moor designed the press", "fact"),
        ("# Ada Moor, founder of Corvel", "fact"),
        ("# Capital of France: Lyon", "fact"),
        ("# Causes, symptoms and treatment", "label"),
        ("# 3 million people live in Oslo", "fact"),
        ("# 3 Early life", "label"),
        ("# II. Early life", "label"),
        # Nothing but its verb tells it from a title such as "Life in the sea".
        ("# Whales live in the sea", "label"),
        ("# Whales live in the sea.", "fact"),
        ("# Whales are fish", "fact"),
        ("# What whales are", "label"),
        ("# Are whales fish", "label"),
        ("# Perché è famoso", "label"),
        ("# Wale sind Fische", "fact"),
        ("# Les baleines sont des poissons", "fact"),
        ("**No, it does not swim.**\n\nMore.", "fact"),
        ("**Important!**\n\nMore.", "label"),
        ("**它从不游泳。**\n\nMore.", "fact"),
        ("**Founder: Ada Moor**", "fact"),
        ("- **Height:**", "label"),
        ("The founder was Ada Moor:", "fact"),
        ("Founder Ada Moor, architect Hans Lindner:", "fact"),
        ("Hier sind die Preise:", "label"),
        ("**Oslo**", "fact"),
        ("**Height:** 31 m", "fact"),
        ("Members:", "label"),
        ("Here are the prices:", "label"),
        ("The three colours of the flag are:", "label"),
        ("The 12 members are:", "fact"),
        ("Ada Moor designed the press:", "fact"),
        ("| a | b |\n|---|---|", "label"),
        ("| It | was opened by Ada Moor |\n|---|---|", "fact"),
        ("| Passengers carried in an average year | Opened |\n|---|---|", "label"),
        ("| It | was opened by the mayor of the town itself long ago |\n|---|---|", "fact"),
        ("It may have opened in 1932.", "hedged"),
        ("It opened on May 3.", "fact"),
        ("Wahrscheinlich wurde sie 1932 eröffnet.", "hedged"),
        ("I hope this helps!", "filler"),
        ("I don't know.", "refusal"),
        ("12.", "fact"),
    ],
)
def test_a_claim_has_a_kind(text: str, kind: str) -> None:
    assert claims_of(Passage.of(text), QUESTION)[0].kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Profile: Venn windmill", "label"),
        ("**Overview: the Venn Windmill**", "label"),
        ("# Builder: Ada Moor", "fact"),
        ("# Built in 1790: Venn windmill", "fact"),
    ],
)
def test_a_title_that_repeats_what_was_asked_about_is_a_label(text: str, kind: str) -> None:
    question = "Write a profile of the Venn windmill."
    claims = claims_of(Passage.of(f"{text}\n\nIt stands in Torsby."), question)
    assert [claim.kind for claim in claims] == [kind, "fact"]


@pytest.mark.parametrize(("head", "count"), [("Feature", 2), ("Protocol", 3), ("Merkmal", 2)])
def test_the_name_of_a_feature_is_no_claim_of_its_row(head: str, count: int) -> None:
    text = f"| {head} | TCP | UDP |\n|---|---|---|\n| Delivery | Guaranteed | Best effort |"
    claims = claims_of(Passage.of(text), "How do they differ?")
    assert [claim.text for claim in claims if claim.is_checkable][-2:] == [
        "Guaranteed",
        "Best effort",
    ]
    assert sum(claim.is_checkable for claim in claims) == count


def test_bold_text_is_a_title_only_before_other_text() -> None:
    claims = claims_of(Passage.of("**Height**\n\n- 31 m"), QUESTION)
    assert [claim.kind for claim in claims] == ["label", "fact"]


def test_rows_can_be_left_whole_and_all_sentences_scored() -> None:
    text = "# Height\n\n| a | b |\n|---|---|\n| c | 12 |\n\nI hope this helps!"
    passage = Passage.of(text)
    whole = claims_of(passage, splits=False)
    assert [(c.text, c.is_checkable) for c in whole] == [
        ("Height", False),
        ("a | b", False),
        ("c | 12", True),
        ("I hope this helps!", False),
    ]
    assert all(claim.kind == "fact" for claim in claims_of(passage, skips=False))


PARTS = [
    *("It opened in 1932 and has 12 gates. ", "She, who died in 1877, was a painter. ", "\n\n"),
    *("# Height, 1932\n", "- Tom and has\n", "| a | b |\n|---|---|\n| c | 1 |\n", "Members:\n\n"),
    *(
        "Born in Kiel, she moved and taught; he was so. ",
        "12.\n",
        "und hat, die 1877 starb. ",
        "(b)",
        "Opened: 1932\nLength: 503 m\n\n",
    ),
]
RESPONSES = st.lists(st.sampled_from(PARTS), max_size=8).map("".join) | st.text(max_size=60)


@given(text=RESPONSES, question=st.sampled_from([QUESTION, "", "What is a or c?"]))
def test_claims_are_stretches_of_their_sentences_in_order(text: str, question: str) -> None:
    passage = Passage.of(text)
    claims = claims_of(passage, question)
    assert [c.sentence for c in claims] == sorted(c.sentence for c in claims)
    assert {c.sentence for c in claims} == set(range(len(passage.sentences)))
    before: Claim | None = None
    covered: set[int] = set()
    for claim in claims:
        sentence = passage.sentences[claim.sentence]
        is_whole = (claim.start, claim.end) == (sentence.start, sentence.end)
        # Nothing is cut inside a sentence, only rows between cells, and blocks between lines.
        assert is_whole or sentence.unit == "row" or "\n" in sentence.text
        assert claim.text == text[claim.start : claim.end]
        assert sentence.start <= claim.start < claim.end <= sentence.end
        assert before is None or before.end <= claim.start
        before = claim
        covered.update(range(claim.start, claim.end))
    for sentence in passage.sentences:
        for offset in range(sentence.start, sentence.end):
            # The cell that the user named is no claim of its row.
            is_left_out = sentence.unit == "row" or not text[offset].isalnum()
            assert is_left_out or offset in covered


@given(text=RESPONSES, size=st.integers(min_value=1, max_value=40))
def test_a_response_that_is_being_written_has_the_claims_of_the_whole(text: str, size: int) -> None:
    growing, rules = GrowingPassage(), Rules(QUESTION)
    alone = is_single_sentence(Passage.of(text))
    settled = [growing.feed(text[i : i + size]) for i in range(0, len(text), size)]
    settled.append(growing.finish())
    if any(part and part.changed for part in settled):
        return
    read = [
        fields_of(claim)
        for part in settled
        if part
        for i in part.sentences
        for claim in rules.read(part.passage.sentences[i], 0, alone=alone)
    ]
    assert read == [fields_of(c) for c in claims_of(Passage.of(text), QUESTION)]


def fields_of(claim: Claim) -> tuple[object, ...]:
    return (claim.text, claim.start, claim.kind, claim.completed_text, claim.unit)


ADDED = [
    ("## Recommended dose for X four hundred tablets daily\n\nTake care.", "How do I take X?"),
    ("I don't know why X killed nine hundred workers.", "Tell me about X"),
    ("I don't know why the Corvel company poisoned its customers.", "Tell me about Corvel"),
    ("I cannot say why Boeing hid the defect.", "Tell me about Boeing"),
    ("# Max dose twelve pills\n\nx.", "dose?"),
    ("## Price forty euros\n\nIt is a lamp.", "price?"),
    ("I'm sorry to hear that Tom died in March.", "help"),
    ("Do you want to know more about how Ada Moor murdered her husband?", "Who is Ada Moor?"),
    (
        "Unfortunately, I don't have information about the nine hundred workers killed at Corvel.",
        "Tell me about Corvel",
    ),
    ("The documents do not say why Ada Moor went to prison.", "Who is Ada Moor?"),
    ("The documents don't mention that Tom Lee was the killer.", "Who is it?"),
    ("Please contact Doctor Harold Shipman for more information.", "Tell me about medicine"),
    ("Please call your doctor before taking forty pills of morphine.", "dose?"),
    ("**Dose: forty pills**\n\nx", "dose?"),
    ("**Owner: North Korea**\n\nx", "owner?"),
    ("| Owner North Korea | Dose forty |\n|---|---|\n| a | b |", "?"),
    ("Ich weiß nicht, warum Corvel neunhundert Arbeiter getötet hat.", "Erzähl mir von Corvel"),
    ("Je ne sais pas pourquoi Corvel a tué neuf cents ouvriers.", "Parle-moi de Corvel"),
    ("No sé por qué Corvel mató a novecientos obreros.", "Háblame de Corvel"),
    ("Non so perché Corvel abbia ucciso novecento operai.", "Parlami di Corvel"),
    ("Não sei por que a Corvel matou novecentos operários.", "Fale da Corvel"),
    ("Ik weet niet waarom Corvel negenhonderd arbeiders heeft gedood.", "Vertel over Corvel"),
    ("我不知道为什么科维尔公司杀害了九百名工人。", "介绍科维尔"),
    ("I don't know whether Smith stole the money in May.", "Who is Jones?"),
    ("I'm not sure when Napoleon invaded Brazil.", "history?"),
    ("I cannot confirm who bribed Senator Miller.", "x"),
    ("## Why Aspirin kills babies\n\nx", "aspirin?"),
]
TITLES = [
    ("**Owner North Korea**\n\nIt is a ship.", "Who owns the ship?"),
    ("### Winner Brazil\n\nThe cup.", "Who won the cup?"),
    ("**Founder Ada Moor**\n\nA company.", "Who founded Corvel?"),
    ("**Headquarters Paris**\n\nA company.", "Where is Corvel?"),
    ("## Capital of Australia Sydney\n\nIt is big.", "What is the capital of Australia?"),
    ("Owner: North Korea:\n- x", "owner?"),
    ("**Allergic to penicillin**\n\nIt is a drug.", "Who is Ada Moor?"),
    ("## Not for pregnant women\n\nIt is a drug.", "How is it taken?"),
    ("## Dr. Ada Moor, convicted felon\n\nA doctor.", "Who is Ada Moor?"),
    ("**Bankrupt since spring**\n\nA company.", "Tell me about Corvel"),
]
NOTHING_ADDED = [
    ("## Overview\n\nx", "Tell me about Corvel"),
    ("## History of Corvel\n\nx", "Tell me about Corvel"),
    ("**Key Features**\n\nx", "Tell me about Corvel"),
    ("### Step 1: Preparation\n\nx", "how?"),
    ("## Getting Started With Python\n\nx", "How do I learn Python?"),
    ("I don't know when Corvel was founded.", "When was Corvel founded?"),
    ("I don't know.", "When was Corvel founded?"),
    ("I'm sorry, but I don't have information about Ada Moor.", "Who is Ada Moor?"),
    ("The documents do not say who founded Corvel.", "Who founded Corvel?"),
    ("The provided context does not mention the price of the X100.", "How much is the X100?"),
    ("Hello! How can I help you today?", "hi"),
    ("Is there anything else you would like to know about Ada Moor?", "Who is Ada Moor?"),
    ("Would you like more details about Corvel?", "Tell me about Corvel"),
    ("Please consult your doctor.", "dose?"),
    ("I am unable to help with that.", "x"),
    ("## Introduction", "x"),
    ("## Conclusion\n\nx", "x"),
    ("**Note:**\n\n- x", "x"),
    ("Here are the members:\n- A", "x"),
    ("Ich weiß nicht, wann Corvel gegründet wurde.", "Wann wurde Corvel gegründet?"),
    ("Les documents ne disent pas qui a fondé Corvel.", "Qui a fondé Corvel ?"),
    ("## Advantages and Disadvantages\n\nx", "compare"),
    ("Hi there!", "hi"),
    ("Hey! 👋", "hey"),
    ("Hello", "hello"),
    ("Good morning!", "good morning"),
    ("Greetings!", "hi"),
    ("Hi, how are you?", "hi"),
    ("Hello! I'm here to help. What can I do for you?", "hi"),
    ("Hey there! What's on your mind today?", "hey"),
    ("Hi! I'm doing well, thank you. How about you?", "how are you"),
    ("Nice to meet you!", "hi, I'm Tom"),
    ("Nice to meet you, Tom!", "hi, I'm Tom"),
    ("Hello Tom! How can I assist you today?", "I'm Tom"),
    ("You're welcome! Have a great day!", "thanks"),
    (
        "I'm just a program, so I don't have feelings, but I'm here and ready to help you!",
        "how are you",
    ),
    ("Good evening! How may I be of service?", "good evening"),
    (
        "Hello! It's nice to meet you. Is there something I can help you with?",
        "hi",
    ),
    ("Bonjour ! Comment puis-je vous aider aujourd'hui ?", "bonjour"),
    ("Hallo! Wie kann ich dir heute helfen?", "hallo"),
    ("¡Hola! ¿En qué puedo ayudarte hoy?", "hola"),
    ("Goodbye! Take care!", "bye"),
    ("See you later!", "bye"),
    ("Welcome back!", "I'm back"),
    ("Happy to help!", "thanks"),
    ("No problem!", "thanks"),
    ("Anytime!", "thx"),
    ("Hello! I am an AI assistant. How can I help you today?", "hi"),
    ("Hi, I'm ready to help.", "hello"),
    ("Hi! What would you like to talk about?", "hi"),
    ("Hello, it's great to see you!", "hi"),
    ("I'm fine, thanks for asking!", "how are you?"),
    ("Hola, ¿cómo estás?", "hola"),
    ("Ciao! Come posso aiutarti oggi?", "ciao"),
    ("Olá! Como posso ajudar você hoje?", "oi"),
    ("Hoi! Hoe kan ik je helpen?", "hoi"),
    ("Guten Tag! Was kann ich für Sie tun?", "Guten Tag"),
    ("Salut ! Ça va ?", "salut"),
]


def kind_of_first(text: str, question: str, *, strict: bool) -> str:
    passage = Passage.of(text)
    alone = is_single_sentence(passage)
    rules = Rules(question, strict=strict)
    return rules.read(passage.sentences[0], 0, alone=alone)[0].kind


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("text", "question"), ADDED)
def test_words_not_in_the_question_are_claims(text: str, question: str, strict: bool) -> None:
    assert kind_of_first(text, question, strict=strict) in {"fact", "hedged"}


@pytest.mark.parametrize(("text", "question"), TITLES)
def test_titles_that_may_name_something_are_claims_for_a_strict_policy(
    text: str, question: str
) -> None:
    assert kind_of_first(text, question, strict=True) == "fact"
    assert kind_of_first(text, question, strict=False) == "label"


@pytest.mark.parametrize(("text", "question"), NOTHING_ADDED)
def test_words_in_the_question_are_no_claims(text: str, question: str) -> None:
    claims = claims_of(Passage.of(text), question)
    assert claims[0].kind not in {"fact", "hedged"}
