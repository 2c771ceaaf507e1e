"""The simulated language model: from a request to its choices."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

from resay.passage import Passage
from resay.testing.faults import EmptyAnswer, Fault, Garbled, IdenticalSamples, IgnoreN
from resay.testing.judges.knowledge import knows
from resay.testing.wire import ChatBody, Choice, Token, call_tool, probable, speak, tokenize

if TYPE_CHECKING:
    from resay.testing.judges import Question
    from resay.testing.world import World

__all__ = ["SimulatedModel"]

_SURE = 0.02


class SimulatedModel:
    """Answers requests out of a world. Counts what it answered, so use it from one thread.

    Each answer has a random generator of its own, made from the seed, the conversation and the
    number of answers drawn to that conversation before. Concurrent requests about different things
    therefore never change each other's answers.

    Args:
        seed: What all chance is drawn from.
        world: What it knows and makes up.
    """

    def __init__(self, seed: int, world: World) -> None:
        self._seed = seed
        self._world = world
        self._drawn: Counter[str] = Counter()

    def choices(
        self, request: ChatBody, question: Question | None = None, fault: Fault | None = None
    ) -> list[Choice]:
        """Answer a request.

        Args:
            request: What is asked.
            question: What it asks a judge; None where it asks for anything else.
            fault: What goes wrong; only faults in what is said matter here.

        Returns:
            As many choices as were asked for.
        """
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [Choice()] * count
        if request.wanted_tool:
            return [call_tool(request.wanted_tool, f"call_{i}") for i in range(count)]
        if isinstance(fault, Garbled):
            return [_shortened(_sure(fault.text), request)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        draws = [self._generator(request, i, same=same) for i in range(count)]
        if question:
            spoken = [_sure(question.answer(self._world, rng)) for rng in draws]
        else:
            spoken = [self._say(request, rng) for rng in draws]
        return [_shortened(tokens, request) for tokens in spoken]

    def read(self, text: str) -> list[Token]:
        """Read a text somebody else wrote, and say how probable each token of it is.

        Args:
            text: The text. What its sentences say of the subject that it names is probable where
                that is known; names and numbers of the others are not.

        Returns:
            Its tokens, the same for the same text.
        """
        rng = random.Random(f"{self._seed} read {text}")  # noqa: S311 - see `_generator`
        subject = self._world.find(text)
        sentences = Passage.of(text).sentences
        unknown = [s for s in sentences if not knows(subject, s.text)]
        tokens: list[Token] = []
        end = 0
        for token in tokenize(text):
            end += len(token)
            sure = not any(s.start < end <= s.end for s in unknown)
            tokens.append(Token(token, probable(token, rng, sure=sure)))
        return tokens

    def _say(self, request: ChatBody, rng: random.Random) -> list[Token]:
        *before, question = request.said_by_user or [""]
        answer = self._world.answer(question, rng, before=before, told=request.told)
        tokens: list[Token] = []
        for statement in answer.statements:
            space = " " if tokens else ""
            tokens += speak(space + statement.text, rng, sure=not statement.invented)
        return tokens

    def _generator(self, request: ChatBody, index: int, *, same: bool) -> random.Random:
        conversation = json.dumps(request.messages, sort_keys=True)
        if same:
            turn = "same"
        elif request.seed is not None:
            turn = f"seed {request.seed} {index}"
        else:
            turn = f"draw {self._drawn[conversation]}"
            self._drawn[conversation] += 1
        # The generator decides what a pretended model says; nothing is secret about it.
        return random.Random(f"{self._seed} {turn} {conversation}")  # noqa: S311 - see above


def _sure(answer: str) -> list[Token]:
    rivals = {"Yes": "No", "No": "Yes"}
    return [Token(token, -_SURE, rivals.get(token.strip())) for token in tokenize(answer)]


def _shortened(tokens: list[Token], request: ChatBody) -> Choice:
    limit = request.max_completion_tokens or request.max_tokens or len(tokens)
    reason = "stop" if len(tokens) <= limit else "length"
    return Choice(tuple(tokens[:limit]), reason)
