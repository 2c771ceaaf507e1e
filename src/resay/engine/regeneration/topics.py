"""What a question is about, told by its form: quoted words, names, or what is left of it.

What only says what to do ("Write a short paragraph about", "in 100 words") is left out as far as
that can be seen from its words, in seven European languages, Russian, and, by the particles around
the object, Chinese, Japanese and Korean. In other languages the question stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from resay.core.passage import Passage
from resay.engine.regeneration.asking import COMPARING, LABEL, LEAD_INS, ORDERS, STOP_WORDS, TAIL
from resay.engine.regeneration.plain import has_words, plain
from resay.scorers.reverse_validation.words import Word, join, read_words

__all__ = ["Topic", "content_of", "shortened", "topic_of"]

_CHARS = 80
_MOST_NAMES = 3
# Of a longer question the beginning and the end are read: what it asks seldom stands between them.
_READ_CHARS = 600
# A name is named by all of its words; of a longer phrase two in three will do.
_ALL_WORDS = 4
_THIN = 2

_QUOTED = re.compile(
    r"[“„«「『《‹]([^“”„«»「」『』《》‹›]{2,80})[”“»」』》›]|(?<!\w)\"([^\"]{2,80})\"(?!\w)"
)
_ASKS = re.compile(r"[?？؟;⁇]\W*\Z")
_AND = frozenset({"and", "&", "y", "e", "et", "und"})
_OF = "of the de del di da du des la le les el von van der den ten ter zu"
_INSIDE_NAMES = _AND.union(_OF.split())
_ADJOINS = re.compile(r"[\s\-‐‑'’.&/]{0,2}")
_QUOTES = re.compile(r"[\"“”„«»「」『』《》‹›]")
_EDGES = re.compile(r"\A[\W_]+|(?<![^\w)\]])[^\w)\]]+\Z")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question is about.

    Attributes:
        names: What it names, each to be said where a sentence does not.
        focus: What it asks about, in its own words; said where a sentence says hardly anything.
        compares: Whether it asks about several things, of which a sentence may name one.
    """

    names: tuple[str, ...]
    focus: str = ""
    compares: bool = False

    @property
    def longest(self) -> int:
        """How many characters `missing` returns at the most."""
        return max(len(", ".join(self.names)), len(", ".join(self._with_focus(self.names))))

    def missing(self, claim: str) -> str:
        """Return what is to be said before a claim; empty where it names all of that itself."""
        names = [name for name in self.names if not _is_named(name, claim)]
        if self.compares and len(names) < len(self.names):
            names = []
        own = content_of(claim) - content_of(" ".join(self.names))
        if len(own) < _THIN and self.focus and not _is_named(self.focus, claim):
            names = self._with_focus(names)
        return ", ".join(names)

    def _with_focus(self, names: Iterable[str]) -> list[str]:
        beside = [name for name in names if not _is_named(name, self.focus)]
        return [*beside, self.focus] if self.focus else beside


def content_of(text: str) -> frozenset[str]:
    """Return the words of a text that say something, folded for comparing."""
    return frozenset(w.key for w in read_words(text) if not _is_stop(w))


def _is_stop(word: Word) -> bool:
    return word.small or word.text.lower() in STOP_WORDS


def _is_named(name: str, text: str) -> bool:
    wanted, there = read_words(name), read_words(text)
    joined = join(wanted)
    # Where words are not set apart, or have endings, a name stands inside of others.
    if (len(joined) > _ALL_WORDS or not joined.isascii()) and joined in join(there):
        return True
    keys = {w.key for w in wanted if not w.small} or {w.key for w in wanted}
    if any(not key.isascii() for key in keys):
        return False
    found = len(keys & {w.key for w in there})
    return found == len(keys) or (len(keys) > _ALL_WORDS and 3 * found >= 2 * len(keys))


def topic_of(question: str, entity: str | None = None) -> Topic:
    """Return what a question is about.

    Args:
        question: The text of a user's message, plain or Markdown; may be empty.
        entity: What it is mainly about, where that is known; it is then taken for its only name.

    Returns:
        The topic, without names where the question has no words.
    """
    asked, others = _parts(question)
    phrases = [phrase for phrase in map(_phrase, asked) if phrase]
    focus = shortened(phrases[0], _CHARS) if phrases else ""
    if entity and has_words(entity):
        return Topic((shortened(plain(entity), _CHARS),), focus)
    compares = any(COMPARING.search(part) for part in asked)
    names = _distinct(_names_in(asked, others, apart=compares))
    return Topic(tuple(names) or ((focus,) if focus else ()), focus, compares)


