"""Finds what a claim says of one entry of a list, although only another entry has it.

"For parking, ask Sue Tanaka", of a list in which Omar Reyes is named for parking and Sue Tanaka for
keys. The claim names one entry, and gives what another has in a field in which the first has
something else. It does not if it names that other entry as well, denies or compares something, or
if any other text of the documents has what it gives.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage
from resay.core.quantities import Quantity, negations, quantities
from resay.lang.language import all_words
from resay.scorers.common.arithmetic.result import ComputedResult
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.document_entries import Entry, entry_groups
from resay.scorers.common.document_records import Record
from resay.scorers.common.indexed_sentences import sentences_of
from resay.scorers.common.quantity_keys import QuantityKeys
from resay.scorers.common.uncited import uncited_sentences
from resay.scorers.common.words import stems_of, word_stems, words_of

_LETTER = lazy_pattern(r"(?<![\w'°-])[A-Z](?![\w'-])")
# The full stop of "in well A. Well B" is not that of an initial.
_SENTENCE_END = lazy_pattern(r"(?<= [A-Z])\.\s+(?=[A-Z])")
_MAX_ENTRIES = 2_000
# A field is mentioned by at least this share of the words that tell it from those of others.
_MENTIONED = 0.5
# A field of more words is a text.
_MAX_WORDS = 5
# Smaller numbers without a unit may count something.
_MIN_BARE_NUMBER = 32
_MAX_CANDIDATES = 64

Place = tuple[int, int, Hashable]
"""A field, by the indexes of its group and of its entry there, and its kind."""


@dataclass(frozen=True, slots=True)
class _Mention:
    """What a claim has of a field.

    Attributes:
        stems: The words of the field that it has.
        start: Where they begin in the claim.
        end: Where they end.
        quantity: The quantity that it has, if the field has that.
    """

    stems: frozenset[str]
    start: int
    end: int
    quantity: Quantity | None = None


Mentions = Mapping[Hashable, Mapping[int, _Mention]]
"""By kind of field, what a text has of it by entry of a group."""
_NOTHING: Mentions = {}


class ExchangedFields:
    """Finds what claims say of one entry of documents, although only another has it.

    Args:
        records: The records of the documents.
        owners: By index of a record, the index of its document.
    """

    def __init__(self, records: Sequence[Record], owners: Sequence[int]) -> None:
        groups = entry_groups(records, owners)
        is_small = sum(map(len, groups)) <= _MAX_ENTRIES
        self._groups = groups if is_small else []
        # The kind of the field that names each entry.
        self._names = [[_name_of(entry) for entry in entries] for entries in self._groups]
        self._stems: dict[Place, frozenset[str]] = {}
        self._places: defaultdict[str, list[Place]] = defaultdict(list)
        self._values: list[Quantity] = []
        self._places_of_values: list[Place] = []
        for index, entries in enumerate(self._groups):
            self._read(index, entries)
        self._keys = QuantityKeys(self._values)
        # The ranges that name entries, such as an age.
        self._ranges: list[int] = []
        for position, (group, entry, kind) in enumerate(self._places_of_values):
            value = self._values[position]
            is_range = value.low != value.high and value.scale == 1.0
            if is_range and kind == self._names[group][entry]:
                self._ranges.append(position)
        del self._ranges[_MAX_CANDIDATES:]
        # In how many sentences and rows each word is.
        self._counts: Counter[str] = Counter()
        for stems in self._texts(records) if self._groups else ():
            self._counts.update(stems)

    def _read(self, group: int, entries: Sequence[Entry]) -> None:
        kinds = dict.fromkeys(kind for entry in entries for kind in entry.fields)
        for kind in kinds:
            stems_by_entry: dict[int, frozenset[str]] = {}
            for index, entry in enumerate(entries):
                if kind not in entry.fields:
                    continue
                text, name = entry.fields[kind], self._names[group][index]
                place = (group, index, kind)
                parsed = [q for q in quantities(text) if kind != name or q.unit]
                for quantity in parsed:
                    self._values.append(quantity)
                    self._places_of_values.append(place)
                # Beside a number, words say what it is of.
                is_value = bool(parsed) and kind != name
                words = () if is_value else _words(text, parsed)
                stems_by_entry[index] = frozenset(stem for stem, _, _ in words)
            if len(stems_by_entry) < 2:
                continue
            common = frozenset[str].intersection(*stems_by_entry.values())
            for index, stems in stems_by_entry.items():
                self._stems[group, index, kind] = stems - common
                for stem in stems - common:
                    self._places[stem].append((group, index, kind))

    def _texts(self, records: Sequence[Record]) -> Iterator[frozenset[str]]:
        for index, record in enumerate(records):
            if record.cells:
                yield frozenset(stem for stem, _, _ in _words(normalized(record.text)))
                continue
            original = NormalizedText.of(record.text)
            for sentence in sentences_of(original.text, original, record.text, index):
                yield frozenset(stem for stem, _, _ in _words(sentence.text))

    def find(self, passage: Passage, question: str) -> list[ComputedResult | None]:
        """Return for each claim what the entry that it names has in place of what it says.

        Args:
            passage: The claims, as its `sentences`.
            question: The question.
        """
        results: list[ComputedResult | None] = []
        before = ""
        for text in uncited_sentences(passage):
            if text is None or not self._groups:
                results.append(None)
                continue
            claim = NormalizedText.of(text)
            cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(claim.text))]
            result: ComputedResult | None = None
            for start, end in pairwise([*cuts, len(claim.text)]):
                stated = claim.text[start:end]
                exchanged = self._exchanged(stated, before, normalized(question))
                if exchanged is not None and exchanged.number is not None and result is None:
                    first, last = exchanged.number
                    result = replace(exchanged, number=claim.span(start + first, start + last))
                before = stated
            results.append(result)
        return results

    def _exchanged(self, claim: str, before: str, question: str) -> ComputedResult | None:
        if negations(claim) or _compares(claim):
            return None
        by_group = self._mentions(claim)
        for group, mentions in by_group.items():
            for subjects, start, end in self._subjects(group, mentions, claim, before, question):
                result = self._result(group, mentions, subjects, (start, end), claim)
                if result is not None:
                    return result
        return None

    def _mentions(self, text: str) -> dict[int, dict[Hashable, dict[int, _Mention]]]:
        """Return what a text mentions, by group, kind of field and entry."""
        by_group: defaultdict[int, defaultdict[Hashable, dict[int, _Mention]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for mentions in (self._words_in(text), self._values_in(text)):
            for (group, entry, kind), mention in mentions:
                by_group[group][kind].setdefault(entry, mention)
        for of_kinds in by_group.values():
            for of_kind in of_kinds.values():
                if len(of_kind) > _MAX_CANDIDATES:
                    continue
                # "Peña Alta" is no mention of "Peña Blanca".
                for entry, mention in list(of_kind.items()):
                    if any(mention.stems < other.stems for other in of_kind.values()):
                        del of_kind[entry]
        return {group: dict(kinds) for group, kinds in by_group.items()}

    def _words_in(self, text: str) -> Iterator[tuple[Place, _Mention]]:
        """Yield the fields most words of which a text has."""
        hits_by_place: defaultdict[Place, list[tuple[str, int, int]]] = defaultdict(list)
        for stem, start, end in _words(text):
            for place in self._places.get(stem, ()):
                hits_by_place[place].append((stem, start, end))
        for place, hits in hits_by_place.items():
            stems = frozenset(stem for stem, _, _ in hits)
            count = len(self._stems[place])
            if count <= _MAX_WORDS and len(stems) >= _MENTIONED * count:
                start, end = min(hit[1] for hit in hits), max(hit[2] for hit in hits)
                yield place, _Mention(stems, start, end)

    def _values_in(self, text: str) -> Iterator[tuple[Place, _Mention]]:
        """Yield the fields a quantity of which a text has, or in whose range it is."""
        parsed = quantities(text)
        for quantity in parsed:
            is_bare = not quantity.unit and not quantity.year_or_date
            if is_bare and quantity.plain < _MIN_BARE_NUMBER:
                continue
            for position in self._keys.candidates(quantity, _MAX_CANDIDATES):
                if quantity.supported_by(self._values[position]) == 1.0:
                    mention = _Mention(frozenset(), quantity.start, quantity.end, quantity)
                    yield self._places_of_values[position], mention
        for quantity, position in product(parsed, self._ranges):
            # "A child of five", of "children of 4 to 8 years".
            limits = self._values[position]
            is_alike = quantity.unit in ("", limits.unit) and not quantity.year_or_date
            if is_alike and limits.low <= quantity.low <= limits.high:
                mention = _Mention(frozenset(), quantity.start, quantity.end)
                yield self._places_of_values[position], mention

    def _subjects(
        self, group: int, mentions: Mentions, claim: str, before: str, question: str
    ) -> Iterator[tuple[Collection[int], int, int]]:
        """Yield the entries that a claim, or a clause of it, names, and the span of that."""
        named = self._named(group, mentions)
        if len(named) > _MAX_CANDIDATES:
            return
        if named and self._are_alike(group, named):
            yield named.keys(), 0, len(claim)
        elif named:
            cuts = {0, len(claim), *(start for start, _ in parts_of(claim))}
            for start, end in pairwise(sorted(cuts)):
                inside = {k: m for k, m in named.items() if start <= m.start < end}
                if inside and self._are_alike(group, inside):
                    yield inside.keys(), start, end
        else:
            for text in (before, question):
                named = self._named(group, self._mentions(text).get(group, _NOTHING))
                if named:
                    if self._are_alike(group, named):
                        # A name that begins the sentence may be what it is about.
                        first = len(claim) - len(claim.lstrip(' "*'))
                        is_bare = len(claim.split()) <= _MAX_WORDS and text == question
                        yield named.keys(), first + (not is_bare), len(claim)
                    return

    def _named(self, group: int, mentions: Mentions) -> Mapping[int, _Mention]:
        """Return the entries that are mentioned by the field that names them."""
        names = self._names[group]
        return {
            index: mention
            for kind, of_kind in mentions.items()
            for index, mention in of_kind.items()
            if kind == names[index] and mention.quantity is None
        }

    def _are_alike(self, group: int, entries: Collection[int]) -> bool:
        names: set[str] = set()
        for index in entries:
            names.add(self._groups[group][index].fields[self._names[group][index]])
        return len(names) == 1

    def _result(
        self,
        group: int,
        mentions: Mentions,
        subjects: Collection[int],
        span: tuple[int, int],
        claim: str,
    ) -> ComputedResult | None:
        entries = self._groups[group]
        # In "A has 5 GB and B 2 GB", each clause is about its own entry.
        by_kind: dict[Hashable, dict[int, _Mention]] = {}
        for kind, of_kind in mentions.items():
            inside = {k: m for k, m in of_kind.items() if span[0] <= m.start and m.end <= span[1]}
            by_kind[kind] = inside
        counts = Counter(entry for inside in by_kind.values() for entry in inside)
        for kind, inside in by_kind.items():
            own = [index for index in subjects if kind in entries[index].fields]
            if not own or kind == self._names[group][own[0]] or not inside.keys().isdisjoint(own):
                continue
            others = [index for index in inside if counts[index] == 1]
            if not inside or len(others) < len(inside):
                continue
            if _in_order(mentions[kind]) == _in_order(self._named(group, mentions)):
                # "8 GB, 16 GB and 4 GB in A, B and C": each entry has its own.
                continue
            mention = inside[others[0]]
            if any(self._is_elsewhere(inside[index], entries, index, own) for index in others):
                continue
            stated = entries[own[0]].fields[kind]
            first, last = _whole(mention, entries[others[0]].fields[kind], claim)
            return ComputedResult(
                is_right=False,
                arithmetic=repr(stated),
                records=frozenset(entries[index].record for index in own),
                covers=(),
                number=(first, last),
                written=claim[first:last],
            )
        return None

    def _is_elsewhere(
        self, mention: _Mention, entries: Sequence[Entry], index: int, own: Sequence[int]
    ) -> bool:
        """Whether another text, or the entry that the claim names, has what the claim gives."""
        if mention.quantity is not None:
            texts = [entries[k].text for k in own if entries[k].text != entries[index].text]
            values = [value for text in texts for value in quantities(text)]
            return any(map(mention.quantity.agrees, values))
        if any(self._counts[stem] == 1 for stem in mention.stems):
            own_stems = {
                stem
                for k in own
                for field in entries[k].fields.values()
                for stem in stems_of(field)
            }
            return mention.stems <= own_stems
        return True


def _whole(mention: _Mention, field: str, text: str) -> tuple[int, int]:
    """Return where all words of a field are in a text that mentions it."""
    start, end = mention.start, mention.end
    while end < len(text) and text[end].isascii() and text[end] not in " \n,.;:!?)":
        end += 1
    words = set(field.lower().split())
    while True:
        before = text[:start].rstrip()
        word = before.rpartition(" ")[2]
        if not word or word.lower() not in words:
            return start, end
        start = len(before) - len(word)


def _in_order(mentions: Mapping[int, _Mention]) -> list[int]:
    """Return the entries that are mentioned, in the order of what a text has of them."""
    return sorted(mentions, key=lambda entry: mentions[entry].start)


def _name_of(entry: Entry) -> Hashable:
    """Return the kind of the field that names an entry: the first that has a word."""
    for kind, text in entry.fields.items():
        if _words(text, quantities(text)):
            return kind
    return next(iter(entry.fields))


def _words(text: str, parsed: Sequence[Quantity] = ()) -> list[tuple[str, int, int]]:
    """Return the stems of the words of a text, and its single letters, with their spans."""
    words: list[tuple[str, int, int]] = []
    for match in words_of(text).finditer(text):
        start, end = match.span()
        word = match[0].lower()
        stems = word_stems(word)
        for stem in stems:
            if len(stems) > 1:
                # Pairs of characters, in scripts without spaces.
                start = match.start() + word.find(stem)
                end = start + len(stem)
            if not any(q.start <= start and end <= q.end for q in parsed):
                words.append((stem, start, end))
    words.extend((match[0], *match.span()) for match in _LETTER.finditer(text))
    return words


def _compares(text: str) -> bool:
    return not all_words("numbers", "than").isdisjoint(text.lower().split())
