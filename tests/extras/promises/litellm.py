from resay import Guard

answer = Guard(model="openai/gpt-4.1-mini").ask("Tell me about the Sydney Harbour Bridge.")
assert answer.verdict.decision in ("consistent", "flagged"), answer.verdict.reason
