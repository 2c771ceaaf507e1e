"""The lifecycle of one request, from the question to the answer."""
