"""What people who extend Resay import, and what their distributions install."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Literal, get_origin

import pytest

import resay.plugins
from resay import ConfigurationError, Guard, PolicyError
from resay.testing import ScriptedProvider
from support.installed import installed

PROVIDER = """
from resay.testing import ScriptedProvider

class Acme(ScriptedProvider):
    def __init__(self):
        super().__init__(lambda query: f"{query.model} says that it has 6 lanes.")


"""
RETRIEVER = """
class Pages:
    def retrieve(self, query, *, k):
        return ["The bridge has 8 lanes."]
"""
FACTS = {"chain": [{"method": "facts"}], "sampling": {"max": 3}}


@pytest.mark.parametrize("name", resay.plugins.__all__)
def test_what_is_promised_is_described(name: str) -> None:
    promised = getattr(resay.plugins, name)
    # Types such as `Literal["random", "uncertainty"]` have no docstring of their own.
    assert inspect.getdoc(promised) or get_origin(promised) is Literal


def test_a_models_name_begins_with_its_installed_provider(tmp_path: Path) -> None:
    with installed(tmp_path, PROVIDER, {"resay.providers": "acme = acme_ai:Acme"}, name="acme_ai"):
        answer = Guard(FACTS, model="acme/large").ask("How many lanes has the bridge?")
    assert answer.text == "acme/large says that it has 6 lanes."
    assert answer.verdict.samples == 3
    assert not answer.verdict.flagged


def test_an_installed_provider_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    points = {"resay.providers": "acme = acme_ai:Missing"}
    with installed(tmp_path, PROVIDER, points, name="acme_ai"):
        message = "cannot load 'acme' from 'acme_ai:Missing': AttributeError"
        with pytest.raises(ConfigurationError, match=message):
            Guard(FACTS, model="acme/large").ask("How many lanes has the bridge?")


def test_a_policy_names_an_installed_retriever(tmp_path: Path) -> None:
    policy = {**FACTS, "action": {"do": "regenerate", "retriever": "pages", "attempts": 1}}
    answers = iter(["It has 6 lanes.", "It has 7 lanes.", "It has 9 lanes.", "It has 5 lanes."])

    def reply(query: resay.Request) -> str:
        text = str(query.messages[-1]["content"])
        return next(answers) if text == "How many lanes?" else "The bridge has 8 lanes."

    with installed(tmp_path, RETRIEVER, {"resay.retrievers": "pages = pages:Pages"}, name="pages"):
        answer = Guard(policy, provider=ScriptedProvider(reply)).ask("How many lanes?")
    assert answer.regenerated
    assert "8 lanes" in answer.text


def test_a_policy_names_a_retrievers_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_pages.py").write_text(RETRIEVER)
    monkeypatch.syspath_prepend(tmp_path)
    Guard({**FACTS, "action": {"do": "regenerate", "retriever": "my_pages:Pages"}})


def test_a_retriever_that_nothing_installs_is_refused() -> None:
    policy = {**FACTS, "action": {"do": "regenerate", "retriever": "pages"}}
    with pytest.raises(PolicyError, match="or the name of an installed retriever"):
        Guard(policy)


def test_a_scripted_provider_answers_in_order_and_keeps_the_queries() -> None:
    provider = ScriptedProvider(["It has 6 lanes.", "It has 7 lanes."])
    policy = {**FACTS, "sampling": {"max": 1, "min": 1, "confidence": None}}
    answer = Guard(policy, provider=provider).ask("How many lanes has the bridge?")
    assert answer.text == "It has 6 lanes."
    assert [query.question for query in provider.queries] == ["How many lanes has the bridge?"] * 2
