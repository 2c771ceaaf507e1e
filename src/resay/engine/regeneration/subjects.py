"""The names of what a question and a sentence are about, and sentences without doubtful details."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resay._internal.patterns import lazy_pattern
from resay.core.details import words_in
from resay.core.names import capital_runs, without_article
from resay.core.passage import Passage
from resay.engine.regeneration.plain_text import has_words, plain, shortened
from resay.lang.detection import detect
from resay.lang.language import all_words

_WORD = lazy_pattern(r"[^\W_]+(?:[.,]\d+)*")
_QUOTED = lazy_pattern(
    r"[“„«「『《‹]([^“”„«»「」『』《》‹›]{2,80})[”“»」』》›]|(?<!\w)\"([^\"]{2,80})\"(?!\w)"
)
_BEGINNING = lazy_pattern(r"(?:\A|[.!?…:\n])[\s¿¡\"“«(]*\Z")
_UNIT_MARKS = ",;:%°€$£"
_SUBJECT_CHARS = 80
_MAX_NAMES = 3
# Longer messages are read only at both ends: the actual question is seldom in the middle.
_READ_CHARS = 600
_ASKS = lazy_pattern(r"[?？؟;⁇]\W*\Z")


def questions_in(text: str) -> list[str]:
    """Return the sentences of a user's message that end with a question mark, plain."""
    return [
        plain(s.text) for s in Passage.of(text[-_READ_CHARS:]).sentences if _ASKS.search(s.text)
    ]


def names_of(question: str, entity: str | None = None) -> tuple[str, ...]:
    """Return the names of what a question is about; those around it only if it has none.

    Args:
        question: The user's message, plain or Markdown; may be empty.
        entity: Its main subject, if known; it is then the only name.
    """
    if entity and has_words(entity):
        return (shortened(plain(entity), _SUBJECT_CHARS),)
    ends = f"{question[:_READ_CHARS]}\n{question[_READ_CHARS:][-_READ_CHARS:]}"
    # A name does not go on in the next paragraph.
    paragraphs = [plain(paragraph) for paragraph in ends.split("\n\n")]
    for texts in (questions_in(question), paragraphs):
        names: list[str] = []
        room = _SUBJECT_CHARS
        quoted = [match[1] or match[2] for text in texts for match in _QUOTED.finditer(text)]
        capitalised = [name for text in texts for name in _capitalised(text)]
        for name in [*quoted, *capitalised]:
            if name not in names and len(name) <= room and len(names) < _MAX_NAMES:
                names.append(name)
                room -= len(name) + len(", ")
        if names:
            return tuple(names)
    return ()


def _capitalised(text: str) -> list[str]:
    # In a text all in capitals, or in a script without them, they tell nothing.
    if not any(map(str.islower, text)):
        return []
    names: list[str] = []
    for start, end in capital_runs(text):
        run = text[start:end]
        name = without_article(run)
        names.append(name)
        if name == run and _BEGINNING.search(text[:start]):
            # The first word of a sentence may be any word: "Describe Venice".
            first, _, others = name.partition(" ")
            if not others and not any(map(str.isdigit, first)):
                names.pop()
            names.append(others)
    stop_words = all_words("words", "stop")
    return [name for name in names if name[:1].isupper() and name.lower() not in stop_words]


def is_proper(name: str, question: str) -> bool:
    """Return whether a name in a question surely is one: a single German noun may be any noun."""
    return " " in name or any(map(str.isdigit, name)) or detect(question) != "de"


def subject_of(sentence: str) -> str:
    """Return the name at the beginning of a sentence; empty if there is none."""
    for start, end in capital_runs(sentence):
        name = without_article(sentence[start:end])
        return name if start == 0 and " " in name else ""
    return ""


def without_values(sentence: str, question: str, wrong: Collection[str] = ()) -> str:
    """Return a sentence without details that may be wrong: numbers, and names not asked about.

    The name at its beginning stays if the question has none, because that is its subject.

    Args:
        sentence: A flagged sentence, plain or Markdown.
        question: The question; names in it stay.
        wrong: Words that evidence contradicts; removed unless the question contains them.

    Returns:
        The remaining text, on one line; empty if it has no content.
    """
    text = plain(sentence)
    question_words = words_in(question)
    stop_words = all_words("words", "stop")
    wrong_words = words_in(" ".join(wrong))
    # In German all nouns are capitalised, so only several in a row are surely a name.
    is_german = detect(text) == "de"
    # In scripts without capitals nothing tells names from other words.
    names = [(start, end) for start, end in capital_runs(text) if text[start].isupper()]
    subject_end = _end_of_subject(text, names) if not names_of(question) else 0
    doubtful: list[tuple[int, int]] = []
    content: set[str] = set()
    for word in _WORD.finditer(text):
        key = word[0].casefold()
        if key in stop_words:
            continue
        is_value = word[0][0].isdecimal() or any(
            start <= word.start() < end and (" " in text[start:end] or not is_german)
            for start, end in names
        )
        is_doubtful = is_value and word.start() >= subject_end
        if key not in question_words and (is_doubtful or key in wrong_words):
            doubtful.append(word.span())
        elif word.start() >= subject_end:
            content.add(key)
    for start, end in reversed(doubtful):
        text = f"{text[:start].rstrip()} {text[end:].lstrip(_UNIT_MARKS)}"
    if not content:
        return ""
    return " ".join(text.split()).rstrip(" .,;:!") if doubtful else text


def _end_of_subject(text: str, names: Sequence[tuple[int, int]]) -> int:
    """Return the end of the name with which a text begins; 0 if it begins with something else."""
    if not names:
        return 0
    start, end = names[0]
    return end if words_in(text[:start]) <= all_words("words", "stop") else 0
