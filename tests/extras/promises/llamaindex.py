from llama_index.core.llms import MockLLM

from resay_llamaindex import GuardedLLM, verdict_of

policy = {"chain": [{"method": "ngram"}], "sampling": {"via": "native"}}
response = GuardedLLM(MockLLM(), policy).complete("The bridge opened in 1932.")
# All its answers are the same.
assert verdict_of(response).decision in ("consistent", "inconclusive"), verdict_of(response).reason
