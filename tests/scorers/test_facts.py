from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage, Request, Verdict
from resay.plugins import Evidence, Samples, Scores, registry
from resay.scorers.common.quotations import quotations_in

pytestmark = pytest.mark.anyio

SAMPLES = [
    "The Tollen bridge opened in 1932. Its painter was Mary Doyle.",
    "The Tollen bridge opened in 1932. Its painter was Tom Baker.",
    "It was opened in 1932. Its painter was Ann Reed.",
]


async def score(
    sentences: list[str], samples: list[str], question: str = "", **config: Any
) -> Scores:
    facts = registry()["facts"]
    request = Request.of(question) if question else Request(())
    evidence = Evidence(Samples(samples), request=request)
    scorer = facts(facts.Config.model_validate(config))
    return await scorer.score(Passage.from_sentences(sentences), evidence)


def check(response: str, samples: list[str], question: str) -> Verdict:
    guard = Guard({"chain": [{"method": "facts"}], "cache": {"store": "none"}})
    return guard.check(response, samples=samples, question=question)


async def test_a_repeated_fact_is_supported_and_an_invented_one_is_not() -> None:
    scores = await score(
        ["The Tollen bridge opened in 1932.", "Its painter was Harold Finch."], SAMPLES
    )
    opened, painter = scores.sentences
    assert opened is not None
    assert painter is not None
    assert opened < 0.3
    assert painter > 0.65


async def test_a_comparison_ends_where_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def abandoned() -> None:
        raise TimeoutError

    name = "resay.scorers.common.fact_comparison.stop_if_abandoned"
    monkeypatch.setattr(name, abandoned)
    with pytest.raises(TimeoutError):
        await score(["The Tollen bridge opened in 1932."], SAMPLES)


async def test_a_wrong_fact_weighs_more_than_other_words() -> None:
    samples = ["The grey bridge opened in 1932 with a parade."] * 4
    reworded, wrong = (
        await score(["The bridge was inaugurated solemnly in 1932."], samples),
        await score(["The grey bridge opened in 1923 with a parade."], samples),
    )
    assert reworded.sentences[0] is not None
    assert wrong.sentences[0] is not None
    assert reworded.sentences[0] < 0.5 < wrong.sentences[0]


async def test_why_says_which_fact_and_what_is_said_instead() -> None:
    scores = await score(["The Tollen bridge opened in 1923."], SAMPLES)
    assert scores.reasons == ("'1923' is in 0 of 3 texts compared; most of them say '1932'",)


async def test_a_sample_that_disagrees_has_the_higher_entry() -> None:
    scores = await score(
        ["The bridge opened in 1932."],
        ["The bridge opened in 1932.", "The bridge opened in 1923.", "It opened in 1932."],
    )
    supports, contradicts, other = (column[0] for column in scores.columns)
    assert supports == 0.0
    assert other is not None
    assert contradicts is not None
    assert other < 0.5 < contradicts


def test_a_flagged_sentence_is_contradicted_by_a_sample_that_says_otherwise() -> None:
    verdict = check("The Tollen bridge opened in 1923.", SAMPLES, "When did it open?")
    (sentence,) = verdict.sentences
    assert sentence.flagged
    assert sentence.contradicted_by is not None
    assert "1932" in sentence.contradicted_by.text


