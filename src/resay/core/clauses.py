"""Split sentences with several statements: conjunctions, relative clauses, opening participles.

The rules cover English, German, French, Spanish, Italian, Portuguese and Dutch, with a few hundred
verbs of each, because a conjunction alone says nothing: "Ana and Tom" is one subject, "and has 12
gates" another predicate. Text in any other language stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from resay.core.passage import Sentence
from resay.core.quantities import negations
from resay.core.segmentation import Span


@dataclass(frozen=True, slots=True)
class Grammar:
    """The rules' knowledge of a language.

    Attributes:
        common: Common words that identify it.
        verbs: Finite verbs, with which a predicate begins.
        conjunctions: Conjunctions between predicates and clauses.
        relatives: Words that begin a relative clause.
        subject_starts: Pronouns and determiners that begin a subject.
        participles: Participles that open a sentence: "Launched at Kiel, …".
        prepositions: Prepositions of phrases that may precede a subject: "In 1899 …".
        nouns: Verbs that are nouns as well: "shows", "ships".
        base_forms: Plural forms of verbs: "live", "contain".
        patterns: Patterns of other verbs, and of these with the word after them.
        verb_last: Whether the verb of a relative clause comes last.
        conjunction_pattern: Matches conjunctions and relative words, with the word after them.
        appositions: Matches possible beginnings of an apposition.
    """

    common: frozenset[str]
    verbs: frozenset[str]
    conjunctions: frozenset[str]
    relatives: frozenset[str]
    subject_starts: frozenset[str]
    participles: frozenset[str]
    prepositions: frozenset[str]
    nouns: frozenset[str] = frozenset()
    base_forms: frozenset[str] = frozenset()
    patterns: tuple[re.Pattern[str], re.Pattern[str]] | None = None
    verb_last: bool = False
    conjunction_pattern: re.Pattern[str] = re.compile(r"(?!)")
    appositions: re.Pattern[str] = re.compile(r"(?!)")

    def may_have_clauses(self, text: str) -> bool:
        """Quick check whether to look for clauses: most sentences are obviously a single one."""
        first = text.partition(" ")[0].lower()
        if ";" in text or self.may_open(first) or first in _SUBORDINATES:
            return True
        if self.appositions.search(text):
            return True
        for _, word, following in self.conjunction_pattern.findall(text):
            if word in self.relatives:
                near = self.verb_last or word in _WITH_SUBJECT
                if near or following in self.verbs or _LIKELY.search(following):
                    return True
            elif word in self.conjunctions:
                known = following in self.verbs or following in self.subject_starts
                likely = _LIKELY.search(following) or following[0].isupper()
                shape = self.patterns[0] if self.patterns else _PRESENT if self.nouns else None
                if known or likely or (shape and shape.fullmatch(following)):
                    return True
        return False

    def may_open(self, word: str) -> bool:
        """Whether a word may be a participle that opens a sentence."""
        return word in self.participles or (
            bool(self.participles) and _PARTICIPLE.fullmatch(word) is not None
        )

    def has_verb(self, text: str) -> bool:
        """Whether a text has a known verb."""
        for place, word in enumerate(_words(text)):
            # "Whales live in the sea": many such words are nouns as well.
            is_plain = place > 0 and word.low in self.base_forms
            if self.is_verb(word) or (is_plain and _BEHIND_VERB.match(word.after)):
                return True
        return False

    def is_verb(self, word: _Word) -> bool:
        """Whether a predicate may begin with a word."""
        if word.low in self.verbs and word.low not in self.nouns:
            return True
        if self.patterns is not None and self.patterns[0].fullmatch(word.low):
            behind = f"{word.low} {word.after}"
            if self.patterns[1].fullmatch(behind):
                return True
        doubtful = word.low in self.nouns or (bool(self.nouns) and _is_past(word.low))
        if doubtful and word.low in self.nouns and word.before in _SUBJECTS:
            return True
        return doubtful and _BEHIND_VERB.match(word.after) is not None


class Grammars:
    """Detects the language of a response from the sentences read so far."""

    def __init__(self) -> None:
        self._counts = [0] * len(_languages())
        self._known: Grammar | None = None

    def of(self, text: str) -> Grammar:
        """Return the grammar of the next sentence; an empty one if the language is unclear."""
        if self._known is not None:
            return self._known
        words = set(_WORD.findall(text[:_MAX_CHARS].lower()))
        for place, grammar in enumerate(_languages()):
            self._counts[place] += len(words & grammar.common)
        *_, second, most = sorted(self._counts)
        found = _NONE
        if most:
            # Short sentences have too few common words: the verbs decide.
            rivals = [g for g, n in zip(_languages(), self._counts, strict=True) if n == most]
            found = max(rivals, key=lambda g: sum(len(w) > 1 for w in words & g.verbs))
        if most > _SURE and most > 2 * second:
            self._known = found
        return found


_Part: TypeAlias = tuple[Sentence, str, "Span | None"]


def clauses(sentence: Sentence, grammar: Grammar) -> Iterator[tuple[Sentence, str, Span | None]]:
    """Split a sentence into clauses.

    Yields:
        For each statement, in order: its own words; these with their subject, or an empty text if
        they include it; and the span of that subject in the response.
    """
    text = sentence.text
    if len(text) > _MAX_CHARS or not grammar.may_have_clauses(text):
        yield sentence, "", None
        return
    words = _words(text)
    cuts = [_Cut("main", 0, 0), *_cuts(words, grammar)]
    is_named = len(cuts) > 1 and cuts[1].kind == "relative" and _is_name(words, cuts, grammar)
    parts = list(_parts(sentence, words, cuts, grammar))
    # One claim of several statements is better than one that the sentence does not make.
    if is_named or _changes_meaning(text, words, cuts, parts, grammar):
        yield sentence, "", None
        return
    yield from parts


def _changes_meaning(
    text: str,
    words: Sequence[_Word],
    cuts: Sequence[_Cut],
    parts: Sequence[_Part],
    grammar: Grammar,
) -> bool:
    """Whether the parts of a sentence say what it does not: without a negation, a condition."""
    if len(cuts) == 1:
        return False
    negated = negations(text)
    for cut, previous in zip(cuts[1:], cuts, strict=False):
        before = words[: cut.last + 1]
        # "He has not yet paid", "If he has a fever that lasts three days, call a doctor"
        last = {word.end for word in before[-2:]}
        if any(end in last for _, end in negated):
            return True
        if before[0].low in _OPENING_CONDITIONS or any(w.low in _CONDITIONS for w in before):
            return True
        # "He claimed that the firm, which made lamps, was bankrupt": his claim, not a fact.
        resumes = cut.kind == "predicate" and previous.kind == "relative" and previous.first > 0
        is_joined = words[cut.first - 1].low in grammar.conjunctions
        if resumes and not is_joined and _has_verb(words[: previous.last + 1], grammar):
            return True
    for own, completed, subject in parts:
        if subject is None or not completed:
            continue
        start, end = (at - parts[0][0].start for at in subject)
        # "Nobody who saw it …", "The company never …"
        if any(start <= at < end for at, _ in negated) and own is not parts[0][0]:
            return True
        # "the King of Spain, who abdicated": not Spain.
        before = [word for word in words if word.end <= start]
        is_name = text[start].isupper()
        if is_name and before and before[-1].low in _GENITIVES:
            return True
    return False


def _has_verb(words: Sequence[_Word], grammar: Grammar) -> bool:
    return any(map(grammar.is_verb, words))


def _parts(
    sentence: Sentence, words: Sequence[_Word], cuts: Sequence[_Cut], grammar: Grammar
) -> Iterator[_Part]:
    text = sentence.text
    ends = [*(words[cut.last].end for cut in cuts[1:]), len(text)]
    subject: Span | None = None
    subject_known = False
    for place, (cut, end) in enumerate(zip(cuts, ends, strict=True)):
        start = words[cut.first].start if place else 0
        following = cuts[place + 1] if place + 1 < len(cuts) else None
        if following and following.kind == "relative" and cut.kind == "main":
            inside = words[: following.last + 1]
            if not any(map(grammar.is_verb, inside)):
                # "The mill, which was built in 1743, stands …": only the subject of both.
                subject, subject_known = (inside[0].start, inside[-1].end), True
                continue
        own = Sentence(text[start:end], sentence.start + start, sentence.start + end)
        whose: Span | None = subject
        if cut.kind == "relative" and not (place == 1 and subject_known):
            whose = _antecedent(words, cut, subject, grammar)
        elif cut.kind not in ("predicate", "relative"):
            opens = following is not None and following.kind == "opened"
            first = following.first if following and opens else cut.first
            until = following.first if following and not opens else len(words)
            subject = _subject(words[:until], first, grammar)
            whose = subject if opens else None
        said = "" if whose is None else _with_subject(text[slice(*whose)], own.text, cut, grammar)
        where = whose and (sentence.start + whose[0], sentence.start + whose[1])
        yield own, said, where


def _is_name(words: Sequence[_Word], cuts: Sequence[_Cut], grammar: Grammar) -> bool:
    """Whether a sentence is a name with a relative clause, like an item: "Tom, who plays drums"."""
    is_bare = not any(map(grammar.is_verb, words[: cuts[1].last + 1]))
    return is_bare and not any(cut.kind == "predicate" for cut in cuts)


def _with_subject(subject: str, own: str, cut: _Cut, grammar: Grammar) -> str:
    """Return a clause with its subject."""
    if cut.kind == "predicate":
        return f"{subject} {own}"
    pronoun, _, rest = own.partition(" ")
    if cut.kind == "relative" and pronoun.lower() in _OF_SUBJECT and not grammar.verb_last:
        return f"{subject} {rest}"
    return f"{subject}: {own}"


class _Word(NamedTuple):
    """A word or number of a sentence.

    Attributes:
        start: Its start.
        end: Its end.
        text: The word as written.
        low: In lower case, except for capitalised words after the first: names are not verbs.
        gap: The text between it and the previous word.
        after: The next word.
        before: The previous word, in lower case.
    """

    start: int
    end: int
    text: str
    low: str
    gap: str
    after: str
    before: str


@dataclass(frozen=True, slots=True)
class _Cut:
    """The beginning of a clause.

    Attributes:
        kind: Its relation to the text before it.
        first: The index of its first word.
        last: The index of the last word before it.
    """

    kind: Literal["main", "predicate", "clause", "relative", "opened"]
    first: int
    last: int


def _words(text: str) -> list[_Word]:
    # Gaps and words alternate.
    parts = _WORD_AND_GAP.split(text)
    edges = list(accumulate(map(len, parts)))
    texts = parts[1::2]
    lows = [word if word[0].isupper() else word.lower() for word in texts]
    lows[:1] = [word.lower() for word in texts[:1]]
    afters, befores = [*texts[1:], ""], ["", *(text.lower() for text in texts[:-1])]
    return list(map(_Word, edges[::2], edges[1::2], texts, lows, parts[::2], afters, befores))


def _cuts(words: Sequence[_Word], grammar: Grammar) -> Iterator[_Cut]:
    """Find the beginnings of clauses, except in brackets."""
    depth, has_verb, in_relative = 0, False, False
    start = _after_opening_phrase(words, grammar)
    if start:
        yield _Cut("opened", start, start - 1)
    elif start := _after_subordinate_clause(words, grammar):
        yield _Cut("clause", start, start - 1)
    skip = 0
    for i, word in enumerate(words):
        if i < skip:
            continue
        edge = word.gap != " " or word.low in grammar.conjunctions or word.low in grammar.relatives
        if word.gap != " ":
            opened = len(_OPENING.findall(word.gap))
            depth = max(0, depth + opened - len(_CLOSING.findall(word.gap)))
        ends = 0 if depth or has_verb or i <= start else _after_apposition(words, start, i, grammar)
        if ends:
            yield _Cut("relative", i, i - 1)
            yield _Cut("predicate", ends, ends - 1)
            start, has_verb, in_relative, skip = ends, True, False, ends
            continue
        if edge and i > start and not depth and _is_enough(words, start, i):
            cut = _cut(words, i, grammar, has_verb=has_verb, in_relative=in_relative)
            if cut is not None and _is_enough(words, cut.first, len(words)):
                yield cut
                start, has_verb, in_relative = cut.first, False, cut.kind == "relative"
        has_verb = has_verb or (i >= start and grammar.is_verb(word))


def _cut(
    words: Sequence[_Word], i: int, grammar: Grammar, *, has_verb: bool, in_relative: bool
) -> _Cut | None:
    """Return the cut before a word, if there is one."""
    word = words[i]
    has_comma = "," in word.gap
    if word.low in grammar.relatives and (has_comma or not grammar.verb_last):
        if has_verb or has_comma:
            return _Cut("relative", i, i - 1) if _is_relative_clause(words, i, grammar) else None
        return None
    joins = word.low in grammar.conjunctions
    at = i + joins
    # ", and it was built" and "und wurde" suffice if the verb before them is not known.
    is_known = at < len(words) and words[at].low in grammar.verbs - grammar.nouns
    if not (has_verb or in_relative or (joins and (has_comma or is_known))):
        return None
    if joins and (grammar.is_verb(words[i - 1]) or _is_past(words[i - 1].low)):
        # "was designed and built by"
        return None
    if joins and at < len(words) and not _QUOTES.isdisjoint(words[at].gap):
        return None
    if joins or ";" in word.gap:
        if _verb_at(words, at, grammar):
            return _Cut("predicate", at, i - 1)
        return _Cut("clause", at, i - 1) if _clause_at(words, at, grammar) else None
    # After a relative clause between commas, its sentence continues: "…, which …, stands in …". Of
    # several predicates, all but the last have commas: "opened …, has … and carries …".
    if has_comma and grammar.is_verb(word) and (in_relative or _enumerates(words, i, grammar)):
        return _Cut("predicate", i, i - 1)
    return None


def _enumerates(words: Sequence[_Word], i: int, grammar: Grammar) -> bool:
    """Whether a predicate is followed by another that "and" joins."""
    for k in range(i + 1, len(words) - 1):
        if words[k].low in grammar.relatives:
            return False
        if words[k].low in grammar.conjunctions:
            return _verb_at(words, k + 1, grammar)
    return False


def _after_apposition(words: Sequence[_Word], start: int, i: int, grammar: Grammar) -> int:
    """Return the verb after an apposition that begins at a word; 0 if there is none.

    "Paris, the capital of France, has …", "The tower, completed in 1902, is …".
    """
    if "," not in words[i].gap or words[start].low in grammar.prepositions or i - start > _NEAR:
        return 0
    low = words[i].low
    opens = low in grammar.participles
    if not (opens or low in _ARTICLES or low.startswith(("l'", "l’"))):
        return 0
    for j in range(i + 1, min(i + _FAR, len(words))):
        if "," in words[j].gap:
            return j if j > i + 1 and grammar.is_verb(words[j]) else 0
        if _STOPS.search(words[j].gap) or grammar.is_verb(words[j]):
            return 0
    return 0


def _after_subordinate_clause(words: Sequence[_Word], grammar: Grammar) -> int:
    """Return the start of the main clause after one with "although"; 0 if there is none."""
    if not words or words[0].low not in _SUBORDINATES:
        return 0
    has_verb = False
    for i in range(1, min(len(words), 2 * _FAR)):
        if "," in words[i].gap and has_verb and i > 2:
            is_main = _clause_at(words, i, grammar) or grammar.is_verb(words[i])
            return i if is_main else 0
        has_verb = has_verb or grammar.is_verb(words[i])
    return 0


def _verb_at(words: Sequence[_Word], at: int, grammar: Grammar) -> bool:
    """Whether a predicate begins at a word, possibly after an adverb."""
    if at >= len(words):
        return False
    if grammar.is_verb(words[at]) or _seems_verb(words, at, grammar):
        return True
    if at + 1 == len(words) or not words[at].low.endswith(_ADVERBS):
        return False
    # "a versatile and widely loved instrument"
    is_past = bool(grammar.nouns) and _is_past(words[at + 1].low)
    doubtful = is_past and words[at].low.endswith("ly") and words[at].before in grammar.conjunctions
    if doubtful and not _BEHIND_VERB.match(words[at + 1].after):
        return False
    return grammar.is_verb(words[at + 1])


def _seems_verb(words: Sequence[_Word], at: int, grammar: Grammar) -> bool:
    """Whether a word after "and" looks like an English verb: "winds 300 clocks"."""
    if not grammar.nouns or at + 1 == len(words) or words[at + 1].gap != " ":
        return False
    return bool(_PRESENT.fullmatch(words[at].low) and _AMOUNT.match(words[at].after))


def _clause_at(words: Sequence[_Word], at: int, grammar: Grammar) -> bool:
    """Whether a clause with its own subject begins at a word."""
    if at >= len(words):
        return False
    is_name = words[at].text[0].isupper() and (
        at < 2
        or _STOPS.search(words[at - 1].gap + words[at].gap) is not None
        # "in 1948 and Dina Sorel runs it", but not "Ana and Tom Beck run it"
        or not (grammar.verb_last or words[at - 2].text[0].isupper())
    )
    if not (is_name or words[at].low in grammar.subject_starts):
        return False
    return _find_verb(words, at + 1, grammar) is not None


def _find_verb(words: Sequence[_Word], at: int, grammar: Grammar) -> int | None:
    """Return the verb after the beginning of a subject, if it is near."""
    for i in range(at, min(at + _NEAR, len(words))):
        if _STOPS.search(words[i].gap):
            return None
        if grammar.is_verb(words[i]) or _seems_verb(words, i, grammar):
            return i
    return None


def _is_relative_clause(words: Sequence[_Word], i: int, grammar: Grammar) -> bool:
    """Whether a word begins a relative clause."""
    if not grammar.verb_last:
        if grammar.nouns and i + 1 < len(words) and _is_past(words[i + 1].low):
            return True
        return _verb_at(words, i + 1, grammar) or (
            words[i].low in _WITH_SUBJECT and _find_verb(words, i + 1, grammar) is not None
        )
    end = i + 1
    while end < len(words) and not _STOPS.search(words[end].gap):
        end += 1
    return end - i > 1 and grammar.is_verb(words[end - 1])


def _after_opening_phrase(words: Sequence[_Word], grammar: Grammar) -> int:
    """Return the start of the main clause after an opening phrase; 0 if there is none.

    "Launched at Kiel, the Valkenor …", "A crane in Tynefleet, Old Bess …"
    """
    if len(words) < 3:
        return 0
    is_kind = words[0].low in _INDEFINITE and not grammar.verb_last and words[1].low not in _TIMES
    if not is_kind and not grammar.may_open(words[0].low):
        return 0
    for i in range(2, min(len(words), _FAR)):
        if is_kind and (grammar.is_verb(words[i - 1]) or words[i - 1].low in _TIMES):
            return 0
        if "," in words[i].gap:
            if is_kind and not words[i].text[0].isupper():
                return 0
            if _clause_at(words, i, grammar) or grammar.is_verb(words[i]):
                return i
    return 0


def _is_enough(words: Sequence[_Word], first: int, end: int) -> bool:
    """Whether a span is worth checking: two words, or a number."""
    return end - first > 1 or any(word.text[0].isdigit() for word in words[first:end])


def _subject(words: Sequence[_Word], first: int, grammar: Grammar) -> Span | None:
    """Return the span of a clause's subject: the words before its verb."""
    near = range(first, min(first + _FAR, len(words)))
    verb = next((i for i in near if grammar.is_verb(words[i])), None)
    if verb is None:
        return None
    if words[first].low in _SUBORDINATES:
        first += 1
    begin, end = first, verb
    if words[first].low in grammar.prepositions:
        # "In 1899 she moved": the subject is nearest to the verb.
        begin = verb
        while begin > first and words[begin - 1].low not in grammar.prepositions:
            if words[begin - 1].text[0].isdigit() or (begin < verb and "," in words[begin].gap):
                break
            begin -= 1
    # "The museum that was founded in 1921", "Edda Moll (1866 to 1931)"
    after = range(begin + 1, verb)
    tails = (i for i in after if words[i].low in grammar.relatives or "(" in words[i].gap)
    end = next(tails, verb)
    if not begin < end <= begin + _NEAR or any(
        _STOPS.search(w.gap) for w in words[begin + 1 : end]
    ):
        return None
    return words[begin].start, words[end - 1].end


