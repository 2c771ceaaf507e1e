"""Repair what a model made up, by a folder of documents.

pip install resay

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from pathlib import Path

from resay import Guard

POLICY = {
    "sampling": {"max": 5},
    "chain": [{"method": "prompt"}],
    "action": {
        "do": "regenerate",
        "retriever": {
            "kind": "folder",
            "path": str(Path(__file__).with_name("rag_repair")),
            "index": "rag_repair.sqlite",
        },
    },
}

guard = Guard(POLICY, model="openai/gpt-4.1-mini")
answer = guard.ask("Tell me about the Sydney Harbour Bridge.")

regeneration = answer.verdict.regeneration
if regeneration:
    print("Flagged:", regeneration.reason)
    for edit in regeneration.edits:
        print("-", edit.before)
        if edit.after:
            print("+", edit.after, "|", ", ".join(edit.sources))
print()
print(answer.text)
print(answer.verdict.decision, "-", answer.verdict.reason)
print(f"{answer.usage.calls} calls, {answer.usage.tokens} tokens")
