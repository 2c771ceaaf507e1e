"""The checks behind the tools."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from resay import Guard, Verdict
from resay.adapters import GuardRuntime
from resay.adapters.limits import using_ledger
from resay.errors import ConfigurationError
from resay_mcp._arguments import (
    CheckAgainstDocuments,
    CheckAnswer,
    DocumentArgument,
    VerifyClaim,
)
from resay_mcp._results import CheckResult, ClaimResult, check_result, claim_result
from resay_mcp._sessions import Session

# The question whose answers are compared with a claim that answers none. It asks for statements,
# because a bare yes supports no word of the claim, and hardly any model says no to what it is told.
_QUESTION = (
    "State in one or two full sentences what you know about the matter of the following statement,"
    " which may be wrong.\n\n{claim}"
)
_NAMES: Mapping[str, str] = {
    "references": "`documents`",
    "model": "`--model` of `resay mcp`",
    "api_base": "`--api-base` of `resay mcp`",
}
_NO_EVIDENCE = (
    "there is nothing to compare the claim with: pass `documents`, or start `resay mcp` with"
    " `--model`, so that it can ask a model about the claim"
)
_ARGUMENT = re.compile(f"`({'|'.join(_NAMES)})`")


class Checks:
    """Checks answers and claims with one guard.

    Args:
        guard: The guard.
    """

    def __init__(self, guard: Guard) -> None:
        references = guard.policy.references.model_copy(update={"unmentioned": "flag"})
        policy = guard.policy.model_copy(update={"references": references})
        self._guard = guard
        # What a document does not say is not in the documents, whatever samples say.
        self._by_documents = guard.with_options(policy=policy)

    async def check_answer(self, arguments: CheckAnswer, session: Session) -> CheckResult:
        """Compare an answer with other answers to the same question."""
        verdict = await self._check(
            self._guard,
            arguments.response,
            session,
            question=arguments.question,
            samples=arguments.samples,
        )
        return check_result(verdict, {}, session)

    async def check_against_documents(
        self, arguments: CheckAgainstDocuments, session: Session
    ) -> CheckResult:
        """Compare an answer with documents."""
        verdict = await self._check(
            self._by_documents,
            arguments.response,
            session,
            question=arguments.question,
            references=[document.text for document in arguments.documents],
        )
        return check_result(verdict, _names(arguments.documents), session)

    async def verify_claim(self, arguments: VerifyClaim, session: Session) -> ClaimResult:
        """Compare one claim with documents, or with what the model says of it."""
        if arguments.documents is None:
            question = _QUESTION.format(claim=arguments.claim)
            try:
                verdict = await self._check(
                    self._guard, arguments.claim, session, question=question
                )
            except ConfigurationError:
                if GuardRuntime(self._guard).has_model:
                    raise
                raise ConfigurationError(_NO_EVIDENCE) from None
            return claim_result(verdict, {}, session)
        verdict = await self._check(
            self._by_documents,
            arguments.claim,
            session,
            references=[document.text for document in arguments.documents],
        )
        return claim_result(verdict, _names(arguments.documents), session)

    async def _check(self, guard: Guard, response: str, session: Session, **inputs: Any) -> Verdict:
        if session.seconds_left == 0.0:
            return Verdict(decision="inconclusive", score=None, reason=session.reached or "")
        verdict: Verdict | None = None
        began_s = time.monotonic()
        try:
            with anyio.move_on_after(session.seconds_left), using_ledger(session):
                verdict = await guard.acheck(response, **inputs)
        finally:
            session.checking_s += time.monotonic() - began_s
        if verdict is None:
            return Verdict(decision="inconclusive", score=None, reason=session.reached or "")
        return verdict


def _names(documents: Sequence[DocumentArgument]) -> dict[str, str]:
    """Return the names of the documents that are not blank, by their places."""
    names: dict[str, str] = {}
    for index, document in enumerate(documents):
        if document.text.strip():
            names[f"references[{index}]"] = document.name or f"document {index + 1}"
    return names


def with_tool_names(message: str) -> str:
    """Return an error's message with the arguments of a guard called as a tool's."""
    return _ARGUMENT.sub(lambda match: _NAMES[match[1]], message)
