"""The lifecycle of one request, from the query to the answer."""