async def test_one_sample_full_of_numbers_does_not_count_as_disagreement() -> None:
    sentence = ["The Tollen bridge opened in 1932."]
    numbers = " ".join(str(n) for n in range(3_000, 3_300))
    before = await score(sentence, SAMPLES, disagreement=1.0)
    after = await score(sentence, [*SAMPLES, f"{SAMPLES[0]} {numbers}"], disagreement=1.0)
    assert before.sentences[0] is not None
    assert after.sentences[0] is not None
    assert after.sentences[0] <= before.sentences[0] + 0.05


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (
            "What is the capital of France?",
            ["The capital is Paris.", "Paris.", "It is Paris.", "Paris is the capital of France."],
        ),
        (
            "How long is the Orra tunnel?",
            ["It is 5 km long.", "5,000 m", "Its length is five kilometres.", "5000 metres long"],
        ),
        (
            "On which day was the bridge opened?",
            ["It opened on 19 March 1932.", "March 19, 1932", "On 19.03.1932.", "1932-03-19"],
        ),
        (
            "What does the stadium seat?",
            ["It seats 41,870 people.", "About 42,000", "Roughly 42,000.", "41,870 spectators"],
        ),
        ("A pen costs 2 euros. What do 6 cost?", ["6 pens cost 12 euros.", "€12", "12 euros"]),
        ("Is a whale a mammal?", ["Yes.", "A whale is a mammal.", "Yes, whales are mammals."]),
        ("Do spiders have wings?", ["No.", "Spiders do not have wings.", "No, they don't."]),
        (
            "Wann wurde die Brücke eröffnet?",
            ["Die Eröffnung war 1932.", "Sie wurde 1932 eröffnet.", "Im Jahr 1932", "1932"],
        ),
        (
            "云河大桥是什么时候开通的？",
            ["云河大桥于1932年开通。", "1932年。", "大桥是1932年开通的。"],
        ),
        ("호주의 수도는 어디입니까?", ["호주의 수도는 캔버라입니다.", "캔버라.", "캔버라입니다."]),
        ("ما هي عاصمة أستراليا؟", ["عاصمة أستراليا هي كانبرا.", "كانبرا.", "هي كانبرا."]),
        ("How do I sort?", ["Use `sorted`.", "Call `sorted`.", "Use sorted: `sorted(xs)`"]),
    ],
)
def test_answers_in_other_words_are_consistent(question: str, answers: list[str]) -> None:
    for i, answer in enumerate(answers):
        others = [*answers[:i], *answers[i + 1 :], answers[i]]
        assert check(answer, others, question).decision == "consistent", answer


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How many gates has it?", ["It has 11 gates.", "23 gates", "It has 37 gates.", "42"]),
        ("Name the mayor.", ["Tom Varley", "Hugh Pell", "The mayor is Amos Reed.", "Carl Whit"]),
        (
            "Was it built in 1911 or 1921?",
            ["In 1911.", "1921", "It was built in 1921.", "In 1921."],
        ),
        (
            "Does it contain lactose?",
            ["It contains lactose.", "No.", "It does not contain lactose.", "It doesn't."],
        ),
        (
            "How many seconds are in 17 days?",
            ["1,468,800 seconds", "1,486,800 seconds", "1,464,800 seconds", "1,400,000 seconds"],
        ),
        (
            "Where is the router's page?",
            ["Open 192.168.4.1.", "Open 10.0.7.1.", "Open 192.168.88.1.", "Open 172.16.3.1."],
        ),
        (
            "Facts of the ferry?",
            [f"- **Length:** 84 m\n- **Captain:** {n}" for n in ("Rory Flint", "Per Holm")]
            + ["- **Length:** 84 m\n- **Captain:** Rory Flint", "- **Captain:** Luis Vega"],
        ),
        ("谁设计了大桥？", ["王伟设计了大桥。", "李娜。", "设计者是张强。", "刘洋设计的。"]),
        (
            "Wo starb der Maler?",
            ["Er starb in Wien.", "Er starb in Graz.", "In Linz.", "Der Maler starb in Passau."],
        ),
    ],
)
def test_answers_that_differ_are_flagged(question: str, answers: list[str]) -> None:
    verdict = check(answers[0], answers[1:], question)
    assert verdict.decision == "flagged"


@pytest.mark.parametrize("question", ["Was weißt du von dem Turm?", "Was ist der Turm von Krell?"])
def test_german_questions_are_no_yes_no_questions(question: str) -> None:
    answers = ["Er wurde 1612 erbaut.", "Der Turm wurde 1612 erbaut.", "Erbaut wurde er 1612."]
    assert not check(answers[0], answers[1:], question).flagged


async def test_words_of_the_question_are_no_facts_of_the_answer() -> None:
    answer, samples = ["The Orlo tunnel has 31 lamps."], ["31", "31 of them", "31 lamps"]
    alone = await score(answer, samples)
    asked = await score(answer, samples, "How many lamps has the Orlo tunnel?")
    assert asked.sentences == (0.0,)
    assert alone.sentences[0] is not None
    assert alone.sentences[0] > 0.2


async def test_documents_in_a_long_question_are_not_taken_for_granted() -> None:
    page = "Orlo has 31 lamps and was built by Ida Brandt. " * 30
    scores = await score(
        ["Ida Brandt built it."], ["Carl Whit built it."] * 3, f"{page}\nWho built it?"
    )
    assert scores.sentences[0] is not None
    assert scores.sentences[0] > 0.5


async def test_a_negated_claim_is_another_claim() -> None:
    samples = ["The old bridge does not carry trains."] * 3
    same = await score(["The old bridge does not carry trains."], samples)
    other = await score(["The old bridge carries trains."], samples)
    assert same.sentences == (0.0,)
    assert other.sentences[0] is not None
    assert other.sentences[0] > 0.5


async def test_marks_of_sources_and_labels_of_lists_are_no_numbers() -> None:
    assert (await score(["It opened in 1932 [4][5]."], SAMPLES)).sentences == (
        await score(["It opened in 1932."], SAMPLES)
    ).sentences
    listed = await score(["It has 2 lanes."], ["1. Red\n2. Blue\n3. Green"] * 3)
    assert listed.columns[0][0] is not None
    assert listed.columns[0][0] > 0.5


