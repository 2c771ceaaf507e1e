"""Withhold an answer the model cannot give consistently.

pip install resay

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from pathlib import Path

from resay import Guard

guard = Guard(Path(__file__).with_name("policy.yaml"), model="openai/gpt-4.1-mini")
answer = guard.ask("How many rivets are in the Sydney Harbour Bridge?")

print(answer.text)
if answer.blocked:
    print("withheld:", answer.verdict.reason)
print(f"{answer.usage.calls} calls, {answer.usage.tokens} tokens")
