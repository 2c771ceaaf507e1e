"""Models behind a simulated server, pairs to ask them about, and the expected answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resay.models.remote.tei import TeiClassifier
from resay.models.remote.vllm import VllmClassifier
from resay.plugins import ModelConfig
from simulation import SimulatedInference
from simulation.inference import entailment

LABELS = ("contradiction", "entailment", "neutral")
PREMISE = "The bridge was opened in 1932."
SAME = (PREMISE, "The bridge was opened in 1932.")
OTHER = (PREMISE, "The bridge was opened in 1871.")
ELSE = (PREMISE, "Bananas are yellow.")


def tei(server: SimulatedInference, **settings: Any) -> ModelConfig:
    return ModelConfig(backend="tei", url=server.url, **settings)


def vllm(server: SimulatedInference, **settings: Any) -> ModelConfig:
    settings = {"labels": LABELS, "name": "simulated", **settings}
    return ModelConfig(backend="vllm", url=server.url, **settings)


def classifier(server: SimulatedInference, **settings: Any) -> TeiClassifier | VllmClassifier:
    if server.api == "vllm":
        return VllmClassifier(vllm(server, **settings))
    return TeiClassifier(tei(server, **settings))


def expected(*pairs: tuple[str, str], labels: Sequence[str] = LABELS) -> np.ndarray:
    return np.array([[entailment(*pair)[label] for label in labels] for pair in pairs])
