"""The tasks in Resay's own prompts, and how the simulated provider answers them.

As a judge it compares sentences with the question's context, singly or as a list, in the words of
SelfCheckGPT with Prompt. Asked for questions about claims, it turns their last numbers, dates and
names into gaps; asked to fill gaps, it answers what it knows, and makes up what it does not; asked
whether two answers mean the same, it looks for a word in both. Asked to write the last question of
a conversation so that it stands alone, it puts the name from the turns before in place of a
pronoun. Asked to check the claims of another model's answer, it uses what it knows. Asked to
rewrite sentences according to other answers, it returns what most of them say, or `REMOVE`. Asked
to answer from documents, it returns their sentences about the question. Asked to correct a sentence
from documents, it returns their sentence about the same matter, or `REMOVE`. Each sentence is
followed by the numbers of its documents.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.lang.language import languages
from resay.testing.faults import RequestKind
from resay.testing.world import (
    FUNCTION_WORDS,
    SUPPORT,
    WORD,
    Subject,
    World,
    exact,
    fold,
    stems,
    supports,
)

_SINGLE = lazy_pattern(
    r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
    r"Is the sentence supported by the context above\?",
    re.DOTALL,
)
_LIST = lazy_pattern(
    r"<context-(?P<code>\w+)>\n(?P<context>.*)\n</context-(?P=code)>\s*"
    r"<claims-(?P=code)>\n(?P<claims>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_QUIZ = lazy_pattern(
    r"<claims-(?P<code>\w+)>\n(?P<claims>.*)\n</claims-(?P=code)>.*the right answer, copied from",
    re.DOTALL,
)
_PROBE = lazy_pattern(
    r"<questions-(?P<code>\w+)>\n(?P<questions>.*)\n</questions-(?P=code)>.*in a few words",
    re.DOTALL,
)
_COMPARE = lazy_pattern(
    r"Compare two short answers.*<answers-(?P<code>\w+)>\n(?P<pairs>.*)\n</answers-(?P=code)>",
    re.DOTALL,
)

STANDALONE_TASKS = tuple(
    language.prompts.standalone_question.task for language in languages() if language.has_prompts
)
"""How the prompts begin that have a question written so that it stands alone."""
_STANDALONE = lazy_pattern(
    r"<conversation-(?P<code>\w+)>\n(?P<conversation>.*)\n</conversation-(?P=code)>\s*"
    r"<question-(?P=code)>\n(?P<question>.*)\n</question-(?P=code)>",
    re.DOTALL,
)
_PRONOUN = lazy_pattern(r"\b(?:it|he|she|they|him|them|this|that)\b", re.IGNORECASE)

# Numbers, dates and names after the first word.
_DETAIL = lazy_pattern(
    r"(?<=\s)(?:\d[\d,.]*\d|\d|[A-Z][\w'’-]*)(?:\s(?:\d[\d,.]*\d|\d|[A-Z][\w'’-]*))*"
)
_NUMBERED_TEXTS = lazy_pattern(
    r"<(?P<kind>documents|samples)-(?P<code>\w+)>\n(?P<texts>.*)\n</(?P=kind)-(?P=code)>\s*"
    r"<claims-(?P=code)>\n(?P<claims>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_CHECK = lazy_pattern(
    r"Check the claims of an answer that another model wrote\..*"
    r"<claims-(?P<code>\w+)>\n(?P<claims>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_REWRITE = lazy_pattern(
    r"(?:Sentences of an answer are in doubt|Shorten sentences of an answer)\..*"
    r"<sentences-(?P<code>\w+)>\n(?P<sentences>.*)\n</sentences-(?P=code)>",
    re.DOTALL,
)
_ITEM_LINE = lazy_pattern(r"^ +(other answers|keep|in doubt): (.*?)(?: \(x(\d+)\))?$", re.MULTILINE)
_NUMBERED = lazy_pattern(r"\s*(\d+)\s*[.):]\s*(.*)")
# A judge whose answer could not be parsed gets the form of the answer restated.
_RESTATED = lazy_pattern(r"\s*(?:Answer with|Write) ")
# If a question to a judge contains a whole prompt of this kind, more text follows it.
_ANSWER = lazy_pattern(
    r"(?P<question>.*?)^[ \t]*Answer by these documents:[ \t]*\n(?P<documents>.*)\n\s*"
    r"Rules:\n(?:\d+\. [^\n]*\n?)+\s*",
    re.DOTALL | re.MULTILINE,
)
_CORRECT = lazy_pattern(
    r"\s*A sentence of an answer is in doubt\.\s+The question:\n(?P<question>.*?)\n\n"
    r"The answer around the sentence:\n.*?>>>\s*(?P<sentence>.*?)\s*<<<.*?\n\n"
    r"Documents from a search:\n(?P<documents>.*)",
    re.DOTALL,
)
# Only an end mark with the opening mark's code ends a document; a document's author cannot know it.
_FENCED = lazy_pattern(
    r"<(?P<kind>document|sample)-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n"
    r"</(?P=kind)-(?P=code)>",
    re.DOTALL,
)
# A heading, or a short first line that is no sentence, with text right below.
_TITLES = lazy_pattern(r"(?:\A[^\n.!?:]{1,60}|^#{1,6} [^\n]*)(?=\n\S)", re.MULTILINE)
# A wrapped line: the next line starts neither a list item nor a heading or the like.
_WRAPPED = lazy_pattern(r"(?<![.!?:\n])\n(?![\s#>|]|[-*+•]\s|\d+[.)]\s)")
_SENTENCE = lazy_pattern(r".*\w.*[.!?][\"'”’»)\]]*", re.DOTALL)
_ORDERS = frozenset(
    {
        "answer",
        "compare",
        "describe",
        "explain",
        "give",
        "list",
        "say",
        "show",
        "summarise",
        "tell",
        "write",
    }
)
_MAX_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt of Resay's that was recognized.

    Attributes:
        kind: The kind of request.
        answer: The function that answers it.
        parts: The parts of the prompt, by name.
    """

    kind: RequestKind
    answer: Callable[[World, random.Random], str]
    parts: Mapping[str, str]


