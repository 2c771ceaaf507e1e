"""The provider of a model that the application gives none; here litellm is missing."""

from __future__ import annotations

import re

import pytest

from resay import Guard
from resay.adapters.policies import check_client_policy
from resay.errors import (
    ConfigurationError,
    MissingDependencyError,
    ProviderRefusedError,
    ResayError,
)
from resay.providers import LiteLLMEmbedder
from resay.testing import ScriptedProvider
from support.cli import resay_here

pytestmark = pytest.mark.usefixtures("no_litellm")

NGRAM = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}
NO_PREFIX = (
    "the model {model!r} cannot be called because {reason}; pass the address of a server of your"
    " own as `api_base`, such as 'http://127.0.0.1:11434/v1', or write a provider before it, as in"
    " 'openai/gpt-4.1-mini'"
)
MISSPELT = (
    "the model {model!r} cannot be called because {name!r} is not a known provider; did you mean"
    " {right!r}? For a server of your own, pass its address as `api_base`"
)
INSTALL = "{subject} needs 'litellm'; install it with: pip install 'resay[litellm]'"


def _without_provider(model: str, reason: str = "it names no provider") -> str:
    return NO_PREFIX.format(model=model, reason=reason)


def _misspelt(model: str, right: str) -> str:
    return MISSPELT.format(model=model, name=model.partition("/")[0], right=right)


MESSAGES = {
    "llama3.1": _without_provider("llama3.1"),
    "llama3.1:8b": _without_provider("llama3.1:8b"),
    "Qwen/Qwen3-8B": _without_provider("Qwen/Qwen3-8B", "'Qwen' is not a known provider"),
    "opnai/gpt-4o": _misspelt("opnai/gpt-4o", "openai/gpt-4o"),
    "antropic/claude-x": _misspelt("antropic/claude-x", "anthropic/claude-x"),
    "Groq/x": _misspelt("Groq/x", "groq/x"),
    "anthropic/claude-x": INSTALL.format(subject="the model 'anthropic/claude-x'"),
    "ollama/llama3.1": INSTALL.format(subject="the model 'ollama/llama3.1'"),
    "ft:gpt-4o:acme::x": INSTALL.format(subject="the model 'ft:gpt-4o:acme::x'"),
}


@pytest.mark.parametrize("model", MESSAGES)
def test_each_model_is_told_what_is_right_for_it(model: str) -> None:
    guard = Guard(NGRAM, model=model)
    is_missing = MESSAGES[model].endswith("'resay[litellm]'")
    expected = MissingDependencyError if is_missing else ProviderRefusedError
    for call in (guard.ask, lambda question: list(guard.stream(question))):
        with pytest.raises(expected) as caught:
            call("Who?")
        assert str(caught.value) == MESSAGES[model]


def test_a_model_that_can_be_asked_directly_needs_litellm_for_some_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nothing")
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    with pytest.raises(MissingDependencyError) as caught:
        Guard(NGRAM, model="openai/gpt-4.1-mini").ask("Who?", params={"tools": [tool]})
    assert str(caught.value) == INSTALL.format(subject="this request to 'openai/gpt-4.1-mini'")


def test_the_command_line_names_its_option() -> None:
    done = resay_here("ask", "Who?", "--model", "llama3.1", "--method", "ngram")
    assert done.returncode == 4
    assert "as `--api-base`, such as 'http://127.0.0.1:11434/v1'" in done.stderr


@pytest.mark.parametrize("model", ["llama3.1", "opnai/gpt-4o"])
def test_a_judge_that_no_provider_has_is_refused_before_anything_is_asked(model: str) -> None:
    guard = Guard({"chain": [{"method": "zero_shot", "judge": model}]})
    message = re.escape(MESSAGES[model])
    for call in (
        lambda: guard.check("It opened in 1932.", question="When did it open?"),
        lambda: guard.ask("When did it open?", model="openai/gpt-4.1"),
        guard.__enter__,
    ):
        with pytest.raises(ConfigurationError, match=message):
            call()


def test_a_provider_of_the_application_may_know_any_judge() -> None:
    provider = ScriptedProvider(lambda request: f"{request.model}: No")
    guard = Guard({"chain": [{"method": "zero_shot", "judge": "own/m"}]}, provider=provider)
    verdict = guard.check("It opened in 1932.", question="When did it open?")
    assert verdict.usage.calls > 0


def test_a_judge_may_be_on_a_server_of_the_application() -> None:
    judge = {"model": "own/m", "params": {"api_base": "http://127.0.0.1:9/v1"}}
    guard = Guard({"chain": [{"method": "zero_shot", "judge": judge}]})
    verdict = guard.check("It opened in 1932.", question="When did it open?")
    assert "nothing listens at 127.0.0.1:9" in verdict.reason


@pytest.mark.parametrize("model", ["llama3.1", "opnai/gpt-4o"])
def test_a_client_is_told_which_setting_names_the_model(model: str) -> None:
    guard = Guard({"chain": [{"method": "prompt", "judge": model}]})
    message = f"the judge of method 'prompt': {MESSAGES[model]}"
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        check_client_policy(guard, "a client")


@pytest.mark.parametrize("model", MESSAGES)
def test_an_embedding_model_is_named_alike(model: str) -> None:
    with pytest.raises(ResayError) as caught:
        LiteLLMEmbedder(model)
    assert str(caught.value) == MESSAGES[model]
