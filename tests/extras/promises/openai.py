from importlib.util import find_spec

from resay_openai import GuardedOpenAI, verdict_of

with GuardedOpenAI() as client:
    answer = client.chat.completions.create(
        model="gpt-4.1-mini",
        messages=[{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}],
    )
assert verdict_of(answer).decision in ("consistent", "flagged"), verdict_of(answer).reason
assert find_spec("litellm") is None
