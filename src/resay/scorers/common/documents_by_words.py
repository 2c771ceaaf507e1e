"""Compares claims with documents by their numbers, names and words.

A claim is supported if one document about its subject says nearly all of it, each number, date,
code and quotation included, and no other document has another value in the place of one of these
(see `displaced_values`), or if several say it together, fact by fact. Then more is asked for,
because what each says may be of something else:

- Each number, date, name and code is in a document about the subject of its stretch of the claim
  (see `document_subjects`), or of a name that one of these documents mentions, in a sentence that
  shares a word with the claim there.
- No two documents have its values in each other's place, and no two of its stretches their words.
- If it speaks of several subjects, a word with an opposite, such as "before", is in a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import normalized
from resay.core.passage import Sentence
from resay.core.quantities import Quantity
from resay.lang.language import all_words
from resay.scorers.common.contrast import Wording, parts_of, swapped
from resay.scorers.common.different_wording import is_other_name, may_be_worded_differently
from resay.scorers.common.document_subjects import Stretch
from resay.scorers.common.fact import Fact, pooled_score, scores_by_text
from resay.scorers.common.fact_comparison import ELSEWHERE, FactComparison
from resay.scorers.common.fact_parts import fact_parts
from resay.scorers.common.indexed_sentences import IndexedSentence, plain_stems
from resay.scorers.common.sample_index import SampleIndex
from resay.scorers.common.words import ignored_words, stems_of

_SUPPORTED = 0.5
# The same beside a value that they bear out.
_BESIDE_COMPUTED = 0.8
# Longer documents are not searched for words in each other's place.
_MAX_SENTENCES = 24
_NOUN_OF_CODE = lazy_pattern(r"[\W_]*([^\W\d_]+) ([\w-]*\d[\w-]*)")

# A fact, how doubtful it is, and the documents that say it if it is more than a word.
_ComparedFact = tuple[Fact, float, frozenset[int]]


@dataclass(frozen=True, slots=True)
class WordComparison:
    """How a claim compares with documents by words.

    Attributes:
        score: Its score: that of all documents that support it together, or else of the nearest;
            None if nothing of it can be compared with them.
        by_document: By index of a document about its subject, the score it gives alone.
        supports: The indexes of the documents that support it, alone or together.
        decides: Those of them that suffice; the nearest if one does.
        denials: By index of a document that says otherwise, its sentence.
        unsupported: The spans, in the response, of what no document about its subject says.
        is_undecided: Whether words cannot tell: documents may say it in other words, or those that
            support it and those to the contrary may be about different things.
    """

    score: float | None
    by_document: dict[int, float] = field(default_factory=dict[int, float])
    supports: tuple[int, ...] = ()
    decides: tuple[int, ...] = ()
    denials: dict[int, str] = field(default_factory=dict[int, str])
    unsupported: tuple[tuple[int, int], ...] = ()
    is_undecided: bool = False

    @property
    def is_supported(self) -> bool:
        """Whether documents support the claim."""
        return bool(self.supports)

    def of_documents(self, owners: Sequence[int]) -> WordComparison:
        """Return the comparison with documents from that with their records.

        Args:
            owners: By index of a record, the index of its document.
        """
        by_document: dict[int, float] = {}
        for record, score in self.by_document.items():
            owner = owners[record]
            by_document[owner] = min(score, by_document.get(owner, score))
        supports = tuple(sorted({owners[record] for record in self.supports}))
        denials: dict[int, str] = {}
        for record, text in self.denials.items():
            # Another row of a table that supports a claim is about something else.
            if owners[record] not in supports:
                denials.setdefault(owners[record], text)
        return replace(
            self,
            by_document=by_document,
            supports=supports,
            decides=tuple(sorted({owners[record] for record in self.decides})),
            denials=denials,
        )


class DocumentComparison:
    """Compares claims with indexed documents.

    Args:
        index: The index of the documents.
        documents: By position in it, their indexes among all documents.
        is_translated: Whether the claims are in another language, so that their words cannot be
            compared.
    """

    def __init__(
        self, index: SampleIndex, documents: Sequence[int], *, is_translated: bool = False
    ) -> None:
        self._index = index
        self._is_translated = is_translated
        self._positions = {document: position for position, document in enumerate(documents)}

    def compare(
        self,
        comparison: FactComparison,
        about: Collection[int],
        stretches: Sequence[tuple[str, Stretch]],
        is_same_subject: Callable[[Sequence[int]], bool],
        is_newer: Callable[[Collection[int], Collection[int]], bool],
        operands: Collection[int] = (),
    ) -> WordComparison:
        """Compare a claim with the documents about its subjects.

        Args:
            comparison: The claim, compared with all indexed documents.
            about: The documents about its subject, one of which may say all of it.
            stretches: Its stretches with their texts, and the documents about each.
            is_same_subject: Whether documents are about the same.
            is_newer: Whether some documents are newer than others.
            operands: The documents from whose values it computes another, which it does not
                contain any more.
        """
        facts = self._comparable(comparison.facts())
        facts = self._without_noun_of_code(facts, comparison.statement.text, about)
        if not facts and self._is_translated:
            return WordComparison(score=None)
        scores = scores_by_text(facts, self._index.count, comparison.statement.undoubted)
        by_document = {document: scores[self._positions[document]] for document in about}
        nearest = sorted(by_document, key=lambda document: (by_document[document], document))
        alone = [
            document
            for document in nearest
            if by_document[document] <= _SUPPORTED
            and self._says_values(document, facts)
            and self._says_names_of_row(document, facts)
            and _is_about_all(document, stretches)
        ]
        if alone:
            displaced = self._displaced(comparison, by_document, is_newer)
            if displaced is not None:
                return displaced
            return WordComparison(
                score=by_document[alone[0]],
                by_document=by_document,
                supports=tuple(sorted(alone)),
                decides=(alone[0],),
            )
        compared = self._compare_stretches(stretches)
        together = self._together(compared, stretches, comparison.statement.undoubted)
        if together is not None and is_same_subject(together[2]):
            score, supports, decides = together
            return WordComparison(
                score=score, by_document=by_document, supports=supports, decides=decides
            )
        computed = self._beside_computed(facts, operands, about, comparison.statement.undoubted)
        if computed is not None:
            supports = tuple(sorted(operands))
            return WordComparison(
                score=computed, by_document=by_document, supports=supports, decides=supports
            )
        # A document that says all but of one subject alone does not say it of the others.
        by_document = {k: score for k, score in by_document.items() if score > _SUPPORTED}
        return WordComparison(
            score=min(by_document.values(), default=1.0),
            by_document=by_document,
            unsupported=self._unsupported(comparison, stretches),
            is_undecided=self._is_undecided(comparison, facts, compared, about, stretches),
        )

    def _displaced(
        self,
        comparison: FactComparison,
        by_document: Mapping[int, float],
        is_newer: Callable[[Collection[int], Collection[int]], bool],
    ) -> WordComparison | None:
        """Return the comparison with a claim whose value documents have only of something else.

        None if it has none, or if the documents that have it are newer than those to the contrary.
        These may be about something narrower; then it is undecided.
        """
        documents = {self._positions[document]: document for document in by_document}
        displaced = comparison.displaced(documents)
        if displaced is None:
            return None
        denials = {documents[text]: written for text, written in displaced.in_place.items()}
        elsewhere = tuple(sorted(documents[text] for text in displaced.elsewhere))
        if is_newer(elsewhere, list(denials)):
            return None
        by_document = {k: score for k, score in by_document.items() if score > _SUPPORTED}
        if not displaced.is_certain:
            return WordComparison(
                score=_SUPPORTED,
                by_document=by_document,
                supports=elsewhere,
                decides=elsewhere,
                denials=denials,
                is_undecided=True,
            )
        statement = comparison.statement
        start, end = statement.original.span(displaced.quantity.start, displaced.quantity.end)
        span = statement.start + start, statement.start + end
        return WordComparison(
            score=min(by_document.values(), default=1.0),
            by_document=by_document,
            denials=denials,
            unsupported=(span,),
        )

    def _is_undecided(
        self,
        comparison: FactComparison,
        facts: Sequence[Fact],
        compared: Sequence[_ComparedFact] | None,
        about: Collection[int],
        stretches: Sequence[tuple[str, Stretch]],
    ) -> bool:
        """Whether the documents about the subjects of a claim may say it in other words."""
        is_negated = comparison.statement.wording.negated
        compares = not all_words("numbers", "than").isdisjoint(comparison.statement.words)
        candidates: list[tuple[list[_ComparedFact], Collection[int]]] = []
        if compared is not None and self._relates(stretches):
            documents: set[int] = set()
            for _, stretch in stretches:
                documents |= stretch.documents | stretch.related
            candidates.append((list(compared), documents))
        for document in about:
            if self._says_values(document, facts) and _is_about_all(document, stretches):
                of_document = [
                    (fact, 1 - self._support(fact, [document]), frozenset[int]()) for fact in facts
                ]
                candidates.append((of_document, [document]))
        for of_facts, searched in candidates:
            sentences = [sentence.text for sentence in self._sentences(sorted(searched))]
            supports = [(fact, 1 - doubt) for fact, doubt, _ in of_facts]
            # An order of several subjects follows from their values; its word is in none of them.
            is_order = compares and len(searched) > 1
            if may_be_worded_differently(
                supports, sentences, needs_no_words=is_negated or is_order
            ):
                return True
        return False

    def _comparable(self, facts: Sequence[Fact]) -> Sequence[Fact]:
        """Return the facts that can be compared with the documents."""
        if not self._is_translated:
            return facts
        return [fact for fact in facts if fact.kind not in ("word", "relation")]

    def _without_noun_of_code(
        self, facts: Sequence[Fact], text: str, about: Collection[int]
    ) -> Sequence[Fact]:
        """Return facts without the noun before the code of a row: "Order A-771" has the id A-771.

        A first word has a capital in any case, and is no name for it.
        """
        beginning = _NOUN_OF_CODE.match(text)
        positions = {self._positions[document] for document in about}
        if beginning is None or not positions <= self._index.rows:
            return facts
        noun, code = beginning[1], beginning[2].lower()
        if not any(code in self._index.texts[position] for position in positions):
            return facts
        return [fact for fact in facts if not (fact.text == noun and not any(fact.support))]

    def denials(self, comparison: FactComparison, about: Collection[int]) -> dict[int, str]:
        """Return, by index of a document about a claim's subject, its sentence to the contrary."""
        by_position = comparison.denials()
        denials: dict[int, str] = {}
        for document in about:
            text = by_position.get(self._positions[document])
            if text is not None:
                denials[document] = text
        return denials

    def _unsupported(
        self, comparison: FactComparison, stretches: Sequence[tuple[str, Stretch]]
    ) -> tuple[tuple[int, int], ...]:
        """Return the spans of what no document about its subject says, if it has only one."""
        if len(stretches) > 1:
            return ()
        stretch = stretches[0][1]
        positions = [self._positions[document] for document in stretch.documents | stretch.related]

        def support_of_subject(support: Sequence[float]) -> float:
            return max((support[position] for position in positions), default=0.0)

        parts = fact_parts(comparison, support_of_subject)
        return tuple((part.start, part.end) for part in parts if part.flagged)

    def _says_values(self, document: int, facts: Sequence[Fact]) -> bool:
        """Whether a document has all values of a claim, and each name that any document has."""
        position = self._positions[document]
        for fact in facts:
            if fact.support[position] >= ELSEWHERE:
                continue
            if fact.kind in ("quantity", "code", "quotation"):
                return False
            # A name that no document has may be another word for one: "the Austrian director".
            if fact.kind == "name" and max(fact.support) >= ELSEWHERE:
                return False
        return not self._has_invented_name(facts)

    def _has_invented_name(self, facts: Sequence[Fact]) -> bool:
        """Whether no document has a word of a name of several words."""
        by_name: dict[str, list[float]] = {}
        for fact in facts:
            if fact.kind == "name":
                by_name.setdefault(fact.name, []).append(max(fact.support))
        return any(len(s) > 1 and max(s) < ELSEWHERE for s in by_name.values())

    def _says_names_of_row(self, document: int, facts: Sequence[Fact]) -> bool:
        """Whether a document that is a row or an object has all names of a claim.

        A field has its name in full, so that another is no other word for it.
        """
        if self._positions[document] not in self._index.rows:
            return True
        names: dict[str, list[tuple[Fact, float]]] = {}
        for fact in facts:
            if fact.kind == "name":
                names.setdefault(fact.name, []).append((fact, self._support(fact, [document])))
        sentences = [sentence.text for sentence in self._sentences([document])]
        return not any(is_other_name(words, sentences) for words in names.values())

    def _beside_computed(
        self,
        facts: Sequence[Fact],
        operands: Collection[int],
        about: Collection[int],
        undoubted: float,
    ) -> float | None:
        """Return the score of what a claim says beside a value that documents bear out.

        They are about all that it relates, so a name may be in one of them and a number in another.
        None if they do not support it.
        """
        if not operands:
            return None
        documents = sorted({*operands, *about})
        doubts: list[float] = []
        for fact in facts:
            value = 1.0 if fact.kind == "relation" else self._support(fact, documents)
            if value < ELSEWHERE and fact.kind != "word":
                return None
            doubts.append(1 - value)
        score = pooled_score(facts, doubts, undoubted)
        return min(score, _SUPPORTED) if score <= _BESIDE_COMPUTED else None

    def _together(
        self,
        compared: Sequence[_ComparedFact] | None,
        stretches: Sequence[tuple[str, Stretch]],
        undoubted: float,
    ) -> tuple[float, tuple[int, ...], tuple[int, ...]] | None:
        """Return the score of a claim that documents support together, and which; None if not."""
        if compared is None:
            return None
        supporting = [documents for _, _, documents in compared if documents]
        facts = [fact for fact, _, _ in compared]
        score = pooled_score(facts, [doubt for _, doubt, _ in compared], undoubted)
        if score > _SUPPORTED or not supporting or not self._relates(stretches):
            return None
        supports = frozenset[int]().union(*supporting)
        return score, tuple(sorted(supports)), _covering(supporting)

    def _compare_stretches(
        self, stretches: Sequence[tuple[str, Stretch]]
    ) -> list[_ComparedFact] | None:
        """Compare each stretch of a claim with the documents about its subjects; None as below."""
        compared: list[_ComparedFact] = []
        for text, stretch in stretches:
            of_stretch = self._compare_stretch(text, stretch)
            if of_stretch is None:
                return None
            compared += of_stretch
        return compared

    def _compare_stretch(self, text: str, stretch: Stretch) -> list[_ComparedFact] | None:
        """Compare a stretch of a claim with the documents about its subjects.

        Returns:
            For each fact how doubtful it is, and which documents say it if it is more than a word;
            None if they do not support the stretch.
        """
        sentence = Sentence(text, 0, len(text))
        comparison = FactComparison(sentence, text, self._index, with_answers=False)
        all_facts = self._comparable(comparison.facts())
        facts = [fact for fact in all_facts if fact.kind != "relation"]
        # A document about one clause may say the opposite of another by chance.
        for start, end in parts_of(text):
            clause = text[start:end]
            of_clause = FactComparison(
                Sentence(clause, 0, len(clause)), clause, self._index, with_answers=False
            )
            of_clause_facts = self._comparable(of_clause.facts())
            facts += (fact for fact in of_clause_facts if fact.kind == "relation")
        documents = stretch.documents | stretch.related
        positions = [self._positions[document] for document in sorted(documents)]
        if len(stretch.subjects) == 1 and comparison.exchanges_values(positions):
            return None
        subjects_of = _subjects_by_fact(facts, stretch)
        compared: list[_ComparedFact] = []
        for i, fact in enumerate(facts):
            values = [self._support(fact, subject) for subject in subjects_of[i]]
            value = min(values, default=0.0)
            supporting = self._supporting(fact, frozenset[int]().union(*subjects_of[i]))
            if value < ELSEWHERE and fact.kind != "relation":
                related = self._supporting(fact, stretch.related)
                if fact.quantity is not None:
                    related = self._in_context(fact.quantity, text, stretch, related)
                if related:
                    value, supporting = self._support(fact, related), related
            if value < ELSEWHERE and fact.kind in ("quantity", "code", "quotation"):
                return None
            if fact.kind == "word":
                supporting = frozenset[int]()
            compared.append((fact, 1 - value, supporting))
        if _is_name_missing(compared):
            return None
        return compared

    def _support(self, fact: Fact, documents: Collection[int]) -> float:
        return max((fact.support[self._positions[document]] for document in documents), default=0.0)

    def _supporting(self, fact: Fact, documents: Collection[int]) -> frozenset[int]:
        return frozenset(
            document
            for document in documents
            if fact.kind != "relation" and fact.support[self._positions[document]] >= ELSEWHERE
        )

    def _in_context(
        self, quantity: Quantity, text: str, stretch: Stretch, documents: Collection[int]
    ) -> frozenset[int]:
        """Return the documents that have a quantity in a sentence about the same.

        They are about something that the subject's own documents mention. If one of these has
        another value in a sentence that has as much in common with the claim, theirs is of
        something else.
        """
        words = _words_around(quantity, text)
        best: dict[int, int] = {}
        for document in documents:
            for sentence in self._sentences([document]):
                if any(map(quantity.agrees, sentence.quantities)):
                    shared = len(words & sentence.stems)
                    best[document] = max(best.get(document, 0), shared)
        rival = 0
        for sentence in self._sentences(stretch.documents):
            comparable = [other for other in sentence.quantities if quantity.comparable(other)]
            if comparable and not any(map(quantity.agrees, comparable)):
                rival = max(rival, len(words & sentence.stems))
        return frozenset(document for document, shared in best.items() if shared > rival)

    def _sentences(self, documents: Collection[int]) -> Iterator[IndexedSentence]:
        for document in documents:
            for sentence in self._index.positions[self._positions[document]]:
                yield self._index.sentences[sentence]

    def _relates(self, stretches: Sequence[tuple[str, Stretch]]) -> bool:
        """Whether documents relate several subjects of a claim as it does."""
        documents: set[int] = set()
        parts: list[frozenset[str]] = []
        for text, stretch in stretches:
            documents |= stretch.documents | stretch.related
            for start, end in parts_of(text):
                parts.append(frozenset(stems_of(text[start:end])) - ignored_words())
        sentences = list(self._sentences(sorted(documents)))[:_MAX_SENTENCES]
        if swapped(parts, [sentence.stems for sentence in sentences]):
            return False
        if sum(len(stretch.subjects) for _, stretch in stretches) < 2:
            return True
        wordings = [Wording(sentence.text, self._index.language) for sentence in sentences]
        for text, _ in stretches:
            for group, sides in Wording(text, self._index.language).sides.items():
                if not any(sides & wording.sides.get(group, set()) for wording in wordings):
                    return False
        return True


