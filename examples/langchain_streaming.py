"""Stream a guarded chat: each sentence is shown once the samples support it.

pip install 'resay[langchain]' langchain-openai

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

import asyncio

from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI

from resay import HallucinationBlocked
from resay_langchain import GuardedChatModel, verdict_of

QUESTION = "Tell me about the Sydney Harbour Bridge."
CHAIN = {"chain": [{"method": "prompt"}], "stream_mode": "hold"}


async def chat(policy: dict) -> AIMessageChunk:
    """Print an answer as it comes, and return all of it."""
    model = GuardedChatModel(ChatOpenAI(model="gpt-4.1-mini"), policy)
    answer = None
    async for chunk in model.astream(QUESTION):
        print(chunk.text, end="", flush=True)
        answer = chunk if answer is None else answer + chunk
    print()
    return answer


async def main() -> None:
    # All of it is shown, sentence by sentence; the last chunk brings the verdict.
    answer = await chat(CHAIN)
    verdict = verdict_of(answer)
    for sentence in verdict.flagged_sentences if verdict else ():
        print("  not consistent:", sentence.text)

    # The first sentence that is flagged is withheld, with all that follows.
    action = {"do": "block", "message": "[Of the rest I am not certain.]"}
    answer = await chat(CHAIN | {"action": action})
    if verdict := verdict_of(answer):
        print("  withheld:", verdict.reason)

    # The same, and the stream ends with an exception in place of a message.
    try:
        await chat(CHAIN | {"action": {"do": "block", "exit": "raise"}})
    except HallucinationBlocked as error:
        print("\n  raised:", error.verdict.reason)


asyncio.run(main())
