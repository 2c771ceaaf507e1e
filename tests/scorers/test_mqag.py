"""`mqag` with real, tiny models, against the published procedure written down plainly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.errors import ConfigurationError
from resay.models import ModelConfig, choice_scorer, text_generator, text_scorer
from resay.models.windows import windows
from resay.scorers.evidence import Evidence
from resay.scorers.mqag import (
    ChoiceQuestion,
    Examinee,
    Mqag,
    Scoring,
    parse_options,
    write_questions,
)
from resay.scorers.samples import Samples
from support.alone import needs
from support.known_models import DISTRACTORS, make_reader, make_writer
from support.later import LazyImport
from support.tiny_models import make_longformer, make_roberta, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")


Tiny = Callable[..., Path]
RESPONSE = "The bridge was opened in 1932. She wrote a novel in Vienna. Workers built it of steel."
SAMPLES = [
    "The bridge was opened in 1932. Workers built it of steel.",
    "The bridge was opened in 1932 and he died.",
    "The bridge, opened in 1932, was never finished; she wrote a novel in Vienna.",
    "The bridge of steel that workers built was opened in 1932.",
]
# The models' answers are known: the response says the word that a question is about, and so does a
# sample that has it; others say another word. What says "never" answers nothing. So much of the
# three samples that count speaks for each sentence, and so much against it:
COUNTS = [(3, 0), (0, 3), (2, 1)]
ANSWERABLE = 0.5


@dataclass(frozen=True)
class Models:
    question: Path
    distractor: Path
    answering: Path
    answerability: Path

    def config(self, batch_tokens: int | None = None, **settings: Any) -> Mqag.Config:
        """Settings; with `batch_tokens`, nothing that was computed before is used again."""
        kept = {} if batch_tokens is None else {"batch_tokens": batch_tokens, "cache_mb": 0}
        named = {name: {"name": str(path), **kept} for name, path in vars(self).items()}
        return Mqag.Config.model_validate({"questions": 4, **named, **settings})


@pytest.fixture
def models(tiny: Tiny) -> Models:
    return Models(
        tiny(make_writer, chain="question"),
        tiny(make_writer, chain="distractors"),
        tiny(make_reader, choices=True),
        tiny(make_reader, choices=False),
    )


async def score(config: Mqag.Config, response: str, samples: Sequence[str]) -> Scores:
    return await Mqag(config).score(Passage.of(response), Evidence(samples=Samples(samples)))


async def questions_of(config: Mqag.Config, response: str) -> list[ChoiceQuestion]:
    first, second = text_generator(config.question), text_generator(config.distractor)
    passage = Passage.of(response)
    return await write_questions(passage, first, second, config.questions, config.seed)


class Published:
    """Answering and scoring as the paper and its code have them, one text at a time."""

    def __init__(self, models: Models) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(models.answering)
        chooser = transformers.LongformerForMultipleChoice.from_pretrained(models.answering)
        judge = transformers.LongformerForSequenceClassification
        self.a = chooser.eval()
        self.u = judge.from_pretrained(models.answerability).eval()
        # Whatever the scoring, the answers are the same.
        self.choose, self.answerable = cache(self._choose), cache(self._answerable)

    def _choose(self, question: ChoiceQuestion, context: str) -> int:
        options = list(question.options)
        while len(options) < 4:
            options.append(options[-1])
        first = [f"{context} {self.tokenizer.bos_token} {question.text}"] * 4
        encoded = self.tokenizer(first, options, padding="longest", return_tensors="pt")
        with torch.no_grad():
            logits = self.a(
                input_ids=encoded.input_ids.unsqueeze(0),
                attention_mask=encoded.attention_mask.unsqueeze(0),
            ).logits
        return int(logits.softmax(-1)[0].argmax())

    def _answerable(self, question: ChoiceQuestion, context: str) -> float:
        text = f"{question.text} {self.tokenizer.sep_token} {context}"
        with torch.no_grad():
            logits = self.u(**self.tokenizer(text, return_tensors="pt")).logits
        return float(logits.squeeze(-1).sigmoid())

    def mean(self, scoring: Scoring, questions: Sequence[ChoiceQuestion]) -> float | None:
        scores = [self.score(scoring, question, RESPONSE, SAMPLES) for question in questions]
        known = [each for each in scores if each is not None]
        return fmean(known) if known else None

    def score(
        self, scoring: Scoring, question: ChoiceQuestion, response: str, samples: Sequence[str]
    ) -> float | None:
        own = self.choose(question, response)
        if scoring != "bayes_alpha" and self.answerable(question, response) < ANSWERABLE:
            return None
        same = another = 0.0
        for sample in samples:
            alpha = self.answerable(question, sample)
            if scoring != "bayes_alpha":
                alpha = 1.0 if alpha >= ANSWERABLE else 0.0
            if self.choose(question, sample) == own:
                same += alpha
            else:
                another += alpha
        if scoring == "counting":
            return another / (same + another) if same + another else 0.5
        gamma1, gamma2 = 0.8 / (1 - 0.8), 0.8 / (1 - 0.8)
        return gamma2**another / (gamma1**same + gamma2**another)


published = cache(Published)


@pytest.mark.anyio
@pytest.mark.parametrize("scoring", ["counting", "bayes", "bayes_alpha"])
async def test_scores_are_those_of_the_published_procedure(
    models: Models, scoring: Scoring
) -> None:
    config = models.config(scoring=scoring, answerable=ANSWERABLE)
    found = await score(config, RESPONSE, SAMPLES)
    questions = await questions_of(config, RESPONSE)
    assert len({question.sentence for question in questions}) == 3
    assert all(set(question.options[1:]) <= {*DISTRACTORS} for question in questions)
    for place, sentence in enumerate(found.sentences):
        of_it = [question for question in questions if question.sentence == place]
        expected = published(models).mean(scoring, of_it)
        assert sentence == pytest.approx(expected, abs=1e-5)
    known = {
        "counting": [another / (same + another) for same, another in COUNTS],
        "bayes": [4**another / (4**same + 4**another) for same, another in COUNTS],
    }
    if scoring in known:
        assert found.sentences == pytest.approx(known[scoring])
    else:
        assert found.sentences[0] < found.sentences[2] < found.sentences[1]


@pytest.mark.anyio
async def test_company_changes_nothing(models: Models) -> None:
    one_by_one = await score(models.config(batch_tokens=16), RESPONSE, SAMPLES)
    batched = await score(models.config(batch_tokens=100_000), RESPONSE, SAMPLES)
    assert batched.sentences == pytest.approx(one_by_one.sentences, abs=1e-5)


@pytest.mark.anyio
async def test_a_sentence_is_asked_the_same_by_itself(models: Models) -> None:
    passage = Passage.of(RESPONSE)
    whole = await score(models.config(), RESPONSE, SAMPLES)
    for place in range(3):
        evidence = Evidence(samples=Samples(SAMPLES))
        found = await Mqag(models.config()).score(passage.only([place]), evidence)
        assert found.sentences == pytest.approx(whole.sentences[place : place + 1], abs=1e-5)


@pytest.mark.anyio
async def test_a_column_is_what_its_sample_alone_gives(models: Models) -> None:
    together = await score(models.config(), RESPONSE, SAMPLES)
    assert len(together.columns) == len(SAMPLES)
    for sample, column in zip(SAMPLES, together.columns, strict=True):
        alone = await score(models.config(), RESPONSE, [sample])
        assert alone.sentences == pytest.approx(column, abs=1e-5)


@pytest.mark.anyio
async def test_a_seed_decides_the_questions(models: Models) -> None:
    first, again, other = [
        await questions_of(models.config(seed=seed), RESPONSE) for seed in (0, 0, 1)
    ]
    assert first == again
    assert first != other


@pytest.mark.anyio
async def test_why_names_the_question_and_what_is_answered(models: Models) -> None:
    config = models.config()
    questions = await questions_of(config, RESPONSE)
    found = await score(config, RESPONSE, SAMPLES)
    for place, why in enumerate(found.reasons):
        assert why is not None
        named = [q for q in questions if q.sentence == place and f"asked {q.text!r}" in why]
        assert any(repr(option) in why for q in named for option in q.options), why
        assert " of 4 texts compared" in why


@pytest.mark.anyio
async def test_samples_that_say_the_same_leave_no_doubt(models: Models) -> None:
    found = await score(models.config(scoring="bayes", answerable=0.0), RESPONSE, [RESPONSE] * 9)
    assert found.sentences == pytest.approx((4**-9 / (1 + 4**-9),) * 3)
    assert all("the response and 9 of 9" in why for why in found.reasons if why)


@pytest.mark.anyio
async def test_nothing_to_say_without_a_well_formed_question(tiny: Tiny, models: Models) -> None:
    prose = str(tiny(make_writer, chain="prose"))
    found = await score(models.config(question=prose), RESPONSE, SAMPLES)
    assert found.sentences == (None, None, None)
    assert set(found.reasons) == {"no well-formed question could be written about it"}
    # Nor where the response itself answers none of them.
    found = await score(models.config(scoring="bayes", answerable=1.0), RESPONSE, SAMPLES)
    assert found.sentences == (None, None, None)
    assert set(found.reasons) == {"the response itself answers no question about it"}


@pytest.mark.anyio
async def test_nothing_to_say_without_samples(models: Models) -> None:
    found = await score(models.config(), RESPONSE, [])
    assert found.sentences == (None, None, None)
    assert found.columns == ()
    assert found.reasons == (None, None, None)


@pytest.mark.anyio
async def test_a_long_text_answers_from_its_most_telling_part(tiny: Tiny) -> None:
    chooser = choice_scorer(str(tiny(make_reader, choices=True)))
    judge = text_scorer(str(tiny(make_reader, choices=False)))
    examinee = Examinee(chooser, judge)
    # Of different lengths, so that they leave different room.
    questions = [
        ChoiceQuestion(0, "the bridge opened?", ("1932", "1871")),
        ChoiceQuestion(
            0, "in which of the years was it opened by the king?", ("1871", "1946", "1932")
        ),
    ]
    questionnaire = await examinee.questionnaire(questions)
    assert questionnaire.token_limits is not None
    # Beside the question and an option, with four to spare where texts are joined.
    asked = await chooser.lengths([f" <s> {question.text}" for question in questions])
    assert questionnaire.token_limits == tuple(124 - length - 1 - 4 for length in asked)
    long = Passage.of(" ".join(sentences(40, seed=7)))
    for place, (question, answer) in enumerate(
        zip(questions, await examinee.answer(questionnaire, long), strict=True)
    ):
        parts = await windows(long, questionnaire.token_limits[place], chooser)
        assert len(parts) > 3
        one = await examinee.questionnaire([question])
        apart = [(await examinee.answer(one, Passage.of(part)))[0] for part in parts]
        best = max(apart, key=lambda each: each.answerability)
        assert answer.choice == best.choice
        assert answer.answerability == pytest.approx(best.answerability, abs=1e-5)


@pytest.mark.anyio
async def test_a_text_is_divided_so_that_both_models_can_read_it(tiny: Tiny) -> None:
    chooser = choice_scorer(str(tiny(make_reader, choices=True)))
    # It reads less, and sees more tokens in the same text.
    name = str(tiny(make_longformer, choices=False))
    judge = text_scorer(ModelConfig(name=name, max_tokens=100))
    examinee = Examinee(chooser, judge)
    questionnaire = await examinee.questionnaire(
        [ChoiceQuestion(0, "the bridge opened?", ("1932", "1871"))]
    )
    (answer,) = await examinee.answer(questionnaire, Passage.of(" ".join(sentences(40, seed=7))))
    assert 0 <= answer.answerability <= 1


@pytest.mark.anyio
async def test_a_question_that_leaves_hardly_any_room_is_asked(tiny: Tiny) -> None:
    chooser = choice_scorer(str(tiny(make_reader, choices=True)))
    name = str(tiny(make_reader, choices=False))
    examinee = Examinee(chooser, text_scorer(ModelConfig(name=name, max_tokens=40)))
    # With the marks around it, all but four tokens.
    questionnaire = await examinee.questionnaire(
        [ChoiceQuestion(0, "king " * 32 + "?", ("1932", "1871"))]
    )
    (answer,) = await examinee.answer(questionnaire, Passage.of(" ".join(sentences(9, seed=7))))
    assert answer.answerability > 0.5


@pytest.mark.anyio
async def test_a_long_response_is_read_around_the_sentence(models: Models) -> None:
    config = models.config()
    long = Passage.of(" ".join(sentences(12, seed=9)))
    limited = ModelConfig(name=str(models.distractor), max_tokens=100, cache_mb=0)
    first, second = text_generator(config.question), text_generator(limited)
    questions = await write_questions(long, first, second, 1, 0)
    assert len({question.sentence for question in questions}) > 3
    for question in questions:
        head = f"{question.text} <sep> {question.options[0]} <sep> "
        (length,) = await second.lengths([head])
        parts = await windows(long, 98 - length, second)
        (context,) = [part for part in parts if long.sentences[question.sentence].text in part]
        ((written,),) = await second.generate([head + context])
        assert len(parts) > 1
        assert question.options == parse_options(question.options[0], written)


@pytest.mark.anyio
async def test_a_sentence_longer_than_the_room_is_read_from_its_beginning(models: Models) -> None:
    config = models.config()
    words = "the bridge was opened in 1932 and workers built it of steel in vienna and "
    long = Passage.of(f"{words * 5}never finished.")
    limited = ModelConfig(name=str(models.distractor), max_tokens=30, cache_mb=0)
    first, second = text_generator(config.question), text_generator(limited)
    (question,) = await write_questions(long, first, second, 1, 0)
    head = f"{question.text} <sep> {question.options[0]} <sep> "
    (length,) = await second.lengths([head])
    parts = await windows(long, 28 - length, second)
    options = [
        parse_options(question.options[0], written)
        for ((written,),) in [await second.generate([head + part]) for part in parts]
    ]
    assert question.options == options[0]
    assert options[0] != options[-1]


@pytest.mark.anyio
async def test_a_question_that_leaves_no_room_for_the_response_is_left_out(models: Models) -> None:
    config = models.config()
    first, passage = text_generator(config.question), Passage.of("The bridge was opened in 1932.")

    async def written(max_tokens: int) -> list[ChoiceQuestion]:
        limited = ModelConfig(name=str(models.distractor), max_tokens=max_tokens)
        return await write_questions(passage, first, text_generator(limited), 1, 0)

    (question,) = await written(64)
    head = f"{question.text} <sep> {question.options[0]} <sep> "
    (length,) = await text_generator(config.distractor).lengths([head])
    # Two tokens begin and end the input.
    assert await written(2 + length + 16) == [question]
    assert await written(2 + length + 15) == []


@pytest.mark.anyio
async def test_tokens_that_steer_a_model_are_text_like_any_other(models: Models) -> None:
    response = f"{RESPONSE} It is </s> three <s>long</s> <sep> <extra_id_3> <pad> metres."
    found = await score(models.config(), response, [*SAMPLES, "Workers </s></s> built <mask>."])
    assert None not in found.sentences[:3]


@pytest.mark.anyio
async def test_a_model_that_is_made_for_something_else_is_refused(
    tiny: Tiny, models: Models
) -> None:
    classifier = str(tiny(make_roberta, head=True))
    with pytest.raises(ConfigurationError, match="`answerability` returns 3 values"):
        await Mqag(models.config(answerability=classifier)).prepare()
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        await Mqag(models.config(answering=str(models.question))).prepare()
    for name in ("question", "distractor"):
        with pytest.raises(ConfigurationError, match="there is no folder"):
            await Mqag(models.config(**{name: "/nowhere/at/all"})).prepare()
    with pytest.raises(ConfigurationError, match="there is no folder"):
        await score(models.config(question="/nowhere/at/all"), RESPONSE, SAMPLES)
    # Even where there is nothing to ask it.
    prose = str(tiny(make_writer, chain="prose"))
    with pytest.raises(ConfigurationError, match="`answerability` returns 3 values"):
        await score(models.config(question=prose, answerability=classifier), RESPONSE, SAMPLES)


def test_concurrent_checks_do_not_mix(models: Models) -> None:
    # By counts, as questions of one sentence would differ in the last digits alone.
    scorer = Mqag(models.config(batch_tokens=2048, scoring="bayes"))
    other = " ".join(sentences(3, seed=1))

    async def check(response: str) -> Scores:
        return await scorer.score(Passage.of(response), Evidence(samples=Samples(SAMPLES)))

    async def both() -> tuple[Scores, Scores]:
        return await asyncio.gather(check(RESPONSE), check(other))

    together = asyncio.run(both())
    for response, found in zip((RESPONSE, other), together, strict=True):
        alone = asyncio.run(check(response))
        assert found.reasons == alone.reasons
        assert found.sentences == pytest.approx(alone.sentences, abs=1e-5)


def test_betas_under_a_half_turn_evidence_around() -> None:
    for name in ("beta1", "beta2"):
        for value in (0.5, 0.2, 1.0):
            with pytest.raises(ValueError, match=name):
                Mqag.Config.model_validate({name: value})


def test_the_default_models_are_those_of_the_paper() -> None:
    config = Mqag.Config()
    assert config.question == "potsawee/t5-large-generation-squad-QuestionAnswer"
    assert (config.beta1, config.beta2, config.scoring) == (0.8, 0.8, "bayes_alpha")


@needs("torch")
def test_the_published_settings_are_the_defaults() -> None:
    assert Mqag().config == Mqag.Config()
