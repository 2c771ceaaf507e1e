"""Checks a recorded answer again, with what it was checked with then."""

from __future__ import annotations

from functools import cached_property

from resay import Guard, Policy, Verdict
from resay.adapters import GuardRuntime
from resay.errors import ConfigurationError, ProviderError, ResayError
from resay.plugins import Completions, RecordedEvidence, Request
from resay_server.journal import Entry
from resay_server.journal.export import answer_of


class UncheckableEntryError(ResayError):
    """What is recorded of an answer does not suffice to check it again."""


def guard_for_rechecks(policy: Policy) -> Guard:
    """Return a guard that checks by a policy, and records nothing.

    Args:
        policy: The policy.

    Raises:
        ConfigurationError: Something that it names does not exist.
    """
    return Guard(_unrecorded(policy))


def calls_reason(guard: Guard) -> str | None:
    """Return why a check with given samples asks a model, or None if it does not.

    Args:
        guard: The guard that checks.
    """
    policy = guard.policy
    if policy.second_opinion is not None:
        return "`second_opinion` asks another model"
    method = GuardRuntime(guard).required_by("judge")
    if method == "references" and policy.references.by == "judge":
        return "`references.by: judge` asks a judge"
    if method is not None:
        return f"method {method!r} asks a judge"
    if policy.claims == "model":
        return "`claims: model` asks a model"
    return None


class Rechecker:
    """Checks recorded answers again by a policy, with their recorded samples and references.

    No samples are drawn, nothing is recorded, and the policy's action is not taken.

    Args:
        guard: A guard with the policy.
        calls: Whether it may ask judges.
        model: The model to ask where the policy means the one that wrote the answer; None for the
            guard's.

    Raises:
        ConfigurationError: The policy asks a judge, and none may or can be asked; or it needs what
            is not recorded.
    """

    def __init__(self, guard: Guard, *, calls: bool = False, model: str | None = None) -> None:
        runtime = GuardRuntime(guard)
        reason = calls_reason(guard)
        if reason is not None and not calls:
            raise ConfigurationError(f"{reason}, and no model may be called")
        if method := runtime.required_by("logprobs"):
            raise ConfigurationError(
                f"method {method!r} needs the answer's token probabilities, which are not recorded"
            )
        self._model = model or runtime.model
        if calls and runtime.asking_response_model and self._model is None:
            raise ConfigurationError(
                f"method {runtime.asking_response_model!r} asks the model that wrote the answer;"
                " name the judge in the policy (`judge:`)"
            )
        self._guard = guard if calls else runtime.with_provider(_NoCalls())
        self._needs_samples = runtime.required_by("samples") is not None
        self._takes_references = runtime.takes_references

    async def check(self, entry: Entry, evidence: RecordedEvidence | None) -> Verdict:
        """Check the answer of an entry again.

        Args:
            entry: The entry.
            evidence: Its stored evidence, or None.

        Returns:
            The new verdict.

        Raises:
            UncheckableEntryError: What is recorded of it does not suffice.
        """
        response = _response(entry, evidence)
        evidence = evidence or RecordedEvidence()
        references = evidence.references if self._takes_references else ()
        if self._needs_samples and not evidence.samples and not references:
            raise UncheckableEntryError("no samples are stored")
        is_binding = any(reference.binding for reference in references)
        guard = self._binding if is_binding or not references else self._not_binding
        try:
            return await guard.acheck(
                response,
                question=entry.question,
                samples=evidence.samples,
                references=[reference.text for reference in references],
                model=self._model,
                tenant=entry.tenant,
            )
        except ConfigurationError as error:
            raise UncheckableEntryError(str(error)) from None

    @cached_property
    def _binding(self) -> Guard:
        """The guard for answers that were meant to come from their references."""
        return self._with_policy(_unrecorded(self._guard.policy))

    @cached_property
    def _not_binding(self) -> Guard:
        """The guard for other answers."""
        policy = _unrecorded(self._guard.policy)
        if policy.references.unmentioned != "auto":
            return self._binding
        references = policy.references.model_copy(update={"unmentioned": "samples"})
        return self._with_policy(policy.model_copy(update={"references": references}))

    def _with_policy(self, policy: Policy) -> Guard:
        return self._guard.with_options(policy=policy, sinks=(), on_verdict=None)


class _NoCalls:
    """A provider that is never to be asked."""

    async def takes_n(self, request: Request) -> bool:
        del request
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        del request, n
        raise ProviderError("no model may be called for answers that are checked again")


def _unrecorded(policy: Policy) -> Policy:
    """Return a policy that only checks, at once, with the references that it is given."""
    default = Policy.of(None)
    update: dict[str, object] = {"journal": None, "observers": ()}
    update |= {"action": default.action, "calls": default.calls}
    if policy.references.from_:
        # The recorded references are those that were found then, wherever they were.
        update["references"] = policy.references.model_copy(update={"from_": ("given",)})
    return policy.model_copy(update=update)


def recorded_verdict(entry: Entry) -> Verdict:
    """Return the verdict that was recorded then.

    Raises:
        UncheckableEntryError: It cannot be read.
    """
    try:
        return Verdict.from_dict(entry.verdict)
    except ConfigurationError:
        raise UncheckableEntryError("this version of Resay cannot read the entry") from None


def _response(entry: Entry, evidence: RecordedEvidence | None) -> str:
    """Return the recorded answer.

    Raises:
        UncheckableEntryError: It is not stored, or is no text.
    """
    if recorded_verdict(entry).structured:
        raise UncheckableEntryError("the answer is an object, not a text")
    response = evidence.response if evidence is not None else None
    response = response or answer_of(entry)
    if not response:
        raise UncheckableEntryError("the text of the answer is not stored")
    return response
