"""Compares what an agent says it did with its tool calls (`actions`).

"I have saved your booking (id 4711)" claims that something was done, and that a value came of it.
The log of the conversation's calls decides: a call bears the claim out (done), was made and came to
something else (failed), or there is none (not done); an identifier, number, path or message that
stands in no call, no result and nothing that was written to the agent is invented. Plans, offers,
questions, conditions, denials, quotations and reports of failures claim nothing. The method is
ours.

Sentences without a claim of an action have no score, so that the next step scores them.

Cost: none. With `judge`, one call about each answer that comes after tool calls or in which the
agent speaks of itself: the judge points at the words, and names the call that bears them out or
says otherwise.
Where its answer cannot be read, words decide. With `guardian`, one request for each call of the
turn that bears a claim out: Granite Guardian says whether the call fits what the user wants and the
definition of its tool, and a claim whose call does not has failed.

Good at: agents with named tools. Bad at: tools whose names and arguments do not say what they do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from resay._internal.event_loops import compute
from resay._internal.plurals import counted
from resay._internal.strict import Shorthand
from resay.core.call_log import LoggedCall
from resay.core.claim_verdict import Part
from resay.core.contradiction import Contradiction
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.scores import Scores, over
from resay.lang.language import load
from resay.models.config import ModelConfig
from resay.providers.base import Completion
from resay.scorers.actions.claims import may_claim_action, may_speak_of_itself
from resay.scorers.actions.findings import Finding
from resay.scorers.actions.guardian import CallGuardian, tool_definitions
from resay.scorers.actions.judging import judge_actions
from resay.scorers.actions.matching import Conversation
from resay.scorers.actions.pointing import actions_prompt, read_actions, shown_calls
from resay.scorers.actions.words import language_of
from resay.scorers.base import Need, Restate, ScorerConfig, ScorerTraits, Settle
from resay.scorers.common.judge_calls import ParsedAnswer, ask
from resay.scorers.common.judge_config import JudgeConfig, judge_for, judge_model, judge_requests
from resay.scorers.evidence import Evidence

# Cost of reading a character of the answer and of the log, in characters; see `compute`.
_ANSWER_COST = 20
_LOG_COST = 2
_NO_CONVERSATION = "the conversation with its tool calls is unknown"
_NO_CLAIMS = "the answer claims no action"
_TOKENS_OF_SENTENCE = 120
# What the judge is shown of the conversation before the answer.
_CONVERSATION_CHARS = 8_000
# The probability of "yes" over which the guardian finds a call wrong.
_WRONG_OVER = 0.5


class Actions:
    """Compares what an agent says it did with its tool calls."""

    name: ClassVar[str] = "actions"
    traits: ClassVar[ScorerTraits] = ScorerTraits(source="tool", beside_calls=True)

    class Config(ScorerConfig):
        """Settings of `actions`."""

        method: Literal["actions"] = "actions"
        judge: str | JudgeConfig | None = Field(
            default=None,
            description="The model to ask which claims the tool calls bear out; null = none: words"
            " decide.",
        )
        restate: Restate = True
        guardian: ModelConfig | None = Field(
            default=None,
            description="A Granite Guardian on a chat server (`backend: chat`), which is asked"
            " whether the calls that bear claims out fit the request and the definitions of their"
            " tools; null = none.",
        )
        settle: Annotated[Settle | None, Shorthand("below", kind="number")] = Field(
            default=Settle(below=0.5, above=0.5),
            description="The scores that this step settles. By default all: a claim that a tool"
            " call bears out, or that none does, needs no further step.",
        )

        @property
        def judge_requests(self) -> tuple[Request, ...]:
            """A request without messages to the judge, if there is one."""
            return judge_requests(self.judge)

    def __init__(self, config: Actions.Config | None = None) -> None:
        self.config = config or self.Config()
        asks = self.config.judge is not None
        self.needs: frozenset[Need] = frozenset({"judge"}) if asks else frozenset()
        self._judge_name = judge_model(self.config.judge) or "the judge"
        guardian = self.config.guardian
        self._guardian = None if guardian is None else CallGuardian(guardian)

    async def prepare(self) -> None:
        """Check that the server of the guardian responds, if there is one.

        Raises:
            ConfigurationError: It does not accept the key, or has no such model.
            ScorerError: It does not respond.
        """
        if self._guardian is not None:
            await self._guardian.prepare()

    def claims(self, sentence: str) -> bool:
        """Return whether a sentence may claim an action, though it looks like mere politeness."""
        return may_claim_action(sentence)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare the claims of actions with the log of calls.

        Args:
            passage: The answer, with its claims as its `sentences`.
            evidence: The conversation with its tool calls.

        Returns:
            A score for each claim of an action: 0 if a call bears it out, else 1.

        Raises:
            ScorerError: The policy names a judge, and none is available; or the guardian failed.
        """
        request, log = evidence.request, evidence.call_log
        if not request.messages:
            return Scores(skip_reason=_NO_CONVERSATION)
        words = language_of(passage.text, request.question)
        offered = tool_definitions(request.params).keys()
        conversation = Conversation(log, request.messages, words, passage.text, offered)
        log_chars = sum(len(call.result or "") + len(str(call.arguments)) for call in log.calls)
        judge = partial(judge_actions, passage, conversation)
        cost = _ANSWER_COST * len(passage.text) + _LOG_COST * log_chars
        findings = await compute(judge, chars=cost)
        failures: tuple[str, ...] = ()
        undetermined = 0
        remark: str | None = None
        no_claims = _NO_CLAIMS
        may_claim = log.calls or any(findings) or may_speak_of_itself(passage.text, words)
        if self.config.judge is not None and may_claim:
            findings, parsed = await self._by_judge(findings, passage, evidence)
            failures, undetermined = parsed.failures, parsed.undetermined
            remark = _remark(parsed)
            no_claims += f"; {remark}" if remark else f", says {self._judge_name}"
        if self._guardian is not None:
            findings, unread = await _guarded(findings, self._guardian, evidence)
            undetermined += unread
        if not any(findings):
            return Scores(
                skip_reason=no_claims, failures=failures, undetermined=undetermined, lost=()
            )
        return Scores(
            sentences=tuple(_score(found) for found in findings),
            reasons=tuple(_reason(found) for found in findings),
            denied=tuple(any(f.verdict == "failed" for f in found) for found in findings),
            contradictions=tuple(_contradiction(found) for found in findings),
            judged=tuple(tuple(map(_part, found)) for found in findings),
            failures=failures,
            undetermined=undetermined,
            lost=(),
            verdict_reason=remark,
        )

    async def _by_judge(
        self, findings: list[list[Finding]], passage: Passage, evidence: Evidence
    ) -> tuple[list[list[Finding]], ParsedAnswer[list[Finding]]]:
        """Ask the judge about the answer.

        Args:
            findings: What is found by words, kept where the judge's answer cannot be read.
            passage: The answer.
            evidence: The conversation with its tool calls, and the judge's provider.

        Returns:
            The findings of each sentence, and the judge's answer.
        """
        log = evidence.call_log
        sentences = passage.sentences
        shown = shown_calls(log.calls)

        def parse(completion: Completion) -> Sequence[list[Finding] | None]:
            return read_actions(completion, sentences, log.calls, shown, self._judge_name)

        parsed = await ask(
            judge_for(self.config.judge, evidence).about(
                sentence.standalone for sentence in sentences
            ),
            actions_prompt(sentences, evidence.conversation(_CONVERSATION_CHARS), shown),
            parse,
            load("en").prompts.actions.again if self.config.restate else None,
            tokens=_TOKENS_OF_SENTENCE,
        )
        judged: list[list[Finding]] = []
        for by_words, by_judge in zip(findings, parsed.slots, strict=True):
            if by_judge is None:
                judged.append(by_words)
            elif log.is_whole:
                judged.append(sorted(by_judge, key=lambda finding: finding.start))
            else:
                # An earlier call, which is unknown, may have done what no call here does.
                judged.append([finding for finding in by_judge if finding.call is not None])
        return judged, parsed


