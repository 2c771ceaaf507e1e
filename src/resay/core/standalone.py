"""Make follow-up questions understandable without the previous turns.

"Who designed it?" is useless as a search. The missing subject is taken from the previous turns and
put in front, like a heading above its text: "Garmo X100: Who designed it?". A question that only
names another subject, "What about the X110?", becomes the previous question with that subject.

The rules cover the languages whose files have `[follow_ups]` (`resay.lang`). They rely on closed
word classes (pronouns, question words, prepositions) and capitals, and leave alone whatever they do
not know: a question that is left unchanged finds less, but one with the wrong subject finds
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from resay.core.query import Message, text_of
from resay.lang.detection import detect
from resay.lang.language import load
from resay.lang.tables import word_set

# Turns of a conversation, and characters of each turn, that are read.
_MAX_TURNS, _MAX_CHARS = 20, 600
# Longer questions explain themselves.
_MAX_QUESTION_CHARS = 200
_MAX_WORDS = 6


def standalone_question(messages: Sequence[Message]) -> str:
    """Return the last question of a conversation, completed from the previous turns.

    Args:
        messages: The conversation, oldest first, in OpenAI's message shape.

    Returns:
        The text of the user's last message, or its standalone form; empty if there is none.
    """
    told = [(message.get("role"), text_of(message.get("content"))) for message in messages]
    turns = [(role, text) for role, text in told if role in {"user", "assistant"} and text]
    while turns and turns[-1][0] != "user":
        turns.pop()
    if not turns:
        return ""
    grammar = _grammar_of([text[:_MAX_QUESTION_CHARS] for role, text in turns if role == "user"])
    conversation = _Conversation(grammar)
    for role, text in turns[-_MAX_TURNS:-1]:
        if role == "user":
            conversation.ask(text[:_MAX_CHARS])
        else:
            conversation.answer(text[:_MAX_CHARS])
    last = turns[-1][1]
    return conversation.ask(last) if len(last) <= _MAX_QUESTION_CHARS else last


_Kind = Literal["person", "thing", "any"]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a text.

    Attributes:
        text: The name.
        start: Its start.
        is_thing: Whether it is clearly not a person: it has digits, or an article before it.
    """

    text: str
    start: int
    is_thing: bool


@dataclass(slots=True)
class _Exchange:
    """A standalone question, and its answer."""

    question: str
    answer: str = ""


