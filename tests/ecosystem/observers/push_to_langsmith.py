"""Feedback on the current run, and one at the end of the process."""

from langsmith import Client, get_current_run_tree, traceable

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "langsmith"}]})
# Not the one that LangSmith keeps for everybody.
client = Client()


@traceable(client=client)
def request() -> None:
    run = get_current_run_tree()
    print(run.trace_id, run.id)
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
    assert client.tracing_queue.unfinished_tasks == 0
    guard.check("It opened in 1932.", references=["It opened in 1932."])


request()