def find_task(texts: Sequence[str]) -> Task | None:
    """Return the task in the last user message; None if it is none of Resay's prompts."""
    if not texts:
        return None
    *before, prompt = texts
    # A document may contain what looks like a question to a judge.
    return writing_task(prompt, before) or _judge_task(prompt) or restated_task(texts, find_task)


def restated_task(
    texts: Sequence[str], find: Callable[[Sequence[str]], Task | None]
) -> Task | None:
    """Return the judge's task that the last message repeats, as `find` recognizes it."""
    *before, prompt = texts
    task = find(before) if _RESTATED.match(prompt) else None
    if task is None or task.kind == "chat":
        return None
    return replace(task, kind="restated")


def writing_task(prompt: str, before: Sequence[str]) -> Task | None:
    """Return the task of correcting a sentence, or of answering from documents."""
    if match := _CORRECT.match(prompt):
        text = _correct(match["question"], match["sentence"], match["documents"])
        return Task("chat", lambda world, rng: text, match.groupdict())
    if match := _ANSWER.fullmatch(prompt):
        documents = match["documents"]
        topic = _names(match["question"])
        for text in reversed(before):
            topic = topic or _names(text)
        return Task(
            kind="chat",
            answer=lambda world, rng: _answer_from(topic, documents, world, rng),
            parts=match.groupdict(),
        )
    return None


def _judge_task(prompt: str) -> Task | None:
    if match := _SINGLE.search(prompt):
        verdict = "Yes" if supports(match["context"], match["sentence"]) else "No"
        return Task("judge", lambda world, rng: verdict, match.groupdict())
    if prompt.startswith(STANDALONE_TASKS) and (match := _STANDALONE.search(prompt)):
        question = _stand_alone(match["question"], match["conversation"])
        return Task("judge", lambda world, rng: question, match.groupdict())
    if match := _COMPARE.match(prompt):
        comparison = _compare(items_in(match["pairs"]))
        return Task("judge", lambda world, rng: comparison, match.groupdict())
    if match := _CHECK.match(prompt):
        claims = items_in(match["claims"])
        return Task("judge", lambda world, rng: _check(claims, prompt, world), match.groupdict())
    if match := _REWRITE.match(prompt):
        items = items_in(match["sentences"])
        return Task("chat", lambda world, rng: _rewrite(items, world), match.groupdict())
    if match := _LIST.search(prompt):
        verdicts = [_verdict(match["context"], item) for item in items_in(match["claims"])]
        return Task("judge", lambda world, rng: numbered(verdicts), match.groupdict())
    if match := _QUIZ.search(prompt):
        quiz = numbered(map(_quiz, items_in(match["claims"])))
        return Task("judge", lambda world, rng: quiz, match.groupdict())
    if match := _PROBE.search(prompt):
        questions = items_in(match["questions"])
        return Task(
            kind="chat",
            answer=lambda world, rng: _fill_all(prompt, questions, world, rng),
            parts=match.groupdict(),
        )
    if match := _NUMBERED_TEXTS.search(prompt):
        support = _support(documents_in(match["texts"]), match["claims"])
        return Task("judge", lambda world, rng: support, match.groupdict())
    return None


