"""LangChain's own test suites for chat models, run against the simulated provider.

Every feature that `ChatOpenAI` has is switched on. One case skips itself for a guarded model:
`test_serdes`, because LangChain loads only classes of its own packages from what it wrote down.
What the suites want from elsewhere is made here: the picture, the document and the recording that
they download, and the cassette of `test_stream_time`, in whose place the provider itself answers.
Pictures and documents in the messages of tools reach a provider that takes them there, as vLLM
does; OpenAI's chat completions take them from the user only.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.integration_tests import chat_models as suite
from langchain_tests.unit_tests import ChatModelUnitTests
from langchain_tests.unit_tests.chat_models import ChatModelTests

from resay import Policy
from resay.adapters import run_sync
from resay_langchain import GuardedChatModel
from simulation import SimulatedProvider
from support.langchain import since

pytestmark = [
    # The suites' coroutines bear no mark of their own.
    pytest.mark.anyio,
    # What the suites do on purpose: a schema of pydantic 1, and a file without a name.
    pytest.mark.filterwarnings("ignore:Received a Pydantic BaseModel V1 schema:UserWarning"),
    pytest.mark.filterwarnings("ignore:OpenAI may require a filename:UserWarning"),
    # langchain-openai dumps what the SDK parsed, whose types do not know the schema's class.
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]


@pytest.fixture
def benchmark() -> Callable[[Callable[[], None]], None]:
    """Call once what the suites would call some hundred times, to time it."""
    return lambda call: call()


KEY = "simulated"
Params = dict[str, Any]
# Before, LangChain sent documents without a name, which OpenAI's chat completions refuse.
NAMES_FILES = since("1.2.24")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png() -> bytes:
    """One grey pixel."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\x00\x80"))
    return b"\x89PNG\r\n\x1a\n" + header + pixel + chunk(b"IEND", b"")


def pdf() -> bytes:
    """A document without pages."""
    catalog = b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    pages = b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    return b"%PDF-1.4\n" + catalog + pages + b"trailer<</Root 1 0 R>>"


