"""A web handler that streams answers to a browser, sentence by sentence, as they are checked.

pip install 'resay[openai]' starlette uvicorn

Serve it with `uvicorn examples.openai_web:app`. Run as a script, it asks itself once, with
OPENAI_API_KEY set or OPENAI_BASE_URL pointing at any OpenAI-compatible server.
"""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from resay_openai import GuardedAsyncOpenAI as AsyncOpenAI  # was: from openai import AsyncOpenAI

POLICY = {
    "chain": [{"method": "prompt"}],
    "stream_mode": "hold",
    "action": {"do": "block", "message": " [Of the rest I am not certain.]"},
}


async def written(question: str) -> AsyncIterator[str]:
    """Yield an answer as server-sent events while it is written."""
    async with AsyncOpenAI(policy=POLICY) as client:
        chunks = await client.chat.completions.create(
            model="gpt-4.1-mini",
            messages=[{"role": "user", "content": question}],
            stream=True,
        )
        async for chunk in chunks:
            for choice in chunk.choices:
                if choice.delta.content:
                    yield f"data: {json.dumps(choice.delta.content)}\n\n"
                if choice.finish_reason:
                    yield f"event: end\ndata: {json.dumps(choice.finish_reason)}\n\n"


async def answer(request: Request) -> StreamingResponse:
    return StreamingResponse(written(request.query_params["q"]), media_type="text/event-stream")


app = Starlette(routes=[Route("/answer", answer)])


async def main() -> None:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as browser:
        page = await browser.get(
            "/answer", params={"q": "Tell me about the Sydney Harbour Bridge."}
        )
        print(page.text)


if __name__ == "__main__":
    asyncio.run(main())
