"""Callbacks that collect verdicts, or check answers that no guard wraps."""

from __future__ import annotations

import contextvars
import logging
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import anyio.to_thread
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, LLMResult

from resay import Guard, Policy, Verdict
from resay.adapters import GuardRuntime, run_sync
from resay.adapters.policies import PolicyLike, guard_of
from resay.adapters.verdicts import VERDICT_KEY
from resay.errors import ConfigurationError
from resay_langchain._outcome import completion_of
from resay_langchain._runs import JUDGE, SAMPLE, VERDICT_EVENT

_log = logging.getLogger(__name__)

# LangChain's name of a provider, litellm's name, and the variables in which both look for its key.
_PROVIDERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("ANTHROPIC_API_KEY",)),
    "deepseek": ("deepseek", ("DEEPSEEK_API_KEY",)),
    "google_genai": ("gemini", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "groq": ("groq", ("GROQ_API_KEY",)),
    "mistral": ("mistral", ("MISTRAL_API_KEY",)),
    "openai": ("openai", ("OPENAI_API_KEY",)),
    "xai": ("xai", ("XAI_API_KEY",)),
}

# Both libraries look here for another address of OpenAI's API.
_SHARED_ADDRESSES = ("OPENAI_API_BASE", "OPENAI_BASE_URL")

# Substrings of fields that redirect requests. A prompt must not be sent elsewhere.
_ELSEWHERE = ("base", "client", "endpoint", "header", "proxy", "url", "vertex")


class VerdictCollector(BaseCallbackHandler):
    """Collects the verdicts of the guards in its runs.

    It also receives the verdicts on outputs that have no place for one, such as plain texts. It may
    be passed to any number of runs, in any threads.

    Example:
        ```python
        collector = VerdictCollector()
        text = guard_runnable(prompt | model | StrOutputParser()).invoke(
            {"question": "Who designed the Sydney Harbour Bridge?"}, {"callbacks": [collector]}
        )
        print(collector.last.decision)
        ```
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._verdicts: list[Verdict] = []

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts so far, in order of arrival."""
        with self._lock:
            return list(self._verdicts)

    @property
    def last(self) -> Verdict | None:
        """The latest verdict, or None if there is none yet."""
        with self._lock:
            return self._verdicts[-1] if self._verdicts else None

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        if name != VERDICT_EVENT:
            return
        verdict = Verdict.from_dict(data)
        with self._lock:
            self._verdicts.append(verdict)