def _remark(parsed: ParsedAnswer[list[Finding]]) -> str | None:
    """Return that words decided about sentences in the judge's place, and why; None if not."""
    count = parsed.slots.count(None)
    if parsed.problem is None:
        return None
    sentences = "all sentences" if count == len(parsed.slots) else counted(count, "sentence")
    return f"words decided about {sentences}: {parsed.problem.reason}"


async def _guarded(
    findings: list[list[Finding]], guardian: CallGuardian, evidence: Evidence
) -> tuple[list[list[Finding]], int]:
    """Return the findings, failed where the call does not fit, and how many answers say nothing."""
    log = evidence.call_log
    turn = {call.index for call in log.of_turn}
    calls: dict[int, LoggedCall] = {}
    for finding in chain.from_iterable(findings):
        if finding.verdict == "done" and finding.call is not None and finding.call.index in turn:
            calls[finding.call.index] = finding.call
    asked = list(calls.values())
    probabilities = await guardian.probabilities(asked, evidence.request, log)
    guarded: list[list[Finding]] = []
    for of_sentence in findings:
        row: list[Finding] = []
        for finding in of_sentence:
            call = finding.call
            if finding.verdict == "done" and call is not None and call.index in calls:
                finding = _with_probability(finding, call, guardian, probabilities)
            row.append(finding)
        guarded.append(row)
    return guarded, sum(value is None for value in probabilities.values())


