"""DeBERTa's attention in one kernel, by the package `disentangled-flash`.

transformers computes DeBERTa's attention, which adds two terms for relative positions, in some
twenty kernels, each of which writes a matrix of all pairs of tokens to memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_log = logging.getLogger(__name__)
_PACKAGE = "disentangled_flash"
_MODEL_TYPE = "deberta-v2"
# As far as 16-bit numbers that are added in another order may differ; wrong attention differs more.
_TOLERANCE = 0.05
_TEST_TOKENS = 48


def can_fuse(model: Any) -> bool:
    """Return whether a model on its device has attention that an installed package fuses."""
    is_deberta = model.config.model_type == _MODEL_TYPE and hasattr(model, "deberta")
    return is_deberta and model.device.type == "cuda" and find_spec(_PACKAGE) is not None


def with_fused_attention(torch: Any, model: Any, reload: Callable[[], Any]) -> Any:
    """Return a classifier whose attention is fused, if its results stay the same.

    Args:
        torch: The module.
        model: The classifier, on its device; it is modified.
        reload: Loads it again, for when fusing does not work.
    """
    expected = _test_logits(torch, model)
    try:
        import_module(_PACKAGE).optimize_deberta(model.deberta)
        difference = float((_test_logits(torch, model) - expected).abs().max())
    # Kernels fail in many ways, and without them everything works.
    except Exception as error:
        _log.warning("%s failed (%s); DeBERTa runs without it", _PACKAGE, type(error).__name__)
        return reload()
    # Not a number is not within the tolerance either.
    if difference <= _TOLERANCE * max(float(expected.abs().max()), 1.0):
        return model
    _log.warning("%s changes results by %.3g; DeBERTa runs without it", _PACKAGE, difference)
    return reload()


def _test_logits(torch: Any, model: Any) -> Any:
    """Return the logits of two texts, the second with padding."""
    numbers = torch.arange(2 * _TEST_TOKENS, device=model.device)
    ids = (numbers.view(2, _TEST_TOKENS) * 7 + 5) % model.config.vocab_size
    mask = torch.ones_like(ids)
    mask[1, _TEST_TOKENS // 2 :] = 0
    with torch.inference_mode():
        return model(input_ids=ids, attention_mask=mask).logits.float()
