"""The parts of LlamaIndex's engines."""

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

# The attributes in which LlamaIndex's own engines keep their parts.
_SYNTHESIZER = "_response_synthesizer"
ENGINE = "_query_engine"
LLM_FIELD = "_llm"
_RETRIEVER = "_retriever"


def synthesizer_of(engine: BaseQueryEngine) -> BaseSynthesizer | None:
    """Return the synthesizer of an engine's answers, or None if it cannot be found."""
    synthesizer: object = vars(engine).get(_SYNTHESIZER)
    if isinstance(synthesizer, BaseSynthesizer):
        return synthesizer
    inner: object = vars(engine).get(ENGINE)
    return synthesizer_of(inner) if isinstance(inner, BaseQueryEngine) else None


def llm_of(engine: BaseQueryEngine) -> LLM | None:
    """Return the LLM that writes an engine's answers, or None if it cannot be found."""
    synthesizer = synthesizer_of(engine)
    llm: object = vars(synthesizer).get(LLM_FIELD) if synthesizer else None
    return llm if isinstance(llm, LLM) else None


def retriever_of(engine: BaseQueryEngine | BaseChatEngine) -> BaseRetriever | None:
    """Return the retriever of an engine, or None if it cannot be found.

    The result is a copy without callbacks, which would take parts of a draft for the user's
    question.
    """
    retriever: object = vars(engine).get(_RETRIEVER)
    if isinstance(retriever, BaseRetriever):
        copied = copy(retriever)
        copied.callback_manager = CallbackManager([])
        return copied
    inner: object = vars(engine).get(ENGINE)
    return retriever_of(inner) if isinstance(inner, BaseQueryEngine) else None


def can_retrieve(engine: BaseQueryEngine) -> bool:
    """Return whether an engine separates retrieval from the synthesis of the answer."""
    kind = type(engine)
    return (
        kind.retrieve is not BaseQueryEngine.retrieve
        and kind.synthesize is not BaseQueryEngine.synthesize
    )


def streams(engine: BaseQueryEngine) -> bool:
    """Return whether an engine streams its answers."""
    return bool(getattr(synthesizer_of(engine), "_streaming", False))


def gives_objects(engine: BaseQueryEngine) -> bool:
    """Return whether an engine's answers are objects."""
    output_class = getattr(synthesizer_of(engine), "_output_cls", None)
    return output_class is not None or isinstance(llm_of(engine), StructuredLLM)


def copy_for_samples(engine: BaseQueryEngine, llm: LLM | None) -> BaseQueryEngine:
    """Return a copy of an engine for samples, without streaming and callbacks.

    Args:
        engine: The engine; not changed.
        llm: The LLM that writes the samples; None for the engine's own.
    """
    copied = copy(engine)
    copied.callback_manager = CallbackManager([])
    parts = vars(copied)
    synthesizer, inner = parts.get(_SYNTHESIZER), parts.get(ENGINE)
    if isinstance(synthesizer, BaseSynthesizer):
        setattr(copied, _SYNTHESIZER, _copy_synthesizer(synthesizer, llm))
    elif isinstance(inner, BaseQueryEngine):
        setattr(copied, ENGINE, copy_for_samples(inner, llm))
    return copied


def _copy_synthesizer(synthesizer: BaseSynthesizer, llm: LLM | None) -> BaseSynthesizer:
    copied = copy(synthesizer)
    # Not with the property, which would change the LLM too.
    changes: dict[str, Any] = {"_callback_manager": CallbackManager([]), "_streaming": False}
    if llm is not None:
        changes[LLM_FIELD] = llm
    # Some synthesizers store their own bound methods, which must be bound to the copy.
    for name, value in vars(synthesizer).items():
        if isinstance(value, MethodType) and value.__self__ is synthesizer:
            changes[name] = MethodType(value.__func__, copied)
    vars(copied).update(changes)
    return copied
