from __future__ import annotations

import pytest

from resay import Passage, Policy, PolicyError, Request
from resay.lang.language import load
from resay.plugins import Completion, Completions, Evidence, Samples, Scores
from resay.scorers.direct_question import DirectQuestion
from resay.scorers.prompt import Prompt

pytestmark = pytest.mark.anyio

# An answer of three claims, and how a judge says: supported, contradicted, not mentioned.
ANSWERS = {
    "de": (
        "Die Brücke ist aus Stahl. Sie wurde 1932 eröffnet. Der Architekt war Harold Finch.",
        "1: belegt\n2. **widersprochen**\nAussage 3: nicht erwähnt",
    ),
    "fr": (
        "Le pont est en acier. Il a été ouvert en 1932. L'architecte est Harold Finch.",
        "1 : confirmé\n2 : contredit\nAffirmation 3 : non mentionné",
    ),
    "es": (
        "El puente es de acero. Fue inaugurado en 1932. El arquitecto es Harold Finch.",
        "1: confirmado\n2: contradicho.\n3: no mencionado",
    ),
    "it": (
        "Il ponte è di acciaio. Fu aperto nel 1932. L'architetto è Harold Finch.",
        "1: confermato\n2: contraddetto\n3: non menzionato",
    ),
    "pt": (
        "A ponte é de aço. Foi aberta em 1932. O arquiteto é Harold Finch.",
        "1: confirmado\n2: contradito\n3: não mencionado",
    ),
    "sv": (
        "Bron är av stål. Den öppnades 1932. Arkitekten är Harold Finch.",
        "1: stöds\n2: **motsägs**\nPåstående 3: nämns inte",
    ),
    "zh": (
        "这座桥是钢制的。它于1932年开放。设计师是哈罗德·芬奇。",
        "陈述1：支持\n2：矛盾。\n3、“未提及”",
    ),
    "ja": (
        "この橋は鋼鉄製です。1932年に開通しました。設計者はハロルド・フィンチです。",
        "1：支持\n主張2：矛盾\n3：「言及なし」",
    ),
}
YES_AND_NO = {
    "de": ("Ja.", "Nein, das stimmt nicht."),
    "fr": ("Oui.", "Non, c'est faux."),
    "es": ("Sí", "**No**"),
    "it": ("Sì.", "Risposta: No"),
    "pt": ("Sim", "Não."),
    "sv": ("Ja.", "Nej, det stämmer inte."),
    "zh": ("是。", "答案：不是"),
    "ja": ("「はい」", "いいえ、違います。"),
}


# Answers to a Swedish prompt about one claim, and its score.
SWEDISH = {
    "1: Stöds.": 0.0,
    "1: bekräftas": 0.0,
    "1: sant": 0.0,
    "1: korrekt": 0.0,
    "1: texten anger samma år – stöds": 0.0,
    "1: stöds ej": 0.6,
    "1: stöds inte": 0.6,
    "1: nämns_inte": 0.6,
    "1: omnämns inte": 0.6,
    "1: saknas": 0.6,
    "1: osant": 0.6,
    "1: motsägs": 1.0,
    "1: texten säger 1931 – motsägs": 1.0,
    "1: stämmer inte": 1.0,
    "1: fel": 1.0,
    "1: stöds endast delvis": None,
    "1: motsägs inte": None,
    "1: stöds, motsägs eller nämns_inte": None,
}


