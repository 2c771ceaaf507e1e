"""Extract objects from a batch of texts, and see which fields the model fills in differently.

pip install 'resay[openai]'

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

import asyncio

from pydantic import BaseModel

from resay_openai import GuardedAsyncOpenAI as AsyncOpenAI  # was: from openai import AsyncOpenAI
from resay_openai import verdict_of

TEXTS = [
    "The Sydney Harbour Bridge was opened on 19 March 1932.",
    "The Sydney Opera House, by Jørn Utzon, opened in 1973.",
    "Bondi is a beach in the east of Sydney.",
]


class Landmark(BaseModel):
    name: str
    opened: int | None
    architect: str | None


async def extract(client: AsyncOpenAI, text: str) -> None:
    answer = await client.chat.completions.parse(
        model="gpt-4.1-mini",
        messages=[{"role": "user", "content": f"Which landmark is this about?\n\n{text}"}],
        response_format=Landmark,
    )
    verdict = verdict_of(answer)
    doubtful = [field.text.partition(":")[0] for field in verdict.flagged_sentences]
    print(answer.choices[0].message.parsed, "- doubtful:", ", ".join(doubtful) or "nothing")


async def main() -> None:
    async with AsyncOpenAI() as client:
        await asyncio.gather(*(extract(client, text) for text in TEXTS))


asyncio.run(main())
