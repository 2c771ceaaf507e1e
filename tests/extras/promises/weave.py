import os

from resay import Guard

# A tool that cannot be reached costs no answer.
os.environ.update({"WANDB_BASE_URL": "http://127.0.0.1:9"})
guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "weave"}]})
assert guard.check("It has 31 lamps.", references=["It has 30 lamps."]).flagged
