"""Finds the claims of actions in an answer: clauses that say that the agent did something.

Finding is generous, as the log of calls decides. It is strict in two things: who acted, and whether
the action is said to be done, and not planned, possible, denied or asked for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage, Sentence
from resay.scorers.actions.words import (
    ActionWords,
    Verb,
    action_words,
    base_verbs,
    likely_languages,
)

Voice = Literal["agent", "passive"]
"""Who acts in a claim: the agent by its own words, or nobody named."""

QUOTED: Final = lazy_pattern(
    r"“[^”\n]{1,2000}”|„[^“”\n]{1,2000}[“”]|«[^»\n]{1,2000}»|»[^«\n]{1,2000}«|「[^」\n]{1,2000}」"
    r"|『[^』\n]{1,2000}』|(?<!\w)\"[^\"\n]{1,2000}\"(?!\w)|(?<!\w)'[^'\n]{3,2000}'(?!\w)|`[^`\n]{1,400}`"
)
"""Matches what is quoted, and code in a line."""
_BREAK: Final = lazy_pattern(
    r"[,;](?=\s)|:(?=\s)|[、，；：]|\s[–—-]\s|[()]|\n|→|(?:(?<!\d)|(?<=[^\W\d]\d))\.(?=\s)"
)
_QUESTION: Final = lazy_pattern(r"[?？؟]\W*\Z|か[。]?\Z|か？")
_LEADS: Final = lazy_pattern(r"[:：]\W*\Z")
_LEAD_END: Final = lazy_pattern(r"[:：][ \t*_]*(?=\n|[“„«「\"])")
_LEAD_STOP: Final = lazy_pattern(r"[\n.!?。]")
_MAX_LEAD: Final = 200
_RULE: Final = lazy_pattern(r"\n[^\S\n]*(?:-{3,}|\*{3,}|_{3,})[^\S\n]*\n")
_SPACED_QUOTE: Final = lazy_pattern(rf"\s*(?:{QUOTED.pattern})")
_QUOTED_LINES: Final = lazy_pattern(r"\s*(>[^\n]*\n?)+")
_QUOTE_OR_ROW: Final = lazy_pattern(r"[^\S\n]*(?:>|\|.*\|)")
_CODE_OR_QUOTE: Final = lazy_pattern(rf"```|~~~|^{_QUOTE_OR_ROW.pattern}|[“„«「\"]", re.MULTILINE)
# "weekly-0319.tar" is no habit.
_FILE_NAME: Final = lazy_pattern(r"[\w-]+-\d+(?:\.\w+)?|[\w-]+\.[a-z]\w{1,4}(?!\w)")
# Words that may stand before a verb without a subject: "- Saved", "And also booked", "✓ sent".
_ADVERB: Final = lazy_pattern(r"[^\W\d_]+")
_PUNCTUATION: Final = ".!,;:"
_SPACE_OR_END: Final = " .!,;:"
_MAX_SUBJECT: Final = 12
_MAX_PREFIX: Final = 3
_MAX_FRAGMENT_WORDS: Final = 8
# "Let the team know that", "Upewnij się, że"
_MAX_REQUEST_WORDS: Final = 4
# "Mir wurde gestern mitgeteilt, dass"
_MAX_HEARD_WORDS: Final = 2
# "but I did not"
_MAX_DENIAL_WORDS: Final = 2
# Actions that need no subject of their own, as what succeeded is their subject.
_SUBJECTLESS: Final = frozenset({"succeed", "test"})
_OTHER: Final = frozenset({"other"})
_STATE: Final = frozenset({"state"})
_CHECK: Final = frozenset({"test"})
# Work on a text, which an answer can show.
TEXT_WORK: Final = frozenset({"create", "update", "delete"})
READS: Final = frozenset({"search", "read"})
SUCCESS: Final = frozenset({"succeed"})
# What is done for somebody, and not to a text.
OUTSIDE: Final = frozenset(
    {"notify", "refund", "cancel", "book", "order", "pay", "schedule", "send", "call"}
)
# What any change may have led to.
ANY: Final = frozenset({"other", "state"})
# Who found no errors has looked for them.
_LOOKING: Final = frozenset({"search", "test"})
DEVICES: Final = frozenset({"light", "heating", "blind", "door", "alarm", "music", "vacuum"})


@dataclass(frozen=True, slots=True)
class ActionClaim:
    """A clause that claims a completed action.

    Attributes:
        sentence: The index of its sentence.
        start: Its start in the answer.
        end: Its end in the answer.
        clause_start: Where its clause starts, with the words that join it to the one before.
        text: The words of the clause in lower case, with quotations blanked.
        verbs: Its verbs, with offsets in the answer.
        voice: Who acts.
        is_report: Whether it is a verb without a subject or auxiliary: "Plumber called".
        shown: Whether it may be about work that the answer shows.
    """

    sentence: int
    start: int
    end: int
    clause_start: int
    text: str
    verbs: tuple[Verb, ...]
    voice: Voice
    is_report: bool
    shown: bool

    @property
    def families(self) -> frozenset[str]:
        """What is claimed to be done."""
        families: set[str] = set()
        for verb in self.verbs:
            families |= verb.families
        return frozenset(families)

    @property
    def vouches(self) -> bool:
        """Whether it says that a check passes."""
        return any(verb.families == _CHECK for verb in self.verbs)

    def words_of(self, verb: Verb) -> str:
        """Return the words of one of its verbs."""
        return self.text[verb.start - self.clause_start : verb.end - self.clause_start]


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence of an answer, read for claims of actions.

    Attributes:
        sentence: The sentence.
        asserts: Whether its values are asserted: not if it asks, is a draft, or quotes.
        claims: Its claims of actions.
    """

    sentence: Sentence
    asserts: bool
    claims: tuple[ActionClaim, ...]