def _antecedent(
    words: Sequence[_Word], cut: _Cut, subject: Span | None, grammar: Grammar
) -> Span | None:
    """Return the antecedent of a relative clause: the name before it, or else the subject."""
    last = cut.last
    starts = (
        i
        for i in range(last - 1, max(last - _NEAR, 0), -1)
        if words[i].low in grammar.subject_starts or words[i].low in grammar.prepositions
    )
    found = next(starts, None)
    is_noun = found is not None and words[found].low in grammar.subject_starts
    if found is not None and is_noun and words[found - 1].low in _COPULAS:
        # "Ilse Brand was a painter who died": it is the subject that died.
        return subject
    begin = _name_before(words, last)
    # "the King of Spain, who …"
    while begin > 1 and words[begin - 1].low in _GENITIVES and words[begin - 2].text[0].isupper():
        begin = _name_before(words, begin - 2)
    if begin <= last and not (is_noun and grammar.verb_last):
        return words[begin].start, words[last].end
    return (words[found].start, words[last].end) if found is not None and is_noun else subject


def _name_before(words: Sequence[_Word], last: int) -> int:
    """Return the first of the capitalised words that end at a word; the next word if it is none."""
    begin = last + 1
    while begin > 0 and words[begin - 1].text[0].isupper():
        begin -= 1
        if _STOPS.search(words[begin].gap):
            break
    return begin


