"""What people who extend Resay import; it changes only with a major version."""