def may_claim_action(sentence: str) -> bool:
    """Return whether a sentence may claim an action, in any language.

    Args:
        sentence: The sentence.
    """
    if _QUESTION.search(sentence):
        return False
    masked = _masked(lower_case(sentence))
    whole = Sentence(sentence, 0, len(sentence))
    return any(
        any(_claims_in(masked, whole, 0, action_words(code), shown=False))
        for code in likely_languages(sentence)
    )


def may_speak_of_itself(answer: str, words: ActionWords) -> bool:
    """Return whether an agent may say in an answer what it did itself: "I blocked the card".

    Args:
        answer: The answer.
        words: The words of its language.
    """
    return words.drops_subject or words.agent.search(lower_case(answer)) is not None


def read_sentences(passage: Passage, words: ActionWords) -> list[ReadSentence]:
    """Read the sentences of an answer for claims of actions.

    Args:
        passage: The answer; its `sentences` are read.
        words: The words of its language.
    """
    text = passage.text
    lowered = lower_case(text)
    masked = _masked(lowered)
    drafts = draft_spans(lowered, words)
    last_shown = _last_code_or_quote(text)
    read: list[ReadSentence] = []
    for index, sentence in enumerate(passage.sentences):
        in_draft = any(start <= sentence.start < end for start, end in drafts)
        is_question = _QUESTION.search(sentence.text) is not None
        if in_draft or is_question or _is_quoted_line(text, sentence.start):
            read.append(ReadSentence(sentence, asserts=False, claims=()))
            continue
        shown = _shows(masked, sentence, words, last_shown)
        claims = tuple(_claims_in(masked, sentence, index, words, shown=shown))
        read.append(ReadSentence(sentence, asserts=True, claims=claims))
    return read


def lower_case(text: str) -> str:
    """Return a text in lower case, of the same length.

    Args:
        text: The text.
    """
    lowered = text.lower().replace("’", "'")
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text).replace("’", "'")


def _masked(text: str) -> str:
    """Return a text with quotations and code blanked."""
    return QUOTED.sub(lambda match: " " * len(match[0]), text)


def _is_quoted_line(text: str, start: int) -> bool:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return line.lstrip().startswith(">")


def draft_spans(lowered: str, words: ActionWords) -> list[tuple[int, int]]:
    """Return the spans of texts that are written for somebody else: after "Here is a draft:".

    Args:
        lowered: The answer, in lower case.
        words: The words of its language.
    """
    spans: list[tuple[int, int]] = []
    for lead in _LEAD_END.finditer(lowered):
        before = lowered[max(0, lead.start() - _MAX_LEAD) : lead.start()]
        if not words.drafts.search(_LEAD_STOP.split(before)[-1]):
            continue
        # "I sent this message:" claims to have been sent, but what follows is a quotation as well.
        rule = _RULE.search(lowered, lead.end())
        after_rule = rule is not None and not lowered[lead.end() : rule.start()].strip()
        start = rule.end() if rule is not None and after_rule else lead.end()
        closing = _RULE.search(lowered, start)
        end = closing.start() if closing is not None else len(lowered)
        quoted = _QUOTED_LINES.match(lowered, start)
        if quoted is not None:
            end = quoted.end()
        elif _SPACED_QUOTE.match(lowered, start):
            continue
        spans.append((start, end))
    return spans


