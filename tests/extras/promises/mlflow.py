import os

from resay import Guard

# A tool that cannot be reached costs no answer.
os.environ.update({"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"})
guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "mlflow"}]})
assert guard.check("It has 31 lamps.", references=["It has 30 lamps."]).flagged
