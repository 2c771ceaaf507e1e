"""Recognize sentences that claim nothing: greetings, filler, refusals and questions.

Two questions decide. The first is the form: does every clause have one of the `forms`? These are
made of pronouns, auxiliary verbs, negations and verbs of speaking, and leave most nouns open: "I
can't give … advice". The second is the content: does the sentence contain what the question does
not? A digit, a name, a number or a reason makes it a claim, and so does what it takes for granted:
"I cannot discuss her three convictions" says that she has three, while "I cannot give legal advice"
says nothing about advice.

When in doubt a sentence is a claim: a claim that nobody checks is worse than an unnecessary check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, cast

from resay.core.details import (
    has_new_number,
    has_new_reason,
    is_new_word,
    new_names,
)
from resay.core.forms import Act, Classes, CompiledPhrases
from resay.core.passage import Passage
from resay.core.questions import Question, asks_where_to_turn, is_open_question
from resay.lang.language import languages as all_languages


@cache
def languages() -> tuple[CompiledPhrases, ...]:
    """Return the languages with phrases."""
    all_phrases = [language.phrases for language in all_languages()]
    return tuple(CompiledPhrases(phrases) for phrases in all_phrases if phrases is not None)


def _languages_of(text: str) -> list[CompiledPhrases]:
    """Return the languages that a text may be in: those that have most of its words.

    A word may belong to several: "no" is a determiner in English, and a negation in Spanish.
    """
    words = _WORD.findall(_expand(text))
    counts: dict[CompiledPhrases, int] = {}
    for language in languages():
        if language.letters.search(text):
            counts[language] = sum(language.says(word) for word in words)
    most = max((counts[language] for language in counts if language.has_classes), default=0)
    return [language for language in counts if counts[language] == most or not language.has_classes]


ResponseKind = Literal["a greeting", "only code", "a refusal", "only questions"]
_Kind = Act | Literal["question"]
_REFUSALS: Final[frozenset[_Kind]] = frozenset({"refusal", "silence", "lacks"})
_MAX_SENTENCES = 12
_MAX_CHARS = 240
_MAX_REST_WORDS = 9
_MAX_CONJUNCTIONS = 2
_MAX_CLAUSE_WORDS = 32
_MAX_SHORT_QUESTION = 6
_MAX_QUESTION_WORDS = 16
_DIGIT = re.compile(r"\d")
# `re` does not count these vowel signs and accents as letters.
_MARKS = r"\u0300-\u036f\u064b-\u0652\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
_CLAUSES = re.compile(rf"[^\w\s'{_MARKS}-]+|[_\n]")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")
_WRITTEN_WORD = re.compile(r"[\w'-]+")
_CONTRACTIONS: Final = {
    r"\bn/a\b": "not available",
    r"\bcan(?:no|')t\b": "can not",
    r"\bwon't\b": "will not",
    r"n't\b": " not",
    r"\b(let)'s\b": r"\1 us",
    r"\b(what|here|that|it|there)'s\b": r"\1 is",
    r"\b(i)'m\b": r"\1 am",
    r"\b(you|they|we)'re\b": r"\1 are",
    r"\b(i|you|we|they)'ve\b": r"\1 have",
    r"\b(i|you|we|they)'d\b": r"\1 would",
    r"\b(i|you|we|they|it)'ll\b": r"\1 will",
}

# "*adjusts glasses* Ah, …"
_GESTURE = re.compile(
    r"\A\s*([*_])(?:adjust|bow|chuckle|clap|clear|cock|cross|curtsie|flip|fold|gasp|gesture|giggle"
    r"|grin|laugh|lean|lift|look|nod|pause|peer|put|pull|puff|raise|roll|rub|scratche?|shrug|sigh"
    r"|sip|sit|smile|smirk|stand|straighten|stretche?|stroke|tap|thump|tilt|tip|tug|twirl|wave|whisper|wink"
    r"|rückt|räuspert|nickt|lächelt|streicht|ajuste|sourit|hoche|s'incline|ajusta|sonríe|asiente"
    r"|sistema|sorride|annuisce|ajeita|sorri|acena|knikt|glimlacht|zet)s?\b"
    r"(?: (?!her\b|the\b|of\b)[^\W\d_][\w'’-]*){0,4}\1\s*",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"(?:[?？؟]|か。?)[\s\"'”’»」』)\]*_]*\Z")
NonClaim = Literal["filler", "refusal", "question", "creative"]
"""The kind of a sentence that claims nothing."""
# "Sure!" is filler before an answer to who, what or how; otherwise it is the answer itself.
_AFFIRMS = re.compile(
    r"(?:alright|all right|na klar|sure|certainly|of course|absolutely|definitely|okay|ok|gladly"
    r"|exactly|correct|right|great"
    r"|you are (?:absolutely |quite |totally )?(?:right|correct)|natürlich|klar|sicher"
    r"|gerne?|selbstverständlich|bien sûr|certainement|claro|por supuesto|certo|certamente"
    r"|naturalmente|com certeza|natuurlijk|zeker|javisst|självklart|oczywiście|jasne|конечно"
    r"|разумеется|elbette|tabii(?: ki)?|بالطبع|बिल्कुल|ज़रूर|はい|もちろん(?:です)?|承知(?:しまし"
    r"|いたしまし)た"
    r"|かしこまりました|好的|当然(?:可以)?|没问题|네|물론(?:입니다|이죠))(?: thing)?"
)


def non_claim_kind(text: str, *, is_open: bool, asked: str | None = None) -> NonClaim | None:
    """Return the kind of a sentence that claims nothing.

    Recognizes greetings, thanks, offers and other filler, refusals and statements that something is
    unknown or not in the documents, and questions to the user, in the `languages`.

    Args:
        text: The sentence.
        is_open: Whether it answers who, what or how: "Sure!" is then filler.
        asked: The question. Numbers and names from it are not claimed: "I do not know what the X100
            costs." Others are, unless it is None.

    Returns:
        The kind, or None for a claim.
    """
    question = Question.of(asked or "", is_open=is_open)
    text = question.without_numbers(text)
    if _may_claim(text):
        return None
    spoken = _GESTURE.sub("", text)
    clauses = tuple(_clauses(spoken))
    if is_open:
        clauses = tuple(clause for clause in clauses if not _AFFIRMS.fullmatch(clause))
    if not clauses and _LETTER.search(text):
        return None if any(new_names(text, question.known)) else "filler"
    for language in _languages_of(spoken):
        kind = _kind(text, clauses, language, question, checks_detail=asked is not None)
        # To a user who asks where to turn, a referral is an answer, which can be wrong.
        if kind == "referral" and asks_where_to_turn(question.text):
            return None
        if kind in _REFUSALS:
            return "refusal"
        if kind is not None:
            return "question" if kind == "question" else "filler"
    return None


def nothing_to_check(passage: Passage, *, asked: str = "") -> ResponseKind | None:
    """Return the kind of a response with nothing to check.

    Recognizes greetings, thanks and farewells, refusals and answers of not knowing, in the
    `languages`; questions to the user; and code.

    Args:
        passage: The response.
        asked: The question.

    Returns:
        The kind, or None if the response needs a check.
    """
    kinds = {piece.kind for piece in passage.pieces if not piece.text.isspace()}
    sentences = [s.text for s in passage.sentences if s.unit != "heading"]
    if len(sentences) > _MAX_SENTENCES or any(_may_claim(text) for text in sentences):
        return None
    if "code" in kinds:
        is_code = kinds <= {"prose", "code", "rule", "heading"} and _only_leads_in(sentences)
        return "only code" if is_code else None
    if not sentences or not kinds <= {"prose", "rule"}:
        return None
    question = Question.of(asked, is_open=is_open_question(asked))
    for language in _languages_of(" ".join(sentences)):
        kind = _kind_of_response(sentences, language, question)
        if kind is not None:
            return kind
    return None


def _may_claim(text: str) -> bool:
    return len(text) > _MAX_CHARS or _DIGIT.search(text) is not None


def _only_leads_in(sentences: list[str]) -> bool:
    """Return whether sentences only introduce code: "Sure! Here is an example:"."""
    clauses = [clause for text in sentences for clause in _clauses(text)]
    if not clauses:
        return True
    others = [clause for clause in clauses if not _AFFIRMS.fullmatch(clause)]
    words = [word for clause in others for word in clause.split()]
    question = Question.of("", is_open=True)
    for language in _languages_of(" ".join(others)):
        # "Sure!" alone may be the answer to a question.
        introduces = any("here" in language.classes(word) for word in words)
        if introduces and all(_kind_of_clause(clause, language, question) for clause in others):
            return True
    return False


def _kind_of_response(
    sentences: list[str], language: CompiledPhrases, question: Question
) -> ResponseKind | None:
    kinds: set[_Kind] = set()
    for text in sentences:
        clauses = tuple(_clauses(_GESTURE.sub("", text)))
        kind = _kind(text, clauses, language, question)
        if kind is None:
            return None
        kinds.add(kind)
    if kinds & _REFUSALS:
        return "a refusal"
    if kinds == {"question"}:
        return "only questions"
    # An apology alone mostly retracts something that should be checked.
    return "a greeting" if kinds == {"polite"} or kinds == {"polite", "question"} else None


@dataclass(frozen=True, slots=True)
class _Limits:
    """How many words a sentence may contain that are neither in the question nor in the phrases.

    Attributes:
        bare: Words that follow no article, pronoun or interrogative: "medical advice".
        definite: Words after an article that takes for granted that something exists: "the murder".
        interrogative: Words after one that takes for granted that something happened: "who shot".
    """

    bare: int
    definite: int = 0
    interrogative: int = 1


_LIMITS: Final[Mapping[_Kind, _Limits]] = {
    "polite": _Limits(bare=1),
    "disclaimer": _Limits(bare=3),
    "referral": _Limits(bare=3),
    "refusal": _Limits(bare=4),
    "silence": _Limits(bare=3),
    "lacks": _Limits(bare=1),
    "question": _Limits(bare=6, definite=2, interrogative=6),
}
_OFFER: Final = _Limits(bare=6, interrogative=0)


def _adds_detail(text: str, kind: _Kind, language: CompiledPhrases, question: Question) -> bool:
    """Return whether a sentence contains or takes for granted what the question does not say.

    Without a question, any name may be from it.
    """
    known = question.known
    if has_new_number(text, known) or has_new_reason(text, known):
        return True
    if not question.text:
        return False
    spoken = _GESTURE.sub("", text)
    gesture = text.removesuffix(spoken)
    names = {*new_names(gesture, known), *new_names(spoken, known)}
    if not language.has_capitals and not all(language.says(name) for name in names):
        return True
    return language.has_classes and _presupposes(spoken, kind, language, known)


# "Born", "died", which mean something
_CLAIMS_ALONE: Final = frozenset({"claims"})


def _presupposes(text: str, kind: _Kind, language: CompiledPhrases, known: frozenset[str]) -> bool:
    """Return whether a sentence takes for granted what was not said: "her three convictions"."""
    words = _WORD.findall(_expand(text))
    classes = language.classes_in(words, known)
    limits = _limits(text, classes, kind, language, known)
    left = before = limits.bare
    counted: set[str] = set()
    for index, (word, its) in enumerate(zip(words, classes, strict=True)):
        if "others" in its:
            left = before = 0
        elif "interrogatives" in its or (kind == "referral" and "purpose" in its):
            left = before = limits.interrogative
        elif "definites" in its:
            before = max(left, before)
            left = limits.definite
        elif its != _CLAIMS_ALONE and its & {
            "claims",
            "information",
            "theme",
            "faculty",
            "document",
        }:
            # "When the bridge was built", "the ability to"
            left = before
        elif (its == _CLAIMS_ALONE and is_new_word(word, known)) or (
            "new" in its and word not in counted and not language.says(word)
        ):
            # "The launch year"
            if left < before and "attributes" in frozenset[str]().union(
                *classes[index + 1 : index + 2]
            ):
                continue
            counted.add(word)
            left = limits.definite if word.endswith(language.definite_endings) else left
            left -= 1
            if left < 0:
                return True
    return False


def _limits(
    text: str,
    classes: Sequence[Classes],
    kind: _Kind,
    language: CompiledPhrases,
    known: frozenset[str],
) -> _Limits:
    limits = _LIMITS[kind]
    if kind == "question":
        # What an offer is about is taken for granted: "Do you want to know who she killed?"
        return _OFFER if any("learn" in its for its in classes) else limits
    names_someone = not language.has_capitals and not known.isdisjoint(new_names(text, frozenset()))
    if kind in _REFUSALS and any("others" in its for its in classes):
        # "Fraud by her", "who shot her"
        return _Limits(bare=0, interrogative=0 if kind == "refusal" else 1)
    if names_someone:
        # "Fraud by Ada Moor", but "the documents do not say who designed the Kessel Bridge"
        is_silence = kind in {"silence", "lacks"}
        return _Limits(
            bare=1 if is_silence else 0,
            definite=limits.definite,
            interrogative=1 if is_silence else 0,
        )
    if kind == "refusal" and not any("things" in its for its in classes):
        # "Whom she shot", but "who designed it"
        return replace(limits, interrogative=0)
    return limits


def _kind(
    text: str,
    clauses: tuple[str, ...],
    language: CompiledPhrases,
    question: Question,
    *,
    checks_detail: bool = True,
) -> _Kind | None:
    """Return the kind of a sentence in a language, or None for a claim."""
    spoken = _GESTURE.sub("", text)
    kind = _kind_of_clauses(clauses, language, question)
    if kind is None and not language.has_capitals:
        addressed = _without_address(spoken, clauses, question)
        kind = _kind_of_clauses(addressed, language, question) if addressed != clauses else None
    if kind is not None and not (checks_detail and _adds_detail(text, kind, language, question)):
        return kind
    if not _asks_user(spoken, clauses, language, question):
        return None
    adds_detail = checks_detail and _adds_detail(text, "question", language, question)
    return None if adds_detail else "question"


def _kind_of_clauses(
    clauses: Sequence[str], language: CompiledPhrases, question: Question
) -> _Kind | None:
    kinds: set[_Kind] = set()
    for clause in clauses:
        follows_refusal = bool(kinds & _REFUSALS) and language.comma_before_question
        if follows_refusal and language.asks_indirectly(clause):
            continue
        kind = _kind_of_clause(clause, language, question)
        if not kind and kinds:
            # "Please note, that I am no lawyer"
            kind = _kind_of_clause(language.without_link(clause), language, question)
        if not kind and not (len(clauses) > 1 and language.is_small(clause)):
            return None
        kinds |= kind
    return _strongest(kinds)


def _strongest(kinds: Iterable[_Kind]) -> _Kind | None:
    order: tuple[_Kind, ...] = (
        *("lacks", "refusal", "silence"),
        *("referral", "disclaimer", "polite"),
    )
    return next((kind for kind in order if kind in kinds), None)


def _kind_of_clause(clause: str, language: CompiledPhrases, question: Question) -> set[_Kind]:
    """Return the kinds of a clause's coordinated parts; none if one of them may claim something."""
    kind = _kind_of_part(clause, language, question)
    if kind is not None:
        return {kind}
    words = clause.split()
    joins = [index for index, word in enumerate(words) if "joins" in language.classes(word)]
    for index in joins[:_MAX_CONJUNCTIONS]:
        first = _kind_of_clause(" ".join(words[:index]), language, question) if index else None
        # "I am no lawyer and can not advise you"
        for start in ([], words[:1]):
            second = " ".join([*start, *words[index + 1 :]])
            kinds = _kind_of_clause(second, language, question) if first else None
            if first and kinds:
                return first | kinds
    return set()


