"""A claim that computes a value, and the values of documents that it may compute it from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

from resay._internal.patterns import lazy_pattern
from resay.core.names import capital_runs
from resay.core.normalization import normalized
from resay.core.quantities import Quantity, quantities
from resay.core.quantities.reader import may_contain_quantity
from resay.scorers.common.arithmetic.cues import Computation, ComputedWords
from resay.scorers.common.arithmetic.listings import Listing, listings_in
from resay.scorers.common.arithmetic.result import ComputedResult, in_unit, same_unit
from resay.scorers.common.arithmetic.values import Value, names_in, values_of
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.document_records import Record
from resay.scorers.common.words import ignored_words, stems_of, word_stems, words_of

# Documents with more values are not computed with.
_MAX_VALUES = 20_000
MAX_OPERANDS = 2_000
"""The most values that are added up."""
MAX_MEANT = 3
"""The most values that a claim may mean by the same words."""
# The characters between "than" and what follows: an article, perhaps a noun.
_NEAR = 28
_NOT_COUNTED = frozenset(("ordinal", "clock"))
_COUNTED = lazy_pattern(r" ([^\W\d_]+)(?![\w-])")


class Documents:
    """The documents that claims are computed from.

    Args:
        records: Their records.
        owners: By index of a record, the index of its document.
        language: The language of the claims.
    """

    def __init__(self, records: Sequence[Record], owners: Sequence[int], language: str) -> None:
        self.records = records
        self.owners = owners
        self.language = language
        self.cues = ComputedWords.of(language)

    @cached_property
    def values(self) -> list[Value]:
        """The values of the documents; none if there are too many."""
        values_in_order = values_of(self.records, self.owners, self.names)
        values = list(islice(values_in_order, _MAX_VALUES + 1))
        return values if len(values) <= _MAX_VALUES else []

    @cached_property
    def numbers(self) -> list[Value]:
        """The values that are neither dates, times, ordinals nor ranges."""
        return [
            value
            for value in self.values
            if not value.quantity.year_or_date
            and value.quantity.unit not in _NOT_COUNTED
            and value.quantity.low == value.quantity.high
        ]

    @cached_property
    def dates(self) -> list[Value]:
        """The values that are dates or years."""
        return [value for value in self.values if value.quantity.year_or_date]

    @cached_property
    def by_unit(self) -> Mapping[str, Sequence[Value]]:
        """The values by their unit."""
        by_unit: defaultdict[str, list[Value]] = defaultdict(list)
        for value in self.values:
            by_unit[value.quantity.unit].append(value)
        return by_unit

    @cached_property
    def numbers_by_sentence(self) -> Mapping[tuple[int, int], Sequence[Value]]:
        """The numbers by their row or sentence."""
        by_sentence: defaultdict[tuple[int, int], list[Value]] = defaultdict(list)
        for value in self.numbers:
            by_sentence[value.sentence].append(value)
        return by_sentence

    @cached_property
    def complete_groups(self) -> Sequence[Sequence[Value]]:
        """The numbers of one unit that a row, sentence, document or column consists of."""
        groups: defaultdict[tuple[object, ...], list[Value]] = defaultdict(list)
        for value in self.numbers:
            unit = value.quantity.unit
            groups[unit, value.sentence].append(value)
            whole = value.column if self.is_table(value) else ("record", value.record)
            groups[unit, whole].append(value)
        complete: list[Sequence[Value]] = []
        for values in groups.values():
            is_new = not complete or values != complete[-1]
            if 3 <= len(values) <= MAX_OPERANDS and is_new:
                complete.append(values)
        return complete

    @cached_property
    def tables(self) -> Mapping[tuple[int, tuple[str, ...]], Sequence[int]]:
        """By document and heads, the indexes of the rows, or of the objects."""
        tables: defaultdict[tuple[int, tuple[str, ...]], list[int]] = defaultdict(list)
        for index, record in enumerate(self.records):
            if record.cells:
                tables[self.owners[index], record.heads].append(index)
        return tables

    @cached_property
    def stems_in_cells(self) -> Sequence[frozenset[str]]:
        """By record, the stems of the words in its cells."""
        stems: list[frozenset[str]] = []
        for record in self.records:
            contents = " ".join(content for _, content in record.cells)
            stems.append(frozenset(stems_of(normalized(contents))))
        return stems

    @cached_property
    def listings(self) -> Sequence[Listing]:
        """The lists behind colons."""
        return list(listings_in(self.records))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that are names where they begin a sentence."""
        return names_in(self.records)

    @cached_property
    def _texts(self) -> list[str]:
        return [_comparable(record.text) for record in self.records]

    def may_compute(self, claim: str) -> bool:
        """Return whether a claim has a number or compares, and no document has it verbatim."""
        if not (self.cues.compares(claim) or may_contain_quantity(claim.lower())):
            return False
        text = _comparable(claim)
        return not any(text in other for other in self._texts)

    def is_table(self, value: Value) -> bool:
        """Return whether a value is in a row or an object."""
        return bool(self.records[value.record].cells)


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that a claim mentions, with its values.

    Attributes:
        positions: The positions of the claim's words that mention it.
        values: Its values.
        start: The offset in the claim of the first word that mentions it.
    """

    positions: frozenset[int]
    values: list[Value]
    start: int


class ComputedClaim:
    """A claim that computes one value.

    Args:
        text: The claim, in the form in which texts are compared.
        parsed: Its quantities.
        computation: What it computes.
        documents: The documents.
        before: The sentence before it, which may name what it is about.
    """

    def __init__(
        self,
        text: str,
        parsed: Sequence[Quantity],
        computation: Computation,
        documents: Documents,
        before: str = "",
    ) -> None:
        self.text = text
        self.parsed = parsed
        self.computation = computation
        self.documents = documents
        self.before = before
        self.sizes = [q for q in parsed if documents.cues.is_size(text, q)]
        self.words: list[tuple[str, int, int]] = []
        of_computation = [*self.covers, *((size.start, size.end) for size in self.sizes)]
        for match in words_of(text).finditer(text):
            start, end = match.span()
            if not any(first <= start and end <= last for first, last in of_computation):
                self.words += ((stem, start, end) for stem in word_stems(match[0].lower()))
        self.stems = frozenset(stem for stem, _, _ in self.words)

    @property
    def quantity(self) -> Quantity:
        """The number that it computes.

        Raises:
            ValueError: It only compares.
        """
        if self.computation.quantity is None:
            raise ValueError("the claim computes no number")
        return self.computation.quantity

    @cached_property
    def parsed_before(self) -> Sequence[Quantity]:
        """The quantities of the sentence before it."""
        return quantities(self.before)

    # Subjects.

    def mentioned(self, candidates: Sequence[Value]) -> list[Subject]:
        """Return the subjects of candidates that the claim mentions, in order.

        A word that all candidates have in common tells none of them from the others.
        """
        if not candidates:
            return []
        common = _common([value.labels for value in candidates], [v.subject for v in candidates])
        groups: defaultdict[frozenset[int], list[Value]] = defaultdict(list)
        for value in candidates:
            # Most values are of something else.
            if value.labels.isdisjoint(self.stems) and value.subject.isdisjoint(self.stems):
                continue
            labels = value.labels | value.subject
            if value.quantity.year_or_date:
                # Another date does not tell what a date is of.
                labels = frozenset(stem for stem in labels if not stem[0].isdigit())
            positions = self._positions_of(labels - common)
            if positions:
                groups[positions].append(value)
        if any(positions & self._named for positions in groups):
            by_name: defaultdict[frozenset[int], list[Value]] = defaultdict(list)
            for positions, values in groups.items():
                if positions & self._named:
                    by_name[positions & self._named] += values
            groups = by_name
        return self._subjects(groups)

    def identified(self, candidates: Sequence[Value]) -> list[Subject]:
        """Return the named subjects of candidates that the claim mentions by name, in order."""
        named = [value for value in candidates if value.identity]
        if not named:
            return []
        common = _common([value.identity for value in named])
        by_identity: defaultdict[frozenset[str], list[Value]] = defaultdict(list)
        for value in named:
            if not value.identity.isdisjoint(self.stems):
                by_identity[value.identity].append(value)
        groups: defaultdict[frozenset[int], list[Value]] = defaultdict(list)
        for identity, values in by_identity.items():
            positions = self._positions_of(identity - common)
            is_name = bool(positions & self._named) or values[0].is_listed
            if positions and is_name:
                groups[positions] += values
        by_name = {p: values for p, values in groups.items() if p & self._named}
        return self._subjects(by_name or groups)

    def _subjects(self, groups: dict[frozenset[int], list[Value]]) -> list[Subject]:
        subjects: list[Subject] = []
        for positions, values in groups.items():
            if any(positions < others for others in groups):
                continue
            shared = frozenset[int]().union(*(other for other in groups if other != positions))
            first = min(positions - shared or positions)
            subjects.append(Subject(positions, values, self.words[first][1]))
        return sorted(subjects, key=lambda subject: subject.start)

    def identified_before(self, candidates: Sequence[Value]) -> Subject | None:
        """Return the only subject that the sentence before names: "Its extension is 2218"."""
        if not self.before:
            return None
        computation = Computation("value", None, 0, 0)
        before = ComputedClaim(self.before, self.parsed_before, computation, self.documents)
        subjects = before.identified(candidates)
        if not subjects:
            return None
        # The first is the subject if it begins the sentence.
        begins = len(self.before[: subjects[0].start].split()) <= 1
        return subjects[0] if len(subjects) == 1 or begins else None

    def _positions_of(self, stems: frozenset[str]) -> frozenset[int]:
        return frozenset(p for p, (stem, _, _) in enumerate(self.words) if stem in stems)

    @cached_property
    def _named(self) -> frozenset[int]:
        """The positions of words with a capital, or that are numbers."""
        named: set[int] = set()
        for position, (_, start, end) in enumerate(self.words):
            is_capital = self.text[start].isupper() or self.text[start].isdigit()
            # A first word has a capital in any case.
            if is_capital and (start > 0 or self.text[start:end] in self.documents.names):
                named.add(position)
        return frozenset(named)

    def has_unknown_name(self, start: int, end: int, values: Iterable[Value]) -> bool:
        """Return whether a stretch has a capital that is neither a unit's nor a head's.

        Nouns have capitals in German.
        """
        if self.documents.language == "de":
            return False
        heads = frozenset[str]().union(*(value.words for value in values))
        for stem, first, last in self.words:
            if not max(start, 1) <= first < end or not self.text[first].isupper():
                continue
            is_value = any(q.start <= first < q.end for q in self.parsed)
            if not is_value and stem not in heads and last > first:
                return True
        return False

    def is_in_name(self, quantity: Quantity) -> bool:
        """Return whether a number belongs to a name, such as that of a model."""
        if quantity.year_or_date or quantity.unit:
            return False
        return any(start < quantity.start < end for start, end in capital_runs(self.text))

    def is_compared_with(self, subject: Subject) -> bool:
        """Return whether a subject only comes behind "than": what is said is of something else."""
        before = self.text[: subject.start]
        return self.documents.cues.search("than", before, max(len(before) - _NEAR, 0)) is not None

    # Operands.

    def meant(self, values: Sequence[Value], start: int = 0, end: int | None = None) -> list[Value]:
        """Return the values that share most words with a stretch of the claim."""
        last = len(self.text) if end is None else end
        stems = {stem for stem, first, _ in self.words if start <= first < last}
        best = max((len(stems & value.words) for value in values), default=0)
        return [value for value in values if len(stems & value.words) == best]

    def comparable(self, quantity: Quantity) -> list[Value]:
        """Return the numbers that a number of the claim may be computed from.

        Those under a head that the claim names, if there are any.
        """
        numbers = self.documents.numbers
        return self.under_named_heads([v for v in numbers if same_unit(v.quantity, quantity)])

    def under_named_heads(self, candidates: list[Value]) -> list[Value]:
        """Return the candidates under heads that the claim names; all if it names none."""
        noun = frozenset(stems_of(self.noun))
        for stems in (noun, self.stems):
            under_head = [value for value in candidates if stems & value.words]
            if under_head and len(under_head) < len(candidates):
                columns = {value.column for value in under_head}
                if any(value.column not in columns for value in candidates):
                    return under_head
        return candidates

    @cached_property
    def noun(self) -> str:
        """The word behind the number: what it counts."""
        quantity = self.computation.quantity
        if quantity is None:
            return ""
        for _, start, end in self.words:
            if start >= quantity.end:
                return self.text[start:end]
        return ""

    @property
    def size(self) -> Quantity | None:
        """The number of things that it says it is about: "the three halls"."""
        sizes = [size for size in self.sizes if size != self.computation.quantity]
        return sizes[0] if sizes else None

    def pairs(self, candidates: Sequence[Value]) -> list[tuple[Value, Value]]:
        """Return the pairs of values that the claim compares, the first with the second."""
        start, end = self.computation.start, self.computation.end
        if self.computation.quantity is not None:
            start = min(start, self.computation.quantity.start)
        subjects = self.mentioned(candidates)
        if len(subjects) > 2:
            return []
        if len(subjects) == 2:
            first, second = subjects
            if first.start >= end:
                # "18 years before the tunnel, the bridge opened."
                first, second = second, first
            elif second.start < start:
                # "Between the two, the gap is": neither is said to come first.
                return []
        elif len(subjects) == 1 and subjects[0].start >= end:
            # "It was planted 43 years before the Ferry Oak."
            other = self.identified_before(candidates)
            if other is None or other.values == subjects[0].values:
                return []
            first, second = other, subjects[0]
        else:
            values = subjects[0].values if subjects else list(candidates)
            if not subjects and len({value.record for value in values}) > 1:
                return []
            of_first = self.meant(values, 0, start)
            others = [value for value in values if value not in of_first]
            return combined(of_first, self.meant(others, end) if others else [])
        of_second = self.meant(second.values, end)
        if len(of_second) > 1:
            of_second = self.meant(of_second, 0, end)
        return combined(self.meant(first.values, 0, end), of_second)

    # Results.

    @property
    def covers(self) -> tuple[tuple[int, int], ...]:
        """The spans of the words that say what it computes, and of the number."""
        spans = [(self.computation.start, self.computation.end)]
        if self.computation.quantity is not None:
            spans.append((self.computation.quantity.start, self.computation.quantity.end))
        return tuple(spans)

    @property
    def number_span(self) -> tuple[int, int] | None:
        """The span of the number, with the noun that it counts; of a ratio, of its clause."""
        quantity = self.computation.quantity
        if quantity is None:
            return None
        if self.computation.kind == "ratio":
            for start, end in parts_of(self.text):
                if start <= quantity.start < end:
                    return start, end
        counted = None if quantity.unit else _COUNTED.match(self.text, quantity.end)
        if counted is None or counted[1].lower() in ignored_words():
            return quantity.start, quantity.end
        return quantity.start, counted.end()

    def written(self, quantity: Quantity) -> str:
        """Return one of its quantities as written."""
        return self.text[quantity.start : quantity.end]

    def is_stated(self) -> bool:
        """Return whether documents have the number itself, for what it is computed as."""
        quantity = self.quantity
        cue = {"total": "total", "average": "average"}.get(self.computation.kind)
        for value in self.documents.by_unit.get(quantity.unit, ()):
            if quantity.agrees(value.quantity):
                text = self.documents.records[value.record].text
                if cue is None or self.documents.cues.search(cue, text):
                    return True
        return False

    def result(
        self,
        computed: float,
        arithmetic: str,
        operands: Sequence[Value],
        *,
        is_right: bool,
        covers: tuple[tuple[int, int], ...] = (),
    ) -> ComputedResult:
        """Return the result for the number.

        Args:
            computed: What documents give.
            arithmetic: How.
            operands: The values that it is computed from.
            is_right: Whether the claim says the same.
            covers: The spans that it settles, if they are more than the claim's own.
        """
        number = in_unit(abs(computed), self.quantity, self.written(self.quantity))
        return ComputedResult(
            is_right=is_right,
            arithmetic=f"{number} = {arithmetic}",
            records=frozenset(value.record for value in operands),
            covers=covers or self.covers,
            number=self.number_span,
            operands=tuple(operands),
        )

    def comparison(
        self, arithmetic: str, values: Sequence[Value], *, is_right: bool
    ) -> ComputedResult:
        """Return the result for a claim that only compares."""
        return ComputedResult(
            is_right=is_right,
            arithmetic=arithmetic,
            records=frozenset(value.record for value in values),
            covers=self.covers,
            number=None,
        )


def _comparable(text: str) -> str:
    return " ".join(normalized(text).casefold().split()).rstrip(".")


def _common(
    groups: Sequence[frozenset[str]], others: Sequence[frozenset[str]] = ()
) -> frozenset[str]:
    """Return what all of at least one group have in common.

    Args:
        groups: The groups.
        others: For each what belongs to it as well.
    """
    common = groups[0] | others[0] if others else groups[0]
    for index, group in enumerate(groups):
        if not common:
            break
        common &= group | others[index] if others else group
    return common


def combined(first: Sequence[Value], second: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Return the pairs of two groups of values; none if there are too many to be meant."""
    if len(first) > MAX_MEANT or len(second) > MAX_MEANT:
        return []
    return [(a, b) for a, b in product(first, second) if a != b]
