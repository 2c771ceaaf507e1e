"""A causal model in this process against transformers, and its tokens against the text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard
from resay.adapters import GuardRuntime
from resay.models.encoding import TextEncoder
from resay.models.language import LocalLanguageModel, _pieces
from resay.plugins import ModelConfig
from support.later import LazyImport
from support.tiny_models import make_gpt2, make_tokenizer

torch: Any = LazyImport("torch")
transformers: Any = LazyImport("transformers")

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]
TEXT = "The bridge was opened in 1932 by a king. Über 200 Meter: 橋 und 😀."


@pytest.fixture(scope="module")
def model_folder(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer puts nothing around a text, as GPT-2's."""
    folder = Path(
        shutil.copytree(tiny(make_gpt2), tmp_path_factory.mktemp("model_folder") / "gpt2")
    )
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.mark.parametrize("prompt", ["", "Who opened the bridge?\n\n"])
async def test_each_token_has_the_probability_the_model_gives_it(
    model_folder: Path, prompt: str
) -> None:
    tokens = await LocalLanguageModel(
        ModelConfig(name=str(model_folder), max_tokens=512)
    ).score_text(prompt, TEXT)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(model_folder).eval()
    ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(prompt + TEXT)["input_ids"]]])[:, :64]
    with torch.inference_mode():
        given = model(input_ids=ids).logits[0].double().log_softmax(-1)
    expected = given[:-1].gather(-1, ids[0, 1:, None])[:, 0].tolist()
    entropies = (-(given.exp() * given).sum(-1))[:-1].tolist()
    assert [token.logprob for token in tokens][:63] == pytest.approx(expected, abs=1e-4)
    assert [token.entropy for token in tokens][:63] == pytest.approx(entropies, abs=1e-4)
    assert b"".join(bytes(token.bytes or ()) for token in tokens).decode() == prompt + TEXT


async def test_a_long_text_is_read_in_parts(model_folder: Path) -> None:
    text = " ".join([TEXT] * 5)
    tokens = await LocalLanguageModel(ModelConfig(name=str(model_folder))).score_text("", text)
    assert len(tokens) > 128
    assert all(token.logprob is not None for token in tokens)
    assert b"".join(bytes(token.bytes or ()) for token in tokens).decode() == text


@pytest.mark.parametrize("measure", ["probability", "entropy"])
async def test_the_proxy_scores_sentences(model_folder: Path, measure: str) -> None:
    step = {"method": "proxy_logprobs", "model": str(model_folder), "measure": measure}
    guard = Guard({"chain": [step]})
    await GuardRuntime(guard).aprepare()
    verdict = await guard.acheck(TEXT, question="Who opened the bridge?")
    assert [s.score is not None for s in verdict.sentences] == [True] * len(verdict.sentences)
    assert len(verdict.sentences) == 2
    if measure == "entropy":
        assert "the whole vocabulary" in (verdict.sentences[0].reason or "")


ENCODERS = {kind: TextEncoder(make_tokenizer(kind), None, 7) for kind in ("words", "bytes")}


@pytest.mark.parametrize("kind", ENCODERS)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_the_pieces_of_a_text_are_the_text(kind: str, text: str) -> None:
    whole, spans = ENCODERS[kind].spans(text)
    pieces = list(_pieces(whole, spans, text))
    assert len(pieces) == len(whole) - sum(whole.special)
    assert b"".join(pieces).decode() == (text if pieces else "")


def test_tokens_that_share_a_character_share_its_bytes() -> None:
    whole, spans = ENCODERS["bytes"].spans("a😀b")
    pieces = list(_pieces(whole, spans, "a😀b"))
    assert len(pieces) == 6
    assert all(len(piece) == 1 for piece in pieces)
