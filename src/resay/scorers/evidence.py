"""The evidence available to a scorer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from resay.core.call_log import CallLog
from resay.core.citations import Citation
from resay.core.logprobs import TokenLogprob
from resay.core.quoting import quotable
from resay.core.references import Reference
from resay.core.request import Request
from resay.core.scores import Scores
from resay.providers.base import Provider
from resay.scorers.entailments import Entailments
from resay.scorers.gathering import Gathering
from resay.scorers.judge import Judge
from resay.scorers.judge_log import JudgeLog
from resay.scorers.judge_problems import JudgeProblems
from resay.scorers.samples import Samples
from resay.scorers.stopping import Stopping

# The beginning of them says who and what it is about; the rest may be long.
_INSTRUCTION_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a check.

    Attributes:
        samples: The pool of samples.
        references: Trusted texts supplied by the user or a retriever, as a pool that methods can
            compare with like samples.
        request: The request the response answers; without messages if they are unknown.
        user_request: The user's own request if `request` is another, such as one with documents
            added.
        entity: The main subject of the question, if the caller names one.
        client_references: Trusted texts in the client's request, whether or not the policy compares
            answers with them.
        is_repeatable: Whether the request may be sent once more, to another model.
        judge_provider: The provider for judges, or None if there is none.
        prober: The model that gives short answers to questions about claims, set up as for samples;
            None if it cannot be asked. The messages of its request precede each question.
        calls_left: Returns how many more calls the check may make; None for any number.
        judge_source: Distinguishes the answers of the judges' provider from others in a cache.
        logprobs: The tokens of the response with their probabilities; empty if unknown.
        scores: The scores of the previous steps, one entry per sentence of the passage; for
            corrections.
        threshold: The score above which a sentence may be flagged; None if it is unknown.
        doubtful: The score above which it is called doubtful; None if none is.
        gathering: Asks for several sentences at once; shared by all of them.
        stopping: The rule that tells a method that compares with one sample at a time when to
            stop; None to compare with all samples.
        partial_scores: Receives the partial result of a method that is cancelled.
        sources: The references one by one, with their origins, if they are compared with before
            anything else.
        citations: The citations the provider attached to the answer.
        writer: The model that wrote the response, if known.
        second: The samples of another model, if the policy asks one.
        call_log: The tool calls of the conversation.
        entailments: Known entailments between the response, its claims and the samples; shared by
            all methods of the check.
        judge_log: Where calls of judges are recorded; None if nobody wants them.
        judge_problems: Collects why answers of judges could not be used.
    """

    samples: Samples = field(default_factory=Samples)
    references: Samples = field(default_factory=Samples)
    request: Request = field(default_factory=lambda: Request(()))
    user_request: Request | None = None
    judge_provider: Provider | None = None
    prober: Judge | None = None
    calls_left: Callable[[], int | None] = lambda: None
    judge_source: str = field(default="", repr=False)
    logprobs: tuple[TokenLogprob, ...] = ()
    scores: tuple[float | None, ...] = ()
    threshold: float | None = None
    doubtful: float | None = None
    gathering: Gathering = field(default_factory=Gathering)
    stopping: Stopping | None = None
    partial_scores: list[Scores] = field(default_factory=list[Scores])
    sources: tuple[Reference, ...] = ()
    citations: tuple[Citation, ...] = ()
    writer: str | None = None
    second: Samples = field(default_factory=Samples)
    entailments: Entailments = field(default_factory=Entailments)
    judge_log: JudgeLog | None = None
    judge_problems: JudgeProblems = field(default_factory=JudgeProblems, repr=False)
    call_log: CallLog = field(default_factory=CallLog)
    entity: str | None = None
    client_references: tuple[Reference, ...] = ()
    is_repeatable: bool = True

    def logged_as(self, method: str) -> Evidence:
        """Return the same evidence for calls that are recorded as those of a method.

        Args:
            method: The method.
        """
        return (
            self if self.judge_log is None else replace(self, judge_log=self.judge_log.of(method))
        )

    def conversation(self, chars: int) -> str:
        """Return the user's conversation as text, or its ends; see `Request.conversation`.

        It begins with the application's instructions, which say what an answer is about.

        Args:
            chars: The maximum length.
        """
        if chars <= 0:
            return ""
        request = self._own_request
        instructions = request.instructions[: min(_INSTRUCTION_CHARS, chars // 4)]
        if not instructions:
            return quotable(request.conversation(chars))
        conversation = request.conversation(chars - len(instructions))
        return quotable(f"system: {instructions}\n{conversation}".strip())

    @property
    def question(self) -> str:
        """The user's question, without documents as far as they were found in it."""
        return self._own_request.question

    @property
    def _own_request(self) -> Request:
        return self.request if self.user_request is None else self.user_request

    @property
    def quoted_question(self) -> str:
        """The question, as it may be shown to a model; empty if it is unknown."""
        return quotable(self.request.question)