@dataclass(slots=True)
class _Conversation:
    """The conversation so far."""

    grammar: _Grammar
    exchanges: list[_Exchange] = field(default_factory=list[_Exchange])
    people: set[str] = field(default_factory=set[str])

    def answer(self, text: str) -> None:
        """Process an answer."""
        if self.exchanges:
            self.exchanges[-1].answer += f"\n{text}"

    def ask(self, text: str) -> str:
        """Process the next question, and return its standalone form."""
        question = " ".join(text.split())
        if self.grammar.no_question.fullmatch(question) or _LANGUAGE.fullmatch(question):
            return text
        # Return the text unchanged, with its line breaks, if nothing is added.
        result = (self._completed(question) if self.exchanges else None) or text
        self.exchanges.append(_Exchange(result))
        return result

    def _completed(self, question: str) -> str | None:
        """Return the standalone form of a question; None if it needs no completion."""
        lead = self.grammar.lead.match(question)
        core = question[lead.end() if lead else 0 :].rstrip(" ?!.…")
        if self.grammar.bare.fullmatch(core):
            return self._appended_to_last(question)
        kind = self._missing_kind(question, core)
        if kind is None and self.grammar.place.fullmatch(core):
            return self._with_other_place(core) or self._appended_to_last(question)
        if kind is None and (lead or question.endswith("?")) and self._is_fragment(core):
            names = self._names(f"… {core}" if lead or " " not in core else f"{core}?")
            if names:
                return self._with_other_subject(question, core, names)
            short = len(core.split()) < 4 and (" " not in core or self.grammar.noun.match(core))
            kind = "any" if lead or short else None
        if kind is None:
            return None
        name = self._antecedent(kind)
        return f"{name}: {question}" if name else self._appended_to_last(question)

    def _missing_kind(self, question: str, core: str) -> _Kind | None:
        """Return the kind of name that a question lacks; None if it lacks none."""
        grammar = self.grammar
        text = grammar.impersonal.sub(" ", question)
        human: _Kind | None = "person" if grammar.human.search(text) else None
        match = grammar.person.search(text)
        if match and not self._has_own_antecedent(text, match.start(), owned=False):
            return "person"
        match = grammar.thing.search(text)
        if match and not self._has_own_antecedent(text, match.start(), owned=False):
            return "thing" if match[0].lower() in _NEUTER else human or "thing"
        match = grammar.owner.search(text) or grammar.weak_owner.match(core)
        if match and not self._has_own_antecedent(text, match.start(), owned=True):
            return human or "any"
        if grammar.more.match(question) and not self._names(question):
            return "any"
        return human or "any" if grammar.without_subject.fullmatch(core) else None

    def _has_own_antecedent(self, text: str, end: int, *, owned: bool) -> bool:
        """Whether the antecedent of a pronoun is in the question itself.

        The subject of its own clause may be the owner of something, but is never the antecedent:
        "Did Ada Moor design it?".
        """
        before = text[:end]
        # "Le musée est-il ouvert": the pronoun repeats its subject.
        if (owned or before.endswith("-")) and self._names(f"{before}?"):
            return True
        if before.endswith("-"):
            return self.grammar.noun.search(before) is not None
        said = before[
            : max((j.start() for j in self.grammar.clause_starts.finditer(before)), default=0)
        ]
        return bool(self._names(said)) or self.grammar.noun.search(said) is not None

    def _is_fragment(self, core: str) -> bool:
        words = core.split()
        if not words or len(words) > _MAX_WORDS:
            return False
        return words[0].lower().strip("¿¡") not in self.grammar.asks

    def _with_other_subject(self, question: str, core: str, names: Sequence[_Name]) -> str | None:
        """Return the last question about another subject; None if this is no such question."""
        last = self.exchanges[-1].question
        # "The battery of the X110" is complete; "the Pro plan" is like "the Basic plan".
        others = core.replace(names[0].text, "").split()
        if len(names) > 1 or not set(others[1:]) <= set(last.rstrip("?").split()):
            return None
        old, new = self._names(last), names[0]
        # "Und das Gewicht?" may ask about another property of the same subject.
        is_noun = self.grammar.nouns_are_capital and new.is_thing and new.text.isalpha()
        if is_noun or not old:
            return self._appended_to_last(question)
        alike = [name for name in old if _shape(name.text) == _shape(new.text)] or old
        return last.replace(alike[0].text, _substituted_name(alike[0].text, new.text))

    def _with_other_place(self, core: str) -> str:
        """Return the last question with another place or time after the same preposition."""
        preposition, _, _ = core.partition(" ")
        names = self._names(f"… {core}")
        if len(names) != 1:
            return ""
        last = self.exchanges[-1].question
        for name in self._names(last):
            before = last[: name.start].split()
            digits = _shape(name.text) == _shape(names[0].text) == "digits"
            if digits or (before and before[-1].lower() == preposition.lower()):
                new = _substituted_name(name.text, names[0].text)
                return last[: name.start] + new + last[name.start + len(name.text) :]
        return ""

    def _appended_to_last(self, question: str) -> str:
        last = self.exchanges[-1].question
        end = "" if last.endswith(("?", ".", "!", "…")) else "."
        return f"{last}{end} {question}"

    def _antecedent(self, kind: _Kind) -> str:
        """Return the antecedent of a pronoun; empty if nothing is named."""
        for exchange in reversed(self.exchanges):
            asked, answered = self._names(exchange.question), self._names(exchange.answer)
            known = {name.text for name in asked}
            told = [name for name in answered if name.text not in known]
            if kind == "person":
                whom = self.grammar.who.search(exchange.question) is not None
                order = [*told, *asked] if whom else [*asked, *told]
                found = [name for name in order if not name.is_thing]
            elif kind == "thing":
                found = [name for name in asked or told if name.text not in self.people]
                found = [name for name in found if name.is_thing] or found
            else:
                found = asked or told
            if found:
                if kind == "person":
                    self.people.add(found[0].text)
                return found[0].text
        return ""

    def _names(self, text: str) -> list[_Name]:
        found = list(_named(text, self.grammar))
        if self.grammar.nouns_are_capital:
            # Any noun looks like a name there; one with digits or several words certainly is.
            return sorted(found, key=lambda name: not re.search(r"[\d ]", name.text))
        return found