def _is_past(word: str) -> bool:
    """Whether an English word looks like the past tense of a verb."""
    return len(word) > 4 and word.endswith("ed") and word not in _NO_PAST


def words_of(words: str) -> frozenset[str]:
    """Return the words of a text separated by white space."""
    return frozenset(words.split())


_MAX_CHARS = 2_000
# This many common words settle the language.
_SURE = 40
# Maximum words of a subject, and maximum distance to the verb after an opening phrase.
_NEAR = 8
_FAR = 24
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_WORD_AND_GAP = re.compile(rf"({_WORD.pattern})")
_OPENING = re.compile(r"[(\[{]")
_CLOSING = re.compile(r"[)\]}]")
_STOPS = re.compile(r"[,;:()\[\]–—]")
_BEHIND_VERB = re.compile(
    r"\d|(?:an?|the|its?|his|her|their|about|around|nearly|over|up|in|at|on|to|with|by|as|between|no"
    r"|some|more|from|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|forty|fifty|sixty|hundreds?|thousands?|millions?|several|many|half|only|exactly|roughly"
    r"|approximately|it|them|him|us|me|against|into|after|before|through|under|until|of|off|out|for"
    r"|along|across|daily|every|each|both|all|\w+ly)\Z"
)
_PARTICIPLE = re.compile(r"\w{3,}(?:ed|[ai]d[oa]s?|[aiu]t[oa]|ée?s?)|ouverte?|abert[oa]|apert[oa]")
_PRESENT = re.compile(r"(?!(?:always|perhaps|besides|towards|versus|its|this)\Z)[a-z]{2,}[^\W_su]s")
_AMOUNT = re.compile(r"\d|(?:an?|the|its|his|her|their|about|nearly|roughly|two|three|four|five)\Z")
# After these, an ambiguous word is a verb: "it lifts".
_SUBJECTS = words_of("it he she which who that never also later then still")
_INDEFINITE = words_of("a an un une una uno uma um")
_ARTICLES = words_of("""
    a an the une le la les ein eine der die das een de het un una el los las il lo i gli uma um o
    os as
""")
_TIMES = words_of("""
    year years month months week weeks day days decade few couple long short later earlier ago
    before after time while moment an año años mes meses día días anno anni mese mesi giorno
    giorni dopo après tard plus mois jour jours ans avant después ano mês dia dias depois
""")
_SUBORDINATES = words_of("""
    although though while whereas because obwohl obgleich während weil da aunque mientras porque
    sebbene benché mentre poiché embora enquanto hoewel terwijl omdat
""")
_LIKELY = re.compile(r"(?:ed|ly|ment|mente)\Z|\A(?:also|later|then|still|never|auch|später)\Z")
_ADVERBS = ("ly", "ment", "mente", "also", "later", "then", "still", "never", "auch", "später")
_NO_PAST = words_of("hundred indeed breed speed united sacred naked kindred exceed succeed")
_OF_SUBJECT = words_of("who which that qui que che die dat")
_WITH_SUBJECT = words_of("where whose dont où cuyo cuya donde dove cui onde cujo cuja")
_COPULAS = words_of("""
    is was are were be been became ist war sind waren wurde est était sont es era son fue è sono fu
    é foi são eram
""")
_CONDITIONS = words_of("if unless whenever provided wenn falls sofern indien tenzij")
# Elsewhere these have other meanings: "si trova", "se inauguró", "als Lehrer".
_OPENING_CONDITIONS = words_of("si se als")
_GENITIVES = words_of("of von des du de di do da del della van")
_QUOTES = frozenset('"“„«‘')


