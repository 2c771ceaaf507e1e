"""What the simulated provider is asked by Resay: to judge sentences, and to go by documents.

As a judge it compares sentences with the context that the question gives, one at a time or in a
list, in the words of SelfCheckGPT with Prompt. Shown documents to answer by, it says the sentences
of theirs that are about the question. Asked to correct a sentence by documents, it says the one of
theirs that speaks of the same, or `REMOVE`. Each has the numbers of its documents behind it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from resay.core.passage import Passage
from resay.testing.faults import RequestKind
from resay.testing.world import FUNCTION_WORDS, SUPPORT, WORD, World, exact, fold, stems, supports

_ONE = re.compile(
    r"Context:(?P<context>.*)\n\s*Sentence:(?P<sentence>.*?)\n\s*"
    r"Is the sentence supported by the context above\?",
    re.DOTALL,
)
_LIST = re.compile(
    r"<context-(?P<code>\w+)>\n(?P<context>.*)\n</context-(?P=code)>\s*"
    r"<claims-(?P=code)>\n(?P<sentences>.*)\n</claims-(?P=code)>",
    re.DOTALL,
)
_NUMBERED = re.compile(r"\s*(\d+)\s*[.):]\s*(.*)")
# A judge whose answer could not be read is told the form of the answer once more.
_RESTATED = re.compile(r"\s*(?:Answer with|Write) ")

# Where a whole prompt of this kind appears in a question to a judge, more text follows.
_ANSWER = re.compile(
    r"(?P<question>.*?)^[ \t]*Answer by these documents:[ \t]*\n(?P<documents>.*)\n\s*"
    r"Rules:\n(?:\d+\. [^\n]*\n?)+\s*",
    re.DOTALL | re.MULTILINE,
)
_CORRECT = re.compile(
    r"\s*A sentence of an answer is in doubt\.\s+The question:\n(?P<question>.*?)\n\n"
    r"The answer around the sentence:\n.*?>>>\s*(?P<sentence>.*?)\s*<<<.*?\n\n"
    r"Documents from a search:\n(?P<documents>.*)",
    re.DOTALL,
)
# Only a mark with the code of the first one ends a document; whoever wrote it cannot know that.
_FENCED = re.compile(
    r"<document-(?P<code>\w+) number=\"(?P<number>\d+)\">\n(?P<text>.*?)\n</document-(?P=code)>",
    re.DOTALL,
)
# A first line that is short and no sentence, or a heading, with text right below.
_TITLES = re.compile(r"(?:\A[^\n.!?:]{1,60}|^#{1,6} [^\n]*)(?=\n\S)", re.MULTILINE)
# A line that goes on in the next, where that begins nothing of its own.
_WRAPPED = re.compile(r"(?<![.!?:\n])\n(?![\s#>|]|[-*+•]\s|\d+[.)]\s)")
_SENTENCE = re.compile(r".*\w.*[.!?][\"'”’»)\]]*", re.DOTALL)
_LISTED = "answer compare describe explain give list say show summarise tell write"
_ORDERS = frozenset(_LISTED.split())
_NO_WORDS: set[str] = set()
_MOST = 6


@dataclass(frozen=True, slots=True)
class Task:
    """Something that Resay asks for, and what answers it out of a world and by chance."""

    kind: RequestKind
    answer: Callable[[World, random.Random], str]


def task_in(said: Sequence[str]) -> Task | None:
    """Return what Resay asks for with the last of the user's messages; None for anything else."""
    if not said:
        return None
    # A document may hold what looks like a question to a judge.
    if found := _CORRECT.match(said[-1]):
        text = _corrected(found["question"], found["sentence"], found["documents"])
        return Task("chat", lambda world, rng: text)
    if found := _ANSWER.fullmatch(said[-1]):
        question, documents = found["question"], found["documents"]
        topic = next((names for t in (question, *said[-2::-1]) if (names := _names(t))), _NO_WORDS)
        return Task("chat", lambda world, rng: _written(topic, documents, world, rng))
    if found := _ONE.search(said[-1]):
        verdict = _yes_or_no(found["context"], found["sentence"])
        return Task("judge", lambda world, rng: verdict)
    if found := _LIST.search(said[-1]):
        verdicts = _verdicts(found["context"], found["sentences"])
        return Task("judge", lambda world, rng: verdicts)
    again = task_in(said[:-1]) if _RESTATED.match(said[-1]) else None
    return Task("restated", again.answer) if again and again.kind != "chat" else None


