"""Checks the citations and links of claims against the documents of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from resay._internal.patterns import lazy_pattern
from resay.core.citation_marks import MarkKind, citation_marks, without_locators
from resay.core.citations import Citation
from resay.core.links import addresses_in, links_in, normal_link
from resay.core.mentions import MentionIndex
from resay.core.names import capital_runs, without_article
from resay.core.normalization import normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity, quantities
from resay.core.quotes import find_quote
from resay.core.references import Reference
from resay.lang.language import all_alternatives
from resay.scorers.common.grounded_claims import NAMES_SOURCES, GroundedClaim, supporting
from resay.scorers.evidence import Evidence

_BRACKETED = lazy_pattern(r"\[\^?(\d{1,3})\]")
_NUMBER = lazy_pattern(r"\d+")
_DIGITS_AT_END = lazy_pattern(r"(?<![\d:.])\d{1,6}$")
# What no space stands before, or is one itself.
_ENDS_WORD = lazy_pattern(r"[\s.,;:!?…)\]}»”。、，；：！？]")
# Of a conversation that is searched for links.
_MAX_CHARS = 1_000_000


@dataclass(slots=True)
class _CitedPart:
    """The words of a claim before a citation mark, back to the mark before it.

    Attributes:
        text: The words.
        names: What the mark cites, and those directly behind it.
        documents: The indexes of these documents.
    """

    text: str
    names: list[str] = field(default_factory=list[str])
    documents: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _DocumentContent:
    """The names and the values in a document.

    Attributes:
        mentions: Finds its names.
        values: Its quantities.
    """

    mentions: MentionIndex
    values: Sequence[Quantity]

    @classmethod
    def of(cls, reference: Reference) -> _DocumentContent:
        """Read a document."""
        text = normalized(reference.text)
        return cls(mentions=MentionIndex(text), values=quantities(text))

    def has_value(self, value: Quantity) -> bool:
        """Return whether it states a value, maybe more exactly."""
        return any(value.supported_by(other) or value.rounds(other) for other in self.values)


def source_entries(passage: Passage) -> frozenset[int]:
    """Return the indexes of the sentences that are entries of a list of sources."""
    marks = [mark for mark in citation_marks(passage.text) if mark.kind == "source"]
    entries: list[int] = []
    for index, sentence in enumerate(passage.sentences):
        if any(mark.start < sentence.end and sentence.start < mark.end for mark in marks):
            entries.append(index)
    return frozenset(entries)


def source_entry(entry: str, references: Sequence[Reference]) -> GroundedClaim:
    """Return what documents say of an entry of a list of sources: nothing.

    Args:
        entry: The entry.
        references: The documents.
    """
    is_source = not _states_something(entry, references)
    return GroundedClaim(reason=NAMES_SOURCES, is_source=is_source)


def _states_something(entry: str, references: Sequence[Reference]) -> bool:
    """Return whether an entry of a list of sources may state something, beside naming a source.

    "The bridge closed in 1950" under "Sources:" is a claim. An entry may state something if it has
    a verb that does, a number that belongs to no label, page, file, link or year of publication,
    unless the documents have it, or a label that no document has.

    Args:
        entry: The entry.
        references: The documents.
    """
    labels = {reference.label or "" for reference in references}
    are_numbered = all(label.isdigit() for label in labels)
    if are_numbered and not labels.issuperset(_BRACKETED.findall(entry)):
        return True
    bare = without_locators(entry)
    if _states().search(bare):
        return True
    numbers = set(_NUMBER.findall(bare))
    for reference in references:
        if not numbers:
            break
        for text in (reference.text, reference.title or "", reference.id or ""):
            numbers.difference_update(_NUMBER.findall(text))
    return bool(numbers)


@cache
def _states() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{all_alternatives('claims', 'states')})\b", re.IGNORECASE)


def without_citations(claim: Sentence) -> str:
    """Return a claim without its citation marks, which are no part of what it says."""
    text = claim.standalone
    bare = ""
    end = 0
    for mark in citation_marks(text):
        bare += text[end : mark.start]
        end = mark.end
        # "4711 [1]." and "Ann [2] sold it" have a space more than without the mark.
        if end == len(text) or _ENDS_WORD.match(text, end) is not None:
            bare = bare.rstrip()
    bare = (bare + text[end:]).strip()
    return bare if any(map(str.isalnum, bare)) else text


def check_citations(
    passage: Passage,
    claims: Sequence[GroundedClaim],
    references: Sequence[Reference],
    evidence: Evidence,
) -> None:
    """Flag claims with wrong citations or links.

    Args:
        passage: The answer, with its claims as `sentences`.
        claims: What documents say of each claim.
        references: The documents.
        evidence: The conversation, and the citations that the provider attached to the answer.
    """
    _check_attached(passage, claims, references, evidence)
    known_links = _links_to_documents(references, evidence)

    @cache
    def content_of(index: int) -> _DocumentContent:
        return _DocumentContent.of(references[index])

    for sentence, claim in zip(passage.sentences, claims, strict=True):
        for link in links_in(sentence.text):
            if normal_link(link) not in known_links:
                claim.flag("its link is in no reference")
        _check_marks(sentence, claim, references, content_of)


def _links_to_documents(references: Sequence[Reference], evidence: Evidence) -> set[str]:
    """Return the links that an answer may contain."""
    links = set(addresses_in(evidence.request.conversation(_MAX_CHARS)))
    for reference in references:
        links |= addresses_in(reference.text)
        if reference.url:
            links.add(normal_link(reference.url))
    return links


def _check_marks(
    sentence: Sentence,
    claim: GroundedClaim,
    references: Sequence[Reference],
    content_of: Callable[[int], _DocumentContent],
) -> None:
    """Check the citation marks in the text of a claim.

    Args:
        sentence: The claim.
        claim: What documents say of it.
        references: The documents.
        content_of: Reads the document at an index, once for all claims.
    """
    cited: list[tuple[str, frozenset[int]]] = []
    parts: list[_CitedPart] = []
    end = 0
    for mark in citation_marks(sentence.text):
        text = sentence.text[end : mark.start]
        end = mark.end
        if not parts or any(map(str.isalnum, text)):
            parts.append(_CitedPart(text))
        for name in mark.names:
            documents = _documents_named(name, mark.kind, references)
            # A name that no document could have is the answer's own, such as that of a book.
            if documents is None:
                return
            cited.append((name, documents))
            parts[-1].names.append(name)
            parts[-1].documents |= documents
    missing = [name for name, documents in cited if not documents]
    if missing:
        claim.flag(f"it cites [{missing[0]}], which does not exist")
        return
    # Of a claim from several documents each of them says a part.
    wrong = [name for name, documents in cited if not claim.supporting & documents]
    if claim.supporting and wrong:
        others = _supporting_as_cited(sorted(claim.supporting), references)
        claim.flag(f"it cites [{wrong[0]}], which does not support it; {others}")
        return
    # "According to [1], it opened in 1932, while [2] ..."
    if len(parts) < 2 or any(map(str.isalnum, sentence.text[end:])):
        return
    for part in parts:
        documents = _documents_instead(part, len(references), content_of)
        if documents:
            cites = f"it cites [{part.names[0]}] for {part.text.strip(' ,;')!r}"
            claim.flag(f"{cites}; {_supporting_as_cited(documents, references)}")
            return


def _documents_instead(
    part: _CitedPart, count: int, content_of: Callable[[int], _DocumentContent]
) -> list[int]:
    """Return the documents with all names and values of a part, if those it cites have none."""
    text = normalized(part.text)
    values = quantities(text)
    names = [without_article(text[start:end]) for start, end in capital_runs(text)]
    if not part.names or not (values or any(names)):
        return []
    others: list[int] = []
    for index in range(count):
        content = content_of(index)
        has_items = [bool(content.mentions.score(name)) for name in names if name]
        has_items += map(content.has_value, values)
        if index in part.documents and any(has_items):
            return []
        if index not in part.documents and all(has_items):
            others.append(index)
    return others


def _supporting_as_cited(documents: Sequence[int], references: Sequence[Reference]) -> str:
    """Say which documents support a claim, by their labels where their numbers are others.

    The second document that is compared with is the third that was given if one was blank.
    """
    labels = [references[document].label for document in documents]
    if None in labels or labels == [str(document + 1) for document in documents]:
        return supporting(documents)
    verb = "supports" if len(labels) == 1 else "support"
    return f"{', '.join(f'[{label}]' for label in labels)} {verb} it"


def _documents_named(
    name: str, kind: MarkKind, references: Sequence[Reference]
) -> frozenset[int] | None:
    """Return the indexes of the references that a citation names; None if it cannot be resolved.

    A number or label is resolved where the references have labels, and a title where one has it as
    its title, its id or the end of its address.
    """
    folded = name.casefold()
    if kind == "title":
        titled = [i for i, reference in enumerate(references) if folded in _titles_of(reference)]
        return frozenset(titled) or None
    labels: dict[str, int] = {}
    for index, reference in enumerate(references):
        if reference.label:
            labels[reference.label.casefold()] = index
    if not labels or kind not in ("label", "number"):
        return None
    number = _DIGITS_AT_END.search(folded)
    for label in (folded, number[0] if number else ""):
        if label in labels:
            return frozenset({labels[label]})
    # Labels that are no numbers have nothing to do with a number in the answer.
    return frozenset() if folded.isdigit() else None


def _titles_of(reference: Reference) -> set[str]:
    names = [reference.title, reference.id, reference.url and reference.url.rsplit("/", 1)[-1]]
    return {" ".join(name.casefold().split()) for name in names if name}


def _check_attached(
    passage: Passage,
    claims: Sequence[GroundedClaim],
    references: Sequence[Reference],
    evidence: Evidence,
) -> None:
    """Check the citations that a provider attached to an answer."""
    cited_by_claim: dict[int, list[tuple[str, frozenset[int]]]] = {}
    for citation in evidence.citations:
        cited = _cited_document(citation, references)
        if cited is not None:
            for index in _cited_claims(passage, citation):
                cited_by_claim.setdefault(index, []).append(cited)
    for index, cited_documents in cited_by_claim.items():
        claim = claims[index]
        missing = [name for name, documents in cited_documents if not documents]
        if missing:
            claim.flag(f"it cites {missing[0]}, which does not exist")
            continue
        is_supported = any(claim.supporting & documents for _, documents in cited_documents)
        if claim.supporting and not is_supported:
            name, _ = cited_documents[0]
            others = supporting(sorted(claim.supporting))
            claim.flag(f"it cites {name}, which does not support it; {others}")


def _cited_document(
    citation: Citation, references: Sequence[Reference]
) -> tuple[str, frozenset[int]] | None:
    """Return the name of a cited document and the matching references; None if undecidable.

    It is if no reference has an id, title or address to compare with the citation's, or if its
    quote is from a document that cannot be read, such as a scan.
    """
    quote = citation.quote
    if quote:
        quoted = [i for i, reference in enumerate(references) if find_quote(quote, reference.text)]
        if quoted:
            return citation.title or "a document", frozenset(quoted)
    for key in ("id", "url", "title"):
        named: str | None = getattr(citation, key)
        of_references: list[str | None] = [getattr(reference, key) for reference in references]
        if not named or not any(of_references):
            continue
        documents = frozenset(i for i, value in enumerate(of_references) if value == named)
        name = citation.title or named
        if not quote:
            return name, documents
        if documents:
            return f"words of {name}", frozenset()
    return None


def _cited_claims(passage: Passage, citation: Citation) -> list[int]:
    """Return the claims a citation belongs to: those it spans, or the sentence before it."""
    start, end = citation.start, citation.end
    spanned = [i for i, s in enumerate(passage.sentences) if s.start < end and start < s.end]
    if spanned and start < end:
        return spanned
    last = max((s.end for s in passage.sentences if s.start < max(start, 1)), default=None)
    return [i for i, s in enumerate(passage.sentences) if s.end == last]
