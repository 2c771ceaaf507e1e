"""Real models with random weights and a few thousand parameters, made on the spot.

They know nothing; what they give is as good as anything else to compare two computations by.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
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
    """A tokenizer of the kind a model uses: word pieces, or bytes as RoBERTa has them."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from tokenizers.processors import RobertaProcessing, TemplateProcessing

    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator([*TEXTS, WORDS], trainer)
        tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
        return tokenizer
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL.values(), *word_pieces()])}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def word_pieces() -> list[str]:
    """The words above, and their letters for all others.

    Training would break ties at random, and the models would be others in each run.
    """
    letters = sorted({*ascii_lowercase, *digits, *".,;:!?'-"})
    words = [word for word in sorted(set(WORDS.split())) if len(word) > 1]
    return [*letters, *(f"##{letter}" for letter in letters), *words]


def save_tokenizer(folder: Path, kind: str, **settings: Any) -> int:
    """Make a tokenizer, put it into a model's folder and return how many tokens it knows."""
    from transformers import PreTrainedTokenizerFast

    names = SPECIAL
    if kind == "bytes":
        names = {"bos": "<s>", "cls": "<s>", "pad": "<pad>", "sep": "</s>", "eos": "</s>"}
        names = {**names, "unk": "<unk>", "mask": "<mask>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=make_tokenizer(kind),
        **{f"{name}_token": token for name, token in names.items()},
        **settings,
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def make_deberta(folder: Path, *, labels: Mapping[int, str] = NLI_LABELS, seed: int = 0) -> Path:
    """A DeBERTa-v2 classifier of pairs, as DeBERTa-v3 ones are built."""
    import torch
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    torch.manual_seed(seed)
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
        initializer_range=0.6,
        pad_token_id=0,
        id2label=dict(labels),
        label2id={name: number for number, name in labels.items()},
    )
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


def make_roberta(folder: Path, *, head: bool = False, seed: int = 0) -> Path:
    """A RoBERTa encoder, or with a head a classifier of pairs."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification, RobertaModel

    torch.manual_seed(seed)
    size = save_tokenizer(folder, "bytes", model_max_length=64)
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=66,
        type_vocab_size=1,
        initializer_range=0.5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        id2label=dict(NLI_LABELS),
        label2id={name: number for number, name in NLI_LABELS.items()},
    )
    model_class = RobertaForSequenceClassification if head else RobertaModel
    model_class(config).save_pretrained(folder)
    return folder


def make_bert(folder: Path, *, pooling: str | None = None, seed: int = 0) -> Path:
    """A BERT encoder, with the file that says how sentence-transformers pools it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    size = save_tokenizer(folder, "words", model_max_length=32)
    config = BertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        type_vocab_size=2,
        initializer_range=0.5,
        pad_token_id=0,
    )
    BertModel(config).save_pretrained(folder)
    if pooling:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(
            json.dumps({f"pooling_mode_{name}": name == pooling for name in POOLINGS})
        )
    return folder


POOLINGS = ("cls_token", "mean_tokens", "max_tokens")


def make_gpt2(folder: Path, *, seed: int = 0) -> Path:
    """A GPT-2 that gives the probability of each token."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    size = save_tokenizer(folder, "bytes", model_max_length=64)
    config = GPT2Config(
        vocab_size=size,
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        initializer_range=0.4,
        bos_token_id=0,
        eos_token_id=2,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def make_t5(folder: Path, *, seed: int = 0) -> Path:
    """A T5 that writes text from text; its separator is `<sep>`."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(seed)
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
        initializer_factor=3.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def make_longformer(folder: Path, *, choices: bool, seed: int = 0) -> Path:
    """A Longformer that scores choices, or says whether a question can be answered."""
    import torch
    from transformers import (
        LongformerConfig,
        LongformerForMultipleChoice,
        LongformerForSequenceClassification,
    )

    torch.manual_seed(seed)
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
        initializer_range=0.5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        sep_token_id=2,
        num_labels=1,
    )
    model_class = LongformerForMultipleChoice if choices else LongformerForSequenceClassification
    model_class(config).save_pretrained(folder)
    return folder


def sentences(count: int, *, seed: int = 0, longest: int = 20) -> list[str]:
    """Sentences of words that the tokenizers know, of all lengths."""
    draw = random.Random(seed)
    words = WORDS.split()
    return [
        " ".join(draw.choices(words, k=draw.randint(1, longest))).capitalize() + "."
        for _ in range(count)
    ]


Maker = Callable[..., Path]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a tiny model, once per session for the same arguments."""
    pytest.importorskip("torch")
    made: dict[object, Path] = {}

    def make(maker: Maker, **settings: Any) -> Path:
        key = (maker, tuple(sorted(settings.items(), key=str)) if settings else ())
        if repr(key) not in made:
            made[repr(key)] = maker(tmp_path_factory.mktemp(maker.__name__), **settings)
        return made[repr(key)]

    return make
