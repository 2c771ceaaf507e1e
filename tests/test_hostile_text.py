"""No text that others write holds up a process: four times the text is four times the work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest

from resay import Passage, Request
from resay.adapters import CheckContext
from resay.core.quantities import negations, quantities
from resay.core.quotes import find_quote
from resay.core.tokens import tokenize
from resay.engine.code_names import compare_names, index_samples, names_in
from resay.engine.regeneration.citations import parse_citations
from resay.engine.regeneration.plain_text import plain
from resay.engine.regeneration.rechecking import claims_more
from resay.engine.regeneration.replacements import parse_replacement
from resay.engine.regeneration.subjects import names_of, without_values
from resay.plugins import Completion, Evidence, Sample, Samples
from resay.retrieval.chunks import heading_of
from resay.retrieval.folder_terms import phrases_of
from resay.retrieval.front_matter import front_matter
from resay.scorers.common.answers import read_items
from resay.scorers.common.judge_words import VERDICTS
from resay.scorers.common.named_scores import parse_named_scores
from resay.scorers.common.numbered_lines import parse_numbered
from resay.scorers.common.yes_no import parse_yes_no
from resay.scorers.facts import Facts
from resay.scorers.reverse_validation.answer_match import names_entity
from resay.scorers.structured import object_in
from support.claims import claims_of

SPACES = ("\n", " ", "\t\n", " \u2029")
MARKS = ('"', ".", "`", "[", "(", "_*", "<a>", "> ", "- ", "|")
NUMBERS = (
    *(
        "one ",
        "two-",
        "hundred ",
        "1 ",
        "1.",
        "1-",
        "12:",
        "$",
        "-1",
        "5 km ",
        "2 and ",
        "XI ",
        "一",
    ),
    *("三十年", "March ", "19 March ", "half ", "between 1 and ", "zweihundert", "mille", "1 000 "),
)
FENCES = (
    "```\n",
    "```text\n",
    "```\nIt is so.\n",
    "> ```\n",
    "~~~\n```text\n",
    "- ```text\na b c\n",
)
MATH = ("$5 ", "$1$", "$5\\", "\\(", "\\[", "$$", "{,}", "10^", "2 × 10^3 ", "\\text{", "$\\")
CODE = (
    *(
        "import a\n",
        "import a.b as c\n",
        "from a import b, ",
        "import (\n",
        "const a = ",
        "const {",
    ),
    *(
        "use a::{",
        "use a::b;",
        "a.b.",
        "a().",
        "np.a(",
        "a = b = ",
        "f(a).b = ",
        "def f(",
        "for a, ",
    ),
    *(
        "pip install a ",
        "$ npm i a && ",
        "git --ab ",
        '"""',
        "'",
        '"',
        "/*",
        "//",
        "#",
        "\\",
        "{",
        "}",
    ),
    *(
        "import {a as b, ",
        'require("a")',
        "from 'a'\n",
        "package a\n",
        ").a",
        "a, b, c = ",
        "with a() as ",
    ),
)
WORDS = ("a", "1", "a ", "a.", "1,", "my ")


def _object(text: str) -> None:
    object_in(Completion(f"```\n{text}"), CheckContext(Request.of("Which?", model="m")))


def _repair(text: str) -> None:
    parse_replacement(f">>>{text}x", ())


def _heading(text: str) -> None:
    heading_of(f"# {text}x")
    front_matter(f"---\ntitle: a{text}x\n---\n")


def _names(text: str) -> None:
    for fence in ("```python\n", "```js\n", "```sh\n"):
        code = f"It is:\n\n{fence}{text}"
        compare_names(
            names_in(Passage.of(code)), index_samples([Sample(0, code), Sample(1, code[:-1])])
        )
    names_in(Passage.of(text))


def _entity(text: str) -> None:
    names_entity(f"the{text}Ada Lovelace", "Ada Lovelace")


def _quotation(text: str) -> None:
    find_quote(f"{text}. 46{text}x", f"It is {text}46{text}.")


def _facts(text: str) -> None:
    evidence = Evidence(Samples([text, text[::-1]]), request=Request.of(f"Is {text}?"))
    asyncio.run(Facts().score(Passage.from_sentences([f"x{text}"]), evidence))


# Each with what it could stumble over.
@pytest.mark.parametrize(
    ("read", "units"),
    [
        (Passage.of, (*SPACES, *MARKS, *WORDS, *FENCES)),
        (tokenize, (" ", "'", *WORDS)),
        (quantities, (*SPACES, *MARKS, *WORDS, *NUMBERS, *MATH)),
        (negations, (*SPACES, "'", "no ", "n't ", *WORDS)),
        (_facts, (*SPACES, *MARKS, *WORDS, *NUMBERS, "yes ", "not ", " or ")),
        (_object, (*SPACES, "```", "```a\n", "[", '{"a":')),
        (_repair, (*SPACES, ">>>", "> ", "[1", "[1, ")),
        (lambda text: parse_citations(text, 3), (*SPACES, "[1", "[1] ")),
        (lambda text: claims_more(text, ""), WORDS),
        (lambda text: plain(text), (*SPACES, *MARKS)),
        (lambda text: names_of(text), (*SPACES, ".", "(", "Please ", "question ", '"')),
        (lambda text: without_values(text, "Who?"), (*SPACES, "Ada ", "1 ", "a.1")),
        (_heading, (*SPACES, "[", "{#", "*")),
        (lambda text: parse_yes_no(text), (*SPACES, *WORDS)),
        (
            lambda text: claims_of(Passage.of(text), text),
            (*SPACES, *WORDS, "write a ", "i do not "),
        ),
        (lambda text: parse_numbered(text, 3, parse_yes_no), (*SPACES, "```", "1", "_")),
        (
            lambda text: read_items(text, 3, VERDICTS),
            (*SPACES, "1: ", "supported, ", "so the claim is ", "verdict: ", "<answer>", "[", "**"),
        ),
        (lambda text: parse_named_scores(text, ["a"]), (" ", "a ", "1", "a:", "a1 ")),
        (_names, (*SPACES, *MARKS, *WORDS, *CODE)),
        (_entity, (" ", ".", "the ", "not ")),
        (
            _quotation,
            (*SPACES, *MARKS, *WORDS, "+", "£ ", "1.", "a…", "[...] ", "e\u0301", "ক\u09be"),
        ),
        (phrases_of, (*SPACES, *WORDS, "橋", "ไทย", "a橋")),
    ],
)
def test_no_text_takes_for_ever_to_read(
    read: Callable[[str], object], units: Sequence[str]
) -> None:
    for unit in units:
        few = unit * (1000 // len(unit))
        # Four times the text takes four times as long, or sixteen times if the work is quadratic.
        # Only work that is slow in three tries is reported: a collection may fall into one.
        for _ in range(3):
            allowed = 8 * max(_cpu_s(read, few), 0.005)
            if _cpu_s(read, few * 4) < allowed:
                break
        else:
            pytest.fail(f"the work grows faster than a text of {unit!r}")


def _cpu_s(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start
