"""The published prompts of chat models trained to check claims, and what their answers mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, cast

from resay.core.logprobs import word_probability
from resay.models.chat import ChatAnswer, ChatRequest
from resay.scorers.common.guardian import UNGROUNDED, guardian_probability, guardian_request
from resay.scorers.common.objects import objects_in
from resay.scorers.judge_problems import JudgeProblem


class ClaimPrompt(Protocol):
    """Asks a model whether documents support a claim."""

    together: bool
    """Whether the model reads all documents at once; else one at a time."""

    def request(self, claim: str, documents: Sequence[str], question: str) -> ChatRequest:
        """Return the request about a claim.

        Args:
            claim: The claim.
            documents: The documents; one, unless it reads them together.
            question: The question that was answered; empty if there is none.
        """
        ...

    def support(self, answer: ChatAnswer) -> float | None:
        """Return the probability that the documents support the claim; None if it says neither."""
        ...


class Bespoke:
    """Bespoke-MiniCheck-7B: its prompt, and the probability that the first token is "Yes".

    Both are those of the code released with MiniCheck (Tang, Laban and Durrett, EMNLP 2024).
    """

    together = False
    _SYSTEM = (
        "Determine whether the provided claim is consistent with the corresponding document."
        " Consistency in this context implies that all information presented in the claim is"
        " substantiated by the document. If not, it should be considered inconsistent. Please"
        " assess the claim's consistency with the document by responding with either"
        ' "Yes" or "No".'
    )

    def request(self, claim: str, documents: Sequence[str], question: str) -> ChatRequest:
        """Return the request about a claim; the question is not part of it."""
        del question
        (document,) = documents
        return ChatRequest(
            messages=[
                ("system", self._SYSTEM),
                ("user", f"Document: {document}\nClaim: {claim}"),
            ],
            max_tokens=1,
            top_logprobs=5,
        )

    def support(self, answer: ChatAnswer) -> float | None:
        """Return the probability of "Yes"; 1 or 0 if the server returned none."""
        if answer.tokens:
            yes = word_probability(answer.tokens[0], "yes")
            if yes or word_probability(answer.tokens[0], "no"):
                return min(yes, 1.0)
        return {"yes": 1.0, "no": 0.0}.get(answer.text.strip().strip(".").lower())


class GraniteGuardian:
    """Granite Guardian 3.3 and 4.1: groundedness, without reasoning.

    The claim is the assistant's text; see `resay.scorers.common.guardian`.

    Args:
        version: The major version of the model.
    """

    together = True

    def __init__(self, version: int) -> None:
        self._version = version

    def request(self, claim: str, documents: Sequence[str], question: str) -> ChatRequest:
        """Return the request about a claim; the question is not part of it."""
        del question
        messages = [("assistant", claim)]
        return guardian_request(messages, UNGROUNDED, self._version, documents=documents)

    def support(self, answer: ChatAnswer) -> float | None:
        """Return the probability that the claim is grounded."""
        probability = guardian_probability(answer)
        return None if probability is None else 1.0 - probability


class Lynx:
    """Lynx: its prompt with the question, all documents and the claim as the answer.

    Ravi, Mielczarek, Kannappan, Kiela and Qian, "Lynx: An Open Source Hallucination Evaluation
    Model", 2024. It was trained on whole answers, reasons first, and ends in "PASS" or "FAIL".
    """

    together = True
    _PROMPT = """Given the following QUESTION, DOCUMENT and ANSWER you must analyze the provided \
answer and determine whether it is faithful to the contents of the DOCUMENT. The ANSWER must not \
offer new information beyond the context provided in the DOCUMENT. The ANSWER also must not \
contradict information provided in the DOCUMENT. Output your final verdict by strictly following \
this format: "PASS" if the answer is faithful to the DOCUMENT and "FAIL" if the answer is not \
faithful to the DOCUMENT. Show your reasoning.

--
QUESTION (THIS DOES NOT COUNT AS BACKGROUND INFORMATION):
{question}

--
DOCUMENT:
{document}

--
ANSWER:
{answer}

--

Your output should be in JSON FORMAT with the keys "REASONING" and "SCORE":
{{"REASONING": <your reasoning as bullet points>, "SCORE": <your final score>}}
"""

    def request(self, claim: str, documents: Sequence[str], question: str) -> ChatRequest:
        """Return the request about a claim."""
        document = "\n".join(documents)
        prompt = self._PROMPT.format(question=question, document=document, answer=claim)
        return ChatRequest(messages=[("user", prompt)], max_tokens=600)

    def support(self, answer: ChatAnswer) -> float | None:
        """Return 1 for "PASS" and 0 for "FAIL"."""
        if answer.was_cut:
            # What it has quoted of the claim so far may say "PASS".
            return None
        scores = re.findall(r"SCORE[\"']?\s*:\s*[\"'\[\s]*(PASS|FAIL)\b", answer.text)
        return {"PASS": 1.0, "FAIL": 0.0}[scores[-1]] if scores else None


def unread_problem(model: str, request: ChatRequest, answer: ChatAnswer) -> JudgeProblem:
    """Return why an answer could not be read.

    Args:
        model: The model's name.
        request: The request; its limit is that of the published prompt.
        answer: The answer.
    """
    what_happened = "could not be read"
    if answer.was_cut and request.max_tokens > 1:
        what_happened = f"was cut off at the {request.max_tokens} tokens of its published prompt"
    return JudgeProblem(
        role="model",
        model=model,
        what_happened=what_happened,
        is_about_answer=True,
        was_cut=answer.was_cut,
    )


def json_object_in(text: str, key: str) -> dict[str, object] | None:
    """Return the last JSON object in a text that has a key; None if there is none.

    What a model writes before its verdict may quote an object from the answer that it examines.
    """
    result: dict[str, object] | None = None
    for span in objects_in(text):
        values = cast("list[object]", span.value if isinstance(span.value, list) else [span.value])
        for value in values:
            if isinstance(value, dict) and key in value:
                result = cast("dict[str, object]", value)
    return result
