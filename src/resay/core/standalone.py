"""Make follow-up questions understandable without the previous turns.

"Who designed it?" is useless as a search. The missing subject is taken from the previous turns and
put in front, like a heading above its text: "Garmo X100: Who designed it?". A question that only
names another subject, "What about the X110?", becomes the previous question with that subject.

The rules cover English, German, French, Spanish, Italian, Portuguese and Dutch. They rely on closed
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
    language = _language_of([text[:_MAX_QUESTION_CHARS] for role, text in turns if role == "user"])
    conversation = _Conversation(language)
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

    language: _Language
    exchanges: list[_Exchange] = field(default_factory=list[_Exchange])
    people: set[str] = field(default_factory=set[str])

    def answer(self, text: str) -> None:
        """Process an answer."""
        if self.exchanges:
            self.exchanges[-1].answer += f"\n{text}"

    def ask(self, text: str) -> str:
        """Process the next question, and return its standalone form."""
        question = " ".join(text.split())
        if self.language.no_question.fullmatch(question) or _LANGUAGE.fullmatch(question):
            return text
        # Return the text unchanged, with its line breaks, if nothing is added.
        result = (self._completed(question) if self.exchanges else None) or text
        self.exchanges.append(_Exchange(result))
        return result

    def _completed(self, question: str) -> str | None:
        """Return the standalone form of a question; None if it needs no completion."""
        lead = self.language.lead.match(question)
        core = question[lead.end() if lead else 0 :].rstrip(" ?!.…")
        if self.language.bare.fullmatch(core):
            return self._appended_to_last(question)
        kind = self._missing_kind(question, core)
        if kind is None and self.language.place.fullmatch(core):
            return self._with_other_place(core) or self._appended_to_last(question)
        if kind is None and (lead or question.endswith("?")) and self._is_fragment(core):
            names = self._names(f"… {core}" if lead or " " not in core else f"{core}?")
            if names:
                return self._with_other_subject(question, core, names)
            short = len(core.split()) < 4 and (" " not in core or self.language.noun.match(core))
            kind = "any" if lead or short else None
        if kind is None:
            return None
        name = self._antecedent(kind)
        return f"{name}: {question}" if name else self._appended_to_last(question)

    def _missing_kind(self, question: str, core: str) -> _Kind | None:
        """Return the kind of name that a question lacks; None if it lacks none."""
        language = self.language
        text = language.impersonal.sub(" ", question)
        human: _Kind | None = "person" if language.human.search(text) else None
        match = language.person.search(text)
        if match and not self._has_own_antecedent(text, match.start(), owned=False):
            return "person"
        match = language.thing.search(text)
        if match and not self._has_own_antecedent(text, match.start(), owned=False):
            return "thing" if match[0].lower() in _NEUTER else human or "thing"
        match = language.owner.search(text) or language.weak_owner.match(core)
        if match and not self._has_own_antecedent(text, match.start(), owned=True):
            return human or "any"
        if language.more.match(question) and not self._names(question):
            return "any"
        return human or "any" if language.without_subject.fullmatch(core) else None

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
            return self.language.noun.search(before) is not None
        said = before[
            : max((j.start() for j in self.language.clause_starts.finditer(before)), default=0)
        ]
        return bool(self._names(said)) or self.language.noun.search(said) is not None

    def _is_fragment(self, core: str) -> bool:
        words = core.split()
        if not words or len(words) > _MAX_WORDS:
            return False
        return words[0].lower().strip("¿¡") not in self.language.asks

    def _with_other_subject(self, question: str, core: str, names: Sequence[_Name]) -> str | None:
        """Return the last question about another subject; None if this is no such question."""
        last = self.exchanges[-1].question
        # "The battery of the X110" is complete; "the Pro plan" is like "the Basic plan".
        others = core.replace(names[0].text, "").split()
        if len(names) > 1 or not set(others[1:]) <= set(last.rstrip("?").split()):
            return None
        old, new = self._names(last), names[0]
        # "Und das Gewicht?" may ask about another property of the same subject.
        is_noun = self.language.nouns_are_capital and new.is_thing and new.text.isalpha()
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
                whom = self.language.who.search(exchange.question) is not None
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
        found = list(_named(text, self.language))
        if self.language.nouns_are_capital:
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


def _named(text: str, language: _Language) -> Iterator[_Name]:
    """Yield the names in a text, in order."""
    quoted = [(match[1], match.start(1)) for match in _QUOTED.finditer(text)]
    yield from (_Name(name, start, is_thing=True) for name, start in quoted)
    runs = _RUN_OF_NOUNS if language.nouns_are_capital else _RUN
    for match in runs.finditer(text):
        name, start = match[0], match.start()
        begins = _SENTENCE_START.search(text[:start]) is not None
        words = name.split()
        while words and _is_not_name(words[0], language, begins=begins):
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


def _is_not_name(word: str, language: _Language, *, begins: bool) -> bool:
    """Whether a capitalised word is not part of a name: "The", "Who", "C'est"."""
    low = word.lower()
    if low in _NOT_NAMES or low in language.asks:
        return True
    return begins and (low in language.common or _ELIDED.match(word) is not None)


@dataclass(frozen=True, slots=True)
class _Language:
    """The rules' knowledge of a language.

    Attributes:
        common: Common words that identify it.
        asks: Words that begin a complete question.
        person: Pronouns for people.
        thing: Pronouns for things, or for either.
        owner: Possessives.
        weak_owner: Words that are possessives at the beginning of a fragment.
        impersonal: Phrases in which a pronoun has no antecedent: "is it raining".
        human: Words that are said of people.
        who: A question whose answer is a person.
        lead: The beginning of a follow-up: "And", "What about".
        bare: Question words alone: "Why", "How much".
        place: A phrase with a preposition: "in Germany".
        more: "Tell me more".
        without_subject: A question without its subject, in a language that omits pronouns.
        no_question: A message that asks nothing: "Really?".
        clause_starts: The beginning of another clause.
        noun: A noun with its article.
        nouns_are_capital: Whether all nouns are capitalised.
    """

    common: frozenset[str]
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
    nouns_are_capital: bool = False


_NOTHING = r"(?!)"
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


def _language(
    *,
    common: str,
    asks: str,
    thing: str,
    owner: str,
    human: str,
    who: str,
    lead: str,
    bare: str,
    place: str,
    more: str,
    no_question: str,
    clause_starts: str,
    noun: str,
    person: str = _NOTHING,
    weak_owner: str = _NOTHING,
    impersonal: str = _NOTHING,
    without_subject: str = _NOTHING,
    nouns_are_capital: bool = False,
) -> _Language:
    def words(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w'’])(?:{pattern})(?!\w)", re.IGNORECASE)

    def whole(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"[¿¡\s]*(?:{pattern})[\s?!.…]*", re.IGNORECASE)

    return _Language(
        common=frozenset(common.split()),
        asks=frozenset(asks.split()),
        person=words(person),
        # "Sie" and "Ihr" are polite forms, "sie" and "ihr" pronouns.
        thing=re.compile(rf"(?<![\w'’])(?:{thing})(?!\w)") if nouns_are_capital else words(thing),
        owner=re.compile(rf"(?<![\w'’])(?:{owner})(?!\w)") if nouns_are_capital else words(owner),
        weak_owner=whole(rf"(?:{weak_owner})\b.*"),
        impersonal=words(impersonal),
        human=words(human),
        who=words(who),
        lead=re.compile(rf"[¿¡\s]*(?:{lead})(?:\s*,\s*|\s+|(?<=['’]))", re.IGNORECASE),
        bare=whole(bare),
        place=whole(rf"(?:{place})(?:\s+|(?<=['’]))\S.{{0,60}}"),
        more=whole(rf"(?:{more}).{{0,40}}"),
        without_subject=whole(without_subject),
        no_question=whole(no_question),
        clause_starts=re.compile(rf",\s|[.;:?!]\s|(?<!\w)(?:{clause_starts})(?!\w)", re.IGNORECASE),
        noun=words(noun),
        nouns_are_capital=nouns_are_capital,
    )


@cache
def _languages() -> tuple[_Language, ...]:
    return (
        _language(
            common="the is are was were what who where when how does did do it its he she they and"
            " of to about much many why which tell me more",
            asks="who what where when why how which whose whom is are was were do does did can"
            " could will would should may might has have had tell give explain describe list show"
            " write compare i you we my your name say",
            person=r"he|she|him|hers|himself|herself"
            r"|her(?=\s*[?.!,]|\s*\Z|\s+(?:to|in|at|and|or|for|with|on|from|by)\b)",
            thing=r"it|its|they|them|this\sone|that\sone|(?:this|that)(?=\s*[?.!]?\Z)"
            r"|(?<=is\s)(?:this|that)|(?<=does\s)(?:this|that)",
            owner=r"his|her|its|their|theirs",
            impersonal=r"(?:is|was|will|does|did|has)\s+it\s+(?:be\s+|been\s+)?(?:raining|snowing|rain"
            r"|snow|possible|true|ok|okay|safe|legal|better|worth|cold|hot|warm|dark|late|take\s+to"
            r"|normal|common)|what\s+(?:time|day|date|year)\s+is\s+it|it\s+takes?|it\s+all\b"
            r"|what\s+is\s+it\s+like\s+to|that\s+(?=is|are)"
            r"|is\s+it\s+(?:that|to)\b",
            human=r"he|she|him|her|born|die|died|live|lived|lives|married|marry|old\s+(?:is|was)"
            r"\s+(?:he|she)|study|studied|wife|husband|children",
            who=r"who(?!\s+(?:is|was|are|were)\s+(?-i:[A-Z]))|whose|whom|which\s+\w+\s+(?:designed|built"
            r"|wrote|founded|invented|made)",
            lead=r"(?:ok(?:ay)?\s*,?\s+)?(?:and\s+)?(?:what|how)\s+about|and|or|but|so|also|plus",
            bare=r"why(?:\s+not)?|how(?:\s+(?:so|much|many|long|far|often|old|big|heavy|tall|come))?"
            r"|when|where|who|since\s+when|until\s+when|by\s+whom|what\s+for|which(?:\s+ones?)?"
            r"|what\s+else|who\s+else|where\s+else",
            place=r"in|on|at|for|with|without|after|before|during|since|under|from|as\s+of|by|of",
            more=r"(?:please\s+)?(?:(?:can\s+you\s+)?tell\s+me\s+more|more\s+details?|go\s+on"
            r"|anything\s+else|(?:can\s+you\s+)?explain\s+(?:further|more)|elaborate)",
            no_question=r"really|seriously|are\s+you\s+sure|ok(?:ay)?|thanks?(?:\s+you)?.{0,30}|yes|no"
            r"|sure|right|hello|hi|good\s+(?:morning|evening)|and|so",
            clause_starts=r"and|but|or|when|while|if|because|since|after|before|although|that|which",
            noun=r"(?:a|an|the|my|our|your|this)\s+[a-z]{3,}|\A\W*what\s+(?:is|are)\s+[a-z]{4,}",
        ),
        _language(
            common="der die das ist sind war wer wie was wo wann und von zu mit es er sie ein eine"
            " viel kostet hat wurde warum den dem ich",
            asks="wer wie was wo wann warum wieso weshalb welche welcher welches wen wem wessen"
            " woher wohin ist sind war waren hat haben kann können wird wurde gibt soll darf muss"
            " erkläre nenne beschreibe schreibe vergleiche ich du wir mein dein",
            thing=r"er|sie|es|ihn|ihm|ihr(?=\s+[a-zäöü]|\s*\?)|ihnen|dieser|diese|dieses(?=\s*\?)"
            r"|davon|damit|dafür|daran|darüber|dazu",
            owner=r"(?:sein|ihr)(?:e[mnrs]?)?(?=\s+[A-ZÄÖÜ])|dessen|deren"
            r"|(?:Sein)(?:e[mnrs]?)?(?=\s+[A-ZÄÖÜ])",
            impersonal=r"gibt\s+es|es\s+gibt|geht\s+es\s+(?:dir|ihnen)|spät\s+ist\s+es|regnet\s+es"
            r"|schneit\s+es|ist\s+es\s+(?:möglich|wahr|erlaubt|sicher|kalt|warm|besser)"
            r"|handelt\s+es\s+sich|kommt\s+es\s+zu",
            human=r"geboren|gestorben|starb|lebt|lebte|wohnt|wohnte|verheiratet|alt\s+(?:ist|war)"
            r"\s+(?:er|sie)|studiert|studierte|frau|kinder",
            who=r"wer(?!\s+(?:ist|war)\s+(?-i:[A-ZÄÖÜ]))|wem|wen|wessen|von\s+wem",
            lead=r"(?:und\s+)?(?:was\s+ist\s+mit|wie\s+(?:ist|sieht)\s+es\s+(?:aus\s+)?(?:mit|bei)"
            r"|wie\s+steht\s+es\s+mit)(?:\s+(?:dem|der|den))?|und|oder|aber|also",
            bare=r"warum(?:\s+nicht)?|wieso|weshalb|wie(?:\s+(?:viel|viele|lange|oft|alt|groß|schwer"
            r"|hoch|weit))?|wann|wo|wer|seit\s+wann|bis\s+wann|von\s+wem|wozu|woher|wohin",
            place=r"in|im|an|am|auf|für|bei|mit|ohne|nach|vor|während|seit|unter|aus|ab|von|zu",
            more=r"(?:bitte\s+)?(?:erzähl(?:e|en\s+sie)?\s+(?:mir\s+)?mehr|mehr\s+(?:details"
            r"|dazu|darüber)|weiter)",
            no_question=r"wirklich|echt|bist\s+du\s+sicher|sind\s+sie\s+sicher|ok(?:ay)?|danke.{0,30}"
            r"|ja|nein|hallo|guten\s+(?:tag|morgen)",
            clause_starts=r"und|aber|oder|wenn|als|während|weil|dass|nachdem|bevor|obwohl",
            noun=r"(?:der|die|das|den|dem|ein|eine|einen|mein|meine|unser)\s+[A-ZÄÖÜ]\w{2,}",
            nouns_are_capital=True,
        ),
        _language(
            common="le la les est sont qui que quoi où quand comment et de des du un une il elle"
            " combien pourquoi quel quelle coûte l d été je",
            asks="qui que quoi qu' où quand comment combien pourquoi quel quelle quels quelles"
            " est-ce est sont a-t-il peut peux pouvez explique décris écris donne compare je tu"
            " nous mon ma mes ton ta",
            person=r"lui|celui-ci|celle-ci",
            thing=r"il|elle|ils|elles|qu['’](?:il|elle|ils|elles)|(?<=-)(?:il|elle|ils|elles)|ça|cela"
            r"|(?<=comment\s)(?:le|la|les)(?=\s\w+(?:er|ir|re)\b)|(?<=où\s)(?:le|la|les)(?=\s\w+er\b)"
            r"|(?<=comment\s)l['’]\w+(?:er|ir|re)|(?<=où\s)l['’]\w+er|l['’](?:a|ont|avait|aurait"
            r"|est)|leur(?=\s+[a-z]+ent)|en(?=\s+(?:existe|est|sont|a)\b)|dedans|dessus",
            owner=r"son|sa|ses|leurs?",
            impersonal=r"quelle\s+heure\s+est-il|y\s+a-t-il|il\s+y\s+a|faut-il|il\s+faut|s['’]agit-il"
            r"|il\s+s['’]agit|pleut-il|il\s+pleut|fait-il|il\s+fait|est-il\s+(?:possible|vrai)"
            r"|ça\s+va|comment\s+ça\s+va",
            human=r"née?s?|morte?s?|mort|vit|vivait|habite|habitait|mariée?|âge|étudié|enfants"
            r"|femme|mari",
            who=r"qui(?!\s+(?:est|était|sont)\s+(?-i:[A-ZÀ-Þ]))|par\s+qui",
            lead=r"(?:et\s+)?(?:qu['’]en\s+est-il\s+(?:de\s+la|de\s+l['’]|des|du|de|d['’])"
            r"|et\s+(?:pour|concernant))|et|ou|mais|alors",
            bare=r"pourquoi(?:\s+pas)?|comment|combien(?:\s+de\s+temps)?|quand|où|qui|depuis\s+quand"
            r"|par\s+qui|lequel|laquelle|lesquels",
            place=r"en|dans|sur|d['’]|à|au|aux|pour|avec|sans|après|avant|pendant|depuis|chez|sous|dès|de",
            more=r"dis-m['’]en\s+plus|dites-m['’]en\s+plus|parle-m['’]en|plus\s+de\s+détails"
            r"|continue[rz]?",
            no_question=r"vraiment|sérieusement|(?:tu\s+es|vous\s+êtes|es-tu|êtes-vous)\s+sûre?s?|d['’]accord"
            r"|merci.{0,30}|oui|non|bonjour|salut|ok",
            clause_starts=r"et|mais|ou|quand|lorsque|si|parce|car|après|avant|puisque",
            noun=r"(?:un|une|le|la|les|mon|ma|mes|notre|votre)\s+[a-zà-ÿ]{3,}|l['’][a-zà-ÿ]{3,}",
        ),
        _language(
            common="el la los las es son quién qué dónde cuándo cómo y de del un una cuánto por fue"
            " cuesta cuál quien que se",
            asks="quién quiénes qué dónde cuándo cómo cuánto cuánta cuántos cuántas cuál cuáles por"
            " es son está hay puede puedo puedes explica describe escribe dime compara yo mi tu",
            thing=r"él|ella|ellos|ellas|ello|(?<=quién\s)(?:lo|la|los|las|le)|(?<=quiénes\s)(?:lo|la"
            r"|los|las)|(?<=cómo\s)lo|(?<=dónde\s)lo|eso(?=\s*\?)|esto(?=\s*\?)",
            owner=r"sus?",
            impersonal=r"qué\s+hora\s+es",
            human=r"nació|nacieron|murió|murieron|vive|vivió|vivía|casado|casada|edad|años\s+tiene"
            r"|estudió|hijos|esposa|marido",
            who=r"quién(?:es)?(?!\s+(?:es|era|fue|son|fueron)\s+(?-i:[A-ZÀ-Þ]))",
            lead=r"y\s+(?:qué\s+(?:hay|pasa|tal)\s+(?:de|del|con|con\s+el|con\s+la))"
            r"|qué\s+(?:hay|pasa)\s+(?:de|del|con)|y|o|pero|entonces",
            bare=r"por\s+qué(?:\s+no)?|cómo|cuánto|cuándo|dónde|quién|desde\s+cuándo|hasta\s+cuándo"
            r"|por\s+quién|para\s+qué|cuál(?:es)?",
            place=r"en|para|con|sin|después\s+de|antes\s+de|durante|desde|bajo|a|al|hasta|de|del",
            more=r"cuéntame\s+más|dime\s+más|más\s+detalles|continúa|sigue",
            without_subject=r"(?:dónde|cuándo|cómo|cuánto|quién|por\s+qué|desde\s+cuándo|cuántos\s+años)\s+"
            r"(?!está|hay|soy|eres|vas|te\b)(?:se\s+)?\w+(?<!as)(?<!es)"
            r"|(?:es|era|fue|tiene|sirve|funciona|cuesta|pesa)"
            r"(?:\s(?!el\b|la\b|los\b|las\b|un|verdad|cierto|posible|usted)\w+){1,3}",
            no_question=r"de\s+verdad|en\s+serio|(?:estás|está)\s+segur[oa]|vale|gracias.{0,30}|sí|no"
            r"|hola|buenos\s+días|ok",
            clause_starts=r"y|pero|o|cuando|si|porque|mientras|después|antes|aunque",
            noun=r"(?:un|una|el|la|los|las|mi|mis|nuestro|nuestra)\s+[a-zà-ÿ]{3,}",
        ),
        _language(
            common="il lo la gli è sono chi che cosa dove quando come e di del un una quanto perché"
            " stato costa qual quale per della",
            asks="chi che cosa cos'è dove quando come quanto quanta quanti quante perché quale"
            " quali qual è sono c'è può posso puoi spiega descrivi scrivi dimmi confronta io mio"
            " mia",
            thing=r"lui|lei|loro|egli|ella|ess[oaie]|(?<=chi\s)(?:lo|la|li|le)|l['’](?:ha|hanno|aveva)"
            r"|(?<=come\s)lo|ne(?=\s+(?:è|sono)\b)|questo(?=\s*\?)|quello(?=\s*\?)",
            owner=r"su[oae]|suoi",
            impersonal=r"che\s+ore\s+sono|che\s+ora\s+è|come\s+sta\s+lei|e\s+lei",
            human=r"nat[oa]|nacque|mort[oa]|morì|vive|visse|viveva|sposat[oa]|età|anni\s+ha|studiato"
            r"|figli|moglie|marito",
            who=r"chi(?!\s+(?:è|era|fu|sono)\s+(?-i:[A-ZÀ-Þ]))|da\s+chi",
            lead=r"(?:e\s+)?(?:che\s+ne\s+(?:è|dici)\s+(?:del|della|di)|(?:per\s+)?quanto\s+riguarda"
            r"|riguardo\s+a(?:l|lla)?)(?:\s+(?:il|la|lo))?|e|ed|o|ma|allora|quindi",
            bare=r"perché(?:\s+no)?|come|quanto|quando|dove|chi|da\s+quando|fino\s+a\s+quando|da\s+chi"
            r"|quale|quali",
            place=r"in|nel|nella|(?:nel|del|al|dal|sul)l['’]|della|alla|per|con|senza|dopo|prima\s+d[ie]l?|durante|dal|da|sotto|a|al|di|del"
            r"|su|sul",
            more=r"dimmi\s+di\s+più|raccontami\s+di\s+più|altri\s+dettagli|continua",
            without_subject=r"(?:dove|quando|come|quanto|chi|perché|da\s+quando|quanti\s+anni)\s+"
            r"(?!stai|sei|vai|hai|ti\b|sta\b|c['’]è)(?:è\s+)?\w+"
            r"|(?:è|era|ha|serve|funziona|costa|pesa)"
            r"(?:\s(?!il\b|lo\b|la\b|i\b|gli\b|le\b|un|vero|possibile|lei\b)\w+){1,3}",
            no_question=r"davvero|sul\s+serio|sei\s+sicur[oa]|va\s+bene|grazie.{0,30}|sì|no|ciao"
            r"|buongiorno|ok",
            clause_starts=r"e|ed|ma|o|quando|se|perché|mentre|dopo|prima|anche\s+se",
            noun=r"(?:un|una|uno|il|lo|la|i|gli|le|mio|mia|nostro|nostra)\s+[a-zà-ÿ]{3,}"
            r"|l['’][a-zà-ÿ]{3,}",
        ),
        _language(
            common="o a os as é são quem que onde quando como e de do da um uma quanto por foi"
            " custa qual não você no na",
            asks="quem que onde quando como quanto quanta quantos quantas qual quais por é são está"
            " há pode posso explique descreva escreva diga compare eu meu minha",
            thing=r"eles?|elas?|del[ea]s?|nel[ea]s?|(?<=quem\s)(?:o|a|os|as)|isso(?=\s*\?)"
            r"|isto(?=\s*\?)",
            owner=r"del[ea]s?",
            weak_owner=r"(?:o\s+|a\s+|os\s+|as\s+)?(?:seus?|suas?)",
            human=r"nasceu|nasceram|morreu|morreram|vive|viveu|vivia|casad[oa]|idade|anos\s+tem"
            r"|estudou|filhos|esposa|marido",
            who=r"quem(?!\s+(?:é|era|foi|são)\s+(?-i:[A-ZÀ-Þ]))|por\s+quem",
            lead=r"(?:e\s+)?(?:quanto\s+a(?:o|os|s)?|que\s+tal)|e\s+(?:sobre)|e|ou|mas|então",
            bare=r"por\s+qu[eê](?:\s+não)?|como|quanto|quando|onde|quem|desde\s+quando|até\s+quando"
            r"|por\s+quem|para\s+quê|qual|quais",
            place=r"em|no|na|nos|nas|para|com|sem|depois\s+d[eo]|antes\s+d[eo]|durante|desde|sob|até"
            r"|de|do|da",
            more=r"(?:me\s+)?(?:conte|fale|diga)(?:-me)?\s+mais|mais\s+detalhes|continue",
            without_subject=r"(?:onde|quando|como|quanto|quem|por\s+que|desde\s+quando|quantos\s+anos)\s+"
            r"(?!está|estás|vai|vais|há|você|és)\w+"
            r"|(?:é|era|foi|tem|serve|funciona|custa|pesa)"
            r"(?:\s(?!o\b|a\b|os\b|as\b|um|verdade|possível|você)\w+){1,3}",
            no_question=r"sério|de\s+verdade|(?:tem|você\s+tem)\s+certeza|está\s+bem|obrigad[oa].{0,30}"
            r"|sim|não|olá|oi|bom\s+dia|ok",
            clause_starts=r"e|mas|ou|quando|se|porque|enquanto|depois|antes|embora",
            noun=r"(?:um|uma|o|a|os|as|meu|minha|nosso|nossa)\s+[a-zà-ÿ]{3,}",
        ),
        _language(
            common="de het is zijn wie wat waar wanneer hoe en van een hij zij kost veel heeft"
            " waarom werd ik welke",
            asks="wie wat waar wanneer hoe waarom hoeveel welke welk is zijn was waren heeft hebben"
            " kan kun kunnen wordt werd mag moet leg beschrijf schrijf geef vertel vergelijk ik jij"
            " mijn jouw",
            thing=r"hij|hem|zij|ze|haar|hen|het(?=\s+(?:ge|ver|be|ont)\w+|\s*[?.!]?\Z|\s+(?:op|af|uit|in)\b)"
            r"|er(?:van|over|mee|op|in|aan|bij|voor)|daar(?:van|over|mee|aan|bij)|dit(?=\s*\?)"
            r"|dat(?=\s*\?)|\A\W*(?:is|was|kost|weegt|werkt)\s+het(?=\s+\w+\W*\Z)",
            owner=r"haar(?=\s+\w)|hun(?=\s+\w)",
            weak_owner=r"zijn",
            impersonal=r"hoe\s+laat\s+is\s+het|regent\s+het|is\s+het\s+(?:mogelijk|waar|veilig|koud|warm)"
            r"|hoe\s+gaat\s+het",
            human=r"geboren|gestorven|stierf|leeft|leefde|woont|woonde|getrouwd|oud\s+(?:is|was)"
            r"\s+(?:hij|zij|ze)|gestudeerd|vrouw|kinderen",
            who=r"wie(?!\s+(?:is|was)\s+(?-i:[A-Z]))|door\s+wie",
            lead=r"(?:en\s+)?(?:hoe\s+zit\s+het\s+met|wat\s+(?:dacht\s+je\s+van|met))|en|of|maar|dus",
            bare=r"waarom(?:\s+niet)?|hoe(?:\s+(?:lang|vaak|oud|groot|zwaar|ver|hoog))?|hoeveel"
            r"|wanneer|waar|wie|sinds\s+wanneer|tot\s+wanneer|door\s+wie|waarvoor|welke",
            place=r"in|op|aan|voor|met|zonder|na|tijdens|sinds|onder|uit|vanaf|bij|van",
            more=r"vertel\s+(?:me\s+|mij\s+)?(?:meer|er\s+meer)|meer\s+details|ga\s+(?:door|verder)",
            no_question=r"echt(?:\s+waar)?|weet\s+je\s+(?:het\s+)?zeker|oké|ok|bedankt.{0,30}"
            r"|dank\s+je.{0,30}|ja|nee|hallo|goedemorgen",
            clause_starts=r"en|maar|of|als|toen|terwijl|omdat|nadat|voordat|hoewel|wanneer",
            noun=r"(?:een|de|het|mijn|onze|ons)\s+[a-z]{3,}",
        ),
    )


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")

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


def _language_of(texts: Sequence[str]) -> _Language:
    """Return the language of a conversation's common words; the last question counts most."""
    counts = [0] * len(_languages())
    for weight, text in zip((1, 1, 3), ["", "", *texts][-3:], strict=True):
        words = set(_WORD.findall(text.lower()))
        for place, language in enumerate(_languages()):
            counts[place] += weight * len(words & language.common)
    return _languages()[counts.index(max(counts))]
