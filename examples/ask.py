"""Ask a model and see which sentences it could not say twice.

pip install resay

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from resay import Guard

guard = Guard(model="openai/gpt-4.1-mini")
answer = guard.ask("Tell me about the Sydney Harbour Bridge.")

print(answer.text)
print(answer.verdict.decision, "-", answer.verdict.reason)
for sentence in answer.verdict.flagged_sentences:
    print(f"{sentence.score:.2f}  {sentence.text}")
    if sentence.contradicted_by:
        print(f"      another time it said: {sentence.contradicted_by.text}")
