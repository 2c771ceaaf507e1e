"""Guard Anthropic's client: a support assistant that hands over what it would make up.

pip install 'resay[anthropic]'

Run with ANTHROPIC_API_KEY set, or point ANTHROPIC_BASE_URL at any server with Anthropic's API.
"""

from anthropic import Anthropic

from resay_anthropic import guard_client, verdict_of

POLICY = {
    "chain": [{"method": "prompt"}],
    "sampling": {"max": 4},
    "stream_mode": "hold",
    "action": {"do": "block", "message": "I am not sure; a colleague will get back to you."},
}
QUESTIONS = ("Where is the Sydney Harbour Bridge?", "What is the Zorblatt?")

with guard_client(Anthropic(), POLICY) as client:
    for question in QUESTIONS:
        with client.messages.stream(
            model="claude-sonnet-5",
            max_tokens=300,
            system="You answer visitors of a museum in a few sentences.",
            messages=[{"role": "user", "content": question}],
        ) as stream:
            # Each sentence comes once it was checked.
            for text in stream.text_stream:
                print(text, end="", flush=True)
        verdict = verdict_of(stream)
        print(f"\n  [{verdict.decision}: {verdict.reason}]")
        if stream.get_final_message().stop_reason == "refusal":
            print("  [ticket opened]")
