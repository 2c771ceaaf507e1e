"""Which call of the log bears out a claim of an action."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.call_log import CallLog, LoggedCall, is_observation
from resay.core.quantities import Quantity, quantities
from resay.core.request import Message, text_of
from resay.providers.apis.values import mappings
from resay.scorers.actions.calls import CallFacts, beginning, solid, tells_failures
from resay.scorers.actions.claims import ANY, OUTSIDE, QUOTED, READS, SUCCESS, ActionClaim
from resay.scorers.actions.values import Source, Value, values_in
from resay.scorers.actions.words import (
    ActionWords,
    base_verbs,
    fields,
    local_tool_words,
    stems,
    tool_words,
    without_accents,
)

# What a change of a file can be called.
_EDITS: Final = frozenset(
    {"create", "save", "update", "delete", "move", "set", "on", "off", "open", "close", "other"}
)
# What else a claimed action may have been done by.
_NEAR: Final[Mapping[str, str]] = {
    "send": "notify upload pay",
    "notify": "send schedule",
    "save": "create update upload set",
    "create": "save schedule upload book",
    "update": "set save move create schedule",
    "delete": "cancel",
    "cancel": "delete",
    "book": "order",
    "schedule": "create update move set save",
    "order": "book pay",
    "search": "read test",
    "read": "",
    "run": "test deploy create search",
    "test": "",
    "deploy": "run update push",
    "commit": "push merge",
    "push": "deploy upload",
    "merge": "update",
    "install": "deploy",
    "build": "deploy create",
    "pay": "",
    "refund": "",
    "on": "set update",
    "off": "set update",
    "set": "update on schedule",
    "open": "on",
    "close": "off",
    "move": "update schedule set",
    "upload": "save send create",
    "download": "read save",
    "call": "",
    "succeed": "",
}
# What is said of a text that may have been written to somebody.
_WRITTEN: Final = frozenset({"create", "save"})
_WORD: Final = lazy_pattern(r"[^\W_]{3,}")
_EXACT, _CLOSE, _UNKNOWN = 3.0, 2.0, 1.0
_STEM: Final = 5
# Things that many tools act on, whatever else they do.
_GENERAL: Final = frozenset(
    {"record", "list", "web", "note", "file", "price", "stock", "server", "contact", "message"}
)
# Things that a call for them names.
_NAMED: Final = frozenset({"branch", "pull_request"})
_MAX_WORDS: Final = 4
_FEW_NUMBERS: Final = 2
_MOST: Final = 0.6
# A verb that is a noun as well is asked for only where a verb stands: "Refund me", "please book".
_ASKED_NOUN: Final = lazy_pattern(
    r"(?:\A|(?<=[.,!?;]\s)|(?<=\n)|(?<=\bplease\s)|(?<=\byou\s)|(?<=\band\s)|(?<=\bto\s))(\w{3,})"
)
_MIN_ASKED: Final = 4
_FIRST_WORDS: Final = 4
_POLITE: Final = lazy_pattern(
    r"(?:can|could|would|will|please|pls|kannst|können|kön|peux|pouvez|puedes|puede|puoi|può|pode|podes|kun|kan)\b"
)
# The name of a tool: web_search
_TOOL: Final = lazy_pattern(r"(?<!\w)[a-z]+(?:_[a-z]+)+(?!\w)")
_NAME: Final = lazy_pattern(r"(?<![\w@./-])[A-ZÀ-ÞŁŚŻŽČŠА-ЯЁ][\w'’]*[a-zà-ÿłśżа-яё][\w'’]*")
_INNER_NAME: Final = lazy_pattern(rf"(?<=[\w,] )({_NAME.pattern})")
_MIN_ALIAS: Final = 2
# A message that has more than a request in it: several lines, a quotation, what follows a colon.
_GIVEN: Final = lazy_pattern(rf"\n|[:：]\s|{QUOTED.pattern}")
_MAX_REQUEST: Final = 200
# "Ben's", and in Turkish "Ayşe'yi"
_POSSESSIVE: Final = lazy_pattern(r"['’]\w{0,4}\Z")


@dataclass(frozen=True, slots=True)
class Match:
    """A call that a claim may be about.

    Attributes:
        facts: The call.
        score: How well it fits.
        is_exact: Whether it does what is claimed, and not something near.
        named: How many of the names and identifiers of the claim it has.
        valued: How many of its numbers and times.
    """

    facts: CallFacts
    score: float
    is_exact: bool
    named: int = 0
    valued: int = 0


class Conversation:
    """What an answer's claims are compared with.

    Args:
        log: The tool calls.
        messages: The messages.
        words: The words of the answer's language.
        text: The answer.
        offered: The names of the tools that the request offers.
    """

    def __init__(
        self,
        log: CallLog,
        messages: Sequence[Message],
        words: ActionWords,
        text: str,
        offered: Collection[str] = (),
    ) -> None:
        self.log = log
        self.text = text
        self.words = words
        self.calls = tuple(CallFacts(call, words) for call in log.calls)
        self._offered = tuple(CallFacts(LoggedCall(0, name), words) for name in offered)
        self._messages = messages
        self._known_aliases: dict[str, frozenset[str]] = {}
        self._sources = tuple(Source(calls=[facts]) for facts in self.calls)

    def source_of(self, facts: CallFacts) -> Source:
        """Return what a call has and yields."""
        return self._sources[facts.call.index]

    @cached_property
    def told(self) -> Source:
        """What the user and the application wrote."""
        return Source(self._told_texts)

    @cached_property
    def requested(self) -> Source:
        """What the user wrote last."""
        return Source([self.request])

    @cached_property
    def _told_texts(self) -> list[str]:
        roles = ("user", "human", "system", "developer")
        return [
            text_of(message.get("content"))
            for message in self._messages
            if message.get("role") in roles and not is_observation(message)
        ]

    @cached_property
    def _told_names(self) -> frozenset[str]:
        """The words that the user writes with a capital letter inside of sentences."""
        names: set[str] = set()
        for text in self._told_texts:
            names.update(_inner_names(text))
        return frozenset(names)

    @cached_property
    def all_calls(self) -> Source:
        """Everything in the calls and their results."""
        return Source(calls=self.calls)

    @cached_property
    def told_and_called(self) -> Source:
        """What was written to the agent, and everything in the calls and their results."""
        return Source([self.told.text], self.calls)

    @cached_property
    def has_few_numbers(self) -> bool:
        """Whether so few numbers are in the conversation that no other one can come of them."""
        return 0 < len(self.told_and_called.numbers) <= _FEW_NUMBERS

    @cached_property
    def _written_words(self) -> frozenset[str]:
        """The words of what was written to the agent, and of the calls and their results."""
        return self.told.words | self.all_calls.words

    @cached_property
    def has_tools(self) -> bool:
        """Whether the agent has tools: it called some, or the application names them."""
        return bool(self.calls) or _TOOL.search(self._instructions) is not None

    def offers_to_read(self, claim: ActionClaim) -> bool:
        """Return whether the request offers a tool for what an agent says that it read.

        What is written to the agent itself needs no tool.

        Args:
            claim: The claim.
        """
        verbs = [claim.words_of(verb) for verb in claim.verbs]
        if all(map(self._needs_no_tool, verbs)):
            return False
        things = self.words.things_in(claim.text).keys()
        is_offered = any(facts.reads and things & facts.things for facts in self._offered)
        return is_offered and not any(self._may_hold(m, things) for m in self._messages)

    def _needs_no_tool(self, verb: str) -> bool:
        """Return whether a verb is about what can be known or worked out: to find, to compare."""
        words = self.words
        return bool(words.internal.fullmatch(verb) or words.finds.fullmatch(verb))

    def _may_hold(self, message: Message, things: Set[str]) -> bool:
        """Return whether a message may have what is read in it, and not only ask for it."""
        content: object = message.get("content")
        parts = mappings(content)
        if any("text" not in part for part in parts):
            return True
        text = text_of(content)
        if len(text) <= _MAX_REQUEST and _GIVEN.search(text) is None:
            return False
        is_user = message.get("role") in ("user", "human")
        return is_user or bool(things & self.words.things_in(text.lower()).keys())

    @property
    def has_role(self) -> bool:
        """Whether the application says what the agent is."""
        return bool(self._instructions.strip())

    @cached_property
    def _instructions(self) -> str:
        roles = ("system", "developer")
        return "\n".join(
            text_of(m.get("content")) for m in self._messages if m.get("role") in roles
        )

    @cached_property
    def call_stems(self) -> frozenset[str]:
        """The stems of everything in the calls and their results."""
        return frozenset[str]().union(*(facts.stems for facts in self.calls))

    @cached_property
    def request_words(self) -> frozenset[str]:
        """The stems of what the user wrote last."""
        return frozenset(stems(self.request, self.words))

    @cached_property
    def request_things(self) -> frozenset[str]:
        """The things that the user wrote about last."""
        return frozenset(self.words.things_in(self.request.lower()))

    def asks_to_do(self, claim: ActionClaim) -> bool:
        """Return whether a user asked for what a claim says has been done, to the same thing.

        "The order was sent on 3 May" may tell of the past. Without tools, a text may be meant: then
        only what is done for somebody counts, and only if the request begins with it.

        Args:
            claim: The claim.
        """
        if self.words.perfect.search(claim.text) is None or self._is_of_others(claim):
            return False
        objects = objects_of(claim, self.words)
        families = claim.families - READS - ANY - {"test"}
        if families <= SUCCESS:
            # "Your refund has been processed": the noun says what was done.
            families = _families_of(objects)
        if self.has_tools or self._offers_changes:
            families = families & self._asked_families
        elif self.has_role and self._only_asks:
            families = families & OUTSIDE & self._first_asked_families
        else:
            return False
        if families <= self._told_done:
            return False
        return not objects.isdisjoint(stems(self._user_text, self.words))

    def asks_for_verb(self, claim: ActionClaim) -> bool:
        """Return whether a user asked for what the verbs of a claim say.

        Args:
            claim: The claim.
        """
        return bool(claim.families & self._asked_families)

    @cached_property
    def _offers_changes(self) -> bool:
        """Whether the request offers a tool that changes something, by its name."""
        return any(facts.families and not facts.reads for facts in self._offered)

    @cached_property
    def _user_texts(self) -> list[str]:
        return [
            text_of(message.get("content"))
            for message in self._messages
            if message.get("role") in ("user", "human") and not is_observation(message)
        ]

    @cached_property
    def _user_text(self) -> str:
        return "\n".join(self._user_texts).lower()

    @cached_property
    def _only_asks(self) -> bool:
        """Whether the user's messages have nothing but requests in them, and no text to work on."""
        return not any(len(t) > _MAX_REQUEST or _GIVEN.search(t) for t in self._user_texts)

    @cached_property
    def _told_done(self) -> frozenset[str]:
        """What the user and the application say was done: "My order was cancelled, why?"."""
        text = "\n".join(self._told_texts).lower()
        done: set[str] = set()
        for verb in self.words.verbs(text):
            # "Reset it" asks for it.
            if not self.words.bare.fullmatch(text, verb.start, verb.end):
                done |= verb.families
        return frozenset(done)

    def _is_of_others(self, claim: ActionClaim) -> bool:
        """Return whether a claim says that others did it, or depends on what follows.

        German names who did it before the participle: "wurde von Eva storniert".
        """
        words = self.words
        names_actor = words.verb_last and words.by.search(claim.text) is not None
        return names_actor or words.open.search(claim.text) is not None

    @cached_property
    def _asked_families(self) -> frozenset[str]:
        """What a user asked to be done."""
        return self._asked_in(self._user_text)

    @cached_property
    def _first_asked_families(self) -> frozenset[str]:
        """What the user's messages begin with asking for: "Cancel it", "I'd like to cancel it"."""
        begins = (" ".join(text.lower().split()[:_FIRST_WORDS]) for text in self._user_texts)
        return frozenset[str]().union(*map(self._asked_in, begins))

    def _asked_in(self, text: str) -> frozenset[str]:
        """Return what a text asks for, in the words of the answer's language or in English.

        Args:
            text: The text, in lower case.
        """
        families: set[str] = set()
        nouns = set(_ASKED_NOUN.findall(text))
        for word in _WORD.findall(text):
            if word in base_verbs() or (word in nouns and not word.endswith("ed")):
                families |= tool_words().get(word, frozenset())
        if self.words.code == "en":
            return frozenset(families)
        local = local_tool_words(self.words.code)
        for word in _WORD.findall(without_accents(text)):
            for size in range(_MIN_ASKED, min(len(word), _STEM) + 1):
                families |= local.get(word[:size], frozenset())
        return frozenset(families)

    def is_about(self, name: str, facts: CallFacts) -> bool:
        """Return whether a call is about somebody, by name or by what another call says of them.

        Args:
            name: The name, in lower case.
            facts: The call.
        """
        return facts.names(name) or not facts.argument_texts.isdisjoint(self._aliases(name))

    def _aliases(self, name: str) -> frozenset[str]:
        """Return what stands beside a name in the calls: its addresses and identifiers."""
        if name not in self._known_aliases:
            start = beginning(name)
            self._known_aliases[name] = frozenset(
                value
                for facts in self.calls
                if start in facts.text
                for value in facts.values_beside(start)
                if len(value) > _MIN_ALIAS
            )
        return self._known_aliases[name]

    @cached_property
    def lowered(self) -> str:
        """The answer in lower case."""
        return self.text.lower()

    @cached_property
    def tells_of_failures(self) -> bool:
        """Whether the answer tells that a check failed."""
        return tells_failures(self.lowered)

    @cached_property
    def waits(self) -> bool:
        """Whether a call of the turn is not through."""
        return any(facts.outcome[0] == "pending" for facts in self.of_turn)

    @cached_property
    def opens(self) -> bool:
        """Whether a call opened what can be read, and did not only search for it."""
        return any("read" in facts.families for facts in self.calls)

    @cached_property
    def asks_for_change(self) -> bool:
        """Whether the user asked for something to be done last, and not only about something."""
        request = self.request.strip().lower()
        return not request.endswith(("?", "？")) or _POLITE.match(request) is not None

    @cached_property
    def has_changed(self) -> bool:
        """Whether a call of the turn may have changed something."""
        return any(not facts.reads for facts in self.of_turn)

    @cached_property
    def of_turn(self) -> tuple[CallFacts, ...]:
        """The calls of the last turn."""
        return tuple(facts for facts in self.calls if facts.call.turn == self.log.turn)

    @cached_property
    def _request_families(self) -> frozenset[str]:
        """What the user asked to be done last, in English words."""
        families: set[str] = set()
        for word in _WORD.findall(self.request.lower()):
            # "Has it been opened?" asks for nothing.
            if word not in fields().nouns and not word.endswith("ed"):
                families |= tool_words().get(word, frozenset())
        return frozenset(families - {"search", "read", "succeed"})

    @cached_property
    def request(self) -> str:
        """What the user wrote last."""
        for message in reversed(self._messages):
            if message.get("role") in ("user", "human") and not is_observation(message):
                text = text_of(message.get("content"))
                if text:
                    return text
        return ""

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities of the answer."""
        return quantities(self.text)

    def values_in(self, start: int, end: int) -> list[Value]:
        """Return the values that a part of the answer names."""
        return values_in(self.text, start, end, self.words, self.quantities)

    def count_of_successes(self, facts: CallFacts) -> int:
        """Return how many calls of the same tool succeeded, as far as is known."""
        return sum(
            other.call.name == facts.call.name and other.outcome[0] in ("ok", "unknown")
            for other in self.calls
        )

    def matches(self, claim: ActionClaim, values: Sequence[Value]) -> list[Match]:
        """Return the calls that a claim may be about, best first.

        Args:
            claim: The claim.
            values: The values it names.
        """
        claim_stems = stems(claim.text, self.words)
        things = self.words.things_in(claim.text).keys()
        ids = [solid(value.text) for value in values if value.is_name]
        names = self.names_in(claim, values)
        verbs = stems_of_verbs(claim, self.words)
        families = claim.families
        near: set[str] = set()
        for family in families:
            near.update(_NEAR.get(family, "").split())
        matches: list[Match] = []
        for facts in self.calls:
            fit = _fit(families, near, facts)
            if fit != _EXACT and not facts.reads and is_named_after(verbs, facts):
                fit = _EXACT
            if fit is None and not _is_about(families, values, facts):
                continue
            fit = fit or _CLOSE
            shared = sum(1 for stem in claim_stems if stem in facts.stems)
            shared_ids = sum(1 for name in ids if name and name in facts.solid)
            shared_names = sum(1 for name in names if name in facts.words)
            # "Job 82", where a call says `job: 82`
            shared_names += sum(
                1
                for value in values
                if value.quantity and value.quantity.low in facts.argument_numbers
            )
            shared_values = sum(
                1 for value in values if not value.is_name and self.source_of(facts).has(value)
            )
            shared_things = len(things & facts.things)
            own_things = facts.english_things - _GENERAL
            differs = things - _GENERAL and own_things and not shared_things
            if differs and not shared and not shared_ids:
                continue
            if things & _NAMED - facts.things and not facts.is_broad:
                continue
            score = fit + min(shared, _MAX_WORDS) + 3 * shared_ids + 1.5 * shared_things
            score += 2 * shared_names + 3 * min(shared_values, _MAX_WORDS)
            score += 0.5 * (facts.call.turn == self.log.turn) + 0.01 * facts.call.index
            if differs:
                score -= 2
            matches.append(
                Match(
                    facts=facts,
                    score=score,
                    is_exact=fit >= _EXACT,
                    named=shared_names + shared_ids,
                    valued=shared_values,
                )
            )
        return sorted(matches, key=lambda match: -match.score)

    def names_in(self, claim: ActionClaim, values: Sequence[Value]) -> list[str]:
        """Return the names in a claim that stand in the conversation, in lower case.

        Args:
            claim: The claim.
            values: The values it names, which are no names: "9 June".
        """
        return [
            name
            for name, start, end in self._names_between(claim.start, claim.end)
            if not any(value.start < end and start < value.end for value in values)
        ]

    def _names_between(self, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        for match in _NAME.finditer(self.text, start, end):
            before = self.text[: match.start()].rstrip()
            begins = not before or before[-1] in '.!?:;\n*-•–—“"('
            name = _POSSESSIVE.sub("", match[0]).lower()
            begins = begins and name not in self._told_names
            is_word = name in self.words.stop or self.words.is_weekday(name)
            if not (begins or is_word) and name in self._written_words:
                yield name, match.start(), match.end()

    def is_told_by_results(self, claim: ActionClaim) -> bool:
        """Return whether a result tells of what is claimed: what others did."""
        things = self.words.things_in(claim.text).keys()
        # The verb alone is in many results.
        verbs = stems_of_verbs(claim, self.words)
        others = set(stems(claim.text, self.words)) - verbs
        for facts in self.calls:
            is_same = facts.result_families & claim.families - {"other"}
            if not is_same and verbs.isdisjoint(facts.result_stems):
                continue
            if not others or others & facts.result_stems or things & facts.things:
                return True
        return False

    def was_asked_for(self, claim: ActionClaim) -> bool:
        """Return whether a claim is about what the user asked for."""
        things = self.words.things_in(claim.text).keys()
        if things & self.request_things or claim.families & self._request_families:
            return True
        return any(stem in self.request_words for stem in stems(claim.text, self.words))


def _families_of(objects: Collection[str]) -> frozenset[str]:
    """Return what is done for somebody by what the stems of English nouns name: "refund"."""
    families: set[str] = set()
    for stem in objects:
        families.update(
            family for word in _nouns_by_stem().get(stem, ()) for family in tool_words()[word]
        )
    return frozenset(families & OUTSIDE)


@cache
def _nouns_by_stem() -> Mapping[str, list[str]]:
    nouns: dict[str, list[str]] = {}
    for word in fields().nouns & tool_words().keys():
        nouns.setdefault(word[:_STEM], []).append(word)
    return nouns


def _inner_names(text: str) -> Iterator[str]:
    """Yield the words with a capital letter inside of sentences, in lower case."""
    for match in _INNER_NAME.finditer(text):
        yield match[1].lower()
        yield _POSSESSIVE.sub("", match[1]).lower()


def _fit(families: frozenset[str], near: Collection[str], facts: CallFacts) -> float | None:
    """Return how well what a call does fits what is claimed; None if not at all.

    Args:
        families: What is claimed to be done.
        near: What else it may have been done by.
        facts: The call.
    """
    own = facts.families
    is_run = "run" in families and facts.shell is not None
    if is_run or own & families:
        return _EXACT
    # What the commands of a shell do, their words say.
    is_near = not own.isdisjoint(near) and (facts.shell is None or facts.is_broad)
    if is_near or (facts.changes_file and _EDITS & families):
        return _CLOSE
    if facts.is_broad or families <= {"succeed"}:
        return _UNKNOWN
    # Any change may be called by a verb that says nothing about tools, and leads to some state.
    return _UNKNOWN if families & {"other", "state"} and not facts.reads else None


def _is_about(families: frozenset[str], values: Sequence[Value], facts: CallFacts) -> bool:
    """Return whether a call was given what a claim names: the address of "I wrote to b@b.example".

    Args:
        families: What is claimed to be done.
        values: The values that the claim names.
        facts: The call.
    """
    is_message = families & _WRITTEN and facts.families & {"send", "notify"}
    if not (is_message or (facts.reads and families <= READS)):
        return False
    arguments = solid(facts.arguments_text)
    kinds = ("address",) if is_message else ("address", "id", "path")
    return any(value.kind in kinds and solid(value.text) in arguments for value in values)


def is_named_after(verbs: Set[str], facts: CallFacts) -> bool:
    """Return whether a call has the verb of a claim: "resized", resize_image.

    Args:
        verbs: The stems of the claim's verbs.
        facts: The call.
    """
    return not verbs.isdisjoint(facts.brief_stems)


def objects_of(claim: ActionClaim, words: ActionWords) -> frozenset[str]:
    """Return the stems of what was acted on: right after the verb, or before a passive one.

    Where a language has no prepositions here, all words of a claim may be its object.
    """
    verbs = stems_of_verbs(claim, words)
    first, last = claim.verbs[0], claim.verbs[-1]
    before = claim.text[: first.start - claim.clause_start]
    after = claim.text[last.end - claim.clause_start :]
    text = claim.text
    if words.code == "en" and claim.voice == "agent":
        end = words.prepositions.search(after)
        text = after if end is None else after[: end.start()]
    elif words.code == "en" and stems(before, words):
        text = before
    return frozenset(stems(words.pronouns.sub(" ", text), words)) - verbs


def has_object(objects: Collection[str], things: Set[str], facts: CallFacts) -> bool:
    """Return whether a call is about what a claim says was acted on.

    Args:
        objects: The stems of what was acted on.
        things: The things that the claim names.
        facts: The call.
    """
    return not facts.stems.isdisjoint(objects) or bool(things & facts.things - _GENERAL)


def stems_of_verbs(claim: ActionClaim, words: ActionWords) -> frozenset[str]:
    """Return the beginnings of the words of a claim that say what was done."""
    return frozenset(stem for verb in claim.verbs for stem in stems(claim.words_of(verb), words))


def most_are_in(claimed: Collection[str], others: Collection[str]) -> bool:
    """Return whether most of the stems of a claim are among others."""
    return sum(stem in others for stem in claimed) > _MOST * len(claimed)


def undoing(facts: CallFacts, calls: Sequence[CallFacts]) -> CallFacts | None:
    """Return a later call that undoes what a call did, if there is one.

    Args:
        facts: The call.
        calls: The calls of the conversation.
    """
    if facts.reads:
        return None
    removes = bool(facts.families & {"delete", "cancel"})
    words = fields().restoring if removes else fields().undoing
    undone: CallFacts | None = None
    for later in calls[facts.call.index + 1 :]:
        doing = later.doing_words
        if later.outcome[0] not in ("ok", "partial"):
            continue
        is_same = facts.identifiers & later.identifiers or doing & fields().reverting
        is_same = is_same or (facts.call.arguments and facts.call.arguments == later.call.arguments)
        if doing & words and is_same:
            undone = later
        elif undone is not None and later.families & facts.families:
            undone = None
    return undone
