"""Feedback on the current run, and one at the end of the process."""

from importlib.metadata import version

from langsmith import get_current_run_tree, traceable

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "langsmith"}]})


@traceable
def request() -> None:
    run = get_current_run_tree()
    print(run.trace_id, run.id)
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
    guard.check("It opened in 1932.", references=["It opened in 1932."])


request()
print("langsmith", version("langsmith"))