def _claims_in(
    masked: str, sentence: Sentence, index: int, words: ActionWords, *, shown: bool
) -> Iterator[ActionClaim]:
    """Yield the claims of a sentence, clause by clause."""
    voice: Voice | None = None
    is_open = False
    clauses = _clauses(masked, sentence, words)
    for position, (start, end) in enumerate(clauses):
        clause = masked[start:end]
        verbs = words.verbs(clause) or _states(clause, words)
        if not verbs:
            continue
        first = verbs[0]
        prefix = clause[: first.start]
        scope = _without(verbs, clause) if words.verb_last else prefix
        if _is_undergone(prefix, verbs, words):
            # "I was told that it was deleted and moved", but "I was asked to, and deleted it"
            is_open = words.complements.search(clause, first.end) is not None
            voice = "agent"
            continue
        own_voice = _voice(clause, verbs, sentence, words)
        has_own_subject = own_voice is not None or words.others.search(prefix) is not None
        # "Let me know" has in the words of its verb that it is asked for.
        asked = scope if words.verb_last else clause[: first.end]
        opens = words.open.search(asked) is not None or words.denied.search(scope) is not None
        opens = opens or _is_seen_to(masked[sentence.start : start + first.end], words)
        if own_voice != "agent" and voice is None:
            after = masked[end : sentence.end]
            opens = opens or _is_bare_request(clause, after, first, words)
        if has_own_subject or opens or position == 0:
            is_open = opens
        continues = words.verb_last and voice is not None
        if own_voice is None and not has_own_subject and (continues or _is_bare(prefix, words)):
            # "I searched the web, found it and read it."
            own_voice = voice or "passive"
        elif own_voice is None:
            voice = None
            continue
        voice = own_voice
        if is_open or (own_voice == "passive" and words.habit.search(_FILE_NAME.sub(" ", clause))):
            continue
        following = masked[end : clauses[position + 1][1]] if position + 1 < len(clauses) else ""
        if _denies_object(clause, verbs, words) or _takes_back(following, words):
            continue
        yield ActionClaim(
            sentence=index,
            start=start + len(clause) - len(clause.lstrip()),
            end=start + len(clause.rstrip(" .!,;:。！、")),
            clause_start=start,
            text=clause,
            verbs=tuple(
                Verb(start + verb.start, start + verb.end, verb.families) for verb in verbs
            ),
            voice=own_voice,
            is_report=own_voice == "passive" and _is_report(clause, scope, verbs, words),
            shown=shown,
        )


def _is_undergone(prefix: str, verbs: Sequence[Verb], words: ActionWords) -> bool:
    """Return whether something was done to the agent: "I was told to commit"."""
    undergone = list(words.undergone.finditer(prefix))
    # "I'm done"
    if not undergone or "succeed" in verbs[0].families:
        return False
    # "I was also asked", and not "I was in the list, which I saved"
    return len(_ADVERB.findall(prefix[undergone[-1].end() :])) <= 1


def _is_bare_request(clause: str, after: str, first: Verb, words: ActionWords) -> bool:
    """Return whether a clause is a request: "Let Ann know".

    "Read it and fixed two typos" is none.

    Args:
        clause: The clause.
        after: What follows in its sentence.
        first: Its first verb.
        words: The words of its language.
    """
    if words.bare.fullmatch(clause, first.start, first.end) is None:
        return False
    others = [
        verb for verb in words.verbs(after) if not words.bare.fullmatch(after, verb.start, verb.end)
    ]
    return _is_bare(clause[: first.start], words) and not others


def _is_seen_to(before: str, words: ActionWords) -> bool:
    """Return whether an action is what the user is to see to, or what the agent heard or thought.

    "Check that it was sent", "I was told that it was sent", "I assumed that it was sent"

    Args:
        before: The sentence until after the action.
        words: The words of its language.
    """
    complement = words.complements.search(before)
    if complement is None or words.agent.search(before, complement.end()):
        return False
    matrix = before[: complement.start()]
    undergone = list(words.undergone.finditer(matrix))
    # "I was told that", and not "I'm happy to tell you that"
    if undergone and len(_ADVERB.findall(matrix[undergone[-1].end() :])) <= _MAX_HEARD_WORDS:
        return True
    agent = words.agent.search(matrix)
    if agent is not None:
        thought = matrix[agent.end() :].strip()
        return words.internal.match(thought) is not None and " " not in thought
    matrix_words = _ADVERB.findall(words.joins.sub(" ", matrix))
    if not 0 < len(matrix_words) <= _MAX_REQUEST_WORDS or matrix_words[0] in words.stop:
        return False
    return words.code != "en" or matrix_words[0] in base_verbs()


