"""Which chat models litellm can stand in for, and what it sends in their place."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import anyio.to_thread
import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages import convert_to_openai_messages as as_openai
from langchain_core.rate_limiters import InMemoryRateLimiter
from pydantic import create_model

from resay import ConfigurationError, Request
from resay.adapters.litellm_models import litellm_request, model_source
from resay.adapters.providers import LiteLLMProvider
from resay.adapters.upstream import UnmappedError
from resay_langchain import GuardedChatModel
from resay_langchain._litellm import LITELLM_MODELS

pytestmark = pytest.mark.anyio

QUESTION: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("Who was it?")]
PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
NOWHERE = "http://127.0.0.1:9"
CLASSES: dict[str, dict[str, Any]] = {
    "langchain_openai.ChatOpenAI": {"api_key": "k"},
    "langchain_openai.AzureChatOpenAI": {
        "api_key": "k",
        "azure_endpoint": NOWHERE,
        "api_version": "1",
    },
    "langchain_anthropic.ChatAnthropic": {"api_key": "k"},
    "langchain_ollama.ChatOllama": {"base_url": NOWHERE},
    "langchain_google_genai.ChatGoogleGenerativeAI": {"google_api_key": "k"},
    "langchain_litellm.ChatLiteLLM": {},
}
# Settings of a class, and its address, for a server that writes down what arrives.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "langchain_openai.ChatOpenAI": (
        "{url}/v1",
        {
            "temperature": 0.3,
            "max_tokens": 9,
            "top_p": 0.4,
            "presence_penalty": 0.1,
            "logit_bias": {5: 1},
            "stop": ["END"],
            "organization": "org-1",
            "default_headers": {"x-team": "7"},
            "extra_body": {"repetition_penalty": 1.1},
            "model_kwargs": {"user": "u", "extra_headers": {"x-call": "8"}},
        },
    ),
    "langchain_openai.AzureChatOpenAI": (
        "{url}",
        {
            "api_version": "2024-10-21",
            "azure_deployment": "m",
            "temperature": 0.3,
            "default_headers": {"x-team": "7"},
        },
    ),
    "langchain_anthropic.ChatAnthropic": (
        "{url}",
        {"max_tokens": 9, "temperature": 0.3, "top_k": 4, "default_headers": {"x-team": "7"}},
    ),
    "langchain_ollama.ChatOllama": (
        "{url}",
        {"temperature": 0.3, "num_ctx": 512, "num_predict": 9},
    ),
    "langchain_litellm.ChatLiteLLM": (
        "{url}/v1",
        {
            "model": "openai/m",
            "temperature": 0.3,
            "extra_headers": {"x-team": "7"},
            "model_kwargs": {"user": "u"},
        },
    ),
}
_ADDRESS = {
    "ChatAnthropic": "base_url",
    "AzureChatOpenAI": "azure_endpoint",
    "ChatLiteLLM": "api_base",
}


def class_of(name: str) -> Any:
    package, _, class_name = name.partition(".")
    return getattr(import_module(package), class_name)


def request_of(
    model: Any, messages: list[BaseMessage] = QUESTION, kwargs: Mapping[str, Any] | None = None
) -> Request:
    return litellm_request(LITELLM_MODELS, model, as_openai(messages), kwargs)


class Server:
    """Answers every request alike, in the format of whichever API is called."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                path = self.path.partition("?")[0]
                headers = {name.lower(): value for name, value in self.headers.items()}
                # litellm asks Ollama for what it knows of a model, too.
                if path != "/api/show":
                    server.requests.append((self.path, headers, body))
                answer = json.dumps(_answer(path)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _answer(path: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Ada."}
    if path.endswith("/messages"):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "Ada."}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    if path.startswith("/api/"):
        return {"model": "m", "message": message, "done": True, "done_reason": "stop"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return answer | {"choices": [choice], "usage": usage}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


_KEYS = ("authorization", "api-key", "x-api-key")
_HEADERS = ("openai-organization", "x-team", "x-call")
# Two names of one parameter, what the address says already, and what is the default.
_EQUAL = {"max_completion_tokens": "max_tokens"}
_IMMATERIAL = ("stream", "model", "keep_alive")


def _essence(request: tuple[str, dict[str, str], dict[str, Any]]) -> Any:
    path, headers, body = request
    own = {name: headers[name] for name in _HEADERS if name in headers}
    # Anthropic takes the key in either header.
    keys = [headers[name].removeprefix("Bearer ") for name in _KEYS if name in headers]
    params = {_EQUAL.get(k, k): v for k, v in body.items() if v and k not in _IMMATERIAL}
    contents = [params.pop("system", []), *(m["content"] for m in params.pop("messages"))]
    texts: list[str] = []
    for content in contents:
        parts = [content] if isinstance(content, str) else content
        texts += [part if isinstance(part, str) else part["text"] for part in parts]
    return path.partition("?")[0], keys, own, params, texts


@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("name", [name for name in ASKED if find_spec(name.partition(".")[0])])
async def test_litellm_sends_the_same_as_the_model(server: Server, name: str) -> None:
    address, settings = ASKED[name]
    kind = class_of(name)
    url = address.format(url=server.url)
    key = {} if kind.__name__ == "ChatOllama" else {"api_key": "sk-own"}
    where = {_ADDRESS.get(kind.__name__, "base_url"): url}
    model = kind(**{"model": "m"} | key | where | settings)
    await anyio.to_thread.run_sync(model.invoke, QUESTION)
    answers = await LiteLLMProvider().complete(request_of(model))
    assert answers.first.text == "Ada."
    own, through = server.requests
    assert _essence(own) == _essence(through)


@pytest.fixture(params=[name for name in CLASSES if find_spec(name.partition(".")[0])])
def made(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    return class_of(request.param), CLASSES[request.param] | {"model": "m"}


def test_a_field_of_a_later_version_is_not_lost(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    extra: Any = {"novelty": (str | None, None)}
    later = create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **extra)
    later.__qualname__ = kind.__qualname__
    assert request_of(later(**fields)).model
    with pytest.raises(UnmappedError, match=f"{kind.__name__} sets 'novelty'"):
        request_of(later(**fields, novelty="x"))


def test_a_subclass_may_send_anything(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    own = type("Own", (kind,), {"__module__": __name__})
    with pytest.raises(UnmappedError, match="Own is not known"):
        request_of(own(**fields))


def test_a_rate_limit_is_not_passed_by(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    with pytest.raises(UnmappedError, match="'rate_limiter'"):
        request_of(kind(**fields, rate_limiter=InMemoryRateLimiter()))


def test_what_shapes_no_request_does_not_matter(made: tuple[Any, dict[str, Any]]) -> None:
    kind, fields = made
    noted = kind(**fields, name="n", tags=["t"], verbose=True, cache=False, callbacks=[])
    assert request_of(noted) == request_of(kind(**fields))


def test_an_unknown_class_is_not_mapped() -> None:
    with pytest.raises(UnmappedError, match="GenericFakeChatModel is not known"):
        request_of(GenericFakeChatModel(messages=iter([])))


def chat(**fields: Any) -> Any:
    kind = class_of("langchain_openai.ChatOpenAI")
    return kind(**{"api_key": "k", "base_url": f"{NOWHERE}/v1", "model": "m"} | fields)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"api_key": lambda: "k"}, "computes its 'openai_api_key'"),
        ({"openai_proxy": "http://127.0.0.1:8"}, "'openai_proxy'"),
        ({"default_query": {"a": "b"}}, "'default_query'"),
        ({"use_responses_api": True}, "'use_responses_api'"),
        ({"reasoning": {"effort": "low"}}, "'reasoning'"),
        ({"model_kwargs": {"mystery": 1}}, "sends 'mystery'"),
    ],
)
def test_a_setting_that_would_be_lost_is_named(fields: dict[str, Any], reason: str) -> None:
    model = chat(**fields)
    with pytest.raises(UnmappedError, match=reason):
        request_of(model)
    policy = {"chain": [{"method": "ngram"}], "sampling": {"via": "litellm"}}
    with pytest.raises(ConfigurationError, match=f"`sampling.via` is 'litellm', but .*{reason}"):
        GuardedChatModel(model, policy)


@pytest.mark.parametrize(
    ("message", "kwargs", "reason"),
    [
        (HumanMessage("Who?"), {"modalities": ["audio"]}, "'modalities'"),
        (HumanMessage("Who?"), {"model": "other"}, None),
        (HumanMessage([{"type": "input_audio", "input_audio": {}}]), {}, "'input_audio'"),
        (HumanMessage([{"type": "text", "text": "Who?"}, PIXEL]), {}, None),
    ],
)
def test_a_part_of_a_request_that_would_be_lost_is_named(
    message: BaseMessage, kwargs: dict[str, Any], reason: str | None
) -> None:
    if reason is None:
        assert request_of(chat(), [message], kwargs).messages
        return
    with pytest.raises(UnmappedError, match=reason):
        request_of(chat(), [message], kwargs)


@pytest.mark.parametrize("name", ["drop_params", "modify_params", "use_litellm_proxy"])
async def test_litellms_own_settings_are_not_meant_for_langchain(
    litellm: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert request_of(chat()).model == "openai/m"
    monkeypatch.setattr(litellm, name, True)
    with pytest.raises(UnmappedError, match=f"litellm has '{name}'"):
        request_of(chat())


def test_a_proxy_of_litellm_is_given_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_LITELLM_PROXY", "true")
    with pytest.raises(UnmappedError, match="litellm has 'use_litellm_proxy'"):
        request_of(chat())


def test_models_with_the_same_settings_share_their_source() -> None:
    source = model_source(LITELLM_MODELS, chat())
    assert model_source(LITELLM_MODELS, chat(n=3, seed=1, callbacks=[])) == source
    for other in ({"api_key": "other"}, {"temperature": 0.2}, {"base_url": "http://127.0.0.1:8"}):
        assert model_source(LITELLM_MODELS, chat(**other)) != source
    unknown = GenericFakeChatModel(messages=iter([AIMessage("a")]))
    assert model_source(LITELLM_MODELS, unknown).startswith("object:")
