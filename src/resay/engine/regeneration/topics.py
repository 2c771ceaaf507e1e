"""Finds the topic of a question, and reduces a sentence to the parts that are unlikely to be wrong.

The topic is found by form: quoted words, names, or the rest of the question. Instructions ("Write a
short paragraph about", "in 100 words") are removed as far as their words allow, in seven European
languages, Russian, and, by the particles around the object, Chinese, Japanese and Korean. In other
languages the question itself is the topic.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import dropwhile

from resay.core.passage import Passage
from resay.core.segmentation.sentence_words import ORDINAL_MONTHS
from resay.lang.detection import detect, detect_from_words
from resay.scorers.reverse_validation.words import Word, join, split_words

_WORD = re.compile(r"[^\W_]+")
# Including halves of surrogate pairs, which no index accepts.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_MARKER = re.compile(
    rf"""
    ^(?:\s{{0,3}}
        (?: > | \#{{1,6}}(?=\s) | [-*+•‣◦](?=\s) | \[[ xX]\](?=\s)
          | \d{{1,3}}[.)](?=\s)(?!\s+(?:{ORDINAL_MONTHS})\b)
        )
     )+
    """,
    re.MULTILINE | re.VERBOSE,
)
_NUMBERS = r"\d{1,3}(?:\s{0,2}[-–,;]\s{0,2}\d{1,3}){0,20}"
_CITATION = re.compile(
    rf"""
    \s{{0,4}}\[\s?\^?{_NUMBERS}\s?\](?:\([^()\s]{{0,500}}\))?
  | \s{{0,4}}\[\^[^\[\]\s]{{1,40}}\]:?
  | \s{{0,4}}\[(?:citation\s+needed|sources?|refs?\.?|note\s\d{{1,3}})\](?!\()
  | \s{{0,4}}【\d{{1,3}}(?::\d{{1,3}})?(?:†[^【】]{{0,80}})?】
  | (?<=[.,;:!?)\]"”’»。，])[⁰¹²³⁴-⁹]{{1,4}}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LINK = re.compile(
    r"!?\[([^\[\]]{0,300})\]\((?:[^()\s]|\([^()\s]{0,100}\)){0,500}"
    r"(?:\s{1,4}[\"'][^\"']{0,200}[\"'])?\)"
)
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]{1,500})>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,12}(?:\s[^<>]{0,200})?/?>")
# In scripts without spaces, emphasis marks directly adjoin words.
_EMPHASIS = re.compile(
    r"(?<![0-9A-Za-z*\\])\*{1,3}(?=\S)|(?<=[^\s*\\])\*{1,3}(?![0-9A-Za-z*])"
    r"|(?<![\w\\])_{1,3}(?=\S)|(?<=[^\s_\\])_{1,3}(?!\w)|~~|(?<!\\)`+"
)
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return _WORD.search(text) is not None


