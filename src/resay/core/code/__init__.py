"""Code in a response: its blocks, its tokens, and the external names that it uses."""
