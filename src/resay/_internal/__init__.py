"""What the rest is built on, and no user reads."""
