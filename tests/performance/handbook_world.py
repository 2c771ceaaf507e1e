"""A made-up company's product handbook, and questions about it with flawed answers.

Everything is drawn from a seed. Products come in lines of four with similar names. A page has some
attributes of one product; some pages have an older edition with other values, and each product has
attributes that no page mentions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    "choose_questions",
    "says",
]

PRODUCT = re.compile(r"\b[A-Z][a-z]+ [A-Z]\d{2,3}(?:-[A-Z])?(?![\w-])")
"""Matches the name of a product."""


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
    """An attribute of a product, such as its weight.

    Attributes:
        page: The page that has it.
        heading: The heading above it.
        question: The question for it; `{s}` is the product.
        wordings: Sentences that state it; `{s}` is the product, `{v}` the value.
        relation: A pattern of sentences about it.
        value: A pattern of its values.
        draw: Returns a random value.
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
"""The attributes of products, by name."""
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
        title: Its title.
        product: The product that it is about; None for none.
        edition: Its edition, a year.
        date: When it was edited, such as `2024-03-11`.
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
        """Its sections, each below the page's title, as a splitter by headings returns them."""
        metadata = {"title": self.title, "edition": self.edition, "date": self.date}
        if self.product:
            metadata["product"] = self.product
        title = f"# {self.title}\n\n## "
        return [
            Document(f"{self.path}#{i}", f"{title}{heading}\n\n{text}".strip(), metadata=metadata)
            for i, (heading, text) in enumerate(self.sections, 1)
        ]


Kind = Literal["right", "invention", "outdated", "undocumented"]
GROUPS = ("right", "invention", "outdated", "undocumented", "conversation", "mixed")
"""The groups of questions."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of an answer about a product.

    Attributes:
        kind: What is wrong with it.
        attribute: The attribute, a key of `ATTRIBUTES`.
        value: The value that the model gives.
        right: The value on the newest page; None where no page has one.
        old: The value in an older edition, where that is another.
    """

    kind: Kind
    attribute: str
    value: str
    right: str | None
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the model's answers to it.

    Attributes:
        name: Its name, which no other question has.
        group: One of `GROUPS`.
        product: The product that it is about.
        messages: The conversation, which ends with it.
        draft: The model's answer.
        samples: The model's answers when it is asked again.
        claims: The claims of the draft.
    """

    name: str
    group: str
    product: str
    messages: tuple[Mapping[str, str], ...]
    draft: str
    samples: tuple[str, ...]
    claims: tuple[Claim, ...]


def says(text: str, value: str) -> bool:
    """Return whether a text contains a value, and not as a part of a longer one."""
    return re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\d)", text) is not None


_SAMPLES = 6


class Handbook:
    """The handbook, and the questions about it.

    Args:
        seed: The seed of everything random.

    Attributes:
        values: The values on the newest pages, by product and attribute.
        old: The other values of older editions, by product and attribute.
        pages: All pages, in random order.
    """

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(f"handbook {seed}")
        self.products = tuple(f"{line} {model}" for line in _LINES for model in _MODELS)
        self.values: dict[tuple[str, str], str] = {}
        self.old: dict[tuple[str, str], str] = {}
        for line in _LINES:
            self._make_line(line)
        self.pages = self._make_pages()
        self._pages_by_path = {page.path: page for page in self.pages}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions, those of a group one after the other."""
        rng = random.Random(self._rng.random())
        return tuple(_QuestionMaker(self, rng).all())

    def page_of(self, document: str) -> Page | None:
        """Return the page of a document with this id."""
        return self._pages_by_path.get(document.partition("#")[0])

    def alike(self, product: str) -> list[str]:
        """Return the other products of the same line."""
        line = product.split()[0]
        return [other for other in self.products if other.split()[0] == line and other != product]

    def fresh(self, attribute: str, rng: random.Random, but: Iterable[str] = ()) -> str:
        """Return a value that no page has."""
        used = set(but)
        for values in (self.values, self.old):
            used.update(value for (_, name), value in values.items() if name == attribute)
        return _drawn(attribute, rng, used)

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
        product_pages = [(product, page) for product in self.products for page in _PAGES]
        for product, page in rng.sample(product_pages, 40):
            on_page = [name for name in ATTRIBUTES if ATTRIBUTES[name].page == page]
            stated = [name for name in on_page if (product, name) in self.values]
            for attribute in rng.sample(stated, min(2, len(stated))):
                value = self.values[product, attribute]
                self.old[product, attribute] = self.fresh(attribute, rng, {value})
        pages = [self._page(product, page, _NEW) for product, page in product_pages]
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
            sentence = _sentence(rng.choice(attribute.wordings), subject, value)
            sentences = [rng.choice(_FILLERS)]
            sentences.insert(rng.randrange(2), sentence)
            sections.append((attribute.heading, " ".join(sentences)))
        if page == _PAGES[0]:
            others = ", ".join(f"the {other}" for other in self.alike(product))
            sections.append(("See also", f"There are pages of their own about {others}."))
        # A heading with no text yet.
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