def _denies_object(clause: str, verbs: Sequence[Verb], words: ActionWords) -> bool:
    """Return whether a clause says that nothing was done: "I deleted none of the files"."""
    last = verbs[-1]
    after = clause[last.end :].strip(_SPACE_OR_END)
    # At most the receiver may stand between: "I sent Ann nothing".
    denied = words.none.search(after)
    if denied is None or len(_ADVERB.findall(after[: denied.start()])) > 1:
        return False
    # "I sent it no problem", "I verified no other row has it"
    is_aside = denied.start() > 0 and words.pronouns.match(after) is not None
    return not is_aside and not last.families & _LOOKING


def _takes_back(following: str, words: ActionWords) -> bool:
    """Return whether the next clause only denies what was said: "but I did not"."""
    following = following.strip(_SPACE_OR_END)
    if words.joins.match(following) is None or words.none.search(following):
        return False
    denials = list(words.denied.finditer(following))
    if not denials or denials[-1].end() < len(following):
        return False
    rest = words.joins.sub(" ", words.agent.sub(" ", words.denied.sub(" ", following)))
    return len(_ADVERB.findall(rest)) <= _MAX_DENIAL_WORDS


def _is_report(clause: str, scope: str, verbs: Sequence[Verb], words: ActionWords) -> bool:
    """Return whether a clause says what was done in the fewest words: "Mail sent"."""
    first = verbs[0]
    prefix = clause[: first.start]
    has_auxiliary = words.passive.search(scope) or words.auxiliary_of(scope)
    # "The blinds are down" is no report that somebody closed them.
    has_auxiliary = has_auxiliary or words.passive.search(clause[first.start : first.end])
    is_short = len(prefix.split()) <= _MAX_PREFIX and not _is_bare(prefix, words)
    return is_short and not has_auxiliary and verbs[0].families != _STATE


def _states(clause: str, words: ActionWords) -> list[Verb]:
    """Return what says that a clause is about how things are since something was done."""
    state = words.states.search(clause)
    return [] if state is None else [Verb(state.start(), state.end(), _STATE)]


def _without(verbs: Sequence[Verb], clause: str) -> str:
    """Return a clause with its verbs blanked: "meldet keine Fehler" denies nothing."""
    for verb in verbs:
        clause = f"{clause[: verb.start]}{' ' * (verb.end - verb.start)}{clause[verb.end :]}"
    return clause


def _voice(clause: str, verbs: list[Verb], sentence: Sentence, words: ActionWords) -> Voice | None:
    """Return who acts in a clause: the agent, nobody named, or None for somebody else."""
    first = verbs[0]
    if first.families == _STATE:
        return "passive"
    prefix, verb_text = clause[: first.start], clause[first.start : first.end]
    # "J'ai compressé" has the agent in its verb, and "let me know" has not.
    has_own = first.families == _OTHER
    scope = clause if words.verb_last else clause[: first.end] if has_own else prefix
    agent = words.agent.search(scope)
    scope = clause if words.verb_last else prefix
    others = words.others.search(prefix)
    if agent is not None and (others is None or agent.start() > others.start() or words.verb_last):
        return "agent"
    if others is not None and words.bare.fullmatch(verb_text):
        # "I suggest that you let Ann know"
        return None
    if words.first.search(verb_text) and others is None:
        return "agent"
    needs_subject = not any("succeed" in verb.families for verb in verbs)
    if needs_subject and _by_pronoun(prefix, words):
        return None
    is_passive = words.passive.search(scope) is not None or words.itself.search(verb_text)
    if is_passive:
        by = words.by.search(clause, first.end)
        if by is not None:
            actor = clause[by.end() :].lstrip()
            # "by me", "by mail"
            return "passive" if words.agent.match(actor) or words.things_in(actor) else None
        return "passive"
    if any(verb.families & _SUBJECTLESS for verb in verbs) or " " in verb_text.strip():
        return "passive"
    if others is not None:
        return None
    return _voice_without_subject(clause, verbs, sentence, words)


