"""Guarded clients of OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI

from resay.adapters import OnVerdict
from resay.adapters.policies import PolicyLike, guard_of
from resay.errors import ConfigurationError
from resay_openai._guarded import Async, Guarded, Sync, guarded_as

C = TypeVar("C", bound="OpenAI | AsyncOpenAI")


class GuardedOpenAI(Sync, OpenAI):
    """OpenAI's client, with answers checked and acted on according to a policy.

    It guards `create`, `parse` and `stream` of `chat.completions` and `responses`, and
    `completions.create`, also through `with_raw_response` and `with_streaming_response`. Everything
    else is the SDK's own, including all types. A response carries its verdict at `hallucination`;
    read it with `verdict_of`.

    Inside another guard, the client does nothing.

    Args:
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `Retriever`, or anything that
            `resay.retrieval.as_retriever` accepts. It replaces the policy's retriever.
        on_verdict: Called with each `resay.Verdict`, including those on withheld and skipped
            answers: in the calling thread or event loop, before the call returns; for a stream, at
            its end. If it is async, it is awaited. Its exceptions are logged.
        **kwargs: The arguments of `OpenAI`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a client cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        client = GuardedOpenAI(policy={"chain": [{"method": "ngram"}]})
        response = client.responses.create(
            model="gpt-4.1-mini", input="Who designed the Sydney Harbour Bridge?"
        )
        verdict = verdict_of(response)
        ```
    """


class GuardedAsyncOpenAI(Async, AsyncOpenAI):
    """The asynchronous `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AsyncOpenAI`.
    """


class GuardedAzureOpenAI(Sync, AzureOpenAI):
    """`GuardedOpenAI` for Azure.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AzureOpenAI`.
    """


class GuardedAsyncAzureOpenAI(Async, AsyncAzureOpenAI):
    """The asynchronous `GuardedOpenAI` for Azure.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AsyncAzureOpenAI`.
    """


_OURS: Mapping[type[Any], type[Any]] = {
    OpenAI: GuardedOpenAI,
    AsyncOpenAI: GuardedAsyncOpenAI,
    AzureOpenAI: GuardedAzureOpenAI,
    AsyncAzureOpenAI: GuardedAsyncAzureOpenAI,
}


def guard_client(
    client: C,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> C:
    """Return a guarded copy of a client.

    Any client of the SDK will do, including one for another provider or of your own subclass. The
    copy shares its connections with the original, which stays as it is.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `AzureOpenAI` or `AsyncAzureOpenAI`, or a subclass.
        policy: As for `GuardedOpenAI`. It replaces the policy of an already guarded client.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the original's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The client is of another class, the policy needs something that a client
            cannot provide, or it regenerates and has no retriever.
    """
    if isinstance(client, Guarded):
        return client.with_policy(policy, retriever=retriever, on_verdict=on_verdict)
    if not isinstance(client, (OpenAI, AsyncOpenAI)):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"guard_client takes a client of OpenAI's SDK, not {type(client).__name__!r}"
        )
    guard = guard_of(policy, retriever, on_verdict)
    return guarded_as(_guarded_class(type(client)), client.copy(), guard)


@cache
def _guarded_class(kind: type[Any]) -> type[Any]:
    if kind in _OURS:
        return _OURS[kind]
    base = Async if issubclass(kind, AsyncOpenAI) else Sync
    return type(f"Guarded{kind.__name__}", (base, kind), {})
