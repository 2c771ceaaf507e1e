"""Reads what a judge says about claims and texts: which samples or documents support or contradict.

The judge is asked for JSON, one object for each claim. Models write the objects in any wrapping,
as YAML, as a table or in lines, and the numbers of texts as numbers, as strings ("sample 1"),
as ranges, as "all" or "none", or counted from 0. All forms but lines are read as fields with names,
of which an entry about a claim is made. What names a text that was not shown, or says two different
things about a claim, is undetermined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, cast

from resay.core.quotes import Span, find_quote
from resay.scorers.common.answers import (
    as_number,
    json_values,
    number_of,
    numbered_parts,
    without_json,
)
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.text_numbers import NONE, TextNumbers

_SUPPORT = (
    r"support\w*|confirm\w*|entail\w*|agree[sd]?(?:\w*with)?|corroborat\w*|back(?:s|ed)|verif\w*"
    r"|pro|belegt|bestätigt|gestützt|stütz(?:t|en)|soutien\w*|soutenu\w*|appuy\w*|respald\w*|apoya\w*"
    r"|apoiad\w*|sostenut\w*|supportat\w*|支持|证实|裏付け\w*"
)
_CONTRADICTION = (
    r"contradic\w*|contradiz\w*|refut\w*|conflict\w*|oppos\w*|disagree\w*|den(?:y|ies|ied)|against"
    r"|disprove\w*|widersp\w*|widerleg\w*|contredi\w*|contraddi\w*|contradit\w*|contradiç\w*|矛盾"
    r"|反驳|相反"
)
_SILENCE = (
    r"(?:not|un|non|nicht|pas|no|não)[\s_-]*(?:mention|support|stated|address|entail|erwähnt|belegt"
    r"|confirm)\w*|neutral\w*|silent|irrelevant|unrelated|neither|未提及|言及なし"
)
_FIELDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in (
        # The first that matches a key counts.
        (
            "reason",
            r"reason\w*|why|explanation|rationale|thought\w*|analysis|comment|note|begründung",
        ),
        ("words", r".*words?\b|.*(?:wrong|incorrect|error|falsch|unsupported_part)\w*"),
        ("quote", r".*(?:quot|excerpt|evidence|passage|span|zitat|citation|extrait|cita)\w*"),
        ("silent", rf"(?:\w+[\s_-])?(?:{_SILENCE})(?:[\s_-]+by)?"),
        ("contradicts", rf"(?:\w+[\s_-]+)?(?:is[\s_-]+)?(?:{_CONTRADICTION})(?:[\s_-]+\w+){{0,2}}"),
        (
            "supports",
            rf"(?:\w+[\s_-]+)?(?:is[\s_-]+)?(?:{_SUPPORT}|for|pros?)(?:[\s_-]+\w+){{0,2}}",
        ),
        (
            "verdict",
            r"(?:\w+[\s_-])?(?:verdict|label|status|result|judge?ment|decision|answer|urteil)s?",
        ),
        (
            "texts",
            r"(?:by|documents?|docs?|references?|refs?|samples?|sources?|texts?|dokumente?"
            r"|stichproben?|échantillons?|muestras?|campion[ei]|amostras?|样本|サンプル)"
            r"(?:[\s_-]*(?:ids?|numbers?|nos?|indices))?",
        ),
    )
}
_ONE_TEXT = re.compile(
    r"(?:document|doc|reference|ref|sample|source|text|s|stichprobe|échantillon|muestra|campione"
    r"|amostra|样本|サンプル)[\s_#-]*(\d{1,6})",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"(?<!\w){_ONE_TEXT.pattern}\s*[*_`]*\s*(?:[:：=→]|->|=>|[–—-]\s)", re.IGNORECASE
)
_UNDECIDED = re.compile(
    r"\b(?:may|might|could|perhaps|possibly|maybe|unclear|cannot\s+tell|can['’]t\s+tell|whether"
    r"|partial(?:ly)?|partly|in\s+part|teilweise|en\s+partie|parcial\w*|parzial\w*|部分)\b"
    rf"|\b(?:or|oder|ou|o)\s+(?:is\s+)?(?:{_SUPPORT}|{_CONTRADICTION}|{_SILENCE})|\?\s*$",
    re.IGNORECASE,
)
_NEITHER = re.compile(
    rf"\b(?:none|no|neither)\b[^.;\d\n]{{0,30}}\b(?:{_SUPPORT})\s+(?:it\s+)?n?or\s+(?:{_CONTRADICTION})",
    re.IGNORECASE,
)
_MOST_NESTED = 5
# A judge that writes more than this is not answering.
_MOST_CHARS = 60_000
_MOST_CHARS_OF_LINE = 2_000
# A field with a list of numbers or words, closed.
_LIST = re.compile(r"[\w\"'”]\s{0,9}:\s{0,9}\[[^\[\]{}]{0,2000}\]")
_BLANKS = re.compile(r"[^\S\n]+")
_REPEATED = re.compile(r"([^\w\s]|\n)\1{3,}")


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """A judge's verdict on one claim.

    Attributes:
        supports: Indexes of the texts that support it, each alone or all together.
        contradicts: Indexes of the texts that contradict it.
        quotes: Words of texts that the judge relies on.
        words: Words of the claim that it finds wrong, or said by nobody.
    """

    supports: tuple[int, ...]
    contradicts: tuple[int, ...]
    quotes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def spans_in(self, claim: str) -> list[Span]:
        """Return where its words stand in the claim, in order; words that do not are left out."""
        spans = {find_quote(words, claim) for words in self.words}
        return sorted(span for span in spans if span is not None)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What an answer says about a claim, with the numbers as it writes them.

    Attributes:
        claim: The claim's number; None if the answer does not number it.
        supports: The numbers of the texts that support it.
        contradicts: The numbers of those that contradict it.
        quotes: Words of texts.
        words: Words of the claim.
        is_part: Whether it is about one text only, so that others may follow.
    """

    claim: int | None
    supports: tuple[int, ...]
    contradicts: tuple[int, ...]
    quotes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_part: bool = False


