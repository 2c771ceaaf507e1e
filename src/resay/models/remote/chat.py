"""Models behind OpenAI's chat completions, which vLLM, Ollama, llama.cpp and most services have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resay.core.logprobs import read_logprobs
from resay.models.chat import ChatAnswer, ChatRequest
from resay.models.remote.batches import CachedRequest, replace_surrogates
from resay.models.remote.http import Reply, Server
from resay.providers.base_urls import CHAT_PATH, with_version

if TYPE_CHECKING:
    from resay.models.config import ModelConfig


class ChatModel:
    """A chat model on a server.

    Args:
        config: The server's URL, with or without `/v1` or `/v1/chat/completions`, and its name for
            the model.

    Attributes:
        display_name: The model's name in messages.
    """

    def __init__(self, config: ModelConfig) -> None:
        url = with_version((config.url or "").rstrip("/").removesuffix(CHAT_PATH))
        self.display_name = config.display_name
        self._name = config.name
        self._server = Server(config.model_copy(update={"url": url}), "the chat server")
        self._works = CachedRequest(self._try)

    async def prepare(self) -> None:
        """Check that the server responds, with one request.

        Raises:
            ConfigurationError: It does not accept the key, or has no such model.
            ScorerError: It does not respond.
        """
        await self._works.get()

    async def answer(self, request: ChatRequest) -> ChatAnswer:
        """Send a request.

        Raises:
            ConfigurationError: The key is wrong, or the server has no such model.
            ScorerError: Any other failure.
        """
        messages: list[dict[str, str]] = []
        for role, text in request.messages:
            messages.append({"role": role, "content": replace_surrogates(text)})
        body: dict[str, Any] = {
            **request.extra,
            "model": self._name,
            "messages": messages,
            "temperature": 0.0,
            "max_tokens": request.max_tokens,
        }
        if request.top_logprobs:
            body["logprobs"] = True
            body["top_logprobs"] = request.top_logprobs
        return await self._server.post(CHAT_PATH, body, _answer)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()

    async def _try(self) -> bool:
        await self.answer(ChatRequest(messages=[("user", "Hello.")], max_tokens=1))
        return True


def _answer(reply: Reply) -> ChatAnswer:
    choice = reply.body["choices"][0]
    text = choice["message"]["content"] or ""
    return ChatAnswer(
        text=str(text),
        was_cut=choice.get("finish_reason") == "length",
        tokens=read_logprobs(choice.get("logprobs")),
    )
