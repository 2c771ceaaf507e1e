"""The marks by which an answer cites its documents: what points at a document is no fact.

`[1]`, `[doc1]`, `【4:0†source】`, `[^1]`, `<sup>1</sup>`, `(Document 1)`, `(handbook.pdf, p. 12)`,
`(Moor, 2019)`, `According to Document 1, ...` and a list under "Sources:" say where something
stands. Their numbers, names and years are not compared with samples; whether a mark points at a
document that exists and supports the claim is for the methods that have the documents.

Marks are recognised by their form, in time linear in the length of the text. A number in
parentheses is none, since it is more often a fact: "the most complete games (18)". A parenthesis
with an author and a year has the same form as a place and a year, "(Berlin, 1945)"; it counts as a
mark unless it follows a name, as the year of a work does.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import NormalizedText
from resay.core.segmentation.spans import blanked
from resay.lang.language import all_alternatives, all_words

MarkKind = Literal["label", "number", "title", "author", "source"]
"""What a mark names its document by: the label in brackets, the number after a noun, a file name or
title, the author and year; `source` for an entry of a list of sources."""


@dataclass(frozen=True, slots=True)
class CitationMark:
    """A part of an answer that points at documents.

    Attributes:
        start: Its start, in code points of the text.
        end: Its end (exclusive).
        kind: What it names the documents by.
        names: The names: `1`, `doc1`, `4:0`, `handbook.pdf`, `Moor 2019`; all numbers of a range;
            none for a `source`, or for the number of a page alone.
    """

    start: int
    end: int
    kind: MarkKind
    names: tuple[str, ...] = ()


def _words(name: str) -> str:
    """Return the alternatives of all languages."""
    return rf"(?:{all_alternatives('citations', name)})"


_NOUN: Final = _words("nouns")
_IDENTIFIER: Final = r"(?:id|co|no)"
_NOUN_IN_PROSE: Final = _words("nouns_in_prose")
_NUMBER: Final = r"[\d⁰¹²³⁴-⁹]{1,3}"
_JOIN: Final = "|".join(sorted(all_words("numbers", "join")))
_NUMBERS: Final = rf"{_NUMBER}(?:\s?(?:,|;|&|-|–|⁻|to|{_JOIN})\s?{_NUMBER}){{0,9}}"
_FILE_ENDINGS: Final = (
    r"\.(?:pdf|docx?|odt|rtf|txt|md|html?|pptx?|xlsx?|csv|epub|tex|json|xml|ya?ml)"
)
_FILE: Final = rf"[\w][\w .()'-]{{0,80}}{_FILE_ENDINGS}"
_LOCATOR: Final = (
    rf"(?:{_words('page_marks')}\.\s?|{_words('page_nouns')}\s|[§¶]{{1,2}}\s?|\#)"
    r"[\d.ivxl]{1,8}(?:\s?[-–,]\s?[\d.ivxl]{1,8}){0,4}f{0,2}"
)
_SEE: Final = rf"{_words('see')}\s"
_SURNAME: Final = (
    r"(?:(?:van|von|de|der|den|di|da|la|le)\s){0,3}(?:[A-Z]\.\s?){0,3}[A-ZÀ-Þ][\w'’-]{1,40}"
)
_YEAR: Final = r"(?:1[5-9]\d\d|20\d\d)[a-z]?|n\.d\."
_AUTHORS: Final = rf"{_SURNAME}(?:(?:,\s|\s&\s|,?\sand\s|\sund\s|\set\s|\sy\s){_SURNAME}){{0,5}}"
_AUTHOR_YEAR: Final = rf"{_AUTHORS}(?:\set\sal\.?,?\s|,\s)(?:{_YEAR})(?:,\s{_LOCATOR})?"
_AUTHOR_PAGE: Final = rf"{_AUTHORS}\s(?:{_YEAR}),\s{_LOCATOR}"
# Without a comma only in square brackets: "(Berlin 1945)" may be prose.
_AUTHOR_BARE: Final = lazy_pattern(rf"{_AUTHORS}(?:\set\sal\.?)?\s(?:{_YEAR})")
_TIME: Final = lazy_pattern(rf"{_words('times')}\b", re.IGNORECASE)
# The key of an entry in a bibliography: Moor19, moor2019, Moor+19a.
_KEY: Final = (
    r"[^\W\d_]{2,20}(?:\+|_?et_?al)?[-_:]?(?:(?:1[5-9]|20)\d\d|(?-i:(?<=[a-z+])\d\d))[a-z]?"
)
# Inside brackets: 1, 1-3, doc1, Source: 2, S3, ^1, 4:0†source, ref-12, 7: Handbook.
_LABEL: Final = lazy_pattern(
    rf"[\^@*†]?(?:{_NUMBERS}\^?|[A-Z]{{1,2}}-?{_NUMBER}|[A-Z]"
    rf"|(?:{_NOUN}|{_IDENTIFIER})[\s_:.#-]{{0,3}}{_NUMBERS}(?:,?\s{_LOCATOR})?"
    rf"|{_NUMBER}(?::\d{{1,3}})?†[^\[\]【】]{{0,60}}|{_NUMBER}:\d{{1,3}}"
    rf"|{_NUMBER}(?::\s[^\[\]【】]{{1,80}}|,\s{_LOCATOR})"
    rf"|\^[\w-]{{1,24}}|@[\w:.-]{{1,40}}|{_KEY})",
    re.IGNORECASE,
)
_LABELS: Final = lazy_pattern(
    rf"{_LABEL.pattern}(?:\s?[,;]\s?{_LABEL.pattern}){{0,9}}", re.IGNORECASE
)
_FILES: Final = lazy_pattern(
    rf"(?:{_SEE})?{_FILE}(?::\d{{1,5}}|\#L?\d{{1,5}})?(?:,?\s?\(?{_LOCATOR}\)?)?(?:[,;]\s{_FILE}(?:,?\s{_LOCATOR})?){{0,5}}",
    re.IGNORECASE,
)
_NUMBERED: Final = lazy_pattern(
    rf"(?:{_SEE})?(?:the\s)?{_NOUN}[\s:#.]{{0,3}}{_NUMBERS}(?:,?\s{_LOCATOR})?"
    rf"(?:[,;]\s{_NOUN}[\s:#.]{{1,3}}{_NUMBERS}(?:,?\s{_LOCATOR})?){{0,5}}",
    re.IGNORECASE,
)
_LOCATED: Final = lazy_pattern(
    rf"(?:{_SEE})?(?:[\w][^()\[\]]{{0,80}}?,\s)?{_LOCATOR}", re.IGNORECASE
)
_NAMED_SOURCE: Final = lazy_pattern(rf"(?:{_SEE})?{_NOUN}:\s[^()\[\]]{{1,120}}", re.IGNORECASE)
_LINKED: Final = lazy_pattern(
    r"(?:\[[^\[\]]{1,120}\]\(?)?https?://[^\s()\[\]]{1,400}\)?(?:,\s[^()]{1,40})?"
)
_AUTHORED: Final = lazy_pattern(
    rf"(?:see\s|e\.g\.,?\s|cf\.\s)?(?:{_AUTHOR_YEAR}|{_AUTHOR_PAGE})"
    rf"(?:;\s(?:{_AUTHOR_YEAR}|{_AUTHORS}\s(?:{_YEAR}))){{0,5}}"
)
_SQUARE: Final = lazy_pattern(
    r"\[\[?(?P<square>[^\[\]\n]{1,120})\]\]?(?:\((?P<link>(?:https?://|#)[^()\s]{1,400})\))?"
    r"|[【⟦〔](?P<corner>[^【】⟦⟧〔〕\n]{1,120})[】⟧〕]|\{\{(?:cite\|)?(?P<braces>[^{}\n]{1,80})\}\}"
    r"|<(?P<angle>(?:co|cite|ref|doc|source)s?:\s?[^<>\n]{1,40})>(?![^<>\n]{1,400}</)"
    r"|\\(?:cite|citep|citet|parencite|footcite|autocite)\*?(?:\[[^\[\]\n]{0,40}\]){0,2}"
    r"\{(?P<key>[^{}\n]{1,120})\}"
)
# Each match of it begins with one of these, and most texts have none.
_BRACKET: Final = lazy_pattern(r"[\[【⟦〔{<\\]")
_ROUND: Final = lazy_pattern(r"\((?P<round>(?:[^()\n]|\([^()\n]{0,400}\)){1,400})\)")
_TAGGED: Final = lazy_pattern(
    r"<(?P<tag>sup|cite|ref|citation|source|footnote)(?:\s[^<>]{0,200})?>\s?"
    r"(?P<tagged>[^<>\n]{0,120})</(?P=tag)\s?>|<(?:ref|cite|citation|source)\s[^<>]{0,200}/>",
    re.IGNORECASE,
)
# A caret or a dagger before a number, unlike that of 10^2, x^2 and km^2.
_MARKED: Final = lazy_pattern(
    r"(?:(?<=[.,;:!?)\"'])|(?<=[^\W_]{4})|(?<=[^\W_]{4}\s))(?<!10)[\^†‡]\d{1,2}(?!\w|[.,]\d)"
)
# Raised numbers after the end of a sentence or a word, unlike those of "km²".
_RAISED: Final = lazy_pattern(
    r"(?<=[.,;:!?)\"'])[⁰¹²³⁴-⁹]{1,3}|(?<=[^\W\d_]{4})[⁰¹²³⁴-⁹]{1,3}(?!\w)"
    r"|(?:(?<=(?<!\d)1[5-9]\d\d)|(?<=(?<!\d)20\d\d))[⁰¹²³⁴-⁹]{1,2}(?!\w)"
)
# Most texts have none, and looking for one is much faster than for a mark.
_RAISED_CHARACTER: Final = lazy_pattern(r"[⁰¹²³⁴-⁹\^†‡]")
# The same in brackets, or behind a space after a word, a year or the end of a sentence.
_RAISED_ALONE: Final = lazy_pattern(
    r"(?:(?<=[^\W\d_]{4}\s)|(?<=\d{4}\s)|(?<=[.,;:!?)]\s))[⁰¹²³⁴-⁹]{1,3}(?!\w)"
    r"|[⁽(][⁰¹²³⁴-⁹]{1,3}(?:[,;⁻–-]\s?[⁰¹²³⁴-⁹]{1,3}){0,9}[⁾)]"
)
_LEAD: Final = _words("leads")
_ARTICLE: Final = rf"(?:{_words('articles')}\s)?"
_IN_PROSE: Final = lazy_pattern(
    rf"(?:\b{_LEAD}\s{_ARTICLE}(?:{_NOUN_IN_PROSE}[\s#]{{1,2}}\[?{_NUMBERS}\]?|{_FILE})"
    rf"(?:,?\s{_LOCATOR})?,?"
    rf"|\b{_NOUN_IN_PROSE}\s\#?\[?{_NUMBERS}\]?(?!\w|[.,]\d)"
    r"(?:\s(?:also\s)?(?:states?|says?|notes?|mentions?|shows?|reports?|explains?|indicates?|describes?"
    r"|confirms?)(?:\sthat)?\b)?)",
    re.IGNORECASE,
)
# In each match of it is one of these two.
_FILE_ENDING: Final = lazy_pattern(_FILE_ENDINGS, re.IGNORECASE)
_SEPARATE_DIGIT: Final = lazy_pattern(r"[0-9⁰¹²³⁴-⁹](?<=[\s#\[].)")
# Of "search results" the last word.
_NOUN_AT_END: Final = lazy_pattern(re.sub(r"[^|(]*\\s", "", _NOUN_IN_PROSE) + r"\Z", re.IGNORECASE)
_MAX_NOUN_CHARS: Final = 40
_NAME: Final = lazy_pattern(r"\d{1,3}:\d{1,3}|[\w-]*\d[\w-]*|\b\w\b|(?<=\^)[\w-]+")
_LINK: Final = lazy_pattern(r"https?://[^\s()\[\]]{1,400}")
_FILE_ALONE: Final = lazy_pattern(_FILE.replace("[\\w .()'-]", "[\\w.()'-]"), re.IGNORECASE)
# "doc1" is the name of a document, and 文献1 its number.
_NOUN_ALONE: Final = lazy_pattern(
    rf"(?<!\w)(?:{_SEE}|(?:{_NOUN}|{_IDENTIFIER})(?=[\s:#.])|{_NOUN}(?<=[^\x00-\u04ff])(?=\d))"
    r"[:#.]?",
    re.IGNORECASE,
)
_LOCATOR_ALONE: Final = lazy_pattern(rf",?\s?\b{_LOCATOR}", re.IGNORECASE)
_BY_AUTHOR: Final = lazy_pattern(rf"(?P<author>{_SURNAME})[^;()]{{0,200}}?(?P<year>{_YEAR})")
_LEAD_ALONE: Final = lazy_pattern(rf"\b{_LEAD}\s{_ARTICLE}", re.IGNORECASE)
_RANGE: Final = lazy_pattern(r"(\d{1,3})\s?[-–]\s?(\d{1,3})")
_MAX_RANGE: Final = 50

# The heading of a list of sources.
_HEADING: Final = lazy_pattern(
    r"[ \t]{0,3}(?:\#{1,6}\s|[-*•]\s|\d{1,2}[.)]\s|[^\w\s]{1,3}\s)?[*_]{0,3}"
    rf"{_words('headings')}"
    r"(?:\s(?:used|cited|consulted))?[*_]{0,3}\s?"
    r"(?::[*_]{0,3}|[*_]{1,3}|(?=\n|\Z))[ \t]{0,4}"
    r"(?P<entry>[^\n]*)",
    re.IGNORECASE,
)
_ENTRY: Final = lazy_pattern(
    r"[ \t]{0,8}(?:[-*•+]\s|\d{1,3}[.)]\s|\[\^?[\w-]{1,12}\]:?|\(\d{1,3}\)|[⁰¹²³⁴-⁹]{1,3}\s?|【)"
)
_DEFINITION: Final = lazy_pattern(r"[ \t]{0,3}\[\^?[\w-]{1,24}\]:\s[^\n]*")
# What says where a source stands, in an entry of a list of sources.
_LOCATING: Final = lazy_pattern(
    rf"https?://\S+|\((?:{_YEAR})\)|,\s(?:{_YEAR})\b|{_FILE}|\b{_LOCATOR}|\[[^\[\]\n]{{1,80}}\]"
    rf"|【[^【】\n]{{1,80}}】|\b{_NOUN}[\s:#.]{{0,3}}{_NUMBERS}\b"
    r"|^[ \t]{0,8}(?:\d{1,3}[.)]|\(\d{1,3}\)|[⁰¹²³⁴-⁹]{1,3})",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE: Final = lazy_pattern(r"[^\W\d_]{2}[^.!?]{0,400}[.!?]\s*\Z")
_SOURCE_PART: Final = lazy_pattern(rf"https?://|\((?:{_YEAR})\)|,\s(?:{_YEAR})\b|{_FILE}")
_MAX_TITLE_CHARS: Final = 200


def citation_marks(text: str) -> tuple[CitationMark, ...]:
    """Find the marks of a text by which it cites documents, in order, without overlaps.

    Args:
        text: An answer, or a part of one.
    """
    return marks_in(NormalizedText.of(text))


def marks_in(normalized: NormalizedText) -> tuple[CitationMark, ...]:
    """Find the marks of a text whose normal form is known; see `citation_marks`.

    Args:
        normalized: The text and its normal form.
    """
    plain = normalized.text
    candidates = [*_sources(plain), *_tagged(plain), *_bracketed(plain), *_in_prose(plain)]
    candidates.sort(key=lambda mark: (mark.start, -mark.end))
    marks: list[CitationMark] = []
    last_end = 0
    for mark in candidates:
        if mark.start >= last_end:
            start, end = normalized.span(mark.start, mark.end)
            marks.append(CitationMark(start=start, end=end, kind=mark.kind, names=mark.names))
            last_end = mark.end
    return tuple(marks)


def without_marks(text: str, marks: Sequence[CitationMark] | None = None) -> str:
    """Return a text with blanks in place of its citation marks, so that offsets stay.

    Args:
        text: The text.
        marks: Its marks, if known.
    """
    marks = citation_marks(text) if marks is None else marks
    if not marks:
        return text
    return blanked(text, [(mark.start, mark.end) for mark in marks])


def without_locators(entry: str) -> str:
    """Return an entry of a list of sources without its numbers, pages, files, links and years.

    Args:
        entry: The entry, or several, one a line.
    """
    return _LOCATING.sub(" ", entry)


def marks_within(marks: Sequence[CitationMark], start: int, end: int) -> tuple[CitationMark, ...]:
    """Return the parts of marks inside a part of the text, with offsets in that part.

    Args:
        marks: The marks of a text, in order.
        start: The start of the part.
        end: Its end (exclusive).
    """
    first = bisect_left(marks, start, key=lambda mark: mark.end - 1)
    inside: list[CitationMark] = []
    for mark in marks[first:]:
        if mark.start >= end:
            break
        inside.append(
            CitationMark(
                start=max(mark.start, start) - start,
                end=min(mark.end, end) - start,
                kind=mark.kind,
                names=mark.names,
            )
        )
    return tuple(inside)


def _bracketed(text: str) -> Iterator[CitationMark]:
    if _BRACKET.search(text):
        yield from _in_square_brackets(text)
    for match in _ROUND.finditer(text):
        inner = match["round"].strip()
        kind = _kind_in_round(inner)
        if kind == "author" and _AFTER_NAME.search(_text_before(text, match.start())):
            continue
        if kind is not None:
            yield CitationMark(match.start(), match.end(), kind, _names(inner, kind))


def _in_square_brackets(text: str) -> Iterator[CitationMark]:
    for match in _SQUARE.finditer(text):
        if _VARIABLE.search(_text_before(text, match.start())):
            continue
        inner = next(filter(None, match.group("square", "corner", "braces", "angle", "key")))
        kind = "label" if match["key"] else _kind_in_square(inner.strip())
        if kind is not None:
            yield CitationMark(match.start(), match.end(), kind, _names(inner, kind))


_MAX_CHARS_BEFORE: Final = 60
# Before an index: x[1].
_VARIABLE: Final = lazy_pattern(r"(?<!\w)[A-Za-z]\Z")
_AFTER_NAME: Final = lazy_pattern(r"(?:[A-ZÀ-Þ][\w'-]*|[\"*_])\s?\Z")


def _text_before(text: str, position: int) -> str:
    return text[max(position - _MAX_CHARS_BEFORE, 0) : position]


def _kind_in_square(inner: str) -> MarkKind | None:
    if _LABELS.fullmatch(inner):
        return "label"
    is_title = _FILES.fullmatch(inner) or _NAMED_SOURCE.fullmatch(inner)
    if is_title or (_LOCATED.fullmatch(inner) and not inner[0].isdecimal()):
        return "title"
    is_author = _AUTHORED.fullmatch(inner) or _AUTHOR_BARE.fullmatch(inner)
    return "author" if is_author and not _TIME.match(inner) else None


# Samples of one question repeat what they have in brackets.
@lru_cache(4_096)
def _kind_in_round(inner: str) -> MarkKind | None:
    if _NUMBERED.fullmatch(inner):
        return "number"
    for pattern in (_FILES, _NAMED_SOURCE, _LINKED):
        if pattern.fullmatch(inner):
            return "title"
    if inner[0] == "[":
        squares = [match["square"] for match in _SQUARE.finditer(inner) if match["square"]]
        has_only_marks = squares and all(map(_kind_in_square, squares))
        return "label" if has_only_marks and not _SQUARE.sub("", inner).strip(" ,;") else None
    if _AUTHORED.fullmatch(inner) and not _TIME.match(inner):
        return "author"
    return "title" if _LOCATED.fullmatch(inner) else None


def _tagged(text: str) -> Iterator[CitationMark]:
    for match in _TAGGED.finditer(text):
        inner = (match["tagged"] or "").strip(" []")
        # A raised "th" or "2" is no mark by itself.
        is_raised = (match["tag"] or "").lower() == "sup"
        if is_raised and (not _LABELS.fullmatch(inner) or _is_power(text, match.start())):
            continue
        yield CitationMark(match.start(), match.end(), "label", _names(inner, "label"))
    if _RAISED_CHARACTER.search(text):
        yield from _raised(text)


def _raised(text: str) -> Iterator[CitationMark]:
    for match in _RAISED.finditer(text):
        yield CitationMark(match.start(), match.end(), "label", (match[0].translate(_LOWERED),))
    for match in _MARKED.finditer(text):
        yield CitationMark(match.start(), match.end(), "label", (match[0][1:],))
    for match in _RAISED_ALONE.finditer(text):
        yield CitationMark(match.start(), match.end(), "label", _names(match[0], "label"))


_YEAR_BEFORE: Final = lazy_pattern(rf"(?<![\w.,])(?:{_YEAR})\Z")
_BASE_OF_POWER: Final = lazy_pattern(r"(?:\d|(?<![^\W\d_])[^\W\d_]{1,3})\Z")
_MAX_BASE_CHARS: Final = 8
_LOWERED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def _is_power(text: str, position: int) -> bool:
    """Whether what is raised belongs to a number or a unit: 10<sup>2</sup>, km<sup>2</sup>."""
    before = text[max(position - _MAX_BASE_CHARS, 0) : position]
    # Nobody raises a year to a power.
    return _BASE_OF_POWER.search(before) is not None and not _YEAR_BEFORE.search(before)


def _in_prose(text: str) -> Iterator[CitationMark]:
    # Most texts have neither, and looking for a mark takes ten times as long.
    if not (_has_numbered_noun(text) or _FILE_ENDING.search(text)):
        return
    for match in _IN_PROSE.finditer(text):
        kind: MarkKind = "title" if re.search(_FILE, match[0], re.IGNORECASE) else "number"
        yield CitationMark(
            match.start(), match.end(), kind, _names(_LEAD_ALONE.sub("", match[0]), kind)
        )


def _has_numbered_noun(text: str) -> bool:
    """Whether a noun for documents precedes a number: "document 3", "document #[3]"."""
    for match in _SEPARATE_DIGIT.finditer(text):
        before = text[max(match.start() - _MAX_NOUN_CHARS, 0) : match.start()]
        words = before.replace("#", " ").replace("[", " ").rsplit(None, 1)
        if words and _ends_in_noun(words[-1]):
            return True
    return False


# Few words precede most numbers.
@lru_cache(4_096)
def _ends_in_noun(word: str) -> bool:
    return _NOUN_AT_END.search(word) is not None


def _names(inner: str, kind: MarkKind) -> tuple[str, ...]:
    """Return the names in a mark: its labels, numbers, files, titles, or authors with years."""
    inner = inner.translate(_LOWERED)
    if kind == "author":
        return tuple(f"{m['author']} {m['year']}" for m in _BY_AUTHOR.finditer(inner))
    if link := _LINK.search(inner):
        return (link[0],)
    files = [match[0].strip() for match in _FILE_ALONE.finditer(inner)]
    bare = _LOCATOR_ALONE.sub(" ", _NOUN_ALONE.sub(" ", inner.partition("†")[0]))
    if kind == "title":
        title = bare.strip(" ,;:()[]")
        return tuple(files or ([title] if title else []))
    names: list[str] = []
    for match in _RANGE.finditer(bare):
        first, last = int(match[1]), int(match[2])
        if first < last <= first + _MAX_RANGE:
            names += map(str, range(first, last + 1))
    names += _NAME.findall(_RANGE.sub(" ", bare).partition(": ")[0])
    return tuple(dict.fromkeys(names))


def _sources(text: str) -> Iterator[CitationMark]:
    """Find lists of sources, and the definitions of footnotes."""
    end = 0
    is_in_list = follows_blank_line = False
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        content = line.strip()
        if not content:
            follows_blank_line = True
            continue
        heading = _HEADING.fullmatch(line.rstrip("\r\n"))
        if heading is not None and _is_source(heading["entry"]):
            is_in_list = True
        elif is_in_list and (
            not _is_source(content) or (follows_blank_line and not _ENTRY.match(line))
        ):
            is_in_list = False
        if is_in_list or _DEFINITION.fullmatch(line.rstrip("\r\n")):
            yield CitationMark(start=start, end=start + len(line.rstrip()), kind="source")
        follows_blank_line = False


def _is_source(entry: str) -> bool:
    """Whether a line can name a source: it is no sentence, or has a year, a link or a file."""
    entry = entry.strip()
    if not entry:
        return True
    if len(entry) > _MAX_TITLE_CHARS:
        return False
    return _SOURCE_PART.search(entry) is not None or not _SENTENCE.search(entry)
