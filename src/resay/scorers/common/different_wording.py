"""Tells a claim that may only be worded differently in documents from one that says something else.

A number, date, code, quotation or name that no document about its subject has, or a sentence to the
contrary, is something else. Of a claim without any of these, words cannot tell whether it is true,
unless documents have none of its words, or their only sentence nearly none. What it denies, or
which of two values is the larger, need not be in them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resay.core.names import capital_runs
from resay.scorers.common.fact import Fact
from resay.scorers.common.fact_comparison import ELSEWHERE
from resay.scorers.common.words import stems_of, words_of

# A document of one sentence has nearly nothing of a claim if it has at most this share of its
# words. Longer ones have more to be said in other words: of such claims, they have no word.
_NEARLY_NOTHING = 1 / 3
# Forms of a word begin with as many characters: "written", "writing".
_COMMON_CHARS = 4
_LONGEST_ENDING = 2


def may_be_worded_differently(
    supports: Sequence[tuple[Fact, float]], sentences: Collection[str], *, needs_no_words: bool
) -> bool:
    """Return whether a claim may only be worded differently in documents.

    Args:
        supports: The facts of the claim, and how far the documents about its subject support each.
        sentences: The sentences of these documents.
        needs_no_words: Whether documents need not have its words, since it denies or compares.
    """
    words: list[tuple[Fact, float]] = []
    names: dict[str, list[tuple[Fact, float]]] = {}
    has_value = False
    for fact, support in supports:
        is_supported = support >= ELSEWHERE
        if fact.kind == "word":
            words.append((fact, support))
            # What is said of something else is no other word for what is said of this.
            if not is_supported and max(fact.support) >= ELSEWHERE:
                return False
        elif fact.kind == "name":
            names.setdefault(fact.name, []).append((fact, support))
        elif fact.kind == "relation":
            if not is_supported and not _is_other_word(fact):
                return False
        elif not is_supported:
            return False
        else:
            has_value = True
    if any(is_other_name(of_name, sentences) for of_name in names.values()):
        return False
    if has_value or names or needs_no_words:
        return True
    return _share(words, sentences) > (_NEARLY_NOTHING if len(sentences) == 1 else 0)


def _is_other_word(fact: Fact) -> bool:
    """Whether a fact is a word in whose place documents have another, which may mean the same."""
    return fact.rival is not None and not (fact.text[0].isupper() or fact.text[0].isdecimal())


def is_other_name(words: Sequence[tuple[Fact, float]], sentences: Collection[str]) -> bool:
    """Return whether no document has a word of a name, or all have others beside those they have.

    Args:
        words: The words of the name, and how far the documents support each.
        sentences: The sentences of these documents.
    """
    common = {fact.text for fact, support in words if support >= ELSEWHERE}
    if len(common) == len(words):
        return False
    if not common:
        return True
    own = common | {fact.text for fact, _ in words}
    names: list[set[str]] = []
    for sentence in sentences:
        for start, end in capital_runs(sentence):
            name = set(words_of(sentence).findall(sentence[start:end]))
            if not name.isdisjoint(common):
                names.append(name)
    return bool(names) and all(any(not _has_form(word, own) for word in name) for name in names)


def _has_form(word: str, others: Collection[str]) -> bool:
    """Whether a word of a name is among others, perhaps with another ending: "Ewa", "Ewy"."""
    stem = word[: max(len(word) - _LONGEST_ENDING, _LONGEST_ENDING)]
    return any(other.startswith(stem) for other in others)


def _share(words: Sequence[tuple[Fact, float]], sentences: Collection[str]) -> float:
    """Return the share of the words of a claim that documents have, perhaps in another form."""
    beginnings: set[str] = set()
    for sentence in sentences:
        for stem in stems_of(sentence):
            if len(stem) >= _COMMON_CHARS:
                beginnings.add(stem[:_COMMON_CHARS])
    count = 0
    for fact, support in words:
        stems = stems_of(fact.text)
        count += support >= ELSEWHERE or any(stem[:_COMMON_CHARS] in beginnings for stem in stems)
    # Without words of its own, it says what the question does.
    return count / len(words) if words else 1.0
