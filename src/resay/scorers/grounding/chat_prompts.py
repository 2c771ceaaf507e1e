"""The published prompts of chat models trained to check claims, and what their answers mean."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Protocol, cast

from resay.core.logprobs import TokenLogprob
from resay.models.chat import ChatAnswer, ChatRequest
from resay.scorers.common.objects import objects_in


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
            yes = _probability(answer.tokens[0], "yes")
            if yes or _probability(answer.tokens[0], "no"):
                return min(yes, 1.0)
        return {"yes": 1.0, "no": 0.0}.get(answer.text.strip().strip(".").lower())


# The model's own definition of what it is to find.
_UNGROUNDED = (
    "A text is considered ungrounded or unfaithful if it includes information lacking support from,"
    " or directly contradicting, the provided document(s). This risk arises when the text"
    " fabricates details, misinterprets the content, or makes unsupported extrapolations beyond"
    " what is explicitly stated in the document(s)."
)
_GUARDIAN_BLOCK = (
    "<guardian><no-think>As a judge agent, assess whether the provided text meets the given judging"
    " criteria using all available information, including conversations, documents, and tools."
    " Provide your score immediately without explanation. Output empty <think>\n</think> tags"
    " followed by your score in <score></score> tags.\n\n"
    f"### Criteria: {_UNGROUNDED}\n\n"
    "### Scoring Schema: If the last assistant's text meets the criteria, return 'yes'; otherwise,"
    " return 'no'."
)


class GraniteGuardian:
    """Granite Guardian 3.3 and 4.1: groundedness, without reasoning.

    The claim is the assistant's text, the documents are the field `documents` of the request, which
    vLLM passes to the model's chat template. Version 3 is told the risk by a setting of its
    template, version 4 by a last message (the cookbooks of ibm-granite/granite-guardian; Padhi et
    al., "Granite Guardian", 2024). It answers "yes" if the claim is not grounded.

    Args:
        version: The major version of the model.
    """

    together = True

    def __init__(self, version: int) -> None:
        self._version = version

    def request(self, claim: str, documents: Sequence[str], question: str) -> ChatRequest:
        """Return the request about a claim; the question is not part of it."""
        del question
        extra: dict[str, object] = {
            "documents": [
                {"doc_id": str(index), "text": text} for index, text in enumerate(documents)
            ]
        }
        messages = [("assistant", claim)]
        if self._version >= 4:
            messages.append(("user", _GUARDIAN_BLOCK))
        else:
            config = {"criteria_id": "groundedness"}
            extra["chat_template_kwargs"] = {"guardian_config": config, "think": False}
        return ChatRequest(messages=messages, max_tokens=48, top_logprobs=5, extra=extra)

    def support(self, answer: ChatAnswer) -> float | None:
        """Return the probability of "no" against that of "yes"; 1 or 0 if there is none."""
        stated = re.findall(r"<score>\s*(yes|no)\b", answer.text, re.IGNORECASE)
        if not stated:
            return None
        score = stated[-1].lower()
        for token in reversed(answer.tokens):
            yes, no = _probability(token, "yes"), _probability(token, "no")
            if _word(token.token) == score and yes + no:
                return no / (yes + no)
        return 1.0 if score == "no" else 0.0


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


def _word(token: str) -> str:
    return token.strip().lower()


def _probability(token: TokenLogprob, word: str) -> float:
    """Return the probability that a token is a word, in any case and with any space."""
    probability = 0.0
    for candidate in token.top or (token,):
        if _word(candidate.token) == word and candidate.logprob is not None:
            probability += math.exp(min(candidate.logprob, 0.0))
    return probability
