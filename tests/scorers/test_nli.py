"""`nli` against the equations, with a real model, one pair at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from resay import Guard, Passage
from resay.adapters import GuardRuntime
from resay.plugins import Evidence, ModelConfig, Samples, Scores
from resay.scorers.common.nearest_sentences import NearestSentences
from resay.scorers.nli import Nli
from support.known_models import make_denier
from support.later import LazyImport
from support.tiny_models import make_bert, make_deberta, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]

RESPONSE = sentences(5, seed=1, longest=9)
SAMPLES = [" ".join(sentences(3, seed=seed, longest=9)) for seed in range(2, 6)]


def plainly(folder: Path, *, sentence_first: bool = False) -> Callable[[str, str], float]:
    """Equation 9 for one pair, written out with transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    labels = {name: number for number, name in model.config.id2label.items()}

    def contradicted(sample: str, sentence: str) -> float:
        pair = (sentence, sample) if sentence_first else (sample, sentence)
        with torch.inference_mode():
            logits = model(**tokenizer(*pair, return_tensors="pt")).logits[0].double()
        z_e, z_c = logits[labels["entailment"]], logits[labels["contradiction"]]
        return float(z_c.exp() / (z_e.exp() + z_c.exp()))

    return contradicted


async def score(folder: Path, samples: list[str] = SAMPLES, **config: Any) -> Scores:
    scorer = Nli(Nli.Config.model_validate({"model": str(folder), **config}))
    return await scorer.score(Passage.from_sentences(RESPONSE), Evidence(Samples(samples)))


@pytest.mark.parametrize("sentence_first", [False, True])
async def test_scores_are_those_of_equation_10(tiny: Tiny, sentence_first: bool) -> None:
    folder = tiny(make_deberta)
    contradicted = plainly(folder, sentence_first=sentence_first)
    order = "sentence_first" if sentence_first else "auto"
    found = await score(folder, order=order)
    expected = [fmean(contradicted(sample, r) for sample in SAMPLES) for r in RESPONSE]
    assert found.sentences == pytest.approx(expected, abs=1e-5)
    assert found.columns[1] == pytest.approx(
        [contradicted(SAMPLES[1], r) for r in RESPONSE], abs=1e-5
    )
    assert max(expected) - min(expected) > 0.02


async def test_labels_are_found_wherever_they_stand(tiny: Tiny, tmp_path: Path) -> None:
    usual = await score(tiny(make_deberta))
    turned = Path(shutil.copytree(tiny(make_deberta), tmp_path / "turned"))
    config = json.loads((turned / "config.json").read_text())
    config["id2label"] = {"0": "Entailment", "1": "CONTRADICTION", "2": "neutral"}
    (turned / "config.json").write_text(json.dumps(config))
    # The same weights under other names: what was contradiction is entailment now.
    expected = [1.0 - (s or 0.0) for s in usual.sentences]
    assert (await score(turned)).sentences == pytest.approx(expected, abs=1e-5)


async def test_two_labels_do(tiny: Tiny) -> None:
    folder = tiny(make_deberta, labels={0: "Entailment", 1: "Contradiction"})
    contradicted = plainly_two(folder)
    found = await score(folder)
    expected = [fmean(contradicted(sample, r) for sample in SAMPLES) for r in RESPONSE]
    assert found.sentences == pytest.approx(expected, abs=1e-5)