def numbered(lines: Iterable[str]) -> str:
    """Return lines with their numbers: "1: supported"."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))


def _verdict(context: str, claim: str) -> str:
    if supports(context, claim):
        return "supported"
    words = WORD.findall(claim)
    claim_stems = stems([word for word in words if fold(word) not in exact(words)])
    shared = len(claim_stems & stems(WORD.findall(context)))
    return "contradicted" if shared >= SUPPORT * len(claim_stems) else "not_mentioned"


def _check(claims: Sequence[str], prompt: str, world: World) -> str:
    """Answer with one line per claim: "2: wrong | It opened in 1932."."""
    lines: list[str] = []
    for claim in claims:
        facts = _facts(world.find(claim) or world.find(prompt))
        contradiction = _contradiction(facts, claim)
        if supports(" ".join(facts), claim):
            lines.append("right")
        else:
            lines.append(f"wrong | {contradiction}" if contradiction else "unknown")
    return numbered(lines)


def _facts(subject: Subject | None) -> list[str]:
    return [wordings[0] for wordings in subject.wordings] if subject else []


def _contradiction(facts: Sequence[str], claim: str) -> str | None:
    for fact in facts:
        if _verdict(fact, claim) == "contradicted":
            return fact
    return None


def _rewrite(items: Sequence[str], world: World) -> str:
    """Answer with one line per sentence: "1: It opened in 1932."."""
    return numbered(_rewritten(item, world) or "REMOVE" for item in items)


def _rewritten(item: str, world: World) -> str | None:
    correct: list[str] = []
    doubt = answer = ""
    max_count = 0
    for kind, text, count_text in _ITEM_LINE.findall(item):
        count = int(count_text or 1)
        if kind == "keep":
            correct.append(text)
        elif kind == "in doubt":
            doubt = doubt or text
        elif count > max_count:
            answer, max_count = text, count
    if correct:
        return " ".join(correct)
    if max_count:
        return answer if max_count > 1 else None
    # Without other answers or sentences to keep, it uses what it knows.
    return _contradiction(_facts(world.find(item)), doubt)


def _quiz(claim: str) -> str:
    """Return a question about a claim: "What belongs in the gap? It opened in ___. | 1932"."""
    details = [*_DETAIL.finditer(claim)]
    if not details:
        return "none"
    start, end = details[-1].span()
    return f"What belongs in the gap? {claim[:start]}___{claim[end:]} | {claim[start:end]}"


def _stand_alone(question: str, conversation: str) -> str:
    """Return a question with the last name that the user gave in place of its first pronoun."""
    turns = [turn for turn in conversation.splitlines() if turn.startswith("user: ")]
    names = [name for turn in turns for name in _DETAIL.findall(turn.removeprefix("user: "))]
    if not names or _DETAIL.search(question):
        return question
    return _PRONOUN.sub(lambda pronoun: names[-1], question, count=1)


def _compare(pairs: Sequence[str]) -> str:
    """Say of each question's two answers whether they have a number, name or other word in common.

    Args:
        pairs: Lines such as `Who built it? | Ada Moor | A. Moor`.
    """
    lines: list[str] = []
    for pair in pairs:
        _, first, second = map(str.strip, pair.rsplit("|", 2))
        lines.append("same" if _content_words(first) & _content_words(second) else "different")
    return numbered(lines)


def _fill_all(prompt: str, questions: Sequence[str], world: World, rng: random.Random) -> str:
    """Answer each question on a line of its own."""
    return numbered(_fill(prompt, question, world, rng) for question in questions)


def _fill(prompt: str, question: str, world: World, rng: random.Random) -> str:
    """Fill a gap: with what is known, something made up, or that it is not known."""
    subject = world.find(question) or world.find(prompt)
    before, _, after = question.partition("?")[2].partition("___")
    gap_stems = stems(WORD.findall(f"{before} {after}"))
    if subject is None or not gap_stems:
        return "I don't know."
    sentences = [*chain.from_iterable(subject.wordings)]
    sentences += [invention.say(rng) for invention in subject.inventions]
    best = max(sentences, key=lambda text: len(gap_stems & stems(WORD.findall(text))))
    if len(gap_stems & stems(WORD.findall(best))) < SUPPORT * len(gap_stems):
        return "I don't know."
    details = [detail for detail in _DETAIL.findall(best) if detail not in question]
    return details[-1] if details else "I don't know."


def items_in(sentences: str) -> list[str]:
    """Return the items of a numbered list; other lines continue an item."""
    items: list[str] = []
    for line in sentences.strip().splitlines():
        match = _NUMBERED.match(line)
        if match and int(match[1]) == len(items) + 1:
            items.append(match[2])
        elif items and line.strip():
            items[-1] += "\n" + line
    return items


def _support(documents: Sequence[tuple[int, str]], sentences: str) -> str:
    """Answer with an object per claim: which documents support it, and which contradict it."""
    results: list[dict[str, object]] = []
    for index, claim in enumerate(items_in(sentences), 1):
        numbers: dict[str, list[int]] = {"supported": [], "contradicted": [], "not_mentioned": []}
        for number, text in documents:
            numbers[_verdict(text, claim)].append(number)
        result: dict[str, object] = {
            "claim": index,
            "supported_by": numbers["supported"],
            "contradicted_by": numbers["contradicted"],
            "quote": "",
        }
        results.append(result)
    return json.dumps(results)


def documents_in(text: str) -> list[tuple[int, str]]:
    """Return the documents that a prompt shows, with their numbers."""
    return [(int(match["number"]), match["text"].strip()) for match in _FENCED.finditer(text)]


def sentences_of(document: str) -> Iterator[str]:
    """Yield the sentences of a document, each on one line, without titles and headings."""
    text = document.replace("[…]", "\n\n").strip()
    text = _WRAPPED.sub(" ", _TITLES.sub(r"\g<0>\n", text))
    for sentence in Passage.of(text).sentences:
        line = " ".join(sentence.text.split())
        if _SENTENCE.fullmatch(line):
            yield line


def _names(text: str) -> set[str]:
    words = [word for word in WORD.findall(text) if word[0].isupper()]
    return stems([word for word in words if fold(word) not in FUNCTION_WORDS | _ORDERS])


def _content_words(text: str) -> set[str]:
    words = WORD.findall(text)
    return stems(words) | {fold(word) for word in words if word[0].isdigit()}


def _sentences(topic: set[str], documents: str) -> Mapping[str, list[int]]:
    """Return the sentences about a topic, with the numbers of the documents that contain them."""
    sentences: dict[str, list[int]] = {}
    for number, text in documents_in(documents):
        if 2 * len(topic & _content_words(text)) >= len(topic):
            for sentence in dict.fromkeys(sentences_of(text)):
                sentences.setdefault(sentence, []).append(number)
    return sentences


def _answer_from(topic: set[str], documents: str, world: World, rng: random.Random) -> str:
    """Return sentences of documents, reworded at random, those with the topic's names first."""
    sentences = _sentences(topic, documents)
    ordered = sorted(sentences, key=lambda text: 2 * len(topic & _content_words(text)) < len(topic))
    answer: list[str] = []
    for text in ordered[:_MAX_SENTENCES]:
        wording = rng.choice(_wordings(text, world))
        answer.append(_cite(wording, sentences[text]))
    return " ".join(answer) or "This could not be confirmed."


def _wordings(text: str, world: World) -> tuple[str, ...]:
    for subject in world.subjects:
        for wordings in subject.wordings:
            if text in wordings:
                return wordings
    return (text,)


def _correct(question: str, sentence: str, documents: str) -> str:
    """Return the correction of a sentence: one from the documents, itself, or `REMOVE`."""
    sentences = _sentences(_names(question), documents)
    numbers = [number for number, text in documents_in(documents) if supports(text, sentence)]
    if numbers:
        return _cite(sentence, numbers)
    # The sentence may be wrong in names and numbers.
    words = WORD.findall(sentence)
    plain_stems = stems([word for word in words if fold(word) not in exact(words)])
    matter = plain_stems - _content_words(question) or plain_stems
    best = max(sentences, key=lambda text: len(matter & _content_words(text)), default="")
    if len(matter & _content_words(best)) < max(1.0, SUPPORT * len(matter)):
        return "REMOVE"
    return _cite(best, sentences[best])


def _cite(sentence: str, numbers: Sequence[int]) -> str:
    return f"{sentence} {''.join(f'[{number}]' for number in numbers)}"