def _with_probability(
    finding: Finding,
    call: LoggedCall,
    guardian: CallGuardian,
    probabilities: Mapping[int, float | None],
) -> Finding:
    if call.index not in probabilities:
        unknown = f"{finding.reason}; {guardian.name} was not told how its tool is called"
        return replace(finding, reason=unknown)
    probability = probabilities[call.index]
    if probability is None:
        unread = f"{finding.reason}; whether it fits, {guardian.name} answers in no known form"
        return replace(finding, reason=unread)
    if not over(probability, _WRONG_OVER):
        return finding
    reason = (
        f"call {call.index + 1} ({call.name}) does not fit the request or the definition of its"
        f" tool, says {guardian.name} ({probability:.2f})"
    )
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    return replace(finding, verdict="failed", reason=reason, quote=arguments)


def _score(findings: Sequence[Finding]) -> float | None:
    if not findings:
        return None
    return 1.0 if any(finding.flagged for finding in findings) else 0.0


def _reason(findings: Sequence[Finding]) -> str | None:
    """Return the reason for a sentence's score: of flagged findings, or of all if none is."""
    deciding = [finding for finding in findings if finding.flagged] or list(findings)
    if not deciding:
        return None
    reasons = dict.fromkeys(finding.reason for finding in deciding)
    return "; ".join(reasons)


def _contradiction(findings: Sequence[Finding]) -> Contradiction | None:
    for finding in findings:
        if finding.verdict == "failed" and finding.call is not None:
            result = finding.quote or finding.call.result or ""
            return Contradiction(
                source="tool",
                index=finding.call.index,
                text=f"{finding.call.name}: {' '.join(result.split())}"[:300],
                claim_span=(finding.start, finding.end),
            )
    return None


def _part(finding: Finding) -> Part:
    bands = {"done": "supported", "failed": "contradicted"}
    return Part(
        start=finding.start,
        end=finding.end,
        band=bands.get(finding.verdict, "unsupported"),  # type: ignore[arg-type]
        kind=finding.kind,
        score=float(finding.flagged),
        verdict=finding.verdict,
        reason=finding.reason,
    )