def _shape(name: str) -> str:
    return "digits" if re.search(r"\d", name) else "words"


def _substituted_name(old: str, new: str) -> str:
    """Replace a name by another: "X110" in place of "Garmo X100" is "Garmo X110"."""
    *brand, last = old.split()
    model = re.match(r"[A-Za-z]*", last)
    same = model is not None and re.fullmatch(rf"{re.escape(model[0])}\d\S*", new) is not None
    return " ".join([*brand, new]) if brand and re.search(r"\d", last) and same else new


_PART = r"[A-ZÀ-ÖØ-Þ][\w&+]*(?:[.'’-]\w+)*"
_CODE = r"(?:[A-Za-z]{0,6}-?\d[\w.-]*\w|\d)"
_JOINED = r"(?:of|de|del|della|di|da|do|dos|du|von|van)"
_QUOTED = re.compile(r"[\"“„«]\s?([^\"“”„«»]{2,80}?)\s?[\"”“»]")
_RUN = re.compile(rf"(?<![\w'’]){_PART}(?:\s(?:{_JOINED}\s)?{_PART}|\s{_CODE}(?!\w)){{0,5}}")
_RUN_OF_NOUNS = re.compile(rf"(?<![\w'’]){_PART}(?:\s{_PART}|\s{_CODE}(?!\w)){{0,5}}")
_ELIDED = re.compile(r"\w{1,2}['’][a-zà-ÿ]")
_SENTENCE_START = re.compile(r"(?:\A|[.!?…]\s|:\s|\n)[\s¿¡\"“«(*_-]*\Z")
_ARTICLE = re.compile(
    r"\b(?:the|this|der|die|das|den|dem|des|le|la|les|el|los|las|il|lo|gli|i|o|os|as|het|de"
    r"|un|una|une|ein|eine|einen|een|um|uma|an|a)\s\Z|\bl['’]\Z",
    re.IGNORECASE,
)


def _named(text: str, grammar: _Grammar) -> Iterator[_Name]:
    """Yield the names in a text, in order."""
    quoted = [(match[1], match.start(1)) for match in _QUOTED.finditer(text)]
    yield from (_Name(name, start, is_thing=True) for name, start in quoted)
    runs = _RUN_OF_NOUNS if grammar.nouns_are_capital else _RUN
    for match in runs.finditer(text):
        name, start = match[0], match.start()
        begins = _SENTENCE_START.search(text[:start]) is not None
        words = name.split()
        while words and _is_not_name(words[0], grammar, begins=begins):
            start += len(words[0]) + 1
            words = words[1:]
            begins = False
            name = text[start : match.end()]
        name = re.sub(r"['’]s?\Z", "", name)
        if not words or any(q <= start < q + len(inner) for inner, q in quoted):
            continue
        # The first word of a question is usually not a name: "Was kostet", "Compare".
        alone = begins and len(words) == 1 and not re.search(r"\d", name)
        if alone and not text[match.end() :].startswith(":") and "?" in text[match.end() :]:
            continue
        thing = bool(re.search(r"\d", name)) or _ARTICLE.search(text[:start]) is not None
        yield _Name(name, start, thing)