class HallucinationCallback(BaseCallbackHandler):
    """Checks chat models' answers after the fact, for applications that cannot wrap the model.

    It only observes. A check starts in the background once an answer is complete, so the user has
    read the answer by the time its verdict arrives. Nothing is withheld, changed or delayed, and no
    failure of a check reaches the application. To act on answers, use `guard_runnable`,
    `GuardedChatModel` or `HallucinationMiddleware`.

    All text answers of chat models are checked, except for turns that call tools (unless the policy
    has `actions`, which reads the text beside the calls), objects requested with `response_format`,
    answers that a guard has checked, and the samples and judges of guards.

    Samples and judges go through litellm. They receive the conversation and the parameters given
    here, not those of the call. If `model` is None, models of OpenAI, Anthropic, Google (Gemini
    API), Groq, Mistral, xAI and DeepSeek are called with the key in the usual environment variable.
    For any other model, or one with its own address or headers, the verdict is `inconclusive`: the
    conversation is only sent where the application has sent it.

    Example:
        ```python
        callback = HallucinationCallback(on_verdict=lambda verdict, run_id: print(verdict.reason))
        ChatOpenAI(model="gpt-4.1-mini").invoke(
            "Who designed the Sydney Harbour Bridge?", {"callbacks": [callback]}
        )
        callback.wait()
        ```
    """

    # Recording an answer takes microseconds, less than handing it to a thread.
    run_inline = True

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        on_verdict: Callable[[Verdict, UUID], object] | None = None,
        concurrency: int = 4,
        keep: int = 1000,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the callback.

        Args:
            policy: A policy, a path to a policy file, a mapping with the same contents, or a
                `Guard`, whose own model and provider are used. None uses the policy that
                `RESAY_POLICY` names, or the default.
            model: The model to draw samples from, in litellm's notation, such as
                `openai/gpt-4.1-mini`; None for the model that answered.
            on_verdict: Called with each verdict and the id of the answer's run, in a thread of the
                callback. Its exceptions are logged.
            concurrency: The maximum number of simultaneous checks, at least 1.
            keep: The maximum number of stored verdicts, and of answers waiting for a check, at
                least 1. Beyond it, the oldest verdicts are dropped, and further answers are not
                checked.
            params: Parameters for litellm, such as `{"api_base": "http://…"}`.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: The policy needs something that a callback cannot do: withhold
                answers, regenerate them, or compare with references. Or a number is less than 1.
        """
        # First, because a guard that regenerates would require a retriever.
        _check_observing(policy.policy if isinstance(policy, Guard) else Policy.of(policy))
        guard = guard_of(policy)
        unseen = ", and HallucinationCallback sees no documents but the prompt's; use"
        remedy = f"{unseen} `evidence: documents`, guard_runnable() or HallucinationMiddleware"
        GuardRuntime(guard).require_inputs({"references": remedy})
        for name, value in (("concurrency", concurrency), ("keep", keep)):
            if value < 1:
                raise ConfigurationError(f"{name} is {value!r}; it must be at least 1")
        self._guard = guard
        self._derives = model is None and not isinstance(policy, Guard)
        self._model = model
        self._on_verdict = on_verdict
        self._concurrency = concurrency
        self._keep = keep
        self._params = params
        self._requests: OrderedDict[UUID, _ModelRequest] = OrderedDict()
        self._verdicts: OrderedDict[UUID, Verdict] = OrderedDict()
        self._waiting: deque[_PendingCheck] = deque()
        self._workers = 0
        self._dropped = 0
        self._changed = threading.Condition()

    @property
    def policy(self) -> Policy:
        """The policy that answers are checked against."""
        return self._guard.policy

    @property
    def verdicts(self) -> dict[UUID, Verdict]:
        """The verdicts so far, by the ids of the answers' runs, in order of arrival."""
        with self._changed:
            return dict(self._verdicts)

    @property
    def dropped(self) -> int:
        """The number of answers that were not checked, because too many were waiting."""
        with self._changed:
            return self._dropped

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the checks of all answers so far.

        Args:
            timeout: The longest time to wait, in seconds; None for no limit. The policy's
                `limits.deadline_s` bounds each check.

        Returns:
            Whether all checks are done.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._workers == 0, timeout)

    async def await_all(self) -> None:
        """Like `wait`, but without blocking the event loop."""
        await anyio.to_thread.run_sync(self.wait, abandon_on_cancel=True)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        params: Mapping[str, Any] = kwargs.get("invocation_params") or {}
        if {SAMPLE, JUDGE} & set(tags or ()) or params.get("response_format"):
            return
        request = _ModelRequest(list(messages[0]), serialized or {}, metadata or {})
        with self._changed:
            self._requests[run_id] = request
            # A cancelled run reports no end.
            _shorten(self._requests, self._keep)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        with self._changed:
            self._requests.pop(run_id, None)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        with self._changed:
            request = self._requests.pop(run_id, None)
        message = _answer_in(response, GuardRuntime(self._guard).checks_beside_calls)
        if request is None or message is None:
            return
        pending = _PendingCheck(run_id, request, message, contextvars.copy_context())
        with self._changed:
            if len(self._waiting) >= self._keep:
                self._dropped += 1
                _log.warning("an answer is not checked, because %s are waiting", self._keep)
                return
            self._waiting.append(pending)
            if self._workers < self._concurrency:
                # Daemon threads that wait for Resay's loop delay neither the caller nor the exit.
                threading.Thread(target=self._work, name="resay-callback", daemon=True).start()
                self._workers += 1

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._workers -= 1
                    self._changed.notify_all()
                    return
                pending = self._waiting.popleft()
            pending.context.run(self._settle, pending)

    def _settle(self, pending: _PendingCheck) -> None:
        verdict = self._check(pending)
        with self._changed:
            self._verdicts[pending.run_id] = verdict
            _shorten(self._verdicts, self._keep)
        if self._on_verdict is None:
            return
        try:
            self._on_verdict(verdict, pending.run_id)
        except Exception as error:
            # The exception's message and traceback may contain the verdict's text.
            _log.warning("on_verdict raised %s", type(error).__name__)

    def _check(self, pending: _PendingCheck) -> Verdict:
        completion = completion_of(pending.message)
        try:
            return run_sync(
                self._guard.acheck,
                completion.text,
                question=_conversation(pending.request.messages),
                logprobs=completion.logprobs or None,
                model=_model_of(pending.request) if self._derives else self._model,
                params=self._params,
            )
        except ConfigurationError as error:
            reason = f"the answer cannot be checked: {error}"
        except Exception as error:
            _log.warning("a check failed with %s", type(error).__name__)
            reason = f"the check failed with {type(error).__name__}"
        return Verdict("inconclusive", None, reason)


