"""Marks that the policy puts into the text of an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resay import Answer, AnswerChunk, Guard, Policy, PolicyError, Request, SentenceVerdict, Verdict
from resay.adapters import GuardRuntime
from resay.errors import ConfigurationError
from resay.plugins import Chunk, Completion, Completions, ToolCall

TEXT = "It opened in 1932. It has 31415 lamps. It is grey."
SAMPLES = [
    "The bridge opened in 1932. It has six lanes. It is made of steel and granite.",
    "The bridge opened in 1932. It has six lanes. It is made of steel and granite.",
    "The bridge opened in 1932. It carries six lanes of traffic. It is built of steel.",
]
BLOCKS = [
    "The bridge opened in 1932. ",
    "It has 31415 lamps! ",
    "It is made of steel. ",
    "\n\n",
    "```py\nimport os\n\nx = 31415\n```\n\n",
    "\n\n| a | b |\n|---|---|\n| lanes | 77 |\n| bolts | 1932 |\n\n",
    "\n\n| only | head |\n|---|---|\n\n",
    "\n- It opened in 1999\n- It has six lanes\n",
    "\n\n$$\nx = 5 y\n$$\n\n",
    "## Opening in 1950\n\n",
    "See https://x.org/a-b/1999. ",
    "<div>\n<b>hello 5</b>\n</div>\n\n",
    "Sure! Here is what I know. ",
    "> It cost 5 million dollars in 1920.\n\n",
    "See [here](http://x.y/) [1999]. ",
    "<think>It may have 9 lamps.</think>",
    "```\nx = 31415\n```\nIt has 7 lanes. ",
    "It has 31415 lamps.\r\n",
    "\r\n```\r\nx = 31415\r\n```\r\n",
]


class Writer:
    """Writes an answer in pieces, and samples."""

    def __init__(self, pieces: Sequence[str], samples: Sequence[str] = SAMPLES) -> None:
        self._pieces = pieces
        self._samples = samples
        self._count = 0

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if self._count == 0:
            self._count = 1
            return Completions((Completion("".join(self._pieces)),))
        text = self._samples[self._count % len(self._samples)]
        self._count += 1
        return Completions((Completion(text),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self._count = 1

        async def chunks() -> AsyncGenerator[Chunk]:
            for text in self._pieces:
                await anyio.lowlevel.checkpoint()
                yield Chunk(text)

        yield chunks()


def policy(style: str, **settings: Any) -> dict[str, Any]:
    return {
        "chain": [{"method": "facts"}],
        "sampling": {"min": 3, "max": 3, "start": "after"},
        "cache": {"store": "none"},
        "action": {"do": "annotate", "marks": style},
        **settings,
    }


def streamed(
    settings: Mapping[str, Any], pieces: Sequence[str], **options: Any
) -> tuple[list[AnswerChunk], Answer]:
    guard = Guard(settings, provider=Writer(pieces), model="m")
    with guard.stream("When did the bridge open?", **options) as stream:
        chunks = list(stream)
    assert "".join(chunk.text for chunk in chunks) == stream.answer.text
    return chunks, stream.answer


@st.composite
def pieces_of_answers(draw: st.DrawFn) -> list[str]:
    text = "".join(draw(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=8)))
    pieces: list[str] = []
    while text:
        length = draw(st.sampled_from([1, 2, 5, 20, 60]))
        pieces.append(text[:length])
        text = text[length:]
    return pieces


@given(pieces=pieces_of_answers(), style=st.sampled_from(["inline", "footnotes"]))
@example(pieces=["\n\n$$\nx = 5 y\n$$\n\n| only | head |\n|---|---|\n\n"], style="inline")
@example(pieces=["```\nx = 31415\n```\n"], style="inline")
@example(pieces=["```\nx = 31415\n```\n", "It has 7 lanes. "], style="inline")
def test_a_held_stream_is_marked_like_the_whole_answer(pieces: list[str], style: str) -> None:
    chunks, held = streamed(policy(style), pieces)
    _, whole = streamed(policy(style, stream_mode="buffer"), pieces)

    assert held.text == whole.text
    assert held.marks == whole.marks
    assert "".join(chunk.text for chunk in chunks if chunk.mark is None) == "".join(pieces)
    if style == "inline":
        assert held.text == held.annotated()


def test_a_mark_follows_its_sentence_before_the_next_one_is_written() -> None:
    chunks, _ = streamed(policy("inline"), ["It has 31415 lamps! ", "It is made of ", "steel."])

    assert [chunk.text for chunk in chunks] == [
        "It has 31415 lamps!",
        " [unsupported]",
        " ",
        "It is made of steel.",
    ]


def lamps(**fields: Any) -> Verdict:
    sentence = SentenceVerdict(
        "It has 31415 lamps.", 19, 38, 0.9, flagged=True, band="unsupported", **fields
    )
    return Verdict("flagged", 0.9, "1 of 3 sentences > 0.50", (sentence,))


def applied(style: str, response: str, verdict: Verdict, **settings: Any) -> Answer:
    return GuardRuntime(Guard(policy(style, **settings))).apply(response, verdict)


def test_the_response_stays_beside_the_marked_text() -> None:
    answer = applied("inline", TEXT, lamps())

    assert answer.text == TEXT.replace("lamps.", "lamps. [unsupported]") == answer.annotated()
    assert answer.response == answer.to_dict()["response"] == TEXT
    assert answer.with_marks(TEXT) == answer.text
    assert applied("none", TEXT, lamps()).text == TEXT
    assert "response" not in applied("none", TEXT, lamps()).to_dict()


def test_an_answer_between_two_blocks_of_code_is_marked() -> None:
    text = "```\nx = 1\n```\n\nIt has 31415 lamps.\n\n```\ny = 2\n```"
    _, answer = streamed(policy("inline", stream_mode="buffer"), [text])
    assert "It has 31415 lamps. [" in answer.text


CODE = "It opened in 1932.\n```\nx = 1\n```\nIt is made of steel."


@pytest.mark.parametrize(("style", "mark"), [("inline", "[not checked]"), ("footnotes", "[^1]")])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("stream_mode", ["hold", "buffer"])
def test_a_mark_of_code_is_a_paragraph_of_its_own(
    style: str, mark: str, line_break: str, stream_mode: str
) -> None:
    text = CODE.replace("\n", line_break)
    _, answer = streamed(policy(style, stream_mode=stream_mode), [text])
    after = answer.text.partition(f"x = 1{line_break}```")[2]
    assert after.startswith(f"{line_break * 2}{mark}{line_break * 2}It is made of steel.")


def test_footnotes_have_the_line_breaks_of_the_text() -> None:
    _, answer = streamed(policy("footnotes"), ["It has 31415 lamps.\r\nIt is made of steel.\r\n"])
    notes = answer.text.removeprefix("It has 31415 lamps.[^1]\r\nIt is made of steel.\r\n")
    assert notes.startswith("\r\n[^1]: ")
    assert "\n" not in answer.text.replace("\r\n", "")


def test_equal_footnotes_share_a_number() -> None:
    reason = "supported by 0 of 3 samples"
    others = SentenceVerdict("It is grey.", 39, 50, 0.9, flagged=True, reason=reason)
    verdict = lamps(reason=reason)
    verdict = Verdict("flagged", 0.9, "2 of 3", (*verdict.sentences, others))

    assert applied("footnotes", TEXT, verdict).text == (
        "It opened in 1932. It has 31415 lamps.[^1] It is grey.[^1]"
        "\n\n[^1]: Unsupported: supported by 0 of 3 samples"
    )


def test_footnotes_go_on_after_those_of_the_answer() -> None:
    response = f"{TEXT}[^2]\n\n[^2]: A footnote of the answer."

    text = applied("footnotes", response, lamps()).text

    assert "lamps.[^3] " in text
    assert text.endswith("\n\n[^3]: Unsupported.")


@pytest.mark.parametrize("word", ["https://x.org/31415", "[lamps]"])
def test_a_footnote_does_not_become_part_of_a_link(word: str) -> None:
    text = f"See {word}"
    sentence = SentenceVerdict(text, 0, len(text), 0.9, flagged=True)
    answer = applied("footnotes", text, Verdict("flagged", 0.9, "all", (sentence,)))

    assert answer.text.startswith(f"{text} [^1]\n")


def test_a_footnote_does_not_become_part_of_a_link_in_a_stream() -> None:
    pieces = ["See https://x.org/31415\n\n", "It is made of ", "steel."]
    chunks, _ = streamed(policy("footnotes"), pieces)
    assert next(chunk.text for chunk in chunks if chunk.mark is not None) == " [^1]"


@pytest.mark.parametrize("style", ["inline", "footnotes"])
@pytest.mark.parametrize(
    ("verdict", "mark"),
    [
        (Verdict("flagged", 0.6, "passage 0.60 > 0.50"), "unsupported"),
        (Verdict("inconclusive", None, "all 3 samples are identical"), "not checked"),
    ],
)
def test_an_answer_that_is_not_confirmed_as_a_whole_says_so_at_its_end(
    style: str, verdict: Verdict, mark: str
) -> None:
    expected = f"{TEXT}\n\n[{mark}]"
    if style == "footnotes":
        expected = f"{TEXT}\n\n[^1]\n\n[^1]: {mark.capitalize()}: {verdict.reason}"
    assert applied(style, TEXT, verdict).text == expected
    assert applied(style, TEXT, verdict, on_error="allow").text == (
        TEXT if verdict.inconclusive else expected
    )


@pytest.mark.parametrize(
    "response",
    [
        json.dumps({"lamps": 31415, "note": "It has 31415 lamps."}),
        '```json\n{"note": "It has 31415 lamps."}\n```',
        '["It has 31415 lamps."]',
        '<think>It has 31415 lamps.</think>\n{"lamps": 31415}',
    ],
)
@pytest.mark.parametrize("stream_mode", ["hold", "buffer"])
def test_what_programs_read_is_never_marked(response: str, stream_mode: str) -> None:
    sentence = SentenceVerdict(response, 0, len(response), 0.9, flagged=True)
    verdict = Verdict("flagged", 0.9, "all", (sentence,))

    assert applied("inline", response, verdict).text == response
    _, answer = streamed(policy("inline", stream_mode=stream_mode), [response[:20], response[20:]])
    assert answer.text == response


def test_an_answer_that_calls_tools_is_never_marked() -> None:
    class Calling(Writer):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            completions = await super().complete(request, n=n)
            (completion,) = completions.items
            call = ToolCall("look", "{}")
            return Completions((Completion(completion.text, calls=(call,)),))

    guard = Guard(policy("inline"), provider=Calling([TEXT]), model="m")

    assert guard.ask("When?").text == TEXT


def test_marks_in_unfinished_code_are_outside_of_it() -> None:
    response = f"{TEXT}\n\n```py\nx = 1"
    text = applied("footnotes", response, lamps()).text

    assert text == (f"{response.replace('lamps.', 'lamps.[^1]')}\n```\n\n[^1]: Unsupported.")


def test_what_a_repair_left_is_marked() -> None:
    otherwise = {"do": "annotate", "marks": "inline"}
    action = {"do": "regenerate", "from": "samples", "otherwise": otherwise}

    assert " [unsupported]" in applied("none", TEXT, lamps(), action=action).text


def test_inline_marks_in_text_that_is_shown_before_its_check_are_refused() -> None:
    with pytest.raises(PolicyError, match="marks: inline"):
        Policy.of(policy("inline", stream_mode="after"))
    with pytest.raises(ConfigurationError, match="marks: inline"):
        streamed(policy("inline"), [TEXT], stream_mode="after")
    chunks, answer = streamed(policy("footnotes"), [TEXT], stream_mode="after")
    assert [chunk.text for chunk in chunks if chunk.mark is None] == [TEXT]
    assert answer.text.startswith(
        f"{TEXT}\n\nNot confirmed:\n- “It has 31415 lamps.”: contradicted"
    )