def read_document_verdicts(
    text: str, count: int, documents: Sequence[int], *, was_cut: bool = False
) -> list[DocumentVerdict | None]:
    """Read a judge's verdict on each of several numbered claims.

    Args:
        text: The judge's answer.
        count: Number of claims, numbered from 1.
        documents: The indexes of the texts it was shown; it knows each by its index plus 1.
        was_cut: Whether the answer reached a limit of its length, so that its last line is
            incomplete. An object that breaks off is noticed without that.

    Returns:
        One entry per claim; None for what is missing, unclear or said in two ways.
    """
    reader = _Reader(count, TextNumbers(tuple(index + 1 for index in documents)))
    was_cut = was_cut or len(text) > _MOST_CHARS
    text = _without_broken_object(text[:_MOST_CHARS])
    # What is JSON is read as that; the rest is other forms, or JSON that is malformed.
    rest = _tidied(without_json(text))
    if was_cut:
        rest = rest[: rest.rfind("\n") + 1]
    verdicts: list[DocumentVerdict | None] = [None] * count
    done: set[int] = set()
    for read, part in ((reader.in_json, text), (reader.in_fields, rest), (reader.in_lines, rest)):
        entries = read(part)
        for position, verdict in enumerate(reader.verdicts(entries)):
            if position not in done and verdict is not None:
                verdicts[position] = verdict
        done |= {entry.claim - 1 for entry in entries if entry.claim is not None}
        if len(done) >= count or any(entry.claim is None for entry in entries):
            break
    return verdicts


def _without_broken_object(text: str) -> str:
    """Return a text without the object that breaks off at its end, or with that object closed.

    An object whose two lists are complete says everything that counts; with fewer, it would say
    less than its author meant to.
    """
    start = text.rfind("{")
    while start >= 0 and "}" not in text[start:]:
        lists = list(_LIST.finditer(text, start))
        if len(lists) > 1:
            return f"{text[: lists[-1].end()]}}}"
        text = text[:start]
        start = text.rfind("{")
    return text


