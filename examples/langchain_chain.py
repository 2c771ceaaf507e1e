"""Guard a LangChain chain: one call around it, the verdict in the message's metadata.

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI

from resay_langchain import guard

prompt = ChatPromptTemplate.from_template("Tell me about {subject}.")
chain = guard(prompt | ChatOpenAI(model="gpt-4.1-mini"))
message = chain.invoke({"subject": "the Sydney Harbour Bridge"})

verdict = message.response_metadata["hallucination"]
print(message.content)
print(verdict["decision"], "-", verdict["reason"])