def _by_pronoun(prefix: str, words: ActionWords) -> bool:
    """Return whether a verb has another subject: "the files that it checked"."""
    return words.subjects.search(prefix.rstrip()[-_MAX_SUBJECT:]) is not None


def _voice_without_subject(
    clause: str, verbs: Sequence[Verb], sentence: Sentence, words: ActionWords
) -> Voice | None:
    """Return who acts in a clause that names nobody and has no auxiliary."""
    prefix = clause[: verbs[0].start]
    # "Klempner beauftragt, kommt morgen": the participle stands where the verb would.
    ends = clause[verbs[-1].end :].lstrip()[:1] in _PUNCTUATION
    if words.verb_last and ends and 0 < len(prefix.split()) <= _MAX_PREFIX:
        return "passive"
    if words.drops_subject:
        return "agent"
    # "Mail sent", "- Car reserved for 9 June"
    is_fragment = sentence.unit == "item" or not re.search(r"[.!。]\W*\Z", sentence.text)
    is_short = len(clause.split()) <= _MAX_FRAGMENT_WORDS or prefix.rstrip().endswith(",")
    if is_fragment and is_short and prefix.strip():
        return "passive"
    return None


def _is_bare(prefix: str, words: ActionWords) -> bool:
    """Return whether what stands before a verb is no subject: nothing, "and", "already"."""
    before = words.joins.sub(" ", prefix)
    return (
        len(_ADVERB.findall(before)) < 1
        or (len(_ADVERB.findall(before)) <= _MAX_PREFIX and words.again.search(before) is not None)
        or bool(
            re.fullmatch(r"\W*(?:\w+ly|just|already|also|then|now|successfully|done)\W*", before)
        )
    )


def _clauses(masked: str, sentence: Sentence, words: ActionWords) -> list[tuple[int, int]]:
    """Return the spans of a sentence's clauses, each with a verb if the sentence has one.

    What has no verb of its own belongs to the clause before it.
    """
    cuts = {sentence.start, sentence.end}
    for match in _BREAK.finditer(masked, sentence.start, sentence.end):
        cuts.add(match.end())
    for match in words.joins.finditer(masked, sentence.start, sentence.end):
        cuts.add(match.start())
    edges = sorted(cuts)
    clauses: list[tuple[int, int]] = []
    has_clause: list[bool] = []
    for start, end in itertools.pairwise(edges):
        piece = masked[start:end]
        if not piece.strip():
            continue
        has_verb = bool(words.verbs(piece))
        is_clause = has_verb or _begins_clause(piece, words)
        # "Your table at the Fern, for four," has its verb in the next piece.
        continues = bool(clauses) and not is_clause
        has_subject = words.agent.match(words.joins.sub(" ", piece).lstrip()) is not None
        completes = bool(clauses) and has_verb and not has_clause[-1] and not has_subject
        if continues or completes:
            clauses[-1] = (clauses[-1][0], end)
            has_clause[-1] = has_clause[-1] or is_clause
        else:
            clauses.append((start, end))
            has_clause.append(is_clause or piece.rstrip().endswith((":", "：")))
    return clauses


def _begins_clause(piece: str, words: ActionWords) -> bool:
    """Return whether words without a completed action are a clause: "and will send it"."""
    return any(
        pattern.search(piece) is not None
        for pattern in (words.open, words.agent, words.passive, words.denied)
    )


def _last_code_or_quote(text: str) -> int:
    """Return where the last code, quotation or table of a text starts; -1 if it has none."""
    last = -1
    while (match := _CODE_OR_QUOTE.search(text, last + 1)) is not None:
        last = match.start()
    return last


def _shows(masked: str, sentence: Sentence, words: ActionWords, last_shown: int) -> bool:
    """Return whether a sentence may be about work that the answer itself shows.

    Args:
        masked: The answer with quotations blanked.
        sentence: The sentence.
        words: The words of its language.
        last_shown: Where the last thing that the answer shows starts.
    """
    line = masked[sentence.start : sentence.end]
    if _LEADS.search(line) or words.shown.search(line):
        return True
    follows = last_shown >= sentence.end or _QUOTE_OR_ROW.match(masked, sentence.end) is not None
    return follows and len(masked) - sentence.end > _MAX_FRAGMENT_WORDS
