"""Forms of clauses that claim nothing, over classes of words.

"I can't give legal advice" is the speaker, a modal verb, a negation, an act of communication, and
what it is about. So are "Ich kann keine Rechtsberatung geben" and "No puedo ofrecer asesoramiento
legal". A form is a regular expression over the classes of a clause's words, which are the data of
each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.lang.phrases import Phrases

Act = Literal["polite", "disclaimer", "refusal", "silence", "lacks", "referral"]
"""What one does with a clause that claims nothing."""
WordClasses = frozenset[str]
"""The classes that a word is in."""

# Fields of `Phrases` that are no classes of words.
_OTHERS: Final = frozenset(
    (
        *("polite", "silence", "lacks", "refusal", "disclaimer", "referral", "question"),
        *("letters", "has_capitals", "definite_endings", "comma_before_question"),
    )
)
CLASSES: Final = tuple(field.name for field in fields(Phrases) if field.name not in _OTHERS)
"""The classes of words."""
_SOFT: Final = "small|here|pointer|me|you|definites|courtesy"
_FILL: Final = f"{_SOFT}|able|be|do|have|condition|given"
_TOPIC: Final = "small|given|theme|definites|known|new|pointer|attributes|information|document"
# Parts of the forms. `new` and `known` are words of no class; the question has the known ones.
_PARTS: Final[Mapping[str, str]] = {
    # Words between those of a form: without verbs, with auxiliary verbs, with documents too
    "SOFT": f"({_SOFT}){{0,5}}",
    "FILL": f"({_FILL}){{0,7}}",
    "PAGE": f"({_FILL}|document|exist){{0,10}}",
    "INFO": "QUALITY (information|advice|faculty)",
    "FACT": "QUALITY information",
    "QUALITY": f"({_SOFT}){{0,5}} (new|known|flaw|general|attributes){{0,3}}",
    "KNOWN": f"({_FILL}|known|information|theme){{0,6}}",
    "ANY": f"({_FILL}|known|new|information|theme|advice|adviser){{0,6}}",
    "DOES": "(act|serve|know|HANDLES)",
    "HANDLES": "handle (?=(small|definites|given|handle){0,4} (you|me|THING))",
    "THING": "(pointer-claims|document|information|faculty|theme)",
    "NO": "(negation|nothing|no)",
    "CANNOT": "(negation FILL able|negation+able)",
}
# Each is the beginning of a clause. The rest says what it is about. `I(able)` is the speaker as the
# subject of a verb: "I can", "kann ich", "puedo".
_FORMS: Final[Mapping[Act, Sequence[str]]] = {
    "silence": (
        # "The text does not say", "El texto no dice", "Nothing in the text says"
        "(?=.*document) PAGE NO PAGE (say|stated)",
        "(small|definites|known){1,3} document PAGE NO PAGE (say|stated)",
        # "The text says nothing", "Der Text erwähnt das nicht", "The text is silent"
        "(?=.*document) PAGE say (small-claims|me|you|definites|document|pointer-claims){0,6} NO",
        "(?=.*document) PAGE negation+say",
        # "In de tekst staat niet"
        "(?=.*document) PAGE exist PAGE negation (?=(END|interrogatives))",
        # "The text leaves the price open"
        f"(?=.*document) PAGE say ({_TOPIC}){{1,5}} unsaid",
        # "The text does not contain any information", "contains no information"
        "(?=.*document) PAGE NO PAGE contain FACT",
        "(?=.*document) PAGE contain PAGE NO FACT",
        "(?=.*document) PAGE negation+contain FACT",
        "(?=.*document) PAGE NO PAGE contain SOFT held (?=(END|interrogatives))",
        # "Nothing in the text allows to answer"
        "(?=.*document) (?=.*able) PAGE NO PAGE (know|serve)",
        # "There is nothing in the text", "Dazu steht im Text nichts"
        "(?=.*exist) (?=.*(nothing|information)) (?=.*NO) (?=.*document)"
        f" ({_FILL}|document|negation|nothing|no|exist|information|stated){{2,14}}",
        # "There is no information", "No information is available", "Not specified"
        "FILL (exist FILL NO|NO FILL exist) FACT"
        f" ({_SOFT}|known|held|stated|attributes){{0,6}} END",
        f"(?=.*NO) ({_SOFT}|nothing|no|new){{0,4}} information ({_TOPIC}){{0,6}}"
        f" ({_FILL}|negation){{1,5}} (held|stated)",
        "negation SOFT (stated|held) (PAGE document)? END",
        "(?=.*document-deed) PAGE NO PAGE treat",
        "(?=.*document) PAGE contain FACT negation",
        # "Zur Garantie macht das Handbuch keine Angaben"
        f"(?=.*document) ({_TOPIC}){{1,6}} contain PAGE NO FACT",
        # "The price is not mentioned"
        f"({_TOPIC}){{1,8}} (be PAGE negation|negation PAGE be) PAGE stated",
        # "The price is not included in the manual", "Der Preis steht nicht im Text"
        f"({_TOPIC}){{1,8}} (?=(be|do|able|exist|negation)) (?=.*negation)"
        f" ({_FILL}|document|negation|exist){{1,9}}"
        " (stated|held|exist) SOFT document-deed",
        f"({_TOPIC}){{1,8}} (?=(be|do|able|exist|negation)) (?=.*negation) (?=.*document)"
        f" ({_FILL}|document-deed|negation|exist){{1,9}} (stated|held|within SOFT document-deed)",
    ),
    "lacks": (
        # "The text does not contain the price"
        "(?=.*document) PAGE NO PAGE contain SOFT (attributes|known)",
        # "The text gives no price"
        "(?=.*document) PAGE (contain|say) PAGE no SOFT (attributes|known)",
        f"(?=.*document) ({_FILL}|document|exist){{1,8}} NO SOFT (attributes|known) PAGE stated",
        "(?=.*document) (?=.*exist) PAGE no SOFT (attributes|known) END",
        "SOFT no (attributes|known){1,2} be (stated|held)",
    ),
    "refusal": (
        # "I can not help", "No puedo ayudar"
        "FILL I(able) FILL NO FILL DOES",
        "FILL negation FILL I(able) FILL DOES",
        # "I am not sure", "I am not able to help"
        "FILL I(be) FILL negation FILL (know|HANDLES)",
        "FILL negation FILL I(be) FILL (know|able)",
        "FILL I(be) FILL CANNOT FILL DOES",
        # "I do not know"
        "FILL I(do) FILL negation FILL (know|able)",
        # "I have never heard of it"
        "(FILL (never|negation))? FILL I(have) FILL never? SOFT (new|known|able){0,3} heard",
        "FILL never FILL I(heard)",
        # "I must decline"
        "FILL I(able|be) FILL negation+act",
        # "Je ne sais pas", "I know nothing", "No sé", "J'ignore"
        f"FILL I(know) ({_SOFT}|known|information|theme|document){{0,6}} NO",
        "FILL negation FILL I(know)",
        "FILL I(negation+know)",
        # "I have no idea", "I do not have access", "No tengo acceso", "No idea"
        "FILL I(have) KNOWN NO INFO",
        "FILL I(do) FILL negation FILL have INFO",
        "FILL negation FILL I(have) INFO",
        "FILL I(able) FILL negation FILL have INFO",
        "FILL I(have) SOFT nothing",
        f"FILL I(do|able) FILL negation FILL (handle|have) ({_TOPIC}){{1,6}} within SOFT document",
        "FILL I(able) PAGE NO SOFT (act|serve|know) END",
        # "My training data may not include this"
        "me SOFT new? information FILL negation FILL contain",
        "SOFT (nothing|no) INFO",
        # "Mir liegen keine Angaben vor", "Diese Person ist mir nicht bekannt"
        "FILL have FILL me FILL NO INFO",
        "FILL me FILL have FILL NO INFO",
        "(small|definites|pointer|known|information|theme){1,4} be SOFT me FILL negation FILL know",
        # "It is unclear to me"
        "SOFT pointer be SOFT negation+know SOFT (me|interrogatives SOFT you)",
        # "I am not a doctor"
        "FILL I(be) FILL NO SOFT new{0,2} adviser",
        "FILL negation FILL I(be) SOFT new{0,2} adviser",
        # "It is not possible to say"
        "FILL be FILL (negation FILL possible|negation+possible) FILL DOES",
        "FILL negation FILL be FILL possible FILL DOES",
        # "Ich kann keine Auskunft geben", "Eine Diagnose kann ich nicht stellen"
        "FILL I(able) KNOWN NO ANY (act|serve|know) END",
        "FILL I(able) KNOWN NO SOFT new{0,2} THING handle END",
        f"({_TOPIC}|advice){{1,5}} able FILL speaker FILL NO FILL DOES",
        # "…, dass ich keine Auskunft geben darf"
        "FILL speaker KNOWN NO ANY ((act|serve) able|be|know|have) END",
        # "Making calls is something I can not do"
        f"({_TOPIC}|act){{1,5}} be SOFT pointer SOFT I(able) FILL negation FILL DOES",
        # "Your question is vague"
        "SOFT you (information|theme) FILL flaw",
    ),
    "disclaimer": (
        # "This is not legal advice"
        "(?=.*NO) (?=.*(be|able|replace)) (?=.*(pointer-exist|information|document|nothing))"
        f" ({_FILL}|document|negation|nothing|no|information|replace|speaker|say|act){{2,12}}"
        " new{0,2} advice",
        "(?=.*NO) (?=.*replace)"
        f" ({_FILL}|document|negation|nothing|no|information|replace|speaker|say|act){{2,12}}"
        " (new|advice){0,2} SOFT adviser",
        # "Treat this as general information"
        "FILL replace SOFT pointer INFO",
        # "This information may be outdated", "I may be wrong"
        "(small|definites|information){0,3} (pointer|me) SOFT new? information (?=.*(able|general))"
        f" ({_FILL}|negation|replace|attributes|contain){{1,6}} (flaw|general)",
        "(pointer|me) (?=.*(able|general)) FILL (flaw|general)",
        "definites information (pointer|given|small){1,3} be (small|negation){0,3} general",
        "FILL I(able) FILL ((act|contain) SOFT)? flaw",
        "(small|definites){0,2} me (new|known){1,2} able"
        f" ({_FILL}|negation|contain|act){{0,4}} flaw",
        # "Based on the documents"
        "(?=.*(document|information)) SOFT (within|given)"
        " (small|within|definites|pointer|you|have|given|document|information){1,9} END",
        # "I am sorry", "Please note"
        f"(?=.*apology) ({_SOFT}|apology|praise|speaker be|speaker|act|information|theme){{1,8}}"
        " (END|(?=condition SOFT you))",
        "(pointer|me) SOFT information be SOFT within"
        " (small|within|definites|given|me|information|document){1,8} END",
        # "I have read the documents"
        "FILL I(have|do|be|know) FILL know? PAGE document END",
        "FILL I(have) PAGE document FILL know END",
        # "As an AI"
        "SOFT role SOFT machine (machine|small){0,5} END",
        "FILL I(be) SOFT machine (machine|small){0,5} END",
    ),
    "referral": (
        # "Please consult a qualified professional", "Ich empfehle, einen Anwalt zu fragen"
        f"({_FILL}|speaker|act|know|replace|possible){{0,9}} consult"
        f" ({_SOFT}|new|known|able|held|given|advice){{0,9}} (adviser|document|advice)",
        f"({_FILL}|speaker|act|know|replace|possible){{0,9}} verify{{1,2}} SOFT"
        " (pointer|information|document|theme)",
        f"({_SOFT}|new|known){{0,4}} (adviser|document) SOFT consult END",
        f"(?=.*you) ({_FILL}|new|known|information|advice|act){{0,9}} adviser SOFT consult END",
        # "For legal advice"
        "purpose (INFO new?|SOFT new? theme) END",
        f"purpose ({_FILL}|information|theme|advice){{1,8}} END",
    ),
    "polite": (
        # "Thanks for your patience", "Feel free to ask", "Let me know if you have questions"
        f"(?=.*greeting) ({_SOFT}|negation|nothing|no|greeting|praise|wish|information|serve|know"
        "|claims-be|consult|theme|me SOFT act|you SOFT (new|known)"
        "|you be|be you|speaker (be|able|have)?|able|tour){1,14}"
        " (END|(?=condition SOFT you|interrogatives I(able)))",
        # "Have a great weekend", "Good luck with your exam"
        "(small|you|me|have|definites|praise){0,6} praise SOFT wish",
        "have SOFT wish END",
        # "Young traveller", "You have got this", "I am rooting for you"
        "SOFT new greeting END",
        "you have SOFT have? pointer END",
        "SOFT I(be) new? small you END",
        # "I am here", "How are you?", "Happy to help", "Just ask"
        "(?=.*pointer) SOFT I(be) SOFT (END|(?=condition SOFT you))",
        "SOFT interrogatives be SOFT you SOFT END",
        "SOFT (praise|courtesy) FILL (serve|tour)",
        "(?=.*(you|courtesy)) (small|courtesy){0,3} (consult|say) (small|courtesy|you|me){0,3} END",
        # "That is a great question"
        "(pointer|small|be|definites|interrogatives){0,4} praise SOFT (information|theme) SOFT END",
        # "I am fine"
        "SOFT I(be|able) SOFT praise END",
        # "How can I help you?", "Would you like me to explain it?"
        "FILL (interrogatives|claims)? FILL (I(able)|able SOFT you|you SOFT able? SOFT me)"
        " FILL (serve|tour)",
        # "I can explain", "I would be happy to help"
        "FILL I(able|be) FILL (serve|tour)",
        "FILL I(able+serve|able+tour)",
        "FILL I(able|be) FILL (act|contain|handle) INFO",
        "FILL I(able|be) INFO (act|contain|handle)",
        # "Here is a short overview"
        "FILL here FILL (INFO|(new|known|flaw|general|praise){0,3} (information|document|theme))",
        # "If you have more questions"
        "SOFT condition SOFT you",
        f"SOFT condition ({_FILL}|serve|tour|act|know|praise|information|theme){{1,8}} END",
        "SOFT condition SOFT you+have",
    ),
}
# "I am afraid that", "Please note that" before a clause
_APOLOGY: Final = (
    f"({_FILL}|speaker){{0,4}} apology (small|pointer|claims)?|SOFT role SOFT machine{{1,3}}"
)
# A question to the user, and one that tells something
_ASKING: Final = ".*you|.*I(able|do|be)|(small|able){1,2} me"
_TELLING: Final = "you SOFT know (know|be|have|do|able|known|new|pointer|definites|others)"
_PART: Final = lazy_pattern(r"\b(?:" + "|".join(_PARTS) + r")\b")
_SUBJECT: Final = lazy_pattern(r"I\(([^()]*)\)")
_CLASS: Final = lazy_pattern(
    r"\((?P<any>[a-z]+(?:\|[a-z]+)+)\)|(?P<all>[a-z]+(?:\+[a-z]+)*)(?:-(?P<no>[a-z]+))?"
)
# A word is written as the letters of its classes in order, in brackets: "<ac>".
_LETTERS: Final[Mapping[str, str]] = {
    name: chr(ord("À") + index) for index, name in enumerate((*CLASSES, "known", "new"))
}


def forms_at_start(classes: Sequence[WordClasses]) -> Iterator[tuple[Act, int]]:
    """Yield the acts that a clause begins with, and the index of the first word after each.

    Args:
        classes: The classes of the clause's words.
    """
    encoded = _encoded(classes)
    for act, form in _compiled_forms():
        if match := form.match(encoded):
            yield act, match[0].count("<")


def apology_length(classes: Sequence[WordClasses]) -> int:
    """Return how many words of an apology or a note a clause begins with."""
    match = _apology().match(_encoded(classes))
    return match[0].count("<") if match else 0


def asks_user(classes: Sequence[WordClasses]) -> bool:
    """Return whether a clause with a question mark asks the user something.

    "Do you know that it is closed?" does not.
    """
    encoded = _encoded(classes)
    return _asking().match(encoded) is not None and _telling().search(encoded) is None


@cache
def _compiled_forms() -> Sequence[tuple[Act, re.Pattern[str]]]:
    """Return the compiled forms, in the order in which they apply."""
    return [(act, _compiled(form)) for act, forms in _FORMS.items() for form in forms]


@cache
def _apology() -> re.Pattern[str]:
    return _compiled(_APOLOGY)


@cache
def _asking() -> re.Pattern[str]:
    return _compiled(_ASKING)


@cache
def _telling() -> re.Pattern[str]:
    return _compiled(_TELLING)


def _compiled(form: str) -> re.Pattern[str]:
    """Return the pattern of a form, for words that `_encoded` encodes."""
    form = _SUBJECT.sub(_subject_pattern, form)
    while _PART.search(form):
        form = _PART.sub(lambda part: _PARTS[part[0]], form)
    form = _CLASS.sub(_word_pattern, form).replace("(<", "(?:<").replace("END", r"\Z")
    return re.compile(form.replace(" ", ""))


def _subject_pattern(verb: re.Match[str]) -> str:
    """Return the form of the speaker as the subject of a verb."""
    finite = "|".join(f"speaker+{name}" for name in verb[1].split("|"))
    return f"(?:speaker SOFT ({verb[1]})|({verb[1]}) SOFT speaker|{finite})"


def _word_pattern(names: re.Match[str]) -> str:
    """Return the pattern for a word in any or all of some classes, and not in another."""
    if names["any"]:
        letters = "".join(_LETTERS[name] for name in names["any"].split("|"))
        return f"(?:<[^>]*[{letters}][^>]*>)"
    others = f"[^>{_LETTERS[names['no']]}]*" if names["no"] else "[^>]*"
    letters = sorted(_LETTERS[name] for name in names["all"].split("+"))
    return f"(?:<{others}{others.join(letters)}{others}>)"


def _encoded(classes: Sequence[WordClasses]) -> str:
    """Return a clause as the letters of the classes of each word."""
    words: list[str] = []
    for word_classes in classes:
        letters = sorted(_LETTERS[name] for name in word_classes)
        words.append(f"<{''.join(letters)}>")
    return "".join(words)
