"""Reads the fields by which a judge describes a claim: lists of texts, verdicts, words, quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.item_numbers import as_number, number_of
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.text_numbers import Numbers, TextNumbers

SUPPORT = (
    r"support\w*|confirm\w*|entail\w*|agree[sd]?(?:\w*with)?|corroborat\w*|back(?:s|ed)|verif\w*"
    r"|pro|belegt|bestätigt|gestützt|stütz(?:t|en)|soutien\w*|soutenu\w*|appuy\w*|respald\w*|apoya\w*"
    r"|apoiad\w*|sostenut\w*|supportat\w*|支持|证实|裏付け\w*"
)
CONTRADICTION = (
    r"contradic\w*|contradiz\w*|refut\w*|conflict\w*|oppos\w*|disagree\w*|den(?:y|ies|ied)|against"
    r"|disprove\w*|widersp\w*|widerleg\w*|contredi\w*|contraddi\w*|contradit\w*|contradiç\w*|矛盾"
    r"|反驳|相反"
)
SILENCE = (
    r"(?:not|un|non|nicht|pas|no|não)[\s_-]*(?:mention|support|stated|address|entail|erwähnt|belegt"
    r"|confirm)\w*|neutral\w*|silent|irrelevant|unrelated|neither|未提及|言及なし"
)

_FIELDS: Mapping[str, re.Pattern[str]] = {
    name: lazy_pattern(pattern, re.IGNORECASE)
    for name, pattern in (
        # The first that matches a key counts.
        (
            "reason",
            r"reason\w*|why|explanation|rationale|thought\w*|analysis|comment|note|begründung",
        ),
        ("words", r".*words?\b|.*(?:wrong|incorrect|error|falsch|unsupported_part)\w*"),
        ("quote", r".*(?:quot|excerpt|evidence|passage|span|zitat|citation|extrait|cita)\w*"),
        ("silent", rf"(?:\w+[\s_-])?(?:{SILENCE})(?:[\s_-]+by)?"),
        ("contradicts", rf"(?:\w+[\s_-]+)?(?:is[\s_-]+)?(?:{CONTRADICTION})(?:[\s_-]+\w+){{0,2}}"),
        (
            "supports",
            rf"(?:\w+[\s_-]+)?(?:is[\s_-]+)?(?:{SUPPORT}|for|pros?)(?:[\s_-]+\w+){{0,2}}",
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
TEXT_LABEL = lazy_pattern(
    r"(?:document|doc|reference|ref|sample|source|text|s|stichprobe|échantillon|muestra|campione"
    r"|amostra|样本|サンプル)[\s_#-]*(\d{1,6})",
    re.IGNORECASE,
)

_YES_WORDS = ("yes", "true", "false", "ja", "oui", "sí", "sì", "sim")
_MARKS: Mapping[str, JudgeVerdict] = {
    **dict.fromkeys(("✓", "✔", "✅", "+"), "supported"),
    **dict.fromkeys(("-", "–", "—", "/", "n/a", ""), "not_mentioned"),
}


@dataclass(frozen=True, slots=True)
class TextStances:
    """The texts that support a claim, and those that contradict it.

    Attributes:
        supports: The numbers of the former.
        contradicts: The numbers of the latter.
    """

    supports: Numbers = ()
    contradicts: Numbers = ()

    @classmethod
    def of(cls, supports: Sequence[int], contradicts: Sequence[int]) -> TextStances | None:
        """Return the stances of texts; None if a text both supports and contradicts the claim."""
        if set(supports) & set(contradicts):
            return None
        return cls(tuple(supports), tuple(contradicts))

    @classmethod
    def of_verdicts(cls, verdicts: Sequence[tuple[int, JudgeVerdict | None]]) -> TextStances | None:
        """Return the stances of texts with a verdict each; None if one has none."""
        if not verdicts or any(verdict is None for _, verdict in verdicts):
            return None
        return cls.of(
            [number for number, verdict in verdicts if verdict == "supported"],
            [number for number, verdict in verdicts if verdict == "contradicted"],
        )

    def agree_with(self, verdict: JudgeVerdict | None) -> bool:
        """Return whether a verdict in one word, if there is one, says the same."""
        if verdict == "supported":
            return bool(self.supports)
        if verdict == "contradicted":
            return bool(self.contradicts)
        return verdict is None or not self.contradicts


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """What an answer says about a claim, with the numbers as it writes them.

    Attributes:
        claim: The claim's number; None if the answer does not number it.
        stances: The texts that support and contradict it.
        quotes: Words of texts.
        words: Words of the claim.
        is_part: Whether it is about one text only, so that others may follow.
    """

    claim: int | None
    stances: TextStances
    quotes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_part: bool = False


def fields_by_name(fields: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of fields by what they are about, such as `supports` or `words`."""
    by_name: dict[str, list[Any]] = {}
    for key, value in fields.items():
        for name, pattern in _FIELDS.items():
            if pattern.fullmatch(key.strip()):
                by_name.setdefault(name, []).append(value)
                break
    return by_name


