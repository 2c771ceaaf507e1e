"""Models called through litellm, and LiteLLM's own guardrail API."""