def _forms(regular: str, others: str) -> str:
    """Return the third person and past forms of English verbs."""
    found = others.split()
    for verb in regular.split():
        stem = verb[:-1] if verb.endswith(("e", "y")) else verb
        if verb.endswith("e"):
            found += verb + "s", verb + "d"
        elif verb.endswith("y") and verb[-2] not in "aeo":
            found += stem + "ies", stem + "ied"
        else:
            es = verb.endswith(("s", "sh", "ch", "x"))
            found += verb + ("es" if es else "s"), verb + "ed"
    return " ".join(found)


_REGULAR = """
    open found launch establish create design name call locate complete finish start close end
    measure weigh cover contain include comprise consist span reach extend stretch connect link join
    cross pass carry use need require provide supply support produce generate offer serve employ
    feature display house host belong border surround publish release record perform compose direct
    paint play star appear receive earn award collect study graduate attend work live move marry
    retire resign travel visit return discover invent develop introduce adopt sign represent compete
    score rank cost operate manage own acquire purchase manufacture register declare elect appoint
    crown die rule reign follow remain last expand increase decrease decline drop rise pump print
    boil melt orbit rotate consume emit absorb store handle deliver ship land sail explore conquer
    destroy damage rename rebuild restore convert transform merge seat draw load charge accept allow
    enable invoke default implement depend involve affect cause treat prevent occur happen begin
    result lead train teach coach guard protect attract welcome celebrate form flow drain inhabit
    number total average peak date stem originate derive translate mean signify count hold show
    stand lie run win sell buy make take give grow build lift burn bake brew cook cool heat grind
    mill clean wash dry lock unlock light help want like love hate feed freeze arrive depart ban
    hang sleep bark sing dance swim climb jump walk talk ask answer catch throw kick pull push dig
    mine farm harvest plant water hunt fish trade export import tax fund finance sponsor back oppose
    reject approve propose suggest argue claim deny confirm reveal prove discuss debate collapse
    sink crash explode survive escape flee hide attack invade occupy liberate greet invite expect
    hope plan prepare organise organize arrange coordinate monitor control regulate limit restrict
    permit forbid demand guarantee ensure insure warn inform report announce describe explain
    illustrate depict portray commemorate honour honor remember worship rest sit reside stay vary
    range differ resemble match fit suit combine mix blend separate divide split share distribute
    spread send transmit broadcast stream copy edit interpret analyse analyze examine test check
    detect identify recognise recognize classify sort filter search weave knit sew spin turn roll
    slide glide drip leak blow shine glow flash ring sound smell taste feel seem look flower
    """