def _parts(question: str) -> tuple[list[str], list[str]]:
    """Divide a question into what asks, without what says how to answer, and the rest."""
    text = question.strip()
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n\n{text[-_READ_CHARS:]}"
    sentences = [sentence.text for sentence in Passage.of(text).sentences] or [text]
    plains = [LABEL.sub("", plain(sentence), count=1) for sentence in sentences]
    objects = [_object(sentence) for sentence in plains]
    asked: list[str] = []
    others: list[str] = []
    for sentence, found in zip(plains, objects, strict=True):
        if found:
            asked.append(found)
        elif _ASKS.search(sentence):
            asked.append(TAIL.sub("", sentence))
        elif has_words(sentence) and not ORDERS.match(sentence):
            others.append(TAIL.sub("", sentence))
    return (asked, others) if asked else (others or plains, [])


def _object(sentence: str) -> str:
    """Return what a sentence wants something to be written about; empty where it does not say."""
    for lead_in in LEAD_INS:
        if found := lead_in.match(sentence):
            return TAIL.sub("", found["object"])
    return ""


def _phrase(text: str) -> str:
    """Return a sentence without the words of asking at its ends."""
    words = list(dropwhile(_is_stop, read_words(text)))
    while words and _is_stop(words[-1]):
        words.pop()
    inner = text[words[0].start : words[-1].end] if words else ""
    return _EDGES.sub("", _QUOTES.sub("", inner))


def _names_in(asked: Sequence[str], others: Sequence[str], *, apart: bool) -> Iterator[str]:
    """Yield what is quoted, then what is capitalised.

    Args:
        asked: Where to look.
        others: Where to look then; there, the first word of a sentence is no name.
        apart: Whether "and" divides names, and is no part of one.
    """
    for text in (*asked, *others):
        for quoted in _QUOTED.finditer(text):
            yield quoted[1] or quoted[2]
    small = _INSIDE_NAMES - _AND if apart else _INSIDE_NAMES
    for text in asked:
        yield from (name for _, name in _capitalised(text, small))
    for text in others:
        yield from (name for first, name in _capitalised(text, small) if first or " " in name)


def _capitalised(text: str, small: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield runs of capitalised words, each with the number of its first word."""
    # In a text all in capitals, or in a script that has none, they tell nothing.
    words = read_words(text) if any(map(str.islower, text)) else []
    i = 0
    while i < len(words):
        end = _end_of_name(text, words, i, small)
        run = words[i:end]
        # "Is Venice" begins a sentence; "The Who" inside one is a name.
        if i == 0 or len(run) == 1:
            run = list(dropwhile(_is_stop, run))
        if run:
            yield i, text[run[0].start : run[-1].end]
        i = max(end, i + 1)


def _end_of_name(text: str, words: Sequence[Word], first: int, small: frozenset[str]) -> int:
    """Return where a run of capitalised words ends that begins at a word; there, if it is none."""
    end = i = first
    if not words[first].capital:
        return first
    while i < len(words) and (i == first or _adjoins(text, words[i - 1], words[i])):
        if words[i].capital or (i > first and words[i].text[0].isdecimal()):
            end = i + 1
        elif words[i].text not in small:
            break
        i += 1
    return end


def _adjoins(text: str, a: Word, b: Word) -> bool:
    return _ADJOINS.fullmatch(text, a.end, b.start) is not None


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the first names, none of which is in another, that fit in the space there is."""
    kept: list[str] = []
    for name in map(plain, names):
        if not has_words(name) or any(_is_named(name, other) for other in kept):
            continue
        fits = len(", ".join([*kept, name])) <= _CHARS
        if len(kept) < _MOST_NAMES and fits:
            kept.append(name)
    return kept


def shortened(text: str, chars: int) -> str:
    """Return as much of the beginning of a text as fits, cut between words if there are any.

    Args:
        text: A text on one line.
        chars: How many characters it may have.
    """
    if len(text) <= chars:
        return text
    cut = text.rfind(" ", chars // 2, chars + 1)
    return text[: cut if cut > 0 else chars].rstrip()