def plain(text: str) -> str:
    """Return a text without Markdown and citation marks, on one line.

    Args:
        text: Any text.

    Returns:
        The remaining text. A text of nothing but marks keeps their words, if these have letters.
    """
    cleaned = _CITATION.sub("", _MARKER.sub("", text))
    cleaned = _ADDRESS.sub(r"\1", _LINK.sub(r"\1", cleaned))
    cleaned = _EMPHASIS.sub("", _TAG.sub("", cleaned))
    cleaned = unescape(_ESCAPED.sub(r"\1", cleaned))
    cleaned = " ".join(_CONTROLS.sub(" ", cleaned).split())
    if not has_words(cleaned) and any(map(str.isalpha, text)):
        return " ".join(_WORD.findall(text))
    return cleaned


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lowercase, in seven languages: closed-class words, and verbs and nouns of asking.
STOP_WORDS = _words("""
    a about after all also am an and any are as at be because been before being but by can could did
    do does doing during each for from had has have having he her hers him his how i if in into is
    it its just me more most much my no not of on one or our out over own please she should so some
    such than that the their them then there these they this those to too under until up very was we
    were what when where which while who whom whose why will with would you your
    ask answer compare create define describe describes discuss draft explain generate give help hi
    hello know list let make mention name outline provide say show summarise summarize talk teach
    tell think wonder write
    anything article biography brief briefly detail details essay explanation fact facts information
    overview paragraph passage question short summary sentence something thing things
    der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird
    wurde wurden hat haben hatte kann können ich du er sie es wir ihr mir mich dir uns mit von vom
    zu zum zur in im an am auf aus bei bis für nach über unter um wie was wer wen wem wann wo woher
    wohin warum wieso weshalb welche welcher welches welchen nicht bitte nenne beschreibe erkläre
    schreibe schreib erzähle gib mal
    le la les l un une des du de d et ou mais est sont était étaient sera a ont avait je tu il elle
    on nous vous ils elles me moi te se en y dans par pour sur sous avec sans ce cet cette ces qui
    que quoi quel quelle quels quelles quand où comment pourquoi combien est-ce ne pas s'il plaît
    décris décrivez explique expliquez écris écrivez donne donnez parle parlez
    el los las lo una unos unas y o pero es son era eran fue fueron ha han había yo tú él ella
    nosotros ellos mi te nos al del por para con sin sobre como cómo qué quién quiénes cuál cuáles
    cuándo dónde cuánto cuántos cuántas no por favor describe explica escribe dime dame háblame
    il lo i gli uno di da dal dalla del della dei delle nel nella sul sulla per tra fra e o ma sono
    era erano fu ha hanno io lei lui noi mi ti che chi cosa quale quali quando dove come perché
    quanto quanti non scrivi spiega descrivi dimmi parlami
    o os as um uma do da dos das no na nos nas ao à em com sem e ou mas é são foi foram era tem eu
    ele ela eles elas que quem qual quais onde quanto não escreva explique descreva fale diga
    het een van en of maar is zijn was waren wordt werd heeft hebben ik jij je hij zij ze wij we
    mij met op aan bij uit voor naar over onder hoe wat wie waar wanneer waarom welke welk niet
    schrijf vertel beschrijf geef
""")
_POLITE = (
    r"(?:please|kindly|hi|hello|hey|now|(?:can|could|would|will)\s+you(?:\s+please)?|i(?:\s+would"
    r"|'d|’d)?\s+(?:want|like|need)(?:\s+you)?\s+to|i'?m\s+curious|let'?s|bitte|(?:kannst|könntest)"
    r"\s+du|(?:können|könnten)\s+sie|s'il\s+(?:te|vous)\s+plaît|(?:peux|pourrais)-tu|(?:pouvez"
    r"|pourriez)-vous|por\s+favor|¿?\s*(?:puedes|podrías|puede|podría)|per\s+favore|puoi|potresti"
    r"|você\s+pode|pode|kun\s+je|пожалуйста)"
)
_VERB = (
    r"(?:write|tell|give|provide|create|compose|draft|generate|produce|prepare|make|talk|speak"
    r"|explain|describe|discuss|summari[sz]e|list|name|outline|teach|show|share|know|learn|hear"
    r"|schreiben?|schreib|verfassen?|erzählen?|erzähl|gib|geben|erstellen?|erstelle|erkläre?n?"
    r"|beschreiben?|nennen?|berichte|écri(?:s|vez|re)|rédige[rz]?|parle[rz]?|donne[rz]?|raconte[rz]?"
    r"|explique[rz]?|décri(?:s|vez|re)|escrib[ae]|escribir|redact[ae]|háblame|dame|cuéntame|explicar?"
    r"|describ[ae]|scrivi|scrivere|parlami|dammi|raccontami|spiega(?:mi)?|descrivi|escreva|fale"
    r"|conte|explique|descreva|schrijf|vertel|geef|beschrijf|напиши(?:те)?|расскажи(?:те)?"
    r"|объясни(?:те)?|опиши(?:те)?)"
)
_TEXT = (
    r"(?:summary|biography|bio|description|overview|introduction|explanation|definition|account"
    r"|profile|outline|essay|article|paragraph|passage|text|report|history|timeline|portrait"
    r"|zusammenfassung|biogra(?:f|ph)ie|beschreibung|überblick|résumé|description|présentation"
    r"|resumen|biografía|descripción|riassunto|descrizione|resumo|biografia|descrição|samenvatting)"
)
_ABOUT = (
    r"(?:about|regarding|concerning|on|über|zum?|zur|sur|à\s+propos\s+d(?:e\s|u\s|es\s|')|sobre"
    r"|acerca\s+de|su|sull[ao]|over|об?о?|про"
    rf"|{_TEXT}\s+(?:of|for|to|von|vom|de|du|des|di|da|do|del|della|van)\b)"
)
# The text in between may not end a sentence.
_UP_TO = r"[^.?!:;\n。？！]{0,100}?"
LEAD_INS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"[¿¡\W]*(?:{_POLITE}[\s,]+){{0,3}}{_VERB}\b{_UP_TO}(?<!\w){_ABOUT}\s+(?P<object>\S.*)",
        r"\W*(?:this|that|here|below|(?:the\s+)?following|what\s+follows|dies|das|hier|voici|ceci"
        r"|c|est[ao]|quest[ao]|dit)\b[\s'’]{1,2}(?:is|are|'s|ist|folgt|est|es|é|è)"
        rf"\s{_UP_TO}(?<!\w){_ABOUT}\s+(?P<object>\S.*)",
        r"\W*(?:what\s+(?:do|can|could)\s+you\s+(?:know|tell\s+me|say)|do\s+you\s+know\s+(?:anything"
        r"|something)|was\s+weißt\s+du|que\s+sais-tu|qué\s+sabes)"
        rf"\s+{_ABOUT}\s+(?P<object>\S.*)",
        r".{0,40}?(?:关于|關於|有关|有關)(?P<object>.{2,60}?)(?:的|，|。|$).*",
        r"(?P<object>.{2,60}?)(?:について|に関して|に\s?대(?:해|하여|한)|에\s?대(?:해|하여|한)).*",
        r"(?:请|請)?(?:简单|簡單)?(?:介绍|介紹)(?:一下)?(?P<object>.{2,60})",
    )
)
"""Sentences that say what to write about, which is the group `object`."""
ORDERS = re.compile(
    rf"""
    \W*(?:{_POLITE}[\s,]+){{0,2}}
    (?: answer|respond|reply|use|keep|be|do\s+not|don['’]t|never|always|avoid|include|cite|return
      | output|format|think|make\s+sure|limit|ensure|note|remember|act\s+as|you\s+are|your\s+task
      | only|no\s+more\s+than|at\s+most|in\s+(?:one|two|\d+)\s+(?:words?|sentences?|paragraphs?)
      | antworte|verwende|benutze|halte|sei|vermeide|du\s+bist|réponds|répondez|utilise[zr]?|sois
      | soyez|tu\s+es|vous\s+êtes|responde|usa|utiliza|eres|rispondi|usa|sei|sii|responda|use
      | antwoord|gebruik
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The beginning of a sentence that only says how to answer."""
LABEL = re.compile(
    r"(?<!\W)\W*(?:question|q|query|user|human|prompt|task|instruction|frage|pregunta|domanda|问题|問題|質問)"
    r"\s*[:：]\s*",
    re.IGNORECASE,
)
_COUNT = (
    r"(?:\d+|one|two|three|four|five|a\s+few|a\s+single|ein(?:em|en)?|zwei|drei|une?|deux|dos|tres)"
)
TAIL = re.compile(
    rf"""
    (?<![\s,(])[\s,(]+ (?:
        (?:in|using|with|within|under|of|auf|en|dans)\s+(?:(?:at\s+most|about|around|exactly|under
            |only|the|up\s+to|no\s+more\s+than|less\s+than|fewer\s+than)\s+){{0,2}}{_COUNT}[\s-]+
        (?:\w+\s+){{0,2}}?(?:words?|sentences?|paragraphs?|lines?|bullets?|points?|pages?|steps?
            |characters?|tokens?|wörtern?|sätzen?|worten|mots|phrases?|palabras|frases)\b.*
      | (?:in\s+(?:great\s+)?detail|in\s+(?:short|brief|simple|plain)\b.*|briefly|please|bitte
            |step\s+by\s+step|por\s+favor|per\s+favore|s'il\s+(?:te|vous)\s+plaît)
    ) \W*\Z
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The required length or detail of an answer, at the end of a sentence."""
COMPARING = re.compile(
    r"\b(?:compare[sd]?|comparison|versus|vs|differences?|differ|unterschiede?|vergleiche?"
    r"|différences?|compare[zr]?|diferencias?|compara|differenz[ae]|confronta|verschil(?:len)?)\b"
    r"|区别|區別|比较|比較|違い|차이",
    re.IGNORECASE,
)
"""Questions about several things, each of which an answer covers separately."""
_SUBJECT_CHARS = 80
_MOST_NAMES = 3
# Longer questions are read only at both ends: the actual question is seldom in the middle.
_READ_CHARS = 600
# A name must appear with all of its words; for a longer phrase, two in three are enough.
_ALL_WORDS = 4
_THIN = 2
_QUOTED = re.compile(
    r"[“„«「『《‹]([^“”„«»「」『』《》‹›]{2,80})[”“»」』》›]|(?<!\w)\"([^\"]{2,80})\"(?!\w)"
)
_ASKS = re.compile(r"[?？؟;⁇]\W*\Z")
_AND = frozenset({"and", "&", "y", "e", "et", "und"})
_OF = "of the de del di da du des la le les el von van der den ten ter zu"
_INSIDE_NAMES = _AND.union(_OF.split())
_ADJOINS = re.compile(r"[\s\-‐‑'’.&/]{0,2}")
_QUOTES = re.compile(r"[\"“”„«»「」『』《》‹›]")
_EDGES = re.compile(r"\A[\W_]+|(?<![^\w)\]])[^\w)\]]+\Z")


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a question.

    Attributes:
        names: The names in it, each to be added to sentences without it.
        focus: What it asks about, in its own words; added to sentences with hardly any content.
        compares: Whether it asks about several things, of which a sentence may name one.
        is_named: Whether `names` are proper names or the entity, and not the focus for want of any.
    """

    names: tuple[str, ...]
    focus: str = ""
    compares: bool = False
    is_named: bool = False

    @property
    def longest(self) -> int:
        """The maximum length of the result of `missing`, in characters."""
        return max(len(", ".join(self.names)), len(self.full_text))

    @property
    def full_text(self) -> str:
        """The names and the focus, on one line."""
        return ", ".join(self._with_focus(self.names))

    def missing(self, claim: str) -> str:
        """Return the text to put before a claim; empty if the claim names all of it."""
        names = [name for name in self.names if not _is_named(name, claim)]
        if self.compares and len(names) < len(self.names):
            names = []
        own = content_of(claim) - content_of(" ".join(self.names))
        if len(own) < _THIN and self.focus and not _is_named(self.focus, claim):
            names = self._with_focus(names)
        return ", ".join(names)

    def _with_focus(self, names: Iterable[str]) -> list[str]:
        beside = [name for name in names if not _is_named(name, self.focus)]
        return [*beside, self.focus] if self.focus else beside


def content_of(text: str) -> frozenset[str]:
    """Return the content words of a text, folded for comparison."""
    return frozenset(w.key for w in split_words(text) if not _is_stop(w))


def _is_stop(word: Word) -> bool:
    return word.small or word.text.lower() in STOP_WORDS


def _is_named(name: str, text: str) -> bool:
    wanted, there = split_words(name), split_words(text)
    joined = join(wanted)
    # If words are not separated, or have endings, a name may be part of other words.
    if (len(joined) > _ALL_WORDS or not joined.isascii()) and joined in join(there):
        return True
    keys = {w.key for w in wanted if not w.small} or {w.key for w in wanted}
    if any(not key.isascii() for key in keys):
        return False
    found = len(keys & {w.key for w in there})
    return found == len(keys) or (len(keys) > _ALL_WORDS and 3 * found >= 2 * len(keys))


def topic_of(question: str, entity: str | None = None) -> Topic:
    """Return the topic of a question.

    Args:
        question: The text of a user's message, plain or Markdown; may be empty.
        entity: Its main subject, if known; it is then used as the only name.

    Returns:
        The topic, without names if the question has no words.
    """
    asked, others = _parts(question)
    phrases = [phrase for phrase in map(_phrase, asked) if phrase]
    focus = shortened(phrases[0], _SUBJECT_CHARS) if phrases else ""
    if entity and has_words(entity):
        return Topic((shortened(plain(entity), _SUBJECT_CHARS),), focus, is_named=True)
    compares = any(COMPARING.search(part) for part in asked)
    names = tuple(_distinct_names(_names_in(asked, others, apart=compares)))
    # A single German noun, always capitalised, may be any noun.
    is_german = detect(question) == "de"
    is_named = any(not is_german or " " in name or re.search(r"\d", name) for name in names)
    return Topic(names or ((focus,) if focus else ()), focus, compares, is_named)


def questions_in(text: str) -> list[str]:
    """Return the sentences of a user's message that end with a question mark, plain."""
    return [
        plain(s.text) for s in Passage.of(text[-_READ_CHARS:]).sentences if _ASKS.search(s.text)
    ]


def nearest_question(sentence: str, questions: Sequence[str], place: int | None) -> str | None:
    """Return the one of several questions that a sentence answers.

    Args:
        sentence: The sentence.
        questions: The questions.
        place: Its index among the answer's sentences, if there are as many as questions.

    Returns:
        The question that shares the most words with it, ignoring words of names and of all
        questions; in a tie, the one at its index, or None.
    """
    words = [content_of(question) for question in questions]
    common = frozenset[str]().union(*_named_words(questions), words[0].intersection(*words))
    said = content_of(sentence) - common
    shares = [len(said & one) for one in words]
    best = [i for i, share in enumerate(shares) if share == max(shares)]
    if len(best) == 1:
        return questions[best[0]]
    return questions[place] if place is not None else None


def _named_words(questions: Iterable[str]) -> Iterator[frozenset[str]]:
    return (content_of(name) for question in questions for name in _named_in(question))


def _named_in(text: str) -> tuple[str, ...]:
    asked, others = _parts(text)
    return tuple(_distinct_names(_names_in(asked, others, apart=False)))


def _parts(question: str) -> tuple[list[str], list[str]]:
    """Split a question into asking sentences, without instructions, and the rest."""
    text = question.strip()
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n\n{text[-_READ_CHARS:]}"
    sentences = [sentence.text for sentence in Passage.of(text).sentences] or [text]
    plains = [LABEL.sub("", plain(sentence), count=1) for sentence in sentences]
    objects = [_object(sentence) for sentence in plains]
    asked: list[str] = []
    others: list[str] = []
    for sentence, found in zip(plains, objects, strict=True):
        if found:
            asked.append(found)
        elif _ASKS.search(sentence):
            asked.append(TAIL.sub("", sentence))
        elif has_words(sentence) and not ORDERS.match(sentence):
            others.append(TAIL.sub("", sentence))
    return (asked, others) if asked else (others or plains, [])


def _object(sentence: str) -> str:
    """Return what a sentence asks to be written about; empty if it does not say."""
    for lead_in in LEAD_INS:
        if found := lead_in.match(sentence):
            return TAIL.sub("", found["object"])
    return ""


def _phrase(text: str) -> str:
    """Return a sentence without the asking words at its ends."""
    words = list(dropwhile(_is_stop, split_words(text)))
    while words and _is_stop(words[-1]):
        words.pop()
    inner = text[words[0].start : words[-1].end] if words else ""
    return " ".join(_EDGES.sub("", _QUOTES.sub("", inner)).split())


def _names_in(asked: Sequence[str], others: Sequence[str], *, apart: bool) -> Iterator[str]:
    """Yield the quoted names, then the capitalized ones.

    Args:
        asked: The texts to search first.
        others: The texts to search next; their first words are not names.
        apart: Whether "and" separates names rather than being part of one.
    """
    for text in (*asked, *others):
        for quoted in _QUOTED.finditer(text):
            yield quoted[1] or quoted[2]
    small = _INSIDE_NAMES - _AND if apart else _INSIDE_NAMES
    for text in asked:
        yield from (name for _, name in _capitalised(text, small))
    for text in others:
        yield from (name for first, name in _capitalised(text, small) if first or " " in name)


def _capitalised(text: str, small: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield runs of capitalized words, each with the index of its first word."""
    # In a text all in capitals, or in a script without them, they carry no information.
    words = split_words(text) if any(map(str.islower, text)) else []
    i = 0
    while i < len(words):
        end = _end_of_name(text, words, i, small)
        run = words[i:end]
        # "Is Venice" begins a sentence; "The Who" inside one is a name.
        if i == 0 or len(run) == 1:
            run = list(dropwhile(_is_stop, run))
        if run:
            yield i, text[run[0].start : run[-1].end]
        i = max(end, i + 1)


def _end_of_name(text: str, words: Sequence[Word], first: int, small: frozenset[str]) -> int:
    """Return the end of the run of capitalized words starting at `first`; `first` if none does."""
    end = i = first
    if not words[first].capital:
        return first
    while i < len(words) and (i == first or _adjoins(text, words[i - 1], words[i])):
        if words[i].capital or (i > first and words[i].text[0].isdecimal()):
            end = i + 1
        elif words[i].text not in small:
            break
        i += 1
    return end


def _adjoins(text: str, a: Word, b: Word) -> bool:
    return _ADJOINS.fullmatch(text, a.end, b.start) is not None


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Return the first distinct names that fit in the available space."""
    kept: list[str] = []
    for name in map(plain, names):
        if not has_words(name) or any(_is_named(name, other) for other in kept):
            continue
        fits = len(", ".join([*kept, name])) <= _SUBJECT_CHARS
        if len(kept) < _MOST_NAMES and fits:
            kept.append(name)
    return kept


def shortened(text: str, chars: int) -> str:
    """Return the longest beginning of a text that fits, cut between words if possible.

    Args:
        text: A text on one line.
        chars: The maximum length in characters.
    """
    if len(text) <= chars:
        return text
    cut = text.rfind(" ", chars // 2, chars + 1)
    return text[: cut if cut > 0 else chars].rstrip()


def without_values(sentence: str, question: str, wrong: Collection[str] = ()) -> str:
    """Return a sentence without details that may be wrong: numbers, and names not asked about.

    The name at its beginning stays if the question has none, because that is its subject.

    Args:
        sentence: A flagged sentence, plain or Markdown.
        question: The question; names in it stay.
        wrong: Words that evidence contradicts; removed unless the question contains them.

    Returns:
        The remaining text, on one line; empty if it has no content.
    """
    text = plain(sentence)
    words = split_words(text)
    known = {w.key for w in split_words(question)}
    contrary = {w.key for part in wrong for w in split_words(part)}
    gone = {i for i, w in enumerate(words) if w.key in contrary}
    # In German all nouns are capitalized, so only several in a row are surely a name.
    least = 2 if detect_from_words([w.text.lower() for w in words]) == "de" else 1
    runs = [
        range(i, _end_of_name(text, words, i, frozenset()))
        for i, w in enumerate(words)
        if w.capital and (i == 0 or not _adjoins(text, words[i - 1], w) or not words[i - 1].capital)
    ]
    subject = next(iter(runs), range(0))
    begins = all(_is_stop(w) for w in words[: subject.start]) and not _named_in(question)
    kept = set(subject) if begins else set[int]()
    for run in runs:
        if len(run) >= least and not {words[i].key for i in run} <= known:
            gone.update(i for i in run if i not in kept and not _is_stop(words[i]))
    gone.update(i for i, w in enumerate(words) if w.text[0].isdecimal() and i not in kept)
    gone -= {i for i, w in enumerate(words) if w.key in known}
    left = text
    for i in sorted(gone, reverse=True):
        left = f"{left[: words[i].start].rstrip()} {left[words[i].end :].lstrip(',;:%°€$£')}"
    left = " ".join(left.split()).rstrip(" .,;:!") if gone else text
    named = {words[i].key for i in kept}
    return left if content_of(left) - named else ""


def subject_of(sentence: str) -> str:
    """Return the name at the beginning of a sentence; empty if there is none."""
    words = split_words(sentence)
    end = _end_of_name(sentence, words, 0, _INSIDE_NAMES) if words else 0
    run = list(dropwhile(_is_stop, words[:end]))
    return sentence[run[0].start : run[-1].end] if len(run) > 1 else ""