# Those forms that are nouns as well.
_ALSO_NOUNS = """
    designs names starts finishes ends measures covers reaches stretches links joins crosses passes
    set needs supplies supports offers features displays houses hosts borders releases records
    paints plays stars awards studies works lives moves signs ranks costs rules remains increases
    declines drops rises pumps prints boils orbits stores ships lands sails damages results leads
    trains coaches guards forms flows numbers totals averages peaks dates stems means counts holds
    shows stands lies runs seats draws loads charges claims calls opens closes spans returns visits
    travels scores causes treats lifts cooks cleans locks lights hangs barks dances climbs jumps
    walks talks answers catches throws kicks pulls pushes digs mines farms harvests plants waters
    hunts trades exports imports taxes funds sponsors backs debates collapses crashes escapes hides
    attacks hopes plans monitors controls limits permits demands guarantees reports honours honors
    rests stays ranges matches fits suits mixes blends splits shares spreads broadcasts streams
    copies edits tests checks sorts filters searches spins turns rolls slides leaks blows flashes
    rings sounds smells tastes feels looks heats cools mills washes crowns flowers
    """
_OTHERS = """
    is was are were has had have does did do can could will would may might must should became
    becomes began begins built bought came comes drew drawn drove fell felt flew fought gave grew
    held kept keeps knew knows lay led left lost made meant met paid ran read rose said sang sat saw
    sold sent set shot spent spoke spread stood swam taught thought told took went wins won wore
    wrote writes died dies born gets got goes lies sits loses speaks says eats ate hung slept froze
    burnt sank rang dug ground rises leaves brings lets puts falls flies fights thinks teaches tells
    sees meets reads rides rode sets swims wears drives drinks drank chose chooses understands
    caught threw hid shook broke breaks isn't wasn't hasn't doesn't didn't aren't weren't hadn't
    won't can't
    """
