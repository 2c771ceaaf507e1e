"""The steps of a policy's chain, and what they need: what a guard must know before it runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay import retrieval
from resay._internal.importing import import_named, is_import_path
from resay.engine.policy_steps import compares_with_references, judged_step, steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resay.core.references import Reference
    from resay.policy import Policy
    from resay.scorers import Need, Step


class ChainSteps:
    """The steps of a policy's chain, in order.

    Args:
        policy: The policy.
        steps: Steps in place of the policy's own.
        structured: Whether they compare the fields of objects.

    Attributes:
        grounds: Whether claims are compared with the request's references before anything else.
        reference_functions: The application's own functions that find references for a request.

    Raises:
        ConfigurationError: A step has no registered scorer, or a `when`, `non_claims` or
            `references.from` names no function.
    """

    def __init__(
        self, policy: Policy, *, steps: Sequence[Step] = (), structured: bool = False
    ) -> None:
        self._policy = policy
        self._steps = tuple(steps) or steps_of(policy)
        self._structured = structured
        # Fail now if a function does not exist, rather than during the first request.
        if policy.when is not None:
            with policy.locating("when"):
                policy.when.load()
        for index, config in enumerate(policy.chain):
            if config.when is not None:
                with policy.locating("chain", index, "when"):
                    config.when.load()
        with policy.locating("non_claims"):
            self._classify = import_named(policy.non_claims) if ":" in policy.non_claims else None
        self.grounds = not structured and compares_with_references(policy, self._steps)
        sources = policy.references.from_ if self.reads_documents else ()
        functions = [source for source in sources if is_import_path(source)]
        with policy.locating("references", "from"):
            self.reference_functions = retrieval.reference_functions(functions) if functions else ()

    @property
    def steps(self) -> Sequence[Step]:
        """The steps."""
        return self._steps

    @property
    def steps_without_samples(self) -> Sequence[Step]:
        """The steps that run where there are no samples."""
        if self.required_by("samples") is None:
            return self._steps
        steps: list[Step] = []
        for step in self._steps:
            draws = "samples" in step.needs or step.is_second
            # A correction needs scores to correct.
            if not draws and (steps or not step.corrects):
                steps.append(step)
        return steps

    @property
    def steps_beside_calls(self) -> Sequence[Step]:
        """The steps that score the text beside tool calls."""
        return [step for step in self._steps if step.traits.beside_calls]

    def required_by(self, need: Need) -> str | None:
        """Return the name of the first method that needs this, or None."""
        for step in self._steps:
            if need in step.needs:
                return step.name
        # The comparison with references before the chain is none of its steps.
        return "references" if need == "judge" and self._refers_by_judge else None

    @property
    def reads_documents(self) -> bool:
        """Whether claims are compared with the documents of the request, wherever they are."""
        return self.grounds or any(step.reads_documents for step in self._steps)

    def checks_unmentioned(self, references: Sequence[Reference]) -> bool:
        """Return whether claims that no reference mentions go on to the other steps."""
        unmentioned = self._policy.references.unmentioned
        binding = any(reference.binding for reference in references)
        return unmentioned == "samples" or (unmentioned == "auto" and not binding)

    @property
    def asking_response_model(self) -> str | None:
        """The first method whose judge is the model that wrote the response, or None."""
        for step in self._steps:
            if step.config.asks_response_model:
                return step.name
        lacks_judge = self._refers_by_judge and judged_step(self._steps) is None
        return "references" if lacks_judge else None

    @property
    def _refers_by_judge(self) -> bool:
        """Whether a judge compares with references before the chain because the policy says so."""
        return self.grounds and self._policy.references.by == "judge"
