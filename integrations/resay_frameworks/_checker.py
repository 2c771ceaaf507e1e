"""What the guard objects share: they check an answer that the framework has already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from resay import Answer, Document, Guard, HallucinationBlocked, Policy, Usage, Verdict
from resay.adapters import (
    Annotate,
    CallLog,
    CheckContext,
    GuardRuntime,
    Message,
    OnVerdict,
    given_references,
    inside_guard,
    marked,
)
from resay.adapters.policies import (
    PolicyLike,
    check_client_policy,
    guard_of,
    refuse_without_writer,
)
from resay.adapters.threads import in_thread
from resay.adapters.upstream import OneAnswer, OwnJudge, default_provider, provider_error
from resay.adapters.verdicts import answer_data, failed_check
from resay.plugins import Completion, Completions, Request, Sources

AskModel = Callable[[Sequence[Message]], Awaitable[str]]
"""Sends a conversation to the framework's own model, and returns its answer."""


def in_threads(ask: Callable[[Sequence[Message]], str]) -> AskModel:
    """Return the asynchronous form of a blocking function that asks the framework's model."""

    async def ask_in_thread(messages: Sequence[Message]) -> str:
        return await in_thread(lambda: ask(messages))

    return ask_in_thread


def call_message(text: str, calls: Iterable[tuple[str, str, str]]) -> Message:
    """Return a message of a model in OpenAI's format.

    Args:
        text: Its text.
        calls: The id, name and arguments, as JSON, of each tool that it calls.
    """
    entries: list[dict[str, Any]] = []
    for call_id, name, arguments in calls:
        function = {"name": name, "arguments": arguments}
        entries.append({"id": call_id, "type": "function", "function": function})
    message: dict[str, Any] = {"role": "assistant", "content": text}
    return {**message, "tool_calls": entries} if entries else message


