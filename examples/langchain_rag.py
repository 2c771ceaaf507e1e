"""Guard a retrieval chain: its answer is compared with the documents that it was written from.

pip install 'resay[langchain]' langchain-openai

Run with OPENAI_API_KEY set, or point OPENAI_BASE_URL at any OpenAI-compatible server.
"""

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_openai import ChatOpenAI

from resay import HallucinationBlocked
from resay_langchain import guard_runnable, verdict_of

PAGES = (
    "The Sydney Harbour Bridge is a steel arch bridge in Sydney, Australia.",
    "The bridge is held together by 5,960,000 hand-driven rivets.",
    "The Sydney Harbour Bridge was opened on 19 March 1932.",
    "Paris has 37 bridges over the Seine.",
)


class Shelf(BaseRetriever):
    """Finds the three pages that share most words with the question."""

    def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
        asked = set(query.lower().rstrip("?").split())
        found = sorted(PAGES, key=lambda page: -len(asked & set(page.lower().split())))
        return [Document(page) for page in found[:3]]


def as_text(state: dict) -> str:
    return "\n".join(document.page_content for document in state["documents"])


find = RunnableLambda(lambda state: state["question"]) | Shelf()
prompt = ChatPromptTemplate.from_messages(
    [("system", "Answer from these pages:\n{context}"), ("user", "{question}")]
)
answer = prompt | ChatOpenAI(model="gpt-4.1-mini") | StrOutputParser()
chain = RunnablePassthrough.assign(documents=find) | RunnablePassthrough.assign(
    answer=RunnablePassthrough.assign(context=as_text) | answer
)

# Each sentence is to be supported by the documents that were found.
policy = {"chain": [{"method": "prompt", "evidence": "references"}]}
question = {"question": "How many rivets hold the Sydney Harbour Bridge together?"}

output = guard_runnable(chain, policy).invoke(question)
verdict = verdict_of(output)
print(output["hallucination"]["decision"], "-", verdict.reason)
for sentence in verdict.sentences:
    print("no page says" if sentence.flagged else "a page says ", sentence.text)

# What is not in the documents is not to be said at all.
strict = policy | {"action": {"do": "block", "message": "The pages do not say that."}}
print(guard_runnable(chain, strict).invoke(question)["answer"])

try:
    guard_runnable(chain, strict | {"action": {"do": "block", "exit": "raise"}}).invoke(question)
except HallucinationBlocked as error:
    print("withheld:", error.verdict.reason)
