"""Models that run in a server of their own: text-embeddings-inference, vLLM or a reranker's."""
