"""What was shown stays, and what is in doubt is shown when it is repaired."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from resay import Answer, AnswerChunk, HallucinationBlocked, Request
from resay.plugins import Chunk
from support.regenerating import (
    CROSSES,
    DESIGNED,
    DRAFT,
    MADE_UP,
    QUESTION,
    TRACKS,
    Model,
    Shelf,
    guard_of,
)

pytestmark = pytest.mark.anyio

REPAIRED = DRAFT.replace(MADE_UP, DESIGNED)


async def read(
    model: Model, mode: Any = None, shelf: Any = None, action: dict[str, Any] | None = None
) -> tuple[list[AnswerChunk], Answer]:
    async with guard_of(model, shelf, action).astream(QUESTION, stream_mode=mode) as stream:
        parts = [part async for part in stream]
    return parts, stream.answer


async def test_hold_shows_what_comes_before_the_first_doubtful_sentence() -> None:
    parts, answer = await read(Model())

    assert "".join(part.text for part in parts) == answer.text == REPAIRED
    assert answer.action == "regenerate"
    assert [(part.text.strip(), part.rewritten) for part in parts] == [
        (CROSSES, False),
        (f"{DESIGNED}\n\n{TRACKS}", True),
    ]
    assert [s.text for part in parts for s in part.sentences] == [CROSSES, DESIGNED, TRACKS]


async def test_hold_gives_the_draft_where_the_flag_was_wrong() -> None:
    class Shelves(Shelf):
        async def retrieve(self, query: str, *, k: int) -> Any:
            found = await super().retrieve(query, k=k)
            return [type(found[0])("a", MADE_UP)]

    parts, answer = await read(Model(), shelf=Shelves())

    assert "".join(part.text for part in parts) == answer.text == DRAFT
    assert not any(part.rewritten for part in parts)
    assert answer.action == "allow"


async def test_hold_gives_the_draft_where_nothing_was_found() -> None:
    parts, answer = await read(Model(), shelf=Shelf([]))

    assert "".join(part.text for part in parts) == answer.text == DRAFT
    assert answer.action == "annotate"
    assert [s.flagged for part in parts for s in part.sentences] == [False, True, False]


async def test_repaired_streams_list_unscored_text() -> None:
    code = "```\na = 1\n```"
    draft = f"{CROSSES} {MADE_UP}\n\n{code}\n\n{TRACKS}"
    parts, answer = await read(Model(draft), shelf=Shelf([]))

    assert answer.action == "annotate"
    assert "".join(part.text for part in parts) == answer.text == draft
    assert [stretch for part in parts for stretch in part.unscored] == list(answer.verdict.unscored)
    assert [stretch.text for stretch in parts[-1].unscored] == [code]


async def test_hold_withholds_the_rest_where_it_is_to() -> None:
    parts, answer = await read(Model(), shelf=Shelf([]), action={"otherwise": "block"})

    assert answer.blocked
    assert [(part.text.strip(), part.is_replacement) for part in parts] == [
        (CROSSES, False),
        (answer.message, True),
    ]
    assert "".join(part.text for part in parts) == answer.text


async def test_hold_can_raise_in_the_end() -> None:
    action = {"otherwise": {"do": "block", "exit": "raise"}}
    shown: list[str] = []
    async with guard_of(Model(), Shelf([]), action).astream(QUESTION) as stream:
        with pytest.raises(HallucinationBlocked):
            shown += [part.text async for part in stream]
    assert "Vogel" not in "".join(shown)


async def test_a_first_sentence_in_doubt_holds_everything() -> None:
    draft = f"{MADE_UP} {CROSSES} {TRACKS}"
    parts, answer = await read(Model(draft))

    assert answer.text == draft.replace(MADE_UP, DESIGNED)
    assert [part.rewritten for part in parts] == [True]


async def test_a_last_sentence_can_be_taken_out() -> None:
    draft = f"{CROSSES} {TRACKS} {MADE_UP}"
    parts, answer = await read(Model(draft, repairs=lambda _: "REMOVE"))

    # The space before it was shown.
    assert answer.text in {f"{CROSSES} {TRACKS}", f"{CROSSES} {TRACKS} "}
    assert "".join(part.text for part in parts) == answer.text


async def test_an_answer_without_flags_streams_as_ever() -> None:
    draft = f"{CROSSES} {TRACKS}"
    parts, answer = await read(Model(draft))

    assert "".join(part.text for part in parts) == draft
    assert len(parts) == 2
    assert answer.verdict.regeneration is None


@pytest.mark.parametrize(
    ("mode", "action"),
    [("buffer", {}), ("buffer", {"mode": "rewrite"}), ("hold", {"mode": "rewrite"})],
)
async def test_one_piece_where_all_may_change(mode: str, action: dict[str, Any]) -> None:
    parts, answer = await read(Model(), mode, action=action)

    assert [(part.text, part.rewritten) for part in parts] == [(answer.text, True)]
    assert answer.action == "regenerate"
    assert parts[0].sentences == answer.verdict.sentences


async def test_marks_stand_in_what_was_not_shown() -> None:
    parts, answer = await read(Model(), action={"citations": "marks"})

    assert "".join(part.text for part in parts) == answer.text
    assert answer.text.endswith(f"{DESIGNED} [1]\n\n{TRACKS}\n\nSources:\n[1] bridges.md#1")
    assert parts[-1].sentences == ()


class Pieces(Model):
    """Writes its draft in pieces, each when nothing is left to do about the one before."""

    def __init__(self, *pieces: str) -> None:
        super().__init__("".join(pieces))
        self._pieces = pieces

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self.asked.append(request)

        async def pieces() -> AsyncGenerator[Chunk]:
            for piece in self._pieces:
                await anyio.wait_all_tasks_blocked()
                yield Chunk(piece)

        yield pieces()


@pytest.mark.parametrize(
    "pieces",
    [
        (f"{CROSSES} {MADE_UP} {TRACKS}",),
        (f"{CROSSES} ", f"{MADE_UP} ", f"{TRACKS} ", f"{CROSSES} ", TRACKS),
    ],
)
async def test_doubtful_sentences_are_shown_repaired_only(pieces: tuple[str, ...]) -> None:
    parts, answer = await read(Pieces(*pieces))

    assert "".join(part.text for part in parts) == answer.text
    assert answer.text == "".join(pieces).replace(MADE_UP, DESIGNED)
    assert parts[-1].rewritten
