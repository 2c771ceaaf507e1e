import os

from resay import Guard

# A tool that cannot be reached costs no answer.
os.environ.update(
    {
        **dict.fromkeys(("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"), "none"),
        **dict.fromkeys(("LANGFUSE_BASE_URL", "LANGFUSE_HOST"), "http://127.0.0.1:9"),
    }
)
guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "langfuse"}]})
assert guard.check("It has 31 lamps.", references=["It has 30 lamps."]).flagged
