"""The clients of each SDK and framework that ask a guarded question and return the text shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anthropic
from langchain_openai import ChatOpenAI
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

from resay import Policy
from resay_anthropic import guard_client
from resay_langchain import GuardedChatModel
from resay_llamaindex import GuardedLLM
from resay_openai import GuardedOpenAI
from simulation import SimulatedProvider

Ask = Callable[[str], str]


def openai(provider: SimulatedProvider, policy: Policy, *, stream: bool) -> Ask:
    def ask(question: str) -> str:
        messages: list[Any] = [{"role": "user", "content": question}]
        with GuardedOpenAI(policy=policy, base_url=provider.base_url, api_key="x") as client:
            given: Any = client.chat.completions.create(
                model="simulated", messages=messages, stream=stream
            )
            if not stream:
                return given.choices[0].message.content
            return "".join(c.choices[0].delta.content or "" for c in given if c.choices)

    return ask


def responses(provider: SimulatedProvider, policy: Policy, *, stream: bool) -> Ask:
    def ask(question: str) -> str:
        with GuardedOpenAI(policy=policy, base_url=provider.base_url, api_key="x") as client:
            given: Any = client.responses.create(model="simulated", input=question, stream=stream)
            if not stream:
                return given.output_text
            return "".join(e.delta for e in given if e.type == "response.output_text.delta")

    return ask


def messages(provider: SimulatedProvider, policy: Policy, *, stream: bool) -> Ask:
    def ask(question: str) -> str:
        plain = anthropic.Anthropic(base_url=provider.root_url, api_key="x", max_retries=0)
        asked: dict[str, Any] = {
            "model": "simulated",
            "max_tokens": 500,
            "messages": [{"role": "user", "content": question}],
        }
        with guard_client(plain, policy) as client:
            if not stream:
                message = cast("Any", client.messages).create(**asked)
                return "".join(block.text for block in message.content)
            with client.messages.stream(**asked) as given:
                return "".join(given.text_stream)

    return ask


def langchain(provider: SimulatedProvider, policy: Policy, *, stream: bool) -> Ask:
    fields: dict[str, Any] = {"base_url": provider.base_url, "api_key": "x"}
    guarded = GuardedChatModel(model=ChatOpenAI(model="simulated", **fields), policy=policy)

    def ask(question: str) -> str:
        if not stream:
            return str(guarded.invoke(question).content)
        return "".join(str(chunk.content) for chunk in guarded.stream(question))

    return ask


def llamaindex(provider: SimulatedProvider, policy: Policy, *, stream: bool) -> Ask:
    plain = OpenAILike(
        model="simulated", api_base=provider.base_url, api_key="x", is_chat_model=True
    )
    llm = GuardedLLM(plain, policy)

    def ask(question: str) -> str:
        asked = [ChatMessage(role="user", content=question)]
        if not stream:
            return str(llm.chat(asked).message.content)
        return "".join(piece.delta or "" for piece in llm.stream_chat(asked))

    return ask


CLIENTS = [openai, responses, messages, langchain, llamaindex]
