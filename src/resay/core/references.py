"""References: the trusted texts that come with a request.

Most production answers are written from documents that are already in the conversation: tool
results, documents in a provider's own field, and context that a prompt marks with tags, fences,
labels or numbers. `references_in` finds them by rules, in time linear in the length of the text,
and never in the model's own messages. `mention_score` tells whether a text mentions something by
its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from typing import Any, Final, Literal, cast

from resay.core.query import Message, Query

Origin = Literal["given", "messages", "tools", "documents", "retriever", "own"]
"""The origin of a reference: the caller, context in a message, a tool result, a provider's field
for documents, a retriever used for the answer, or a path or function of the application that the
policy names."""
KINDS: Final = ("given", "messages", "tools", "documents", "retriever")
"""The origins that a policy can name by keyword."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CONTEXT_NOUNS: Final = _listed("""
    context contexts document documents doc docs source sources reference references passage
    passages excerpt excerpts evidence knowledge snippet snippets chunk chunks article articles
    background handbook manual faq text texts material materials results notes file files page pages
    kontext dokument dokumente quelle quellen textstelle textstellen auszug auszüge abschnitt
    abschnitte handbuch materialien unterlagen
    contexte extrait extraits texte textes manuel
    contexto documento documentos fuente fuentes fragmento fragmentos extracto extractos texto
    textos contesto documenti fonte fonti estratto estratti brano brani testo testi manuale
    fontes trecho trechos documentação
    documenten bron bronnen fragment fragmenten tekst teksten handleiding
    上下文 文档 资料 参考资料 参考 背景 コンテキスト 文書 資料 参考資料
""")
# Other words that a label may contain.
_LABEL_FILLERS: Final = _listed("""
    the these this following given relevant retrieved provided search information below above use
    from for here are is excerpted supporting additional base your our my and of to with on data
    user trusted company product official internal
    die der das den folgende folgenden relevante les le la l des suivants suivant los las el
    siguientes i gli seguenti os as seguintes de het volgende
""")
_QUESTION_LABELS: Final = _listed("""
    question questions query user task instruction instructions answer request input human
    assistant response format rules note output reply problem helpful begin
    frage fragen aufgabe anweisung anweisungen antwort nutzer anfrage
    consigne réponse utilisateur tâche instruções
    pregunta respuesta tarea instrucciones usuario domanda risposta compito istruzioni utente
    pergunta resposta tarefa usuário vraag antwoord opdracht gebruiker
    问题 提问 回答 任务 質問 指示
