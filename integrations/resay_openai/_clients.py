"""OpenAI's clients, guarded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI

from resay.adapters import OnVerdict, PolicyLike, guard_of
from resay.errors import ConfigurationError
from resay_openai._async import Async
from resay_openai._requests import Guarded, guarded_as
from resay_openai._sync import Sync

C = TypeVar("C", bound="OpenAI | AsyncOpenAI")


class GuardedOpenAI(Sync, OpenAI):
    """OpenAI's client, with answers that are checked and acted on as a policy says.

    Guarded are `chat.completions` and `responses`: `create`, `parse` and `stream`, and
    `completions.create`, also by `with_raw_response` and `with_streaming_response`. Everything else
    is the SDK's own, and so are all types. A response has its verdict at `hallucination`, which
    `verdict_of` reads.

    Inside another guard it does nothing.

    Args:
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            the one that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: a `Retriever`, or
            whatever else `resay.retrieval.as_retriever` takes; in place of the one that the policy
            names.
        on_verdict: Called with each `resay.Verdict`, also of answers that are withheld or skipped:
            where the call was made, before it returns; of a stream, at its end. What an async
            function returns is awaited, what it raises is logged.
        **kwargs: Whatever `OpenAI` takes.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had of a client, or it regenerates
            and there is no retriever.

    Example:
        ```python
        client = GuardedOpenAI(policy={"chain": [{"method": "ngram"}]})
        response = client.responses.create(
            model="gpt-4.1-mini", input="Who designed the Sydney Harbour Bridge?"
        )
        verdict_of(response).flagged
        ```
    """


class GuardedAsyncOpenAI(Async, AsyncOpenAI):
    """The same for event loops; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AsyncOpenAI` takes.
    """


class GuardedAzureOpenAI(Sync, AzureOpenAI):
    """The same for Azure; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AzureOpenAI` takes.
    """


class GuardedAsyncAzureOpenAI(Async, AsyncAzureOpenAI):
    """The same for Azure and event loops; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AsyncAzureOpenAI` takes.
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
    """Return a client like the one given, guarded.

    Any client of the SDK will do: one that asks another provider, or one of a class of your own.
    It shares its connections with the one given, which stays as it is.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `AzureOpenAI` or `AsyncAzureOpenAI`, or a subclass.
        policy: As for `GuardedOpenAI`. It takes the place of the policy of a guarded client.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the given one's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It is no such client, the policy asks for what cannot be had of one, or
            it regenerates and there is no retriever.
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
    side = Async if issubclass(kind, AsyncOpenAI) else Sync
    return type(f"Guarded{kind.__name__}", (side, kind), {})
