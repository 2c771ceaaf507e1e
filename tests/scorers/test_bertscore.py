"""`bertscore` against the equation, one pair of sentences at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from resay import Passage
from resay.core.tokens import tokenize
from resay.errors import ConfigurationError
from resay.plugins import Evidence, Samples, Scores
from resay.scorers.bertscore import Bertscore
from support.alone import needs
from support.later import LazyImport
from support.tiny_models import make_roberta, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]

RESPONSE = sentences(4, seed=1, longest=9)
LONG = [text for text in sentences(30, seed=2, longest=9) if len(text.split()) > 4]
SAMPLES = [" ".join(LONG[i : i + 4]) for i in range(0, 12, 4)]


def plainly(folder: Path) -> Callable[[str, str], float]:
    """F1 of greedy matching, written out for one pair with transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def tokens(text: str) -> torch.Tensor:
        with torch.inference_mode():
            rows = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 1:-1]
        return torch.nn.functional.normalize(rows.double(), dim=-1)

    def f1(a: str, b: str) -> float:
        likeness = tokens(a) @ tokens(b).T
        precision, recall = likeness.max(1).values.mean(), likeness.max(0).values.mean()
        return float(2 * precision * recall / (precision + recall))

    return f1


async def score(folder: Path, samples: list[str], **config: Any) -> Scores:
    scorer = Bertscore(Bertscore.Config.model_validate({"model": str(folder), **config}))
    return await scorer.score(Passage.from_sentences(RESPONSE), Evidence(Samples(samples)))


@pytest.mark.parametrize("baseline", [0.0, 0.75])
async def test_scores_are_those_of_equation_1(tiny: Tiny, baseline: float) -> None:
    folder = tiny(make_roberta)
    f1 = plainly(folder)
    rescaled = {"rescale": baseline} if baseline else {"rescale": False}
    found = await score(folder, SAMPLES, **rescaled)
    texts = [[s.text for s in Passage.of(sample).sentences] for sample in SAMPLES]
    expected = [
        1 - fmean(max((f1(r, s) - baseline) / (1 - baseline) for s in others) for others in texts)
        for r in RESPONSE
    ]
    assert found.raw == pytest.approx(expected, abs=1e-5)
    clipped = [min(max(value, 0.0), 1.0) for value in expected]
    assert found.sentences == pytest.approx(clipped, abs=1e-5)


async def test_short_sentences_of_a_sample_are_left_out(tiny: Tiny) -> None:
    folder = tiny(make_roberta)
    plain = await score(folder, SAMPLES[:1])
    # Sentences of the response, so that they would be the best match of all.
    four, three = RESPONSE[0], RESPONSE[1]
    assert (len(tokenize(four)), len(tokenize(three))) == (4, 3)
    short = await score(folder, [f"{three} {SAMPLES[0]}"])
    assert short.sentences == pytest.approx(plain.sentences, abs=1e-6)
    long = await score(folder, [f"{four} {SAMPLES[0]}"])
    assert long.sentences[0] == pytest.approx(0.0, abs=1e-6) != plain.sentences[0]


async def test_a_sample_without_a_long_sentence_says_nothing(tiny: Tiny) -> None:
    folder = tiny(make_roberta)
    plain = await score(folder, SAMPLES)
    more = await score(folder, [*SAMPLES, "No. Yes. Bridge."])
    assert more.sentences == pytest.approx(plain.sentences, abs=1e-6)
    assert more.columns[-1] == (None,) * len(RESPONSE)
    assert (await score(folder, ["No."])).sentences == (None,) * len(RESPONSE)


async def test_each_distinct_sentence_is_embedded_once(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    from resay.models.torch_network import TorchNetwork

    embedded: list[tuple[int, ...]] = []
    real = TorchNetwork.run

    def counted(self: TorchNetwork, batch: Any) -> Any:
        for ids, mask in zip(batch.ids, batch.mask, strict=True):
            embedded.append(tuple(ids[: mask.sum()].tolist()))
        return real(self, batch)

    monkeypatch.setattr(TorchNetwork, "run", counted)
    model = {"name": str(tiny(make_roberta)), "window_ms": 1.25}
    samples = [*SAMPLES, f"{LONG[0]} {LONG[9]}"]
    await Bertscore(Bertscore.Config.model_validate({"model": model})).score(
        Passage.from_sentences(RESPONSE), Evidence(Samples(samples))
    )
    distinct = {*RESPONSE, *(s.text for text in samples for s in Passage.of(text).sentences)}
    assert len(embedded) == len(set(embedded)) == len(distinct)


@needs("torch")
def test_published_layers_and_baselines_belong_together() -> None:
    assert Bertscore()._baseline == 0.83122575
    assert Bertscore(Bertscore.Config(layer=20))._baseline == 0.0
    assert Bertscore(Bertscore.Config(rescale=0.5, layer=20))._baseline == 0.5
    assert Bertscore(Bertscore.Config(model="FacebookAI/roberta-large"))._baseline == 0.83122575
    with pytest.raises(ConfigurationError, match=r"`rescale` must be under 1, not 1\.5"):
        Bertscore(Bertscore.Config(rescale=1.5))


async def test_samples_that_are_all_short_decide_nothing_and_say_so(tiny: Tiny) -> None:
    scores = await score(tiny(make_roberta), [RESPONSE[1], RESPONSE[1]])
    assert scores.error == "2 of 2 samples have no sentence of more than three words"