@dataclass(frozen=True, slots=True)
class _ModelRequest:
    """A conversation, and the model that received it."""

    messages: Sequence[BaseMessage]
    serialized: Mapping[str, Any]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _PendingCheck:
    """An answer that waits for its check."""

    run_id: UUID
    request: _ModelRequest
    message: AIMessage
    context: contextvars.Context


def _check_observing(policy: Policy) -> None:
    if not policy.can_withhold and policy.mark_style == "none":
        return
    if policy.mark_style != "none" and policy.action.do == "annotate":
        setting = f"action: {{do: annotate, marks: {policy.mark_style}}}"
    elif policy.action.do != "annotate":
        setting = f"action: {{do: {policy.action.do}}}"
    else:
        setting = "on_error: block" if policy.on_error == "block" else "on_unscored: block"
    raise ConfigurationError(
        f"HallucinationCallback only observes, and the policy says `{setting}`; use"
        " guard_runnable(), GuardedChatModel or HallucinationMiddleware to withhold, mark or"
        " regenerate answers"
    )


def _conversation(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages in OpenAI's format, results of tools with what marks them as errors."""
    conversation: list[dict[str, Any]] = []
    for message in messages:
        # One by one, because a message may become several.
        converted: Any = convert_to_openai_messages([message])
        if isinstance(message, ToolMessage) and message.status == "error":
            converted = [{**result, "is_error": True} for result in converted]
        conversation += converted
    return conversation


def _answer_in(response: LLMResult, checks_beside_calls: bool) -> AIMessage | None:
    """Return the answer of a run, if it is a text that no guard has checked.

    Args:
        response: The run's response.
        checks_beside_calls: Whether the text beside tool calls is checked.
    """
    generation = next((g for group in response.generations for g in group), None)
    message = generation.message if isinstance(generation, ChatGeneration) else None
    if not isinstance(message, AIMessage) or VERDICT_KEY in message.response_metadata:
        return None
    calls = bool(message.tool_calls or message.invalid_tool_calls)
    if (calls and not checks_beside_calls) or not str(message.text).strip():
        return None
    return message


def _model_of(request: _ModelRequest) -> str:
    """Return the model that answered, in litellm's notation.

    Raises:
        ConfigurationError: litellm would use another model or endpoint, or the key is missing.
    """
    provider: Any = request.metadata.get("ls_provider")
    name: Any = request.metadata.get("ls_model_name")
    advice = "pass HallucinationCallback a `model` and its address and key"
    if provider not in _PROVIDERS or not isinstance(name, str):
        raise ConfigurationError(
            f"a model of provider {provider!r} cannot be asked again; {advice}"
        )
    if request.serialized.get("type") != "constructor":
        raise ConfigurationError(f"it cannot be seen where the model's requests go; {advice}")
    fields: Mapping[str, Any] = request.serialized.get("kwargs", {})
    own = [key for key, value in fields.items() if _leads_elsewhere(key, value)]
    if own:
        raise ConfigurationError(f"the model has a {own[0]!r} of its own; {advice}")
    prefix, variables = _PROVIDERS[provider]
    if not any(os.environ.get(variable) for variable in variables):
        raise ConfigurationError(f"the environment has no {variables[0]}; set it, or {advice}")
    return f"{prefix}/{name.removeprefix('models/')}"


def _leads_elsewhere(key: str, value: object) -> bool:
    if not value or not any(part in key for part in _ELSEWHERE):
        return False
    shared = {os.environ.get(variable) for variable in _SHARED_ADDRESSES}
    return not (key == "openai_api_base" and value in shared)


def _shorten(items: OrderedDict[UUID, Any], keep: int) -> None:
    while len(items) > keep:
        items.popitem(last=False)