def _kind_of_part(clause: str, language: CompiledPhrases, question: Question) -> Act | None:
    for act, pattern in language.acts.items():
        match = pattern.fullmatch(clause)
        if match is None:
            continue
        rests = [_WORD.findall(rest) for rest in match.groups() if rest]
        if all(_ends_empty(language.classes_in(rest, question.known), 0) for rest in rests):
            return act
    words = _WORD.findall(clause)
    if len(words) > _MAX_CLAUSE_WORDS:
        return None
    classes = language.classes_in(words, question.known)
    start = language.prefix(classes)
    if 0 < start < len(classes):
        rest = _kind_of_clause(" ".join(words[start:]), language, question)
        if rest:
            return cast("Act", _strongest(rest))
    for act, end in language.forms_of(classes):
        counts = act != "lacks" or question.is_open or not question.text
        if counts and _ends_empty(classes, end):
            return act
    return None


def _ends_empty(classes: Sequence[Classes], start: int) -> bool:
    """Return whether the rest of a clause, from a word on, claims nothing."""
    for index in range(start, len(classes)):
        before = classes[index - 1] if index else frozenset[str]()
        after = classes[index + 1] if index + 1 < len(classes) else frozenset[str]()
        word = classes[index]
        if "interrogatives" in word and before.isdisjoint(_CONTENT):
            return len(classes) - index <= _MAX_QUESTION_WORDS
        if word & {"condition", "claims", "purpose"} and "you" in after:
            # "If you like", "that you attached"
            return True
        if "claims" not in word:
            continue
        # "About that."
        follows = "condition" in before or not after or not after.isdisjoint(_AFTER_POINTER)
        if "pointer" not in word or not follows:
            return False
    return len(classes) - start <= _MAX_REST_WORDS


