import asyncio
import os

from qdrant_client import QdrantClient

from resay.errors import ResayError
from resay.retrieval import QdrantConfig, open_retriever

QdrantClient(path="db").close()
model = {"backend": "tei", "url": os.environ["INFERENCE_URL"]}
config = {"kind": "qdrant", "collection": "handbook", "model": model, "path": "db"}
retriever = open_retriever(QdrantConfig.model_validate(config))
try:
    asyncio.run(retriever.retrieve("When did it open?", k=1))
except ResayError as error:
    assert "handbook" in str(error), str(error)
else:
    raise AssertionError("there is no such collection")