CITING = [
    "{} [doc1].",
    "{}【4:0†source】.",
    "{}.[^1]",
    "{} (Document 1).",
    "{} (Doc. 2, p. 14).",
    "{}.<sup>7</sup>",
    "{} (handbook.pdf, p. 12).",
    "{} (Moor, 2019).",
    "According to Document 7, {}.",
    "Document 7 states that {}.",
    "{}.\n\nSources:\n[1] handbook.pdf\n[2] Moor, 2019",
    "{}.\n\n**Sources:**\n- Document 7\n- https://example.org/h",
    "{}.\n\n## References\n1. Moor, K. (2019). Locks of the World. Dover Press.",
    "{}.[^1]\n\n[^1]: Safety Handbook, p. 12",
]


@pytest.mark.parametrize("form", CITING)
async def test_citations_are_no_facts(form: str) -> None:
    said = "the lock opens with code 4711"
    others = ["The lock opens with code 4711."] * 3 + ["You open the lock with the code 4711."]
    question = "How does the lock open?"
    verdict = check(form.format(said), others, question)
    plain = check(f"{said}.", others, question)
    assert verdict.score == pytest.approx(plain.score)
    # Neither are the marks of a sample.
    cited = [form.format(said)] * 3 + others[3:]
    assert check(f"{said}.", cited, question).decision == "consistent"
    assert check(form.format(said.replace("11", "12")), others, question).flagged


async def test_a_list_of_sources_is_listed_as_unscored() -> None:
    text = "It opens with code 4711.\n\nSources: [1] handbook.pdf"
    verdict = check(text, ["It opens with code 4711."] * 3, "How does it open?")
    assert verdict.decision == "consistent"
    assert [part.text for part in verdict.unscored] == ["Sources: [1] handbook.pdf"]


async def test_disagreement_mixes_in_how_little_the_samples_say_of_each_other() -> None:
    sentences = ["The Tollen bridge opened in 1932.", "Its painter was Harold Finch."]
    by_weight = [
        (await score(sentences, SAMPLES, disagreement=weight)).sentences for weight in (0, 0.5, 1)
    ]
    for alone, half, shared in zip(*by_weight, strict=True):
        assert alone is not None
        assert shared is not None
        assert half == pytest.approx(0.5 * alone + 0.5 * shared)
    first, second = by_weight[-1]
    assert first == second


async def test_samples_that_repeat_each_other_agree() -> None:
    sentence = ["The Tollen bridge opened in 1932."]
    agreed = await score(sentence, [SAMPLES[0]] * 3, disagreement=1.0)
    disputed = await score(sentence, SAMPLES, disagreement=1.0)
    invented = await score(
        sentence,
        ["The bridge is 40 m long.", "Ann Reed built it in 1950.", "It fell on 3 May 1911."],
        disagreement=1.0,
    )
    alone = await score(sentence, SAMPLES[:1], disagreement=1.0)
    assert agreed.sentences == alone.sentences == (0.0,)
    assert disputed.sentences[0] is not None
    assert invented.sentences[0] is not None
    assert 0.2 < disputed.sentences[0] < 0.6 < invented.sentences[0]


async def test_a_sample_with_another_name_in_the_same_sentence_is_not_silent() -> None:
    others = "She was born in Tesen. She collected mosses. She moved to Riga."
    sentence = ["Her teacher was Emil Krone."]
    another = await score(sentence, [f"Her teacher was Hugo Stahl. {others}"] * 4)
    silent = await score(sentence, [others] * 4)
    assert another.sentences[0] is not None
    assert silent.sentences[0] is not None
    assert silent.sentences[0] < 0.65 < another.sentences[0]


async def test_without_samples_it_says_nothing() -> None:
    assert (await score(["It opened in 1932."], [])).sentences == (None,)


