from __future__ import annotations

import pytest

from resay.errors import ConfigurationError
from resay.models.files import labels_of
from resay.plugins import ModelConfig

NAMES = {1: "Entailment", 0: "CONTRADICTION", 2: "neutral"}


def test_the_models_own_names_in_the_order_of_its_outputs() -> None:
    config = ModelConfig(name="some/model")
    assert labels_of(config, NAMES) == ("contradiction", "entailment", "neutral")


def test_settings_go_before_what_the_model_says() -> None:
    config = ModelConfig(name="some/model", labels=("A", "b", "c"))
    assert labels_of(config, NAMES) == ("a", "b", "c")


def test_settings_must_name_every_output() -> None:
    config = ModelConfig(name="some/model", labels=("a", "b"))
    with pytest.raises(ConfigurationError, match="names 2 outputs of 'some/model', which has 3"):
        labels_of(config, NAMES)


def test_the_published_classifier_is_known_although_it_does_not_say() -> None:
    config = ModelConfig(name="potsawee/deberta-v3-large-mnli")
    unnamed = {0: "LABEL_0", 1: "LABEL_1"}
    assert labels_of(config, unnamed) == ("entailment", "contradiction")
    assert labels_of(ModelConfig(name="other"), unnamed) == ("label_0", "label_1")