def wav() -> bytes:
    """A tenth of a second of silence."""
    recording = io.BytesIO()
    with wave.open(recording, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(8000)
        written.writeframes(bytes(1600))
    return recording.getvalue()


MADE: dict[str, Callable[[], bytes]] = {"png": png, "pdf": pdf, "wav": wav}


def download(url: str, **_: Any) -> httpx.Response:
    return httpx.Response(200, content=MADE[url.rpartition(".")[2]]())


class Features:
    """What a model that talks to OpenAI's chat completions can do."""

    has_tool_calling = True
    has_tool_choice = True
    has_structured_output = True
    supports_json_mode = True
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = NAMES_FILES
    supports_audio_inputs = True
    supports_anthropic_inputs = True
    supports_image_tool_message = True
    supports_pdf_tool_message = NAMES_FILES
    returns_usage_metadata = True
    supports_model_override = True
    model_override_value = "another"
    enable_vcr_tests = True
    supported_usage_metadata_details = {  # noqa: RUF012 - the suite reads it, nobody writes it
        "invoke": ["audio_input", "reasoning_output", "cache_read_input"],
        "stream": ["audio_input", "reasoning_output", "cache_read_input"],
    }


class Unit(Features):
    """A model that nothing is asked."""

    connection: Params = {}  # noqa: RUF012 - see above

    @pytest.fixture(autouse=True)
    def key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

    @pytest.fixture
    def snapshot(self) -> None:
        """Asked for by `test_serdes`, which skips itself."""


class Served(Features):
    """A model whose provider runs on this machine, with clients of the test's own."""

    connection: Params
    chat_model_class: type[BaseChatModel]
    chat_model_params: Params

    @pytest.fixture
    async def async_client(self) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient() as client:
            yield client

    @pytest.fixture
    def background_client(self) -> Iterator[httpx.AsyncClient]:
        client = httpx.AsyncClient()
        yield client
        # What is asked without an event loop may be asked on ours.
        run_sync(client.aclose)

    @pytest.fixture(autouse=True)
    def served(
        self, simulated: SimulatedProvider, request: pytest.FixtureRequest
    ) -> Iterator[None]:
        is_async = iscoroutinefunction(request.function)
        async_client = request.getfixturevalue("async_client" if is_async else "background_client")
        with httpx.Client() as client:
            self.connection = {
                "base_url": simulated.base_url,
                "api_key": KEY,
                "http_client": client,
                "http_async_client": async_client,
            }
            yield

    @pytest.fixture(autouse=True)
    def downloads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(suite, "httpx", SimpleNamespace(get=download))
        monkeypatch.setenv("LANGCHAIN_TESTS_USER_AGENT", "nobody is asked")

    @pytest.fixture
    def vcr(self) -> SimpleNamespace:
        """A provider on this machine needs no recording."""
        return SimpleNamespace(responses=["those of the provider"])

    def invoke_with_audio_input(self, *, stream: bool = False) -> AIMessage:
        (recording,) = map(suite._get_base64_from_url, ["https://nowhere.example/silence.wav"])
        part = {"type": "input_audio", "input_audio": {"data": recording, "format": "wav"}}
        return self._ask([{"type": "text", "text": "Describe this audio:"}, part], stream)

    def invoke_with_reasoning_output(self, *, stream: bool = False) -> AIMessage:
        return self._ask("Think, and then say hello.", stream)

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        self._ask("Hello once more.", stream)
        return self._ask("Hello once more.", stream)

    def _ask(self, content: Any, stream: bool) -> AIMessage:
        model = self.chat_model_class(**self.chat_model_params)
        if not stream:
            return model.invoke([HumanMessage(content)])
        first, *others = model.stream([HumanMessage(content)])
        return sum(others, first)


class Guarded:
    """A guarded model."""

    chat_model_class = GuardedChatModel
    # What a client is made with, such as `timeout`, belongs to the model inside.
    standard_chat_model_params: Params = {}  # noqa: RUF012 - see above
    connection: Params
    policy: Params

    @property
    def chat_model_params(self) -> Params:
        standard = {"temperature": 0, "max_tokens": 100, "timeout": 60, "stop": []}
        told = {"model": "simulated", "max_retries": 0, "stream_usage": True, **self.connection}
        return {"model": ChatOpenAI(**standard, **told), "policy": self.policy}


NGRAM = {"chain": [{"method": "ngram"}], "sampling": {"max": 2, "min": 2}}
# Samples are runs of a chat model too, and these cases want to hear of exactly one.
WANT_ONE_START = ("test_structured_output", "test_structured_output_async")


class GuardedAndServed(Guarded, Served):
    @pytest.fixture(autouse=True)
    def chosen_policy(self, request: pytest.FixtureRequest) -> None:
        one = request.function.__name__ in WANT_ONE_START
        self.policy = NGRAM | {"structured": {"check": "none" if one else "fields"}}


class TestGuardedUnit(Guarded, Unit, ChatModelUnitTests):
    policy = NGRAM

    @pytest.fixture(autouse=True)
    def policy_file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "policy.yaml"
        self.file.write_text("chain: [{method: ngram}]\n")

    @property
    def init_from_env_params(self) -> tuple[Params, Params, Params]:
        file = self.__dict__.get("file", "")
        return (
            {"RESAY_POLICY": str(file)},
            {"model": ChatOpenAI(model="simulated", api_key=KEY)},
            {"policy": Policy.of({"chain": [{"method": "ngram"}]})},
        )


class TestGuarded(GuardedAndServed, ChatModelIntegrationTests):
    pass


class TestGuardedWithFunctions(GuardedAndServed, ChatModelTests):
    """Objects by way of a tool; nothing else depends on how they are asked for."""

    structured_output_kwargs = {"method": "function_calling"}  # noqa: RUF012 - see above
    locals().update(
        {
            name: case
            for name, case in vars(ChatModelIntegrationTests).items()
            if name.startswith("test_structured_output")
        }
    )
