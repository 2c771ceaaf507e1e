"""A flagged answer is repaired from documents, and whatever fails, there is an answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from resay import ConfigurationError, Document, Guard, HallucinationBlocked, Verdict
from resay.adapters import GuardRuntime
from support.regenerating import (
    CROSSES,
    DESIGNED,
    DOCUMENTS,
    DRAFT,
    MADE_UP,
    QUESTION,
    TRACKS,
    Model,
    Shelf,
    guard_of,
    policy_of,
)

pytestmark = pytest.mark.anyio

REPAIRED = DRAFT.replace(MADE_UP, DESIGNED)


async def test_a_repair_changes_the_flagged_sentence_and_nothing_else() -> None:
    model, shelf = Model(), Shelf()
    answer = await guard_of(model, shelf).aask(QUESTION)

    assert (answer.text, answer.response, answer.action) == (REPAIRED, REPAIRED, "regenerate")
    assert answer.regenerated
    assert not answer.flagged
    assert answer.completion is not None
    assert answer.completion.text == DRAFT
    found = answer.verdict
    assert found.decision == "consistent"
    assert [answer.text[s.start : s.end] for s in found.sentences] == [CROSSES, DESIGNED, TRACKS]
    assert [s.citations for s in found.sentences] == [(), ("bridges.md#1",), ()]
    assert found.samples == 3


async def test_the_writer_reads_which_words_are_in_doubt() -> None:
    await guard_of(model := Model()).aask(QUESTION)
    (prompt,) = model.prompts
    assert f">>> {MADE_UP} <<<" in prompt
    assert 'documents. In doubt are above all its words "Marta Vogel", "1931". Rules:\n1.' in prompt


async def test_the_record_says_what_was_done() -> None:
    model, shelf = Model(), Shelf()
    answer = await guard_of(model, shelf).aask(QUESTION)

    record = answer.verdict.regeneration
    assert record is not None
    assert (record.mode, record.adopted, record.draft) == ("repair", 0, DRAFT)
    assert record.reason == "1 of 3 sentences > 0.50 with 3 samples"
    assert record.score == 1.0
    (edit,) = record.edits
    assert (edit.before, edit.after, edit.sources) == (MADE_UP, DESIGNED, ("bridges.md#1",))
    assert DRAFT[edit.start : edit.end] == MADE_UP
    (attempt,) = record.attempts
    assert attempt.reason == record.reason
    assert [query for query, _ in shelf.searches] == list(attempt.queries)
    # What may be invented is not what is searched for first.
    assert ["Vogel" in query for query in attempt.queries] == [False, True]
    assert all("Kessel" in query for query in attempt.queries)
    assert attempt.documents == ("bridges.md#1", "rivers.md#4")
    assert attempt.score_before == 1.0
    assert (attempt.score_after, attempt.decision, attempt.error) == (0.0, "consistent", None)
    # The draft's sentence is judged, another one is written, and that is judged.
    assert (attempt.usage.calls, attempt.usage.prompt_tokens) == (3, 30)
    assert attempt.usage.cost_usd == pytest.approx(0.003)
    assert [source.id for source in record.sources] == ["bridges.md#1"]


async def test_everything_is_counted_once() -> None:
    model = Model()
    answer = await guard_of(model).aask(QUESTION)

    assert answer.usage.calls == len(model.asked)
    assert answer.verdict.usage.calls == len(model.asked) - 1


async def test_the_verdict_round_trips_and_can_leave_out_all_content() -> None:
    answer = await guard_of(Model()).aask(QUESTION)

    assert Verdict.from_dict(answer.verdict.to_dict()) == answer.verdict
    bare = str(answer.verdict.to_dict(content=False))
    for words in ("Kessel", "Vogel", "Lindner", "Oder"):
        assert words not in bare
    assert "bridges.md#1" in bare


async def test_whatever_a_retriever_returns_the_verdict_can_be_written_down() -> None:
    metadata = {"page": 3, "when": object(), "vector": [0.1], "title": "Bridges"}
    documents = [Document(7, DOCUMENTS[0].text, float("nan"), metadata)]  # type: ignore[arg-type] - as untyped callers do
    answer = await guard_of(Model(), Shelf(documents)).aask(QUESTION)

    written = json.loads(json.dumps(answer.verdict.to_dict(), allow_nan=False))
    (source,) = written["regeneration"]["sources"]
    assert (source["id"], source["score"]) == ("7", None)
    assert source["metadata"] == {"page": 3, "title": "Bridges"}


@pytest.mark.parametrize(
    "further",
    ["It opened in 1955.", "It opened in 1955 [?].", "Marta Vogel may have built it. [?]"],
)
async def test_a_rewritten_answer_is_checked_by_the_documents(further: str) -> None:
    model = Model(rewritten=lambda _: f"{CROSSES} {DESIGNED} [1] {further}")
    answer = await guard_of(model, action={"mode": "rewrite"}).aask(QUESTION)

    record = answer.verdict.regeneration
    assert record is not None
    assert [attempt.decision for attempt in record.attempts] == ["flagged", "flagged"]
    assert answer.text == DRAFT


async def test_an_answer_may_say_what_the_documents_do_not_tell() -> None:
    honest = "Who paid for the bridge could not be confirmed."
    model = Model(rewritten=lambda _: f"{DESIGNED} [1] {honest} [?]")
    answer = await guard_of(model, action={"mode": "rewrite"}).aask(QUESTION)

    assert (answer.text, answer.action) == (f"{DESIGNED} {honest}", "regenerate")
    assert [s.score for s in answer.verdict.sentences] == [0.0, None]
    reason = answer.verdict.sentences[1].reason
    assert reason == "states that the documents do not contain the answer"


async def test_a_rewritten_answer_that_passes_is_given() -> None:
    answer = await guard_of(Model(), action={"mode": "rewrite"}).aask(QUESTION)

    assert answer.text == f"{CROSSES} {DESIGNED}"
    assert answer.action == "regenerate"
    assert answer.verdict.sentences[1].citations == ("bridges.md#1",)
    record = answer.verdict.regeneration
    assert record is not None
    assert (record.mode, record.edits) == ("rewrite", ())


async def test_the_rewriting_model_sees_the_conversation_and_its_settings() -> None:
    model = Model()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    params: Any = {"top_p": 0.9, "temperature": 0, "api_key": "secret"}
    action = {"mode": "rewrite", "resample": True, "attempts": 1}
    await guard_of(model, action=action).aask(messages, params={"seed": 7, **params})

    written, *samples = [q for q in model.asked if "Answer by these documents:" in q.question]
    for query in (written, *samples):
        assert query.messages[0] == messages[0]
        assert query.messages[1]["content"][0] == messages[1]["content"][0]
    assert dict(written.params) == params
    # Samples are to differ.
    assert len(samples) == 3
    assert all(dict(s.params) == {"top_p": 0.9, "api_key": "secret"} for s in samples)


async def test_another_model_can_write() -> None:
    model = Model()
    action = {"mode": "rewrite", "writer": "openai/gpt-5"}
    await guard_of(model, action=action).aask(QUESTION, model="a/b", params={"api_key": "secret"})

    (query,) = [q for q in model.asked if "Answer by these documents:" in q.question]
    assert (query.model, dict(query.params)) == ("openai/gpt-5", {})


async def test_answers_that_documents_support_are_not_flagged() -> None:
    documents = [Document("a", f"{MADE_UP} It is long.")]
    model = Model()
    answer = await guard_of(model, Shelf(documents)).aask(QUESTION)

    assert (answer.text, answer.action, answer.regenerated) == (DRAFT, "allow", False)
    assert answer.verdict.decision == "consistent"
    assert model.prompts == []
    record = answer.verdict.regeneration
    assert record is not None
    assert record.adopted is None
    assert record.attempts[0].error == "the documents support what was flagged"


async def test_a_sentence_the_documents_say_nothing_about_is_removed() -> None:
    answer = await guard_of(Model(repairs=lambda _: "REMOVE.")).aask(QUESTION)

    assert answer.text == f"{CROSSES}\n\n{TRACKS}\n"
    assert answer.verdict.decision == "consistent"
    record = answer.verdict.regeneration
    assert record is not None
    assert [(edit.before, edit.after) for edit in record.edits] == [(MADE_UP, "")]


@pytest.mark.parametrize(
    ("written", "row"),
    [
        (f"Bridge | {DESIGNED} [1]", f"| Bridge | {DESIGNED} |\n"),
        (f"| Bridge | {DESIGNED} | [1]", f"| Bridge | {DESIGNED} |\n"),
        # Another number of bars, and the table falls apart.
        (f"{DESIGNED} [1]", f"| Bridge | {MADE_UP} |\n"),
        ("REMOVE", ""),
    ],
)
async def test_a_row_stays_a_row(written: str, row: str) -> None:
    table = f"{CROSSES}\n\n| what | who |\n|---|---|\n| Bridge | {MADE_UP} |\n"
    shelf = Shelf([Document("a", f"{CROSSES} Bridge: who: {DESIGNED}")])
    model = Model(table, repairs=lambda _: written)
    answer = await guard_of(model, shelf).aask("What is the Bridge?")
    assert answer.text == table.replace(f"| Bridge | {MADE_UP} |\n", row)


@pytest.mark.parametrize(
    ("shelf", "note"),
    [
        (Shelf(RuntimeError("with a secret")), "2 of 2 searches failed: RuntimeError x2"),
        (Shelf([]), "nothing was found"),
        (Shelf([Document("a", "  ")]), "nothing was found"),
    ],
)
async def test_a_search_that_gives_nothing_is_reported(shelf: Shelf, note: str) -> None:
    answer = await guard_of(Model(), shelf).aask(QUESTION)

    assert (answer.text, answer.action, answer.flagged) == (DRAFT, "annotate", True)
    record = answer.verdict.regeneration
    assert record is not None
    assert [attempt.error for attempt in record.attempts] == [note]
    assert "secret" not in str(answer.to_dict())


async def test_a_slow_search_is_given_up() -> None:
    class Slow:
        async def retrieve(self, query: str, *, k: int) -> list[Document]:
            await anyio.sleep_forever()
            return []

    answer = await guard_of(Model(), Slow(), {"timeout_s": 0.01}).aask(QUESTION)

    record = answer.verdict.regeneration
    assert answer.text == DRAFT
    assert record is not None
    assert record.attempts[0].error == "2 of 2 searches failed: TimeoutError x2"


async def test_the_deadline_ends_it_with_the_best_there_is() -> None:
    class Stuck:
        async def retrieve(self, query: str, *, k: int) -> list[Document]:
            await anyio.sleep_forever()
            return []

    limits = {"deadline_s": 0.2, "retries": 0}
    answer = await guard_of(Model(), Stuck(), limits=limits).aask(QUESTION)

    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert record is not None
    assert record.attempts[0].error == "there was no time left"


async def test_otherwise_blocks_what_could_not_be_mended() -> None:
    guard = guard_of(Model(), Shelf([]), {"otherwise": "block"})
    answer = await guard.aask(QUESTION)

    assert answer.blocked
    assert "Kessel" not in answer.text
    assert "Vogel" not in str(answer.to_dict())


async def test_otherwise_can_raise() -> None:
    guard = guard_of(Model(), Shelf([]), {"otherwise": {"do": "block", "exit": "raise"}})
    with pytest.raises(HallucinationBlocked):
        await guard.aask(QUESTION)


async def test_repaired_answers_are_not_blocked() -> None:
    answer = await guard_of(Model(), action={"otherwise": "block"}).aask(QUESTION)

    assert (answer.text, answer.action) == (REPAIRED, "regenerate")


async def test_attempts_are_bounded_and_the_draft_stays_where_nothing_is_better() -> None:
    model = Model(repairs=lambda _: "It was designed by Nobody Known. [1]")
    answer = await guard_of(model, action={"attempts": 3}).aask(QUESTION)

    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert len([p for p in model.prompts if "in doubt" in p]) == 3
    record = answer.verdict.regeneration
    assert record is not None
    assert record.adopted is None
    assert [attempt.decision for attempt in record.attempts] == ["flagged"] * 3


async def test_a_second_attempt_mends_what_the_first_did_not() -> None:
    other = "It weighs 77 tons."
    draft = DRAFT.replace(TRACKS, f"{other} {TRACKS}")
    answers = iter([f"{DESIGNED} [1]", "It weighs much.", "It opened in 1930. [1]"])

    class Careless(Model):
        def _answer(self, question: str) -> str | None:
            answer = super()._answer(question)
            return (
                answer if answer is None else answer.replace(other, "") if self._later else answer
            )

        @property
        def _later(self) -> bool:
            return len(self.asked) > 1

    model = Careless(draft, repairs=lambda prompt: next(answers))
    answer = await guard_of(model).aask(QUESTION)

    assert answer.text == draft.replace(MADE_UP, DESIGNED).replace(other, "It opened in 1930.")
    record = answer.verdict.regeneration
    assert record is not None
    assert record.adopted == 1
    assert [edit.before for edit in record.edits] == [MADE_UP, other]
    assert [attempt.decision for attempt in record.attempts] == ["flagged", "consistent"]


OTHER = "It weighs 77 tons."
TWO_WRONG = DRAFT.replace(TRACKS, f"{OTHER} {TRACKS}")


class Unsure(Model):
    """Says nothing twice about either of two sentences of its draft."""

    def _answer(self, question: str) -> str | None:
        answer = super()._answer(question)
        return answer.replace(OTHER, "") if answer and len(self.asked) > 1 else answer


async def test_of_several_repairs_those_that_are_flagged_are_taken_back() -> None:
    model = Unsure(
        TWO_WRONG, repairs=lambda p: f"{DESIGNED} [1]" if f">>> {MADE_UP}" in p else "It burned."
    )
    answer = await guard_of(model, action={"attempts": 1}).aask(QUESTION)

    assert answer.text == TWO_WRONG.replace(MADE_UP, DESIGNED)
    assert [s.text for s in answer.verdict.sentences if s.flagged] == [OTHER]


async def test_an_answer_in_which_something_new_is_flagged_is_not_given() -> None:
    model = Unsure(TWO_WRONG, rewritten=lambda _: f"{CROSSES} {DESIGNED} [1] It burned in 1777.")
    answer = await guard_of(model, action={"mode": "rewrite"}).aask(QUESTION)

    assert (answer.text, answer.regenerated) == (TWO_WRONG, False)


@pytest.mark.parametrize("more", [" See http://evil.example/x.", " ```python", " (", "x" * 500])
async def test_unfit_replacements_are_refused(more: str) -> None:
    answer = await guard_of(Model(repairs=lambda _: DESIGNED + more)).aask(QUESTION)

    assert (answer.text, answer.regenerated) == (DRAFT, False)
    told = answer.verdict.regeneration
    assert told is not None
    note = "1 of 1 sentence could not be rewritten: no usable sentence came back"
    assert told.attempts[0].error == note


async def test_a_model_that_changes_nothing_is_not_asked_again() -> None:
    model = Model(repairs=lambda _: f"{MADE_UP} [1]")
    answer = await guard_of(model, action={"attempts": 5}).aask(QUESTION)

    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert len(model.prompts) == 1
    assert record is not None
    assert [attempt.error for attempt in record.attempts] == ["the model changed nothing"]


async def test_the_same_fact_is_not_said_twice() -> None:
    other = "It was planned by Ute Kahl."
    draft = DRAFT.replace(MADE_UP, f"{MADE_UP} {other}")
    samples = {other: "Nobody knows who planned it.", MADE_UP: "Nobody built it."}

    class Forgetful(Model):
        def _answer(self, question: str) -> str | None:
            answer = super()._answer(question)
            for known, said in samples.items() if len(self.asked) > 1 and answer else ():
                answer = answer and answer.replace(known, said)
            return answer

    answer = await guard_of(Forgetful(draft)).aask(QUESTION)

    assert answer.text == f"{CROSSES} {DESIGNED}\n\n{TRACKS}\n"
    record = answer.verdict.regeneration
    assert record is not None
    assert [edit.after for edit in record.edits] == [DESIGNED, ""]


async def test_a_long_question_is_not_repeated_for_every_sentence() -> None:
    model = Model()
    await guard_of(model).aask("x " * 9000 + QUESTION)

    (prompt,) = model.prompts
    assert QUESTION in prompt
    assert len(prompt) < 7000


async def test_a_writer_that_fails_costs_no_answer() -> None:
    answer = await guard_of(Model(repairs=lambda _: None)).aask(QUESTION)

    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert record is not None
    assert record.attempts[0].error == "1 of 1 sentence could not be rewritten: ProviderError x1"


async def test_a_rewriting_that_fails_costs_no_answer() -> None:
    model = Model(rewritten=lambda _: None)
    answer = await guard_of(model, action={"mode": "rewrite"}).aask(QUESTION)

    record = answer.verdict.regeneration
    assert answer.text == DRAFT
    assert record is not None
    assert record.attempts[0].error == "it failed with ProviderError"


async def test_a_judge_that_fails_over_documents_costs_no_answer() -> None:
    answer = await guard_of(Model(judges=False)).aask(QUESTION)

    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert record is not None
    assert record.attempts[0].error is not None
    assert record.attempts[0].error.startswith("the draft could not be compared with documents")


async def test_the_limits_of_a_check_hold_for_it_too() -> None:
    model = Model()
    # Three samples and nine judgements; then there is nothing left.
    limits = {"calls": 12, "retries": 0}
    answer = await guard_of(model, limits=limits).aask(QUESTION)

    assert len(model.asked) == 1 + 12
    assert (answer.text, answer.action) == (DRAFT, "annotate")


async def test_an_answer_that_is_not_flagged_is_left_alone() -> None:
    shelf = Shelf()
    answer = await guard_of(Model(f"{CROSSES} {TRACKS}"), shelf).aask(QUESTION)

    assert (answer.action, answer.verdict.regeneration) == ("allow", None)
    assert shelf.searches == []


@pytest.mark.parametrize(
    ("question", "written", "text"),
    [
        (QUESTION, "REMOVE", "The documents do not say this."),
        # With words that are common in Portuguese.
        ("Do you know a designer for Kessel Bridge?", "REMOVE", "The documents do not say this."),
        # They name nothing that the documents would have to mention.
        ("How do I get a refund?", "REMOVE", "The documents do not say this."),
        ("Wie bekomme ich eine Rückerstattung?", "REMOVE", "Die Dokumente sagen dazu nichts."),
        ("Wer hat die Kessel Bridge entworfen?", "REMOVE", "Die Dokumente sagen dazu nichts."),
        (
            "Who designed the Kessel 2 Bridge?",
            "The documents do not say who designed the Kessel 2 Bridge.",
            "The documents do not say who designed the Kessel 2 Bridge.",
        ),
    ],
)
async def test_invented_answers_become_abstentions(question: str, written: str, text: str) -> None:
    answer = await guard_of(Model(MADE_UP, repairs=lambda _: written)).aask(question)

    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (text, "regenerate")
    assert (answer.verdict.decision, answer.verdict.reason) == (
        "skipped",
        "the documents do not say what was asked",
    )
    assert record is not None
    assert record.abstains
    assert record.removed == (1.0 if written == "REMOVE" else 0.0)


async def test_otherwise_decides_where_there_is_no_abstention_or_too_much_would_go() -> None:
    empty = Model(MADE_UP, repairs=lambda _: "REMOVE")
    answer = await guard_of(empty, action={"abstention": None, "otherwise": "block"}).aask(QUESTION)
    record = answer.verdict.regeneration
    assert answer.blocked
    assert record is not None
    assert record.attempts[0].error == "nothing was left of the answer"

    most = Model(repairs=lambda _: "REMOVE")
    answer = await guard_of(most, action={"max_removed": 0.1}).aask(QUESTION)
    record = answer.verdict.regeneration
    assert (answer.text, answer.action) == (DRAFT, "annotate")
    assert record is not None
    assert record.attempts[0].error == "36% of the answer would be removed, more than 10%"


async def test_marks_name_the_sources_in_the_text() -> None:
    documents = [
        Document("b", DOCUMENTS[0].text, metadata={"title": "Bridges", "url": "https://b.example"}),
        *DOCUMENTS[1:],
    ]
    guard = guard_of(Model(), Shelf(documents), {"citations": "marks"})
    answer = await guard.aask(QUESTION)

    assert answer.text == (
        f"{CROSSES} {DESIGNED} [1]\n\n{TRACKS}\n\nSources:\n[1] Bridges (https://b.example)"
    )
    assert answer.response == REPAIRED
    assert answer.cited() == answer.text


async def test_resampling_checks_the_new_answer_against_itself() -> None:
    model = Model()
    action = {"mode": "rewrite", "resample": True, "attempts": 1}
    answer = await guard_of(model, action=action).aask(QUESTION)

    rewritings = [q for q in model.asked if "Answer by these documents:" in q.question]
    assert len(rewritings) == 1 + 3
    # They are all the same, so that they prove nothing.
    record = answer.verdict.regeneration
    assert record is not None
    assert record.attempts[0].decision == "inconclusive"
    assert answer.text == DRAFT


async def test_resampling_rejects_what_the_model_does_not_say_again() -> None:
    answers = iter(f"{CROSSES} {DESIGNED} [1] Sample {i}." for i in range(9))
    model = Model(rewritten=lambda _: next(answers))
    documents = [Document("a", f"{CROSSES} {DESIGNED} Sample 0.")]
    action = {"mode": "rewrite", "resample": True, "attempts": 1}
    answer = await guard_of(model, Shelf(documents), action).aask(QUESTION)

    record = answer.verdict.regeneration
    assert record is not None
    assert record.attempts[0].decision == "flagged"


async def test_a_chain_that_compares_with_nothing_rechecks_with_a_judge() -> None:
    guard = guard_of(Model(), chain=[{"method": "zero_shot"}], threshold={"sentence": 0.5})
    assert guard.policy.action.do == "regenerate"


async def test_the_judge_of_a_repair_knows_the_question_and_one_document_from_another() -> None:
    class Judging(Model):
        """Supports what a document has word for word; contradicts nothing."""

        def _answer(self, question: str) -> str | None:
            if "<context-" in question:
                context, _, claims = question.partition("<claims-")
                lines = re.findall(r"^(\d+)\. (.*)$", claims, re.MULTILINE)
                said = ("supported" if claim in context else "not_mentioned" for _, claim in lines)
                return "\n".join(f"{n}: {word}" for (n, _), word in zip(lines, said, strict=True))
            if "<documents-" not in question:
                return super()._answer(question)
            shown, _, claims = question.partition("<claims-")
            assert QUESTION in shown
            documents = re.findall(r'number="(\d+)">\n(.*?)\n</document-', shown, re.DOTALL)
            assert len(documents) == len(DOCUMENTS)
            found = [
                {
                    "claim": int(n),
                    "supported_by": [int(k) for k, text in documents if claim in text],
                }
                for n, claim in re.findall(r"^(\d+)\. (.*)$", claims, re.MULTILINE)
            ]
            return json.dumps(found)

    weights = {"contradicted": 1.0, "not_mentioned": 0.6}
    chain = [{"method": "prompt", "mode": "per_sample", "weights": weights}]
    answer = await guard_of(Judging(), chain=chain).aask(QUESTION)
    assert (answer.text, answer.verdict.decision) == (REPAIRED, "consistent")
    assert "references" in {step.method for step in answer.verdict.steps}


class Comparing(Model):
    """As a judge, knows who says which year; as a writer, goes by the newest edition it is told."""

    def _answer(self, question: str) -> str | None:
        if "<claims-" not in question:
            return super()._answer(question)
        shown, _, claims = question.partition("<claims-")
        documents = re.findall(r'number="(\d+)">\n(.*?)\n</document-', shown, re.DOTALL)
        found = [
            {
                "claim": int(n),
                "supported_by": [int(k) for k, text in documents if claim in text],
                "contradicted_by": [int(k) for k, text in documents if claim not in text],
            }
            for n, claim in re.findall(r"^(\d+)\. (.*)$", claims, re.MULTILINE)
        ]
        return json.dumps(found)


async def test_of_documents_that_contradict_each_other_the_newest_edition_is_right() -> None:
    opened = {year: f"It opened in {year}." for year in (1930, 1931)}
    prompts: list[str] = []

    def repairs(prompt: str) -> str:
        prompts.append(prompt)
        (newest,) = re.findall(r'number="(\d+)">\s+Edition: 2024\n', prompt)
        return f"{opened[1931]} [{newest}]"

    documents = [
        Document("old", opened[1930], metadata={"edition": 2021}),
        Document("new", opened[1931], metadata={"edition": 2024}),
    ]
    model = Comparing(MADE_UP, repairs=repairs)
    guard = guard_of(model, Shelf(documents), {"recheck": [{"method": "references"}]})
    answer = await guard.aask("When did the Kessel Bridge open?")

    record = answer.verdict.regeneration
    assert record is not None
    assert (answer.text, answer.verdict.decision) == (opened[1931], "consistent")
    assert answer.verdict.sentences[0].citations == ("new",)
    assert set(record.conflicts) == {"old", "new"}
    assert all("newest edition is right" in " ".join(prompt.split()) for prompt in prompts)


async def test_claims_of_older_editions_only_are_flagged() -> None:
    documents = [
        Document("old", MADE_UP, metadata={"edition": 2021}),
        Document("new", DESIGNED, metadata={"edition": 2024}),
    ]
    model = Comparing(MADE_UP, repairs=lambda _: f"{MADE_UP} [1]")
    guard = guard_of(model, Shelf(documents), {"recheck": [{"method": "references"}]})
    answer = await guard.aask(QUESTION)

    assert (answer.text, answer.flagged) == (MADE_UP, True)
    assert answer.verdict.sentences[0].reason == (
        "reference 1 contradicts it and is newer; reference 2 supports it"
    )


async def test_of_several_questions_it_is_told_which_the_documents_do_not_answer() -> None:
    model = Model(f"{CROSSES} {MADE_UP}", repairs=lambda _: "REMOVE")
    answer = await guard_of(model).aask("Where is the Kessel Bridge? Who designed it, and when?")

    told = "The documents do not answer “Who designed it, and when”."
    assert (answer.text, answer.verdict.decision) == (f"{CROSSES} {told}", "consistent")
    assert [edit.after for edit in answer.verdict.regeneration.edits] == [told]  # type: ignore[union-attr] - there is one


async def test_there_must_be_a_retriever() -> None:
    with pytest.raises(ConfigurationError, match=r"set `action\.retriever`, or pass `retriever`"):
        Guard(policy_of())


async def test_the_folder_to_search_must_be_there(tmp_path: Path) -> None:
    retriever = {"kind": "folder", "path": str(tmp_path / "nowhere")}
    with pytest.raises(ConfigurationError, match=r"no folder '.*nowhere'"):
        Guard(policy_of({"retriever": retriever}))


async def test_a_shown_answer_cannot_be_regenerated() -> None:
    with pytest.raises(ConfigurationError, match="shown before it can be regenerated"):
        Guard(policy_of(stream_mode="after"), retriever=Shelf())
    with pytest.raises(ConfigurationError, match="before it can be regenerated"):
        guard_of(Model()).astream(QUESTION, stream_mode="after")


async def test_a_verdict_alone_is_acted_on_as_otherwise_says() -> None:
    guard = guard_of(Model(), action={"otherwise": "block"})
    flagged = await guard.acheck(DRAFT, question=QUESTION, samples=["Nobody knows."] * 2 + ["No."])

    assert GuardRuntime(guard).apply(DRAFT, flagged).blocked


async def test_a_search_is_on_behalf_of_the_tenant() -> None:
    tenants: list[str | None] = []

    def find(query: str, *, k: int, tenant: str | None) -> list[str]:
        tenants.append(tenant)
        return [DESIGNED]

    guard = guard_of(Model(), find)
    for tenant in ("acme", None):
        await guard.aask(QUESTION, tenant=tenant)
    await guard_of(Model(), find).aask(QUESTION, tenant="acme")

    assert tenants[0] == tenants[-1] == "acme"
    assert set(tenants) <= {"acme", None}
