"""A chat loop, guarded by one changed import: each answer is followed by what it made up.

pip install 'resay[openai]'

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server. The policy is
the default one, or the file that RESAY_POLICY names.
"""

from openai import RateLimitError

from resay_openai import GuardedOpenAI as OpenAI  # was: from openai import OpenAI
from resay_openai import verdict_of

TURNS = [
    "Hello!",
    "Tell me about the Sydney Harbour Bridge.",
    "And what did I ask before?",
]

client = OpenAI()
messages = [{"role": "system", "content": "You are a concise guide to cities."}]
for turn in TURNS:
    print("you: ", turn)
    messages.append({"role": "user", "content": turn})
    try:
        answer = client.chat.completions.create(model="gpt-4.1-mini", messages=messages)
    except RateLimitError:
        print("bot:  I am busy, please ask again.")
        continue
    message = answer.choices[0].message
    messages.append(message)
    print("bot: ", message.content)
    verdict = verdict_of(answer)
    for sentence in verdict.flagged_sentences if verdict else ():
        print(f"      not consistent: {sentence.text}")
client.close()