WORDS = st.sampled_from(
    [
        "bridge",
        "opened",
        "1932",
        "5",
        "km",
        "Mary",
        "Doyle",
        "not",
        "red",
        "half",
        "March",
        "19",
        "No",
        "1,000",
        "€",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(
    st.lists(SENTENCES, min_size=1, max_size=4),
    st.lists(SENTENCES, min_size=1, max_size=4),
    SENTENCES,
)
def test_a_sentence_is_scored_by_itself(
    sentences: list[str], samples: list[str], question: str
) -> None:
    import anyio

    async def both() -> None:
        whole = await score(sentences, samples, question)
        assert len(whole.columns) == len(samples)
        for i, sentence in enumerate(sentences):
            alone = await score([sentence], samples, question)
            assert alone.sentences == (whole.sentences[i],)
            assert alone.reasons == (whole.reasons[i],)

    anyio.run(both)


@given(SENTENCES, st.integers(1, 4))
def test_sentences_in_every_sample_are_not_doubted(sentence: str, count: int) -> None:
    import anyio

    async def run() -> None:
        assert (await score([sentence], [sentence] * count)).sentences == (0.0,)

    anyio.run(run)


async def test_math_takes_part_in_comparisons() -> None:
    samples = ["The bell weighs 5.2 kg.", "The bell weighs 5,200 g.", "The bell weighs $5.2$ kg."]
    same, other = (
        await score(["The bell weighs $5.2\\,\\text{kg}$."], samples),
        await score(["The bell weighs $7.4\\,\\text{kg}$."], samples),
    )
    assert same.sentences[0] == 0.0
    assert (other.sentences[0] or 0.0) > 0.7


# Question, what the samples say, what says the same, and what says something else in much the same
# words.
TURNED = [
    pytest.param(
        "What did sales do in 2023?",
        ["Sales rose in 2023.", "In 2023 they grew.", "They went up in 2023.", "They grew."],
        "Sales increased in 2023.",
        "Sales fell in 2023.",
        id="opposites",
    ),
    pytest.param(
        "May I park in the yard?",
        ["Parking there is forbidden.", "It is prohibited.", "Parking in the yard is not allowed."],
        "Parking in the yard is banned.",
        "Parking in the yard is allowed.",
        id="a negation and an opposite",
    ),
    pytest.param(
        "Wann nehme ich die Tablette?",
        [
            "Vor dem Essen.",
            "Die Tablette nimmt man vor dem Essen.",
            "Sie wird vor dem Essen genommen.",
        ],
        "Die Tablette nimmt man vor dem Essen ein.",
        "Die Tablette nimmt man nach dem Essen ein.",
        id="opposites in German",
    ),
    pytest.param(
        "Is membership legal?",
        ["Membership is legal.", "It is legal.", "Membership there is legal."],
        "Membership is legal.",
        "Membership is illegal.",
        id="a prefix",
    ),
    pytest.param(
        "How often do I take it?",
        ["Twice a day.", "Take it two times a day.", "You take it twice a day."],
        "Take it two times a day.",
        "Take it once a day.",
        id="how often",
    ),
    pytest.param(
        "Who took over whom?",
        [
            "Korvel acquired Tamsin in 2014.",
            "Tamsin was bought by Korvel.",
            "Korvel bought Tamsin.",
        ],
        "Tamsin was acquired by Korvel in 2014.",
        "Tamsin acquired Korvel in 2014.",
        id="who did it to whom",
    ),
    pytest.param(
        "How are the firms related?",
        [
            "Korvel is the owner of Tamsin.",
            "Korvel is Tamsin's owner.",
            "Tamsin's owner is Korvel.",
        ],
        "Tamsin's owner is Korvel.",
        "Tamsin is the owner of Korvel.",
        id="whose",
    ),
    pytest.param(
        "Which tower is taller?",
        ["Aldby is taller than Quern.", "Quern is shorter than Aldby.", "Aldby is taller."],
        "Quern is shorter than Aldby.",
        "Quern is taller than Aldby.",
        id="a comparison",
    ),
    pytest.param(
        "How did the match end?",
        ["Aldby won 3-1.", "It ended 3-1 for Aldby.", "Aldby beat Quern 3-1."],
        "Aldby beat Quern 3-1.",
        "Aldby beat Quern 1-3.",
        id="a result",
    ),
    pytest.param(
        "What is the number?",
        ["+49 30 1234 5678", "The number is +49 30 12345678.", "Call 030 12345678."],
        "Call +49 30 12 34 56 78.",
        "Call +49 30 1243 5678.",
        id="a telephone number",
    ),
    pytest.param(
        "What do both weigh?",
        ["The Zorvik weighs 31 kg and the Kelmora 48 kg.", "Zorvik: 31 kg. Kelmora: 48 kg."] * 2,
        "The Kelmora weighs 48 kg and the Zorvik 31 kg.",
        "The Kelmora weighs 31 kg and the Zorvik 48 kg.",
        id="two values",
    ),
    pytest.param(
        "Make a table of their weights.",
        [
            "| name | weight |\n|---|---|\n| Zorvik | 31 kg |\n| Kelmora | 48 kg |",
            "- Zorvik: 31 kg\n- Kelmora: 48 kg",
            "The Zorvik weighs 31 kg, the Kelmora 48 kg.",
        ],
        "| name | weight |\n|---|---|\n| Kelmora | 48 kg |\n| Zorvik | 31 kg |",
        "| name | weight |\n|---|---|\n| Kelmora | 31 kg |\n| Zorvik | 48 kg |",
        id="two rows",
    ),
    pytest.param(
        "Make a table of them.",
        [
            "| | length | width |\n|---|---|---|\n| Zorvik | 31 cm | 12 cm |",
            "| | width | length |\n|---|---|---|\n| Zorvik | 12 cm | 31 cm |",
            "Zorvik: length 31 cm, width 12 cm",
        ],
        "| | width | length |\n|---|---|---|\n| Zorvik | 12 cm | 31 cm |",
        "| | length | width |\n|---|---|---|\n| Zorvik | 12 cm | 31 cm |",
        id="two columns",
    ),
    pytest.param(
        "In which order are they added?",
        ["First salt, then flour, then milk.", "Salt, flour, milk.", "1. Salt\n2. Flour\n3. Milk"],
        "Add salt, then flour and milk.",
        "Add milk, then flour and salt.",
        id="an order",
    ),
    pytest.param(
        "Who wrote it?",
        [
            "It was written by Mary Doyle in 1932.",
            "By Mary Doyle, in 1932.",
            "Mary Doyle wrote it.",
        ],
        "It was written by Mary Doyle in 1932.",
        "It was written by Mary Boyle in 1932.",
        id="a letter of a name",
    ),
]


@pytest.mark.parametrize(("question", "samples", "right", "wrong"), TURNED)
def test_the_same_words_may_say_something_else(
    question: str, samples: list[str], right: str, wrong: str
) -> None:
    assert check(right, samples, question).decision == "consistent"
    assert check(wrong, samples, question).decision == "flagged"


def test_different_values_in_samples_are_reported() -> None:
    (opposite,) = check(
        "Sales fell in 2023.", ["Sales rose in 2023."] * 4, "How were sales?"
    ).sentences
    assert opposite.reason == "4 of 4 samples say otherwise, such as 'Sales rose in 2023.'"
    (name,) = check(
        "It was led by Ann Hart.", ["It was led by Ann Hunt."] * 4, "Who led it?"
    ).sentences
    assert name.reason == "'Hart' is in 0 of 4 samples; most of them say 'Hunt'"


def test_additions_of_few_samples_are_not_doubted_for_silence() -> None:
    samples = ["Strontium.", "It is strontium, number 38.", "Strontium (38).", "That is strontium."]
    verdict = check("It is strontium, number 38.", samples, "Which element has the symbol Sr?")
    assert verdict.decision == "consistent"


# Answers without a number, a name or a new word; and short samples that share nothing.
DISAGREEING = [
    ("Which option is right?", "The answer is B.", ["The answer is C.", "C", "Option C"]),
    ("Which vitamin do I lack?", "You lack vitamin D.", ["You lack vitamin K.", "K", "Vitamin K."]),
    ("What is 7 times 8?", "8.", ["56.", "7 times 8 is 56.", "56"]),
    ("What is the capital of Canada?", "Canada.", ["Ottawa.", "Ottawa", "It is Ottawa."]),
    ("What colour is it?", "purple", ["green", "yellow", "blue", "red", "orange"]),
    ("What is it?", "A kind of bird.", ["It is a fish.", "A tool.", "Some cloth.", "An old game."]),
    ("Which is larger, x or y?", "y", ["x", "x.", "It is x"]),
    ("Was it hot or cold?", "hot", ["cold", "Cold.", "It was cold."]),
    ("加拿大的首都是哪里？", "加拿大", ["渥太华", "渥太华。", "是渥太华"]),
]
AGREEING = [
    ("Which option is right?", "The answer is B.", ["B", "B.", "Option B", "The answer is B."]),
    ("Which vitamin do I lack?", "You lack vitamin D.", ["Vitamin D.", "D", "It is vitamin D."]),
    ("What is the capital of Canada?", "Canada.", ["Canada.", "Canada", "It is Canada."]),
    ("What colour is it?", "purple", ["purple", "Purple.", "It is purple.", "violet"]),
    ("What is it?", "It is a bird.", ["A bird.", "Birds.", "a bird", "It is a kind of bird."]),
    (
        "What did sales do?",
        "They increased.",
        ["They rose.", "They grew.", "They went up.", "Grew."],
    ),
    (
        "May I park?",
        "It is forbidden.",
        ["It is not allowed.", "It is prohibited.", "No.", "Banned."],
    ),
]


@pytest.mark.parametrize(("question", "answer", "samples"), DISAGREEING)
async def test_answers_that_share_nothing_are_flagged(
    question: str, answer: str, samples: list[str]
) -> None:
    assert check(answer, samples, question).flagged


@pytest.mark.parametrize(("question", "answer", "samples"), AGREEING)
async def test_answers_that_share_what_they_say_are_not(
    question: str, answer: str, samples: list[str]
) -> None:
    assert check(answer, samples, question).decision == "consistent"


async def test_an_article_a_pronoun_or_an_initial_is_no_letter() -> None:
    samples = ["J. Moor built it, I think.", "A man named J. Moor.", "It was J. Moor."]
    verdict = check("A certain J. Moor built it.", samples, "Who built it?")
    assert verdict.decision == "consistent"


@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        ("B", ["b", "(b)", "b."]),
        ("A", ["a", "a)", "Option a"]),
        ("The answer is C.", ["The answer is c.", "It is c.", "c) because it is"]),
    ],
)
async def test_a_letter_may_be_small_in_the_samples(answer: str, samples: list[str]) -> None:
    assert check(answer, samples, "Which one?").decision == "consistent"
    other = [sample.replace(answer.strip(".")[-1].lower(), "d") for sample in samples]
    assert check(answer, other, "Which one?").flagged


