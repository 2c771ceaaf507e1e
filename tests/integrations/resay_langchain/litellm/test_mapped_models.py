"""What holds for every class."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import create_model

from resay import ResayError
from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.requests import connection_of

pytestmark = pytest.mark.anyio

AWS = {"region_name": "us-west-2", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
CLASSES: dict[str, dict[str, Any]] = {
    "langchain_openai.ChatOpenAI": {"api_key": "k"},
    "langchain_openai.AzureChatOpenAI": {
        "api_key": "k",
        "azure_endpoint": "http://127.0.0.1:9",
        "api_version": "1",
    },
    "langchain_anthropic.ChatAnthropic": {"api_key": "k"},
    "langchain_ollama.ChatOllama": {},
    "langchain_google_genai.ChatGoogleGenerativeAI": {"google_api_key": "k"},
    "langchain_aws.ChatBedrockConverse": AWS | {"provider": "amazon"},
    "langchain_litellm.ChatLiteLLM": {},
}


@pytest.fixture(params=CLASSES)
def made(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    package, _, name = request.param.partition(".")
    pytest.importorskip(package)
    if package == "langchain_aws":
        request.getfixturevalue("aws_read_once")
    return getattr(import_module(package), name), CLASSES[request.param] | {"model": "m"}


def test_a_model_is_mapped(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    assert connection_of(kind(**fields)).model


def test_a_field_of_a_later_version_makes_it_unmapped(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    extra: Any = {"novelty": (str | None, None), "older": (bool, True)}
    later = create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **extra)
    later.__qualname__ = kind.__qualname__
    assert connection_of(later(**fields)).model
    for novelty in ({"novelty": "x"}, {"older": False}):
        with pytest.raises(UnmappedError, match=f"{kind.__name__} sets '{min(novelty)}'"):
            connection_of(later(**fields, **novelty))


def test_a_subclass_is_unmapped(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    own = type("Own", (kind,), {"__module__": __name__})
    with pytest.raises(UnmappedError, match="Own is not known"):
        connection_of(own(**fields))


def test_a_limit_of_the_rate_is_not_passed_by(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    model = kind(**fields, rate_limiter=InMemoryRateLimiter())
    with pytest.raises(UnmappedError, match="'rate_limiter'"):
        connection_of(model)


def test_what_langchain_keeps_to_itself_does_not_matter(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    plain = connection_of(kind(**fields))
    noted = kind(**fields, name="n", tags=["t"], verbose=True, cache=False, callbacks=[])
    assert connection_of(noted) == plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("drop_params", True),
        ("headers", {"X-A": "b"}),
        ("model_alias_map", {"m": "other"}),
        ("modify_params", True),
        ("route_all_chat_openai_to_responses", True),
        ("use_litellm_proxy", True),
    ],
)
async def test_what_litellm_is_told_otherwise_is_not_meant_for_langchain(
    litellm: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    openai = pytest.importorskip("langchain_openai")
    model = openai.ChatOpenAI(api_key="k", model="m")
    assert connection_of(model).model == "openai/m"
    monkeypatch.setattr(litellm, name, value)
    with pytest.raises(UnmappedError, match=f"litellm has '{name}'"):
        connection_of(model)


def test_a_proxy_of_litellm_is_given_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("langchain_openai")
    monkeypatch.setenv("USE_LITELLM_PROXY", "true")
    with pytest.raises(UnmappedError, match="litellm has 'USE_LITELLM_PROXY'"):
        connection_of(openai.ChatOpenAI(api_key="k", model="m"))


def test_an_unknown_class_is_unmapped() -> None:
    model = GenericFakeChatModel(messages=iter([]))
    with pytest.raises(UnmappedError, match="GenericFakeChatModel is not known") as caught:
        connection_of(model)
    assert isinstance(caught.value, ResayError)


def test_no_providers_package_is_imported() -> None:
    code = (
        "import sys, resay_langchain._litellm.requests\n"
        "packages = {'litellm', 'openai', 'anthropic', 'ollama', 'boto3', 'google', *"
        "('langchain_' + n for n in ('openai', 'anthropic', 'ollama', 'google_genai', 'aws'))}\n"
        "print(sorted(packages & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
