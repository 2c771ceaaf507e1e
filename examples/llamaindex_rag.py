"""Guard a LlamaIndex query engine: nodes are retrieved once, answers are written several times.

pip install 'resay[llamaindex]' llama-index-llms-openai

Run with OPENAI_API_KEY set, or point OPENAI_API_BASE at any OpenAI-compatible server.
"""

from llama_index.core import Document, SummaryIndex
from llama_index.llms.openai import OpenAI

from resay_llamaindex import GuardedQueryEngine, verdict_of

index = SummaryIndex.from_documents(
    [
        Document(text="The Sydney Harbour Bridge was opened on 19 March 1932."),
        Document(text="Its arch spans 503 metres."),
    ]
)
engine = GuardedQueryEngine(index.as_query_engine(llm=OpenAI(model="gpt-4.1-mini")))
response = engine.query("When was the Sydney Harbour Bridge opened, and who built it?")

verdict = verdict_of(response)
print(response)
print(verdict.decision, "-", verdict.reason)