# The sentence, the samples, and the reason.
REASONS = [
    (
        "The tower has 12 bells.",
        ["The tower has 12 bells.", "The tower is old.", "The tower is tall.", "Built of stone."],
        "'12' is in 1 of 4 texts compared",
    ),
    (
        "It opened in 1932.",
        ["It has two lanes.", "It has two lanes and a path.", "Two lanes."],
        "'1932' is in 0 of 3 texts compared",
    ),
    (
        "It opened in 1932.",
        ["It opened in 1950.", "It opened in 1950 at noon.", "It opened in 1951."],
        "'1932' is in 0 of 3 texts compared; most of them say '1950'",
    ),
    (
        "It is 5 km long.",
        ["It is 5,000 m long.", "It is 9 km long.", "It is 9 km."],
        "'5 km', or the same in another form, is in 1 of 3 texts compared; most of them say '9 km'",
    ),
    (
        "It has 8 rooms.",
        ["It cost 8 million dollars.", "It cost 8 million.", "It has 9 rooms."],
        "0 of 3 texts compared have '8' in this sense; 1 of them says '9'",
    ),
    (
        "Zurich hosts concerts 1932.",
        ["It has lamps. It is old. The bridge opened in 1932."] * 3,
        "'1932' is in 3 of 3 texts compared, but beside other words in 3",
    ),
    (
        "Sales fell.",
        ["Sales rose.", "Sales rose in May.", "Sales fell."],
        "2 of 3 texts compared say otherwise, such as 'Sales rose.'",
    ),
    ("purple", ["green", "blue", "red"], "0 of 3 texts compared have a word of it, or a synonym"),
]


