"""The words of a language that tell talk about the conversation from claims about the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NEVER: Final = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Words and phrases of one language: the table `[phrases]` of its file.

    Most fields are classes of words in lower case, separated by spaces; "mention*" stands for any
    ending, "*advies" for any beginning. A word may be in several: "puedo" is the speaker and able.
    `forms` puts them together.

    The others are regular expressions for clauses that no form describes: for text in lower case,
    between commas or other punctuation, with contractions expanded. A line that starts with a bar
    and a space is the next alternative; other lines go on where the one before ended. `{rest}`
    stands for some words that say what a clause is about.

    Attributes:
        speaker: The first person singular as a subject. "We" is often a company, whose refusals are
            facts: "We do not offer refunds."
        me: Other forms of the first person.
        you: The person spoken to.
        negation: "Not", and verbs and adjectives that contain a negation: "unable".
        never: "Never", a negation of what one has heard of.
        heard: "Heard".
        no: Determiners: "no", "neither".
        nothing: Pronouns: "nothing", "none".
        able: Modal verbs, "able", "allowed".
        be: Forms of "to be".
        do: Auxiliary verbs of negation: "I do not know".
        have: Forms of "to have" and "to find".
        possible: "Possible", "hard", as in "it is hard to say".
        know: Verbs and adjectives of knowing: "know", "aware".
        act: Infinitives of what an assistant does or cannot do: "give", "confirm".
        handle: Infinitives of what it does with documents, and others with other things: "open".
        serve: Infinitives of talking, which an assistant also offers: "explain".
        tour: Infinitives that are offers only in a figurative sense: "walk you through".
        say: Verbs for what documents do: "mention".
        verify: Verbs for what the user should do with an answer: "verify".
        vocative: Nouns to address the user with, in a role.
        treat: Verbs that say what a document is about only with "nothing in": "cover".
        contain: Verbs for what has information: "contains".
        stated: Participles for what documents say: "mentioned".
        unsaid: What documents leave something: "open".
        held: Participles that say so beside a document: "included in the manual".
        exist: Verbs for what is in a document: "there is".
        document: Nouns for documents and other resources.
        given: What tells them apart: "attached", "official".
        within: Prepositions before documents: "in", "according to".
        role: "As", before what an assistant is.
        deed: Those that also do something: "the contract does not include parking".
        information: Nouns for what documents and answers contain.
        theme: Nouns for what talk is about, that are no information: "question", "mistake".
        faculty: Nouns for what an assistant lacks: "access", "opinions".
        attributes: Nouns for what everything of its kind has, such as a price: "the price" takes
            nothing for granted.
        advice: Nouns for what an answer is not.
        adviser: Nouns for those who advise.
        replace: Verbs for what an answer is not meant to do: "constitute".
        flaw: What an answer may be: "outdated".
        general: What an answer is for: "general purposes".
        machine: Nouns for what an assistant is: "AI", "model".
        consult: Verbs for asking somebody else: "consult".
        pointer: "This", "it", "there".
        here: Words that introduce what follows: "here", "voici".
        condition: "If", "when".
        courtesy: Words of kindness and regret: "gladly".
        greeting: Words that are a speech act: "hello", "thanks", "hope", "let me".
        apology: The same for what accompanies a refusal: "sorry", "note".
        praise: Adjectives of kindness: "great", "warm".
        wish: Nouns for what is wished: "good morning", "have a great day".
        assumes: Words in a question to the user that take something for granted: "because", "was".
        small: Other words without a meaning of their own.
        definites: Articles that take for granted that something exists.
        others: Words for others than the writer and the user, and words that ask why: what follows
            is said of somebody, or taken for granted.
        things: Pronouns for things: to ask who made it takes for granted only that it was made.
        interrogatives: Words that begin indirect questions, which take most of the asked for
            granted.
        which: Those that ask which.
        learn: Verbs in offers, whose object is taken for granted: "know", "hear".
        purpose: Words before what one wants advice for.
        joins: "And", "but".
        turns: Words after which an indirect question is over: "but", "because".
        claims: Words that make the rest of a clause claim something.
        polite: Greetings, thanks, farewells, offers of help.
        disclaimer: Apologies and other clauses that accompany a refusal without being one.
        refusal: What the writer does not know, cannot do or will not do.
        silence: What documents do not say.
        lacks: Silence in words that may also be about the world, as in "No price is given". They
            count if an open question asked for what is lacking.
        referral: Whom else to ask, or where to look.
        question: The beginning of a question to the user.
        definite_endings: Endings of nouns that do what such an article does.
        comma_before_question: Whether a comma precedes indirect questions, and relative clauses
            begin with other words.
        letters: A character class of its script.
        has_capitals: Whether common nouns are capitalised.
    """

    speaker: str = ""
    me: str = ""
    you: str = ""
    negation: str = ""
    never: str = ""
    heard: str = ""
    no: str = ""
    nothing: str = ""
    able: str = ""
    be: str = ""
    do: str = ""
    have: str = ""
    possible: str = ""
    know: str = ""
    act: str = ""
    handle: str = ""
    serve: str = ""
    tour: str = ""
    say: str = ""
    verify: str = ""
    vocative: str = ""
    treat: str = ""
    contain: str = ""
    stated: str = ""
    unsaid: str = ""
    held: str = ""
    exist: str = ""
    document: str = ""
    given: str = ""
    within: str = ""
    role: str = ""
    deed: str = ""
    information: str = ""
    theme: str = ""
    faculty: str = ""
    attributes: str = ""
    advice: str = ""
    adviser: str = ""
    replace: str = ""
    flaw: str = ""
    general: str = ""
    machine: str = ""
    consult: str = ""
    pointer: str = ""
    here: str = ""
    condition: str = ""
    courtesy: str = ""
    greeting: str = ""
    apology: str = ""
    praise: str = ""
    wish: str = ""
    assumes: str = ""
    small: str = ""
    definites: str = ""
    others: str = ""
    things: str = ""
    interrogatives: str = ""
    which: str = ""
    learn: str = ""
    purpose: str = ""
    joins: str = ""
    turns: str = ""
    claims: str = ""
    polite: str = _NEVER
    disclaimer: str = _NEVER
    refusal: str = _NEVER
    silence: str = _NEVER
    lacks: str = _NEVER
    referral: str = _NEVER
    question: str = _NEVER
    definite_endings: str = ""
    comma_before_question: bool = False
    letters: str = "A-Za-zÀ-ɏ"
    has_capitals: bool = False
