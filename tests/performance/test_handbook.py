from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.handbook import outcome_of
from performance.handbook_models import HandbookModel, Statement, by_statements, statements
from performance.handbook_world import (
    ATTRIBUTES,
    GROUPS,
    Claim,
    Handbook,
    Question,
    choose_questions,
    says,
)
from resay import Answer, Document, Passage, Request, SentenceVerdict, Verdict
from resay.engine.regeneration.prompts import repair_prompt, rewrite_request
from resay.scorers.common import document_prompt

TINY = ["--questions", "12", "--retriever", "folder", "--k", "3"]
WORLD = Handbook()
PRODUCT = "Garmo X100"


def table(*options: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["handbook", "--json", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return table(*TINY)


def test_each_action_on_unrepaired_answers_has_a_row(document: Mapping[str, Any]) -> None:
    assert [row["otherwise"] for row in document["rows"]] == ["annotate", "block"]
    assert (document["pages"], document["questions"], document["judge"]) == (200, 12, "statements")


def test_every_claim_has_an_outcome(document: Mapping[str, Any]) -> None:
    answer_to = choose_questions(WORLD.questions, 12)
    claims = Counter(claim.kind for question in answer_to for claim in question.claims)
    for row in document["rows"]:
        assert row["claims"] == claims
        assert {kind: sum(c.values()) for kind, c in row["outcomes"].items()} == claims
        assert row["misunderstood"] == []
        assert row["calls"] > 1
        assert row["documents"] > 0
        for failed in row["failed"]:
            assert failed["outcome"] in row["outcomes"][failed["kind"]]


def test_unrepaired_answers_are_withheld_where_the_policy_blocks(
    document: Mapping[str, Any],
) -> None:
    annotated, blocked = document["rows"]
    assert blocked["standing"] == blocked["unsaid_standing"] == 0
    assert blocked["repaired"] == annotated["repaired"] > 0


def test_a_retriever_that_is_not_installed_has_a_row_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nothing(name: str) -> None:
        """Find no module."""

    monkeypatch.setattr("performance.handbook.find_spec", nothing)
    (row,) = table("--retriever", "qdrant", "--k", "3", "--otherwise", "block")["rows"]
    assert (row["retriever"], row["remark"]) == ("qdrant", "not installed")


def test_a_missing_reader_skips_the_bench(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["handbook", *TINY, "--reader", str(tmp_path)])
    assert result.exit_code == 0
    assert "handbook skipped: there is no reader in" in result.stderr


@pytest.mark.parametrize(
    "options", [("--retriever", "shelf"), ("--mode", "mend"), ("--judge", "nobody")]
)
def test_an_unknown_option_is_refused(options: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["handbook", *options]).exit_code == 2


def test_the_same_seed_makes_the_same_handbook() -> None:
    again, other = Handbook(), Handbook(1)
    assert again.pages == WORLD.pages
    assert again.questions == WORLD.questions
    assert other.values != WORLD.values


def test_the_newest_pages_say_the_values_and_older_editions_others() -> None:
    assert len(WORLD.pages) == len({page.path for page in WORLD.pages}) == 200
    for edition, values in ((2024, WORLD.values), (2021, WORLD.old)):
        stated = {
            (s.product, s.attribute): s.value
            for page in WORLD.pages
            for s in statements(page.markdown)
            if page.edition == edition
        }
        assert stated.items() >= values.items() if edition == 2021 else stated == values
    assert WORLD.old
    assert all(
        WORLD.values[product_attribute] != value for product_attribute, value in WORLD.old.items()
    )
    undocumented = [
        (p, a) for p in WORLD.products for a in ATTRIBUTES if (p, a) not in WORLD.values
    ]
    assert len(undocumented) == 2 * len(WORLD.products)
    assert any(not text for page in WORLD.pages for _, text in page.sections)


def test_pages_begin_with_their_metadata() -> None:
    page = next(page for page in WORLD.pages if page.edition == 2021)
    lines = page.markdown.splitlines()
    assert lines[:5] == [
        "---",
        f'title: "{page.title}"',
        f"product: {page.product}",
        "edition: 2021",
        f"date: {page.date}",
    ]
    (first, *_) = page.documents
    assert first.metadata["edition"] == 2021
    assert WORLD.page_of(first.id) is page


def test_products_that_are_alike_have_other_values() -> None:
    for (product, attribute), value in WORLD.values.items():
        for other in WORLD.alike(product):
            assert WORLD.values.get((other, attribute)) != value


def test_the_questions_are_of_all_groups_and_their_answers_say_the_claims() -> None:
    counts = Counter(question.group for question in WORLD.questions)
    assert sum(counts.values()) == 120
    assert set(counts) == set(GROUPS)
    for question in WORLD.questions:
        for claim in question.claims:
            product_attribute = question.product, claim.attribute
            assert says(question.draft, claim.value)
            assert claim.right == WORLD.values.get(product_attribute)
            assert (claim.value == claim.right) is (claim.kind == "right")
            assert claim.kind != "outdated" or claim.old == WORLD.old[product_attribute]
            if claim.kind != "right":
                assert not any(says(sample, claim.value) for sample in question.samples)


def test_some_inventions_are_true_of_a_product_that_is_alike() -> None:
    trapped = [
        question.name
        for question in WORLD.questions
        for claim in question.claims
        if claim.kind == "invention"
        for other in WORLD.alike(question.product)
        if WORLD.values.get((other, claim.attribute)) == claim.value
    ]
    assert len(trapped) >= 15


def test_a_value_is_not_found_in_a_longer_one() -> None:
    assert says("It weighs 4.2 kg.", "4.2 kg")
    assert not says("It weighs 14.2 kg.", "4.2 kg")
    assert not says("It has a K4-12 socket.", "4-12 socket")


def test_a_statement_is_about_the_product_named_last() -> None:
    (statement,) = statements("Garmo X110: data\n## Weight\n\nIt weighs 4.2 kg.")
    assert statement == Statement("Garmo X110", "weight", "4.2 kg", "It weighs 4.2 kg.")
    (bare,) = statements("4.2 kg.", "What is the weight of the Garmo X100-S?")
    assert (bare.product, bare.attribute) == ("Garmo X100-S", "weight")
    assert statements("4.2 kg.") == []
    assert statements("What does it weigh, 4.2 kg?") == []


def answer_to(prompt: str) -> str:
    answer = by_statements([{"role": "user", "content": prompt}])
    assert answer is not None
    return answer


def judgement_of(claim: str, *documents: str, conversation: str = "") -> dict[str, Any]:
    numbered = list(enumerate(documents))
    return json.loads(answer_to(document_prompt.render([claim], numbered, conversation)))[0]


def test_the_judge_compares_statements_about_the_same_product() -> None:
    own, other = "Garmo X100: data\nIt weighs 4.2 kg.", "Garmo X100-S: data\nIt weighs 5.1 kg."
    judgement = judgement_of(f"The {PRODUCT} weighs 4.2 kg.", own, other)
    assert (judgement["supported_by"], judgement["contradicted_by"]) == ([1], [])
    assert judgement["quote"] == "It weighs 4.2 kg."
    judgement = judgement_of(f"The {PRODUCT} weighs 5.1 kg.", own, other)
    assert (judgement["supported_by"], judgement["contradicted_by"]) == ([], [1])
    judgement = judgement_of(
        "It weighs 5.1 kg.", own, other, conversation=f"user: What is the {PRODUCT}?"
    )
    assert (judgement["supported_by"], judgement["contradicted_by"]) == ([], [1])
    judgement = judgement_of(f"The {PRODUCT} was launched in 1984.", own, other)
    assert (judgement["supported_by"], judgement["contradicted_by"]) == ([], [])


def test_the_judge_knows_no_more_than_the_prompt() -> None:
    own, other = "Garmo X100: data\nIt weighs 4.2 kg.", "Garmo X100-S: data\nIt weighs 5.1 kg."
    # The prompt does not name the product.
    assert judgement_of("It weighs 5.1 kg.", own, other)["supported_by"] == [2]


def repair_of(sentence: str, *documents: str) -> str:
    numbered = [Document(str(i), text) for i, text in enumerate(documents)]
    question = f"What is the weight of the {PRODUCT}?"
    return answer_to(repair_prompt(question, "", sentence, "", numbered))


def test_the_writer_says_what_the_documents_say() -> None:
    other = "# Garmo X100-S: data\n\nIt weighs 5.1 kg."
    old = "edition: 2021\n# Garmo X100: data\n\nIt weighs 3.3 kg."
    new = "edition: 2024\n# Garmo X100: data\n\nIt weighs 4.2 kg."
    assert repair_of("It weighs 9.9 kg.", other, old, new) == "It weighs 4.2 kg. [3]"
    assert repair_of("It weighs 4.2 kg.", other, new) == "It weighs 4.2 kg. [2]"
    assert repair_of("It weighs 5.1 kg.", other) == "REMOVE"
    assert repair_of("It was launched in 1984.", new) == "REMOVE"


def test_the_writer_says_what_the_documents_do_not() -> None:
    request = Request.of(f"When was the {PRODUCT} launched?")
    rewrite = rewrite_request(request, [Document("a", "# Garmo X100\n\nIt weighs 4.2 kg.")])
    assert answer_to(rewrite.question).endswith("[?]")
    rewrite = rewrite_request(request, [Document("a", "# Garmo X100\n\nIt was launched in 1984.")])
    assert answer_to(rewrite.question) == f"The {PRODUCT} was launched in 1984. [1]"


@pytest.mark.anyio
async def test_the_model_gives_its_answer_and_then_others() -> None:
    question = WORLD.questions[0]
    model = HandbookModel([question], by_statements)
    request = Request.of([*question.messages])
    assert (await model.complete(request)).first.text == question.draft
    again = await model.complete(replace(request, varied=True, index=1), n=2)
    assert [item.text for item in again.items] == [*question.samples[1:3]]


INVENTED = Claim("invention", "weight", "9.9 kg", "4.2 kg")
OUTDATED = Claim("outdated", "weight", "3.3 kg", "4.2 kg", "3.3 kg")
UNSAID = Claim("undocumented", "weight", "9.9 kg", None)
RIGHT = Claim("right", "weight", "4.2 kg", "4.2 kg")


@pytest.mark.parametrize(
    ("claim", "text", "flagged", "outcome"),
    [
        (RIGHT, "It weighs 4.2 kg.", False, "kept"),
        (RIGHT, "It weighs 4.2 kg.", True, "harmed"),
        (RIGHT, "It is a lamp.", False, "harmed"),
        (RIGHT, None, True, "harmed"),
        (INVENTED, "It weighs 4.2 kg.", False, "repaired"),
        (INVENTED, "It weighs 4.2 kg.", True, "flagged"),
        (INVENTED, "It weighs 9.9 kg.", False, "acquitted"),
        (INVENTED, "It weighs 9.9 kg.", True, "flagged"),
        (INVENTED, "It weighs 5.1 kg.", False, "other"),
        (INVENTED, "It is a lamp.", False, "removed"),
        (INVENTED, None, True, "otherwise"),
        (OUTDATED, "It weighs 3.3 kg.", False, "old"),
        (OUTDATED, "It weighs 3.3 kg.", True, "flagged"),
        (OUTDATED, "It weighs 4.2 kg.", False, "repaired"),
        (UNSAID, "The documents do not say what it weighs.", False, "told"),
        (UNSAID, "The documents do not answer “What is its weight?”.", False, "told"),
        (UNSAID, "The documents do not say this.", False, "told"),
        (UNSAID, "It costs 9 euros. The documents do not say its price.", False, "mistold"),
        (UNSAID, "It is a lamp.", True, "otherwise"),
        (UNSAID, "It is a lamp.", False, "removed"),
        (UNSAID, "It weighs 9.9 kg.", True, "flagged"),
        (UNSAID, None, True, "otherwise"),
    ],
)
def test_what_became_of_a_claim(
    claim: Claim, text: str | None, flagged: bool, outcome: str
) -> None:
    draft = text or "It weighs 9.9 kg."
    sentences = tuple(
        SentenceVerdict(s.text, s.start, s.end, flagged=flagged)
        for s in Passage.of(draft).sentences
    )
    verdict = Verdict("flagged" if flagged else "consistent", 0.0, "", sentences)
    shown = "There is no answer that it could give consistently." if text is None else draft
    answer = Answer(shown, draft, "block" if text is None else "annotate", verdict)
    messages = ({"role": "user", "content": f"What is the weight of the {PRODUCT}?"},)
    question = Question("q", claim.kind, PRODUCT, messages, "", (), (claim,))
    assert outcome_of(claim, question, answer) == outcome
