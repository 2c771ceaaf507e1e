"""Listening to runs: the verdicts in them, and answers that nobody guards."""

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
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, LLMResult

from resay._internal.event_loops import run_sync
from resay.adapters.policies import VERDICT_KEY, PolicyLike, guard_of
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Policy
from resay_langchain._outcome import completion_of
from resay_langchain._runs import JUDGE, SAMPLE, VERDICT_EVENT

_log = logging.getLogger(__name__)

# What LangChain calls a provider, what litellm calls it, and where both look for its key.
_PROVIDERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("ANTHROPIC_API_KEY",)),
    "deepseek": ("deepseek", ("DEEPSEEK_API_KEY",)),
    "google_genai": ("gemini", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "groq": ("groq", ("GROQ_API_KEY",)),
    "mistral": ("mistral", ("MISTRAL_API_KEY",)),
    "openai": ("openai", ("OPENAI_API_KEY",)),
    "xai": ("xai", ("XAI_API_KEY",)),
}

# Both look here for another address of OpenAI's API.
_SHARED_ADDRESSES = ("OPENAI_API_BASE", "OPENAI_BASE_URL")

# What is in the names of fields that say where requests go. A prompt must not go elsewhere.
_ELSEWHERE = ("base", "client", "endpoint", "header", "proxy", "url", "vertex")


