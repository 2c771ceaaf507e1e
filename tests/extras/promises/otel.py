from opentelemetry import trace

from resay import Guard

samples = [f"It has {n} lamps." for n in (1, 2, 3)]
with trace.get_tracer("application").start_as_current_span("check"):
    guard = Guard({"chain": [{"method": "ngram"}]})
    assert guard.check("It has 31 lamps.", samples=samples).score is not None
