"""Finds loops: text that a model repeats until something stops it.

A loop is the same words over and over without anything between, or a row of sentences that begin
alike and hardly go on differently. Lists, tables, code, refrains and rows of similar facts are
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage, Sentence
from resay.core.tokens import tokenize

# So long, and so often, do the same words follow each other in a loop.
_MIN_WORDS, _MIN_TIMES = 24, 4
# A refrain may be sung more often than a sentence is said.
_MIN_VERSE_TIMES = 8
# A paragraph need not be repeated as often.
_LONG_WORDS, _MIN_LONG_TIMES = 20, 3
# Words in a row by which a repetition is found.
_GRAM = 4
# So many sentences in a row begin with so many same words, and share so much of the rest.
_MIN_SENTENCES, _SAME_WORDS, _MIN_SHARED = 6, 4, 0.5
_FACT = lazy_pattern(r"\d|(?<=\w\s)[^\W\d_a-zß-öø-ÿ]")
_STOP = lazy_pattern(r"[.!?…。！？।][\"'”’»)\]*_]*\Z")


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop.

    Attributes:
        words: What is repeated, in lower case.
        times: How often.
        whole: Whether that is all that is said; otherwise it only begins each of the sentences.
    """

    words: tuple[str, ...]
    times: int
    whole: bool

    @property
    def reason(self) -> str:
        """What a verdict says of it, without content."""
        count = len(self.words)
        same = f"the same {count} words" if count > 1 else "the same word"
        if self.whole:
            return f"the answer is a loop: it repeats {same} {self.times} times in a row"
        return f"the answer is a loop: {self.times} sentences in a row begin with {same}"


def find_loop(passage: Passage, question: str = "") -> Loop | None:
    """Return a loop in a text; None if there is none, or if the question has the words in it.

    Args:
        passage: The text.
        question: What it answers. Who asks for repetition names what to repeat.
    """
    for section in _sections(passage):
        loop = _repetition(passage, section) or _same_beginnings(passage, section)
        if loop is not None and not set(_words_in(question)).issuperset(loop.words):
            return loop
    return None


def _words_in(text: str) -> list[str]:
    words = [token.strip("'’") for token in tokenize(text)]
    return [word for word in words if word and word[0].isalnum()]


def _sections(passage: Passage) -> Iterator[Sequence[Sentence]]:
    """Yield runs of sentences and list items that nothing else interrupts."""
    section: list[Sentence] = []
    for sentence in passage.sentences:
        if sentence.unit in ("sentence", "item"):
            section.append(sentence)
        elif section:
            yield section
            section = []
    if section:
        yield section


def _repetition(passage: Passage, section: Sequence[Sentence]) -> Loop | None:
    """Return the same words over and over without anything between."""
    words: list[str] = []
    # The sentence of each word.
    owners: list[Sentence] = []
    for sentence in section:
        own_words = _words_in(sentence.text)
        words += own_words
        owners += [sentence] * len(own_words)
    last_seen: dict[tuple[str, ...], int] = {}
    # How far the words repeat those before them, and since which of them.
    distance, start = 0, 0
    for index in range(len(words) - _GRAM + 1):
        gram = tuple(words[index : index + _GRAM])
        previous = last_seen.get(gram)
        last_seen[gram] = index
        if previous is None:
            distance = 0
            continue
        if index - previous != distance:
            distance, start = index - previous, index
        first, end = start - distance, index + _GRAM
        times, remainder = divmod(end - first, distance)
        is_long = distance >= _LONG_WORDS and times >= _MIN_LONG_TIMES
        is_often = end - first >= _MIN_WORDS and times >= _MIN_TIMES
        if remainder or not (is_long or is_often):
            continue
        if times >= _MIN_VERSE_TIMES or not _is_verse(passage, owners[first:end]):
            return _longest(words, first, distance)
    return None


def _longest(words: Sequence[str], first: int, distance: int) -> Loop:
    """Return a loop as far as it goes.

    Args:
        words: The words of the text.
        first: The index of its first word.
        distance: How many words it repeats.
    """
    end = first + distance
    while end < len(words) and words[end] == words[end - distance]:
        end += 1
    repeated = tuple(words[first : first + distance])
    return Loop(words=repeated, times=(end - first) // distance, whole=True)


def _is_verse(passage: Passage, sentences: Sequence[Sentence]) -> bool:
    """Whether sentences are lines that end without a stop, as in songs."""
    lines = 0
    for sentence in sentences:
        after = passage.text[sentence.end : sentence.end + 1]
        is_line = "\n" in sentence.text or after == "\n"
        lines += is_line and sentence.unit == "sentence" and not _STOP.search(sentence.text)
    return lines * 2 > len(sentences)


def _same_beginnings(passage: Passage, section: Sequence[Sentence]) -> Loop | None:
    """Return a row of sentences in one paragraph that begin alike and state no different facts."""
    row: list[list[str]] = []
    previous: Sentence | None = None
    for sentence in section:
        words = _words_in(sentence.text)
        is_beside = previous is not None and "\n" not in passage.text[previous.end : sentence.start]
        is_alike = bool(row) and is_beside and words[:_SAME_WORDS] == row[0][:_SAME_WORDS]
        states_fact = sentence.unit != "sentence" or _FACT.search(sentence.text) is not None
        if states_fact or len(words) < _SAME_WORDS:
            row = []
        elif is_alike and _is_similar(row[-1], words):
            row.append(words)
        else:
            row = [words]
        previous = sentence
        if len(row) >= _MIN_SENTENCES:
            return _whole_row(section, row[0])
    return None


def _whole_row(section: Sequence[Sentence], first: Sequence[str]) -> Loop:
    beginning = tuple(first[:_SAME_WORDS])
    times = 0
    for sentence in section:
        words = _words_in(sentence.text)
        times += tuple(words[:_SAME_WORDS]) == beginning
    return Loop(words=beginning, times=times, whole=False)


def _is_similar(a: Sequence[str], b: Sequence[str]) -> bool:
    words_a, words_b = set(a), set(b)
    return len(words_a & words_b) >= _MIN_SHARED * max(len(words_a), len(words_b))
