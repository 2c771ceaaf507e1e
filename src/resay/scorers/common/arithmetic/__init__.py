"""Numbers that answers compute from documents, and the order in which they put values."""
