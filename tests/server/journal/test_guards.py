"""What a guard finds is written in the journal that its policy names."""

from __future__ import annotations

import logging
import pickle
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resay import ConfigurationError, Guard, HallucinationBlocked, request_id
from resay_server.journal import Entry, journal_of
from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
QUESTION = "Tell me about the Sydney Harbour Bridge."
SAMPLES = [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]


def policy(path: Path, *, action: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    journal = {"url": f"sqlite:///{path / 'journal.db'}", "content": "all", **settings}
    return {
        "chain": [{"method": "ngram"}],
        "journal": journal,
        "action": action or {"do": "annotate"},
    }


async def kept(guard: Guard) -> list[Entry]:
    await guard.aclose()
    journal = journal_of(guard)
    assert journal is not None
    return await journal.recent()


@pytest.fixture
def named_request() -> Iterator[str]:
    token = request_id.set("req-7")
    yield "req-7"
    request_id.reset(token)


async def test_an_answer_is_written_down(
    tmp_path: Path, simulated: SimulatedProvider, named_request: str
) -> None:
    guard = Guard(policy(tmp_path), model=MODEL)
    answer = await guard.aask(QUESTION, tenant="acme", params=simulated.params)
    (entry,) = await kept(guard)
    assert entry.decision == answer.verdict.decision
    assert entry.action == answer.action
    assert (entry.api, entry.model, entry.policy) == ("chat", MODEL, "unnamed")
    assert (entry.tenant, entry.request_id) == ("acme", named_request)
    assert entry.question == QUESTION
    assert entry.usage.calls == 1
    assert entry.check_usage == answer.verdict.usage
    assert entry.verdict["sentences"][0]["text"] == answer.verdict.sentences[0].text


async def test_a_check_is_written_down(tmp_path: Path) -> None:
    guard = Guard(policy(tmp_path))
    verdict = await guard.acheck("The bridge opened in 1932. It has 44 lamps.", samples=SAMPLES)
    (entry,) = await kept(guard)
    assert (entry.api, entry.decision, entry.score) == ("check", verdict.decision, verdict.score)
    assert entry.model == "unknown"


async def test_a_stream_is_written_down_once(tmp_path: Path, simulated: SimulatedProvider) -> None:
    guard = Guard(policy(tmp_path), model=MODEL)
    async with guard.astream(QUESTION, params=simulated.params) as stream:
        async for _ in stream:
            pass
    (entry,) = await kept(guard)
    assert stream.answer is not None
    assert entry.decision == stream.answer.verdict.decision


async def test_a_withheld_answer_is_written_down(
    tmp_path: Path, simulated: SimulatedProvider
) -> None:
    guard = Guard(policy(tmp_path, action={"do": "block", "exit": "raise"}), model=MODEL)
    with pytest.raises(HallucinationBlocked):
        await guard.aask(QUESTION, params=simulated.params)
    (entry,) = await kept(guard)
    assert (entry.action, entry.decision) == ("block", "flagged")
    assert entry.usage.calls == 1


def test_callers_that_are_not_async(tmp_path: Path) -> None:
    guard = Guard(policy(tmp_path))
    guard.check("It has 31 lamps.", samples=SAMPLES)
    guard.close()
    assert count(tmp_path) == 1


def count(path: Path) -> int:
    with sqlite3.connect(path / "journal.db") as connection:
        (found,) = connection.execute("SELECT count(*) FROM resay_journal_entries").fetchone()
    connection.close()
    return found


async def test_guards_with_the_same_settings_share_one_journal(tmp_path: Path) -> None:
    one, other = Guard(policy(tmp_path)), Guard(policy(tmp_path))
    assert journal_of(one) is journal_of(other)
    assert journal_of(one.with_options(on_verdict=print)) is journal_of(one)
    assert journal_of(Guard(policy(tmp_path, content="none"))) is not journal_of(one)


async def test_a_pickled_guard_writes_too(tmp_path: Path) -> None:
    guard = pickle.loads(pickle.dumps(Guard(policy(tmp_path))))
    await guard.acheck("It has 31 lamps.", samples=SAMPLES)
    assert len(await kept(guard)) == 1


async def test_the_policy_is_called_as_its_file(tmp_path: Path) -> None:
    file = tmp_path / "support.yaml"
    url = f"sqlite:///{tmp_path / 'journal.db'}"
    file.write_text(f"chain: [{{method: ngram}}]\njournal: {{url: '{url}'}}\n", encoding="utf-8")
    guard = pickle.loads(pickle.dumps(Guard(file)))
    await guard.acheck("It has 31 lamps.", samples=SAMPLES)
    (entry,) = await kept(guard)
    assert entry.policy == "support"
    assert entry.verdict["sentences"][0]["text"] == ""


async def test_without_a_journal_nothing_is_written(tmp_path: Path) -> None:
    guard = Guard(policy(tmp_path))
    guard = guard.with_options(policy=guard.policy.model_copy(update={"journal": None}))
    assert journal_of(guard) is None
    await guard.acheck("It has 31 lamps.", samples=SAMPLES)
    await guard.aclose()
    assert not (tmp_path / "journal.db").exists()


async def test_a_journal_that_cannot_be_written_costs_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "journal.db").write_bytes(b"this is no database, and was never one" * 100)
    guard = Guard(policy(tmp_path, max_waiting=1))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            verdict = await guard.acheck("It has 31 lamps.", samples=SAMPLES)
            assert verdict.sentences
        with pytest.raises(Exception, match="file is not a database"):
            await guard.aclose()
    assert "31 lamps" not in caplog.text


