"""What a sentence states: its quantities, long numbers, codes, letters, links, names and words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from resay._internal.patterns import lazy_pattern
from resay.core.citation_marks import without_marks
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Sentence
from resay.core.quantities import Quantity, quantities
from resay.core.quantities.words import MONTHS
from resay.core.segmentation.spans import Span
from resay.lang.detection import detect_from_words
from resay.scorers.common.contrast import Wording
from resay.scorers.common.parsed_question import ParsedQuestion
from resay.scorers.common.sentence_items import UNDOUBTED, NamesAndWords
from resay.scorers.common.verbatim import letters_of, links_of, long_numbers, without_noise
from resay.scorers.common.words import stems_of, words_of

_UNDOUBTED_OF_ITEM = 0.5
_LONGEST_MONTH = 31
# Names in code, without the arguments of calls, which vary.
_CODE = lazy_pattern(r"`([^`\n(]{1,80})(?:\([^`\n]{0,80})?`")
# Addresses and versions are not parsed as quantities, and are compared verbatim.
_DOTTED = lazy_pattern(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){2,5}(?![\w.]*\w)")


class Statement:
    """A sentence, parsed to be compared with texts.

    Args:
        sentence: The sentence.
        text: The sentence without its citation marks.
        question: The question, whose words are no facts of an answer.
        language: The language of the texts.
        with_links: Whether links are facts of it.
        parts_of_months: Whether "the end of March" is a date.

    Attributes:
        start: The offset of the sentence in the response.
        original: The sentence in the form in which texts are compared, and as written.
        text: The same form, with blanks in place of links and item numbers.
        standalone: What it says out of its context, in this form: a table cell with its headers.
        language: The language of the texts.
        undoubted: The weight of what it says besides its facts.
        links: Its links.
        cited_links: Its links with those of its citations.
        all_quantities: Its quantities.
        quantities: Each of them once, without those of the question.
        long_numbers: The spans of telephone numbers, IBANs and the like.
        codes: Names in code, addresses and versions.
        letters: Letters that stand for themselves.
        words: Its words, in lower case.
        stems: The stems of all its words.
        names_and_words: Its names, and its other words without the commonest.
        own_stems: The stems of these, which the question does not have.
    """

    def __init__(
        self,
        sentence: Sentence,
        text: str,
        question: ParsedQuestion,
        language: str,
        *,
        with_links: bool,
        parts_of_months: bool,
    ) -> None:
        self.start = sentence.start
        self.language = language
        # A list item or table row says little besides its value.
        self.undoubted = _UNDOUBTED_OF_ITEM if sentence.unit in {"item", "row"} else UNDOUBTED
        standalone = text
        if sentence.standalone != sentence.text:
            standalone = without_marks(sentence.standalone)
        self.standalone = normalized(standalone)
        self.original = NormalizedText.of(text)
        self.text = without_noise(self.original.text)
        self.links = links_of(self.original.text) if with_links else ()
        self.cited_links = links_of(normalized(sentence.text)) if with_links else ()
        parsed_quantities = quantities(self.text, parts_of_months=parts_of_months)
        self.long_numbers = list(long_numbers(self.text, parsed_quantities))
        self.all_quantities = _outside(parsed_quantities, self.long_numbers)
        self.quantities: list[Quantity] = []
        for quantity in distinct_quantities(self.all_quantities):
            if not any(_repeats(quantity, other) for other in question.quantities):
                self.quantities.append(quantity)
        self.stems = frozenset(stems_of(self.text))
        dotted = list(_DOTTED.finditer(self.text))
        quantity_starts = {quantity.start for quantity in self.all_quantities}
        self.codes = [match[1] for match in _CODE.finditer(self.text) if match[1].strip()]
        self.codes += [match[0] for match in dotted if match.start() not in quantity_starts]
        # The "F" of 350 °F is no letter of its own.
        self.letters = letters_of(self.text, self.all_quantities)
        no_words = [(quantity.start, quantity.end) for quantity in self.all_quantities]
        no_words += self.long_numbers
        no_words += [match.span() for match in (*_CODE.finditer(self.text), *dotted)]
        self.words = [word.lower() for word in words_of(self.text).findall(self.text)]
        self.names_and_words = NamesAndWords.of(
            self.text,
            sorted(no_words),
            known=question.given_stems,
            letters=self.letters,
            nouns=detect_from_words(self.words) == "de",
        )
        self.own_stems = frozenset((*self.names_and_words.names, *self.names_and_words.words))

    @property
    def written(self) -> str:
        """The sentence as written, without spaces around it."""
        return self.original.written.strip()

    def is_day(self, quantity: Quantity) -> bool:
        """Return whether a bare number may be a day of a month that it names elsewhere."""
        is_bare = not quantity.unit and not quantity.year_or_date
        is_day = is_bare and 1 <= quantity.plain <= _LONGEST_MONTH and quantity.plain % 1 == 0
        return is_day and self._names_month

    @cached_property
    def _names_month(self) -> bool:
        return not MONTHS.keys().isdisjoint(self.words)

    @cached_property
    def word_stems(self) -> frozenset[str]:
        """The stems of its words that are neither names nor quantities, the commonest left out."""
        spans = [(quantity.start, quantity.end) for quantity in self.all_quantities]
        words = NamesAndWords.of(self.text, sorted(spans), known=(), letters=self.letters).words
        return frozenset(words)

    @cached_property
    def wording(self) -> Wording:
        """Its wording."""
        return Wording(self.text, self.language, words=self.words)


def _outside(parsed: Sequence[Quantity], long: Sequence[Span]) -> list[Quantity]:
    """Return the quantities that are no parts of long numbers."""
    ends = [end for _, end in long]
    outside: list[Quantity] = []
    for quantity in parsed:
        following = bisect_right(ends, quantity.start)
        if following == len(long) or quantity.end <= long[following][0]:
            outside.append(quantity)
    return outside


def distinct_quantities(parsed: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield quantities not given before, with or without a unit: "12, so 12 euros"."""
    seen = set[tuple[object, ...]]()
    for quantity in parsed:
        value = (quantity.kind, quantity.plain, quantity.year, quantity.month, quantity.day)
        if (quantity.unit, *value) in seen or ("", *value) in seen:
            continue
        if quantity.unit or ("any", *value) not in seen:
            yield quantity
        seen |= {(quantity.unit, *value), ("any", *value)}


def _repeats(quantity: Quantity, other: Quantity) -> bool:
    """Whether a quantity repeats the question's in the same unit: a conversion is an answer."""
    return quantity.agrees(other) and (quantity.kind == "date" or quantity.plain == other.plain)