""")
_FROM: Final = re.compile(
    r"\b(?:only|solely|exclusively|strictly|based\s+on|according\s+to|using|use|from|given|refer"
    r"|nur|ausschließlich|anhand|basierend|auf\s+grundlage|laut|verwende\w*|nutze\w*|aus"
    r"|uniquement|seulement|selon|d['’]après|utilise\w*|à\s+partir|en\s+te\s+basant"
    r"|solo|sólo|únicamente|según|usando|usa|utiliza\w*|a\s+partir|basándote"
    r"|soltanto|secondo|in\s+base|dal|apenas|somente|segundo|com\s+base|alleen|volgens|gebruik\w*"
    r")\b|只|仅|根据|根據|基づ|のみ|使用",
    re.IGNORECASE,
)
_OPTIONAL: Final = re.compile(
    r"\b(?:(?:if|where|when)\s+(?:(?:it\s+is|they\s+are|you\s+find\s+\w+)\s+)?(?:helpful|relevant|needed"
    r"|necessary|useful)|may\s+(?:also\s+)?(?:use|be\s+(?:helpful|relevant|useful))|as\s+needed"
    r"|(?:falls|wenn)\s+(?:\w+\s+)?(?:hilfreich|nötig|relevant|nützlich)|bei\s+bedarf"
    r"|si\s+(?:besoin|nécessaire|pertinent|utile)|si\s+(?:es|fuera)\s+(?:necesario|útil)"
    r"|se\s+(?:necessario|necessário|utile|útil|serve)|indien\s+(?:nodig|nuttig))\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\b(?:only|solely|nur|uniquement|seulement|solo|sólo|únicamente|soltanto|apenas|somente|alleen)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_ASIDE = re.compile(r"\([^()]{0,100}\)")
_LABEL = re.compile(
    r"[ \t]{0,3}[#>*_=\[ -]{0,8}(?P<words>[^\n:：]{1,160}?)[\]*_ ]{0,4}[:：]"
    r"[*_]{0,3}(?P<rest>[^\n]*)"
)
_HEADING = re.compile(
    r"[ \t]{0,3}(?:#{1,6}|[*_]{2}|-{3,}|={3,})[ \t]*(?P<words>[^\n*_=#-]{1,80}?)[ \t]*"
    r"(?:[*_]{2}|-{3,}|={3,})?[ \t]*"
)
_MARK = re.compile(r"[ \t]{0,3}([-=#*~_\"'<>]{3,80}|[`~]{3,}[\w-]{0,20}|<<<+|>>>+)[ \t]*")
_PASSAGE = re.compile(
    r"[ \t]{0,3}[*_#]{0,4}[ \t]?(?:\[(?P<mark>[\w.-]{1,24})\][ \t]?[:.)-]?"
    r"|(?P<noun>[^\W\d_]{3,12})[ \t]?[#№]?[ \t]?\[?(?P<number>\d{1,3}|[A-Z])\]?"
    r"(?P<title>[ \t]?[(–—-][^\n:]{0,100})?[*_]{0,2}[:.]"
    r"|(?P<plain>\d{1,3})[.)][ \t])[*_]{0,2}[ \t]?"
)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]{0,40})(?P<rest>[^<>]{0,300})>")
_ATTRIBUTE = re.compile(
    r"(?:id|index|number|n|title|name|source|url|href)\s*=\s*[\"']?([^\"'>\s][^\"'>]{0,200})"
)
_TAGS: Final = _CONTEXT_NOUNS | {
    "search_result",
    "search_results",
    "item",
    "result",
    "kb",
    "retrieved",
    "quote",
}
_KEY = r"[^\W\d][\w-]*"
_PATH = re.compile(rf"{_KEY}(?:\.{_KEY}|\[(?:\d{{1,6}}|\*)\])+")
_STEP = re.compile(rf"({_KEY})|\[(\d+|\*)\]")
# The keys of a model's message with its own words; the others are filled by somebody else.
_MODEL_OUTPUT_KEYS: Final = _listed("""
    annotations audio content function_call reasoning reasoning_content reasoning_details refusal
    text thinking tool_calls
""")
_MIN_WORDS = 3
_QUESTION_CHARS = 400


@dataclass(frozen=True, slots=True)
class Reference:
    """A trusted text to compare an answer with.

    Attributes:
        text: The text.
        source: Its place: `references[0]`, `messages[1]`, `documents[0]`, `retriever[2]`.
        origin: The kind of place.
        start: Its start in the text of its message, in code points; None if it is a whole text.
        end: Its end (exclusive).
        label: Its label in the request, by which an answer can cite it: `2` for "[2] ...".
        binding: Whether the answer must be written from it: claims that no such reference mentions
            are made up.
        edition: Its edition or date, if known: "2024-03-01".
        id: Its id in its store, which a citation may name; not shown to the model.
        title: Its title.
        url: Its address, which an answer may link to.
    """

    text: str = field(repr=False)
    source: str = "references[0]"
    origin: Origin = "given"
    start: int | None = None
    end: int | None = None
    label: str | None = None
    binding: bool = True
    edition: str | None = None
    id: str | None = None
    title: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)


_EDITIONS = (
    "edition",
    "version",
    "revision",
    "date",
    "updated",
    "updated_at",
    "last_modified",
    "modified",
    "valid_from",
    "published",
)
_YEAR = 1_000


def edition_of(metadata: Mapping[str, Any], key: str | None = None) -> str | None:
    """Return the edition or date that a document's metadata names.

    Args:
        metadata: The metadata.
        key: The metadata key; None for the first existing one of the usual keys.
    """
    for name in (key,) if key else _EDITIONS:
        value = metadata.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int, float, date)):
            continue
        if text := str(value).strip():
            return text
    return None


def newness(edition: str) -> tuple[int, ...]:
    """Return a sort key for editions, newest last: their numbers, beginning with the year.

    Args:
        edition: `2024-03-01`, `01.03.2024`, `v2.10`, `3rd edition`.
    """
    numbers = [int(digits) for digits in re.findall(r"\d{1,18}", edition)]
    if numbers and numbers[-1] >= _YEAR > numbers[0]:
        numbers.reverse()
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation that a provider attached to an answer, outside its text.

    Attributes:
        start: The start of the words it belongs to, in code points of the answer.
        end: Their end (exclusive); equal to `start` if the citation follows them.
        id: The cited id, if any, such as that of a file.
        title: The cited title.
        url: The cited address.
        quote: The quoted words of the document.
    """

    start: int
    end: int
    id: str | None = None
    title: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    quote: str | None = field(default=None, repr=False)


