"""Helpers for the tests of the LiteLLM adapter."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BLOCK",
    "JUDGED",
    "RAISE",
    "STRICT",
    "N",
    "as_sent",
    "ask",
    "deployments_in",
    "retire",
]

N = 3
JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], "sampling": {"max": N}}
STRICT = {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": N, "min": N},
    "threshold": {"passage": 0.0, "sentence": 0.0},
}
"""Flags every answer."""
BLOCK = {"action": {"do": "block", "message": "Withheld."}}
RAISE = {"action": {"do": "block", "exit": "raise"}}


def ask(question: str, **params: Any) -> dict[str, Any]:
    """Return a request for chat completions."""
    return {"model": "chat", "messages": [{"role": "user", "content": question}], **params}


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request as the proxy's hooks receive it."""
    return {
        **body,
        "metadata": {"user_api_key_hash": "hash", "headers": {"authorization": "secret"}},
        "proxy_server_request": {"url": "http://proxy", "body": dict(body)},
        "litellm_call_id": "call-1",
        "secret_fields": {"raw_headers": {}},
        "_litellm_strip_stream_usage": True,
    }


def deployments_in(router: Any) -> list[Any]:
    """Return a router's deployments, to be changed in place."""
    # litellm 1.110 deprecates `model_list` and `discard`, the only names in 1.106 and before.
    return router.registry().all() if hasattr(router, "registry") else router.model_list


def retire(router: Any) -> None:
    """Remove a router's callbacks from litellm."""
    if hasattr(router, "retire"):
        router.retire()
    else:
        router.discard()
