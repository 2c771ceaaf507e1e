"""Writing a flagged answer again, from what is found about it."""