def _is_about_all(document: int, stretches: Sequence[tuple[str, Stretch]]) -> bool:
    """Whether a document is about all subjects, if there are several."""
    if sum(len(stretch.subjects) for _, stretch in stretches) == 1:
        return True
    for _, stretch in stretches:
        for subject in stretch.subjects:
            if document not in subject | stretch.related:
                return False
    return True


def _subjects_by_fact(facts: Sequence[Fact], stretch: Stretch) -> list[Sequence[frozenset[int]]]:
    """Return for each fact the subjects that it is said of.

    As many values as subjects are said of one each: "A and B opened in 1932 and 1950". The name of
    a subject is said of that one alone.
    """
    subjects = stretch.subjects
    starts = [(fact.quantity.start, i) for i, fact in enumerate(facts) if fact.quantity is not None]
    quantities = [i for _, i in sorted(starts)]
    by_fact: list[Sequence[frozenset[int]]] = [subjects for _ in facts]
    if len(subjects) > 1 and len(quantities) == len(subjects):
        for i, subject in zip(quantities, subjects, strict=True):
            by_fact[i] = (subject,)
    if len(subjects) == len(stretch.names) > 1:
        for i, fact in enumerate(facts):
            named = [
                subject
                for name, subject in zip(stretch.names, subjects, strict=True)
                if fact.text in name.split()
            ]
            if fact.kind in ("name", "word") and named:
                by_fact[i] = named
    return by_fact


