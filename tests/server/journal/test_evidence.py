"""The texts that answers were checked with are stored where the settings store content."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Guard
from resay.adapters import run_sync
from resay.plugins import JudgeCall, RecordedEvidence, Reference
from resay.testing import ScriptedProvider
from resay_server.journal import (
    Entry,
    Journal,
    JournalConfig,
    JournalSink,
    journal_of,
    open_journal,
)
from resay_server.journal import evidence as stored_form
from resay_server.journal.compression import decompress
from resay_server.journal.export import json_lines
from support.journal import NOW, entry, make_verdict

pytestmark = pytest.mark.anyio
Opener = Callable[..., Journal]
CALL = JudgeCall(
    method="prompt",
    prompt="Is zqclaimzq so?",
    answers=("zqyeszq",),
    claims=("zqclaimzq",),
    model="acme/judge",
)
EVIDENCE = RecordedEvidence(
    response="zqanswerzq",
    samples=("zqfirstzq", "zqsecondzq"),
    second_samples=("zqotherzq",),
    references=(Reference("zqtrustedzq", "messages[0]", title="zqtitlezq", url="zqurlzq"),),
    judge_calls=(CALL, JudgeCall(method="prompt", prompt="zqagainzq", error="RateLimitError")),
)
SECRETS = (
    *("zqclaimzq", "zqyeszq", "zqfirstzq", "zqsecondzq", "zqotherzq", "zqtrustedzq", "zqtitlezq"),
    *("zqurlzq", "zqagainzq", "zqanswerzq"),
)


async def stored(journal: Journal, *entries: Entry) -> dict[str, RecordedEvidence]:
    for item in entries:
        assert await journal.append(item)
    await journal.flush()
    return await journal.evidence(*(item.id for item in entries))


async def test_evidence_is_stored_beside_its_entry(opened: Opener) -> None:
    journal = opened(content="all")
    with_evidence, without = entry(id="a", evidence=EVIDENCE), entry(id="b")
    assert await stored(journal, with_evidence, without) == {"a": EVIDENCE}
    # Lists do not read it.
    assert await journal.get("a") == replace(with_evidence, evidence=None)
    assert await journal.evidence() == {}
    assert await journal.evidence("nobody's") == {}


async def test_an_entry_that_was_written_again_keeps_its_evidence(opened: Opener) -> None:
    journal = opened(content="all")
    await stored(journal, entry(id="a", evidence=EVIDENCE))
    assert await stored(journal, entry(id="a")) == {"a": EVIDENCE}


@pytest.mark.parametrize(
    ("options", "decision", "is_stored"),
    [
        ({"content": "none"}, "flagged", False),
        ({"content": "flagged"}, "flagged", True),
        ({"content": "flagged"}, "consistent", False),
        ({"content": "all"}, "consistent", True),
        ({"content": "all", "evidence": False}, "flagged", False),
    ],
)
async def test_the_settings_say_which_entries_have_evidence(
    opened: Opener, options: dict[str, Any], decision: str, is_stored: bool
) -> None:
    journal = opened(**options)
    checked = entry(make_verdict(decision), id="a", action="allow", evidence=EVIDENCE)
    assert await stored(journal, checked) == ({"a": EVIDENCE} if is_stored else {})


# What the file has anyway, such as zeros, is in none of them.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60).map("zq{}qz".format)
CALLS = st.builds(
    JudgeCall,
    method=st.just("prompt"),
    prompt=TEXTS,
    answers=st.lists(TEXTS, max_size=2).map(tuple),
    claims=st.lists(TEXTS, max_size=2).map(tuple),
)
EVIDENCES = st.builds(
    RecordedEvidence,
    response=TEXTS,
    samples=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
    second_samples=st.lists(TEXTS, max_size=2).map(tuple),
    references=st.lists(st.builds(Reference, TEXTS, title=TEXTS), max_size=2).map(tuple),
    judge_calls=st.lists(CALLS, min_size=1, max_size=3).map(tuple),
)


@settings(deadline=None, max_examples=30)
@given(EVIDENCES, st.sampled_from(["none", "flagged"]))
def test_without_content_no_text_of_it_is_in_the_file(
    evidence: RecordedEvidence, content: Any
) -> None:
    with TemporaryDirectory() as folder:
        run_sync(_write, Path(folder) / "journal.db", content, evidence)
        values = _values(Path(folder) / "journal.db")
        on_disk = _on_disk(Path(folder))
    assert any("gpt-4.1-mini" in value for value in values)
    for text in _texts(evidence):
        assert not [value for value in values if text in value]
        assert text.encode() not in on_disk


@settings(deadline=None, max_examples=10)
@given(EVIDENCES)
def test_with_content_all_text_of_it_is_in_the_file(evidence: RecordedEvidence) -> None:
    with TemporaryDirectory() as folder:
        run_sync(_write, Path(folder) / "journal.db", "all", evidence)
        with closing(sqlite3.connect(Path(folder) / "journal.db")) as connection:
            ((value,),) = connection.execute("SELECT evidence FROM resay_journal_entries")
    assert set(_texts(stored_form.evidence_of(decompress(value)))) == set(_texts(evidence))


async def _write(path: Path, content: Any, evidence: RecordedEvidence) -> None:
    journal = open_journal(JournalConfig(url=f"sqlite:///{path}", content=content))
    checked = entry(make_verdict("consistent"), action="allow", evidence=evidence)
    await stored(journal, checked)
    await journal.aclose()


def _on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def _values(path: Path) -> list[str]:
    """Return all values in a database, decompressed."""
    values: list[str] = []
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in names.fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                values += [_plain(value) for value in row]
    return values


def _plain(value: object) -> str:
    if isinstance(value, bytes) and value[:1] == b"\x01":
        value = decompress(value)
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _texts(evidence: RecordedEvidence) -> list[str]:
    texts: list[str] = []

    def note(text: str) -> str:
        texts.append(text)
        return text

    stored_form.replace_evidence_texts(evidence, note)
    return texts


async def test_what_is_deleted_is_gone_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = open_journal(JournalConfig(url=f"sqlite:///{path}", content="all"))
    sample = "".join(str(number) for number in range(20_000))
    await stored(journal, entry(tenant="t", evidence=RecordedEvidence(samples=(sample,))))
    with closing(sqlite3.connect(path)) as connection:
        ((value,),) = connection.execute("SELECT evidence FROM resay_journal_entries")
    middle = value[len(value) // 2 :][:200]
    assert middle in _on_disk(tmp_path)
    assert await journal.forget(tenant="t") == 1
    assert middle not in _on_disk(tmp_path)
    await journal.aclose()


@pytest.mark.parametrize("way", ["tenant", "request", "retention"])
async def test_evidence_is_deleted_with_its_entry(opened: Opener, way: str) -> None:
    journal = opened(content="all")
    await stored(journal, entry(id="a", tenant="t", request_id="r", time=NOW, evidence=EVIDENCE))
    if way == "retention":
        assert await opened(retention_days=1).prune(NOW + 100_000) == 1
    else:
        name = {"tenant": {"tenant": "t"}, "request": {"request_id": "r"}}[way]
        assert await journal.forget(**name) == 1
    assert await journal.evidence("a") == {}


def hide(text: str) -> str:
    return f"[{len(text)}]"


def fail(text: str) -> str:
    if text.startswith("zqagain"):
        raise RuntimeError(text)
    return text


async def test_each_text_is_redacted(opened: Opener) -> None:
    journal = opened(content="all", redact=f"{__name__}:hide")
    evidence = (await stored(journal, entry(id="a", evidence=EVIDENCE)))["a"]
    assert not [secret for secret in SECRETS if secret in repr_of(evidence)]
    assert evidence.samples == tuple(map(hide, EVIDENCE.samples))
    # Labels are no content.
    assert evidence.judge_calls[0].model == "acme/judge"
    assert evidence.references[0].source == "messages[0]"


async def test_a_text_that_cannot_be_redacted_is_not_stored(opened: Opener) -> None:
    journal = opened(content="all", redact=f"{__name__}:fail")
    assert await stored(journal, entry(id="a", evidence=EVIDENCE)) == {}
    stored_entry = await journal.get("a")
    assert stored_entry is not None
    assert stored_entry.question is None


def repr_of(evidence: RecordedEvidence) -> str:
    return stored_form.evidence_json(evidence)


async def test_what_is_too_long_is_left_out_and_counted(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_form, "_MAX_CHARS", 60)
    evidence = RecordedEvidence(
        samples=("a" * 20, "b" * 30, "c" * 15, "d"),
        judge_calls=(replace(CALL, prompt="p", claims=(), answers=()), CALL, CALL),
        omitted_calls=2,
    )
    (short,) = (await stored(opened(content="all"), entry(id="a", evidence=evidence))).values()
    # The numbers of samples in the verdict stay those of the stored ones.
    assert short.samples == evidence.samples[:2]
    assert short.omitted_texts == 2
    assert short.judge_calls == evidence.judge_calls[:1]
    assert short.omitted_calls == 4


async def test_unusual_characters_are_stored(opened: Opener) -> None:
    evidence = RecordedEvidence(samples=("\0 \ud800 雪 \U0001f600",))
    assert await stored(opened(content="all"), entry(id="a", evidence=evidence)) == {"a": evidence}


async def test_an_export_has_the_evidence(opened: Opener) -> None:
    journal = opened(content="all")
    entries = [entry(id=f"{i}", evidence=EVIDENCE if i % 2 else None) for i in range(45)]
    await stored(journal, *entries)
    lines = "".join([lines async for lines in json_lines(journal, [(e, ()) for e in entries])])
    assert len(lines.splitlines()) == 45
    assert lines.count('"evidence": null') == 23
    assert lines.count("zqagainzq") == 22


def _provider() -> ScriptedProvider:
    def answer(request: Any) -> str:
        if request.messages[-1]["content"] == "When?":
            return "It opened in 1947." if request.varied else "It opened in 1932."
        return '{"1": {"contradicts": [1, 2, 3]}}'

    return ScriptedProvider(answer)


async def test_a_guards_journal_has_the_evidence_of_its_checks(url: str) -> None:
    policy = {"chain": [{"method": "prompt"}], "journal": {"url": url, "content": "all"}}
    guard = Guard(policy, provider=_provider())
    await guard.aask("When?")
    await guard.aclose()
    journal = journal_of(guard)
    assert journal is not None
    (checked,) = await journal.recent()
    evidence = (await journal.evidence(checked.id))[checked.id]
    assert set(evidence.samples) == {"It opened in 1947."}
    assert {call.claims for call in evidence.judge_calls} == {("It opened in 1932.",)}
    await journal.aclose()


@pytest.mark.parametrize("options", [{}, {"content": "all", "evidence": False}])
async def test_nothing_is_collected_for_a_journal_that_does_not_store_it(
    url: str, options: dict[str, Any]
) -> None:
    journal = open_journal(JournalConfig(url=url, **options))
    guard = Guard(
        {"chain": [{"method": "prompt"}]}, provider=_provider(), sinks=[JournalSink(journal)]
    )
    answer = await guard.aask("When?")
    assert answer.verdict.evidence is None
    await guard.aclose()
    await journal.aclose()


async def test_a_long_check_is_serialized_beside_the_event_loop(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def within_limit(evidence: RecordedEvidence) -> RecordedEvidence:
        threads.append(threading.get_ident())
        return evidence

    monkeypatch.setattr("resay_server.journal.rows.within_limit", within_limit)
    journal = opened(content="all")
    for length in (10, 10_000_000):
        evidence = RecordedEvidence(samples=("a" * length,))
        with anyio.fail_after(30):
            await stored(journal, entry(evidence=evidence))
    assert [thread == threading.get_ident() for thread in threads] == [True, False]