@pytest.mark.parametrize(("sentence", "samples", "reason"), REASONS)
async def test_reasons_are_true(sentence: str, samples: list[str], reason: str) -> None:
    scores = await score([sentence], samples)
    assert scores.reasons == (reason,)


LINK = "See https://example.org/docs/a-b for it."


@pytest.mark.parametrize(
    ("answer", "samples", "flagged"),
    [
        (LINK, [LINK, "It is at https://www.Example.org/docs/a-b/.", LINK], False),
        (LINK, [LINK.replace("a-b", "a-b/c"), LINK.replace("a-b", "a-bc")], True),
        (LINK, [LINK.replace("docs", "info"), LINK.replace("org", "com")], True),
        (LINK, ["Look into the manual.", "See the manual for it."], True),
        ("Write to info@moor.org.", ["Write to info@moor.org!", "It is info@moor.org."], False),
        ("Write to info@moor.org.", ["Write to info@moor.organic.", "To my-info@moor.org."], True),
    ],
)
async def test_links_and_addresses_are_compared_as_a_whole(
    answer: str, samples: list[str], flagged: bool
) -> None:
    others = [*samples, f"{samples[-1]} "]
    assert check(answer, others, "Where do I find help?").flagged is flagged


@pytest.mark.parametrize(
    "link",
    [
        "https://www.harbour.example/forms/permit.pdf",
        "http://harbour.example/forms/permit.pdf",
        "harbour.example/forms/permit.pdf",
        "www.harbour.example/forms/permit.pdf",
        "HTTPS://WWW.HARBOUR.EXAMPLE/forms/permit.pdf",
        "https://harbour.example:443/forms/permit.pdf",
        "https://harbour.example./forms/permit.pdf",
        "https://harbour.example/forms/%70ermit.pdf",
        "https://harbour.example/forms/permit.pdf?utm_source=chat",
        "[the form](https://harbour.example/forms/permit.pdf)",
        "`harbour.example/forms/permit.pdf`",
    ],
)
def test_a_link_that_is_written_otherwise_is_the_same(link: str) -> None:
    samples = ["The form is at https://www.harbour.example/forms/permit.pdf."] * 3
    samples += ["You find the form at [this page](https://harbour.example/forms/permit.pdf)."]
    assert check(f"The form is at {link}.", samples, "Where is it?").decision == "consistent"


@pytest.mark.parametrize(
    "link",
    [
        "https://www.harbour.example/forms/",
        "harbour.example/forms/permits.pdf",
        "www.harbor.example/forms/permit.pdf",
        "[the form](https://harbour.example/form/permit.pdf)",
        "https://harbour.example/forms/permit.pdf?lang=en",
    ],
)
def test_another_link_is_flagged(link: str) -> None:
    samples = ["The form is at https://www.harbour.example/forms/permit.pdf."] * 3
    samples += ["You find the form at [this page](https://harbour.example/forms/permit.pdf)."]
    assert check(f"The form is at {link}.", samples, "Where is it?").flagged


