"""Faithful translation of LangChain's chat models and requests for litellm."""