def _is_name_missing(compared: Sequence[_ComparedFact]) -> bool:
    """Whether documents have no word of a name."""
    by_name: dict[str, bool] = {}
    for fact, doubt, _ in compared:
        if fact.kind == "name":
            by_name[fact.name] = by_name.get(fact.name, False) or 1 - doubt >= ELSEWHERE
    return not all(by_name.values())


def _words_around(quantity: Quantity, text: str) -> frozenset[str]:
    """Return the words of a quantity's clause in a text, without those of names."""
    comparable = normalized(text)
    clause = comparable
    for start, end in parts_of(comparable):
        if start <= quantity.start < end:
            clause = comparable[start:end]
    name_stems: set[str] = set()
    for word in clause.split():
        if word[:1].isupper():
            name_stems.update(stems_of(word))
    return plain_stems(clause) - name_stems - ignored_words()


def _covering(supporting: Sequence[frozenset[int]]) -> tuple[int, ...]:
    """Return few documents that support all facts, each of which has those that support it."""
    chosen: list[int] = []
    uncovered: list[frozenset[int]] = list(supporting)
    while uncovered:
        counts = Counter(chain.from_iterable(uncovered))
        best = min(counts, key=lambda document: (-counts[document], document))
        chosen.append(best)
        uncovered = [documents for documents in uncovered if best not in documents]
    return tuple(sorted(chosen))
