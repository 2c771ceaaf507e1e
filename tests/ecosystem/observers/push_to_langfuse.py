"""A score on the current observation, and one at the end of the process."""

from langfuse import get_client

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "langfuse"}]})
with get_client().start_as_current_observation(name="request"):
    print(get_client().get_current_trace_id(), get_client().get_current_observation_id())
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
    guard.check("It opened in 1932.", references=["It opened in 1932."])