@dataclass(frozen=True, eq=False, repr=False)
class OwnModel(OneAnswer):
    """The framework's own model, as a provider.

    Attributes:
        ask: Asks it.
        conversation: The conversation that is checked.
        resample: Asks that conversation once more; None to ask it like any other.
    """

    ask: AskModel
    conversation: Sequence[Message] = ()
    resample: Callable[[], Awaitable[str]] | None = None

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Ask it, or the model that the policy names.

        Raises:
            ProviderError: There was no answer.
        """
        if request.model is not None:
            return await default_provider().complete(request, n=n)
        try:
            # The model may be guarded too.
            with marked():
                is_same = list(request.messages) == list(self.conversation)
                if is_same and self.resample is not None:
                    text = await self.resample()
                else:
                    text = await self.ask(request.messages)
        # Frameworks' exceptions may repeat any content.
        except Exception as error:
            raise provider_error(error) from error
        return Completions((Completion(text),), Usage(1, cost_usd=None))


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a check.

    Attributes:
        answer: The answer with its verdict, after the policy's action.
        error: The error to raise if the answer is withheld and the policy says `exit: raise`.
    """

    answer: Answer
    error: HallucinationBlocked | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The verdict as JSON-ready values, with the action."""
        return answer_data(self.answer)

    @property
    def flagged(self) -> bool:
        """Whether the text to show is flagged, or was withheld."""
        return self.answer.blocked or self.answer.flagged

    def text(self, *, replaces: bool = True) -> str:
        """Return the text to show.

        Args:
            replaces: Whether a message can take the place of a withheld answer.

        Raises:
            HallucinationBlocked: The answer is withheld, and the policy says `exit: raise` or no
                message can take its place.
        """
        if self.error is not None:
            raise self.error
        if self.answer.blocked and not replaces:
            raise HallucinationBlocked(self.answer.verdict, self.answer.usage)
        return self.answer.text


class Checker:
    """Checks the answers of one guard object.

    Args:
        policy: The policy, or a guard.
        owner: The guard object, for errors.
        model: The model that draws samples and judges, in place of a given guard's.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each verdict.
        asks_own_model: Whether the framework's own model can be asked if there is no other.
        takes_references: Whether references may come with the answers.
        acts: Whether the policy's action applies; otherwise answers are only annotated.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that the framework does not give.
    """

    def __init__(
        self,
        policy: PolicyLike,
        owner: object,
        *,
        model: str | None,
        retriever: object,
        on_verdict: OnVerdict | None,
        asks_own_model: bool = False,
        takes_references: bool = False,
        acts: bool = True,
    ) -> None:
        guard = guard_of(policy if acts else _annotating(policy), retriever, on_verdict)
        if model is not None:
            guard = guard.with_options(model=model)
        self._runtime = GuardRuntime(guard)
        name = type(owner).__name__
        self._runtime.require_inputs({"logprobs": f", which {name} does not get"})
        if not takes_references:
            remedy = f", and {name} gets none; leave the method out"
            self._runtime.require_inputs({"references": remedy})
        if self._runtime.has_model:
            return
        if asks_own_model:
            check_client_policy(guard, name, gives_references=True)
        else:
            if guard.policy.sampling.model is None:
                remedy = "; pass `model`, the one that answers, to draw them from"
                self._runtime.require_inputs({"samples": remedy})
            refuse_without_writer(guard, owner, " pass `model`, or")

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._runtime.policy

    async def aprepare(self) -> None:
        """Load what the first check would otherwise wait for; see `GuardRuntime.aprepare`."""
        await self._runtime.aprepare()

    async def acheck(
        self,
        text: object,
        read: Callable[[], Iterable[Message]],
        *,
        ask: AskModel | None = None,
        resample: Callable[[], Awaitable[str]] | None = None,
        references: Iterable[str | Document] = (),
        calls: Callable[[], CallLog] | None = None,
        unrepeatable: str | None = None,
    ) -> Result:
        """Check an answer, and act on the verdict.

        Args:
            text: The answer. Anything but a text cannot be checked.
            read: Returns the conversation that it answers, in OpenAI's format, with calls of tools
                and their results. If it raises, the check has failed.
            ask: Asks the framework's own model, which is used if the guard has no other.
            resample: Asks it the conversation once more, in the framework's own format.
            references: Trusted texts to compare the answer with.
            calls: Returns the conversation's calls of tools, if the framework's messages say more
                of them than those in OpenAI's format; called like `read`.
            unrepeatable: Why no samples may be drawn.

        Returns:
            The result; if the check fails, with an inconclusive verdict.
        """
        answer = text if isinstance(text, str) else ""
        if inside_guard():
            reason = "the guard around this one checks the answer"
            return Result(self._runtime.apply(answer, Verdict("skipped", None, reason)))
        try:
            messages = tuple(read())
            call_log = None if calls is None else calls()
        # Frameworks' messages are of many kinds.
        except Exception as error:
            return await self._failed(answer, error)
        context = CheckContext(Request(messages), calls=call_log, unrepeatable=unrepeatable)
        if self._runtime.takes_references:
            context = replace(context, references=given_references(references))
        if not isinstance(text, str):
            context = self._uncheckable(context, type(text).__name__)
        sources = None
        if ask is not None and not self._runtime.has_model:
            own = OwnModel(ask, messages, resample)
            sources = Sources(main=own, samples=own, judge=OwnJudge(own.complete))
        try:
            return Result(await self._runtime.aact_on(answer, context, sources))
        except HallucinationBlocked as error:
            return _withheld(answer, error)

    async def _failed(self, answer: str, error: Exception) -> Result:
        verdict = failed_check(error)
        await self._runtime.areport(verdict)
        try:
            return Result(self._runtime.apply(answer, verdict))
        except HallucinationBlocked as blocked:
            return _withheld(answer, blocked)

    def _uncheckable(self, context: CheckContext, kind: str) -> CheckContext:
        reason = f"the output is of type {kind!r}, not text"
        if self.policy.for_uncheckable == "skip":
            return replace(context, unchecked=reason)
        return replace(context, uncheckable=reason)


def _withheld(answer: str, error: HallucinationBlocked) -> Result:
    return Result(Answer(str(error), answer, "block", error.verdict, error.usage), error)


def _annotating(policy: PolicyLike) -> Guard | Policy:
    """Return a policy, or a guard, that changes no answer."""
    given = policy.policy if isinstance(policy, Guard) else Policy.of(policy)
    changes = {"action": Annotate(), "on_error": "annotate", "on_unscored": "annotate"}
    changed = given.model_copy(update=changes)
    return policy.with_options(policy=changed) if isinstance(policy, Guard) else changed
