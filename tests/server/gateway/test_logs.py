from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Answer, Guard, request_id
from resay.errors import MissingDependencyError
from resay_server.gateway import Observation
from resay_server.gateway.logs import (
    Format,
    WithoutMessage,
    configure,
    log_passed,
    log_request,
    one_line,
)
from support.journal import SECRETS, make_verdict, repaired

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "operating.md").read_text()
SECRET = "zqcontentzq"
CHANGED = ("", "resay", "uvicorn", "httpx", "LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
FORMATS: tuple[Format, ...] = ("text", "json")
RECORD = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) \S+ .*")
# Also what no encoding can write.
ANY = st.text(st.characters(), max_size=60) | st.sampled_from(
    ["a\nERROR x", "\r\n", "\x1b[2J", "\u2028", "\u202e", "\ud800", '"}\n{"a": "', "\\n", "\x00"]
)
Written = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Leave the log as it was."""
    loggers = [logging.getLogger(name) for name in CHANGED]
    kept = [(log, log.level, log.handlers[:], log.filters[:]) for log in loggers]
    yield
    logging.captureWarnings(capture=False)
    for log, level, handlers, filters in kept:
        log.setLevel(level)
        log.handlers[:], log.filters[:] = handlers, filters


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Written:
    """What was written since it was last asked for."""
    return lambda: capsys.readouterr().err.split("\n")[:-1]


def seen(**told: Any) -> Observation:
    answer = Answer("x", "x", "annotate", make_verdict("flagged", repaired(0)))
    known = {
        "request_id": "req-7",
        "api": "chat",
        "model": "m",
        "policy": "strict",
        "tenant": None,
        "client": "search-team",
        "stream": False,
        "status": 200,
        "answers": (answer,),
        "question": SECRETS[0],
        "request": {"messages": [{"content": SECRETS[0]}]},
        "elapsed_s": 1.25,
        "complete": True,
    }
    return Observation(**(known | told))


def test_a_guarded_request_is_one_object(written: Written) -> None:
    configure("json")
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    log_request(seen())
    (line,) = written()
    told = json.loads(line)
    moment = datetime.fromisoformat(told.pop("time").replace("Z", "+00:00"))
    assert before < moment < before + timedelta(seconds=60)
    assert told == {
        "level": "INFO",
        "logger": "resay.gateway.access",
        "message": "POST /v1/chat/completions 200 in 1.25 s: strict, flagged, annotate",
        "request_id": "req-7",
        "method": "POST",
        "route": "/v1/chat/completions",
        "status": 200,
        "elapsed_s": 1.25,
        "model": "m",
        "policy": "strict",
        "tenant": None,
        "client": "search-team",
        "stream": False,
        "decision": "flagged",
        "action": "annotate",
        "score": 0.75,
        "complete": True,
    }


def test_the_page_shows_such_a_line(written: Written) -> None:
    configure("json")
    log_request(seen())
    (shown,) = re.findall(r"^{\"time\".*}$", PAGE, re.MULTILINE)
    assert list(json.loads(shown)) == list(json.loads(written()[0]))


def test_a_guarded_request_is_one_line(written: Written) -> None:
    configure("text")
    log_request(seen(answers=(), status=499, complete=False))
    (line,) = written()
    assert RECORD.fullmatch(line)
    assert line.endswith(
        "INFO resay.gateway.access req-7 POST /v1/chat/completions 499 in 1.25 s: strict"
    )


def test_a_request_that_was_passed_on_has_the_contexts_id(written: Written) -> None:
    configure("json")
    token = request_id.set("req-8")
    log_passed("GET", 404, 0.5)
    request_id.reset(token)
    log_passed("POST", 401, 0.5, route="/v1/messages", request_id="req-9")
    first, second = map(json.loads, written())
    assert first["message"] == "GET /v1/* 404 in 0.50 s"
    assert [one["request_id"] for one in (first, second)] == ["req-8", "req-9"]
    assert (second["route"], second["status"]) == ("/v1/messages", 401)


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_check_says_keeps_its_fields_and_has_no_content(
    written: Written, form: Format
) -> None:
    configure(form)
    token = request_id.set("req-8")
    Guard({"chain": [{"method": "ngram"}]}).check(SECRET, samples=[f"{SECRET}."] * 3)
    request_id.reset(token)
    log_request(seen())
    lines = written()
    assert len(lines) == 2
    assert "req-8" in lines[0]
    assert not [secret for secret in (SECRET, *SECRETS) if secret in "".join(lines)]
    if form == "json":
        told = json.loads(lines[0])
        assert told["logger"] == "resay"
        assert told["samples"] == 3
        assert told["policy"] == ["ngram"]


@pytest.mark.parametrize("form", FORMATS)
def test_what_others_say_is_left_out(written: Written, form: Format) -> None:
    configure(form)
    log = logging.getLogger("somebody.else")
    log.error(f"it failed: {SECRET}")
    log.warning("it failed: %s", SECRET, extra={"body": SECRET})
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        log.exception(error)
    lines = written()
    assert len(lines) == 3
    assert SECRET not in "".join(lines)
    assert all("somebody.else" in line and "test_logs:" in line for line in lines)
    assert ["ValueError" in line for line in lines] == [False, False, True]


@pytest.mark.parametrize("form", FORMATS)
def test_an_exception_of_the_servers_is_known_by_its_type_alone(
    written: Written, form: Format
) -> None:
    configure(form)
    try:
        raise KeyError(SECRET)
    except KeyError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    (line,) = written()
    assert "Exception in ASGI application" in line
    assert "KeyError" in line
    assert SECRET not in line


def test_a_task_that_nobody_asked_how_it_ended_tells_no_content(written: Written) -> None:
    async def fail() -> None:
        raise ValueError(SECRET)

    async def main() -> None:
        task = asyncio.ensure_future(fail())
        await asyncio.wait([task])

    configure("json")
    asyncio.run(main())
    (line,) = written()
    told = json.loads(line)
    assert (told["logger"], told["error"]) == ("asyncio", "ValueError")
    assert SECRET not in line


def test_debug_shows_all(written: Written) -> None:
    configure("json", "debug")
    log = logging.getLogger("somebody.else")
    try:
        raise ValueError(f"first\n{SECRET}")
    except ValueError:
        log.warning("it failed: %s", SECRET, exc_info=True)
    log.info("%s", SECRET)
    logging.getLogger("resay.gateway").debug("here")
    said, ours = map(json.loads, written())
    assert said["message"] == f"it failed: {SECRET}"
    assert said["traceback"][0] == "Traceback (most recent call last):"
    assert said["traceback"][-1] == SECRET
    assert ours["message"] == "here"


@pytest.mark.parametrize("form", FORMATS)
def test_a_traceback_without_messages_is_shown_at_any_level(written: Written, form: Format) -> None:
    configure(form)
    try:
        try:
            raise ValueError(SECRET)
        except ValueError as error:
            raise MissingDependencyError("litellm", "litellm", "a model") from error
    except MissingDependencyError as error:
        logging.getLogger("resay.gateway").error("it failed", exc_info=WithoutMessage(error))
    told = "\n".join(written())
    assert __file__ in told
    assert "ValueError" in told
    assert "pip install 'resay[litellm]'" in told
    assert SECRET not in told


def test_no_line_of_a_traceback_looks_like_a_record(written: Written) -> None:
    configure("text", "debug")
    try:
        raise ValueError("\n2026-01-01T00:00:00.000Z ERROR resay - forged\r\x1b[2J")
    except ValueError:
        logging.getLogger("resay").exception("it failed")
    first, *others = written()
    assert RECORD.fullmatch(first)
    assert others
    assert all(re.match(r"    \S|     +", line) for line in others)
    assert not re.search(r"[\r\x1b]", "".join(others))


@pytest.mark.parametrize("level", ["info", "debug"])
def test_urls_are_not_in_the_log(written: Written, level: Any) -> None:
    configure("json", level)
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as client:
        client.get(f"http://upstream.example/v1?key={SECRET}")
    assert written() == []


def test_the_level_is_that_of_resay(written: Written) -> None:
    configure("text", "warning")
    log_request(seen())
    logging.getLogger("resay.gateway").warning("seen")
    assert len(written()) == 1


def test_to_configure_again_changes_how(written: Written) -> None:
    configure("text")
    configure("json")
    configure("json")
    logging.getLogger("resay").warning("once")
    logging.getLogger("LiteLLM").warning("once")
    assert [json.loads(line)["logger"] for line in written()] == ["resay", "LiteLLM"]


def test_litellms_own_handlers_write_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = pytest.importorskip("litellm")
    assert logging.getLogger("LiteLLM").handlers
    configure("json")
    litellm.verbose_logger.error(f"Exception occurred - {SECRET}")
    litellm.verbose_logger.info(SECRET)
    out, err = capsys.readouterr()
    assert out == ""
    assert SECRET not in err
    assert [json.loads(line)["logger"] for line in err.splitlines()] == ["LiteLLM"]


def test_warnings_are_left_out_too(written: Written) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure("json")
        warnings.warn(f"expected a number, got {SECRET}", stacklevel=1)
        (line,) = written()
        logging.captureWarnings(capture=False)
    assert json.loads(line)["logger"] == "py.warnings"
    assert SECRET not in line


def test_a_record_that_cannot_be_written_tells_nothing(written: Written) -> None:
    configure("text")
    root = logging.getLogger()
    # pytest's own handler fails.
    root.handlers[:] = root.handlers[-1:]
    root.warning("%s", SECRET)
    logging.getLogger("resay").warning("%d of %d", SECRET, 2)
    (line,) = written()
    assert SECRET not in line


def test_values_that_json_does_not_have(written: Written) -> None:
    configure("json")
    values = {"nan": float("nan"), "items": (1, {SECRET}), "body": {"q": SECRET}, "none": None}
    logging.getLogger("resay.x").warning("said", extra=values)
    told = json.loads(written()[0])
    shown = {name: told[name] for name in values}
    assert shown == {"nan": None, "items": [1, "set"], "body": "dict", "none": None}


def test_no_field_stands_in_for_what_every_line_has(written: Written) -> None:
    configure("json")
    forged = {"time": "never", "level": "ERROR", "logger": "somebody", "error": "none"}
    logging.getLogger("resay.x").warning("said", extra=forged)
    told = json.loads(written()[0])
    assert (told["level"], told["logger"]) == ("WARNING", "resay.x")
    assert told["time"].endswith("Z")


@given(ANY, ANY, ANY, st.dictionaries(st.text(min_size=1), ANY, max_size=3))
def test_nothing_forges_a_line(model: str, policy: str, said: str, fields: dict[str, str]) -> None:
    observed = seen(model=model, policy=policy, tenant=said, client=said, request_id=said or "r")
    for form in FORMATS:
        lines = io_lines(form, observed, said, fields)
        assert len(lines) == 2
        assert all(line.isprintable() for line in lines)
        if form == "text":
            assert all(RECORD.fullmatch(line) for line in lines)
        else:
            told = [json.loads(line) for line in lines]
            assert told[0]["model"] == one_line(model)
            assert told[0]["level"] == "INFO"
            assert told[1]["level"] == "WARNING"
            assert told[1]["logger"] == "resay.x"


def io_lines(form: Format, observed: Observation, said: str, fields: dict[str, str]) -> list[str]:
    """Return what is written of a request and of a record with any fields."""
    told = SimpleNamespace(text="")
    told.write = lambda text: setattr(told, "text", told.text + text)
    told.flush = lambda: None
    kept, sys.stderr = sys.stderr, told
    try:
        configure(form)
    finally:
        sys.stderr = kept
    # Whoever else listens, such as pytest, may not be able to pass on what no encoding can write.
    root = logging.getLogger()
    root.handlers[:] = root.handlers[-1:]
    log_request(observed)
    record = logging.makeLogRecord({"name": "resay.x", "levelno": 30, "levelname": "WARNING"})
    record.msg = said
    known = vars(record)
    vars(record).update({k: v for k, v in fields.items() if k not in known})
    logging.getLogger().handle(record)
    return told.text.split("\n")[:-1]


@given(st.text(st.characters()), st.integers(1, 300))
def test_one_line_is_one_line(text: str, longest: int) -> None:
    shown = one_line(text, longest)
    assert len(shown) <= longest
    assert one_line(shown, longest) == shown
    assert shown.isprintable()
    if text.isprintable() and len(text) <= longest:
        assert shown == text
