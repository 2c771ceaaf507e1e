"""One request, from the query to the answer."""