_ENGLISH = (
    "the of and is was in to a with for which who that it its has are by on at from this as",
    _forms(_REGULAR, _OTHERS),
    "and but while whereas yet",
    "who which whose where that",
    "he she it they we i you this that these those the a an its his her their there one each both",
    "launched born built founded established opened completed designed known located named"
    " made created written published released set first originally based situated erected"
    " discovered invented introduced formed released painted recorded raised educated trained"
    " elected called",
    "in at on after before by from during since until under over for with as to between",
)
_GERMAN = (
    "der die das und ist war in den von zu mit für auf ein eine im dem des nicht sich als auch hat",
    """
    ist war sind waren hat hatte haben hatten wird wurde werden wurden kann konnte liegt lag steht
    stand stehen enthält enthielt besitzt besaß verfügt misst maß wiegt wog kostet kostete fasst
    fasste zählt zählte umfasst umfasste gehört gehörte verbindet verband führt führte beginnt
    begann endet endete öffnete schloss eröffnete gründete baute entwarf erfand entdeckte schrieb
    malte komponierte spielte gewann verlor erhielt bekam starb lebt lebte wohnt wohnte arbeitet
    arbeitete studierte lehrte heiratete zog ging kam wuchs blieb leitet leitete trägt trug hält
    hielt zeigt zeigte dient diente stammt stammte besteht bestand produziert produzierte verkauft
    verkaufte braucht brauchte benötigt bietet bot erreicht erreichte fährt fuhr fließt floss heißt
    hieß gilt galt nimmt nahm gibt gab macht machte transportierte beförderte reicht reichte druckt
    pumpt verbraucht speichert beträgt betrug erschien veröffentlichte lief kaufte stellte setzte
    legte beschäftigte verlangte zeichnete errichtete stiftete übersetzte besuchte sammelte landete
    startete ließ trat sprach aß trank schlief hing fing half sank stieg fiel rief nannte kannte
    brachte dachte wusste
    """,
    "und aber sondern doch",
    "der die das welcher welche welches deren dessen dem den wo",
    "er sie es sie wir ich der die das ein eine sein seine ihr ihre dieser diese dieses man",
    "geboren gegründet gebaut erbaut erfunden entworfen eröffnet bekannt entdeckt veröffentlicht"
    " errichtet geschrieben gemalt",
    "in im am an auf nach vor seit ab bei von während bis mit um zu",
)
_FRENCH = (
    "le la les de des et est était un une du dans à au pour par sur qui que en avec il elle a se",
    """
    est était sont étaient fut furent a avait ont avaient possède possédait contient contenait
    compte comptait mesure mesurait pèse pesait coûte coûtait couvre couvrait relie reliait dessert
    abrite abritait comprend comprenait ouvrit ouvre ferma ferme fonda conçut construisit inventa
    découvrit écrivit peignit composa joua joue gagna remporta perdit reçut mourut naquit vécut vit
    étudia enseigna épousa déménagea devint devient reste resta dirige dirigea porte portait produit
    produisait vend vendait offre offrait atteint atteignit se situe situait trouve trouvait dure
    dura consomme utilise transportait transporta transporte peut pouvait fait faisait commence
    commença termine prit prend publia expose exposait accueille accueillait part partit arrive
    arriva date datait emploie employait broie moud chauffe brûle mange dort parle chante nage
    fabrique fabriquait habite travaille achète finance soutient protège interdit autorise exige
    propose présente organise célèbre attire reçoit sert traverse coule descend monte tombe rejoint
    remonte figure appartient représente constitue forme occupe remplace succède pond fleurit pousse
    mûrit jette tient pendait repose
    """,
    "et mais tandis puis",
    "qui dont où que",
    "il elle ils elles on le la les un une son sa ses ce cette ces l'on nous je",
    "né née fondé fondée construit construite ouvert ouverte lancé lancée conçu conçue inventé"
    " inventée connu connue publié publiée situé située",
    "en à au dans après avant depuis pendant lors dès sous sur pour avec de",
)
_SPANISH = (
    "el la los las de y es era un una en del que con por para se su al fue como más lo",
    """
    es era son eran fue fueron ha había han tiene tenía tienen tuvo está estaba contiene contenía
    cuenta contaba mide medía pesa pesaba cuesta costaba costó cubre cubría conecta conectaba une
    unía alberga albergaba comprende abrió abre cerró fundó diseñó construyó inventó descubrió
    escribió pintó compuso jugó juega ganó perdió recibió murió nació vivió vive estudió enseñó se
    mudó convirtió casó queda dirigió dirige lleva llevaba llevó produce producía vende vendía
    ofrece alcanza alcanzó dura duró consume usa utiliza transportaba transportó puede hace empezó
    comenzó terminó publicó recibe pertenece trabajó data nace desemboca expone sale llega emplea
    muele quema come duerme habla canta nada fabrica trabaja compra financia apoya protege prohíbe
    exige propone presenta organiza celebra atrae acoge sirve cruza fluye baja sube cae forma ocupa
    sustituyó florece crece pone cuelga descansa representa constituye funciona abastece calienta
    levanta pasa mantiene conserva guarda muestra
    """,
    "y e pero mientras",
    "que quien donde cuyo cuya",
    "él ella ellos ellas el la los las un una su sus este esta esto uno nosotros yo",
    "nacido nacida fundado fundada construido construida inaugurado inaugurada botado botada"
    " lanzado lanzada diseñado diseñada conocido conocida publicado publicada situado situada",
    "en a al desde después antes durante tras con por para bajo de",
)
_ITALIAN = (
    "il la lo gli le di e è era un una in del che con per si su al fu come più nel della",
    """
    è era sono erano fu furono ha aveva hanno avevano ebbe contiene conteneva conta contava misura
    misurava pesa pesava costa costava copre copriva collega collegava ospita ospitava comprende
    aprì apre chiuse fondò progettò costruì inventò scoprì scrisse dipinse compose giocò gioca vinse
    perse ricevette morì nacque visse vive studiò insegnò si trasferì divenne diventò sposò rimase
    diresse dirige porta portava trasportava trasportò produce produceva vende vendeva offre
    raggiunge raggiunse dura durò consuma usa utilizza può fa iniziò cominciò terminò pubblicò
    appartiene trova lavorò risale macina nasce sfocia espone attira accoglie parte arriva impiega
    brucia mangia dorme parla canta nuota fabbrica lavora compra finanzia sostiene protegge vieta
    richiede propone presenta organizza celebra riceve serve attraversa scorre scende sale cade
    forma occupa sostituì fiorisce cresce depone pende riposa rappresenta costituisce funziona
    fornisce riscalda solleva conserva mostra tiene
    """,
    "e ed ma mentre",
    "che dove cui",
    "lui lei egli ella esso essa loro il la lo i gli le un una suo sua questo questa noi io",
    "nato nata fondato fondata costruito costruita inaugurato inaugurata varato varata lanciato"
    " lanciata progettato progettata conosciuto conosciuta pubblicato pubblicata situato situata",
    "in a al nel nella dal dopo prima durante da con per sotto di",
)
_PORTUGUESE = (
    "o a os as de e é era um uma em do da que com por para se no na foi como mais ao",
    """
    é era são eram foi foram tem tinha têm tinham teve está estava contém continha conta contava
    mede media pesa pesava custa custava custou cobre cobria liga ligava abriga abrigava compreende
    abriu abre fechou fundou projetou construiu inventou descobriu escreveu pintou compôs jogou joga
    ganhou venceu perdeu recebeu morreu nasceu viveu vive estudou ensinou mudou tornou casou ficou
    fica dirigiu dirige leva levava transportava transportou produz produzia vende vendia oferece
    alcança alcançou dura durou consome usa utiliza pode faz começou terminou publicou pertence
    trabalhou possui possuía data mói nasce deságua expõe parte chega emprega queima come dorme fala
    canta nada fabrica trabalha compra financia apoia protege proíbe exige propõe apresenta organiza
    celebra atrai acolhe recebe serve atravessa corre desce sobe cai forma ocupa substituiu floresce
    cresce põe pende repousa representa constitui funciona fornece aquece levanta conserva guarda
    mostra mantém
    """,
    "e mas enquanto",
    "que quem onde cujo cuja",
    "ele ela eles elas o a os as um uma seu sua este esta isto nós eu",
    "nascido nascida fundado fundada construído construída inaugurado inaugurada lançado lançada"
    " projetado projetada conhecido conhecida publicado publicada situado situada",
    "em ao no na desde depois antes durante após com por para sob de",
)
_DUTCH = (
    "de het een en is was in van op te met voor zijn aan door die dat er niet ook bij als",
    """
    is was zijn waren heeft had hebben hadden wordt werd worden werden kan kon ligt lag staat stond
    bevat bevatte bezit telt telde meet mat weegt woog kost kostte beslaat verbindt verbond herbergt
    omvat opende sloot stichtte ontwierp bouwde ontdekte schreef schilderde componeerde speelde
    speelt won verloor kreeg ontving stierf overleed leefde woont woonde werkt werkte studeerde
    doceerde trouwde verhuisde bleef leidt leidde draagt droeg vervoerde houdt hield toont toonde
    dient diende produceert verkoopt biedt bereikt bereikte duurt duurde gebruikt verbruikt begon
    eindigde publiceerde heet heette geldt dateert maalt ontspringt mondt vertrekt komt kwam gaat
    ging eet slaapt spreekt zingt zwemt maakt maakte koopt kocht steunt beschermt verbiedt eist
    presenteert organiseert viert trekt trok ontvangt serveert stroomt daalt stijgt valt viel vormt
    bloeit groeit legt hangt rust vertegenwoordigt levert verwarmt tilt bewaart stamt loopt liep
    rijdt reed vaart
    """,
    "en maar terwijl",
    "die dat wie waar wiens",
    "hij zij ze het de een zijn haar hun dit deze wij ik men",
    "geboren opgericht gebouwd geopend gelanceerd ontworpen uitgevonden bekend ontdekt gesticht",
    "in op aan na voor sinds vanaf bij van tijdens tot met om te",
)


