"""Guard an object: its fields are compared with those of the samples' objects.

pip install 'resay[langchain]' langchain-openai

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from resay import HallucinationBlocked
from resay_langchain import GuardedChatModel, VerdictCollector


class Bridge(BaseModel):
    """A bridge."""

    name: str
    year: int = Field(description="The year in which it was opened")
    rivets: int = Field(description="How many rivets hold it together")
    note: str = Field(description="A remark for the catalogue")


policy = {"chain": [{"method": "prompt"}], "structured": {"ignore": ["note"]}}
question = "Fill in the catalogue's card of the Sydney Harbour Bridge."
model = ChatOpenAI(model="gpt-4.1-mini")

# An object has no place for a verdict: whoever wants to see it listens.
collector = VerdictCollector()
chain = GuardedChatModel(model, policy).with_structured_output(Bridge)
bridge = chain.invoke(question, {"callbacks": [collector]})
print(bridge)
print(collector.last.decision, "-", collector.last.reason)
for field in collector.last.sentences:
    score = "not compared" if field.score is None else f"{field.score:.2f}"
    print(f"{score:>12}  {field.text}")

# Nothing can stand in the place of a flagged object, so withholding it always raises.
strict = policy | {"action": {"do": "block", "exit": "replace"}}
chain = GuardedChatModel(model, strict).with_structured_output(Bridge)
try:
    chain.invoke(question)
except HallucinationBlocked as error:
    print("withheld:", error.verdict.reason)

# With `include_raw` the error comes with the output, where parsing errors do.
chain = GuardedChatModel(model, strict).with_structured_output(Bridge, include_raw=True)
output = chain.invoke(question)
print(output["parsed"], "-", repr(output["parsing_error"]))
