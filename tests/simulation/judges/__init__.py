"""The simulated provider as a judge: it compares words with what it knows, and says what it sees.

Every form in which a judged method asks has its recogniser and its answer here. What a text is
compared with is what the question gives (`context`) or the facts of the world (the others). A
sentence is supported when the text has all its numbers and names and at least 60 % of its other
words.

    context     SelfCheckGPT with Prompt, also with tasks      Yes or No, for one sentence or a list
    knowledge   Direct Question                                Yes or No
                zero-shot                                      factual or non-factual
    examiner    cross-examination                              questions, answers, a conclusion
    search      Reverse Validation                             a name, a description, what is found
    exam        fill-in-the-blank exam                         blanks, filled sentences, points

Only an exam's answers hold anything made up, and differ from draw to draw.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulation.judges import context, exam, examiner, knowledge, search
from simulation.judges.form import Asked, Form

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from resay.testing.world import World

__all__ = ["Question", "question_in"]

# What a response says inside of a question may look like a question; forms that take the whole
# message stand before those that look for themselves inside of it.
_FORMS: tuple[Form, ...] = (
    *knowledge.FORMS,
    *examiner.FORMS,
    *exam.FORMS,
    *search.FORMS,
    *context.FORMS,
)
# A judge whose answer could not be read is told the form of the answer once more.
_RESTATED = re.compile(r"\s*(?:Answer with|Write) ")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a judge.

    Attributes:
        form: What kind of question it is.
        parts: What it is made of.
        restated: Whether it was answered before and is asked once more.
    """

    form: Form
    parts: Mapping[str, str]
    restated: bool = False

    def answer(self, world: World, rng: random.Random) -> str:
        """Answer honestly.

        Args:
            world: What the judge knows.
            rng: Where it draws what it makes up from.
        """
        return self.form.answer(Asked(self.parts, world, rng))


def question_in(said: Sequence[str]) -> Question | None:
    """Recognise a question to a judge.

    Args:
        said: The user's messages, oldest first.

    Returns:
        The question that the last message asks, or asks once more; None when it is none.
    """
    if not said:
        return None
    for form in _FORMS:
        parts = form.recognise(said)
        if parts is not None:
            return Question(form, parts)
    again = question_in(said[:-1]) if _RESTATED.match(said[-1]) else None
    return replace(again, restated=True) if again else None