def is_path(text: str) -> bool:
    """Return whether a text is a path in a request: `messages[*].metadata.docs[*].text`."""
    return _PATH.fullmatch(text) is not None


def references_in(query: Query, wanted: Collection[str]) -> tuple[Reference, ...]:
    """Find the references of a request.

    Args:
        query: The query, with the client's request.
        wanted: The places to search: origins, and paths in the client's request.

    Returns:
        The references, in the order of the conversation, followed by those at paths; each text
        once.
    """
    found: dict[str, Reference] = {}
    own = [
        reference for path in filter(is_path, wanted) for reference in _at_path(query.request, path)
    ]
    for reference in (*_all_in(query, wanted), *own):
        if len(_WORD.findall(reference.text)) >= _MIN_WORDS:
            found.setdefault(reference.text.strip(), reference)
    return tuple(found.values())


def without_references(query: Query, references: Sequence[Reference]) -> Query:
    """Return the query with the references quoted in its messages replaced by a mark."""
    by_source: dict[str, list[Reference]] = {}
    for reference in references:
        if reference.origin == "messages" and reference.start is not None:
            by_source.setdefault(reference.source, []).append(reference)
    if not by_source:
        return query
    messages = [
        _without_marked(message, i, by_source) if message.get("role") != "assistant" else message
        for i, message in enumerate(query.messages)
    ]
    return replace(query, messages=tuple(messages))


def _without_marked(
    message: Message, place: int, by_source: Mapping[str, Sequence[Reference]]
) -> Message:
    content: Any = message.get("content")
    if isinstance(content, str):
        return {**message, "content": _marked(content, by_source.get(f"messages[{place}]", ()))}
    parts = [
        {
            **part,
            "text": _marked(part["text"], by_source.get(f"messages[{place}].content[{k}]", ())),
        }
        if isinstance(part.get("text"), str)
        else part
        for k, part in enumerate(_mappings(content))
    ]
    return {**message, "content": parts}


def _marked(text: str, references: Sequence[Reference]) -> str:
    pieces: list[str] = []
    position = 0
    for reference in sorted(references, key=lambda r: r.start or 0):
        pieces += [text[position : reference.start], "[...]"]
        position = reference.end or position
    return "".join([*pieces, text[position:]])


def own_reference(given: object, source: str) -> Reference | None:
    """Convert an application's own reference.

    Args:
        given: A text, or a mapping with a text in `text` (or `content`, or a provider's key), and
            optionally an `id`, a `title` and a `url`.
        source: Its place in the request.

    Returns:
        The reference; None if it is neither.
    """
    text = _document_text(given)
    if not text.strip():
        return None
    if not isinstance(given, Mapping):
        return Reference(text, source, "own")
    known = cast("Mapping[str, Any]", given)
    made, title, url = (
        str(known[key]) if isinstance(known.get(key), (str, int)) else None
        for key in ("id", "title", "url")
    )
    return Reference(text, source, "own", label=made or title, id=made, title=title, url=url)


def _at_path(request: Mapping[str, Any], path: str) -> Iterator[Reference]:
    """Yield the references at a path in the client's request, except the model's own words."""
    steps = [name or (int(n) if n != "*" else n) for name, n in _STEP.findall(path)]
    places: list[tuple[str, object, bool]] = [("", request, False)]
    for step in steps:
        places = [found for place in places for found in _inside(place, step)]
    for source, value, _ in places:
        listed = _sequence(value)
        for k, item in enumerate(listed):
            if (reference := own_reference(item, f"{source}[{k}]")) is not None:
                yield reference
        if not listed and (reference := own_reference(value, source)) is not None:
            yield reference


