"""Check a response you already have against other responses to the same question.

pip install resay

The method `facts` calls no model, so this runs anywhere.
"""

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})
verdict = guard.check(
    "The bridge opened in 1932. Its first painter was Harold Finch.",
    samples=[
        "The bridge opened in 1932. Its first painter was Mary Doyle.",
        "The bridge opened in 1932. Its first painter was Tom Baker.",
        "The bridge opened in 1932. Its first painter was Ann Lee.",
    ],
)

print(verdict.decision, "-", verdict.reason)
for sentence in verdict.sentences:
    print(f"{sentence.score:.2f}  {sentence.text}  ({sentence.reason})")