def _tidied(text: str) -> str:
    """Return a text without runs of blanks and marks, which cost time and mean nothing."""
    return _REPEATED.sub(r"\1\1\1", _BLANKS.sub(" ", unicodedata.normalize("NFKC", text)))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one answer in the forms it may have.

    Attributes:
        count: Number of claims.
        texts: Reads numbers of texts.
    """

    count: int
    texts: TextNumbers

    def in_json(self, text: str) -> list[_Entry]:
        """Return the entries of the JSON in an answer."""
        values = json_values(text)
        entries = [entry for value in values for entry in self._of_json(value)]
        if not entries:
            entries = [entry for value in values for entry in self._of_rows(value)]
        if not entries:
            entries = [entry for value in values for entry in self._of_groups(value)]
        return entries

    def _of_json(self, data: Any, depth: int = 0, claim: int | None = None) -> Iterator[_Entry]:
        if depth > _MOST_NESTED:
            return
        if isinstance(data, (list, tuple)):
            for item in cast("Sequence[Any]", data):
                yield from self._of_json(item, depth + 1)
            return
        if not isinstance(data, Mapping):
            return
        fields = {str(key): value for key, value in cast("Mapping[Any, Any]", data).items()}
        entry = self._entry(fields, claim)
        if entry is not None:
            yield entry
            return
        for key, value in fields.items():
            number = None if _ONE_TEXT.fullmatch(key) else as_number(key)
            in_order = None if number is None else self._in_order(value)
            if in_order is not None:
                yield _Entry(number, *in_order)
                continue
            yield from self._of_json(value, depth + 1, number)

    def _in_order(self, value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return what a list with a verdict for each text says."""
        verdicts = cast("list[Any]", value) if isinstance(value, list) else []
        if len(verdicts) != len(self.texts.shown):
            return None
        words = [VERDICTS.whole(word) if isinstance(word, str) else None for word in verdicts]
        if None in words:
            return None
        pairs = list(zip(self.texts.shown, words, strict=True))
        supports = [number for number, word in pairs if word == "supported"]
        contradicts = [number for number, word in pairs if word == "contradicted"]
        return tuple(supports), tuple(contradicts)

    def _of_rows(self, data: Any) -> Iterator[_Entry]:
        """Yield the entries of lists such as `[claim, [supporting], [contradicting]]`."""
        if isinstance(data, Mapping):
            values = list(cast("Mapping[Any, Any]", data).values())
            data = values[0] if len(values) == 1 else []
        rows = cast("list[Any]", data) if isinstance(data, list) else []
        for row in rows:
            cells = cast("list[Any]", row) if isinstance(row, list) else []
            in_order = self._in_order(row)
            if in_order is not None:
                yield _Entry(None, *in_order)
                continue
            if len(cells) not in (2, 3, 4, 5):
                return
            number = as_number(cells[0])
            lists = cells if isinstance(cells[0], list) else cells[1:]
            verdict = VERDICTS.whole(lists[0]) if lists and isinstance(lists[0], str) else None
            if number is None and lists is not cells:
                return
            if verdict is not None:
                fields = {"verdict": lists[0], "texts": lists[1] if len(lists) > 1 else None}
            elif len(lists) > 1 and all(isinstance(part, list) for part in lists[:2]):
                fields = {"supported_by": lists[0], "contradicted_by": lists[1]}
            else:
                return
            entry = self._entry(fields, number)
            if entry is None:
                return
            yield entry

    def _of_groups(self, data: Any) -> Iterator[_Entry]:
        """Yield the entries of an object such as `{"supported": {"1": [2, 3]}, "neutral": [2]}`."""
        if not isinstance(data, Mapping):
            return
        fields = {str(key): value for key, value in cast("Mapping[Any, Any]", data).items()}
        named = _named(fields)
        supports = _by_number(named.get("supports", []))
        contradicts = _by_number(named.get("contradicts", []))
        if not supports and not contradicts:
            return
        for claim in supports.keys() | contradicts.keys():
            for_it = self.texts.of(supports.get(claim))
            against = self.texts.of(contradicts.get(claim))
            if for_it is not None and against is not None:
                yield _Entry(claim, for_it, against)
        for claim in _numbers_in(named.get("silent", [])):
            yield _Entry(claim, (), ())

    def in_fields(self, text: str) -> list[_Entry]:
        """Return the entries of a table, or of fields with names, one below or beside the other."""
        rows = [*_table_rows(text), *_field_groups(text)]
        entries = [self._entry(fields, claim) for claim, fields in rows]
        return [entry for entry in entries if entry is not None]

    def in_lines(self, text: str) -> list[_Entry]:
        """Return the entries of lines such as `1: supported by sample 2`."""
        entries: list[_Entry] = []
        parts = numbered_parts(text, self.count)
        if not parts and self.count == 1:
            parts = [((1,), text)]
        for numbers, line in parts:
            verdict = self._of_line(line)
            if verdict is not None:
                entries += [_Entry(number, *verdict) for number in numbers]
        return entries

    def _of_line(self, line: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the texts that a line says to support and to contradict a claim."""
        if len(line) > _MOST_CHARS_OF_LINE:
            return None
        if _NEITHER.search(line):
            return (), ()
        if _UNDECIDED.search(line):
            return None
        labelled = self._of_labels(line)
        if labelled is not None:
            return labelled
        supports = self.texts.beside(line, _SUPPORT)
        contradicts = self.texts.beside(line, _CONTRADICTION)
        if supports or contradicts:
            return self._both(supports.numbers, contradicts.numbers)
        names_none = any(map(str.isalnum, line)) and self.texts.whole(line) == NONE
        if supports.is_stated or contradicts.is_stated or names_none:
            return (), ()
        verdict = VERDICTS.read(line)
        if verdict == "not_mentioned":
            return (), ()
        named = self.texts.named_in(line)
        if not named and self.texts.only is not None:
            named = (self.texts.only,)
        if verdict is None or not named:
            return None
        return (named, ()) if verdict == "supported" else ((), named)

    def _of_labels(self, line: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return what a line says about each text behind its label: `Sample 1: supported`."""
        labels = list(_LABEL.finditer(line))
        pairs: list[tuple[int, JudgeVerdict | None]] = []
        for label, following in zip_longest(labels, labels[1:]):
            end = len(line) if following is None else following.start()
            pairs.append((int(label[1]), VERDICTS.first(line[label.end() : end].strip(" ,;\n-*|"))))
        if not pairs or any(verdict is None for _, verdict in pairs):
            return None
        return self._both(
            [number for number, verdict in pairs if verdict == "supported"],
            [number for number, verdict in pairs if verdict == "contradicted"],
        )

    def _both(
        self, supports: Sequence[int], contradicts: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        return None if set(supports) & set(contradicts) else (tuple(supports), tuple(contradicts))

    def _entry(self, fields: Mapping[str, Any], claim: int | None) -> _Entry | None:
        """Return what the fields of an object say; None if they are not about a claim."""
        number = number_of(fields)
        number = claim if number is None else number
        named = _named(fields)
        quotes, words = _texts_in(named.get("quote", [])), _texts_in(named.get("words", []))
        supports = self._under(named, "supports")
        contradicts = self._under(named, "contradicts")
        verdict = _verdict_in(named)
        if supports is not None or contradicts is not None:
            # A field that cannot be read makes the whole entry unreadable.
            if supports == "unreadable" or contradicts == "unreadable":
                return None
            if None in (supports, contradicts) and _has_unknown_lists(fields):
                return None
            both = self._both(supports or (), contradicts or ())
            if both is None or _disagrees(verdict, *both):
                return None
            return _Entry(number, *both, quotes, words)
        by_text = self._by_text(fields, named)
        if by_text is not None:
            return _Entry(number, *by_text, quotes, words)
        if verdict is None:
            return None
        texts = self._under(named, "texts")
        if verdict == "not_mentioned":
            is_part = texts is not None and texts != "unreadable" and len(texts) == 1
            return _Entry(number, (), (), quotes, words, is_part=is_part)
        if texts is None and self.texts.only is not None and not named.get("texts"):
            return None
        if not texts or texts == "unreadable":
            return None
        is_part = len(texts) == 1 and as_number(named["texts"][0]) is not None
        both = (texts, ()) if verdict == "supported" else ((), texts)
        return _Entry(number, *both, quotes, words, is_part=is_part)

    def _under(
        self, named: Mapping[str, list[Any]], name: str
    ) -> tuple[int, ...] | Literal["unreadable"] | None:
        """Return the numbers of the texts that fields list; None without such a field."""
        values = [value for value in named.get(name, []) if not _is_flag(value)]
        if not values:
            return None
        numbers: list[int] = []
        for value in values:
            read = self.texts.of(value)
            if read is None:
                return "unreadable"
            numbers += read
        return tuple(dict.fromkeys(numbers))

    def _by_text(
        self, fields: Mapping[str, Any], named: Mapping[str, list[Any]]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return what fields say about each text by itself, such as `"sample 1": "supported"`."""
        pairs: list[tuple[int, Any]] = []
        for key, value in fields.items():
            one = _ONE_TEXT.fullmatch(key.strip())
            if one is not None:
                pairs.append((int(one[1]), value))
        for value in named.get("texts", []):
            pairs += _pairs_in(value)
        for value in named.get("verdict", []):
            pairs += _pairs_in(value, are_texts=False)
        verdicts = [(number, _verdict_of_text(value)) for number, value in pairs]
        if not verdicts or any(verdict is None for _, verdict in verdicts):
            return None
        supports = [number for number, verdict in verdicts if verdict == "supported"]
        contradicts = [number for number, verdict in verdicts if verdict == "contradicted"]
        return self._both(supports, contradicts)

    def verdicts(self, entries: Sequence[_Entry]) -> list[DocumentVerdict | None]:
        """Return the verdict on each claim that entries give."""
        verdicts: list[DocumentVerdict | None] = [None] * self.count
        claims = _numbers_from_one(entries, self.count)
        numbers = {n for entry in entries for n in (*entry.supports, *entry.contradicts)}
        # Counted from 0, unless the numbers fit neither way.
        shift = int(0 in numbers and max(self.texts.shown) not in numbers)
        by_claim: dict[int, list[_Entry]] = {}
        for claim, entry in zip(claims or [], entries, strict=claims is not None):
            by_claim.setdefault(claim, []).append(entry)
        for claim, of_claim in by_claim.items():
            if 1 <= claim <= self.count:
                verdicts[claim - 1] = self._verdict(of_claim, shift)
        return verdicts

    def _verdict(self, entries: Sequence[_Entry], shift: int) -> DocumentVerdict | None:
        supports: list[int] = []
        contradicts: list[int] = []
        kinds: set[tuple[bool, bool]] = set()
        for entry in entries:
            numbers = [n + shift for n in (*entry.supports, *entry.contradicts)]
            if not set(self.texts.shown).issuperset(numbers):
                return None
            supports += (n + shift - 1 for n in entry.supports)
            contradicts += (n + shift - 1 for n in entry.contradicts)
            if not entry.is_part:
                kinds.add((bool(entry.supports), bool(entry.contradicts)))
        # One object for each text that supports a claim is no contradiction.
        if len(kinds) > 1 or (set(supports) & set(contradicts)):
            return None
        return DocumentVerdict(
            supports=tuple(dict.fromkeys(supports)),
            contradicts=tuple(dict.fromkeys(contradicts)),
            quotes=tuple(dict.fromkeys(quote for entry in entries for quote in entry.quotes)),
            words=tuple(dict.fromkeys(words for entry in entries for words in entry.words)),
        )


def _numbers_from_one(entries: Sequence[_Entry], count: int) -> list[int] | None:
    """Return the number of each entry's claim, from 1; None if they cannot be told."""
    numbers = [entry.claim for entry in entries]
    if all(number is None for number in numbers):
        return list(range(1, count + 1)) if len(entries) == count else None
    stated = [-1 if number is None else number for number in numbers]
    if 0 in stated and count not in stated:
        if set(stated) != set(range(count)):
            return None
        return [number + 1 for number in stated]
    return stated


def _disagrees(
    verdict: JudgeVerdict | None, supports: Sequence[int], contradicts: Sequence[int]
) -> bool:
    """Return whether a verdict in one word differs from the lists beside it."""
    if verdict == "supported":
        return not supports
    if verdict == "contradicted":
        return not contradicts
    return verdict == "not_mentioned" and bool(contradicts)


def _by_number(values: Sequence[Any]) -> dict[int, list[Any]]:
    """Return lists by the numbers of the claims that they are behind."""
    by_number: dict[int, list[Any]] = {}
    for value in values:
        lists: Mapping[Any, Any] = (
            cast("Mapping[Any, Any]", value) if isinstance(value, Mapping) else {}
        )
        for key, texts in lists.items():
            number = as_number(key)
            if number is not None and isinstance(texts, list):
                by_number[number] = cast("list[Any]", texts)
    return by_number


def _numbers_in(values: Sequence[Any]) -> list[int]:
    numbers: list[int] = []
    for value in values:
        items = cast("list[Any]", value) if isinstance(value, list) else []
        numbers += [number for item in items if (number := as_number(item)) is not None]
    return numbers


def _has_unknown_lists(fields: Mapping[str, Any]) -> bool:
    """Return whether there are lists of numbers under names that mean nothing here."""
    for key, value in fields.items():
        is_known = any(pattern.fullmatch(key.strip()) for pattern in _FIELDS.values())
        if not is_known and isinstance(value, list):
            return True
    return False


def _named(fields: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of fields by what they are about."""
    named: dict[str, list[Any]] = {}
    for key, value in fields.items():
        for name, pattern in _FIELDS.items():
            if pattern.fullmatch(key.strip()):
                named.setdefault(name, []).append(value)
                break
    return named


def _is_flag(value: Any) -> bool:
    """Return whether a value says yes or no rather than which."""
    if isinstance(value, bool):
        return True
    if not isinstance(value, str) or any(map(str.isdigit, value)):
        return False
    return value.strip().casefold() in ("yes", "true", "false", "ja", "oui", "sí", "sì", "sim")


def _verdict_in(named: Mapping[str, list[Any]]) -> JudgeVerdict | None:
    for value in named.get("verdict", []):
        if isinstance(value, str):
            return VERDICTS.read(value)
    supported = any(_is_yes(value) for value in named.get("supports", []))
    contradicted = any(_is_yes(value) for value in named.get("contradicts", []))
    if supported == contradicted:
        return None
    return "supported" if supported else "contradicted"


def _is_yes(value: Any) -> bool:
    return _is_flag(value) and str(value).strip().casefold() != "false"


def _verdict_of_text(value: Any) -> JudgeVerdict | None:
    """Return the verdict about one text."""
    if isinstance(value, bool):
        return "supported" if value else "not_mentioned"
    if isinstance(value, Mapping):
        return _verdict_in(_named(cast("Mapping[str, Any]", value)))
    if not isinstance(value, str):
        return None
    return VERDICTS.read(value) or _MARKS.get(value.strip())


_MARKS: Mapping[str, JudgeVerdict] = {
    **dict.fromkeys(("✓", "✔", "✅", "+"), "supported"),
    **dict.fromkeys(("-", "–", "—", "/", "n/a", ""), "not_mentioned"),
}


def _pairs_in(value: Any, *, are_texts: bool = True) -> list[tuple[int, Any]]:
    """Return the verdicts by text in a value: `{"1": "supported"}`, `[{"sample": 1, ...}]`.

    Args:
        value: The value.
        are_texts: Whether bare numbers are those of texts.
    """
    pairs: list[tuple[int, Any]] = []
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[Any, Any]", value).items():
            number = as_number(_bare(key)) if are_texts or _bare(key) is not key else None
            if number is not None:
                pairs.append((number, inner))
        return pairs
    items = cast("list[Any]", value) if isinstance(value, list) else []
    for item in items:
        fields: Mapping[str, Any] = (
            cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}
        )
        named = _named(fields)
        for text in named.get("texts", [])[:1]:
            number = as_number(_bare(text))
            if number is not None and "verdict" in named:
                pairs.append((number, fields))
    return pairs


def _bare(value: Any) -> Any:
    one = _ONE_TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
    return one[1] if one else value


def _texts_in(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts in values, also behind the numbers of documents."""
    texts: list[str] = []
    pending: list[object] = list(values)
    while pending:
        value = pending.pop(0)
        if isinstance(value, Mapping):
            for key, inner in cast("Mapping[object, object]", value).items():
                is_number = _FIELDS["texts"].fullmatch(str(key)) and as_number(inner) is not None
                if not is_number:
                    pending.append(inner)
        elif isinstance(value, list):
            pending += cast("list[object]", value)
        elif isinstance(value, str) and any(map(str.isalnum, value)):
            texts.append(value)
    return tuple(texts)


# Fields outside of JSON.

_CELLS = re.compile(r"(?<!\\)\|")
_LINE_OF_TABLE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_KEYS = (
    r"claim(?:[\s_](?:id|number|no))?|id|number"
    rf"|(?:[^\W\d_]+[ _-])?(?:{_SUPPORT})(?:[ _-](?:by|samples?|documents?|sources?|texts?))?"
    rf"|(?:[^\W\d_]+[ _-])?(?:{_CONTRADICTION})(?:[ _-](?:by|samples?|documents?|sources?|texts?))?"
    r"|verdict|words|quotes?|reason\w*|samples?|documents?|sources?|by"
)
_KEY = rf"(?:^|(?<=[\s,;{{(|>])|(?<=[-*+]\s))[\"'“*_`]*(?P<key>{_KEYS})[\"'”*_`]*\s*[:=：][*_`]*"
_FIELD = re.compile(_KEY, re.IGNORECASE | re.MULTILINE)
_TAGGED = re.compile(
    r"<(?P<name>[a-z_]{2,20})>\s*(?P<inside>[^<>]*?)\s*</(?P=name)>", re.IGNORECASE
)
_OPENED = re.compile(r"<claim\b[^<>\d]{0,20}(\d{1,6})[^<>]{0,20}>", re.IGNORECASE)
_ENDS = re.compile(r"[\n}]|;\s")


def _table_rows(text: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the rows of tables with a head, as fields."""
    head: list[str] = []
    for line in text.splitlines():
        if line.count("|") < 2:
            head = []
            continue
        if _LINE_OF_TABLE.match(line):
            continue
        cells = [cell.strip(" *_`") for cell in _CELLS.split(line.strip().strip("|"))]
        if not head:
            head = cells
        elif len(cells) == len(head):
            fields: dict[str, Any] = dict(zip(head, cells, strict=True))
            number = as_number(cells[0])
            if number is not None:
                del fields[head[0]]
                yield number, fields


def _field_groups(text: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield fields such as `supported_by: 1, 3`, grouped by the claim that comes before them."""
    text = _TAGGED.sub(r"\n\g<name>: \g<inside>\n", _OPENED.sub(r"\nclaim: \1\n", text))
    matches = list(_FIELD.finditer(text))
    group: dict[str, Any] = {}
    claim: int | None = None
    for match, following in zip_longest(matches, matches[1:]):
        end = len(text) if following is None else following.start()
        value = text[match.end() : end]
        key = match["key"].casefold()
        if key.startswith(("claim", "id", "number")) or key in group:
            if group:
                yield claim, group
            group = {}
            claim = None
        ends = _ENDS.search(value)
        value = (value if ends is None else value[: ends.start()]).strip(" \t\r,*_`\"'“”")
        if key.startswith(("claim", "id", "number")):
            claim = as_number(value.split(",")[0].strip(" \"'"))
        else:
            group[key] = value
    if group:
        yield claim, group