@dataclass(frozen=True, slots=True)
class FieldReader:
    """Reads the fields of an object, a row of a table, or a paragraph.

    Attributes:
        texts: Reads numbers of texts.
    """

    texts: TextNumbers

    def entry(self, fields: Mapping[str, Any], claim: int | None) -> ClaimEntry | None:
        """Return what fields say about a claim; None if they are not about one, or unclear.

        Args:
            fields: The fields.
            claim: The number of the claim if the fields do not name it.
        """
        number = number_of(fields)
        claim = claim if number is None else number
        by_name = fields_by_name(fields)
        stances, is_part = self._stances_in_lists(fields, by_name), False
        if stances is None:
            stances = self._stances_by_text(fields, by_name)
        if stances is None:
            stances, is_part = self._stances_by_verdict(by_name)
        if stances is None or stances == "unreadable":
            return None
        return ClaimEntry(
            claim=claim,
            stances=stances,
            quotes=_texts_in(by_name.get("quote", [])),
            words=_texts_in(by_name.get("words", [])),
            is_part=is_part,
        )

    def _stances_in_lists(
        self, fields: Mapping[str, Any], by_name: Mapping[str, list[Any]]
    ) -> TextStances | Literal["unreadable"] | None:
        """Return the texts that fields such as `supported_by` list; None without such a field."""
        supports = self._listed(by_name.get("supports", []))
        contradicts = self._listed(by_name.get("contradicts", []))
        if supports is None and contradicts is None:
            return None
        # A field that cannot be read makes all of them unreadable.
        if supports == "unreadable" or contradicts == "unreadable":
            return "unreadable"
        if (supports is None or contradicts is None) and _has_unknown_lists(fields):
            return "unreadable"
        stances = TextStances.of(supports or (), contradicts or ())
        if stances is None or not stances.agree_with(_verdict_in(by_name)):
            return "unreadable"
        return stances

    def _listed(self, values: Sequence[Any]) -> Numbers | Literal["unreadable"] | None:
        """Return the numbers of the texts that fields list; None if they list none."""
        lists = [value for value in values if not _is_flag(value)]
        if not lists:
            return None
        numbers: list[int] = []
        for value in lists:
            listed = self.texts.of(value)
            if listed is None:
                return "unreadable"
            numbers += listed
        return tuple(dict.fromkeys(numbers))

    def _stances_by_text(
        self, fields: Mapping[str, Any], by_name: Mapping[str, list[Any]]
    ) -> TextStances | None:
        """Return what fields say about each text by itself, such as `"sample 1": "supported"`."""
        values: list[tuple[int, Any]] = []
        for key, value in fields.items():
            label = TEXT_LABEL.fullmatch(key.strip())
            if label is not None:
                values.append((int(label[1]), value))
        for value in by_name.get("texts", []):
            values += _values_by_text(value)
        for value in by_name.get("verdict", []):
            values += _values_by_text(value, with_bare_numbers=False)
        return TextStances.of_verdicts([(n, _verdict_of_text(value)) for n, value in values])

    def _stances_by_verdict(
        self, by_name: Mapping[str, list[Any]]
    ) -> tuple[TextStances | None, bool]:
        """Return what a verdict in one word says about the texts beside it.

        Returns:
            The stances, and whether they are those of one text only, so that others may follow.
        """
        verdict = _verdict_in(by_name)
        texts = self._listed(by_name.get("texts", []))
        if verdict == "not_mentioned":
            is_part = texts is not None and texts != "unreadable" and len(texts) == 1
            return TextStances(), is_part
        if verdict is None or not texts or texts == "unreadable":
            return None, False
        is_part = len(texts) == 1 and as_number(by_name["texts"][0]) is not None
        if verdict == "supported":
            return TextStances(supports=texts), is_part
        return TextStances(contradicts=texts), is_part


