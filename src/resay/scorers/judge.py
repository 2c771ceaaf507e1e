"""The LLM that a method asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from resay._internal.event_loops import compute
from resay.core.quoting import break_tokens
from resay.core.recorded_evidence import JudgeCall
from resay.core.request import Message, Request, text_of, with_texts
from resay.errors import ProviderError
from resay.providers.base import Completion, Completions, Provider
from resay.providers.layers import FanOut
from resay.providers.preferring import Preferences, Preferring
from resay.scorers.judge_log import JudgeLog
from resay.scorers.judge_problems import JudgeProblem, JudgeProblems


@dataclass(frozen=True, slots=True)
class Judge:
    """The LLM a prompt-based scorer asks.

    Attributes:
        provider: The provider to ask.
        request: The request, whose messages each question replaces.
        log: Where its calls are recorded; None if nobody wants them.
        claims: The texts of the claims that it is asked about; empty for the whole response.
        problems: Collects why its answers could not be used.
    """

    provider: Provider
    request: Request
    log: JudgeLog | None = None
    claims: tuple[str, ...] = ()
    problems: JudgeProblems = field(default_factory=JudgeProblems, repr=False, compare=False)

    async def ask(self, prompt: str | Sequence[Message], *, max_tokens: int | None = None) -> str:
        """Ask one question and return the answer as text.

        Args:
            prompt: The question, or a conversation that ends with one.
            max_tokens: The number of tokens that the answer needs at most; None for no limit.

        Raises:
            ProviderError: No answer was received.
        """
        return (await self.complete(prompt, max_tokens=max_tokens)).first.text

    async def complete(
        self,
        prompt: str | Sequence[Message],
        *,
        n: int = 1,
        max_tokens: int | None = None,
        exact: bool = False,
        schema: Mapping[str, Any] | None = None,
    ) -> Completions:
        """Ask one question.

        Args:
            prompt: The question, or a conversation that ends with one.
            n: Number of answers, at least 1.
            max_tokens: The number of tokens that an answer needs at most; None for no limit.
            exact: Whether the most probable answer is wanted, from a model that takes a temperature
                of 0. Never of a judge whose answers are to vary.
            schema: The JSON Schema of the object to answer with, for models that take one; None for
                text.

        Returns:
            At least one answer, with the failures of the others attached.

        Raises:
            ProviderError: No answer was received.
        """
        # Everything that is quoted to a model passes here.
        written = as_messages(prompt)

        def without_tokens() -> tuple[Message, ...]:
            return tuple(with_texts(message, break_tokens) for message in written)

        chars = sum(len(str(message)) for message in written)
        messages = await compute(without_tokens, chars=chars)
        request = replace(self.request, messages=messages)
        preferences = Preferences(max_tokens=max_tokens, exact=exact, schema=schema)
        provider: Provider = Preferring(self.provider, preferences)
        if n > 1:
            provider = FanOut(provider)
        try:
            completions = await provider.complete(request, n=n)
        except ProviderError as error:
            self._record(messages, error=type(error).__name__)
            self.problems.add_failures([error], self.request.model)
            raise
        # Third-party providers may raise anything; it costs only this answer.
        except Exception as error:
            self._record(messages, error=type(error).__name__)
            self.problems.add_failures([error], self.request.model)
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error
        self._record(messages, tuple(completion.text for completion in completions.items))
        self.problems.add_failures(completions.failures, self.request.model)
        return completions

    def add_unread(self, answer: Completion, *, is_partly_read: bool = False) -> JudgeProblem:
        """Record that the last answer to a question could not be read, and return why.

        Args:
            answer: The answer.
            is_partly_read: Whether a part of the answer to the question could be read.
        """
        problem = JudgeProblem.of_answer(answer, self.request, is_partly_read=is_partly_read)
        self.problems.add(problem)
        return problem

    def _record(
        self, messages: Sequence[Message], answers: tuple[str, ...] = (), error: str | None = None
    ) -> None:
        if self.log is None:
            return
        call = JudgeCall(
            method=self.log.method,
            prompt=_prompt_text(messages),
            answers=answers,
            claims=self.claims,
            model=self.request.model,
            error=error,
        )
        self.log.add(call)

    def about(self, claims: Iterable[str]) -> Judge:
        """Return the same judge for a question about some claims.

        Args:
            claims: Their texts.
        """
        return self if self.log is None else replace(self, claims=tuple(claims))

    def at(self, index: int) -> Judge:
        """Return the same judge for another of several answers to the same question."""
        return replace(self, request=replace(self.request, index=index))

    def with_params(self, **params: Any) -> Judge:
        """Return the same judge with additional parameters."""
        return replace(
            self, request=replace(self.request, params={**self.request.params, **params})
        )

    def varied(self, temperature: float | None = None) -> Judge:
        """Return the same judge for answers that vary.

        Its requests are marked as `varied`, for providers that know the judge's own settings.

        Args:
            temperature: The temperature; None for the judge's own unless that is greedy.
        """
        return replace(self, request=self.request.for_sampling(temperature=temperature))


def prober_of(
    provider: Provider,
    request: Request,
    *,
    model: str | None,
    temperature: float | None,
    params: Mapping[str, Any],
) -> Judge:
    """Return the model that gives short answers to questions about claims, set up as for samples.

    Args:
        provider: The provider to ask.
        request: The request that the response answers.
        model: The model that draws the samples; None for the model of the request.
        temperature: Their temperature; None for the request's.
        params: Additional parameters of samples.
    """
    sample = request.for_sampling(model=model, temperature=temperature, params=params)
    # Other parameters of the main call, such as tools or a long limit, do not suit a few words.
    suitable = {**sample.connection, **params}
    if "temperature" in sample.params:
        suitable["temperature"] = sample.params["temperature"]
    # The application's instructions apply to short answers too.
    instructions = tuple(m for m in request.messages if m.get("role") in ("system", "developer"))
    return Judge(
        provider=provider,
        request=Request(instructions, sample.model, suitable, tenant=request.tenant, varied=True),
    )


def _prompt_text(messages: Sequence[Message]) -> str:
    """Return a conversation as a text for people."""
    texts = [text_of(message.get("content")) for message in messages]
    if len(texts) == 1:
        return texts[0]
    roles = [str(message.get("role")) for message in messages]
    return "\n\n".join(f"{role}:\n{text}" for role, text in zip(roles, texts, strict=True))


def as_messages(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a prompt as a conversation."""
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return tuple(prompt)
