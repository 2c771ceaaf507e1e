"""Questions about a context that is given: SelfCheckGPT's, one sentence at a time or in a list.

Whatever stands before them does not matter, so that tests may word their own.
"""

from __future__ import annotations

from resay.testing.world import supports
from simulation.judges.form import Asked, Form, in_last, numbered

__all__ = ["FORMS"]


def _judge_one(asked: Asked) -> str:
    return _yes_or_no(asked.parts["context"], asked.parts["sentence"])


def _judge_each(asked: Asked) -> str:
    """Answer with one line per sentence: "1: Yes"."""
    context, sentences = asked.parts["context"], numbered(asked.parts["sentences"])
    answers = [_yes_or_no(context, sentence) for sentence in sentences]
    return "\n".join(f"{number}: {answer}" for number, answer in enumerate(answers, 1))


def _yes_or_no(context: str, sentence: str) -> str:
    return "Yes" if supports(context, sentence) else "No"


FORMS = (
    Form(
        in_last(
            r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
            r"Is the sentence supported by the context above\?"
        ),
        _judge_one,
    ),
    Form(
        in_last(r"^\s*Context:(?P<context>.*)^\s*Sentences:(?P<sentences>(?:.*\n)?\s*1\s*[.):].*)"),
        _judge_each,
    ),
)
