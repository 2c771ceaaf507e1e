from importlib.util import find_spec

from anthropic import Anthropic

from resay_anthropic import guard_client, verdict_of

with guard_client(Anthropic()) as client:
    message = client.messages.create(
        model="claude-sonnet-5",
        max_tokens=300,
        messages=[{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}],
    )
assert verdict_of(message).decision in ("consistent", "flagged"), verdict_of(message).reason
assert find_spec("litellm") is None
assert find_spec("openai") is None