def _yes_or_no(context: str, sentence: str) -> str:
    return "Yes" if supports(context, sentence) else "No"


def _verdicts(context: str, sentences: str) -> str:
    """Answer with one line per claim: "1: supported"."""
    items: list[str] = []
    for line in sentences.strip().splitlines():
        mark = _NUMBERED.match(line)
        if mark and int(mark[1]) == len(items) + 1:
            items.append(mark[2])
        elif items and line.strip():
            items[-1] += "\n" + line
    said = ["supported" if supports(context, item) else "contradicted" for item in items]
    return "\n".join(f"{n}: {answer}" for n, answer in enumerate(said, 1))


def _shown_in(text: str) -> list[tuple[int, str]]:
    """Return the documents that a prompt shows, with their numbers."""
    return [(int(m["number"]), m["text"].strip()) for m in _FENCED.finditer(text)]


def _sentences_of(document: str) -> Iterator[str]:
    """Return the sentences of a document, each on one line, without titles and headings."""
    text = document.replace("[…]", "\n\n").strip()
    text = _WRAPPED.sub(" ", _TITLES.sub(r"\g<0>\n", text))
    lines = (" ".join(sentence.text.split()) for sentence in Passage.of(text).sentences)
    return (line for line in lines if _SENTENCE.fullmatch(line))


def _names(text: str) -> set[str]:
    said = [word for word in WORD.findall(text) if word[0].isupper()]
    return stems([word for word in said if fold(word) not in FUNCTION_WORDS | _ORDERS])


def _telling(text: str) -> set[str]:
    words = WORD.findall(text)
    return stems(words) | {fold(word) for word in words if word[0].isdigit()}


def _sentences(topic: set[str], documents: str) -> Mapping[str, list[int]]:
    """Return the sentences about something, with the numbers of the documents that have them."""
    found: dict[str, list[int]] = {}
    for number, text in _shown_in(documents):
        if 2 * len(topic & _telling(text)) >= len(topic):
            for sentence in dict.fromkeys(_sentences_of(text)):
                found.setdefault(sentence, []).append(number)
    return found


def _written(topic: set[str], documents: str, world: World, rng: random.Random) -> str:
    """Say sentences of documents in one of their wordings, those with the topic's names first."""
    sentences = _sentences(topic, documents)
    first = sorted(sentences, key=lambda text: 2 * len(topic & _telling(text)) < len(topic))
    facts = [fact for subject in world.subjects for fact in subject.wordings]
    said: list[str] = []
    for text in first[:_MOST]:
        worded = rng.choice(next((fact for fact in facts if text in fact), (text,)))
        said.append(_marked(worded, sentences[text]))
    return " ".join(said) or "This could not be confirmed."


def _corrected(question: str, sentence: str, documents: str) -> str:
    """Say what is right in the place of a sentence: a documents' one, itself, or `REMOVE`."""
    sentences = _sentences(_names(question), documents)
    agreeing = [number for number, text in _shown_in(documents) if supports(text, sentence)]
    if agreeing:
        return _marked(sentence, agreeing)
    # Names and numbers are what may be wrong with it.
    said = WORD.findall(sentence)
    kept = stems([word for word in said if fold(word) not in exact(said)])
    wanted = kept - _telling(question) or kept
    best = max(sentences, key=lambda text: len(wanted & _telling(text)), default="")
    enough = len(wanted & _telling(best)) >= max(1.0, SUPPORT * len(wanted))
    return _marked(best, sentences[best]) if enough else "REMOVE"


def _marked(sentence: str, numbers: Sequence[int]) -> str:
    return f"{sentence} {''.join(f'[{number}]' for number in numbers)}"
