"""The simulated language model: from a request to its choices."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from resay.core.passage import Passage
from resay.testing.faults import EmptyAnswer, Fault, Garbled, IdenticalSamples, IgnoreN
from resay.testing.world import Reply, Statement, World
from simulation.chat import Choice, ToolCall
from simulation.chat_request import (
    CALL,
    ChatBody,
    Function,
    Token,
    probable,
    speak,
    text_of,
    tokenize,
)
from simulation.documents import Correction, Gullible, Writing, ordered
from simulation.judges import Question, knows
from simulation.schemas import fill, spoken

__all__ = ["SimulatedModel"]

_SURE = 0.02
_WORDINGS = ("According to {}: {}", "The answer of {}: {}", "{} says: {}")


class SimulatedModel:
    """Answers requests out of a world. Counts what it answered, so use it from one thread.

    Each answer has a random generator of its own, made from the seed, the conversation and the
    number of answers drawn to that conversation before. Concurrent requests about different things
    therefore never change each other's answers.

    Args:
        seed: What all chance is drawn from.
        world: What it knows and makes up.
        gullible: Which orders in what it reads it obeys.
    """

    def __init__(self, seed: int, world: World, *, gullible: Gullible = False) -> None:
        self._seed = seed
        self._world = world
        self._gullible: Gullible = gullible
        self._drawn: Counter[str] = Counter()

    def choices(
        self,
        request: ChatBody,
        task: Question | Writing | Correction | None = None,
        fault: Fault | None = None,
    ) -> list[Choice]:
        """Answer a request.

        Args:
            request: What is asked.
            task: What Resay asks for with it: a judge's answer, or one by documents; None where it
                asks for anything else.
            fault: What goes wrong; only faults in what is said matter here.

        Returns:
            As many choices as were asked for.
        """
        count = 1 if isinstance(fault, IgnoreN) else request.n or 1
        if isinstance(fault, EmptyAnswer):
            return [Choice()] * count
        functions = request.wanted_functions
        if isinstance(fault, Garbled) and not functions:
            return [_shortened(_sure(fault.text), request)] * count
        same = isinstance(fault, IdenticalSamples) or request.temperature == 0
        draws = [self._generator(request, i, same=same) for i in range(count)]
        if functions:
            return [self._call(request, functions, rng) for rng in draws]
        said = [self._say(request, task, rng) for rng in draws]
        return [_shortened(tokens, request) for tokens in said]

    def read(self, text: str) -> list[Token]:
        """Read a text somebody else wrote, and say how probable each token of it is.

        Args:
            text: The text. What its sentences say of the subject that it names is probable where
                that is known; names and numbers of the others are not.

        Returns:
            Its tokens, the same for the same text.
        """
        rng = random.Random(f"{self._seed} read {text}")
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

    def _say(
        self, request: ChatBody, task: Question | Writing | Correction | None, rng: random.Random
    ) -> list[Token]:
        order = ordered(request.given, self._gullible)
        if order is not None and not request.response_format:
            return _sure(order)
        if isinstance(task, Question):
            return _sure(task.answer(self._world, rng))
        texts = [text_of(message) for message in request.messages]
        form = request.response_format
        schema = form.schema_for(texts) if form else None
        if schema is not None:
            said = [*request.said_by_user, *(text for _, text in request.results)]
            return self._object(schema, said, request, rng)
        if task:
            return speak(task.answer(self._world, rng), rng, sure=True)
        tokens: list[Token] = []
        for statement in self._answer(request, rng).statements:
            space = " " if tokens else ""
            tokens += speak(space + statement.text, rng, sure=not statement.invented)
        return tokens

    def _answer(self, request: ChatBody, rng: random.Random) -> Reply:
        *before, question = [said.replace(CALL, "") for said in request.said_by_user] or [""]
        if not request.results:
            return self._world.answer(question, rng, before=before, context=request.told)
        known = any(map(self._world.find, (question, *before)))
        relayed = [_relay(*result, rng) for result in request.results]
        more = (
            self._world.answer(question, rng, before=before, context=request.told)
            if known
            else None
        )
        return Reply((*relayed, *(more.statements if more else ())))

    def _object(
        self,
        schema: Mapping[str, Any],
        said: Sequence[str],
        request: ChatBody,
        rng: random.Random,
    ) -> list[Token]:
        """Return the JSON text of an object that satisfies a schema."""
        node = fill(schema, said, self._world, rng, lambda: self._answer(request, rng).text)
        pieces = list(spoken(node))
        return [t for text, invented in pieces for t in speak(text, rng, sure=not invented)]

    def _call(self, request: ChatBody, functions: Sequence[Function], rng: random.Random) -> Choice:
        left = request.most_tokens
        calls: list[ToolCall] = []
        for function in functions:
            schema = {"type": "object", **(function.parameters or {})}
            tokens = self._object(schema, request.said_by_user, request, rng)
            cut = tokens[:left]
            left = None if left is None else left - len(cut)
            calls.append(ToolCall(f"call_{rng.getrandbits(96):024x}", function.name, tuple(cut)))
            if len(cut) < len(tokens):
                return Choice(finish_reason="length", tool_calls=tuple(calls))
        return Choice(finish_reason="tool_calls", tool_calls=tuple(calls))

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
        return random.Random(f"{self._seed} {turn} {conversation}")


def _sure(answer: str) -> list[Token]:
    rivals = {"Yes": "No", "No": "Yes"}
    return [Token(token, -_SURE, rivals.get(token.strip())) for token in tokenize(answer)]


def _relay(name: str, result: str, rng: random.Random) -> Statement:
    """Say what a tool answered, in one of a few wordings."""
    told = " ".join(result.split()) or "nothing"
    end = "" if told.endswith((".", "!", "?")) else "."
    return Statement(rng.choice(_WORDINGS).format(name, told) + end, invented=False)


def _shortened(tokens: list[Token], request: ChatBody) -> Choice:
    kept, stop = _stopped(tokens, request.stops)
    limit = request.most_tokens or len(kept)
    if len(kept) > limit:
        return Choice(tuple(kept[:limit]), "length")
    return Choice(tuple(kept), "stop", stop=stop)


def _stopped(tokens: list[Token], stops: Sequence[str]) -> tuple[list[Token], str | None]:
    """Return the tokens before the first of the texts at which an answer ends, and that text."""
    text = "".join(token.text for token in tokens)
    found = [(at, stop) for stop in stops if stop and (at := text.find(stop)) >= 0]
    if not found:
        return tokens, None
    kept: list[Token] = []
    room, first = min(found)
    for token in tokens:
        if room <= 0:
            break
        kept.append(replace(token, text=token.text[:room]))
        room -= len(token.text)
    return kept, first
