"""A scorer of your own.

pip install resay

A policy may name it by where it is, `- method: my_scorer:Numbers`. A package that is installed may
give it a name of its own with an entry point; in pyproject.toml:

    [project.entry-points."resay.scorers"]
    numbers = "my_scorer:Numbers"

and from then on a policy may say `- method: numbers`.
"""

import re
from typing import ClassVar, Literal

import anyio

from resay import Passage
from resay.plugins import Column, Evidence, Sample, SampleConfig, Samples, SampleScorer


class Numbers(SampleScorer):
    """Scores a sentence by the share of its numbers that a sample does not repeat."""

    name: ClassVar[str] = "numbers"

    class Config(SampleConfig):
        method: Literal["numbers"] = "numbers"

    def __init__(self, config: Config) -> None:
        self.config = config

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        known = set(re.findall(r"\d+", sample.text))
        return Column(tuple(self._missing(s.text, known) for s in passage.sentences))

    def _missing(self, sentence: str, known: set[str]) -> float | None:
        numbers = re.findall(r"\d+", sentence)
        if not numbers:
            return None
        return sum(number not in known for number in numbers) / len(numbers)


async def main() -> None:
    evidence = Evidence(samples=Samples(["It opened in 1932 with 4 lanes.", "It opened in 1932."]))
    passage = Passage.of("It opened in 1932. It has 6 lanes.")
    scores = await Numbers(Numbers.Config()).score(passage, evidence)
    print(scores.sentences)


if __name__ == "__main__":
    anyio.run(main)
