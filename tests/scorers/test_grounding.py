"""`grounding` against plain implementations of what was published, and its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from resay import Guard, Passage, Request
from resay.core.scores import UnsupportedSpan
from resay.errors import ConfigurationError, ScorerError
from resay.models.base import TokenLabels
from resay.plugins import Evidence, ModelConfig, Samples, Scores
from resay.scorers.grounding import Grounding, formats
from resay.scorers.grounding import scorer as scorer_module
from simulation import SimulatedInference
from support.later import LazyImport
from support.tiny_models import (
    JUDGED_LABELS,
    make_bert,
    make_deberta,
    make_hhem,
    make_modernbert,
    make_roberta,
    make_t5,
)

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]
DOCUMENT = "The bridge was opened in 1932 by the king. It is 503 metres long."
CLAIMS = ("It was opened in 1871.", "The king opened it.", "She wrote a novel in Vienna.")
QUESTION = "When was the bridge opened?"


def of(model: Path | str | ModelConfig, **settings: Any) -> Grounding:
    name = str(model) if isinstance(model, Path) else model
    return Grounding(Grounding.Config.model_validate({"model": name, **settings}))


async def scored(
    scorer: Grounding, claims: Sequence[str], references: Sequence[str], question: str = ""
) -> Scores:
    request = Request.of(question) if question else Request(())
    evidence = Evidence(references=Samples(references), request=request)
    return await scorer.score(Passage.from_sentences(claims), evidence)


def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer, getattr(transformers, kind).from_pretrained(folder).eval()


# What was published, one text at a time


def minicheck_encoder(folder: Path, document: str, claim: str) -> float:
    tokenizer, model = loaded(folder, "AutoModelForSequenceClassification")
    text = tokenizer.eos_token.join([document, claim])
    with torch.inference_mode():
        return float(model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0, 1])


def minicheck_t5(folder: Path, document: str, claim: str) -> float:
    tokenizer, model = loaded(folder, "AutoModelForSeq2SeqLM")
    text = "predict: " + tokenizer.eos_token.join([document, claim])
    given = tokenizer(text, return_tensors="pt")
    start = torch.tensor([[model.config.decoder_start_token_id]])
    with torch.inference_mode():
        logits = model(
            input_ids=given.input_ids, attention_mask=given.attention_mask, decoder_input_ids=start
        ).logits[0, 0]
    return float(logits[[3, 209]].softmax(-1)[1])


def hhem(folder: Path, document: str, claim: str) -> float:
    from safetensors.torch import load_file

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "base")
    config = transformers.T5Config.from_pretrained(folder / "base", num_labels=2)
    model = transformers.T5ForTokenClassification(config).eval()
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({n.removeprefix("t5."): w for n, w in weights.items()}, strict=False)
    text = (
        "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: "
        f"{document}\n\nHypothesis: {claim}"
    )
    with torch.inference_mode():
        return float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0].softmax(-1)[1])


def factcg(folder: Path, document: str, claim: str) -> float:
    tokenizer, model = loaded(folder, "AutoModelForSequenceClassification")
    lines = "\n".join(sentence.text for sentence in Passage.of(document).sentences)
    text = (
        f"{lines}\n\nChoose your answer: based on the paragraph above can we conclude that"
        f' "{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    )
    with torch.inference_mode():
        return float(model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0, 1])


def lettucedetect(folder: Path, prompt: str, answer: str) -> list[tuple[int, int, float]]:
    """Where each token of the answer stands, and how probably it is hallucinated."""
    tokenizer, model = loaded(folder, "AutoModelForTokenClassification")
    given = tokenizer(prompt, answer, return_offsets_mapping=True, return_tensors="pt")
    with torch.inference_mode():
        logits = model(input_ids=given.input_ids, attention_mask=given.attention_mask).logits
    probabilities = logits.softmax(-1)[0, :, 1].tolist()
    offsets = given.offset_mapping[0].tolist()
    return [
        (start, end, p)
        for of_text, (start, end), p in zip(
            given.sequence_ids(0), offsets, probabilities, strict=True
        )
        if of_text == 1
    ]


QA = (
    "Briefly answer the following question:\nWhen was the bridge opened?\nBear in mind that your"
    " response should be strictly based on the following 2 passages:\npassage 1: The bridge was"
    " opened in 1932.\npassage 2: She wrote it.\nIn case the passages do not contain the necessary"
    ' information to answer the question, please reply with: "Unable to answer based on given'
    ' passages."\noutput:'
)


JUDGES: list[tuple[Callable[..., Path], dict[str, Any], Callable[..., float]]] = [
    (make_roberta, {"head": True, "labels": JUDGED_LABELS}, minicheck_encoder),
    (make_t5, {}, minicheck_t5),
    (make_hhem, {}, hhem),
]


@pytest.mark.parametrize(("maker", "settings", "plainly"), JUDGES)
async def test_a_claim_is_judged_as_published(
    tiny: Tiny,
    maker: Callable[..., Path],
    settings: dict[str, Any],
    plainly: Callable[..., float],
) -> None:
    folder = tiny(maker, **settings)
    found = await scored(of(folder), CLAIMS, [DOCUMENT])
    expected = [1 - plainly(folder, DOCUMENT, claim) for claim in CLAIMS]
    assert found.sentences == pytest.approx(expected, abs=1e-5)
    assert len(set(np.round(expected, 4))) > 1


async def test_factcg_is_asked_with_options_as_published(tiny: Tiny) -> None:
    # Of a folder nobody can say whether MiniCheck or FactCG was trained in it.
    folder = tiny(make_roberta, head=True, labels=JUDGED_LABELS, room=400)
    found = await scored(of(folder, format="factcg"), CLAIMS, [DOCUMENT])
    expected = [1 - factcg(folder, DOCUMENT, claim) for claim in CLAIMS]
    assert found.sentences == pytest.approx(expected, abs=1e-5)
    assert len(set(np.round(expected, 4))) > 1
    minicheck = await scored(of(folder), CLAIMS, [DOCUMENT])
    assert minicheck.sentences != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("second", "chunks"), [(274, 1), (275, 2)])
async def test_factcg_reads_550_words_and_marks_at_once(
    use: Callable[..., Judge], second: int, chunks: int
) -> None:
    judge = use(Judge())
    # Each sentence ends in a mark.
    await scored(of(SERVED, format="factcg"), ["w"], [sentences_of(274, second)])
    assert len(judge.read) == chunks
    question = "Choose your answer: based on the paragraph above can we conclude"
    assert all(question in text for text in judge.read)


async def test_tokens_are_judged_as_published(tiny: Tiny) -> None:
    folder = tiny(make_modernbert)
    references = ["The bridge was opened in 1932.", "She wrote it."]
    answer = "The old bridge was opened in 1871. The novel was never finished."
    plain = lettucedetect(folder, QA, answer)
    passage = Passage.of(answer)
    evidence = Evidence(references=Samples(references), request=Request.of(QUESTION))
    found = await of(folder).score(passage, evidence)
    cut = passage.sentences[1].start
    assert found.sentences == pytest.approx(
        (max(p for _, b, p in plain if b <= cut), max(p for a, _, p in plain if a >= cut)),
        abs=1e-5,
    )
    inside = {i for span in sum(found.spans, ()) for i in range(span.start, span.end)}
    for start, end, p in plain:
        assert (p > 0.5) == inside.issuperset(range(start, end)), answer[start:end]
    assert {p > 0.5 for _, _, p in plain} == {True, False}


async def test_without_a_question_the_passages_are_a_text_to_be_summarised(tiny: Tiny) -> None:
    folder = tiny(make_modernbert)
    prompt = "Summarize the following text:\npassage 1: She wrote it.\noutput:"
    plain = lettucedetect(folder, prompt, CLAIMS[0])
    found = await scored(of(folder), CLAIMS[:1], ["She wrote it."])
    assert found.sentences == pytest.approx((max(p for *_, p in plain),), abs=1e-5)


EXPORTED = [
    (make_roberta, {"head": True, "labels": JUDGED_LABELS}),
    (make_t5, {}),
    (make_hhem, {}),
    (make_modernbert, {}),
]


@pytest.mark.parametrize(("maker", "settings"), EXPORTED)
async def test_an_exported_model_says_the_same(
    tiny: Tiny, tmp_path: Path, maker: Callable[..., Path], settings: dict[str, Any]
) -> None:
    pytest.importorskip("onnx")
    from resay.models.export import export

    folder = tiny(maker, **settings)
    export(str(folder), tmp_path / "onnx")
    exported = of(tmp_path / "onnx")
    found = await scored(exported, CLAIMS, [DOCUMENT], QUESTION)
    expected = await scored(of(folder), CLAIMS, [DOCUMENT], QUESTION)
    assert found.sentences == pytest.approx(expected.sentences, abs=1e-3)
    assert found.spans == tuple(
        tuple(UnsupportedSpan(s.start, s.end, pytest.approx(s.score, abs=1e-3)) for s in spans)
        for spans in expected.spans
    )


def supports(pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
    """Supports a claim whose words are all in the document."""
    rows: list[list[float]] = []
    for text, _ in pairs:
        document, _, claim = text.partition("</s>")
        known = set(document.lower().split()) >= set(claim.lower().split())
        rows.append([0.1, 0.9] if known else [0.8, 0.2])
    return rows


async def test_a_server_is_asked_about_one_text() -> None:
    labels = ["unsupported", "supported"]
    claims = ["it opened in", "it opened in 1950"]
    for api in ("tei", "vllm"):
        with SimulatedInference(api=api, labels=labels, classify=supports) as server:
            named = {"name": "simulated", "labels": labels} if api == "vllm" else {}
            model = ModelConfig(backend=api, url=server.url, **named)
            found = await scored(of(model), claims, ["it fell", "it opened in 1932"])
        assert found.sentences == pytest.approx((0.1, 0.8))


# What it makes of what a model says


class Judge:
    """Supports a claim where the text before it has all of its words; a token is a word."""

    def __init__(
        self, *, room: int | None = None, labels: tuple[str, ...] = ("label_0", "label_1")
    ) -> None:
        self._room = room
        self._labels = labels
        self.read: list[Any] = []
        self.prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def labels(self) -> tuple[str, ...]:
        return self._labels

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def max_input_tokens(self) -> int | None:
        return self._room

    async def classify(self, texts: Sequence[str]) -> Any:
        self.read += texts
        rows: list[tuple[float, float]] = []
        for text in texts:
            document, _, claim = text.partition("</s>")
            known = set(document.lower().split()) >= set(claim.lower().split())
            rows.append((0.1, 0.9) if known else (0.8, 0.2))
        return np.array(rows)

    async def classify_tokens(self, pairs: Sequence[tuple[str, str]]) -> list[TokenLabels]:
        self.read += pairs
        found: list[TokenLabels] = []
        for prompt, answer in pairs:
            spans: list[tuple[int, int]] = []
            at = 0
            for word in answer.split(" "):
                # With the space before it, as byte pairs have it.
                spans.append((max(at - 1, 0), at + len(word)))
                at += len(word) + 1
            known = set(prompt.lower().split())
            rows = [
                (0.9, 0.1) if answer[a:b].strip().lower() in known else (0.3, 0.7) for a, b in spans
            ]
            found.append(TokenLabels(tuple(spans), np.array(rows)))
        return found


SERVED = {"backend": "tei", "url": "http://models.invalid"}


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Judge]:
    def use(judge: Judge) -> Judge:
        monkeypatch.setattr(scorer_module, "text_classifier", lambda *_: judge)
        monkeypatch.setattr(scorer_module, "token_classifier", lambda _: judge)
        return judge

    return use


async def test_one_reference_that_supports_a_claim_is_enough(use: Callable[..., Judge]) -> None:
    use(Judge())
    references = ["it fell in 1950", "it opened in 1932", "nobody knows"]
    found = await scored(of(SERVED), ["opened in 1932", "opened in 1950"], references)
    assert found.sentences == (pytest.approx(0.1), pytest.approx(0.8))
    assert found.reasons == (
        "best supported by reference 2: 0.90",
        "best supported by reference 1: 0.20",
    )


async def test_a_document_is_read_in_chunks_of_whole_sentences(use: Callable[..., Judge]) -> None:
    judge = use(Judge())
    document = " ".join(f"Word{i} is here with all the others of this one." for i in range(4))
    found = await scored(of(SERVED, chunk=20), ["word2 word3", "word1 word2"], [document])
    first, second = document[: document.index(" Word2")], document[document.index("Word2") :]
    assert judge.read[:2] == [f"{first}</s>word2 word3", f"{second}</s>word2 word3"]
    assert found.sentences == (pytest.approx(0.1), pytest.approx(0.8))


async def test_nothing_is_cut_off_that_the_model_has_no_room_for(use: Callable[..., Judge]) -> None:
    judge = use(Judge(room=40))
    words = [f"w{i}" for i in range(100)]
    claim = " ".join(words[:30])
    found = await scored(of(SERVED), [claim, "w99 w98"], [" ".join(words)])
    assert max(len(text.split()) for text in judge.read) <= 40
    read = " ".join(judge.read)
    assert all(word in read for word in words)
    # A claim takes half of the room at most.
    assert max(len(text.partition("</s>")[2].split()) for text in judge.read) == 18
    # A part of the long claim is in no window as a whole.
    assert found.sentences == (pytest.approx(0.8), pytest.approx(0.1))


def sentences_of(*words: int) -> str:
    return " ".join(" ".join(["Word", *["w"] * (n - 2), "end."]) for n in words)


@pytest.mark.parametrize(("second", "chunks"), [(200, 1), (201, 2)])
async def test_the_published_chunks_have_400_tokens(
    use: Callable[..., Judge], second: int, chunks: int
) -> None:
    judge = use(Judge())
    await scored(of(SERVED), ["w"], [sentences_of(200, second)])
    assert len(judge.read) == chunks


class Doubling(Judge):
    """A word is two tokens."""

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return [2 * len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("chunk", "second", "chunks"), [(None, 250, 1), (None, 251, 2), (1000, 250, 1), (1000, 251, 2)]
)
async def test_those_of_a_t5_have_500_words_and_others_so_many_tokens(
    tiny: Tiny, use: Callable[..., Judge], chunk: int | None, second: int, chunks: int
) -> None:
    judge = use(Doubling())
    await scored(of(tiny(make_t5), chunk=chunk), ["w"], [sentences_of(250, second)])
    assert len(judge.read) == chunks
    assert judge.read[0].startswith("predict: Word")


async def test_a_document_for_hhem_leaves_room_for_the_claim(use: Callable[..., Judge]) -> None:
    judge = use(Judge(room=60))
    words = " ".join(f"w{i}" for i in range(100))
    await scored(of(SERVED, format="hhem"), ["w1 w2"], [words])
    premises = [
        text.partition("Premise: ")[2].partition("\n\nHypothesis: ")[0] for text in judge.read
    ]
    # Of 60 words 12 are the prompt's and 2 are spared; a quarter of the rest is for the claim.
    assert [len(premise.split()) for premise in premises] == [35, 35, 30]


@pytest.mark.parametrize(("second", "prompts"), [(2036, 1), (2037, 2)])
async def test_the_published_prompt_has_4096_tokens_with_the_answer(
    use: Callable[..., Judge], second: int, prompts: int
) -> None:
    judge = use(Judge())
    # Of 4,096 tokens 3 are special ones, 1 is the answer's, 7 the prompt's, 2 are spared, and 5 are
    # for each passage's number.
    references = [" ".join(["w"] * n) for n in (2037, second)]
    await scored(of(SERVED, format="lettucedetect"), ["w"], references)
    assert len(judge.read) == prompts


async def test_every_prompt_about_an_answer_fits_into_the_chosen_number_of_tokens(
    use: Callable[..., Judge],
) -> None:
    judge = use(Judge())
    references = [" ".join([f"a{i}", *["x"] * 29]) for i in range(3)]
    await scored(of(SERVED, format="lettucedetect", chunk=60), ["w"], references)
    assert [f"a{i}" in prompt for i, (prompt, _) in enumerate(judge.read)] == [True] * 3
    assert max(len(prompt.split()) + len(answer.split()) for prompt, answer in judge.read) <= 57


@pytest.mark.parametrize("room", [18, 19])
async def test_a_model_that_reads_too_little_is_refused(
    use: Callable[..., Judge], room: int
) -> None:
    # Between document and claim stands one token, and 2 are spared.
    judge = use(Judge(room=room))
    if room == 19:
        await scored(of(SERVED), ["w"], ["w"])
        assert judge.read == ["w</s>w"]
        return
    with pytest.raises(ScorerError, match="reads only 18 tokens"):
        await scored(of(SERVED), ["w"], ["w"])


class Letters(Judge):
    """A character is a token."""

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


async def test_a_word_that_is_too_long_is_divided_too(use: Callable[..., Judge]) -> None:
    judge = use(Letters(room=400))
    await scored(of(SERVED, format="lettucedetect"), ["x" * 600 + "yz"], ["w"])
    answers = [answer for _, answer in judge.read]
    assert [len(answer) for answer in answers] == [150, 151, 150, 151]
    assert "".join(answers) == "x" * 600 + "yz"


async def test_one_character_of_too_many_tokens_is_read_as_it_is(use: Callable[..., Judge]) -> None:
    class Heavy(Judge):
        async def lengths(self, texts: Sequence[str]) -> list[int]:
            return [50 if text == "x" else len(text.split()) for text in texts]

    judge = use(Heavy(room=80))
    await scored(of(SERVED, format="lettucedetect"), ["x"], ["w"])
    assert [answer for _, answer in judge.read] == ["x"]


async def test_a_model_is_loaded_before_its_first_use(use: Callable[..., Judge]) -> None:
    for format_ in ("minicheck", "lettucedetect"):
        judge = use(Judge())
        await of(SERVED, format=format_).prepare()
        assert judge.prepared == 1
        use(Judge(labels=("yes", "no", "maybe")))
        with pytest.raises(ConfigurationError, match="needs one of two labels"):
            await of(SERVED, format=format_).prepare()


async def test_the_kind_of_a_hub_model_is_detected_at_first_use(
    use: Callable[..., Judge], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Judge())
    scorer = of("somebody/something")
    assert not scorer.traits.by_sentence
    for module in (formats, scorer_module):
        monkeypatch.setattr(module, "kind_of", lambda _: "classification")
    monkeypatch.setattr(scorer_module, "separator_of", lambda _: "</s>")
    assert (await scored(scorer, ["opened"], ["it opened"])).sentences == pytest.approx((0.1,))


async def test_a_text_cannot_be_taken_for_two(use: Callable[..., Judge]) -> None:
    judge = use(Judge())
    await scored(of(SERVED), ["claim</s>more"], ["document</s>supports claim"])
    assert judge.read == ["document supports claim</s>claim more"]


async def test_spans_are_the_words_without_support_and_stand_in_their_claim(
    use: Callable[..., Judge],
) -> None:
    use(Judge())
    answer = "It opened in 1871 or so. Anna was there."
    passage = Passage.of(answer)
    found = await of(SERVED, format="lettucedetect").score(
        passage, Evidence(references=Samples(["it opened in 1932 or so. there was"]))
    )
    assert [answer[s.start : s.end] for s in found.spans[0]] == ["1871"]
    assert [answer[s.start : s.end] for s in found.spans[1]] == ["Anna", "there."]
    assert found.sentences == (0.7, 0.7)
    assert found.reasons == (
        'no reference supports "1871" (0.70)',
        'no reference supports "Anna" (0.70), "there." (0.70)',
    )


async def test_a_token_is_supported_where_one_group_of_references_supports_it(
    use: Callable[..., Judge],
) -> None:
    judge = use(Judge(room=60))
    references = [" ".join([f"a{i}", *["x"] * 20]) for i in range(3)]
    found = await scored(
        of(SERVED, format="lettucedetect"), ["a0 a1 a2", "a3"], references, question="Which?"
    )
    assert len({prompt for prompt, _ in judge.read}) > 1
    assert found.sentences == (0.1, 0.7)
    assert found.reasons[0] == "the references support each of its words"


async def test_a_long_answer_is_divided_and_its_spans_stay_where_they_are(
    use: Callable[..., Judge],
) -> None:
    judge = use(Judge(room=80))
    answer = " ".join(f"The word{i} is one of those that are known to it." for i in range(12))
    known = answer.replace("word7", "word")
    found = await of(SERVED, format="lettucedetect").score(
        Passage.of(answer), Evidence(references=Samples([known]))
    )
    assert len({text for _, text in judge.read}) > 1
    spans = sum(found.spans, ())
    assert [answer[s.start : s.end] for s in spans] == ["word7"]


async def test_without_references_there_is_nothing_to_say(use: Callable[..., Judge]) -> None:
    use(Judge())
    assert (await scored(of(SERVED), CLAIMS, [])).sentences == (None, None, None)


@pytest.mark.parametrize(
    ("labels", "supported"),
    [(("supported", "hallucinated"), 0), (("hallucinated", "consistent"), 1)],
)
async def test_a_label_that_has_a_name_goes_by_it(
    use: Callable[..., Judge], labels: tuple[str, ...], supported: int
) -> None:
    use(Judge(labels=labels))
    found = await scored(of(SERVED), ["opened"], ["it opened"])
    assert found.sentences == (pytest.approx(1 - (0.1, 0.9)[supported]),)


# What it is told


def test_the_kind_of_model_decides_its_input(tiny: Tiny) -> None:
    judges = (make_roberta, {"head": True, "labels": JUDGED_LABELS}), (make_t5, {}), (make_hhem, {})
    for maker, settings in judges:
        assert of(tiny(maker, **settings)).traits.by_sentence
    # It reads the whole answer.
    assert not of(tiny(make_modernbert)).traits.by_sentence


def test_a_model_that_judges_nothing_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ConfigurationError, match="classifies neither texts nor tokens"):
        of(tiny(make_bert))


async def test_a_model_for_entailment_is_refused(tiny: Tiny) -> None:
    with pytest.raises(ConfigurationError, match="A model for entailment is for `nli`"):
        await of(tiny(make_deberta)).prepare()


def test_a_server_runs_only_classifiers_of_texts() -> None:
    with pytest.raises(ConfigurationError, match="run the model here"):
        of(SERVED, format="lettucedetect")


def test_a_chunk_has_some_tokens() -> None:
    assert of(SERVED, chunk=16).config.chunk == 16
    with pytest.raises(ValidationError, match="greater than or equal to 16"):
        of(SERVED, chunk=15)


def test_grounding_compares_with_references_only() -> None:
    with pytest.raises(ValidationError, match="references"):
        of(SERVED, evidence="samples")


# In a guard


async def test_a_verdict_says_which_words_have_no_support(use: Callable[..., Judge]) -> None:
    use(Judge())
    policy = {"chain": [{"method": "grounding", "model": SERVED, "format": "lettucedetect"}]}
    answer = "The bridge opened in 1871 and it is long."
    verdict = await Guard(policy).acheck(
        answer, references=["The bridge opened in 1932 and it is very long."]
    )
    assert verdict.flagged
    spans = [part for claim in verdict.claims for part in claim.parts]
    assert [answer[s.start : s.end] for s in spans] == ["1871"]
    assert type(verdict).from_dict(verdict.to_dict()) == verdict
    assert [c["parts"] for c in verdict.to_dict(content=False)["claims"]]


def test_a_policy_needs_references() -> None:
    policy = {"chain": [{"method": "grounding", "model": {**SERVED, "labels": ["no", "yes"]}}]}
    with pytest.raises(ConfigurationError, match="references"):
        Guard(policy).check("It opened in 1932.", samples=["It opened."])


async def test_no_text_is_counted_twice_in_a_check(use: Callable[..., Judge]) -> None:
    counted: list[str] = []
    calls = 0

    class Counting(Judge):
        async def lengths(self, texts: Sequence[str]) -> list[int]:
            nonlocal calls
            calls += 1
            counted.extend(texts)
            return await super().lengths(texts)

    use(Counting())
    references = ["it opened in 1932", " it fell in 1950 ", "it opened in 1932"]
    await scored(of(SERVED, format="lettucedetect"), ["opened in 1932"], references, QUESTION)
    assert calls == 1
    assert len(counted) == len(set(counted)) == 4
