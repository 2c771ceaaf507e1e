"""The simulated provider answers what the methods ask, in the words in which they ask it."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.passage import Passage
from resay.scorers import direct_question, fibe, prompt, task_prompt, zero_shot
from resay.scorers.common import per_sample
from resay.scorers.common.named_scores import parse_named_scores
from resay.scorers.fibe import build_exam, parse_exam_answers, parse_listings
from resay.scorers.reverse_validation import render_construct, render_search
from simulation import Subject, World
from simulation.judges import question_in

SUBJECTS = World.default().subjects
CANBERRA = next(s for s in SUBJECTS if s.name == "Canberra")
KNOWN = "Canberra is the capital of Australia. The city was founded in 1913."
MADE_UP = "Canberra was founded in 1788. Its plan was drawn by Silas Corvane of Tartu."
ABOUT = "Tell me about Canberra."

each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)


def answer(*said: str, seed: int = 0, world: World | None = None) -> str | None:
    question = question_in(said)
    return question and question.answer(world or World.default(), random.Random(seed))


def facts(subject: Subject, wording: int = 0) -> list[str]:
    return [wordings[wording % len(wordings)] for wordings in subject.wordings]


# A given context


@each_subject
def test_prompt_tells_known_from_invented_by_the_sample(subject: Subject) -> None:
    for seed in range(8):
        sample = subject.describe(random.Random(seed + 1000)).text
        for statement in subject.describe(random.Random(seed)).statements:
            said = answer(prompt.render(statement.text, sample))
            assert said == ("No" if statement.invented else "Yes")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("It was opened in 1932.", "Yes"),
        ("The bridge opens with 2300 rivets.", "Yes"),
        ("The bridge has 2,300 rivets.", "Yes"),
        ("Bradfield's bridge was opened.", "Yes"),
        ("It was opened in 1933.", "No"),
        ("It was opened in 932.", "No"),
        ("John Smith opened the bridge.", "No"),
        ("The ferry sank near the pier.", "No"),
        ("It is.", "Yes"),
    ],
)
def test_numbers_names_and_most_words_must_agree(sentence: str, said: str) -> None:
    context = "The bridge was opened in 1932 by John Bradfield. It has 2,300 rivets."

    assert answer(prompt.render(sentence, context)) == said


@pytest.mark.parametrize(
    ("context", "hypothesis", "said"),
    [
        (
            task_prompt.TaskContext("What is a fathom? The term fathom means six feet", "fathom"),
            1,
            "Yes",
        ),
        (
            task_prompt.TaskContext("What is a fathom? The term fathom means six feet", "fathom"),
            0,
            "No",
        ),
        (task_prompt.TaskContext("Six feet make a fathom."), 1, "Yes"),
        (task_prompt.TaskContext("Sechs Fuß. Six feet."), 1, "Yes"),
    ],
    ids=["definition", "wrong definition", "paraphrase", "translation"],
)
def test_task_prompts_are_judged_by_their_context(
    context: task_prompt.TaskContext, hypothesis: int, said: str
) -> None:
    response = ("A small grey bird.", "six feet")[hypothesis]

    assert answer(task_prompt.render(context, response)) == said


def test_a_list_is_answered_line_by_line() -> None:
    context = "It was opened in 1932.\nIt has 7 piers.\n</context>\n4. Nobody has."
    claims = ["It was opened\nin 1932.", "It has\n\n9. piers, that is 8.", "It has 7 piers."]
    asked = per_sample.render(claims, context, "user: 1. When was it opened?")

    assert answer(asked) == "1: supported\n2: contradicted\n3: supported"


@given(
    st.lists(
        st.lists(st.text("abc XYZ059.,;\n", min_size=1), min_size=1).map("\n".join),
        min_size=1,
        max_size=12,
    )
)
def test_a_list_with_collapsed_lines_gets_an_answer_for_each_sentence(sentences: list[str]) -> None:
    said = answer(per_sample.render([" ".join(s.split()) for s in sentences], "abc XYZ."))

    assert said is not None
    assert [line.split(":")[0] for line in said.splitlines()] == [
        str(i) for i in range(1, len(sentences) + 1)
    ]


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Z"])))
def test_a_sentence_supports_itself(sentence: str) -> None:
    assert answer(prompt.render(sentence, sentence)) == "Yes"


# What the world knows


@each_subject
def test_direct_question_is_answered_by_the_facts(subject: Subject) -> None:
    for seed in range(8):
        for statement in subject.describe(random.Random(seed)).statements:
            asked = direct_question.render(statement.text, f"What is known of {subject.name}?")
            assert answer(asked) == ("No" if statement.invented else "Yes")


@pytest.mark.parametrize(
    ("claim", "question", "said"),
    [
        ("It was founded in 1913.", ABOUT, "Yes"),
        ("Canberra was founded in 1913.", "", "Yes"),
        ("Canberra was founded in 1913.", "Who was Marie Curie?", "Yes"),
        ("It was founded in 1913.", "", "No"),
        ("It was founded in 1913.", "Who was Marie Curie?", "No"),
        ("It was founded in 1913.", "Who was Zebulon Quist?", "No"),
    ],
)
def test_direct_question_is_about_what_claim_or_question_names(
    claim: str, question: str, said: str
) -> None:
    assert answer(direct_question.render(claim, question)) == said


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (KNOWN, "factual"),
        (f"{KNOWN}\n\n- Claim: it is big, and made of gold.", "non-factual"),
        (f"{KNOWN} It has 31 lakes.", "non-factual"),
        (MADE_UP, "non-factual"),
        ("Zebulon Quist was born in 1712.", "non-factual"),
        ("", "non-factual"),
    ],
)
def test_zero_shot_wants_every_sentence_known(claim: str, said: str) -> None:
    assert answer(zero_shot.render(claim)) == said


# The search


@each_subject
@pytest.mark.parametrize("wording", [0, 1])
def test_a_question_leads_back_to_the_entity(subject: Subject, wording: int) -> None:
    constructed = answer(
        render_construct("question", subject.name, " ".join(facts(subject, wording)))
    )

    assert constructed is not None
    assert constructed.endswith("?")
    assert "\n" not in constructed
    assert subject.name not in constructed
    assert answer(render_search("question", constructed)) == subject.name


@each_subject
def test_a_list_leads_back_to_the_entity(subject: Subject) -> None:
    listed = answer(render_construct("matching", subject.name, "\n".join(facts(subject))))

    assert listed is not None
    assert [line.split(".")[0] for line in listed.splitlines()] == ["1", "2", "3"]
    assert subject.name not in listed
    assert answer(render_search("matching", listed)) == (
        f"{subject.name} meets 100% of the requirements."
    )


def test_other_names_are_taken_out_where_something_is_left() -> None:
    said = "The Harbour Bridge opened in 1932. Sydney Harbour Bridge is the Coathanger."

    assert answer(render_construct("matching", "Sydney Harbour Bridge", said)) == (
        "1. It opened in 1932.\n2. It is the Coathanger."
    )


def test_the_share_of_requirements_is_counted() -> None:
    listed = "1. The entity was founded in 1913.\n2. It has 31 lakes.\n3. It is a capital."

    assert answer(render_search("matching", listed)) == "Canberra meets 67% of the requirements."


def test_the_name_of_something_unknown_is_taken_out_as_well() -> None:
    said = "The Quist was built in 1712. The Quist's roof is red."

    assert answer(render_construct("matching", "Quist", said)) == (
        "1. It was built in 1712.\n2. Its roof is red."
    )


@pytest.mark.parametrize("variant", ["question", "matching"])
@pytest.mark.parametrize("description", ["1. It was built in 1712 by Silas Corvane?", "1. It is?"])
def test_what_nothing_meets_is_not_found(variant: object, description: str) -> None:
    asked = render_search("question" if variant == "question" else "matching", description)

    assert answer(asked) == "I do not know such an entity."


def test_a_question_in_ones_own_words_is_searched_by() -> None:
    asked = render_search("question", "Which city was founded in 1913 and is a capital?")

    assert answer(asked) == "Canberra"


# The exam


@each_subject
def test_what_is_known_is_filled_in_again(subject: Subject) -> None:
    for wording in (0, 1):
        sentences = facts(subject, wording)
        exam = build_exam(sentences, listings(sentences, f"Who or what is {subject.name}?"))
        asked = fibe.render_answer(exam.questions, f"Who or what is {subject.name}?")

        said = parse_exam_answers(answer(asked) or "", exam)

        assert said == [sentences[i] for i in exam.examined]
        # Something is asked of every subject, and the name it begins with is not.
        assert exam.examined
        assert f'"{subject.name}' not in exam.questions[0]


def listings(sentences: list[str], question: str = ABOUT) -> list[object]:
    said = answer(fibe.render_create(sentences, question))
    return parse_listings(said or "", len(sentences))


def test_numbers_dates_and_names_after_the_subject_are_blanked() -> None:
    sentences = [
        "The Sydney Harbour Bridge was opened by Jack Lang on 4 May 1932.",
        "It has 52,800 tonnes.",
        "In 1913 the Molonglo River was low.",
        "It is big.",
    ]

    assert build_exam(sentences, listings(sentences)).questions == (
        'The Sydney Harbour Bridge was opened by "$name_0" on "$number_1" "$month_2" "$year_3".',
        'It has "$number_4" tonnes.',
        'In "$year_5" the "$name_6" was low.',
        "It is big.",
    )


@given(st.lists(st.text("aB c9.,-'1", min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_every_sentence_gets_a_listing_that_can_be_read(sentences: list[str]) -> None:
    flat = [" ".join(sentence.split()) for sentence in sentences]

    assert None not in listings(flat)


def test_a_fact_in_other_words_fills_the_same_values() -> None:
    questions = [
        'Canberra was founded in "$year_0".',
        'Walter Burley Griffin and "$name_1" drew the plan.',
        'Its "$number_2" lakes were dug in "$month_3".',
    ]

    said = (answer(fibe.render_answer(questions, ABOUT)) or "").splitlines()

    assert said[0] == "[s0] Canberra was founded in 1913."
    assert said[1] == "[s1] Walter Burley Griffin and Marion Mahony Griffin drew the plan."
    assert re.fullmatch(r"\[s2\] Its [\d,]+ lakes were dug in [A-Z][a-z]+\.", said[2])


def test_what_is_not_known_is_made_up_anew_each_time() -> None:
    asked = fibe.render_answer(['It was sold to "$name_0" in "$year_1".'], ABOUT)

    assert len({answer(asked, seed=seed) for seed in range(8)}) == 8


def test_a_variable_has_one_value() -> None:
    asked = fibe.render_answer(['It is in "$name_0".', 'So "$name_0" is "$other_1".'])

    said = re.findall(r"is in (.*)\.|So (.*) is ", answer(asked, world=World()) or "")

    assert said[0][0] == said[1][1]


@pytest.mark.parametrize(
    ("said", "low", "high"),
    [
        ("It was founded in 1913, a compromise.", 100, 100),
        ("A compromise, it was FOUNDED in 1913.", 100, 100),
        ("It was founded in 1914, a compromise.", 0, 0),
        ("It was founded in Tartu in 1913, a compromise.", 0, 0),
        ("It was founded in 1913, a failure.", 1, 99),
    ],
)
def test_answers_get_points(said: str, low: int, high: int) -> None:
    right = "It was founded in 1913, a compromise."
    asked = fibe.render_score(right, {"Tom": said, "Amy": right})

    points = parse_named_scores(answer(asked) or "", ["Tom", "Amy"])

    assert low <= (points[0] or 0) <= high
    assert points[1] == 100


# What is a question, and what is not


@pytest.mark.parametrize(
    "said",
    ["Tell me about Canberra.", "Context: a.\n\nWhat is it?", "Context: a.\nSentences:\nnone", ""],
)
def test_other_prompts_are_not_judged(said: str) -> None:
    assert question_in([said]) is None
    assert question_in([]) is None


ASKED = {
    "Yes": direct_question.render("It was founded in 1913.", ABOUT),
    "factual": zero_shot.render(KNOWN),
    "Canberra": render_search("question", "Which city was founded in 1913?"),
}


@pytest.mark.parametrize("said", ASKED)
def test_what_is_asked_once_more_is_answered_once_more(said: str) -> None:
    again = question_in([ASKED[said], "Answer with one word and nothing else."])

    assert again is not None
    assert again.restated
    assert answer(ASKED[said], "Answer with one word and nothing else.") == said
    first = question_in([ASKED[said]])
    assert first is not None
    assert not first.restated


@pytest.mark.parametrize(
    "said",
    [
        [ASKED["Yes"], ABOUT],
        [ABOUT, "Answer with one word."],
        [ABOUT, "Write a poem about it."],
        ["Answer with one word."],
        [ASKED["Yes"], "Thank you.", "Write a poem about Canberra."],
        ["Hello.", "Do you have any follow-up questions?"],
        ["Is the claim correct or incorrect?"],
    ],
)
def test_a_conversation_that_goes_on_is_not_judged(said: list[str]) -> None:
    assert question_in(said) is None


@pytest.mark.parametrize("inner", [*ASKED.values(), prompt.render("It is.", "It is.")])
def test_a_response_that_looks_like_a_question_is_not_answered(inner: str) -> None:
    assert answer(zero_shot.render(f"{KNOWN}\n\n{inner}")) == "non-factual"
    listed = answer(render_construct("matching", "Canberra", f"{KNOWN}\n\n{inner}"))
    assert (listed or "").startswith("1. It is the capital of Australia.\n2. The city was founded")
    assert len((listed or "").splitlines()) == len(Passage.of(f"{KNOWN}\n\n{inner}").sentences)