class Judge:
    """Gives answers in order, and notes what it is asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        del request
        return False

    async def complete(self, request: Request, n: int = 1) -> Completions:
        del n
        self.asked.append(str(request.messages[-1]["content"]))
        return Completions((Completion(self._answers.pop(0)),))


async def compared(answer: str, judge: Judge, language: str, question: str = "") -> Scores:
    config = Prompt.Config.model_validate({"mode": "per_sample", "language": language})
    request = Request.of(question) if question else Request(())
    evidence = Evidence(Samples(["?"]), request=request, judge_provider=judge)
    return await Prompt(config).score(Passage.of(answer), evidence)


@pytest.mark.parametrize("language", ANSWERS)
async def test_claims_are_compared_in_the_language_of_the_answer(language: str) -> None:
    answer, said = ANSWERS[language]
    judge = Judge(said)
    scores = await compared(answer, judge, "auto", "?")
    assert scores.columns == ((0.0, 1.0, 0.6),)
    assert scores.undetermined == 0
    (asked,) = judge.asked
    wording = load(language).prompts.per_sample
    assert asked.startswith(wording.task)
    assert wording.about in asked
    assert asked.endswith(wording.rules)
    assert all(sentence.text in asked for sentence in Passage.of(answer).sentences)


@pytest.mark.parametrize("language", ANSWERS)
async def test_an_answer_that_cannot_be_read_is_asked_for_in_the_same_language(
    language: str,
) -> None:
    answer, said = ANSWERS[language]
    judge = Judge("?", said)
    assert (await compared(answer, judge, language)).columns == ((0.0, 1.0, 0.6),)
    assert judge.asked[1] == load(language).prompts.per_sample.again.format(count=3)


@pytest.mark.parametrize(("text", "score"), SWEDISH.items())
async def test_swedish_verdicts_are_read(text: str, score: float | None) -> None:
    judge = Judge(text, text)
    assert (await compared("Bron öppnades 1932.", judge, "sv")).columns == ((score,),)


@pytest.mark.parametrize("language", YES_AND_NO)
async def test_claims_are_asked_about_in_the_language_of_the_answer(language: str) -> None:
    passage = Passage.of(ANSWERS[language][0])
    passage = passage.only([0, 1])
    judge = Judge(*YES_AND_NO[language])
    scorer = DirectQuestion(DirectQuestion.Config(language="auto"))
    scores = await scorer.score(passage, Evidence(request=Request.of("?"), judge_provider=judge))
    assert scores.sentences == (0.0, 1.0)
    assert scores.undetermined == 0
    prompt = load(language).prompts.direct_question
    assert prompt is not None
    expected = [
        prompt.question.format(context="?\n", claim=sentence.text) for sentence in passage.sentences
    ]
    assert judge.asked == expected


@pytest.mark.parametrize(
    ("answer", "question", "language"),
    [
        ("1932.", "Wann wurde die Brücke eröffnet, und von wem ist der Entwurf?", "de"),
        ("1932.", "In which year was the bridge opened?", "en"),
        ("1932.", "", "en"),
        ("The bridge is made of steel.", "Woraus ist die Brücke, und wer war der Architekt?", "en"),
        ("De brug is van staal en werd in 1932 geopend.", "", "en"),
        ("Broen er af stål og blev åbnet i 1932 af en minister.", "", "en"),
        ("El pont és d'acer i va ser obert amb una festa el 1932.", "", "en"),
        ("Мост открыли в 1932 году.", "", "en"),
        ("สะพานนี้เปิดในปี 1932", "", "en"),
        ("다리는 1932년에 개통되었다.", "", "en"),
        ("《東京物語》は is a film.", "", "en"),
        ("日本首都是東京（とうきょう），位於關東地方，是世界上最大的城市之一。", "", "zh"),
    ],
)
async def test_prompts_are_english_for_other_languages(
    answer: str, question: str, language: str
) -> None:
    judge = Judge("1: yes")
    assert (await compared(answer, judge, "auto", question)).columns == ((0.0,),)
    assert judge.asked[0].startswith(load(language).prompts.per_sample.task)


async def test_english_is_asked_where_nothing_is_said() -> None:
    judge = Judge(*["1: yes"] * 2)
    config = Prompt.Config(mode="per_sample")
    evidence = Evidence(Samples(["?"]), judge_provider=judge)
    await Prompt(config).score(Passage.of("Die Brücke ist aus Stahl und der Turm auch."), evidence)
    assert judge.asked[0].startswith("Compare the claims of an answer")


@pytest.mark.parametrize("setting", ["form: published", "task: paraphrase"])
def test_published_questions_are_english(setting: str) -> None:
    named = "task" if "task" in setting else setting
    with pytest.raises(PolicyError, match=f"`{named}` asks the published question, which is Engl"):
        Policy.parse(f"chain: [{{method: prompt, {setting}, language: de}}]")
