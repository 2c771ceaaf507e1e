"""Texts written by a real, tiny T5: what is written must depend on nothing but what was asked."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from resay.errors import ConfigurationError, ScorerError
from resay.models import text_generator
from resay.plugins import ModelConfig
from support.alone import needs
from support.known_models import make_writer
from support.later import LazyImport
from support.tiny_models import TEXTS, make_longformer, make_t5, sentences

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")


Tiny = Callable[..., Path]
PROMPTS = [*TEXTS, *sentences(6, seed=3)]


def alone(folder: Path) -> ModelConfig:
    """Settings with which each text is written in a batch of its own."""
    return ModelConfig(name=str(folder), batch_tokens=16, cache_mb=0)


def together(folder: Path) -> ModelConfig:
    return ModelConfig(name=str(folder), batch_tokens=100_000, cache_mb=0)


@cache
def plain_model(folder: Path) -> tuple[Any, Any]:
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def written_by_transformers(folder: Path, prompt: str, longest: int) -> str:
    model, tokenizer = plain_model(folder)
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    written = model.generate(ids, max_new_tokens=longest, do_sample=False)[0]
    return tokenizer.decode(written).replace("<pad>", "").replace("</s>", "")


@pytest.mark.anyio
@pytest.mark.parametrize("sample", [True, False])
async def test_company_changes_nothing(tiny: Tiny, sample: bool) -> None:
    folder = tiny(make_t5)
    batched = text_generator(together(folder))
    one_by_one = text_generator(alone(folder))
    expected = await batched.generate(PROMPTS, n=2, max_new_tokens=12, sample=sample)
    assert await one_by_one.generate(PROMPTS, n=2, max_new_tokens=12, sample=sample) == expected
    for prompt, texts in zip(PROMPTS[:3], expected, strict=False):
        assert await batched.generate([prompt], n=2, max_new_tokens=12, sample=sample) == [texts]
    assert any(len(set(texts)) > 1 for texts in expected) == sample


@pytest.mark.anyio
async def test_the_most_probable_text_is_that_of_transformers(tiny: Tiny) -> None:
    folder = tiny(make_t5)
    written = await text_generator(together(folder)).generate(
        PROMPTS, max_new_tokens=16, sample=False
    )
    assert written == [[written_by_transformers(folder, prompt, 16)] for prompt in PROMPTS]


@pytest.mark.anyio
async def test_tokens_are_drawn_as_probable_as_they_are(tiny: Tiny) -> None:
    folder = tiny(make_t5, seed=5)
    model, tokenizer = plain_model(folder)
    with torch.no_grad():
        logits = model(
            input_ids=tokenizer(TEXTS[0], return_tensors="pt").input_ids,
            decoder_input_ids=torch.tensor([[1]]),
        ).logits[0, -1]
    top = logits.topk(50)
    expected: Counter[str] = Counter()
    for token, share in zip(top.indices.tolist(), top.values.softmax(-1).tolist(), strict=True):
        # Several tokens can be the same text once decoded: parts of letters.
        expected["" if token in (1, 2) else tokenizer.decode([token])] += share
    draws = 4000
    generator = text_generator(together(folder))
    (texts,) = await generator.generate([TEXTS[0]], n=draws, max_new_tokens=1)
    counts = Counter(texts)
    assert set(counts) <= set(expected)
    for text, share in expected.items():
        error = (share * (1 - share) / draws) ** 0.5
        assert abs(counts[text] / draws - share) <= 5 * error + 1 / draws, text


@pytest.mark.anyio
async def test_a_seed_decides_what_is_drawn(tiny: Tiny) -> None:
    generator = text_generator(together(tiny(make_t5)))
    five = await generator.generate(PROMPTS, n=5, max_new_tokens=12, seed=1)
    assert await generator.generate(PROMPTS, n=5, max_new_tokens=12, seed=1) == five
    assert await generator.generate(PROMPTS, n=5, max_new_tokens=12, seed=2) != five
    two = await generator.generate(PROMPTS, n=2, max_new_tokens=12, seed=1)
    assert two == [texts[:2] for texts in five]


@pytest.mark.anyio
async def test_texts_of_different_lengths_are_written_together(tiny: Tiny) -> None:
    folder = tiny(make_t5, seed=2)
    apart = text_generator(alone(folder))
    config = ModelConfig(name=str(folder), batch_tokens=100_000, cache_mb=0, window_ms=100)
    generator = text_generator(config)
    generations = [generator.generate(PROMPTS, max_new_tokens=most) for most in (11, 12)]
    shorter, longer = await asyncio.gather(*generations)
    assert shorter == await apart.generate(PROMPTS, max_new_tokens=11)
    assert longer == await apart.generate(PROMPTS, max_new_tokens=12)
    assert shorter != longer


@pytest.mark.anyio
async def test_random_numbers_of_the_application_are_left_alone(tiny: Tiny) -> None:
    generator = text_generator(together(tiny(make_t5)))
    await generator.prepare()
    torch.manual_seed(12)
    before = torch.get_rng_state(), random.getstate()
    first = await generator.generate(PROMPTS, n=2, max_new_tokens=8)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    torch.manual_seed(13)
    assert await generator.generate(PROMPTS, n=2, max_new_tokens=8) == first


@pytest.mark.anyio
async def test_what_ends_a_text_is_not_part_of_it(tiny: Tiny) -> None:
    # Texts of one word and of several, so that the shorter ones are padded.
    generator = text_generator(together(tiny(make_writer, chain="distractors")))
    (written,) = await generator.generate(PROMPTS[:1], n=40, max_new_tokens=40)
    assert not any("<pad>" in text or "</s>" in text for text in written)
    assert {"<sep>" in text for text in written} == {True, False}


def test_several_event_loops_share_one_model(tiny: Tiny) -> None:
    generator = text_generator(together(tiny(make_t5)))

    def ask(prompt: str) -> list[list[str]]:
        return asyncio.run(generator.generate([prompt], n=2, max_new_tokens=8))

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(ask, PROMPTS))
    assert results == [ask(prompt) for prompt in PROMPTS]


@pytest.mark.anyio
async def test_a_prompt_is_never_cut(tiny: Tiny) -> None:
    folder = tiny(make_t5)
    limited = text_generator(ModelConfig(name=str(folder), max_tokens=16))
    assert await limited.max_input_tokens() == 14
    long = " ".join(TEXTS)
    (length,) = await limited.lengths([long])
    with pytest.raises(ScorerError, match=f"{length} tokens is longer"):
        await limited.generate([long])
    # Without a limit it may have any length, whatever the tokenizer's settings say.
    endless = text_generator(together(folder))
    assert await endless.max_input_tokens() is None
    assert length > plain_model(folder)[1].model_max_length  # which means nothing for T5
    written = await endless.generate([long], max_new_tokens=8, sample=False)
    assert written == [[written_by_transformers(folder, long, 8)]]


@pytest.mark.anyio
async def test_nothing_to_write(tiny: Tiny) -> None:
    assert await text_generator(together(tiny(make_t5))).generate([]) == []


@pytest.mark.anyio
async def test_a_model_that_writes_no_text_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    wrong = tiny(make_longformer, choices=True)
    with pytest.raises(ConfigurationError, match=repr(str(wrong))):
        await text_generator(str(wrong)).prepare()
    with pytest.raises(ConfigurationError, match="there is no folder"):
        await text_generator(str(tmp_path / "nothing")).prepare()


@needs("torch")
def test_only_torch_writes_text() -> None:
    for config in (
        ModelConfig(name="writer", backend="onnx"),
        ModelConfig(name="writer", precision="int8"),
        ModelConfig(name="writer", backend="tei", url="http://127.0.0.1:9"),
    ):
        with pytest.raises(ConfigurationError, match="'writer' must generate text"):
            text_generator(config)
    assert text_generator("writer") is text_generator("writer")