def _has_unknown_lists(fields: Mapping[str, Any]) -> bool:
    """Return whether there are lists of numbers under names that mean nothing here."""
    for key, value in fields.items():
        is_known = any(pattern.fullmatch(key.strip()) for pattern in _FIELDS.values())
        if not is_known and isinstance(value, list):
            return True
    return False


def _is_flag(value: Any) -> bool:
    """Return whether a value says yes or no rather than which."""
    if isinstance(value, bool):
        return True
    return isinstance(value, str) and value.strip().casefold() in _YES_WORDS


def _is_yes(value: Any) -> bool:
    return _is_flag(value) and str(value).strip().casefold() != "false"


def _verdict_in(by_name: Mapping[str, list[Any]]) -> JudgeVerdict | None:
    """Return the verdict that fields state in one word or by flags."""
    for value in by_name.get("verdict", []):
        if isinstance(value, str):
            return VERDICTS.read(value)
    is_supported = any(_is_yes(value) for value in by_name.get("supports", []))
    is_contradicted = any(_is_yes(value) for value in by_name.get("contradicts", []))
    if is_supported == is_contradicted:
        return None
    return "supported" if is_supported else "contradicted"


def _verdict_of_text(value: Any) -> JudgeVerdict | None:
    """Return the verdict about one text."""
    if isinstance(value, bool):
        return "supported" if value else "not_mentioned"
    if isinstance(value, Mapping):
        return _verdict_in(fields_by_name(cast("Mapping[str, Any]", value)))
    if not isinstance(value, str):
        return None
    return VERDICTS.read(value) or _MARKS.get(value.strip())


def _values_by_text(value: Any, *, with_bare_numbers: bool = True) -> Iterator[tuple[int, Any]]:
    """Yield what a value says by text: `{"1": "supported"}`, `[{"sample": 1, ...}]`.

    Args:
        value: The value.
        with_bare_numbers: Whether bare numbers are those of texts.
    """
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[Any, Any]", value).items():
            is_label = isinstance(key, str) and TEXT_LABEL.fullmatch(key.strip()) is not None
            number = _number_of_text(key) if is_label or with_bare_numbers else None
            if number is not None:
                yield number, inner
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            if not isinstance(item, Mapping):
                continue
            fields = cast("Mapping[str, Any]", item)
            by_name = fields_by_name(fields)
            number = _number_of_text(by_name["texts"][0]) if "texts" in by_name else None
            if number is not None and "verdict" in by_name:
                yield number, fields


def _number_of_text(value: Any) -> int | None:
    """Return the number in a value such as `1`, `"1"` or `"sample 1"`."""
    label = TEXT_LABEL.fullmatch(value.strip()) if isinstance(value, str) else None
    return as_number(label[1] if label else value)


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
