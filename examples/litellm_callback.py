"""Have a verdict on everything that `litellm.acompletion` gives.

pip install 'resay[litellm]'

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

import asyncio

import litellm

from resay_litellm import HallucinationCallback, verdict_of


async def main() -> None:
    callback = HallucinationCallback({"chain": [{"method": "prompt"}]})
    litellm.callbacks.append(callback)
    messages = [{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}]
    response = await litellm.acompletion("openai/gpt-4.1-mini", messages)

    verdict = verdict_of(response)
    print(response.choices[0].message.content)
    print(verdict.decision, "-", verdict.reason)
    litellm.callbacks.remove(callback)
    await litellm.close_litellm_async_clients()


asyncio.run(main())
