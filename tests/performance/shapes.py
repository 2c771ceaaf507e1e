"""Models of published shapes with random weights, to measure how fast they are.

They know nothing, and take as long as the real ones: what a network takes depends on its shape and
on the length of the texts. The tokenizers are trained on the texts that are measured, so that these
are about as long as for a real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resay.adapters import load_optional

__all__ = [
    "DEBERTA",
    "LABELS",
    "MAX_TOKENS",
    "MODERNBERT",
    "ROBERTA",
    "Shape",
    "save_deberta",
    "save_modernbert",
    "save_roberta",
    "train_bytes",
    "train_words",
]

LABELS = ("entailment", "contradiction")
"""The outputs of the classifier released with SelfCheckGPT."""

MAX_TOKENS = 512
"""How many tokens all of them read, but for ModernBERT."""

_VOCABULARY = 16_000


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of an encoder.

    Attributes:
        hidden: Dimensions of a token's vector.
        layers: Layers.
        heads: Attention heads of a layer.
        intermediate: Dimensions inside a layer.
        vocabulary: Tokens it has vectors for, as many as its tokenizer knows at least.
    """

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int = 0


DEBERTA: Mapping[str, Shape] = {
    "tiny": Shape(32, 2, 2, 48),
    "xsmall": Shape(384, 12, 6, 1536),
    "base": Shape(768, 12, 12, 3072),
    "large": Shape(1024, 24, 16, 4096),
}
"""DeBERTa-v3's shapes, and one for tests. The classifier released with SelfCheckGPT is large."""

ROBERTA: Mapping[str, Shape] = {
    "tiny": Shape(32, 3, 2, 48),
    "base": Shape(768, 12, 12, 3072, 50_265),
    "large": Shape(1024, 24, 16, 4096, 50_265),
}
"""RoBERTa's shapes, and one for tests. BERTScore's model for English is large."""

MODERNBERT: Mapping[str, Shape] = {
    "tiny": Shape(32, 3, 2, 48),
    "base": Shape(768, 22, 12, 1152, 50_368),
    "large": Shape(1024, 28, 16, 2624, 50_368),
}
"""ModernBERT's shapes, those of LettuceDetect, and one for tests."""

_LONG_TOKENS = 8192

# Weights of this size, by the square root of the dimensions, make results differ from text to text;
# those that training begins with make them nearly the same.
_SPREAD = 2.0


def train_words(texts: Iterable[str]) -> Any:
    """Train a tokenizer that reads pairs as DeBERTa's does.

    Args:
        texts: What it is trained on.

    Returns:
        A `tokenizers.Tokenizer`.

    Raises:
        MissingDependencyError: tokenizers is not installed.
    """
    tokenizers = _load("tokenizers")
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    before = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = before.Sequence([before.Metaspace(), before.Punctuation()])
    tokenizer.train_from_iterator(
        texts,
        tokenizers.trainers.BpeTrainer(
            vocab_size=_VOCABULARY, special_tokens=special, show_progress=False
        ),
    )
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return tokenizer


def train_bytes(texts: Iterable[str]) -> Any:
    """Train a tokenizer that reads texts as RoBERTa's does; see `train_words` for the rest."""
    tokenizers = _load("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    before = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = before.ByteLevel(add_prefix_space=True)
    tokenizer.train_from_iterator(
        texts,
        tokenizers.trainers.BpeTrainer(
            vocab_size=_VOCABULARY,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            initial_alphabet=before.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def save_deberta(folder: Path, shape: Shape, tokenizer: Any) -> Path:
    """Make a DeBERTa-v3 classifier of pairs with random weights.

    Args:
        folder: Where it is saved.
        shape: Its size.
        tokenizer: From `train_words`.

    Returns:
        The folder.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """
    transformers = _load("transformers")
    names = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
    config = transformers.DebertaV2Config(
        **_sizes(shape, tokenizer),
        max_position_embeddings=MAX_TOKENS,
        position_buckets=256,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
        type_vocab_size=0,
        pad_token_id=0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
    )
    return _save(folder, transformers.DebertaV2ForSequenceClassification, config, tokenizer, names)


def save_roberta(folder: Path, shape: Shape, tokenizer: Any) -> Path:
    """Make a RoBERTa encoder with random weights; see `save_deberta` for the rest."""
    transformers = _load("transformers")
    names = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "sep": "</s>", "eos": "</s>"}
    config = transformers.RobertaConfig(
        **_sizes(shape, tokenizer),
        max_position_embeddings=MAX_TOKENS + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    names = {**names, "unk": "<unk>", "mask": "<mask>"}
    return _save(folder, transformers.RobertaModel, config, tokenizer, names)


def save_modernbert(folder: Path, shape: Shape, tokenizer: Any) -> Path:
    """Make a ModernBERT that labels tokens, with random weights; see `save_deberta`."""
    transformers = _load("transformers")
    names = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
    config = transformers.ModernBertConfig(
        **_sizes(shape, tokenizer),
        max_position_embeddings=_LONG_TOKENS,
        num_labels=2,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    )
    model = transformers.ModernBertForTokenClassification
    return _save(folder, model, config, tokenizer, names, _LONG_TOKENS)


def _sizes(shape: Shape, tokenizer: Any) -> dict[str, Any]:
    return {
        "vocab_size": max(tokenizer.get_vocab_size(), shape.vocabulary),
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate,
        "initializer_range": _SPREAD / shape.hidden**0.5,
    }


def _save(
    folder: Path,
    model_class: Any,
    config: Any,
    tokenizer: Any,
    names: Mapping[str, str],
    max_tokens: int = MAX_TOKENS,
) -> Path:
    _load("torch").manual_seed(0)
    model_class(config).save_pretrained(folder)
    _load("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_tokens,
        **{f"{name}_token": token for name, token in names.items()},
    ).save_pretrained(folder)
    return folder


def _load(module: str) -> Any:
    return load_optional(module, package=module, extra="nli", purpose="the inference bench")
