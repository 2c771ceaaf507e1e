"""Finds the documents about the subject of a claim, and of each stretch of one that has several.

A subject is known by its name. In "The bridge opened in 1932 and the tunnel in 1950", said of two
names, the second stretch begins with the second name: a value of the one supports nothing about
the other. A name that a document about the first subject mentions belongs to the same stretch: it
is what the claim says of its subject. Scripts without capitals have no names to go by; there, what
some documents have and others do not counts as one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from resay._internal.patterns import lazy_pattern
from resay.core.mentions import MentionIndex, mentions_similar
from resay.core.names import capital_runs, without_article
from resay.core.normalization import normalized
from resay.core.quantities import quantities
from resay.core.references import Reference
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.words import ignored_words

_WORD = lazy_pattern(r"[^\W\d_][\w’'-]*")
_ANY_WORD = lazy_pattern(r"[^\W\d_]+")
_BEHIND_ARTICLE = lazy_pattern(
    r"(?<!\w)(?:the|an?|der|die|das|dem|den|des|le|la|les|l'|du|un|une|el|los|las|del|il|lo|gli|o|os|as|do"
    r"|da|de|het|een)\s*\Z",
    re.IGNORECASE,
)
_BEHIND_INDEFINITE = lazy_pattern(
    r"(?<!\w)(?:an?|ein|eine[mnr]?|une?|una|uno|uma?|een)\s\Z", re.IGNORECASE
)
_BEHIND_GERMAN_ARTICLE = lazy_pattern(
    r"(?<!\w)(?:der|die|das|dem|den|des|ein|eine[mnrs]?)\s\Z", re.IGNORECASE
)
_NUMBER_BEHIND = lazy_pattern(r"[ \u00a0]\d.*")
_LATER_CAPITAL = lazy_pattern(r"(?<![\w’'-])[a-z]{1,3}(?=[A-Z])")
_NOUN_BEFORE = lazy_pattern(r"([^\W\d_]+)[ \u00a0]\Z")
_NOUN_AFTER = lazy_pattern(r"[ \u00a0]([^\W\d_]+)")
_QUALIFIER = lazy_pattern(
    r"\s*(?:\(([^\W\d_][^()\n]{0,40})\)|,\s+([A-ZÀ-ÖØ-Þ][\w’-]*),"
    r"|,\s+(?:the|an?|der|die|das|ein|eine|le|la|une?|el|una?|il|lo|o|uma?|de|het|een)\s+(\w+))"
)
# The end of a sentence, and an article, in this many characters before a name.
_BEFORE_SENTENCE = lazy_pattern(r"[.!?。！？।\n|:]\s*(?:\w{1,4}\s)?\Z")
_ARTICLE_CHARS = 16
_FIRST_WORD = lazy_pattern(r"[^\W_]+")
_FIRST_WORDS = lazy_pattern(r"(?:\A|(?<=[.!?。！？।\n|:]))[\s*#>-]*(?:(\w{1,4})\s)?([^\W_]+)")
# The shortest name in a script without capitals, and the longest text searched for names.
_SHORTEST = 2
_LONGEST_TEXT = 400
_STEM = 4
# Directly before a name, perhaps with an article.
_COMPARED = lazy_pattern(
    r"(?<!\w)(?:than|als|que|qu'|di|do que|dan|än)\s(?:\w{1,3}\s)?\Z", re.IGNORECASE
)
# The text in which names of scripts without capitals are looked for, and the names of a claim.
_MOST_CHARS = 50_000
_MOST_NAMES = 24
# The documents in which phrases of a claim are looked for.
_MOST_DOCUMENTS = 64


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a claim with one subject, or with several that it says the same of.

    Attributes:
        start: Its offset in the claim.
        end: The offset of its end.
        subjects: For each subject, the indexes of the documents about it.
        related: The indexes of the documents about other names in it that one of these mentions.
        names: The names of its subjects, if it names them all.
    """

    start: int
    end: int
    subjects: tuple[frozenset[int], ...]
    related: frozenset[int]
    names: tuple[str, ...] = ()

    @property
    def documents(self) -> frozenset[int]:
        """The indexes of the documents about any of its subjects."""
        return frozenset[int]().union(*self.subjects)


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    start: int
    end: int
    documents: frozenset[int]
    is_name: bool = True


