"""Feedback on the current call, and one at the end of the process."""

import weave

from resay import Guard

client = weave.init("team/project")
guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "weave"}]})


@weave.op
def request() -> None:
    call = weave.get_current_call()
    print(call.trace_id, call.id)
    guard.check("It opened in 1947.", references=["It opened in 1932."])
    guard.close()
    guard.check("It opened in 1932.", references=["It opened in 1932."])


request()
