"""What ChatGPT answered about the passages of PHD, in the order in which our scorers ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Literal

from resay.benchmarks import metrics
from resay.benchmarks.judges import RECORDED, RecordedJudge
from resay.benchmarks.loading import Lenient, parse_row, read_lines
from resay.benchmarks.measuring import Item
from resay.errors import ConfigurationError
from resay.scorers.reverse_validation import Entity, Variant, without

__all__ = ["JUDGE", "TURNS", "Recordings", "Threshold", "bertscore_threshold"]

JUDGE = f"{RECORDED}chatgpt"
"""The judge whose answers are recorded."""

TURNS = 4
"""How many sets of questions the recorded examinations may have; the longest have as many."""

_RECORDED = "phd_recorded.jsonl"
_WIKIBIO = "wikibio_gpt3.jsonl"
_WIKIBIO_RECORDED = "wikibio_gpt3_recorded.jsonl"

_MORE = " Do you have any follow-up questions? Please answer with Yes or No."
# What bert-score 0.3 takes off and divides by when it rescales F1 of English texts (roberta-large,
# layer 17).
_BASELINE = 0.83122575


class _Question(Lenient):
    question: str
    answer: str


class _Requirements(Lenient):
    requirements: str
    answer: str


class _Turn(Lenient):
    role: Literal["user", "assistant"]
    content: str


class _Row(Lenient):
    id: int
    rv_qg: _Question
    rv_em: _Requirements
    lm_vs_lm: list[_Turn]
    zero_shot: str
    bertscore_roberta_large: float


def _examination(turns: Sequence[_Turn]) -> list[str]:
    """Return what examiner and examinee said, without the words of the script between them.

    The examiner's turns are the assistant's. The examinee's answers stand in the user's, before
    the script's question whether there are more.
    """
    said: list[str] = []
    sets = 0
    for before, turn in pairwise(turns):
        if turn.role == "user" and turn.content.endswith(_MORE):
            said.append(turn.content.removesuffix(_MORE))
            sets += 1
        # After the last set it may ask, our examiner is not asked whether it has more.
        elif turn.role == "assistant" and not (sets == TURNS and before.content.endswith(_MORE)):
            said.append(turn.content)
    if sets > TURNS:
        raise ConfigurationError(f"an examination has {sets} sets of questions; {TURNS} are read")
    return said


_SCRIPTS: Mapping[str, Callable[[_Row], list[str]]] = {
    "reverse_validation:question": lambda row: [row.rv_qg.question, row.rv_qg.answer],
    "reverse_validation:matching": lambda row: [row.rv_em.requirements, row.rv_em.answer],
    "cross_examination:revised": lambda row: _examination(row.lm_vs_lm),
    "zero_shot:per_passage": lambda row: [row.zero_shot],
}


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recorded answers about some passages.

    Attributes:
        items: The passages.
        rows: What was recorded about each.
    """

    items: tuple[Item, ...]
    rows: tuple[_Row, ...]

    @classmethod
    def read(cls, data: Path, items: Iterable[Item]) -> Recordings:
        """Read them.

        Args:
            data: The folder they are in.
            items: The passages they are to be about.

        Raises:
            ConfigurationError: They are not there, not valid, or about other passages.
        """
        path = data / _RECORDED
        if not path.is_file():
            raise ConfigurationError(
                f"there is no {str(path)!r}, and recordings cannot be fetched; ask a model"
                " with --judge, and leave bertscore out"
            )
        lines = read_lines(path)
        chosen = tuple(items)
        rows = tuple(parse_row(_Row, lines, item.index, path) for item in chosen)
        for item, row in zip(chosen, rows, strict=True):
            if row.id != item.index:
                raise ConfigurationError(
                    f"{str(path)!r}, line {item.index + 1}: this is passage {row.id!r}, not"
                    f" {item.index!r}; sort the lines by `id`"
                )
        return cls(chosen, rows)

    def judge(self, entry: str) -> RecordedJudge:
        """Return the judge who gives the answers to one entry.

        Args:
            entry: Its name.

        Raises:
            ConfigurationError: An examination is longer than can be read.
        """
        script = _SCRIPTS[entry]
        pairs = zip(self.items, self.rows, strict=True)
        return RecordedJudge(JUDGE, {item.index: script(row) for item, row in pairs})

    def leaks(self, variant: Variant) -> int:
        """Return how many of the recorded questions or lists name the entity."""
        return sum(
            without(text, Entity(entity), variant) != text
            for text, entity in zip(self._descriptions(variant), self._entities(), strict=True)
        )

    def _descriptions(self, variant: Variant) -> list[str]:
        if variant == "question":
            return [row.rv_qg.question for row in self.rows]
        return [row.rv_em.requirements for row in self.rows]

    def _entities(self) -> list[str]:
        return [(item.query.entity if item.query else None) or "" for item in self.items]

    def over(self, threshold: float) -> list[bool]:
        """Return which passages have a BERTScore over a threshold."""
        return [row.bertscore_roberta_large > threshold for row in self.rows]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold for BERTScore, chosen on WikiBio.

    Attributes:
        rescaled: As chosen, on scores that are rescaled with the baseline.
        value: The same for scores that are not.
        passages: How many passages it was chosen on.
        f1: Their F1 with it, in percent.
    """

    rescaled: float
    value: float
    passages: int
    f1: float


class _Labelled(Lenient):
    labels: list[str]


class _Scored(Lenient):
    bert_scores: list[float] | None


def bertscore_threshold(data: Path) -> Threshold:
    """Choose the threshold as the paper does (section 5): the best one for WikiBio.

    Scores are means over a passage's sentences, and a passage with any wrong sentence is to be
    found. What is recorded of WikiBio is 1 - (F - b)/(1 - b), with BERTScore's baseline b; what is
    recorded of PHD is 1 - F, to which the threshold is taken back.

    Args:
        data: The folder with the WikiBio data and its recordings.

    Returns:
        The threshold with the greatest F1, the smallest of several.

    Raises:
        ConfigurationError: The files are not there, not valid, or hold no such scores.
    """
    path, recorded = data / _WIKIBIO, data / _WIKIBIO_RECORDED
    lines, scored = read_lines(path), read_lines(recorded)
    wrong: list[bool] = []
    scores: list[float] = []
    for i in range(len(scored)):
        sentences = parse_row(_Scored, scored, i, recorded).bert_scores
        if sentences:
            labels = parse_row(_Labelled, lines, i, path).labels
            wrong.append(any(label != "accurate" for label in labels))
            scores.append(fmean(sentences))
    if not any(wrong):
        raise ConfigurationError(f"{str(recorded)!r} has no `bert_scores` of a wrong passage")
    found = {t: metrics.f1(wrong, [s > t for s in scores]) or 0.0 for t in sorted(set(scores))}
    best = max(found, key=lambda threshold: found[threshold])
    return Threshold(best, best * (1.0 - _BASELINE), len(scores), found[best])