class DocumentSubjects:
    """Finds the documents about the subject of a claim, by the names in it.

    Args:
        references: All documents.
        question: The question, for claims without a name.
        rows: The indexes of documents that are rows or objects, any field of which may name them.
        heads: The heads of their fields in lower case, which are no names.
    """

    def __init__(
        self,
        references: Sequence[Reference],
        question: str,
        rows: Collection[int] = (),
        heads: Collection[str] = (),
    ) -> None:
        self._heads = heads
        self._texts = [normalized(reference.text) for reference in references]
        self._lower_texts = [text.lower() for text in self._texts]
        self._words: list[frozenset[str]] = []
        self._lowercase_words: list[set[str]] = []
        for text in self._texts:
            words = _WORD.findall(text)
            self._words.append(frozenset(map(str.casefold, words)))
            self._lowercase_words.append({word for word in words if word.islower()})
        # The words that begin their sentences, perhaps behind an article.
        self._beginnings: list[set[str]] = []
        for text in self._lower_texts:
            words = {word for match in _FIRST_WORDS.finditer(text) for word in match.groups()}
            self._beginnings.append(words - {None})
        for row in rows:
            self._beginnings[row].update(_FIRST_WORD.findall(self._lower_texts[row]))
        self._mentions = list(map(MentionIndex, self._texts))
        self._question_words = set(_WORD.findall(normalized(question)))
        self._question_names = self._names_in_question(normalized(question))
        self._similar: dict[tuple[str, int], bool] = {}

    def of(self, claim: str) -> list[int]:
        """Return the indexes of the documents to compare a claim with.

        Names with different numbers are different: if all documents are about an X110, none is
        about the X100.
        """
        claim_names = _names_in(claim)
        question_names = self._question_names_in(claim)
        opening = self._opening_name(claim)
        if opening:
            about = self._mentioning([opening])
            of_question = set(self.of_question())
            return [document for document in about if document in of_question] or about
        for names in (question_names, claim_names):
            about = self._mentioning(names)
            if about:
                return about
        about: list[int] = []
        for index in range(len(self._texts)):
            if not any(self._has_similar(name, index) for name in question_names):
                about.append(index)
        for names in (question_names, claim_names):
            documents = self._with_discriminating_word(names, about)
            if documents:
                return documents
        return about

    def of_question(self) -> list[int]:
        """Return the indexes of the documents that most surely mention a name of the question."""
        return self._mentioning(self._question_names)

    def _with_discriminating_word(self, names: Sequence[str], documents: list[int]) -> list[int]:
        """Return the documents that have a word of several names that some, not all, have.

        A word that all of them have does not discriminate; one that none has is invented.
        """
        discriminating: set[str] = set()
        for name in names:
            for word in map(str.casefold, _WORD.findall(name)):
                count = sum(word in self._words[document] for document in documents)
                if 0 < count < len(documents):
                    discriminating.add(word)
        return [document for document in documents if discriminating & self._words[document]]

    def _names_in_question(self, question: str) -> list[str]:
        """Return the names in the question, without a verb before the first: "Compare X200"."""
        names: list[str] = []
        for start, end in _runs_without_values(question):
            name = without_article(question[start:end])
            first, _, without = name.partition(" ")
            if start == 0 and without and not self._mentioning([name]):
                name = name if self._is_name_of_document(first) else without_article(without)
            if name and (start > 0 or " " in name or self._is_name_of_document(name)):
                names.append(name)
        return names

    def _is_name_of_document(self, word: str) -> bool:
        """Whether a first word, which has a capital in any case, is a name in a document."""
        lower = word.lower()
        if lower in self._question_words or lower in ignored_words():
            return False
        if any(lower in words for words in self._lowercase_words):
            return False
        return any(self._mentions[k].score(word) for k in range(len(self._texts)))

    def _opening_name(self, claim: str) -> str | None:
        """Return the name that a claim begins with, if it and not the question has its subject.

        Asked about an X200, "The X300 weighs 1.5 kg" is about the X300, if a document is.
        """
        span = next(self._name_spans(claim), None)
        if span is None:
            return None
        start, end = span
        before, name = claim[:start], claim[start:end]
        if self._is_of_question(name, claim):
            return None
        if without_article(before).strip() or not _says_anything(claim[end:]):
            return None
        has_digits = any(map(str.isdigit, name))
        # Any noun has a capital there.
        if _BEHIND_GERMAN_ARTICLE.search(before) and not has_digits:
            return None
        is_surely_name = has_digits or " " in name or bool(before.strip())
        if not is_surely_name and not self._is_name_of_document(name):
            return None
        return name if self._begins_any_sentence(name) else None

    def _begins_any_sentence(self, name: str) -> bool:
        """Whether a document that mentions a name has a sentence beginning with its first word."""
        first = _FIRST_WORD.search(name.lower())
        documents = self._mentioning([name])
        return first is not None and any(first[0] in self._beginnings[k] for k in documents)

    def _is_of_question(self, opening: str, claim: str) -> bool:
        """Whether a claim mentions a name of the question, and not as a part of its first name."""
        mentions = MentionIndex(claim)
        for name in self._question_names:
            score = mentions.score(name)
            if score == 1.0 or (score and not opening.startswith(f"{name} ")):
                return True
        return False

    def _question_names_in(self, claim: str) -> list[str]:
        """Return the names of the question that a claim mentions; all of them if it does none."""
        mentions = MentionIndex(claim)
        scores = {name: mentions.score(name) for name in self._question_names}
        surely = [name for name, score in scores.items() if score == 1.0]
        # "The Pixel 9 Pro" is no mention of the Pixel 9.
        mentioned = [
            name
            for name, score in scores.items()
            if score and (score == 1.0 or not any(other.startswith(name) for other in surely))
        ]
        return mentioned or self._question_names

    def _mentioning(self, names: Sequence[str]) -> list[int]:
        """Return the indexes of the documents that most surely mention one of several names."""
        scores = [_best_score(mentions, names) for mentions in self._mentions]
        best = max(scores, default=0.0)
        return [k for k, score in enumerate(scores) if score and score == best]

    def _has_similar(self, name: str, index: int) -> bool:
        """Whether a document names something similar to a name of the question."""
        key = name, index
        if key not in self._similar:
            self._similar[key] = mentions_similar(name, self._texts[index])
        return self._similar[key]

    def have_same_subject(self, claim: str, documents: Sequence[int]) -> bool:
        """Whether documents are about the same where they and a claim have a name in common.

        They are not if they tell it from others of the name: Springfield, Ohio, and Springfield,
        Illinois, or Mercury (planet) and Mercury (element).
        """
        names = set(self._question_names)
        for start, end in self._name_spans(claim):
            names.add(claim[start:end])
        for name in names:
            qualifiers = [self._qualifiers(name, document) for document in documents]
            for first, second in combinations(filter(None, qualifiers), 2):
                if first.isdisjoint(second):
                    return False
        return True

    def _qualifiers(self, name: str, index: int) -> set[str]:
        """Return the words by which a document tells a name from others of the same name."""
        text = self._texts[index]
        qualifiers: set[str] = set()
        for match in re.finditer(re.escape(name), text):
            qualifier = _qualifier_at(text, match.end())
            if qualifier:
                qualifiers.add(qualifier.casefold())
        return qualifiers

    def stretches(self, claim: str, documents: Sequence[int], previous: str = "") -> list[Stretch]:
        """Return the stretches of a claim in order, each with the documents about its subjects.

        Args:
            claim: The claim.
            documents: The documents to compare it with; see `of`.
            previous: The claim before it, which may name what it is about.
        """
        question_names = self._question_names_in(claim)
        has_subject = bool(question_names) and bool(self._mentioning(question_names))
        about = frozenset(documents)
        has_capitals = claim.lower() != claim.upper()
        names = self._discriminating_names(claim, with_words=not has_subject)[:_MOST_NAMES]
        cuts = [start for start, _ in parts_of(claim)]
        stretches: list[Stretch] = []
        opened = False
        current = Stretch(0, len(claim), (about,), frozenset())
        for i, name in enumerate(names):
            before = names[i - 1] if i else None
            begins = cuts[bisect_right(cuts, name.start) - 1]
            after_name = max(begins, before.end if before else 0)
            opens = self._is_first(claim, after_name, name)
            is_listed = opened and name.is_name and not _says_anything(claim[begins : name.start])
            is_own = (has_subject or not has_capitals) and bool(name.documents & about)
            # "In Basel." answers with a name; it says nothing of it.
            is_answer = has_subject and not is_own and not _says_anything(claim[name.end :])
            is_behind = has_subject and (not opens or bool(_content_words(claim[:begins])))
            if i == 0 and not is_behind and not is_answer and (name.is_name or opens):
                first = name.documents & about if is_own else name.documents
                related = name.documents - first
                current = Stretch(0, len(claim), (first,), related, (name.text,))
                opened = opens
            elif not name.documents.isdisjoint(current.documents | current.related):
                related = current.related | (name.documents - current.documents)
                current = replace(current, related=related)
                opened = False
            elif _COMPARED.search(claim[: name.start]):
                # "Louder than the Aerovia 6".
                current = replace(current, related=current.related | name.documents)
            elif opens and begins > 0:
                is_silent = before and not self._says_something(claim[before.end : begins], before)
                if is_silent and is_listed:
                    current = replace(
                        current,
                        subjects=(*current.subjects, name.documents),
                        names=(*current.names, name.text),
                    )
                elif _says_anything(claim[begins : name.start] + claim[name.end :]):
                    stretches.append(replace(current, end=begins))
                    current = Stretch(
                        begins, len(claim), (name.documents,), frozenset(), (name.text,)
                    )
                    opened = True
        if stretches or current.names:
            previous = ""
        return [self._with_topics(claim, stretch, previous) for stretch in (*stretches, current)]

    def _with_topics(self, claim: str, stretch: Stretch, previous: str) -> Stretch:
        """Add the documents that begin with a name which the subject's documents only mention.

        "Nexar was founded by Lena Voss, who was born in Graz": a document about Lena Voss.

        Args:
            claim: The claim.
            stretch: A stretch of it.
            previous: The claim before it, if it may be about a name there: "She was born in Graz".
        """
        related = stretch.related
        text = f"{previous} {claim[stretch.start : stretch.end]}"
        if claim.lower() == claim.upper() or len(self._texts) == 1:
            return stretch
        for start, end in self._name_spans(text):
            name = text[start:end]
            mentioning = {k for k in stretch.documents if name in self._texts[k]}
            topical = self._beginning_with(name) if mentioning else frozenset[int]()
            if topical.isdisjoint(mentioning):
                related |= topical - stretch.documents
        related |= self._with_phrases(claim[stretch.start : stretch.end], stretch.documents)
        return replace(stretch, related=related)

    def _with_phrases(self, text: str, documents: frozenset[int]) -> frozenset[int]:
        """Return the documents that have two words in a row which a subject's documents have not.

        "26 people have registered for the safety training, and the Elm Room has 32 seats."
        """
        if len(self._texts) > _MOST_DOCUMENTS:
            return frozenset()
        related: set[int] = set()
        in_values: set[int] = set()
        for value in quantities(text):
            in_values.update(range(value.start, value.end))
        for first, second in pairwise(_ANY_WORD.finditer(text)):
            # "Million people".
            if first.start() in in_values:
                continue
            is_content = not ignored_words() & {first[0].lower(), second[0].lower()}
            is_long = min(len(first[0]), len(second[0])) >= _STEM and first[0].islower()
            if is_content and is_long and text[first.end() : second.start()] in (" ", "' "):
                phrase = text[first.start() : second.end()].lower()
                having = {k for k, other in enumerate(self._lower_texts) if phrase in other}
                if having.isdisjoint(documents):
                    related |= having
        # Rows of one table, and descriptions of things of one kind, begin alike.
        beginnings = {self._lower_texts[k].split(" ", 1)[0] for k in documents}
        return frozenset(
            k for k in related if self._lower_texts[k].split(" ", 1)[0] not in beginnings
        )

    def _beginning_with(self, name: str) -> frozenset[int]:
        """Return the documents a sentence of which begins with a name."""
        return frozenset(
            k
            for k, text in enumerate(self._texts)
            if name in text and _begins_a_sentence(name, text)
        )

    def _is_first(self, claim: str, start: int, name: _Name) -> bool:
        """Whether nothing but values and a noun that belongs to it precede a name."""
        text = claim[start : name.start]
        if not name.is_name:
            return not _says_anything(text) and self._begins_a_sentence(name)
        for quantity in reversed(quantities(text)):
            text = text[: quantity.start] + text[quantity.end :]
        words = _content_words(text)
        if not words:
            return True
        noun = _NOUN_BEFORE.search(text[-40:])
        if noun is None or words != [noun[1]]:
            return False
        # "The tunnel Silo", but not "founded Kelvo".
        before = text[: len(text) - len(noun[0])]
        if not _BEHIND_ARTICLE.search(before[-10:]):
            return False
        return any(self._mentions[k].score(f"{noun[1]} {name.text}") for k in name.documents)

    def _begins_a_sentence(self, name: _Name) -> bool:
        """Whether a document has a sentence that begins with a word, perhaps behind an article."""
        return any(_begins_a_sentence(name.text, self._texts[k]) for k in name.documents)

    def _says_something(self, text: str, name: _Name) -> bool:
        """Whether the text between a name and the next says something of it.

        A noun that belongs to the name does not: the Garmo bridge and the Silo tunnel.
        """
        if any(map(str.isdigit, text)):
            return True
        words = _content_words(text)
        if not words or not text.lstrip().startswith(words[0]):
            return bool(words)
        phrase = f"{name.text} {words[0]}"
        is_noun = any(self._mentions[k].score(phrase) for k in name.documents)
        return len(words) > is_noun

    def _discriminating_names(self, claim: str, *, with_words: bool) -> list[_Name]:
        """Return the names in a claim that some documents mention and others do not, in order.

        Args:
            claim: The claim.
            with_words: Whether its other words stand for names if there are none.
        """
        has_capitals = claim.lower() != claim.upper()
        spans = self._name_spans(claim) if has_capitals else self._shared_text(claim)
        names: list[_Name] = []
        for start, end in spans:
            documents = self._about(claim, start, end)
            names.append(_Name(claim[start:end], start, end, documents, is_name=has_capitals))
        # A first word has a capital in any case.
        is_first_word = (
            has_capitals
            and bool(names)
            and " " not in names[0].text
            and not without_article(claim[: names[0].start]).strip()
        )
        surely_names = names[is_first_word:]
        documents = frozenset[int]().union(*(name.documents for name in surely_names))
        if is_first_word and (
            names[0].text.lower() in self._question_words
            or not documents.isdisjoint(names[0].documents)
        ):
            names = surely_names
        if documents or not with_words:
            return [
                name
                for name in names
                if 0 < len(name.documents) < len(self._texts)
                and name.text.casefold() not in self._heads
            ]
        words: list[_Name] = []
        for match in _WORD.finditer(claim):
            word = match[0].casefold()
            documents = frozenset(k for k, of_text in enumerate(self._words) if word in of_text)
            if 0 < len(documents) < len(self._texts) and word not in ignored_words():
                words.append(_Name(match[0], match.start(), match.end(), documents, is_name=False))
        return words

    def _name_spans(self, claim: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the names in a claim, without dates and the values behind them."""
        values = [(quantity.start, quantity.end) for quantity in quantities(claim)]
        for first, end in _runs(claim):
            name = without_article(claim[first:end])
            if first == 0:
                name = self._without_noun(name)
            start = end - len(name)
            if name and not self._mentioning([name]):
                name = _NUMBER_BEHIND.sub("", name)
                end = start + len(name)
            is_date = any(value <= start < last for value, last in values)
            is_noun = _BEHIND_INDEFINITE.search(claim[max(start - 10, 0) : start])
            if (
                name[:1].isalpha()
                and name.lower() not in ignored_words()
                and not is_date
                and not is_noun
            ):
                yield start, end

    def _without_noun(self, name: str) -> str:
        """Return a name at the beginning without a noun before it, which has a capital there."""
        noun, _, without = name.partition(" ")
        beginning = noun.lower()[:_STEM]
        for words in self._lowercase_words:
            if without and any(word[:_STEM] == beginning for word in words):
                return without
        return name

    def _about(self, claim: str, start: int, end: int) -> frozenset[int]:
        """Return the indexes of the documents about what a name in a claim stands for."""
        name = claim[start:end]
        if claim.lower() == claim.upper():
            return frozenset(k for k, text in enumerate(self._texts) if name in text)
        documents = self._mentioning([name])
        noun = None if any(map(str.isdigit, name)) else _noun_of(claim, start, end)
        if noun:
            # The Garmo bridge is no Garmo tunnel.
            same_kind = [k for k in documents if noun.casefold() in self._words[k]]
            documents = same_kind or documents
        qualifier = _qualifier_at(claim, end)
        if qualifier:
            others = [k for k in documents if self._is_qualified_otherwise(name, qualifier, k)]
            documents = [k for k in documents if k not in others] or documents
        return frozenset(documents)

    def _is_qualified_otherwise(self, name: str, qualifier: str, index: int) -> bool:
        """Whether a document names another of the same name: Springfield, Illinois, for Ohio."""
        has_others = bool(self._qualifiers(name, index))
        return has_others and qualifier.casefold() not in self._words[index]

    def _shared_text(self, claim: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of a claim in a script without capitals that documents share."""
        position, end = 0, min(len(claim), _LONGEST_TEXT)
        if sum(map(len, self._texts)) > _MOST_CHARS:
            return
        while position < end:
            longest = position
            while (
                longest < end
                and claim[longest].isalpha()
                and any(claim[position : longest + 1] in text for text in self._texts)
            ):
                longest += 1
            # A few characters fewer may be in more documents: the name without what is said of it.
            ends = range(longest, position + _SHORTEST - 1, -1)
            best = max(ends, key=lambda end: self._holders(claim[position:end]), default=position)
            if best > position and claim[position:best].strip() not in ignored_words():
                yield position, best
                position = best
            else:
                position += 1

    def _holders(self, text: str) -> int:
        """Return how many documents have a text; none if all have it."""
        count = sum(text in document for document in self._texts)
        return count % len(self._texts)


def _begins_a_sentence(name: str, text: str) -> bool:
    """Whether a sentence of a text begins with a name, perhaps behind an article."""
    lower, position = text.lower(), -1
    while (position := lower.find(name.lower(), position + 1)) >= 0:
        before = text[max(position - _ARTICLE_CHARS, 0) : position]
        # A stretch that begins the text begins a sentence.
        if _BEFORE_SENTENCE.search(before if len(before) == _ARTICLE_CHARS else f"\n{before}"):
            return True
    return False


def _best_score(mentions: MentionIndex, names: Sequence[str]) -> float:
    """Return how surely a document mentions one of several names."""
    return max((mentions.score(name) for name in names), default=0.0)


def _names_in(text: str) -> list[str]:
    """Return the names in a text; a first word alone may be any word."""
    runs = [(a, without_article(text[a:b])) for a, b in _runs_without_values(text)]
    return [name for start, name in runs if name and (start > 0 or " " in name)]


def _runs_without_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the same runs but those within dates and amounts: "3 June", "7,400 EUR"."""
    values = [value for value in quantities(text) if value.unit or value.kind == "date"]
    for start, end in _runs(text):
        if not any(value.start <= start and end <= value.end for value in values):
            yield start, end


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of runs of capitalised words, also if the capital is a later one: iPhone."""
    later_capitals = {match.start() for match in _LATER_CAPITAL.finditer(text)}
    if not later_capitals:
        yield from capital_runs(text)
        return
    capitalised = "".join(
        character.upper() if k in later_capitals else character for k, character in enumerate(text)
    )
    yield from capital_runs(capitalised)


def _says_anything(text: str) -> bool:
    return any(map(str.isdigit, text)) or bool(_content_words(text))


def _noun_of(text: str, start: int, end: int) -> str | None:
    """Return the noun that says what a name with an article names: the Garmo bridge."""
    before = text[max(start - 40, 0) : start]
    if _BEHIND_ARTICLE.search(before):
        after = _NOUN_AFTER.match(text, end)
        return after[1] if after and after[1].lower() not in ignored_words() else None
    noun = _NOUN_BEFORE.search(before)
    if noun is None or noun[1].lower() in ignored_words():
        return None
    return noun[1] if _BEHIND_ARTICLE.search(before, 0, noun.start()) else None


def _qualifier_at(text: str, end: int) -> str | None:
    """Return the word behind a name that tells it from others of the same name."""
    match = _QUALIFIER.match(text, end)
    return next((group for group in match.groups() if group), None) if match else None


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in ignored_words()]