# "mahlt 300 Säcke", "mündet in die Leine": third person, but neither participle nor adverb.
_GERMAN_VERB = (
    re.compile(r"(?!ge)[a-zäöüß]{2,}t"),
    re.compile(
        r"(?!(?:nicht|mit|seit|fast|oft|erst|jetzt|dort|acht|laut|samt|statt|anstatt|meist|selbst"
        r"|sonst|weit|alt|kalt|gut|rot|breit|bunt|leicht|echt|fest|dicht|direkt|zuerst|zuletzt|damit"
        r"|somit|insgesamt|überhaupt|bekannt|berühmt|exakt|bereits|knapp|zumeist|höchst|längst"
        r"|[a-zäöü]+(?:licht|haft|samt|recht|wert|fest))\ )(?:\w+\ (?:\d\S*|[A-ZÄÖÜ]\S+|das|den|dem"
        r"|eine?|eine[nmr]|sein\w*|ihr\w*|etwa|rund|über|bis|mehr|fast|zwei|drei|vier|fünf|sechs"
        r"|sieben|acht|neun|zehn|elf|zwölf|die|der|in|im|aus|auf|bei|am|an|zu|zum|zur|mit|nach|für"
        r"|um|unter|vor|es|sich))"
    ),
)


def _conjunction_pattern(words: str) -> re.Pattern[str]:
    any_of = "|".join(map(re.escape, sorted(words_of(words))))
    return re.compile(rf"(,?)\s({any_of})(?=\s+([^\W_]+))")


_NOTHING = frozenset[str]()
_NONE = Grammar(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)


@cache
def _languages() -> tuple[Grammar, ...]:
    tables = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH)
    nouns = words_of(_ALSO_NOUNS)
    return tuple(
        Grammar(
            *(frozenset(words.split()) for words in table),
            nouns=nouns if table is _ENGLISH else frozenset(),
            base_forms=words_of(_REGULAR) if table is _ENGLISH else frozenset(),
            patterns=_GERMAN_VERB if table is _GERMAN else None,
            verb_last=table in (_GERMAN, _DUTCH),
            appositions=re.compile(
                rf",\s(?:{'|'.join(map(re.escape, sorted(_ARTICLES | words_of(table[5]))))}|l['’])",
                re.IGNORECASE,
            ),
            conjunction_pattern=_conjunction_pattern(f"{table[2]} {table[3]}"),
        )
        for table in tables
    )