_CONTENT: Final = frozenset({"new", "known"})
_AFTER_POINTER: Final = frozenset({"small", "document", "information", "theme", "attributes"})


_FINITE: Final = frozenset({"be", "have", "do", "able"})


def _without_address(text: str, clauses: tuple[str, ...], question: Question) -> tuple[str, ...]:
    """Return clauses without the user's own name in them: "hello" for "Hello Tom"."""
    if not question.text:
        return clauses
    names = question.known.intersection(new_names(text, frozenset()))
    if not names:
        return clauses
    others: list[str] = []
    for clause in clauses:
        words = clause.split()
        while words and words[-1] in names:
            words.pop()
        # A name alone is an address only beside something else.
        if words or len(clauses) == 1:
            others.append(" ".join(words) or clause)
    return tuple(others)


def _asks_user(
    text: str, clauses: Sequence[str], language: CompiledPhrases, question: Question
) -> bool:
    if not _QUESTION.search(text):
        return False
    words = _WRITTEN_WORD.findall(text)
    named = list(new_names(text, question.known))
    if len(words) > _MAX_QUESTION_WORDS or (named and not language.has_capitals):
        return False
    asking = " ".join(clauses).replace(" such as ", " like ")
    # A few words that ask what or which, without a name, contain nothing to check.
    first, *following = (language.classes(word.casefold()) for word in words[:2])
    # "In which", but not "saviez-vous que".
    asks_which = "which" in first or any(first and "which" in second for second in following)
    is_short = len(words) <= _MAX_SHORT_QUESTION and asks_which
    if is_short and not any(word[0].isupper() for word in words[1:]):
        return True
    if language.question.match(asking) is not None:
        return True
    return language.has_classes and _is_asked(clauses, language, question)


def _is_asked(clauses: Sequence[str], language: CompiledPhrases, question: Question) -> bool:
    """Return whether clauses ask the user something, and take nothing for granted."""
    asks = False
    for index, clause in enumerate(clauses):
        classes = language.classes_in(_WORD.findall(clause), question.known)
        if language.assumes(classes, begins=index == 0):
            return False
        if language.asks(classes):
            asks = True
        elif asks and all(its.isdisjoint(_FINITE) for its in classes):
            continue  # "Do you mean the planet, the element, or the god?"
        elif not _kind_of_clause(clause, language, question):
            return False
    return asks


def _expand(text: str) -> str:
    """Return a text in lower case, with contractions expanded."""
    # Case-folding turns a dotted capital I into two characters.
    text = text.casefold().replace("’", "'").replace("i\u0307", "i")
    if "'" in text or "cannot" in text or "n/a" in text:
        for contraction, words in _CONTRACTIONS.items():
            text = re.sub(contraction, words, text)
    return text


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses in lower case, without punctuation."""
    for clause in _CLAUSES.split(_expand(text)):
        joined = " ".join(word for part in clause.split() if (word := part.strip("-'")))
        if joined:
            yield joined
