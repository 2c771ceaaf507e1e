"""Encoder-decoder models, such as T5, that generate a text from a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from resay._internal.importing import load_optional
from resay.models.batching import Batcher, LoadedOnce, thread
from resay.models.config import ModelConfig
from resay.models.encoding import Encoded, TextEncoder, pad
from resay.models.local import batching_of, in_chunks, too_long
from resay.models.torch_network import load_model, tokenizer_of

if TYPE_CHECKING:
    from torch import Generator, Tensor

# The default of transformers, and therefore of the code released with the papers.
_TOP_K = 50


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text to generate.

    Attributes:
        prompt: The encoded prompt.
        max_tokens: The maximum number of tokens in the text.
        seed: The seed of the noise; None = no noise, always the most probable token.
    """

    prompt: Encoded
    max_tokens: int
    seed: int | None

    def __len__(self) -> int:
        return len(self.prompt) + self.max_tokens


@dataclass(frozen=True, slots=True)
class _Ready:
    """A loaded model."""

    encoder: TextEncoder
    batcher: Batcher[_Draft, str]


class TextGenerator:
    """Generates texts, batched across callers, on the device's single thread.

    A text depends only on the model, the prompt, the seed and the text's number: neither on its
    batch, except for the last digits of sums, nor on torch's global random state, which belongs to
    the application.

    Args:
        config: The model's settings. `max_tokens` limits prompts; without it, they may have any
            length, as T5's relative positions allow.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._loaded = LoadedOnce(self._load)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: The model is not available as configured.
        """
        await self._loaded.get()

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        ready = await self._loaded.get()
        return await in_chunks(ready.encoder.lengths, texts)

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a prompt; None = no limit."""
        return (await self._loaded.get()).encoder.max_text_tokens

    async def generate(
        self,
        prompts: Sequence[str],
        *,
        n: int = 1,
        max_new_tokens: int = 128,
        sample: bool = True,
        seed: int = 0,
    ) -> list[list[str]]:
        """Generate texts from prompts.

        Args:
            prompts: Any number of prompts; equal ones have equal results, computed once.
            n: The number of texts for each prompt.
            max_new_tokens: The maximum number of tokens in a text; longer texts are cut off.
            sample: Whether to draw each token from the 50 most probable, with renormalized
                probabilities; otherwise the most probable is taken, and all n texts are equal.
            seed: The seed of the random draws.

        Returns:
            For each prompt n texts, with special tokens that separate their parts, but without
            those that begin and end them and without padding.

        Raises:
            ConfigurationError: The model is not available as configured.
            ScorerError: A prompt is longer than `max_tokens`, or the model failed.
        """
        ready = await self._loaded.get()
        drafts: list[_Draft] = []
        for parts in await in_chunks(ready.encoder.texts, prompts):
            if len(parts) > 1:
                raise too_long(sum(part.special.count(0) for part in parts), self._config)
            (prompt,) = parts
            for number in range(n):
                draft_seed = _mix(seed, number, prompt) if sample else None
                drafts.append(_Draft(prompt, max_new_tokens, draft_seed))
        texts = await ready.batcher.map(drafts)
        return [texts[start : start + n] for start in range(0, len(texts), n)]

    def _load(self) -> _Ready:
        model = load_model(self._config, "seq2seq")
        tokenizer = tokenizer_of(self._config)
        device = str(model.device)
        batcher = Batcher[_Draft, str](
            _Writer(model, tokenizer),
            _size,
            thread(device),
            batching_of(self._config, on_gpu=device != "cpu", alone=False),
        )
        encoder = TextEncoder(tokenizer.backend_tokenizer, self._config.max_tokens)
        return _Ready(encoder, batcher)


class _Writer:
    """Generates a batch of drafts.

    Args:
        model: A transformers model with encoder and decoder.
        tokenizer: Its tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._torch = _import("torch")
        self._output = _import("transformers.modeling_outputs").BaseModelOutput
        self._model = model
        self._tokenizer = tokenizer
        self._ends = _ids(model.generation_config.eos_token_id)
        self._pad = tokenizer.pad_token_id

    def __call__(self, drafts: Sequence[_Draft]) -> list[str]:
        with self._torch.inference_mode():
            sequences = self._model.generate(
                **self._read(drafts),
                max_new_tokens=max(draft.max_tokens for draft in drafts),
                do_sample=False,
                num_beams=1,
                logits_processor=[_Noise(self._torch, self._model.device, drafts)],
            )
        return list(map(self._text, sequences.tolist(), drafts))

    def _read(self, drafts: Sequence[_Draft]) -> dict[str, Any]:
        """Encode each prompt once, however many texts it has."""
        prompts = list(dict.fromkeys(draft.prompt for draft in drafts))
        batch = pad(prompts, self._pad)
        device = self._model.device
        ids = self._torch.from_numpy(batch.ids).to(device)
        mask = self._torch.from_numpy(batch.mask).to(device)
        states = self._model.get_encoder()(input_ids=ids, attention_mask=mask)[0]
        indices = {prompt: index for index, prompt in enumerate(prompts)}
        rows = [indices[draft.prompt] for draft in drafts]
        return {
            "encoder_outputs": self._output(last_hidden_state=states[rows]),
            "attention_mask": mask[rows],
        }

    def _text(self, ids: Sequence[int], draft: _Draft) -> str:
        ids = ids[1 : 1 + draft.max_tokens]  # The first is the decoder's start token.
        end = next((i for i, token in enumerate(ids) if token in self._ends), len(ids))
        text_ids = [token for token in ids[:end] if token != self._pad]
        return self._tokenizer.decode(text_ids, skip_special_tokens=False)


class _Noise:
    """Turns greedy decoding into sampling (the Gumbel-max trick).

    Each text has its own random numbers, so it does not depend on the other texts in the batch.

    Args:
        torch: The module.
        device: The model's device.
        drafts: The texts, in the order of the batch.
    """

    def __init__(self, torch: Any, device: Any, drafts: Sequence[_Draft]) -> None:
        self._torch = torch
        self._generators: list[Generator | None] = []
        for draft in drafts:
            seed = draft.seed
            generator = None if seed is None else torch.Generator(device).manual_seed(seed)
            self._generators.append(generator)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        del input_ids
        if not any(self._generators):
            return scores
        # Noise for the whole vocabulary: the ranking of the most probable tokens depends on the
        # last digits, and those on the batch.
        noise = self._torch.ones_like(scores)
        min_scores = scores.topk(min(_TOP_K, scores.shape[-1])).values[:, -1:]
        for row, generator in zip(noise, self._generators, strict=True):
            if generator is not None:
                row.exponential_(generator=generator)
        return (scores - noise.log()).masked_fill(scores < min_scores, -float("inf"))


def _mix(seed: int, number: int, prompt: Encoded) -> int:
    """Return a seed that differs between texts."""
    name = f"{seed}:{number}:{prompt.ids}".encode()
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") >> 1


def _ids(ids: int | Sequence[int] | None) -> frozenset[int]:
    if ids is None:
        return frozenset()
    return frozenset([ids] if isinstance(ids, int) else ids)


def _size(text: str) -> int:
    return 4 * len(text) + 4096  # plus the size of its key


def _import(module: str) -> Any:
    return load_optional(
        module, package=module.split(".")[0], extra="nli", purpose="writing text with a model"
    )
