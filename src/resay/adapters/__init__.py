"""What the adapters to frameworks share. Applications need none of it."""
