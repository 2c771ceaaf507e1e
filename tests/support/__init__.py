"""What tests share: servers, clients, models and texts."""