@pytest.mark.parametrize(
    "sentence",
    [
        "Register at https://www.portal-{}.example/new.",
        "Register at portal-{}.example/new.",
        "Register on portal-{}.example today.",
        "See the [guide](https://example.org/{}).",
        "[1](https://example.org/{}) says how to register.",
    ],
)
def test_links_that_no_two_samples_repeat_are_invented(sentence: str) -> None:
    answers = [sentence.format(word) for word in ("north", "south", "east", "west", "upper")]
    assert check(answers[0], answers[1:], "Where do I register?").flagged


def test_a_citation_with_a_link_is_consistent_with_samples_that_cite_nothing() -> None:
    answer = "The Tollen bridge opened in 1932 [1](https://example.org/tollen)."
    assert check(answer, SAMPLES, "When did it open?").decision == "consistent"


QUESTION = "What can you tell me?"

ABBREVIATIONS = [
    "No. 3",
    "no. 3",
    "Nos. 3 and 4",
    "Nr. 3",
    "Fig. 3",
    "Art. 5",
    "Sec. 2",
    "vol. 2",
    "p. 12",
    "pp. 12-14",
    "approx. 5",
    "St. John",
    "ch. 4",
    "Eq. 4",
    "para. 7",
    "Bd. 2",
    "núm. 3",
    "Op. 9",
    "Rn. 9",
    "No. IV",
]


@pytest.mark.parametrize("label", ABBREVIATIONS)
@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        (
            "The bridge opened in 1932 ({}).",
            [
                "The bridge was opened in 1932 ({}).",
                "In 1932 the bridge opened ({}).",
                "The bridge opened ({}) in 1932.",
            ],
        ),
        (
            "The bridge was listed as {} in 1932.",
            [
                "In 1932 the bridge was listed as {}.",
                "As {} the bridge was listed in 1932.",
                "The bridge was listed in 1932 as {}.",
            ],
        ),
    ],
)
def test_an_abbreviation_neither_negates_nor_ends_a_sentence(
    label: str, answer: str, samples: list[str]
) -> None:
    verdict = check(answer.format(label), [sample.format(label) for sample in samples], QUESTION)
    assert verdict.decision == "consistent"
    assert verdict.sentences[0].score is not None
    assert verdict.sentences[0].score < 0.1


def test_another_number_behind_an_abbreviation_is_wrong() -> None:
    samples = ["The bridge is No. 4.", "It is bridge No. 4.", "Bridge No. 4."]
    assert check("The bridge is No. 3.", samples, QUESTION).decision == "flagged"


def test_a_number_at_the_start_is_no_answer() -> None:
    samples = ["The best is No. 3.", "Best of all is No. 3.", "It is No. 3 that is best."]
    assert check("No. 3 is the best.", samples, QUESTION).decision == "consistent"


@pytest.mark.parametrize(
    ("samples", "value", "quote"),
    [
        (
            [
                "It has 33 lamps and opened in 1932.",
                "It has 22 lamps.",
                "Lit by 33 lamps, it opened.",
            ],
            "most of them say '33'",
            "It has 33 lamps and opened in 1932.",
        ),
        (
            ["Its lamps, 11 of them, are old.", "It has 22 lamps.", "Lit by 33 lamps, it opened."],
            "1 of them says '22'",
            "It has 22 lamps.",
        ),
    ],
)
def test_the_sentence_that_has_the_value_of_the_reason_is_quoted(
    samples: list[str], value: str, quote: str
) -> None:
    (claim,) = check("It has 31 lamps.", samples, "Tell me about the bridge.").claims
    assert (claim.reason or "").endswith(value)
    assert claim.contradicted_by is not None
    assert claim.contradicted_by.text == quote


def test_one_contradicting_text_is_reported_in_the_singular() -> None:
    samples = ["The bridge is 14 m long.", "The bridge is long.", "The bridge is quite long."]
    verdict = check("The bridge is 12 m long.", samples, QUESTION)
    assert "1 of them says '14 m'" in (verdict.sentences[0].reason or "")


@pytest.mark.parametrize(
    "mark",
    [
        "(Doc. 3)",
        "[Doc. 3]",
        "[ref. 5]",
        "(Ref. 12)",
        "(doc. 3)",
        "[Refs. 3, 4]",
        "(see Ref. 12)",
        "(Docs. 3 and 4)",
        "[Src. 2]",
        "(handbook.pdf, p. 12)",
    ],
)
@pytest.mark.parametrize("answer", ["It opened in 1932 {}.", "It opened in 1932.{}"])
def test_a_mark_with_an_abbreviation_is_no_sentence_of_its_own(answer: str, mark: str) -> None:
    samples = ["It was opened in 1932.", "It opened in 1932.", "It was in 1932 that it opened."]
    verdict = check(answer.format(mark), samples, QUESTION)
    assert verdict.decision == "consistent"
    assert not verdict.unscored
    assert len(verdict.sentences) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("The bridge opened in March 1932.", "'March 1932' is in 1 of 4 texts compared"),
        ("The bridge opened in May 1932.", "'May 1932' is in 0 of 4 texts compared"),
    ],
)
async def test_a_text_that_says_only_the_year_does_not_say_the_month(answer: str, why: str) -> None:
    samples = ["It opened in 1932.", "The bridge opened in March 1932.", "Opened 1932.", "In 1932."]
    (reason,) = (await score([answer], samples)).reasons
    assert reason is not None
    assert reason.startswith(why)
    assert "a part of it in 3" in reason


