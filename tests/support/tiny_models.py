"""Real models with a few thousand parameters, made by the tests that use them.

Most have arbitrary weights, the same on every machine: they know nothing, and their outputs serve
to compare two computations. `known_models` has models with known answers.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import pytest

WORDS = (
    "the bridge was opened in by a king of river north old stone arch span metre long high city"
    " harbour steel engineer designed built finished after years war she he wrote novel born died"
    " paris london vienna 1871 1932 1946 two three hundred people workers and or not never first"
)
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
ROBERTA = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
ROBERTA |= {"cls": "<s>", "sep": "</s>"}
NLI_LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}

TEXTS = (
    "The bridge was opened in 1932.",
    "The bridge was opened in 1871 by the king.",
    "A stone arch of two hundred metres.",
    "She wrote a novel in Vienna; it was never finished.",
    "He was born in Paris and died in London after the war, three years after she wrote it.",
    "Workers.",
)


def make_tokenizer(kind: str) -> Any:
    """Make a tokenizer of the kind a model uses.

    Args:
        kind: "words" for word pieces, "bytes" for RoBERTa's, "marked" for word pieces between
            RoBERTa's special tokens.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers.processors import RobertaProcessing, TemplateProcessing

    if kind == "bytes":
        pieces, merges = byte_pieces()
        tokenizer = Tokenizer(models.BPE(vocab=pieces, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
        return tokenizer
    special = SPECIAL if kind == "words" else ROBERTA
    pieces = dict.fromkeys([*special.values(), *word_pieces()])
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=special["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    if kind == "marked":
        tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
        return tokenizer
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def word_pieces() -> list[str]:
    """Return the words above, and letters for all other words.

    Training would break ties at random, and the models would differ from run to run.
    """
    letters = sorted({*ascii_lowercase, *digits, *".,;:!?'-"})
    words = [word for word in sorted(set(WORDS.split())) if len(word) > 1]
    return [*letters, *(f"##{letter}" for letter in letters), *words]


def byte_pieces() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return all bytes and the words above, with the merges that build the words."""
    from tokenizers.pre_tokenizers import ByteLevel

    merges: dict[tuple[str, str], None] = {}
    for word in sorted(set(WORDS.split())):
        whole = f"Ġ{word}"  # how a space before a word is written
        merges |= {(whole[:end], whole[end]): None for end in range(1, len(whole))}
    pieces = [
        *dict.fromkeys(ROBERTA.values()),
        *sorted(ByteLevel.alphabet()),
        *("".join(pair) for pair in merges),
    ]
    return {piece: number for number, piece in enumerate(pieces)}, list(merges)


def fixed(model: Any, seed: int, spread: float) -> Any:
    """Replace a model's weights by random ones that are the same on every machine.

    The numbers that torch draws after `manual_seed` depend on the CPU's vector unit.
    """
    import numpy as np
    import torch

    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for name, weights in sorted(model.named_parameters()):
            if weights.ndim > 1:
                # Keep the probabilities of classes away from 0 and 1.
                scale = 0.1 if name in ("classifier.weight", "classifier.out_proj.weight") else 1
                values = draw.standard_normal(tuple(weights.shape)) * spread * scale
                weights.copy_(torch.from_numpy(values))
    return model.eval()


def save_tokenizer(folder: Path, kind: str, **settings: Any) -> int:
    """Make a tokenizer, save it to a model's folder and return the size of its vocabulary."""
    from transformers import PreTrainedTokenizerFast

    names = SPECIAL if kind == "words" else ROBERTA
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=make_tokenizer(kind),
        **{f"{name}_token": token for name, token in names.items()},
        **settings,
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def make_deberta(folder: Path, *, labels: Mapping[int, str] = NLI_LABELS, seed: int = 0) -> Path:
    """Make a DeBERTa-v2 classifier of pairs, built like DeBERTa-v3 ones."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    size = save_tokenizer(folder, "words", model_max_length=64)
    config = DebertaV2Config(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        position_buckets=16,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
        type_vocab_size=0,
        pad_token_id=0,
        id2label=dict(labels),
        label2id={name: number for number, name in labels.items()},
    )
    fixed(DebertaV2ForSequenceClassification(config), seed, 0.6).save_pretrained(folder)
    return folder


def make_roberta(
    folder: Path,
    *,
    head: bool = False,
    labels: Mapping[int, str] = NLI_LABELS,
    room: int = 64,
    seed: int = 0,
) -> Path:
    """Make a RoBERTa encoder, or a classifier if it has a head."""
    from transformers import RobertaConfig, RobertaForSequenceClassification, RobertaModel

    size = save_tokenizer(folder, "bytes", model_max_length=room)
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=room + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        id2label=dict(labels),
        label2id={name: number for number, name in labels.items()},
    )
    model_class = RobertaForSequenceClassification if head else RobertaModel
    fixed(model_class(config), seed, 0.5).save_pretrained(folder)
    return folder


def make_bert(folder: Path, *, pooling: str | None = None, seed: int = 0) -> Path:
    """Make a BERT encoder, with the file that tells sentence-transformers how to pool."""
    from transformers import BertConfig, BertModel

    size = save_tokenizer(folder, "words", model_max_length=32)
    config = BertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        type_vocab_size=2,
        pad_token_id=0,
    )
    fixed(BertModel(config), seed, 0.5).save_pretrained(folder)
    if pooling:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(
            json.dumps({f"pooling_mode_{name}": name == pooling for name in POOLINGS})
        )
    return folder


POOLINGS = ("cls_token", "mean_tokens", "max_tokens")


def make_gpt2(folder: Path, *, seed: int = 0) -> Path:
    """Make a GPT-2 that returns the probability of each token."""
    from transformers import GPT2Config, GPT2LMHeadModel

    size = save_tokenizer(folder, "bytes", model_max_length=64)
    config = GPT2Config(
        vocab_size=size,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=2,
    )
    fixed(GPT2LMHeadModel(config), seed, 0.4).save_pretrained(folder)
    return folder


def make_t5(folder: Path, *, seed: int = 0) -> Path:
    """Make a T5 that generates text from text; its separator is `<sep>`."""
    from transformers import T5Config, T5ForConditionalGeneration

    size = save_tokenizer(folder, "bytes", model_max_length=64, additional_special_tokens=["<sep>"])
    config = T5Config(
        vocab_size=size,
        d_model=32,
        d_kv=16,
        d_ff=48,
        num_layers=2,
        num_heads=2,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    fixed(T5ForConditionalGeneration(config), seed, 0.5).save_pretrained(folder)
    return folder


JUDGED_LABELS = {0: "LABEL_0", 1: "LABEL_1"}


def make_modernbert(folder: Path, *, room: int = 512, seed: int = 0) -> Path:
    """Make a ModernBERT that labels tokens, built like LettuceDetect's."""
    from transformers import ModernBertConfig, ModernBertForTokenClassification

    size = save_tokenizer(folder, "words", model_max_length=room)
    config = ModernBertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=room,
        local_attention=16,
        global_attn_every_n_layers=2,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        cls_token_id=2,
        sep_token_id=3,
        num_labels=2,
    )
    fixed(ModernBertForTokenClassification(config), seed, 0.5).save_pretrained(folder)
    return folder


def make_hhem(folder: Path, *, seed: int = 0) -> Path:
    """Make a T5 that labels tokens, saved like HHEM-2.1-Open: with a prefix to its weights' names.

    Its configuration names the T5 that provides its configuration and tokenizer.
    """
    from safetensors.torch import load_file, save_file
    from transformers import T5Config, T5ForTokenClassification

    base = folder / "base"
    make_t5(base)
    model = fixed(T5ForTokenClassification(T5Config.from_pretrained(base, num_labels=2)), seed, 0.5)
    model.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    save_file(
        {f"t5.{name}": weight for name, weight in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    (folder / "config.json").write_text(
        json.dumps(
            {
                "architectures": ["HHEMv2ForSequenceClassification"],
                "auto_map": {"AutoConfig": "configuration_hhem_v2.HHEMv2Config"},
                "foundation": str(base),
                "model_type": "HHEMv2",
            }
        )
    )
    return folder


def make_longformer(folder: Path, *, choices: bool, seed: int = 0) -> Path:
    """Make a Longformer that scores choices, or whether a question can be answered."""
    from transformers import (
        LongformerConfig,
        LongformerForMultipleChoice,
        LongformerForSequenceClassification,
    )

    size = save_tokenizer(folder, "bytes", model_max_length=128)
    config = LongformerConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=130,
        attention_window=16,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        sep_token_id=2,
        num_labels=1,
    )
    model_class = LongformerForMultipleChoice if choices else LongformerForSequenceClassification
    fixed(model_class(config), seed, 0.5).save_pretrained(folder)
    return folder


def sentences(count: int, *, seed: int = 0, longest: int = 20) -> list[str]:
    """Return sentences of all lengths, made of words that the tokenizers know."""
    draw = random.Random(seed)
    words = WORDS.split()
    return [
        " ".join(draw.choices(words, k=draw.randint(1, longest))).capitalize() + "."
        for _ in range(count)
    ]


Maker = Callable[..., Path]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that makes a tiny model, once per session for the same arguments."""
    pytest.importorskip("torch")
    made: dict[object, Path] = {}

    def make(maker: Maker, **settings: Any) -> Path:
        key = (maker, tuple(sorted(settings.items(), key=str)) if settings else ())
        if repr(key) not in made:
            made[repr(key)] = maker(tmp_path_factory.mktemp(maker.__name__), **settings)
        return made[repr(key)]

    return make


def with_shape(source: Path, target: Path, *, items: int | None, tokens: int | None) -> Path:
    """Copy an exported model, with inputs of a fixed shape."""
    onnx: Any = import_module("onnx")
    shutil.copytree(source, target)
    model = onnx.load(str(target / "model.onnx"))
    for wanted in model.graph.input:
        shape = wanted.type.tensor_type.shape
        for dimension, size in zip(shape.dim, (items, tokens), strict=True):
            if size is not None:
                dimension.dim_value = size
    del model.graph.value_info[:]
    onnx.save_model(model, str(target / "model.onnx"))
    return target
