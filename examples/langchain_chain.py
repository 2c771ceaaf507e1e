"""Guard a LangChain chain: one call around it, the verdict in the message's metadata.

pip install 'resay[langchain]' langchain-openai

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

from resay_langchain import guard_runnable, verdict_of

prompt = ChatPromptTemplate.from_template("Tell me about {subject}.")
chain = prompt | ChatOpenAI(model="gpt-4.1-mini")
question = {"subject": "the Sydney Harbour Bridge"}

# The answer is given as it is, with its verdict.
message = guard_runnable(chain).invoke(question)
verdict = verdict_of(message)
print(message.text)
print(verdict.decision, "-", verdict.reason)
for sentence in verdict.flagged_sentences:
    print(f"{sentence.score:.2f}  {sentence.text}")

# A flagged answer is withheld, and the policy's message takes its place.
policy = {"chain": [{"method": "prompt"}], "action": {"do": "block", "message": "I am not sure."}}
message = guard_runnable(chain, policy).invoke(question)
print(message.text, "-", message.response_metadata["hallucination"]["reason"])
