"""Real, tiny models whose answers are known, because each weight is set on purpose.

Each word has a direction of its own, attention weighs all tokens equally, and norms change nothing,
so that a model's output is a sum over the words it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.tiny_models import NLI_LABELS, WORDS, save_tokenizer

# A norm that divides by about 1000, whatever its input, and multiplies by 1000.
EPSILON, GAIN = 1e6, 1e3

ASKING = ("he", "she", "by", "of")
DISTRACTORS = ("london", "paris", "river", "harbour", "king", "war", "three", "people")
CONTENT = tuple(
    word
    for word in dict.fromkeys(WORDS.split())
    if len(word) > 3 and word not in (*DISTRACTORS, "never")
)


def save_words(folder: Path, kind: str, **settings: Any) -> dict[str, int]:
    """Save a tokenizer of whole words, and return its vocabulary."""
    from transformers import AutoTokenizer

    save_tokenizer(folder, kind, **settings)
    return AutoTokenizer.from_pretrained(folder).get_vocab()


def emptied(model: Any) -> Any:
    """Set all weights to 0, and let norms pass on their input."""
    import torch

    with torch.no_grad():
        for name, weights in model.named_parameters():
            norm = weights.ndim == 1 and "norm" in name.lower() and name.endswith("weight")
            weights.fill_(GAIN if norm else 0.0)
    return model.eval()


def make_writer(folder: Path, *, chain: str) -> Path:
    """Make a T5 that writes words that may follow each other; see `CHAINS`.

    If several may follow, those of the prompt are far more probable than all others.
    """
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    ids = save_words(folder, "marked", model_max_length=64, additional_special_tokens=["<sep>"])
    size = len(ids)
    config = T5Config(
        vocab_size=size,
        d_model=2 * size,  # the previous word, and the share of each word in the prompt
        d_kv=size,
        d_ff=2 * size,
        num_layers=1,
        num_heads=1,
        pad_token_id=ids["<pad>"],
        eos_token_id=ids["</s>"],
        decoder_start_token_id=ids["<pad>"],
        layer_norm_epsilon=EPSILON,
    )
    model = emptied(T5ForConditionalGeneration(config))
    follows = torch.full((size, size), -1.0)
    for words, nexts in CHAINS[chain].items():
        for word in words:
            follows[[ids[each] for each in nexts], ids[word]] = 0.0
    with torch.no_grad():
        model.shared.weight[:, :size].fill_diagonal_(1.0)
        _, looking, thinking = model.decoder.block[0].layer
        looking.EncDecAttention.v.weight[:, :size].fill_diagonal_(1.0)
        looking.EncDecAttention.o.weight[size:].fill_diagonal_(1.0)
        thinking.DenseReluDense.wi.weight.fill_diagonal_(1.0)
        thinking.DenseReluDense.wo.weight[:size, :size] = follows - torch.eye(size)
        for word in CONTENT:
            thinking.DenseReluDense.wo.weight[ids[word], size + ids[word]] = 0.1
        model.decoder.final_layer_norm.weight.mul_(1e5)
    model.save_pretrained(folder)
    return folder


Chain = Mapping[Sequence[str], Iterable[str]]
CHAINS: dict[str, Chain] = {
    # "she<sep> novel": a question, and a word of the prompt as its answer
    "question": {
        ("<pad>",): ASKING,
        ASKING: ["<sep>"],
        ("<sep>",): CONTENT,
        CONTENT: ["</s>"],
    },
    # "paris<sep> war": any number of words, none from the prompt
    "distractors": {("<pad>", "<sep>"): DISTRACTORS, DISTRACTORS: ["<sep>", "</s>"]},
    # no separator
    "prose": {("<pad>",): CONTENT, CONTENT: [*CONTENT, "</s>"]},
}


def make_reader(folder: Path, *, choices: bool) -> Path:
    """Make a Longformer that answers questions.

    With choices, an option's logit grows with its frequency in the text; the order of `preferred`
    decides between equally frequent ones. Without, a text with the word "never" answers nothing,
    and other texts answer better the longer their words are.
    """
    import torch
    from transformers import (
        LongformerConfig,
        LongformerForMultipleChoice,
        LongformerForSequenceClassification,
    )

    ids = save_words(folder, "marked", model_max_length=128)
    size = len(ids)
    config = LongformerConfig(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=size,
        max_position_embeddings=130,
        attention_window=128,
        type_vocab_size=1,
        layer_norm_eps=EPSILON,
        pad_token_id=ids["<pad>"],
        bos_token_id=ids["<s>"],
        eos_token_id=ids["</s>"],
        sep_token_id=ids["</s>"],
        num_labels=1,
    )
    model_class = LongformerForMultipleChoice if choices else LongformerForSequenceClassification
    model = emptied(model_class(config))
    layer = model.longformer.encoder.layer[0]
    score = ids["##?"]  # a direction that no word here has
    with torch.no_grad():
        model.longformer.embeddings.word_embeddings.weight.fill_diagonal_(1.0)
        layer.attention.self.value.weight.fill_diagonal_(1.0)
        layer.attention.self.value_global.weight.fill_diagonal_(1.0)
        layer.attention.output.dense.weight.fill_diagonal_(1.0)
        if choices:
            # Each further mention counts for more, so an option adds more if the text has it.
            layer.intermediate.dense.weight.fill_diagonal_(20.0)
            for rank, word in enumerate(preferred()):
                layer.output.dense.weight[score, ids[word]] = 1.0 + 0.002 * rank
            model.longformer.pooler.dense.weight[0, score] = 0.1
            model.classifier.weight[0, 0] = 500.0
        else:
            for word in WORDS.split():
                model.classifier.dense.weight[0, ids[word]] = 0.1 * len(word)
            model.classifier.dense.weight[0, ids["never"]] = -100.0
            model.classifier.out_proj.weight[0, 0] = 5.0
    model.save_pretrained(folder)
    return folder


def preferred() -> list[str]:
    """Return the options in the order that decides if a text has none or all: the last wins."""
    return [*CONTENT, *DISTRACTORS]


def make_denier(folder: Path, *, labels: Mapping[int, str] = NLI_LABELS) -> Path:
    """Make a DeBERTa to which two texts contradict each other if one of them says "never"."""
    import torch
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    ids = save_words(folder, "words", model_max_length=64)
    size = len(ids)
    config = DebertaV2Config(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=1,
        max_position_embeddings=64,
        position_biased_input=False,
        type_vocab_size=0,
        layer_norm_eps=EPSILON,
        pad_token_id=0,
        id2label=dict(labels),
        label2id={name: number for number, name in labels.items()},
    )
    model = emptied(DebertaV2ForSequenceClassification(config))
    layer = model.deberta.encoder.layer[0]
    with torch.no_grad():
        model.deberta.embeddings.word_embeddings.weight.fill_diagonal_(1.0)
        layer.attention.self.value_proj.weight.fill_diagonal_(1.0)
        layer.attention.output.dense.weight.fill_diagonal_(1.0)
        model.pooler.dense.weight[0, ids["never"]] = 1000.0
        model.classifier.weight[0, 0] = 1.0  # contradiction
        model.classifier.bias[1] = 5.0  # entailment
    model.save_pretrained(folder)
    return folder


def make_marker(folder: Path) -> Path:
    """Make a BERT that labels the tokens "1871" and "vienna" of any text, and no others."""
    import torch
    from transformers import BertConfig, BertForTokenClassification

    ids = save_words(folder, "words", model_max_length=512)
    size = len(ids)
    config = BertConfig(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=1,
        max_position_embeddings=512,
        type_vocab_size=2,
        layer_norm_eps=EPSILON,
        pad_token_id=0,
        num_labels=2,
    )
    model = emptied(BertForTokenClassification(config))
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.fill_diagonal_(1.0)
        for word in ("1871", "vienna"):
            model.classifier.weight[1, ids[word]] = 10.0
        model.classifier.bias[0] = 5.0
    model.save_pretrained(folder)
    return folder


def make_reranker(folder: Path, *, outputs: int = 1) -> Path:
    """Make a BERT that reads two texts together, and scores how many words they have in common."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    ids = save_words(folder, "words", model_max_length=64)
    size = len(ids)
    config = BertConfig(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=size,
        hidden_act="relu",
        max_position_embeddings=64,
        type_vocab_size=2,
        layer_norm_eps=EPSILON,
        pad_token_id=0,
        num_labels=outputs,
    )
    model = emptied(BertForSequenceClassification(config))
    layer = model.bert.encoder.layer[0]
    score = ids["##?"]  # a direction that no word here has
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight.fill_diagonal_(1.0)
        layer.attention.self.value.weight.fill_diagonal_(1.0)
        layer.attention.output.dense.weight.fill_diagonal_(1.0)
        for word in CONTENT:
            # There are always two separators: subtracting them leaves words that occur repeatedly.
            layer.intermediate.dense.weight[ids[word], ids[word]] = 1.0
            layer.intermediate.dense.weight[ids[word], ids["[SEP]"]] = -0.75
            layer.output.dense.weight[score, ids[word]] = 1.0
        model.bert.pooler.dense.weight[0, score] = 1.0
        model.classifier.weight[0, 0] = 50.0
    model.save_pretrained(folder)
    return folder
