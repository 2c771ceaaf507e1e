"""Asks a judge a question with two answers, and measures its confidence in the first."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from math import exp
from typing import Literal

from resay.core.failures import failure_kind
from resay.core.logprobs import TokenLogprob
from resay.errors import ProviderError
from resay.providers.base import Completion
from resay.providers.layers import WithLogprobs
from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices, Stated
from resay.scorers.common.judge_calls import (
    TOKENS_OF_VERDICT,
    ParsedAnswer,
    ask_together,
    max_answer_tokens,
    sendable,
    settle_slots,
)
from resay.scorers.judge import Judge

By = Literal["auto", "logprobs", "votes"]
"""How to measure a judge's confidence: by the probabilities of its first words, by the shares of
several answers, or by the probabilities if the provider returns them, else by shares (auto)."""
_ALTERNATIVES = 5
# Of an answer whose probabilities are read.
_MAX_CHARS = 4_000


async def ask_probability(
    judge: Judge,
    prompt: str,
    choices: Choices[bool],
    restatement: str | None,
    *,
    by: By = "auto",
    votes: int = 5,
) -> ParsedAnswer[float]:
    """Ask a judge a question with two answers, and return its confidence in the first.

    Args:
        judge: The judge.
        prompt: The question.
        choices: What it may answer: True for the first answer, False for the second.
        restatement: As for `ask`.
        by: How to measure the confidence. By logprobs, it is the first answer's probability
            relative to both, over the most probable tokens at the place where the judge states its
            answer.
        votes: Number of answers if the confidence is their share.

    Returns:
        The confidence as the only slot; None without probabilities if fewer than half of the votes
        could be parsed.
    """

    def parse(answer: Completion) -> list[bool | None]:
        return read_items(answer.text, 1, choices)

    votes_cast: tuple[ParsedAnswer[bool], ...] = ()
    max_tokens = max_answer_tokens(parse, TOKENS_OF_VERDICT)
    if by != "votes":
        messages = sendable(prompt)
        with_logprobs = replace(judge, provider=WithLogprobs(judge.provider, _ALTERNATIVES))
        try:
            first = (await with_logprobs.complete(messages, max_tokens=max_tokens)).first
        except ProviderError as error:
            return ParsedAnswer((None,), answered=False, failures=(failure_kind(error),))
        confidence = _confidence(first, choices)
        if confidence is not None:
            return ParsedAnswer((confidence,))
        if by == "logprobs":
            return ParsedAnswer((None,), problem=judge.add_unread(first))
        votes_cast = (await settle_slots(judge, messages, first, parse, restatement, max_tokens),)
    missing = votes - len(votes_cast)
    if missing:
        varied = await ask_together(judge.varied(), prompt, parse, restatement, missing)
        votes_cast = (*votes_cast, *varied)
    parsed_votes = [vote for cast in votes_cast for vote in cast.slots if vote is not None]
    is_enough = len(parsed_votes) * 2 >= votes
    return ParsedAnswer(
        (sum(parsed_votes) / len(parsed_votes) if is_enough else None,),
        answered=any(cast.answered for cast in votes_cast),
        failures=tuple(failure for cast in votes_cast for failure in cast.failures),
    )


def _confidence(answer: Completion, choices: Choices[bool]) -> float | None:
    """Return the probability of the first of two answers, where the judge states one of them."""
    stated = choices.find(answer.text[:_MAX_CHARS])
    # Without a statement, a token that looks like one may be an article.
    token = None if stated is None else _token_at(answer, stated, choices)
    if stated is None or token is None or token.logprob is None:
        return None
    alternatives = {top.token: top.logprob for top in token.top}
    mass = {True: 0.0, False: 0.0}
    for text, logprob in {**alternatives, token.token: token.logprob}.items():
        meaning = stated.value if text == token.token else _meaning_of_token(text, choices)
        if meaning is not None:
            mass[meaning] += exp(min(logprob, 0.0))
    if not alternatives:
        mass[not stated.value] = max(1.0 - mass[stated.value], 0.0)
    total = mass[True] + mass[False]
    return mass[True] / total if total else float(stated.value)


def _token_at(
    answer: Completion, stated: Stated[bool], choices: Choices[bool]
) -> TokenLogprob | None:
    """Return the token that begins what the judge states."""
    texts = [token.token for token in answer.logprobs]
    if "".join(texts) == answer.text == unicodedata.normalize("NFKC", answer.text):
        end = 0
        for token in answer.logprobs:
            end += len(token.token)
            if end > stated.start:
                return token
        return None
    for token in answer.logprobs:
        if _meaning_of_token(token.token, choices) == stated.value:
            return token
    return None


def _meaning_of_token(token: str, choices: Choices[bool]) -> bool | None:
    # A lone small letter is more likely the article.
    if len(token.strip()) == 1 and token.strip() not in choices.letters:
        return None
    return choices.whole(token)