PROGRAM = """
import sys
from resay import Guard
guard = Guard({"chain": [{"method": "ngram"}], "journal": {"url": sys.argv[1]}})
for n in range(20):
    guard.check(f"It has {n} lamps.", samples=["It has 3 lamps."])
"""
ASYNC_PROGRAM = """
import asyncio, sys
from resay import Guard
guard = Guard({"chain": [{"method": "ngram"}], "journal": {"url": sys.argv[1]}})
async def main():
    for n in range(20):
        await guard.acheck(f"It has {n} lamps.", samples=["It has 3 lamps."])
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [PROGRAM, ASYNC_PROGRAM])
def test_what_is_left_is_written_when_the_process_ends(tmp_path: Path, program: str) -> None:
    url = f"sqlite:///{tmp_path / 'journal.db'}"
    done = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert count(tmp_path) == 20


# --- what words go through ------------------------------------------------------------------------


def without_digits(text: str) -> str:
    return re.sub(r"\d", "#", text)


def broken(text: str) -> str:
    raise RuntimeError(text)


def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.glob("journal.db*"))


async def test_words_go_through_the_hook(tmp_path: Path) -> None:
    guard = Guard(policy(tmp_path, redact=f"{__name__}:without_digits"))
    await guard.acheck("It has 31 lamps.", samples=SAMPLES, question="How many of the 40?")
    (entry,) = await kept(guard)
    (sentence,) = entry.verdict["sentences"]
    assert sentence["text"] == "It has ## lamps."
    assert entry.question == "How many of the ##?"
    assert b"31 lamps" not in on_disk(tmp_path)


async def test_a_hook_that_fails_drops_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard(policy(tmp_path, redact=f"{__name__}:broken"))
    with caplog.at_level(logging.WARNING):
        await guard.acheck("It has 31 lamps.", samples=SAMPLES, question="How many?")
        (entry,) = await kept(guard)
    assert entry.question is None
    assert entry.verdict["sentences"][0]["text"] == ""
    assert "`redact` failed with RuntimeError" in caplog.text
    assert "lamps" not in caplog.text


def test_a_hook_that_is_not_there_is_refused_early(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no 'nothing'"):
        Guard(policy(tmp_path, redact=f"{__name__}:nothing"))
