"""Looking inside query engines: which LLM writes their answers, and copies for samples."""

from __future__ import annotations

from copy import copy
from types import MethodType
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index.core.response_synthesizers import BaseSynthesizer

__all__ = [
    "can_retrieve",
    "copy_for_samples",
    "gives_objects",
    "llm_of",
    "retriever_of",
    "streams",
    "synthesizer_of",
]

# What LlamaIndex's own engines call the parts that they are composed of.
_SYNTHESIZER = "_response_synthesizer"
_ENGINE = "_query_engine"
_LLM = "_llm"
_RETRIEVER = "_retriever"


def synthesizer_of(engine: BaseQueryEngine) -> BaseSynthesizer | None:
    """Return what writes an engine's answers, None where that cannot be seen."""
    found: object = vars(engine).get(_SYNTHESIZER)
    if isinstance(found, BaseSynthesizer):
        return found
    inner: object = vars(engine).get(_ENGINE)
    return synthesizer_of(inner) if isinstance(inner, BaseQueryEngine) else None


def llm_of(engine: BaseQueryEngine) -> LLM | None:
    """Return the LLM that writes an engine's answers, None where that cannot be seen."""
    synthesizer = synthesizer_of(engine)
    found: object = vars(synthesizer).get(_LLM) if synthesizer else None
    return found if isinstance(found, LLM) else None


def retriever_of(engine: BaseQueryEngine | BaseChatEngine) -> BaseRetriever | None:
    """Return what finds an engine's nodes, None where that cannot be seen.

    It is a copy that tells no callbacks: they would take words of a draft for the user's question.
    """
    found: object = vars(engine).get(_RETRIEVER)
    if isinstance(found, BaseRetriever):
        copied = copy(found)
        copied.callback_manager = CallbackManager([])
        return copied
    inner: object = vars(engine).get(_ENGINE)
    return retriever_of(inner) if isinstance(inner, BaseQueryEngine) else None


def can_retrieve(engine: BaseQueryEngine) -> bool:
    """Return whether an engine finds nodes first, and then writes an answer from them."""
    kind = type(engine)
    return (
        kind.retrieve is not BaseQueryEngine.retrieve
        and kind.synthesize is not BaseQueryEngine.synthesize
    )


def streams(engine: BaseQueryEngine) -> bool:
    """Return whether an engine is set to stream its answers."""
    return bool(getattr(synthesizer_of(engine), "_streaming", False))


def gives_objects(engine: BaseQueryEngine) -> bool:
    """Return whether an engine's answers are objects."""
    asked = getattr(synthesizer_of(engine), "_output_cls", None)
    return asked is not None or isinstance(llm_of(engine), StructuredLLM)


def copy_for_samples(engine: BaseQueryEngine, llm: LLM | None) -> BaseQueryEngine:
    """Return a copy of an engine that writes other answers, whole, and tells no callbacks.

    Args:
        engine: The engine; not changed.
        llm: Who writes them; None to leave the engine's own.
    """
    copied = copy(engine)
    copied.callback_manager = CallbackManager([])
    parts = vars(copied)
    if isinstance(found := parts.get(_SYNTHESIZER), BaseSynthesizer):
        setattr(copied, _SYNTHESIZER, _copy_synthesizer(found, llm))
    elif isinstance(inner := parts.get(_ENGINE), BaseQueryEngine):
        setattr(copied, _ENGINE, copy_for_samples(inner, llm))
    return copied


def _copy_synthesizer(synthesizer: BaseSynthesizer, llm: LLM | None) -> BaseSynthesizer:
    copied = copy(synthesizer)
    # Not by the property, which would tell the LLM too.
    changes: dict[str, Any] = {"_callback_manager": CallbackManager([]), "_streaming": False}
    if llm is not None:
        changes[_LLM] = llm
    # Some keep methods of their own to call later, which must be those of the copy.
    for name, value in vars(synthesizer).items():
        if isinstance(value, MethodType) and value.__self__ is synthesizer:
            changes[name] = MethodType(value.__func__, copied)
    vars(copied).update(changes)
    return copied