def _is_not_name(word: str, grammar: _Grammar, *, begins: bool) -> bool:
    """Whether a capitalised word is not part of a name: "The", "Who", "C'est"."""
    low = word.lower()
    if low in _NOT_NAMES or low in grammar.asks:
        return True
    return begins and (low in grammar.stop_words or _ELIDED.match(word) is not None)


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The `FollowUps` of a language, compiled, and its stop words."""

    stop_words: frozenset[str]
    asks: frozenset[str]
    person: re.Pattern[str]
    thing: re.Pattern[str]
    owner: re.Pattern[str]
    weak_owner: re.Pattern[str]
    impersonal: re.Pattern[str]
    human: re.Pattern[str]
    who: re.Pattern[str]
    lead: re.Pattern[str]
    bare: re.Pattern[str]
    place: re.Pattern[str]
    more: re.Pattern[str]
    without_subject: re.Pattern[str]
    no_question: re.Pattern[str]
    clause_starts: re.Pattern[str]
    noun: re.Pattern[str]
    nouns_are_capital: bool


# Never refer to people, whatever is said of them.
_NEUTER = word_set("it its this that es dies dieses davon damit dafür daran ça cela het ervan")
_LANGUAGE = re.compile(
    r"(?:in|auf|en|em|in\s+het)\s+(?:english|german|french|spanish|italian|portuguese|dutch|englisch"
    r"|deutsch|französisch|spanisch|anglais|allemand|français|espagnol|inglés|alemán|español|inglese"
    r"|tedesco|italiano|inglês|alemão|português|engels|duits|nederlands)"
    r"(?:,?\s+(?:please|bitte|s'il\s.{0,20}|por\s+favor|per\s+favore|alsjeblieft|graag))?[\s.!?]*",
    re.IGNORECASE,
)
"""A request for a language to answer in."""


@cache
def _grammar(code: str) -> _Grammar:
    """Return the grammar of a language."""
    language = load(code)
    follow_ups = language.follow_ups

    def words(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w'’])(?:{pattern})(?!\w)", re.IGNORECASE)

    def as_written(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w'’])(?:{pattern})(?!\w)")

    def whole(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"[¿¡\s]*(?:{pattern})[\s?!.…]*", re.IGNORECASE)

    # In German, "Sie" and "Ihr" are polite forms, "sie" and "ihr" pronouns.
    pronouns = as_written if follow_ups.nouns_are_capital else words
    return _Grammar(
        stop_words=language.stop_words,
        asks=follow_ups.asks,
        person=words(follow_ups.person),
        thing=pronouns(follow_ups.thing),
        owner=pronouns(follow_ups.owner),
        weak_owner=whole(rf"(?:{follow_ups.weak_owner})\b.*"),
        impersonal=words(follow_ups.impersonal),
        human=words(follow_ups.human),
        who=words(follow_ups.who),
        lead=re.compile(rf"[¿¡\s]*(?:{follow_ups.lead})(?:\s*,\s*|\s+|(?<=['’]))", re.IGNORECASE),
        bare=whole(follow_ups.bare),
        place=whole(rf"(?:{follow_ups.place})(?:\s+|(?<=['’]))\S.{{0,60}}"),
        more=whole(rf"(?:{follow_ups.more}).{{0,40}}"),
        without_subject=whole(follow_ups.without_subject),
        no_question=whole(follow_ups.no_question),
        clause_starts=re.compile(
            rf",\s|[.;:?!]\s|(?<!\w)(?:{follow_ups.clause_starts})(?!\w)", re.IGNORECASE
        ),
        noun=words(follow_ups.noun),
        nouns_are_capital=follow_ups.nouns_are_capital,
    )


_NOT_NAMES = word_set("""
    i the a an and but or so also ok okay yes no it its he she they we you this that these those his
    her their there here in on at for from with if as after before since to of by tell give
    explain describe list show write compare please thanks hello hi what's who's how's where's
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december
    until till between under over into about during without within near than not only just even now
    then today yesterday tomorrow next last all any each every both most some many few more other
    bis seit ab unter über gegen ohne während wegen jusqu'à jusque depuis pendant pour sans selon
    vers hasta desde durante sin según entre para por con fino dal senza secondo per tra até sem com
    tot sinds vanaf tijdens zonder volgens met voor naar
    der die das den dem ein eine und aber oder ja nein danke hallo ich du er sie es wir ihr sein
    seine ihre bitte im am in nenne
    le la les un une et mais ou oui non merci bonjour je tu il elle nous vous ils elles son sa ses
    el los las una y pero o sí gracias hola su sus yo él ella
    lo gli e ed ma sì grazie ciao io lui lei
    os as um uma mas sim não obrigado olá eu ele ela seu sua
    de het een en maar of nee bedankt ik jij hij zij wij
""")


def _grammar_of(texts: Sequence[str]) -> _Grammar:
    """Return the grammar of the last question's language, or that of the ones before it."""
    last = detect(texts[-1], unique=True)
    return _grammar(last or detect("\n".join(texts[-3:])) or "en")
