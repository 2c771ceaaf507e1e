"""The regenerator of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay.engine.chain import Chain
from resay.errors import ConfigurationError
from resay.policy import Policy, Regenerate
from resay.providers.caching import Cache
from resay.retrieval import as_retriever, open_retriever

if TYPE_CHECKING:
    from resay.engine.regeneration.base import Regenerator


def open_regenerator(
    policy: Policy, chain: Chain, cache: Cache | None, retriever: object | None
) -> Regenerator | None:
    """Return the regenerator of a policy; None if the policy does not regenerate.

    Args:
        policy: The policy.
        chain: Its chain.
        cache: Cache for judges' answers; None for no caching.
        retriever: The source of documents; None for the policy's own.

    Raises:
        ConfigurationError: The retriever, or a method that draws samples, is missing, or the
            retriever is of no use.
    """
    action = policy.action
    if not isinstance(action, Regenerate):
        return None
    if action.from_ == "samples":
        return _sample_regenerator(policy, action, chain, retriever)
    if retriever is None and action.retriever is not None:
        with policy.locating("action", "retriever"):
            retriever = open_retriever(action.retriever)
    if retriever is None:
        raise ConfigurationError(
            "the policy regenerates, but there is no retriever; set `action.retriever`, or pass"
            " `retriever`"
        )
    # Slow to import, and few policies regenerate.
    from resay.engine.regeneration.from_documents import DocumentRegenerator
    from resay.engine.regeneration.rechecking import Rechecker

    rechecker = Rechecker(policy, action, chain, cache)
    return DocumentRegenerator(policy, action, as_retriever(retriever), rechecker)


def _sample_regenerator(
    policy: Policy, action: Regenerate, chain: Chain, retriever: object | None
) -> Regenerator:
    if chain.required_by("samples") is None:
        raise ConfigurationError(
            "the policy regenerates from samples, but no method of the chain compares with samples;"
            " add one, such as `prompt`"
        )
    if retriever is not None:
        raise ConfigurationError(
            "the policy regenerates from samples, and searches for nothing; omit `retriever`, or"
            " set `action.from: documents`"
        )
    # Slow to import, as above.
    from resay.engine.regeneration.from_samples import SampleRegenerator

    return SampleRegenerator(policy, action, chain)