def plainly_two(folder: Path) -> Callable[[str, str], float]:
    """What the released code computes of a model whose neutral output was removed."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def contradicted(sample: str, sentence: str) -> float:
        with torch.inference_mode():
            logits = model(**tokenizer(sample, sentence, return_tensors="pt")).logits
        return float(torch.softmax(logits.double(), dim=-1)[0][1])

    return contradicted


async def test_the_nearest_sentences_alone(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    contradicted = plainly(folder)
    found = await score(folder, premise="sentences", nearest=2)
    texts = [[s.text for s in Passage.of(sample).sentences] for sample in SAMPLES]
    expected = [
        fmean(contradicted(" ".join(NearestSentences(others).to(r, 2)), r) for others in texts)
        for r in RESPONSE
    ]
    assert found.sentences == pytest.approx(expected, abs=1e-5)


async def test_a_long_sample_is_read_in_windows(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    long = " ".join(sentences(14, seed=9, longest=9))
    found = await score(folder, [long])
    # Each window alone, by the probabilities of all three labels.
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert len(tokenizer(long)["input_ids"]) > 64
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    pieces = [s.text for s in Passage.of(long).sentences]
    for r, value in zip(RESPONSE, found.sentences, strict=True):
        room = 64 - 3 - len(tokenizer(r, add_special_tokens=False)["input_ids"])
        windows: list[str] = []
        for piece in pieces:
            joined = f"{windows[-1]} {piece}" if windows else piece
            fits = len(tokenizer(joined, add_special_tokens=False)["input_ids"]) <= room
            windows = [*windows[:-1], joined] if windows and fits else [*windows, piece]
        assert len(windows) > 1
        with torch.inference_mode():
            p = torch.cat(
                [
                    model(**tokenizer(w, r, return_tensors="pt")).logits.double().softmax(-1)
                    for w in windows
                ]
            )
        contradicts, entails = p[:, 0].max(), p[:, 1].max()
        assert value == pytest.approx(float(contradicts / (contradicts + entails)), abs=1e-5)


async def test_a_sentence_too_long_for_the_model_is_as_contradicted_as_its_worst_part(
    tiny: Tiny,
) -> None:
    words = " ".join(sentences(9, seed=3, longest=15)).replace(".", "").lower()
    scorer = Nli(Nli.Config(model=str(tiny(make_deberta))))
    passage = Passage.from_sentences([f"{words}."])
    found = await scorer.score(passage, Evidence(Samples(SAMPLES[:1])))
    assert len(found.sentences) == 1
    assert 0.0 <= (found.sentences[0] or 0.0) <= 1.0


@pytest.mark.parametrize(
    "settings", [{"max_tokens": 20}, {"batch_tokens": 16}, {"window_ms": 0}, {"cache_mb": 0}]
)
async def test_no_setting_of_the_engine_loses_a_sentence(
    tiny: Tiny, settings: dict[str, Any]
) -> None:
    model = ModelConfig(name=str(tiny(make_deberta)), **settings)
    scorer = Nli(Nli.Config(model=model))
    found = await scorer.score(Passage.from_sentences(RESPONSE), Evidence(Samples(SAMPLES)))
    assert None not in found.sentences
    if "max_tokens" not in settings:
        usual = await score(tiny(make_deberta))
        assert found.sentences == pytest.approx(usual.sentences, abs=1e-5)


async def test_a_flagged_sentence_comes_with_what_contradicts_it_most(tiny: Tiny) -> None:
    guard = Guard(
        {
            "chain": [{"method": "nli", "model": str(tiny(make_denier))}],
            "threshold": {"sentence": 0.2, "passage": None},
            "sampling": {"confidence": None},
        }
    )
    samples = [
        "The bridge was opened in 1871. It was long.",
        "The bridge was built. It was never opened in 1871. She wrote a novel.",
        "She wrote a novel.",
    ]
    verdict = await guard.acheck("The bridge was opened in 1871.", samples=samples)
    (sentence,) = verdict.flagged_sentences
    assert sentence.score == pytest.approx(1 / 3, abs=0.02)
    assert sentence.contradicted_by is not None
    assert sentence.contradicted_by.index == 1
    assert sentence.contradicted_by.text == "It was never opened in 1871."


async def test_the_same_sentence_is_no_contradiction(tiny: Tiny) -> None:
    scorer = Nli(Nli.Config(model=str(tiny(make_deberta))))
    for sentence in RESPONSE:
        evidence = Evidence(Samples([sentence]))
        assert await scorer.contradiction(sentence, evidence, [1.0]) is None


async def test_a_model_without_the_labels_makes_the_check_inconclusive(tiny: Tiny) -> None:
    folder = tiny(make_deberta, labels={0: "good", 1: "bad"})
    guard = Guard({"chain": [{"method": "nli", "model": str(folder)}]})
    verdict = await guard.acheck(" ".join(RESPONSE), samples=SAMPLES)
    assert verdict.inconclusive
    assert "has the labels 'good, bad'; `nli` needs entailment and contradiction" in verdict.reason
    named = {"name": str(folder), "labels": ["entailment", "contradiction"]}
    guard = Guard({"chain": [{"method": "nli", "model": named}]})
    assert not (await guard.acheck(" ".join(RESPONSE), samples=SAMPLES)).inconclusive


async def test_preparing_says_what_is_wrong_before_the_first_check(tiny: Tiny) -> None:
    from resay.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="was not made for classification"):
        await GuardRuntime(
            Guard({"chain": [{"method": "nli", "model": str(tiny(make_bert, pooling=None))}]})
        ).aprepare()
    await GuardRuntime(
        Guard({"chain": [{"method": "nli", "model": str(tiny(make_deberta))}]})
    ).aprepare()


async def test_references_take_the_place_of_samples(tiny: Tiny) -> None:
    folder = tiny(make_deberta)
    guard = Guard({"chain": [{"method": "nli", "model": str(folder), "evidence": "references"}]})
    verdict = await guard.acheck(" ".join(RESPONSE), references=SAMPLES[:1])
    expected = [plainly(folder)(SAMPLES[0], s.text) for s in verdict.sentences]
    assert [s.score for s in verdict.sentences] == pytest.approx(expected, abs=1e-5)
    for sentence in verdict.flagged_sentences:
        assert sentence.contradicted_by is None or sentence.contradicted_by.source == "reference"
