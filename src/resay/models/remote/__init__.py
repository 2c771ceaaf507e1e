"""Models on a server: text-embeddings-inference, vLLM, a reranker, or chat completions."""
