"""Guard the LLM of a LlamaIndex agent: tools are called as ever, the answer is checked.

pip install 'resay[llamaindex]' llama-index-llms-openai

Run with OPENAI_API_KEY set, or point OPENAI_API_BASE at any OpenAI-compatible server.
"""

import asyncio

import httpx
from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.llms.openai import OpenAI

from resay_llamaindex import GuardedLLM, verdict_of


def opened(bridge: str) -> str:
    """Say when a bridge was opened."""
    return {"Sydney Harbour Bridge": "19 March 1932"}.get(bridge, "unknown")


async def main() -> None:
    # A client that is closed before its event loop is.
    async with httpx.AsyncClient() as client:
        llm = GuardedLLM(OpenAI(model="gpt-4.1-mini", async_http_client=client))
        agent = FunctionAgent(tools=[opened], llm=llm)
        run = agent.run(user_msg="Tell me about the Sydney Harbour Bridge.")
        async for event in run.stream_events():
            if isinstance(event, AgentStream):
                # Whole, because an agent's answer may be a call of a tool, which its end tells.
                print(event.delta, end="")
        verdict = verdict_of(await run)
    print()
    print(verdict.decision, "-", verdict.reason)


asyncio.run(main())
