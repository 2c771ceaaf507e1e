"""Reads which of several choices an answer states.

A choice counts where an answer states it, never where it merely occurs: at the start, after
decoration and a label; after a label such as "Verdict:", in a box or in a tag; as the subject's
predicate in a sentence about the claim ("the claim is supported"); or alone at the end, after the
reason. An answer that states two choices, or repeats all that it could choose from, states none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from resay._internal.patterns import lazy_pattern
from resay.lang.language import all_alternatives

T = TypeVar("T")

# What models put around a bare answer: markdown, quotes, brackets, bars of tables, ticks.
_DECORATION = " \t\r\n*_`~\"'“”‘’«»„「」『』【】#<>[](){}:：-–—•·|=$\\✓✔✅❌✗☑"

_LABEL_WORDS = all_alternatives("judge", "labels")
_LABEL = lazy_pattern(
    r"^(?:(?:my|the|final|short|overall|possible|correct|therefore,?|so,?|thus,?)\s+)*"
    rf"(?:{_LABEL_WORDS})\s*[*_`\"'”’)\]]*\s*(?:is|ist|est|es|è|é|は|是)?\s*[:：=-]?\s*",
    re.IGNORECASE,
)
_COPULA = lazy_pattern(
    r"^(?:(?:it|this|that|he|she)\s+(?:is|was)|it['’]s|that['’]s|is|are|was|were)\s+", re.IGNORECASE
)
# A label inside an answer: at the start of a line, a sentence or a clause, or emphasised.
_LABELLED = lazy_pattern(
    r"(?:^|[\n.;!?,(\[|—–-]|\*\*|__|[。！？；，])[\s*_>#-]{0,12}"
    r"(?:(?:my|the|final|so|thus|therefore|hence|overall|correct|and|i\s+think|i\s+believe)"
    r"[\s,*_]{1,6}){0,4}"
    rf"(?:{_LABEL_WORDS})(?:\s+(?:for|to|on)\s+(?:the\s+|this\s+)?claim(?:\s+\d+)?)?"
    r"[\s*_`\"'”’]{0,8}(?::|：|=|→|=>|->|\bis\b|\bwould\s+be\b|は|是)[\s*_`\"'“‘:：]{0,8}",
    re.IGNORECASE,
)
_BOXED = lazy_pattern(r"\\?\bboxed\s*\{\s*(?:\\text(?:bf|tt|rm)?\s*\{)?\s*([^{}\n]{1,80})\}")
_TAGGED = lazy_pattern(
    r"<(answer|verdict|label|result|final[_-]?answer|output|conclusion)\b[^<>\n]{0,40}>"
    r"\s*(.{1,200}?)\s*</\1>",
    re.IGNORECASE | re.DOTALL,
)
_TAG = lazy_pattern(r"^<(?P<tag>[a-z_-]{1,20})>\s*(?P<inside>.*?)\s*(?:</(?P=tag)>|$)", re.I | re.S)
# A sentence whose subject is the claim, up to its predicate.
_SUBJECT = lazy_pattern(
    r"(?:^|[\n.;!?:—–]\s{0,4}|(?:,\s{0,4}|\s)(?:and\s+)?(?=(?:so|thus|hence|therefore|which\s+means)\b))"
    r"(?:(?:so|thus|hence|therefore|consequently|overall|in\s+conclusion|this\s+means(?:\s+that)?"
    r"|which\s+means(?:\s+that)?|based\s+on\s+[^.,;\n]{1,60}|according\s+to\s+[^.,;\n]{1,60})"
    r"[\s,:]{1,4}){0,4}"
    r"(?:(?:and|so|hence|thus|therefore)\s+)?"
    r"(?:(?:the|this|that)\s+(?:\w+\s+)?(?:claim|statement|sentence|assertion|answer|hypothesis)"
    r"(?:\s+\d+)?|(?:claim|statement|sentence)\s+\d+|it)\s+"
    r"(?:(?:is|was|has\s+been|appears\s+to\s+be|seems\s+to\s+be|must\s+be)\s+)?"
    r"(?:(?:therefore|thus|hence|clearly|directly|explicitly|fully|completely|also|then|hence"
    r"|considered|classified\s+as|marked\s+as|best\s+described\s+as)\s+){0,4}[*_`\"'“‘]*",
    re.IGNORECASE,
)
_SEGMENT = lazy_pattern(r"\n+|(?<=[.!?;])\s+|[。！？；]|→|⇒|=>|->|—|–|\s-\s|[:：]\s|，")
# After a choice that is the predicate of a sentence.
_PREDICATE_END = lazy_pattern(
    r"[\s*_`\"'”’)\]]*(?:$|[.,;:!。(—–\n-]|(?:by|in|with|according|based|because|since|as|and|from"
    r"|given|to|under|for|on|per|anywhere|at\s+all|directly|explicitly|clearly|here)\b)",
    re.IGNORECASE,
)
# After a choice: it holds in part, or the answer goes on about something else.
_WEAKENED = lazy_pattern(
    r"[\s*_`\"'”’,]*(?:\?|(?:only\s+)?in\s+part\b|part(?:ial)?ly\b|only\s+part|to\s+some\s+extent)",
    re.IGNORECASE,
)
# Between the choices of a menu.
_MENU_SEPARATOR = lazy_pattern(
    r"[*_`\"'”’>)\]]*\s*"
    rf"(?:(?P<strong>[/|]|,?\s*(?:{all_alternatives('questions', 'or')}|または|或|或者|还是)"
    r"(?=[\s*_`\"'“‘])|、)"
    r"|(?P<joint>(?:and|und|et|y|e)(?=[\s*_`\"'“‘]))|(?P<weak>[,;，]))\s*[*_`\"'“‘<(\[]*",
    re.IGNORECASE,
)
_MENU_END = lazy_pattern(r"[\s*_`\"'”’>)\]}.?!。？:：]*(?:$|\n)")
_BECAUSE = lazy_pattern(r"\s*(?:because|since|as|the\s+reason)\b", re.IGNORECASE)
_MAX_CHOICE_CHARS = 200
_AFTER_WORD = r"(?![\w\u0300-\u036f])(?![-‐‑/’'][^\W\d_])"
_BETWEEN_WORDS = r"[\s_‐‑-]{0,3}"


def fold(text: str) -> str:
    """Return a text without differences of case and of compatible characters."""
    return unicodedata.normalize("NFKC", text).casefold()


@dataclass(frozen=True, slots=True)
class Stated(Generic[T]):
    """A choice that an answer states.

    Attributes:
        value: Its meaning.
        start: Where it is stated in the answer.
        end: The end of its words.
    """

    value: T
    start: int
    end: int


@dataclass(frozen=True)
class Choices(Generic[T]):
    """What a judge may answer, and what it means.

    Attributes:
        words: The meaning of each word or phrase; a space may also be a hyphen or an underscore.
        letters: The meaning of each option letter, in capitals. A letter counts only where it is
            written as an option, not as an article or an initial.
        alone: Words that count only if they are the whole answer.
        unclear: Phrases that begin like one of `words` and mean none of the choices.
        sentences: Patterns of sentences that state a choice, each with its meaning.
        order: The words that the prompt offers, in its order, to recognise a copy of the menu.
    """

    words: Mapping[str, T]
    letters: Mapping[str, T] = field(default_factory=dict[str, T])
    alone: Mapping[str, T] = field(default_factory=dict[str, T])
    unclear: frozenset[str] = frozenset()
    sentences: tuple[tuple[re.Pattern[str], T], ...] = ()
    order: tuple[str, ...] = ()

    def extended(self, words: Mapping[str, T]) -> Choices[T]:
        """Return the same choices with further words, which take precedence."""
        return Choices(
            words={**self.words, **words},
            letters=self.letters,
            alone=self.alone,
            unclear=self.unclear,
            sentences=self.sentences,
            order=self.order,
        )

    def read(self, text: str) -> T | None:
        """Return the choice that an answer states, or None.

        Args:
            text: The judge's answer, or its part about one item.
        """
        stated = self.find(text)
        return None if stated is None else stated.value

    def first(self, text: str) -> T | None:
        """Return the choice that an answer begins with, or None.

        Args:
            text: The judge's answer.
        """
        text = unicodedata.normalize("NFKC", text)
        stated = self._at_start(text)
        return None if stated is None or self._is_menu(text, stated) else stated.value

    def whole(self, text: str) -> T | None:
        """Return the choice that a text consists of, or None if it says anything else."""
        stated = self._whole(unicodedata.normalize("NFKC", text))
        return None if stated is None else stated.value

    def find(self, text: str) -> Stated[T] | None:
        """Return the choice that an answer states, with its position; None if it states none.

        Args:
            text: The judge's answer. Positions are those in its compatible form (NFKC).
        """
        text = unicodedata.normalize("NFKC", text)
        tag = _TAG.match(text.strip())
        if tag is not None and tag["inside"]:
            offset = len(text) - len(text.lstrip()) + tag.start("inside")
            inner = self._stated_in(tag["inside"])
            return inner and Stated(inner.value, inner.start + offset, inner.end + offset)
        return self._stated_in(text)

    def _stated_in(self, text: str) -> Stated[T] | None:
        start = self._at_start(text)
        if start is not None:
            if self._is_menu(text, start):
                return None
            if _LABEL.match(text[_undecorated(text) :]):
                for labelled in self._labelled(text):
                    if labelled.value != start.value:
                        return None
            return start
        return self._after_reason(text)

    def _after_reason(self, text: str) -> Stated[T] | None:
        """Return the choice that an answer states after or within its reason."""
        for rule in (self._enclosed, self._labelled, self._concluded):
            choices = list(rule(text))
            if choices:
                # Whoever states two choices has stated none.
                values = {repr(choice.value) for choice in choices}
                return choices[-1] if len(values) == 1 else None
        return None

    def _enclosed(self, text: str) -> Iterator[Stated[T]]:
        for pattern, group in ((_BOXED, 1), (_TAGGED, 2)):
            for match in pattern.finditer(text):
                stated = self._whole(match[group]) or self._at_start(match[group])
                if stated is not None:
                    offset = match.start(group)
                    yield Stated(stated.value, stated.start + offset, stated.end + offset)

    def _labelled(self, text: str) -> Iterator[Stated[T]]:
        for match in _LABELLED.finditer(text):
            stated = self._at(text, match.end())
            if stated is not None and not self._is_menu(text, stated):
                yield stated

    def _concluded(self, text: str) -> Iterator[Stated[T]]:
        for match in _SUBJECT.finditer(text):
            stated = self._predicate_at(text, match.end())
            if stated is not None and not self._is_menu(text, stated):
                yield stated
        for pattern, value in self.sentences:
            for match in pattern.finditer(text):
                yield Stated(value, match.start(), match.end())
        start = 0
        for match in _SEGMENT.finditer(text.rstrip()):
            start = match.end()
        if start:
            stated = self._whole(text[start:])
            if stated is not None:
                yield Stated(stated.value, stated.start + start, stated.end + start)

    def _at_start(self, text: str) -> Stated[T] | None:
        stated = self._whole(text)
        if stated is not None:
            return stated
        start = _undecorated(text)
        stated = self._at(text, start)
        if stated is not None:
            return stated
        label = _LABEL.match(text[start:])
        if label is not None and label.end():
            stated = self._at(text, start + label.end())
            if stated is not None:
                return stated
        copula = _COPULA.match(text[start:])
        return self._predicate_at(text, start + copula.end()) if copula else None

    def _whole(self, text: str) -> Stated[T] | None:
        """Return the choice that a text consists of, apart from decoration."""
        if len(text) > _MAX_CHOICE_CHARS:
            return None
        bare = _LABEL.sub("", text.strip(_DECORATION)).strip(_DECORATION + ".!。！,;")
        if not bare:
            return None
        start = text.rfind(bare)
        end = start + len(bare)
        value = self._alone.get(_key(bare))
        if value is not None:
            return Stated(value, start, end)
        letter = bare.strip("() ")
        if len(letter) == 1 and letter.upper() in self.letters:
            return Stated(self.letters[letter.upper()], start, end)
        match = self._pattern.fullmatch(bare)
        value = self._meanings.get(_key(match[0])) if match else None
        return None if value is None else Stated(value, start, end)

    def _at(self, text: str, start: int) -> Stated[T] | None:
        """Return the choice at a position, after decoration."""
        return self._option_at(text, start) or self._phrase_at(text, start)

    def _phrase_at(self, text: str, start: int) -> Stated[T] | None:
        start += _undecorated(text[start:])
        match = self._pattern.match(text, start)
        if match is None or _WEAKENED.match(text, match.end()):
            return None
        value = self._meanings.get(_key(match[0]))
        return None if value is None else Stated(value, match.start(), match.end())

    def _predicate_at(self, text: str, start: int) -> Stated[T] | None:
        """Return the choice at a position that is the predicate of a sentence."""
        stated = self._phrase_at(text, start)
        # "It is true that the context mentions it, but ..." states nothing yet.
        return stated if stated and _PREDICATE_END.match(text, stated.end) else None

    def _option_at(self, text: str, start: int) -> Stated[T] | None:
        """Return the option whose letter is at a position, written as an option."""
        if not self.letters:
            return None
        match = self._option.match(text, start)
        if match is None:
            return None
        enclosed = match["enclosed"] or match["closed"]
        letter = enclosed or match["bare"]
        value = self.letters.get(letter.upper())
        if value is None:
            return None
        phrase = self._phrase_at(text, match.end())
        if phrase is not None and phrase.value != value:
            return None
        after = text[match.end() :]
        # "A." may be an initial and "A:" mean an answer.
        is_option = (
            enclosed
            or phrase is not None
            or not after.strip(_DECORATION)
            or after.startswith("\n")
            or _BECAUSE.match(after)
        )
        start = match.start("letter")
        return Stated(value, start, start + 1) if is_option else None

    def _is_menu(self, text: str, stated: Stated[T]) -> bool:
        """Return whether what is stated is the first of several choices to choose from."""
        position = stated.end
        values = {repr(stated.value)}
        strong = joint = False
        while True:
            separator = _MENU_SEPARATOR.match(text, position)
            if separator is None:
                break
            match = self._pattern.match(text, separator.end())
            option = self._option.match(text, separator.end()) if self.letters else None
            if match is not None:
                values.add(repr(self._meanings.get(_key(match[0]))))
                position = match.end()
            elif option is not None and (separator["strong"] or separator["joint"]):
                # "(A) and (B)" names both, whatever it says of them.
                values.add(option[0])
                position = option.end()
                strong = True
            else:
                break
            strong = strong or separator["strong"] is not None
            joint = joint or separator["joint"] is not None
        if len(values) == 1:
            return False
        ends = _MENU_END.match(text, position) is not None
        return strong or (ends and (joint or len(values) > 2))

    @cached_property
    def _meanings(self) -> Mapping[str, T | None]:
        meanings: dict[str, T | None] = {_key(phrase): None for phrase in self.unclear}
        for phrase, value in self.words.items():
            meanings[_key(phrase)] = value
        return meanings

    @cached_property
    def _alone(self) -> Mapping[str, T]:
        return {_key(phrase): value for phrase, value in self.alone.items()}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted({*self.words, *self.unclear}, key=len, reverse=True)
        return re.compile(
            f"(?:{'|'.join(map(_phrase_pattern, longest_first))}){_AFTER_WORD}", re.IGNORECASE
        )

    @cached_property
    def _option(self) -> re.Pattern[str]:
        letters = "".join(self.letters)
        lower = letters.lower()
        return re.compile(
            rf"[\s*_`\"'“‘]*(?:(?i:option|choice)\s+)?[*_`\"'“‘]*(?P<letter>(?=[\[(A-Za-z])"
            rf"(?:[(\[]\s*(?P<enclosed>[{letters}{lower}])\s*[)\]]"
            rf"|(?P<closed>[{letters}{lower}])\s*\)"
            rf"|(?P<bare>[{letters}])(?![\w'’])))[*_`\"'”’]*[.:,;\s–—-]*"
        )


def _undecorated(text: str) -> int:
    """Return where a text begins after decoration."""
    return len(text) - len(text.lstrip(_DECORATION))


def _key(phrase: str) -> str:
    return "".join(
        character
        for character in fold(phrase)
        if character.isalnum() or unicodedata.category(character).startswith("M")
    )


def _phrase_pattern(phrase: str) -> str:
    words = re.split(r"[\s_-]+", unicodedata.normalize("NFKC", phrase))
    return _BETWEEN_WORDS.join(map(re.escape, words))


def meanings(table: Iterable[tuple[T, Iterable[str]]]) -> dict[str, T]:
    """Return the meaning of each phrase of a table of meanings with their phrases."""
    by_phrase: dict[str, T] = {}
    for value, phrases in table:
        for phrase in phrases:
            by_phrase.setdefault(phrase, value)
    return by_phrase
