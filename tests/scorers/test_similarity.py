"""`similarity` against its equation, one text at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resay import Guard, Passage
from resay.plugins import Evidence, ModelConfig, Samples, ScorerTraits
from resay.scorers.similarity import Similarity
from support.later import LazyImport
from support.tiny_models import make_bert, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]
RESPONSE, TARGET, *REST = (" ".join(sentences(3, seed=s, longest=6)) for s in range(1, 6))


def plainly(folder: Path) -> Callable[[str, str], float]:
    """The cosine of two texts' mean embeddings."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def embed(text: str) -> torch.Tensor:
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)

    return lambda a, b: float(torch.cosine_similarity(embed(a), embed(b), dim=0))


def scored(s: float, delta: float) -> float:
    if s < delta:
        return 1 - (1 + s) / (1 + delta) / 2
    return (1 - s) / (1 - delta) / 2


@pytest.mark.parametrize("delta", [0.6, 0.9])
async def test_scores_are_those_of_the_cosine(tiny: Tiny, delta: float) -> None:
    folder = tiny(make_bert, pooling="mean_tokens")
    cosine = plainly(folder)
    model = ModelConfig(name=str(folder), max_tokens=512)
    scorer = Similarity(Similarity.Config(model=model, delta=delta))
    passage = Passage.of(RESPONSE)
    short = " ".join(RESPONSE.split()[:8])
    passage = Passage.of(short)
    found = await scorer.score(passage, Evidence(Samples([TARGET[:60]])))
    assert found.passage == pytest.approx(scored(cosine(short, TARGET[:60]), delta), abs=1e-5)
    others = [s.text for s in Passage.of(TARGET[:60]).sentences]
    expected = [
        scored(max(cosine(s.text, other) for other in others), delta) for s in passage.sentences
    ]
    assert found.sentences == pytest.approx(expected, abs=1e-5)


async def test_similarity_compares_with_references_by_default(tiny: Tiny) -> None:
    step: dict[str, Any] = {
        "method": "similarity",
        "model": str(tiny(make_bert, pooling="mean_tokens")),
    }
    with_target = await Guard({"chain": [step]}).acheck(RESPONSE, references=[TARGET])
    same = await Guard({"chain": [step]}).acheck(RESPONSE, references=[RESPONSE])
    assert same.score == pytest.approx(0.0, abs=1e-5)
    assert (with_target.score or 0.0) > 0.0
    samples = await Guard({"chain": [{**step, "evidence": "samples"}]}).acheck(
        RESPONSE, samples=[TARGET, *REST]
    )
    assert samples.samples == 4


def test_it_stops_comparing_once_its_scores_are_settled() -> None:
    assert Similarity.traits == ScorerTraits(adapts=True, stops=True)
