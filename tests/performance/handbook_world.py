"""A made-up company's product handbook, and questions about it with flawed answers.

All of it is drawn from a seed. Products come in lines of four whose names are alike; a page has a
part of what is said of one product, some have an older edition with other values, and of each
product some things are said nowhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Literal

from resay import Document

__all__ = [
    "ATTRIBUTES",
    "GROUPS",
    "PRODUCT",
    "Attribute",
    "Claim",
    "Handbook",
    "Kind",
    "Page",
    "Question",
    "chosen",
    "says",
]

PRODUCT = re.compile(r"\b[A-Z][a-z]+ [A-Z]\d{2,3}(?:-[A-Z])?(?![\w-])")
"""What names of products look like."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST = _words("Mira Olof Agda Teun Ines Bram Sanna Jorik Petra Levin Hanne Kasimir Dorit Emil")
_LAST = _words("Solberg Dahlman Verhoef Castell Brandis Ostrow Lindahl Marek Tollens Haugen Rask")
_STARTS = _words("Hal Brun Ost Vel Tar Nor Lin Mar Gel Sund Wes Kor")
_ENDS = _words("beck heim vik stad mora ford dal")
_LINES = _words("Garmo Veltra Tinora Kalvex Orbita Senlo Bruvik Dalmer Fenwix Hestra Jorund Quillo")
_MODELS = ("X100", "X100-S", "X110", "X200")
_USES = (
    "coffee grinder",
    "desk lamp",
    "hand mixer",
    "room heater",
    "water filter",
    "label printer",
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that may be said of a product.

    Attributes:
        page: The page that it is said on.
        heading: The heading above it.
        question: How it is asked for; `{s}` is the product.
        wordings: How it is said; `{v}` is the value.
        relation: What a sentence has in it that says it.
        value: What its values look like.
        draw: Makes one up.
    """

    page: str
    heading: str
    question: str
    wordings: tuple[str, ...]
    relation: str
    value: str
    draw: Callable[[random.Random], str] = field(repr=False)


ATTRIBUTES: Mapping[str, Attribute] = {
    "launch": Attribute(
        "overview",
        "Launch",
        "When was {s} launched?",
        ("{s} was launched in {v}.", "The launch of {s} was in {v}."),
        r"\blaunch(?:ed)?\b",
        r"\b(?:19|20)\d\d\b",
        lambda rng: str(rng.randint(1951, 2019)),
    ),
    "designer": Attribute(
        "overview",
        "Design",
        "Who designed {s}?",
        ("{s} was designed by {v}.", "The designer of {s} is {v}."),
        r"\bdesign(?:ed|er)\b",
        r"\b[A-Z][a-z]+ [A-Z][a-z]+\b(?! [A-Z]\d)",
        lambda rng: f"{rng.choice(_FIRST)} {rng.choice(_LAST)}",
    ),
    "factory": Attribute(
        "overview",
        "Where it is made",
        "Where is {s} made?",
        ("{s} is made in {v}.", "The place where {s} is made is {v}."),
        r"\bmade\b",
        r"(?<=[Ii]n )[A-Z][a-z]{4,}|(?<=is )[A-Z][a-z]{4,}",
        lambda rng: f"{rng.choice(_STARTS)}{rng.choice(_ENDS)}",
    ),
    "weight": Attribute(
        "technical data",
        "Weight",
        "What is the weight of {s}?",
        ("{s} weighs {v}.", "The weight of {s} is {v}."),
        r"\bweigh(?:s|t)?\b",
        r"\b\d+\.\d kg\b",
        lambda rng: f"{rng.randint(11, 189) / 10:.1f} kg",
    ),
    "port": Attribute(
        "technical data",
        "Socket",
        "Which socket does {s} have?",
        ("{s} is connected by a {v}.", "The socket of {s} is a {v}."),
        r"\b(?:connect(?:ed|ion)?|socket (?:of|does))\b",
        r"\b[KLMN]\d-\d\d socket\b",
        lambda rng: f"{rng.choice('KLMN')}{rng.randint(1, 9)}-{rng.randint(10, 48)} socket",
    ),
    "battery": Attribute(
        "technical data",
        "Battery",
        "How long does the battery of {s} last?",
        ("The battery of {s} lasts {v}.", "{s} has a battery for {v}."),
        r"\bbattery\b",
        r"\b\d+ hours\b",
        lambda rng: f"{rng.randint(5, 96)} hours",
    ),
    "noise": Attribute(
        "technical data",
        "Noise",
        "How much noise does {s} make?",
        ("{s} is {v} loud.", "The noise of {s} is {v}."),
        r"\b(?:loud|noise)\b",
        r"\b\d+ dB\b",
        lambda rng: f"{rng.randint(21, 89)} dB",
    ),
    "price": Attribute(
        "sales and service",
        "Price",
        "What is the price of {s}?",
        ("{s} costs {v}.", "The price of {s} is {v}."),
        r"\b(?:costs?|price)\b",
        r"\b\d+ euros\b",
        lambda rng: f"{rng.randint(29, 899)} euros",
    ),
    "warranty": Attribute(
        "sales and service",
        "Warranty",
        "How long is the warranty of {s}?",
        ("The warranty of {s} is {v}.", "{s} has a warranty of {v}."),
        r"\bwarranty\b",
        r"\b\d+ months\b",
        lambda rng: f"{rng.randint(13, 88)} months",
    ),
    "parts": Attribute(
        "sales and service",
        "Spare parts",
        "Until when are there spare parts for {s}?",
        ("Spare parts for {s} are kept until {v}.", "{s} has spare parts until {v}."),
        r"\bspare parts\b",
        r"\b(?:19|20)\d\d\b",
        lambda rng: str(rng.randint(2026, 2079)),
    ),
}
"""What is said of products."""
_PAGES = tuple(dict.fromkeys(attribute.page for attribute in ATTRIBUTES.values()))
_NEW, _OLD = 2024, 2021
_FILLERS = (
    "Read this page to the end before you answer a customer.",
    "The figures were taken in our own workshop under the usual conditions.",
    "Tell the editors of the handbook where something here is hard to understand.",
    "What dealers print about it in their own leaflets is not checked by us.",
    "Photographs are kept in the archive and may be used without asking.",
    "Ask the desk for product questions where a customer wants it in writing.",
)
_GENERAL = (
    "Returns", "Opening times", "Complaints", "Parcels", "Invoices", "Trade fairs", "Travel",
    "Visitors", "Recycling", "Telephone", "Training", "Holidays", "Parking", "Library",
    "First aid", "Data protection",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the handbook.

    Attributes:
        path: Its file.
        title: What is above it.
        product: Which product it is about; None for none.
        edition: Its edition.
        date: When it was edited, `2024-03-11`.
        sections: Its headings, each with its text, which may be empty.
    """

    path: str
    title: str
    product: str | None
    edition: int
    date: str
    sections: tuple[tuple[str, str], ...]

    @property
    def markdown(self) -> str:
        """The whole file."""
        product = [f"product: {self.product}"] if self.product else []
        matter = [f'title: "{self.title}"', *product, f"edition: {self.edition}"]
        lines = ["---", *matter, f"date: {self.date}", "---", "", f"# {self.title}"]
        for heading, text in self.sections:
            lines += ["", f"## {heading}", *(["", text] if text else [])]
        return "\n".join([*lines, ""])

    @property
    def documents(self) -> list[Document]:
        """Its sections, each below the page's title, as whoever cuts it by headings would."""
        told = {"title": self.title, "edition": self.edition, "date": self.date}
        told |= {"product": self.product} if self.product else {}
        title = f"# {self.title}\n\n## "
        return [
            Document(f"{self.path}#{i}", f"{title}{heading}\n\n{text}".strip(), metadata=told)
            for i, (heading, text) in enumerate(self.sections, 1)
        ]


Kind = Literal["right", "invention", "outdated", "undocumented"]
GROUPS = ("right", "invention", "outdated", "undocumented", "conversation", "mixed")
"""The groups of questions."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What an answer says of a product.

    Attributes:
        kind: What is wrong with it.
        attribute: Of what it speaks.
        said: The value that the model says.
        right: The value of the newest page; None where no page says one.
        old: The value of an older edition, where that is another.
    """

    kind: Kind
    attribute: str
    said: str
    right: str | None
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what the model answers.

    Attributes:
        name: What tells it from the others.
        group: One of `GROUPS`.
        product: What it is about.
        messages: The conversation, which ends with it.
        draft: The model's answer.
        samples: What it answers when it is asked again.
        claims: What its answer says.
    """

    name: str
    group: str
    product: str
    messages: tuple[Mapping[str, str], ...]
    draft: str
    samples: tuple[str, ...]
    claims: tuple[Claim, ...]


def says(text: str, value: str) -> bool:
    """Return whether a value stands in a text, and not as a part of another one."""
    return re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\d)", text) is not None


_SAMPLES = 6


class Handbook:
    """The handbook, and the questions about it.

    Args:
        seed: What all chance is drawn from.

    Attributes:
        values: What the newest pages say, by product and attribute.
        old: What older editions say in its place.
        pages: All pages, in no order.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(f"handbook {seed}")
        self.products = tuple(f"{line} {model}" for line in _LINES for model in _MODELS)
        self.values: dict[tuple[str, str], str] = {}
        self.old: dict[tuple[str, str], str] = {}
        for line in _LINES:
            self._make_line(line)
        self.pages = self._make_pages()
        self._made = {page.path: page for page in self.pages}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions, those of a group one after the other."""
        rng = random.Random(self._rng.random())
        return tuple(_Asking(self, rng).all())

    def page_of(self, document: str) -> Page | None:
        """Return the page that a document of this id is of."""
        return self._made.get(document.partition("#")[0])

    def alike(self, product: str) -> list[str]:
        """Return the other products of the same line."""
        line = product.split()[0]
        return [other for other in self.products if other.split()[0] == line and other != product]

    def fresh(self, attribute: str, rng: random.Random, but: Iterable[str] = ()) -> str:
        """Return a value that no page has."""
        taken = {v for (_, a), v in [*self.values.items(), *self.old.items()] if a == attribute}
        return _drawn(attribute, rng, taken.union(but))

    def _make_line(self, line: str) -> None:
        """Give each product of a line values of its own, and leave some out."""
        rng, used = self._rng, {attribute: set[str]() for attribute in ATTRIBUTES}
        for product in (f"{line} {model}" for model in _MODELS):
            left_out = rng.sample([*ATTRIBUTES], 2)
            for attribute in ATTRIBUTES:
                value = _drawn(attribute, rng, used[attribute])
                used[attribute].add(value)
                if attribute not in left_out:
                    self.values[product, attribute] = value

    def _make_pages(self) -> tuple[Page, ...]:
        rng = self._rng
        named = [(product, page) for product in self.products for page in _PAGES]
        for product, page in rng.sample(named, 40):
            said = [a for a in ATTRIBUTES if ATTRIBUTES[a].page == page]
            changed = [a for a in said if (product, a) in self.values]
            for attribute in rng.sample(changed, min(2, len(changed))):
                value = self.values[product, attribute]
                self.old[product, attribute] = self.fresh(attribute, rng, {value})
        pages = [self._page(product, page, _NEW) for product, page in named]
        older = dict.fromkeys((product, ATTRIBUTES[a].page) for product, a in self.old)
        pages += [self._page(product, page, _OLD) for product, page in older]
        pages += [self._general(_GENERAL[i % len(_GENERAL)], i) for i in range(200 - len(pages))]
        rng.shuffle(pages)
        return tuple(pages)

    def _page(self, product: str, page: str, edition: int) -> Page:
        rng = self._rng
        sections: list[tuple[str, str]] = []
        for key, attribute in ATTRIBUTES.items():
            if attribute.page != page or (product, key) not in self.values:
                continue
            value = self.values[product, key]
            if edition == _OLD:
                value = self.old.get((product, key), value)
            subject = rng.choice(("It", "It", f"The {product}"))
            sentence = _said(rng.choice(attribute.wordings), subject, value)
            around = [rng.choice(_FILLERS)]
            around.insert(rng.randrange(2), sentence)
            sections.append((attribute.heading, " ".join(around)))
        if page == _PAGES[0]:
            others = ", ".join(f"the {other}" for other in self.alike(product))
            sections.append(("See also", f"There are pages of their own about {others}."))
        # A heading that nobody has written anything under yet.
        if rng.random() < 0.4:
            stub = rng.choice([*ATTRIBUTES.values()]).heading
            sections.append((f"{stub} of the {product}", ""))
        title = f"{product}: {page}"
        path = f"{title}-{edition}.md".lower().replace(": ", "-").replace(" ", "-")
        date = f"{edition}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        return Page(path, title, product, edition, date, tuple(sections))

    def _general(self, title: str, number: int) -> Page:
        text = " ".join(self._rng.sample(_FILLERS, 3))
        path = f"general-{title.lower().replace(' ', '-')}-{number}.md"
        return Page(path, title, None, _NEW, f"{_NEW}-01-15", ((title, text),))


def _drawn(attribute: str, rng: random.Random, taken: Iterable[str]) -> str:
    taken = set(taken)
    return next(v for v in iter(lambda: ATTRIBUTES[attribute].draw(rng), None) if v not in taken)


def _said(wording: str, subject: str, value: str) -> str:
    if not wording.startswith("{s}"):
        subject = subject[0].lower() + subject[1:]
    return wording.format(s=subject, v=value)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Makes the questions. Nothing is asked twice."""

    world: Handbook
    rng: random.Random
    used: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def all(self) -> Iterator[Question]:
        for i in range(30):
            # Half of them the model says each time; of the others it is not sure.
            yield self._single(f"right-{i}", "right", self._right(old=i < 6), sure=i % 2 == 1)
        for i in range(34):
            yield self._single(f"invention-{i}", "invention", self._invention(alike=i % 2 == 0))
        for i in range(16):
            yield self._single(f"outdated-{i}", "outdated", self._outdated(invents=i % 4 == 3))
        for i in range(14):
            yield self._single(
                f"undocumented-{i}", "undocumented", self._undocumented(alike=i % 2 == 0)
            )
        for i in range(12):
            made = (
                self._invention(alike=i % 2 == 0),
                self._right(),
                self._invention(alike=i % 2 == 1),
                self._undocumented(alike=i % 2 == 1),
            )[i % 4]
            yield self._single(f"conversation-{i}", "conversation", made, talk=True)
        for i in range(14):
            yield self._mixed(f"mixed-{i}", documented=i % 4 != 3)

    def _places(self, *, documented: bool = True, old: bool = False) -> Iterator[tuple[str, str]]:
        """Yield products with an attribute, in a random order."""
        places = [(product, a) for product in self.world.products for a in ATTRIBUTES]
        self.rng.shuffle(places)
        for place in places:
            fits = (place in self.world.values) is documented and (place in self.world.old) is old
            if fits and place not in self.used:
                yield place

    def _taken(self, places: Iterator[tuple[str, str]]) -> tuple[str, str]:
        place = next(places)
        self.used.add(place)
        return place

    def _right(self, *, old: bool = False, of: str | None = None) -> tuple[str, Claim]:
        places = self._places(old=old)
        product, a = self._taken(p for p in places if of is None or p[0] == of)
        value = self.world.values[product, a]
        return product, Claim("right", a, value, value, self.world.old.get((product, a)))

    def _invention(self, *, alike: bool, of: str | None = None) -> tuple[str, Claim]:
        places = self._places()
        product, a = self._taken(p for p in places if of is None or p[0] == of)
        right = self.world.values[product, a]
        return product, Claim("invention", a, self._made_up(product, a, alike), right)

    def _outdated(self, *, invents: bool) -> tuple[str, Claim]:
        product, a = self._taken(self._places(old=True))
        right, old = self.world.values[product, a], self.world.old[product, a]
        said = self._made_up(product, a, alike=False) if invents else old
        return product, Claim("outdated", a, said, right, old)

    def _undocumented(self, *, alike: bool, of: str | None = None) -> tuple[str, Claim]:
        places = self._places(documented=False)
        product, a = self._taken(p for p in places if of is None or p[0] == of)
        return product, Claim("undocumented", a, self._made_up(product, a, alike), None)

    def _made_up(self, product: str, attribute: str, alike: bool) -> str:
        """Return a wrong value: what a product of nearly the same name has, or what none has."""
        values = self.world.values
        theirs = [
            values[other, attribute]
            for other in self.world.alike(product)
            if (other, attribute) in values
        ]
        if alike and theirs:
            return self.rng.choice(theirs)
        return self.world.fresh(attribute, self.rng)

    def _single(
        self,
        name: str,
        group: str,
        made: tuple[str, Claim],
        *,
        sure: bool = False,
        talk: bool = False,
    ) -> Question:
        product, claim = made
        asked = ATTRIBUTES[claim.attribute].question
        messages = (_user(asked.format(s=f"the {product}")),)
        if talk:
            use = self.rng.choice(_USES)
            before = (
                _user(f"What is the {product}?"),
                {"role": "assistant", "content": f"The {product} is a {use}."},
            )
            messages = (*before, _user(asked.format(s="it")))
        subject = "It" if talk else self.rng.choice(("It", f"The {product}", f"The {product}"))
        draft = self._sentence(claim.attribute, claim.said, subject, bare=0.1)
        values = [claim.said] * _SAMPLES if sure else self._unsure(claim)
        samples = [self._sentence(claim.attribute, value, subject) for value in values]
        return Question(name, group, product, messages, draft, tuple(samples), (claim,))

    def _mixed(self, name: str, *, documented: bool) -> Question:
        """Ask for two things at once, one of which the model knows."""
        while True:
            product, right = self._right()
            of_it = [p for p in self._places(documented=documented) if p[0] == product]
            if of_it:
                break
        make = self._invention if documented else self._undocumented
        _, wrong = make(alike=self.rng.random() < 0.5, of=product)
        claims = [right, wrong]
        self.rng.shuffle(claims)
        first, second = (ATTRIBUTES[claim.attribute].question for claim in claims)
        asked = f"{first.format(s=f'the {product}')} {second.format(s='it')}"
        drawn = {claim: self._unsure(claim) for claim in claims}
        drawn[right] = [right.said] * _SAMPLES

        def said(values: Sequence[str]) -> str:
            subjects = (f"The {product}", "It")
            told = zip(claims, subjects, values, strict=True)
            return " ".join(self._sentence(c.attribute, v, s) for c, s, v in told)

        draft = said([claim.said for claim in claims])
        samples = tuple(said(values) for values in zip(*(drawn[c] for c in claims), strict=True))
        return Question(name, "mixed", product, (_user(asked),), draft, samples, tuple(claims))

    def _unsure(self, claim: Claim) -> list[str]:
        """Return what a model says that does not know: something else nearly each time."""
        values: list[str] = []
        while len(values) < _SAMPLES:
            values.append(self.world.fresh(claim.attribute, self.rng, {claim.said, *values}))
        return values

    def _sentence(self, attribute: str, value: str, subject: str, bare: float = 0.0) -> str:
        if self.rng.random() < bare:
            return f"In {value}." if attribute in ("factory", "launch") else f"{value}."
        return _said(self.rng.choice(ATTRIBUTES[attribute].wordings), subject, value)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def chosen(questions: Sequence[Question], count: int) -> list[Question]:
    """Return so many questions, of each group as many as of the others where there are enough."""
    groups = [[q for q in questions if q.group == group] for group in GROUPS]
    turns = (question for turn in zip_longest(*groups) for question in turn if question)
    return [question for question, _ in zip(turns, range(count), strict=False)]
