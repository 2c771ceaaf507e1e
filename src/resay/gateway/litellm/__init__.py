"""Whoever litellm asks, through the gateway; and LiteLLM's own guardrail API."""
