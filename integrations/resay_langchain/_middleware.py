"""Agent middleware that guards the agent's model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ContextT,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    OmitFromInput,
    PrivateStateAttr,
    ResponseT,
    hook_config,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.types import Command
from typing_extensions import NotRequired

from resay import Guard, HallucinationBlocked, Policy, Verdict
from resay.adapters import Block, GuardRuntime, OnVerdict, Regenerate, act, inside_guard
from resay.adapters.policies import PolicyLike
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, run_in_place
from resay.adapters.verdicts import VERDICT_KEY, verdict_data
from resay.errors import ConfigurationError
from resay_langchain._insertion import with_guard_inserted
from resay_langchain._inside import check_runnable
from resay_langchain._outcome import in_place_of
from resay_langchain._policies import guarding, withholding
from resay_langchain._runnables import GuardedChatModel
from resay_langchain._runs import Watch, documents_in

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from langgraph.runtime import Runtime

ExitBehavior = Literal["error", "end", "replace"]


def exiting(
    policy: PolicyLike, exit_behavior: ExitBehavior | None, violation_message: str | None
) -> PolicyLike:
    """Return a policy that withholds answers according to the middleware's arguments.

    Args:
        policy: The policy, or a guard.
        exit_behavior: The consequence of a flagged answer, or None for the policy's.
        violation_message: The replacement for a withheld answer, or None for the policy's.

    Returns:
        The changed policy, or the given one if both arguments are None.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The arguments are invalid, or a guard's retriever would be lost.
    """
    if exit_behavior not in (None, "error", "end", "replace"):
        raise ConfigurationError(
            f"exit_behavior must be 'error', 'end', 'replace' or None, not {exit_behavior!r}"
        )
    if exit_behavior is None and violation_message is None:
        return policy
    if violation_message == "":
        raise ConfigurationError("violation_message is ''; pass a text, or None")
    own_policy = policy.policy if isinstance(policy, Guard) else Policy.of(policy)
    own_block = withholding(own_policy)
    if exit_behavior is None and own_block is None:
        raise ConfigurationError(
            "violation_message replaces a withheld answer, and this policy withholds"
            " none; pass exit_behavior too, or set `action: {do: block}`"
        )
    block = own_block or Block()
    leaving = {"error": "raise", None: block.exit}.get(exit_behavior, "replace")
    message = block.message if violation_message is None else violation_message
    changed = Block.model_validate({"exit": leaving, "message": message})
    if not isinstance(own_policy.action, Regenerate):
        changed_policy = own_policy.model_copy(update={"action": changed})
        if isinstance(policy, Guard):
            return policy.with_options(policy=changed_policy)
        return changed_policy
    if isinstance(policy, Guard):
        raise ConfigurationError(
            "a Guard that regenerates does not take exit_behavior or violation_message; set"
            " `otherwise` in its policy, or pass the policy and a `retriever` in place of the Guard"
        )
    action = own_policy.action.model_copy(update={"otherwise": changed})
    return own_policy.model_copy(update={"action": action})


_ENDS = "hallucination_ends"

_UNGUARDED = (
    "the answer does not come from the guarded model; in the list of middleware, put"
    " HallucinationMiddleware after any middleware that asks another model, such as"
    " ModelFallbackMiddleware, or that changes the answer"
)


class HallucinationState(AgentState[ResponseT]):
    """The state of a guarded agent.

    Attributes:
        hallucination: The verdict on the last answer, in the format of `Verdict.to_dict`, with the
            `action` taken. `verdict_of(state)` reads it.
    """

    hallucination: NotRequired[Annotated[dict[str, Any], OmitFromInput]]
    # Whether to end the run now. Not checkpointed, since it has no meaning afterwards.
    hallucination_ends: NotRequired[Annotated[bool, UntrackedValue, PrivateStateAttr]]


class HallucinationMiddleware(AgentMiddleware[HallucinationState[ResponseT], ContextT, ResponseT]):
    """Checks the answers of an agent's model, and acts on them according to a policy.

    The verdict on the last answer is in the agent's state under `hallucination`, and each answer
    carries its own in `response_metadata["hallucination"]`. Turns in which the model calls tools
    are passed on unchecked, apart from what `actions` says of their text, and leave no verdict in
    the state if the same question has been answered already. The agent's streams never show
    samples, judges or a draft that the policy's `stream` has not released. Of several guards around
    one model, the outermost acts.

    Documents in `ToolMessage.artifact`, or under any key of the state, are references for the
    policy's steps that compare with references.

    Structured answers (`response_format`) are compared field by field with the samples' objects. If
    one is withheld, `structured_response` is None and the replacement message is the last one. The
    run then ends, even if `exit_behavior` is `replace`, since LangChain would otherwise request the
    object again and again.

    Middleware before this one in the list sees checked answers; middleware after it runs inside the
    guard. Fallbacks go before it and retries after it:

    ```python
    middleware=[
        ModelFallbackMiddleware("anthropic:claude-haiku-4-5"),
        HallucinationMiddleware("policy.yaml"),
        ModelRetryMiddleware(on_failure="error"),
    ]
    ```

    This way, every model that answers is guarded, and failed calls are retried, but verdicts are
    not. (By default, exhausted retries end in a message, not an error, and no fallback runs.) If an
    agent has no tools, `sampling.start: after` avoids drawing samples for a call that then fails.
    An answer from another model than the guarded one, because a fallback was placed inside, is
    `inconclusive`. The policy's `on_error` decides about it; part of it may have been streamed.

    One instance serves any number of agents at the same time.

    Example:
        ```python
        from langchain.agents import create_agent
        from resay_langchain import HallucinationMiddleware

        agent = create_agent(
            "openai:gpt-4.1-mini",
            tools=[],
            middleware=[HallucinationMiddleware(exit_behavior="replace")],
        )
        result = agent.invoke({"messages": [("user", "Who designed the Harbour Bridge?")]})
        print(result["messages"][-1].text)
        print(result["hallucination"]["decision"])
        ```
    """

    state_schema = HallucinationState  # pyright: ignore[reportInvalidTypeForm] - as in LangChain
    tools: Sequence[BaseTool] = ()

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        exit_behavior: ExitBehavior | None = None,
        violation_message: str | None = None,
    ) -> None:
        """Create the middleware.

        Args:
            policy: A policy, a path to a policy file, a mapping with the same contents, or a
                `Guard`. None uses the policy that `RESAY_POLICY` names, or the default.
            retriever: Finds documents for a policy that regenerates: a `BaseRetriever`, a
                `VectorStore`, or anything else that `as_retriever` accepts. It replaces the
                policy's retriever.
            on_verdict: As for `GuardedChatModel`.
            exit_behavior: The consequence of an answer that is flagged, or that is still flagged
                after regeneration. It overrides the policy's `action`. `error` raises
                `HallucinationBlocked` out of the agent; `replace` replaces the answer with a
                message and lets the agent go on; `end` does the same and ends the run, without the
                `after_model` hooks of middleware before this one (`after_agent` hooks run in
                either case). None keeps the policy's action.
            violation_message: The replacement for a withheld answer; None for the policy's
                message.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: `exit_behavior` is unknown, `violation_message` is given but answers
                are never withheld, or the policy regenerates and has no retriever.
        """
        super().__init__()
        changed = exiting(policy, exit_behavior, violation_message)
        self._guard = guarding(changed, retriever, on_verdict)
        self._ends = exit_behavior == "end"

    @property
    def policy(self) -> Policy:
        """The policy that answers are checked against."""
        return self._guard.policy

    def wrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Call the model, check its answer and act.

        Args:
            request: The request.
            handler: Calls the model.

        Returns:
            The answer and its verdict.

        Raises:
            HallucinationBlocked: The answer was withheld, and the policy or `exit_behavior` says
                to raise.
            ConfigurationError: The policy needs something that this model cannot provide.
            Exception: Anything that the model raises.
        """
        return run_in_place(self._wrapped(BLOCKING, request, handler))

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ModelResponse[ResponseT] | ExtendedModelResponse[ResponseT]:
        """Async version of `wrap_model_call`."""
        return await self._wrapped(ASYNC, request, handler)

    async def _wrapped(
        self, style: CallStyle, request: ModelRequest[ContextT], handler: Callable[..., Any]
    ) -> Any:
        # Guarded already, by a guard around the agent or by another such middleware outside this
        # one.
        if inside_guard() or isinstance(request.model, _AgentModel):
            return await style.call(handler, request)
        turn = _Turn(self._guard, request, ends=self._ends)
        try:
            response = await style.call(handler, turn.request)
        except _Withheld as held:
            response = ModelResponse[ResponseT](result=[held.message])
        return turn.finished(response)

    # `jump_to` in an update from `wrap_model_call` would be lost if two other middlewares had
    # `after_model` hooks.
    @hook_config(can_jump_to=["end"])
    def after_model(
        self, state: HallucinationState[ResponseT], runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """End the run if a withheld answer should do so."""
        return {"jump_to": "end", _ENDS: False} if state.get(_ENDS) else None

    @hook_config(can_jump_to=["end"])
    async def aafter_model(
        self, state: HallucinationState[ResponseT], runtime: Runtime[ContextT]
    ) -> dict[str, Any] | None:
        """Async version of `after_model`."""
        return self.after_model(state, runtime)


class _Turn:
    """One call of an agent's model. `ends` is whether a withheld answer ends the run."""

    def __init__(self, guard: Guard, request: ModelRequest[Any], *, ends: bool) -> None:
        self._policy = guard.policy
        self._state = cast("dict[str, Any]", request.state)
        self._ends = ends
        collects = GuardRuntime(guard).takes_references
        documents = documents_in(self._state) if collects else ()
        self._watch = Watch(collects=collects, documents=documents)
        model = _guarded(request.model, guard, self._watch, _schema_tools(request.response_format))
        # Typed as a chat model, but LangChain accepts anything that behaves like one.
        self.request = request.override(model=cast("BaseChatModel", model))

    def finished(
        self, response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Return the response with its verdict, or raise `HallucinationBlocked`."""
        answer = _answer_in(response)
        if answer is None:
            return response
        if VERDICT_KEY not in answer.response_metadata:
            answer = _unchecked(answer, self._policy, response.structured_response is not None)
            response = _with_answer(response, answer)
        data: dict[str, Any] = answer.response_metadata[VERDICT_KEY]
        blocked, block = data["action"] == "block", withholding(self._policy)
        if blocked and block is not None and block.exit == "raise":
            raise self._watch.blocked or HallucinationBlocked(Verdict.from_dict(data))
        wanted_object = self._watch.structured or self.request.response_format is not None
        update = self._update(answer, data, ends=blocked and (self._ends or wanted_object))
        return ExtendedModelResponse(response, Command(update=update))

    def _update(self, answer: AIMessage, data: dict[str, Any], *, ends: bool) -> dict[str, Any]:
        called = data["decision"] == "skipped" and bool(answer.tool_calls)
        keeps = called and VERDICT_KEY in self._state and self._answered
        update: dict[str, Any] = {} if keeps else {VERDICT_KEY: data}
        if ends != bool(self._state.get(_ENDS)):
            update[_ENDS] = ends
        return update

    @property
    def _answered(self) -> bool:
        """Whether the user's last question already has an answer with a verdict."""
        messages: list[BaseMessage] = self._state["messages"]
        since = takewhile(lambda m: not isinstance(m, HumanMessage), reversed(messages))
        verdicts = (message.response_metadata.get(VERDICT_KEY) for message in since)
        return any(verdict and verdict["decision"] != "skipped" for verdict in verdicts)


# A `BaseException`, so that nothing between the model and the guard retries it as a failure.
class _Withheld(BaseException):
    """Carries a withheld message past code that would parse it."""

    def __init__(self, message: AIMessage) -> None:
        super().__init__()
        self.message = message


class _AgentModel(GuardedChatModel):
    """The guarded model of one turn."""

    name: str | None = "GuardedChatModel"

    def invoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        return self._bubbling(super().invoke(input, config, stop=stop, **kwargs))

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        return self._bubbling(await super().ainvoke(input, config, stop=stop, **kwargs))

    def _bubbling(self, message: AIMessage) -> AIMessage:
        watch = self._watch
        # LangChain would fail to parse the message as an object.
        if watch is not None and watch.blocked is not None and watch.structured:
            raise _Withheld(message)
        return message


def _guarded(
    model: object, guard: Guard, watch: Watch, tools: tuple[str, ...]
) -> Runnable[Any, Any]:
    def make(inside: BaseChatModel, _output_format: object) -> GuardedChatModel:
        guarded_model = _AgentModel.around(inside, guard, None)
        check_runnable(guarded_model.model, guard)
        return guarded_model.watched(watch, tools)

    runnable = cast("Runnable[Any, Any] | None", model if isinstance(model, Runnable) else None)
    guarded = with_guard_inserted(runnable, make) if runnable is not None else None
    if guarded is None:
        raise ConfigurationError(
            f"the agent's model is of type {type(cast(object, model)).__name__!r}, and Resay finds"
            " no chat model in it; pass the chat model itself to create_agent, or choose one in"
            " wrap_model_call of a middleware before HallucinationMiddleware"
        )
    return guarded


def _schema_tools(response_format: object) -> tuple[str, ...]:
    """Return the names of the tools that LangChain may offer to request an object."""
    if response_format is None or isinstance(response_format, ProviderStrategy):
        return ()
    if not isinstance(response_format, ToolStrategy):
        # A plain schema, or one whose strategy depends on the model.
        schema: Any = getattr(response_format, "schema", response_format)
        response_format = ToolStrategy[Any](schema)
    specs: Iterable[Any] = response_format.schema_specs
    return tuple(spec.name for spec in specs)


def _answer_in(response: ModelResponse[Any]) -> AIMessage | None:
    answers = [m for m in response.result if isinstance(m, AIMessage)]
    return answers[-1] if answers else None


def _unchecked(answer: AIMessage, policy: Policy, structured: bool) -> AIMessage:
    """Add a verdict to an answer that the guarded model did not write."""
    verdict = Verdict("inconclusive", None, _UNGUARDED)
    if (answer.tool_calls or answer.invalid_tool_calls) and not structured:
        verdict = Verdict("skipped", None, "the answer calls tools")
    # An object in the arguments of a tool call is an answer too.
    words = str(answer.text) or ("object" if structured else "")
    done = act(policy, words, verdict)
    data = verdict_data(verdict, done.action)
    if done.blocked:
        return in_place_of(answer, done.text, data)
    metadata = {**answer.response_metadata, VERDICT_KEY: data}
    return answer.model_copy(update={"response_metadata": metadata})


def _with_answer(response: ModelResponse[Any], answer: AIMessage) -> ModelResponse[Any]:
    if answer.response_metadata[VERDICT_KEY]["action"] == "block":
        # Other messages, such as the tool message for an object, repeat the answer.
        return ModelResponse(result=[answer])
    replaced = _answer_in(response)
    return replace(response, result=[answer if m is replaced else m for m in response.result])