class VerdictCollector(BaseCallbackHandler):
    """Collects the verdicts of the guards in the runs it is passed to.

    Also where the output has no place for a verdict, as a plain text has none. It may be passed to
    any number of runs, in any threads.

    Example:
        ```python
        collector = VerdictCollector()
        text = guard(prompt | model | StrOutputParser()).invoke(
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
        """The verdicts so far, in the order in which they came."""
        with self._lock:
            return list(self._verdicts)

    @property
    def last(self) -> Verdict | None:
        """The last of them; None where there is none yet."""
        with self._lock:
            return self._verdicts[-1] if self._verdicts else None

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        if name != VERDICT_EVENT:
            return
        verdict = Verdict.from_dict(data)
        with self._lock:
            self._verdicts.append(verdict)


class HallucinationCallback(BaseCallbackHandler):
    """Checks, after the fact, what chat models answer where nothing can be wrapped.

    It only observes. The check of an answer begins when the answer is complete, in the background:
    the user has read it by the time there is a verdict. Nothing is withheld or changed, nobody
    waits, and no failure of a check reaches the application. To act on answers, use `guard`,
    `GuardedChatModel` or `HallucinationGuardMiddleware`.

    Checked is each answer of a chat model in words. Left alone are turns that call tools, objects
    asked for with `response_format`, answers that a guard has checked, and the samples and judges
    of guards.

    Samples and judges are asked through litellm: they get the conversation, and the parameters
    given here, not those of the call. Where `model` is left out, a model of OpenAI, Anthropic,
    Google (Gemini API), Groq, Mistral, xAI or DeepSeek is asked again with the key in the usual
    environment variable. With any other, or one that has an address or headers of its own, the
    verdict is `inconclusive`: the conversation is not sent where the application did not send it.

    Example:
        ```python
        callback = HallucinationCallback(on_verdict=lambda verdict, run_id: print(verdict.reason))
        ChatOpenAI(model="gpt-4.1-mini").invoke(
            "Who designed the Sydney Harbour Bridge?", {"callbacks": [callback]}
        )
        callback.wait()
        ```
    """

    # Noting an answer down takes microseconds, less than handing it to a thread does.
    run_inline = True

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        on_verdict: Callable[[Verdict, UUID], object] | None = None,
        concurrency: int = 4,
        keep: int = 1000,
        **params: Any,
    ) -> None:
        """Make the callback.

        Args:
            policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`, whose
                own model and provider are asked; None for the one that `RESAY_POLICY` names, or
                the default.
            model: Whom to ask for samples, in litellm's notation, such as `openai/gpt-4.1-mini`;
                None for the model that answered.
            on_verdict: Called with each verdict and the id of the answer's run, in a thread of the
                callback. What it raises is logged.
            concurrency: How many checks run at once, at least 1.
            keep: How many verdicts are kept, and how many answers may wait for their check, at
                least 1. Beyond that the oldest verdicts are forgotten and answers not checked.
            **params: Parameters for litellm, such as `api_base`.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: The policy asks for what cannot be had here: withholding answers,
                regenerating them, or comparing with references. Or a number is less than 1.
        """
        # A guard that regenerates would want a retriever first.
        _check_observing(policy.policy if isinstance(policy, Guard) else Policy.of(policy))
        guard = guard_of(policy)
        unseen = ", and HallucinationCallback sees no documents; leave `evidence: references` out,"
        guard.refuse({"references": f"{unseen} or use guard() or HallucinationGuardMiddleware"})
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
        self._asked: OrderedDict[UUID, _Asked] = OrderedDict()
        self._verdicts: OrderedDict[UUID, Verdict] = OrderedDict()
        self._waiting: deque[_Answered] = deque()
        self._workers = 0
        self._dropped = 0
        self._changed = threading.Condition()

    @property
    def policy(self) -> Policy:
        """What is checked."""
        return self._guard.policy

    @property
    def verdicts(self) -> dict[UUID, Verdict]:
        """The verdicts so far, by the ids of the answers' runs, in the order in which they came."""
        with self._changed:
            return dict(self._verdicts)

    @property
    def dropped(self) -> int:
        """How many answers were not checked because too many waited."""
        with self._changed:
            return self._dropped

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the checks of all answers so far.

        Args:
            timeout: Seconds to wait at most; None for no limit. The policy's `limits.deadline_s`
                ends each check.

        Returns:
            Whether all of them are done.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._workers == 0, timeout)

    async def await_all(self) -> None:
        """Do what `wait` does, without holding up the event loop."""
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
        wanted: Mapping[str, Any] = kwargs.get("invocation_params") or {}
        if {SAMPLE, JUDGE} & set(tags or ()) or wanted.get("response_format"):
            return
        asked = _Asked(list(messages[0]), serialized or {}, metadata or {})
        with self._changed:
            self._asked[run_id] = asked
            # Of a run that is cancelled nothing more is heard.
            _shorten(self._asked, self._keep)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        with self._changed:
            self._asked.pop(run_id, None)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        with self._changed:
            asked = self._asked.pop(run_id, None)
        message = _answer_in(response)
        if asked is None or message is None:
            return
        answered = _Answered(run_id, asked, message, contextvars.copy_context())
        with self._changed:
            if len(self._waiting) >= self._keep:
                self._dropped += 1
                _log.warning("an answer is not checked, because %s are waiting", self._keep)
                return
            self._waiting.append(answered)
            if self._workers < self._concurrency:
                # Threads that wait for our own loop hold up neither the caller nor the exit.
                threading.Thread(target=self._work, name="resay-callback", daemon=True).start()
                self._workers += 1

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._workers -= 1
                    self._changed.notify_all()
                    return
                answered = self._waiting.popleft()
            answered.context.run(self._settle, answered)

    def _settle(self, answered: _Answered) -> None:
        verdict = self._check(answered)
        with self._changed:
            self._verdicts[answered.run_id] = verdict
            _shorten(self._verdicts, self._keep)
        if self._on_verdict is None:
            return
        try:
            self._on_verdict(verdict, answered.run_id)
        except Exception as error:
            # Its message and traceback may hold what the verdict holds.
            _log.warning("on_verdict raised %s", type(error).__name__)

    def _check(self, answered: _Answered) -> Verdict:
        completion = completion_of(answered.message)
        try:
            question: Any = convert_to_openai_messages(answered.asked.messages)
            return run_sync(
                self._guard.acheck,
                completion.text,
                question=question,
                logprobs=completion.logprobs or None,
                model=_model_of(answered.asked) if self._derives else self._model,
                **self._params,
            )
        except ConfigurationError as error:
            reason = f"the answer cannot be checked: {error}"
        except Exception as error:
            _log.warning("a check failed with %s", type(error).__name__)
            reason = f"the check failed with {type(error).__name__}"
        return Verdict("inconclusive", None, reason)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A conversation, and which model was asked."""

    messages: Sequence[BaseMessage]
    serialized: Mapping[str, Any]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer that waits for its check."""

    run_id: UUID
    asked: _Asked
    message: AIMessage
    context: contextvars.Context


def _check_observing(policy: Policy) -> None:
    if not policy.can_withhold:
        return
    if policy.action.do != "annotate":
        setting = f"action: {{do: {policy.action.do}}}"
    else:
        setting = "on_error: block" if policy.on_error == "block" else "unscored: block"
    raise ConfigurationError(
        f"HallucinationCallback only observes, and the policy says `{setting}`; use guard(),"
        " GuardedChatModel or HallucinationGuardMiddleware to withhold answers or have them"
        " regenerated"
    )


def _answer_in(response: LLMResult) -> AIMessage | None:
    """Return the answer of a run, if it is one in words that no guard has checked."""
    generation = next((g for group in response.generations for g in group), None)
    message = generation.message if isinstance(generation, ChatGeneration) else None
    if not isinstance(message, AIMessage) or VERDICT_KEY in message.response_metadata:
        return None
    if message.tool_calls or message.invalid_tool_calls or not str(message.text).strip():
        return None
    return message


def _model_of(asked: _Asked) -> str:
    """Return the model that was asked, in litellm's notation.

    Raises:
        ConfigurationError: litellm would ask another, or elsewhere, or there is no key.
    """
    provider: Any = asked.metadata.get("ls_provider")
    name: Any = asked.metadata.get("ls_model_name")
    advice = "pass HallucinationCallback a `model` and its address and key"
    if provider not in _PROVIDERS or not isinstance(name, str):
        raise ConfigurationError(
            f"a model of provider {provider!r} cannot be asked again; {advice}"
        )
    if asked.serialized.get("type") != "constructor":
        raise ConfigurationError(f"it cannot be seen where the model's requests go; {advice}")
    fields: Mapping[str, Any] = asked.serialized.get("kwargs", {})
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
