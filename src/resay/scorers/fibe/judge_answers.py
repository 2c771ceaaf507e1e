"""What a judge writes about an exam: lists of blanks, and exam answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from resay._internal.patterns import lazy_pattern
from resay.scorers.fibe.exam import Blank, Exam, Listing

# A line that begins with a sentence's number: `[s0]`, `Text=[s0]`, `- **[s0]**`, `2. s0:`.
_EDGE = r"(?:[^\w\n]|_)*"
_HEADER = lazy_pattern(
    rf"^{_EDGE}(?:[0-9]{{1,3}}[.)]{_EDGE})?(?:text\b{_EDGE})?"
    r"s([0-9]{1,4})(?:[\])]|[:.](?=\s))[*_`]*[:：]?[*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD = lazy_pattern(
    rf"^{_EDGE}(subject|blanks?)\b[^\w<\n=:：]*[=:：]", re.IGNORECASE | re.MULTILINE
)
_NOTHING = lazy_pattern(r"(?:none|no|nothing|empty|n/a)\b", re.IGNORECASE)
_LAST_COLON = lazy_pattern(r"[:：]([^:：]*)$")
_LETTER = lazy_pattern(r"[^\W\d_]")
_PARAGRAPH_END = lazy_pattern(r"\n\s*\n")


def parse_listings(text: str, sentences: int) -> list[Listing | None]:
    """Parse a judge's list of subjects and blanks.

    Accepts the three lines per sentence that are asked for (`Text=[s0] …`,
    `Subject=<Alice:person>`, `Blanks=<21:day>, <March:month>`), with sentences in any order, with
    decoration, and without the text. Without any numbers, lists are matched in order if there is
    one for each sentence. Of two lists for one sentence, the first counts.

    Args:
        text: The judge's answer.
        sentences: Number of sentences it was given, numbered from 0.

    Returns:
        One entry per sentence; None if it could not be parsed.
    """
    listings: dict[int, Listing] = {}
    for number, part in _numbered_parts(text) or _parts_in_order(text, sentences):
        listing = _listing(part)
        if listing is not None:
            listings.setdefault(number, listing)
    return [listings.get(number) for number in range(sentences)]


def parse_exam_answers(text: str, exam: Exam) -> list[str | None]:
    """Parse a student's answers.

    Args:
        text: The student's answer: each sentence after its number, `[s0] …`.
        exam: The exam.

    Returns:
        One entry for each sentence of `exam.examined`, on one line; None if it is missing, or still
        contains one of its variables.
    """
    answers: dict[int, str] = {}
    for number, part in _numbered_parts(text):
        sentence = " ".join(_first_paragraph(part).split())
        if sentence and number in exam.examined and _is_filled(sentence, exam.variables[number]):
            answers.setdefault(number, sentence)
    return [answers.get(number) for number in exam.examined]


def _is_filled(sentence: str, variables: Sequence[str]) -> bool:
    for variable in variables:
        # Students may omit the quotes.
        name = variable.strip('"')
        if re.search(re.escape(name) + r"(?![0-9])", sentence):
            return False
    return True


def _numbered_parts(text: str) -> list[tuple[int, str]]:
    return [(int(number), part) for number, part in _parts(_HEADER, text)]


def _parts_in_order(text: str, sentences: int) -> list[tuple[int, str]]:
    starts = [f.start() for f in _FIELD.finditer(text) if f[1].casefold() == "subject"]
    if len(starts) != sentences:
        return []
    spans = pairwise([*starts, len(text)])
    return [(number, text[start:end]) for number, (start, end) in enumerate(spans)]


def _parts(mark: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """Return the group of each mark, with the text up to the next mark."""
    matches = list(mark.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    # Without matches there is an end more.
    return [(match[1], text[match.end() : end]) for match, end in zip(matches, ends, strict=False)]


def _listing(part: str) -> Listing | None:
    fields: dict[str, str] = {}
    for name, field in _parts(_FIELD, part):
        fields.setdefault(name.casefold().rstrip("s"), _first_paragraph(field))
    blanks = _blanks(fields["blank"]) if "blank" in fields else None
    if blanks is None:
        return None
    subject = fields.get("subject", "")
    subjects = _bracketed(subject) or [subject.strip("<>")]
    return Listing(_blank(subjects[0]).value, blanks)


def _blanks(field: str) -> tuple[Blank, ...] | None:
    """Parse `<value:hypernym>, …`; None if it is neither that nor a word such as "none"."""
    items = _bracketed(field)
    if items:
        return tuple(map(_blank, items))
    line = field.strip("\n\t *_`\"'()[]{}<>-–—.")
    return () if not line or _NOTHING.match(line) else None


def _bracketed(field: str) -> list[str]:
    start, end = field.find("<"), field.rfind(">")
    # Anything but these brackets may separate items; an item may contain a single bracket.
    items = re.split(r">[^<>]*<", field[start + 1 : end]) if 0 <= start < end else []
    return [item for item in items if item.strip()]


def _first_paragraph(text: str) -> str:
    return _PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]


def _blank(item: str) -> Blank:
    colon = _LAST_COLON.search(item)
    # In `<10:30>` the colon belongs to the value.
    if colon is None or not _LETTER.search(colon[1]):
        return Blank(_bare(item))
    return Blank(_bare(item[: colon.start()]), colon[1].strip())


def _bare(value: str) -> str:
    return " ".join(value.split()).strip("*_` ")
