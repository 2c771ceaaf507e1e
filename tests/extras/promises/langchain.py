from langchain_core.language_models import FakeListChatModel

from resay_langchain import guard_runnable, verdict_of

model = FakeListChatModel(responses=[f"It has {n} lamps." for n in range(9)])
policy = {"chain": [{"method": "ngram"}], "sampling": {"via": "native"}}
message = guard_runnable(model, policy).invoke("How many lamps has the bridge?")
assert verdict_of(message).decision in ("consistent", "flagged"), verdict_of(message).reason