def _drawn(attribute: str, rng: random.Random, used: Collection[str]) -> str:
    """Return a random value of an attribute that is not used yet."""
    value = ATTRIBUTES[attribute].draw(rng)
    while value in used:
        value = ATTRIBUTES[attribute].draw(rng)
    return value


def _sentence(wording: str, subject: str, value: str) -> str:
    if not wording.startswith("{s}"):
        subject = subject[0].lower() + subject[1:]
    return wording.format(s=subject, v=value)


@dataclass(frozen=True, slots=True)
class _QuestionMaker:
    """Makes the questions. No attribute of a product is asked for twice."""

    world: Handbook
    rng: random.Random
    used: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def all(self) -> Iterator[Question]:
        for i in range(30):
            # The model is sure of half of them, and says them each time.
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
            # All four are drawn, so that each claim depends on the seed and its number alone.
            claims = (
                self._invention(alike=i % 2 == 0),
                self._right(),
                self._invention(alike=i % 2 == 1),
                self._undocumented(alike=i % 2 == 1),
            )
            yield self._single(f"conversation-{i}", "conversation", claims[i % 4], talk=True)
        for i in range(14):
            yield self._mixed(f"mixed-{i}", documented=i % 4 != 3)

    def _unused(
        self, *, documented: bool = True, old: bool = False, of: str | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield products with an attribute that was not asked for yet, in a random order.

        Args:
            documented: Whether the newest page has a value.
            old: Whether an older edition has another value.
            of: The only product to yield; None for all.
        """
        pairs = [(product, name) for product in self.world.products for name in ATTRIBUTES]
        self.rng.shuffle(pairs)
        for pair in pairs:
            if pair in self.used or (of is not None and pair[0] != of):
                continue
            if (pair in self.world.values) is documented and (pair in self.world.old) is old:
                yield pair

    def _next(
        self, *, documented: bool = True, old: bool = False, of: str | None = None
    ) -> tuple[str, str]:
        pair = next(self._unused(documented=documented, old=old, of=of))
        self.used.add(pair)
        return pair

    def _right(self, *, old: bool = False) -> tuple[str, Claim]:
        product, attribute = self._next(old=old)
        value = self.world.values[product, attribute]
        old_value = self.world.old.get((product, attribute))
        return product, Claim("right", attribute, value, value, old_value)

    def _invention(self, *, alike: bool, of: str | None = None) -> tuple[str, Claim]:
        product, attribute = self._next(of=of)
        right = self.world.values[product, attribute]
        value = self._wrong_value(product, attribute, alike)
        return product, Claim("invention", attribute, value, right)

    def _outdated(self, *, invents: bool) -> tuple[str, Claim]:
        product, attribute = self._next(old=True)
        right = self.world.values[product, attribute]
        old = self.world.old[product, attribute]
        value = self._wrong_value(product, attribute, alike=False) if invents else old
        return product, Claim("outdated", attribute, value, right, old)

    def _undocumented(self, *, alike: bool, of: str | None = None) -> tuple[str, Claim]:
        product, attribute = self._next(documented=False, of=of)
        value = self._wrong_value(product, attribute, alike)
        return product, Claim("undocumented", attribute, value, None)

    def _wrong_value(self, product: str, attribute: str, alike: bool) -> str:
        """Return the value of a product with a similar name, or one that no product has."""
        values = self.world.values
        pairs = [(other, attribute) for other in self.world.alike(product)]
        similar = [values[pair] for pair in pairs if pair in values]
        if alike and similar:
            return self.rng.choice(similar)
        return self.world.fresh(attribute, self.rng)

    def _single(
        self,
        name: str,
        group: str,
        product_claim: tuple[str, Claim],
        *,
        sure: bool = False,
        talk: bool = False,
    ) -> Question:
        """Return a question for one attribute.

        Args:
            name: Its name.
            group: Its group.
            product_claim: The product, and the claim of the draft about it.
            sure: Whether the samples have the value of the claim, too.
            talk: Whether the product is named in an earlier turn only.
        """
        product, claim = product_claim
        question = ATTRIBUTES[claim.attribute].question
        messages = (_user_message(question.format(s=f"the {product}")),)
        if talk:
            use = self.rng.choice(_USES)
            messages = (
                _user_message(f"What is the {product}?"),
                {"role": "assistant", "content": f"The {product} is a {use}."},
                _user_message(question.format(s="it")),
            )
        subject = "It" if talk else self.rng.choice(("It", f"The {product}", f"The {product}"))
        draft = self._sentence(claim.attribute, claim.value, subject, bare=0.1)
        values = [claim.value] * _SAMPLES if sure else self._unsure(claim)
        samples = [self._sentence(claim.attribute, value, subject) for value in values]
        return Question(name, group, product, messages, draft, tuple(samples), (claim,))

    def _mixed(self, name: str, *, documented: bool) -> Question:
        """Return a question for two attributes, one of which the model knows."""
        while True:
            product, right = self._right()
            if any(self._unused(documented=documented, of=product)):
                break
        make = self._invention if documented else self._undocumented
        _, wrong = make(alike=self.rng.random() < 0.5, of=product)
        claims = [right, wrong]
        self.rng.shuffle(claims)
        first, second = (ATTRIBUTES[claim.attribute].question for claim in claims)
        question = f"{first.format(s=f'the {product}')} {second.format(s='it')}"
        sampled = {claim: self._unsure(claim) for claim in claims}
        sampled[right] = [right.value] * _SAMPLES

        def answer(first_value: str, second_value: str) -> str:
            first_sentence = self._sentence(claims[0].attribute, first_value, f"The {product}")
            second_sentence = self._sentence(claims[1].attribute, second_value, "It")
            return f"{first_sentence} {second_sentence}"

        draft = answer(claims[0].value, claims[1].value)
        values = zip(sampled[claims[0]], sampled[claims[1]], strict=True)
        samples = tuple(answer(first_value, second_value) for first_value, second_value in values)
        return Question(
            name, "mixed", product, (_user_message(question),), draft, samples, tuple(claims)
        )

    def _unsure(self, claim: Claim) -> list[str]:
        """Return the values of a model that does not know: another one each time."""
        values: list[str] = []
        while len(values) < _SAMPLES:
            values.append(self.world.fresh(claim.attribute, self.rng, {claim.value, *values}))
        return values

    def _sentence(self, attribute: str, value: str, subject: str, bare: float = 0.0) -> str:
        if self.rng.random() < bare:
            return f"In {value}." if attribute in ("factory", "launch") else f"{value}."
        return _sentence(self.rng.choice(ATTRIBUTES[attribute].wordings), subject, value)


def _user_message(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def choose_questions(questions: Sequence[Question], count: int) -> list[Question]:
    """Return so many questions, of each group as many as of the others where there are enough."""
    groups: dict[str, list[Question]] = {group: [] for group in GROUPS}
    for question in questions:
        groups[question.group].append(question)
    result: list[Question] = []
    for turn in zip_longest(*groups.values()):
        result += [question for question in turn if question]
    return result[:count]