def _inside(place: tuple[str, object, bool], step: str | int) -> Iterator[tuple[str, object, bool]]:
    source, value, is_models = place
    if isinstance(step, int) or step == "*":
        for k, item in enumerate(_sequence(value)):
            if step in ("*", k):
                yield f"{source}[{k}]", item, _is_model_output(item)
    elif isinstance(value, Mapping) and not (is_models and step in _MODEL_OUTPUT_KEYS):
        known = cast("Mapping[str, object]", value)
        if step in known:
            yield f"{source}.{step}" if source else step, known[step], False


def _is_model_output(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    known = cast("Mapping[str, object]", item)
    return known.get("role") in ("assistant", "model") or known.get("type") == "function_call"


def _all_in(query: Query, wanted: Collection[str]) -> Iterator[Reference]:
    for i, text in enumerate(query.references if "given" in wanted else ()):
        yield Reference(text, f"resay.references[{i}]")
    documents = _sequence(query.params.get("documents")) if "documents" in wanted else ()
    for i, text in enumerate(map(_document_text, documents)):
        yield Reference(text, f"documents[{i}]", "documents", label=str(i + 1))
    said = [text for message in query.messages for _, text in _texts(message)]
    binding = None if any(map(_makes_context_optional, said)) else any(map(_requires_context, said))
    for i, message in enumerate(query.messages):
        source, role = f"messages[{i}]", message.get("role")
        if role in ("tool", "function"):
            if "tools" in wanted:
                yield Reference(_plain(message.get("content")), source, "tools")
        elif role in ("user", "system", "developer"):
            for place, text in _texts(message) if "messages" in wanted else ():
                yield from _in_text(text, source + place, binding=binding)
            yield from _in_parts(message.get("content"), source, wanted)


def _in_parts(content: Any, source: str, wanted: Collection[str]) -> Iterator[Reference]:
    """Yield references from providers' own content parts: tool results, documents, search hits."""
    for k, part in enumerate(_mappings(content)):
        kind = part.get("type")
        if kind in ("tool_result", "function_call_output") and "tools" in wanted:
            text = _plain(part.get("content") or part.get("output"))
            yield Reference(text, f"{source}.content[{k}]", "tools")
        elif kind in ("document", "search_result") and "documents" in wanted:
            title, address = part.get("title"), part.get("source")
            yield Reference(
                _document_text(part),
                f"{source}.content[{k}]",
                "documents",
                title=title if isinstance(title, str) else None,
                url=address if isinstance(address, str) else None,
            )


def _document_text(given: object) -> str:
    """Return the text of a document in any provider's format; empty if it has none."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        return ""
    document = cast("Mapping[str, Any]", given)
    inner = document.get("source")
    if isinstance(inner, Mapping):
        held = cast("Mapping[str, Any]", inner)
        return _plain(held.get("data") if held.get("type") == "text" else held.get("content"))
    for key in ("text", "content", "data", "snippet"):
        if found := _plain(document.get(key)):
            return found
    return ""


def _plain(content: object) -> str:
    """Return the text of a value that is a text, a part with one, or a list of them."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _plain(cast("Mapping[str, Any]", content).get("text"))
    return "\n".join(text for part in _sequence(content) if (text := _plain(part)))


def _texts(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the texts of a message, each with its place in the message."""
    content: Any = message.get("content")
    if isinstance(content, str):
        yield "", content
    for k, part in enumerate(_mappings(content)):
        if isinstance(part.get("text"), str):
            yield f".content[{k}]", part["text"]


def _mappings(content: object) -> Iterator[Mapping[str, Any]]:
    for part in _sequence(content):
        yield cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()


def _requires_context(text: str) -> bool:
    """Whether a line tells the model to answer from the context, documents and so on."""
    for line in text.splitlines():
        start = line[:400]
        if _FROM.search(start) and _names_context(start):
            return True
    return False


def _names_context(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    return any(word in _CONTEXT_NOUNS for word in words) or any(
        n in text for n in ("上下文", "文档", "资料", "文書", "資料")
    )


def _in_text(text: str, source: str, *, binding: bool | None) -> Iterator[Reference]:
    """Yield the context that a text marks off, in order.

    Args:
        text: The text.
        source: Its place in the request.
        binding: Whether the model is told to answer from it; None if it is optional.
    """
    tagged = list(_tagged(text))
    covered = [(start, end) for start, end, *_ in tagged]
    found = sorted([*tagged, *_labelled(text, covered)], key=lambda span: span[0])
    for start, end, label, asked in found:
        stripped = text[start:end].strip()
        if stripped:
            begin = start + text[start:end].index(stripped)
            yield Reference(
                stripped,
                source,
                "messages",
                begin,
                begin + len(stripped),
                label,
                binding is not None and (binding or asked or len(found) > 1),
            )


_MarkedSpan = tuple[int, int, str | None, bool]
"""Start, end, label, and whether the label of a question follows."""


def _tagged(text: str) -> Iterator[_MarkedSpan]:
    """Yield the contents of the innermost tags that are named for documents."""
    open_tags: list[tuple[str, int, str | None, int]] = []
    found: list[_MarkedSpan] = []
    for tag in _TAG.finditer(text):
        name = tag["name"].casefold().replace("-", "_")
        words = name.split("_")
        if not (name in _TAGS or any(word in _TAGS or word.rstrip("s") in _TAGS for word in words)):
            continue
        if not tag["end"]:
            if not tag["rest"].endswith("/"):
                label = _ATTRIBUTE.search(tag["rest"])
                known = label[1].strip() if label else open_tags[-1][2] if open_tags else None
                open_tags.append((name, tag.end(), known, len(found)))
            continue
        for k in range(len(open_tags) - 1, max(len(open_tags) - 9, -1), -1):
            if open_tags[k][0] == name:
                _, start, label, before = open_tags[k]
                del open_tags[k:]
                # A tag that contains documents is not one itself.
                words = _WORD.findall(text[start : tag.start()])
                if len(found) == before and len(words) >= _MIN_WORDS:
                    found.append((start, tag.start(), label, False))
                break
    yield from found


def _makes_context_optional(text: str) -> bool:
    """Whether a line says that using the context is optional."""
    for line in text.splitlines():
        start = line[:400]
        if _OPTIONAL.search(start) and _FROM.search(start) and not _ONLY.search(start):
            return _names_context(start)
    return False


@dataclass(slots=True)
class _Block:
    """A span of a text that is marked off as context.

    Attributes:
        start: Its start.
        mark: The line that begins and ends it, such as a fence; None if there is none.
        passages: Its numbered passages: start, end and label of each.
        marked: Whether one of them has a mark or a noun, "[1]" or "Document 1:". Lines with a plain
            number are then clauses inside a passage, not passages.
    """

    start: int
    mark: str | None = None
    passages: list[tuple[int, int, str | None]] = field(
        default_factory=list[tuple[int, int, str | None]]
    )
    marked: bool = False

    def begin_passage(self, line: int, start: int, label: str | None) -> None:
        """End the current passage before a line, and begin one after the line's label."""
        if self.passages:
            first, _, known = self.passages[-1]
            self.passages[-1] = (first, line, known)
        elif line > self.start:
            self.passages.append((self.start, line, None))
        self.passages.append((start, start, label))


class _LineParser:
    """Finds context marked off by labels, fences and numbers, line by line.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._block: _Block | None = None
        self._announced = False
        self.found: list[_MarkedSpan] = []

    def read(self, start: int, end: int) -> None:
        """Process the next line."""
        line = self._text[start:end].rstrip("\r\n")
        block, mark = self._block, _MARK.fullmatch(line)
        if mark is not None:
            self._read_mark(mark[1], start, end)
        elif block is not None and block.mark is not None:
            if passage := self._passage_in(block, line):
                block.begin_passage(start, start + passage[0], passage[1])
        else:
            self._read_words(line, start)

    def close(self, end: int, *, asked: bool = False) -> None:
        """End the block, if one is open.

        Args:
            end: Its end.
            asked: Whether the label of a question ends it.
        """
        block, self._block = self._block, None
        if block is None:
            return
        if block.mark is None:
            end = _before_question(self._text, block.start, end)
        if not block.passages:
            self.found.append((block.start, end, None, asked))
            return
        first, _, label = block.passages[-1]
        for begin, stop, known in (*block.passages[:-1], (first, end, label)):
            if begin < stop:
                self.found.append((begin, stop, known, asked))

    def _read_mark(self, mark: str, start: int, end: int) -> None:
        block = self._block
        if block is not None and block.mark is not None:
            if mark[0] == ">" if block.mark[0] == "<" else mark[:3] == block.mark[:3]:
                self.close(start)
        elif self._announced or (block is not None and not self._text[block.start : start].strip()):
            self._block = _Block(end, mark)
        elif block is not None:
            # A separator line between passages.
            block.begin_passage(start, end, None)
        self._announced = False

    def _passage_in(self, block: _Block | None, line: str) -> tuple[int, str | None] | None:
        """Like `_passage`, but ignore numbered items inside a marked passage ("[1] ...")."""
        passage = _passage(line, inside=block is not None)
        if passage is None or block is None:
            return passage
        is_marked = _is_marked(line)
        if block.marked and not is_marked:
            return None
        block.marked = block.marked or is_marked
        return passage

    def _read_words(self, line: str, start: int) -> None:
        passage = self._passage_in(self._block, line)
        label = None if passage and _names_passage(line) else _context_start(line)
        if label is not None:
            self.close(start, asked=label < 0)
            if label >= 0:
                self._block = _Block(start + label)
        elif passage is not None:
            self._block = self._block or _Block(start, marked=_is_marked(line))
            self._block.begin_passage(start, start + passage[0], passage[1])
        if line.strip():
            self._announced = self._block is None and label is None and _announces(line)


def _labelled(text: str, covered: Sequence[tuple[int, int]]) -> list[_MarkedSpan]:
    """Return the context marked off by labels, fences and numbers, outside of tags."""
    lines = _LineParser(text)
    position, place = 0, 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        while place < len(covered) and covered[place][1] <= start:
            place += 1
        if place < len(covered) and covered[place][0] < position:
            lines.close(start)
        else:
            lines.read(start, position)
    lines.close(len(text))
    return lines.found


def _announces(line: str) -> bool:
    """Whether a line announces context: "Context information is below."."""
    return (
        len(line) <= 200 and _names_context(line) and line.rstrip().endswith((".", ":", "：", "。"))
    )


_ENDS_CONTEXT = -1


def _context_start(line: str) -> int | None:
    """Return where context begins after a label; -1 for a label that ends context; or None."""
    match = _LABEL.match(line)
    if match is not None:
        words = _WORD.findall(_ASIDE.sub("", match["words"].casefold()))
        is_short = len(words) <= 6 and all(
            word in _CONTEXT_NOUNS | _LABEL_FILLERS for word in words
        )
        if 0 < len(words) <= 4 and words[-1] in _QUESTION_LABELS:
            return _ENDS_CONTEXT
        if _CONTEXT_NOUNS.intersection(words) and (is_short or not match["rest"].strip(" *_\t")):
            return match.start("rest")
        return None
    heading = _HEADING.fullmatch(line)
    words = _WORD.findall(heading["words"].casefold()) if heading else []
    if 0 < len(words) <= 4 and words[-1] in _QUESTION_LABELS:
        return _ENDS_CONTEXT
    is_named = _CONTEXT_NOUNS.intersection(words) and all(
        word in _CONTEXT_NOUNS | _LABEL_FILLERS for word in words
    )
    return len(line) if is_named and len(words) <= 5 else None


def _passage(line: str, *, inside: bool) -> tuple[int, str | None] | None:
    """Return the start of a numbered passage's text in its line, and its label."""
    match = _PASSAGE.match(line)
    if match is None:
        return None
    if match["noun"] is not None:
        is_named = match["noun"].casefold() in _CONTEXT_NOUNS
        return (match.end(), match["number"]) if is_named else None
    if match["plain"] is not None:
        return (match.end(), match["plain"]) if inside else None
    return (match.end(), match["mark"]) if inside or match["mark"].isdigit() else None


def _is_marked(line: str) -> bool:
    """Whether a passage has more than a plain number: "[2] ...", "Document 2: ..."."""
    match = _PASSAGE.match(line)
    return match is not None and match["plain"] is None


def _names_passage(line: str) -> bool:
    """Whether a passage is labelled with a noun and a number: "Document 2: ..."."""
    match = _PASSAGE.match(line)
    return match is not None and match["noun"] is not None


def _before_question(text: str, start: int, end: int) -> int:
    """Return the end of a block, before its last paragraph if that asks something."""
    body = text[start:end].rstrip()
    gap = body.rfind("\n\n")
    last = body[gap:].strip() if gap >= 0 else ""
    if last and len(last) <= _QUESTION_CHARS and last.endswith(("?", "？")):
        return start + gap
    return end


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of trusted text, small enough for a model to read several at once.

    Attributes:
        id: Its unique id in its retriever: `guide.md#3`, a URL, a key. Appears in verdicts,
            including those stored without content.
        text: The text.
        score: Its relevance to the search, in the retriever's own units; None if unknown. Only the
            order of documents is relied on.
        metadata: Anything else known about it; `title` and `url` are shown if present.
    """

    id: str
    text: str = field(repr=False)
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def title(self) -> str:
        """Its display name: its title, or else its id."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) and title.strip() else self.id


# "X100-S" does not name an X100, and an X110 is something else.
_NUMBER_OF_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_LONGER = re.compile(r"[ \u00a0]([^\W_])")


_NAME_WORD = re.compile(r"[^\W_]+")
_BETWEEN_NAME_WORDS = re.compile(r"[\W_]{1,3}\Z")
_PART_OF_ANOTHER = re.compile(r"[-‐‑]\w")


class MentionIndex:
    """The words of a text, in which many names are looked up.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._matches = list(_NAME_WORD.finditer(text))
        self._words = [match[0].lower() for match in self._matches]
        self._places: dict[str, list[int]] = {}
        for index, word in enumerate(self._words):
            self._places.setdefault(word, []).append(index)
        self._scores: dict[str, float] = {}

    def score(self, name: str) -> float:
        """Return how surely the text mentions a name, as `mention_score` does."""
        if name not in self._scores:
            words = _NAME_WORD.findall(name.lower())
            places = self._places.get(words[0], []) if words else []
            self._scores[name] = max((self._score_at(index, words) for index in places), default=0)
        return self._scores[name]

    def _score_at(self, index: int, words: Sequence[str]) -> float:
        """Return how surely a name stands at a word."""
        last = index + len(words) - 1
        if self._words[index : last + 1] != words:
            return 0.0
        for before, after in pairwise(self._matches[index : last + 1]):
            if not _BETWEEN_NAME_WORDS.match(self._text, before.end(), after.start()):
                return 0.0
        end = self._matches[last].end()
        if _PART_OF_ANOTHER.match(self._text, end):
            return 0.0
        longer = _LONGER.match(self._text, end)
        return 0.5 if longer and not longer[1].islower() else 1.0


def mention_score(name: str, text: str) -> float:
    """Return how surely a text mentions a name, ignoring spaces, hyphens and case.

    Args:
        name: The name.
        text: The text.

    Returns:
        1 if it does, 0 if it does not or only as a part of another word (X100 in X100-S), 0.5 if it
        is followed by words that may belong to a longer name (X100 Pro).
    """
    return MentionIndex(text).score(name)


def mentions_name(name: str, text: str) -> bool:
    """Return whether a text mentions a name, not just as a part of another: X100 is no X100-S."""
    return mention_score(name, text) > 0


def mentions_similar(name: str, text: str) -> bool:
    """Return whether a text names something similar to a name with a number: an X110, for X100.

    Args:
        name: The name. Nothing is similar to one without digits, of digits alone, or with a year:
            March 1932.
        text: A text that does not mention it.
    """
    words = re.findall(r"[^\W_]+", name)
    numbered = [i for i, word in enumerate(words) if any(map(str.isdigit, word))]
    if not numbered or words[0].isdigit() or _NUMBER_OF_YEAR.fullmatch(words[numbered[0]]):
        return False
    first = numbered[0]
    before = "".join(rf"{re.escape(word)}[\W_]{{1,3}}" for word in words[:first])
    # Without a brand, only the same letters are similar: an A4 is no X100.
    like = r"\w*\d\w*" if first else re.sub(r"\d+", r"\\d+", re.escape(words[0]))
    return re.search(rf"(?<![^\W_]){before}{like}", text, re.IGNORECASE) is not None