SAID = 'In 1940 Moor said: "We shall build the bridge again."'


@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        (SAID, ["Moor said “We shall build the bridge again!” in 1940."]),
        (SAID, ["In 1940 Moor said that we shall build the bridge again."]),
        (
            SAID.replace("shall build", "shall ..."),
            ["In 1940 Moor: «We shall build the bridge again»."],
        ),
        # Some leave it out.
        (SAID, [SAID, "Moor gave a speech in 1940."]),
        # Nobody quotes anything.
        ('Moor died in 1951 as the "old man of the bridge".', ["Moor died in 1951."]),
        ('The "state of the art" lock opens with 4711.', ["The lock opens with 4711."]),
        ('The "smart" lock opens with 4711.', ["The lock opens with 4711."]),
        # Titles in other marks, or none.
        ('"The Old Bridge Man" appeared in 1952.', ["*The Old Bridge Man* appeared in 1952."]),
        ('"The Old Bridge Man" appeared in 1952.', ["The Old Bridge Man appeared in 1952."]),
        (
            "Moor sagte: „Wir bauen die Brücke wieder auf!“",
            ["Moor sagte: »Wir bauen die Brücke wieder auf.«"],
        ),
        (
            "« Nous reconstruirons le pont », dit Moor.",
            ['Moor dit : "Nous reconstruirons le pont."'],
        ),
        ("モーア「橋をもう一度建てよう」", ["モーア『橋をもう一度建てよう』"]),
        # These marks quote nothing.
        ('One pipe is 5" wide, the other 7" wide.', ['One pipe is 5" wide and the other 7" wide.']),
        ("The dogs' owners blame the neighbours' cats.", ["The dogs' owners blame their cats."]),
    ],
)
def test_a_quotation_is_compared_as_a_whole_however_it_is_marked(
    answer: str, samples: list[str]
) -> None:
    others = [f"{text}{' ' * i}" for i in range(2) for text in (*samples, samples[0])]
    assert check(answer, others, "What about Moor?").decision == "consistent"


@pytest.mark.parametrize(
    ("answer", "instead"),
    [
        (SAID, 'In 1940 Moor said: "No stone will be left standing."'),
        (
            "Moor sagte 1940: „Wir bauen die Brücke wieder auf.“",
            "Moor sagte 1940: „Kein Stein bleibt auf dem anderen.“",
        ),
        (
            "Moor dit en 1940 : « Nous reconstruirons le pont. »",
            "Moor dit en 1940 : « Aucune pierre ne restera debout. »",
        ),
        ("モーアは「橋をもう一度建てよう」と言った。", "モーアは「石は一つも残らない」と言った。"),
        (
            'In 1940 Moor told the Tollen council: "We shall build the bridge again."',
            'In 1940 Moor told the Tollen council: "Not one stone will be left."',
        ),
    ],
)
def test_another_quotation_in_its_place_is_flagged(answer: str, instead: str) -> None:
    samples = [instead, f"{instead} ", f"Well. {instead}", instead]
    verdict = check(answer, samples, "What did he say?")
    assert verdict.flagged


def test_quotations_that_samples_word_otherwise_are_named() -> None:
    samples = [SAID.replace("We shall build the bridge again", "No stone will be left")] * 3
    verdict = check(SAID, [*samples, f"So: {samples[0]}"], "What did he say?")
    (claim,) = verdict.claims
    assert claim.reason == "'We shall build the bridge again.' is in 0 of 4 samples"


@given(st.text(alphabet="ab \"'«»„“”‘’「」《》`\n.", max_size=60))
def test_quotations_stand_in_the_text(text: str) -> None:
    spans = list(quotations_in(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))


@pytest.mark.parametrize(
    ("answer", "sample"),
    [
        ("Yes.", "I do not know."),
        ("Yes, it did.", "I'm not sure."),
        ("No, it did not.", "I don't know that."),
        ("Ja.", "Das weiß ich nicht."),
        ("Oui.", "Je ne sais pas."),
    ],
)
def test_who_does_not_know_neither_agrees_nor_denies(answer: str, sample: str) -> None:
    verdict = check(answer, [sample] * 3, "Did the bridge open in 1932?")
    (claim,) = verdict.claims
    assert claim.reason == "3 of 3 samples do not answer the same way"
    assert claim.band != "contradicted"
