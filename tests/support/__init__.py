"""Helpers that tests share: servers, clients, models and texts."""
