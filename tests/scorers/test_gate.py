from __future__ import annotations

import functools
import logging
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Passage, Request
from resay.errors import ConfigurationError
from resay.scorers.gate import When

pytestmark = pytest.mark.anyio

REQUEST = Request.of("What is the capital of Australia?")
SECRET = "The capital is Sydney."


async def after(text: str, request: Request = REQUEST, **rules: Any) -> str | None:
    return await When(**rules).after(request, Passage.of(text))


async def test_without_rules_everything_is_checked() -> None:
    assert When().before(REQUEST) is None
    assert await after("") is None
    assert await after("Hi!") is None


@pytest.mark.parametrize(
    ("rules", "text", "reason"),
    [
        (
            {"min_chars": 40},
            " It is Sydney. ",
            "the response has 13 characters, fewer than `when.min_chars` (40)",
        ),
        ({"min_chars": 13}, " It is Sydney. ", None),
        ({"max_chars": 0}, "I", "the response has 1 character, more than `when.max_chars` (0)"),
        ({"max_chars": 1}, "I", None),
        (
            {"min_sentences": 2},
            SECRET,
            "the response has 1 sentence, fewer than `when.min_sentences` (2)",
        ),
        ({"min_sentences": 2}, "One. Two.", None),
        (
            {"max_sentences": 1},
            "One. Two.",
            "the response has 2 sentences, more than `when.max_sentences` (1)",
        ),
        ({"max_sentences": 2}, "One. Two.", None),
        (
            {"checkable": True},
            "Hello!",
            "the response is a greeting, with nothing to check (`when.checkable`)",
        ),
        ({"checkable": True}, SECRET, None),
        ({"checkable": False}, "Hello!", None),
        ({"min_chars": 1, "max_sentences": 3, "checkable": True}, SECRET, None),
    ],
)
async def test_length_and_gate(rules: dict[str, Any], text: str, reason: str | None) -> None:
    assert await after(text, **rules) == reason
    assert await after(text, Request(()), **rules) == reason


@given(text=st.text(), least=st.integers(0, 50), most=st.integers(0, 50))
def test_a_response_within_the_bounds_is_checked(text: str, least: int, most: int) -> None:
    passage = Passage.of(text)
    least, most = sorted((least, most))
    reason = anyio.run(When(min_chars=least, max_chars=most).after, Request(()), passage)
    assert (reason is None) == (least <= len(text.strip()) <= most)
    assert "\n" not in (reason or "")


def conversation(*roles: Any) -> Request:
    return Request.of([{"role": role, "content": SECRET} for role in roles])


@pytest.mark.parametrize(
    ("conversed", "reason"),
    [
        (REQUEST, None),
        (conversation("user", "tool"), None),
        (Request(()), None),
        (
            conversation("user", "assistant"),
            "the last message is from 'assistant', not from `when.roles` (user, tool)",
        ),
        (
            conversation("user", SECRET),
            "the last message is from something else, not from `when.roles` (user, tool)",
        ),
        (
            conversation("user", [SECRET]),
            "the last message is from something else, not from `when.roles` (user, tool)",
        ),
    ],
)
def test_roles(conversed: Request, reason: str | None) -> None:
    assert When(roles=("user", "tool")).before(conversed) == reason


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_chars": -1}, "greater than or equal to 0"),
        ({"min_chars": "5"}, "valid integer"),
        ({"min_chars": 5, "max_chars": 4}, r"min_chars \(5\) must not be greater than max_chars"),
        ({"min_sentences": 2, "max_sentences": 1}, "min_sentences"),
        ({"roles": []}, "at least 1"),
        ({"roles": ["bot"]}, "'user', 'tool'"),
        ({"checkable": 1}, "valid boolean"),
        ({"call": 5}, "valid string"),
        ({"call": "myapp.check"}, "package.module:function"),
        ({"call": "myapp:check it"}, "package.module:function"),
        ({"unknown": 1}, "Extra inputs"),
    ],
)
def test_invalid_conditions_are_refused_without_quoting_them(
    rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message) as caught:
        When.model_validate(rules)
    assert "input_value" not in str(caught.value)


def test_conditions_are_frozen_and_describe_themselves() -> None:
    when = When.model_validate({"roles": ["user"], "call": "myapp:check", "min_chars": 3})
    assert when == When(roles=("user",), call="myapp:check", min_chars=3)
    assert hash(when) == hash(When(roles=("user",), call="myapp:check", min_chars=3))
    assert When.model_validate_json(when.model_dump_json()) == when
    assert When.model_validate(when.model_dump()) == when
    with pytest.raises(ValidationError):
        when.min_chars = 4
    properties = When.model_json_schema()["properties"]
    assert all("description" in field for field in properties.values())
    assert properties["call"]["anyOf"][1] == {"type": "null"}


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the user's, under a name of its own, since imports are remembered."""
    app: Any = types.ModuleType(f"app_{id(monkeypatch)}")
    monkeypatch.setitem(sys.modules, app.__name__, app)
    return app


def said(answer: Any) -> Callable[[Request | None, str], Any]:
    def check(request: Request | None, text: str) -> Any:
        assert request is REQUEST
        assert text == SECRET
        if isinstance(answer, Exception):
            raise answer
        return answer

    return check


class Asynchronous:
    async def __call__(self, request: Request | None, text: str) -> bool:
        return text != SECRET


async def later(request: Request | None, text: str) -> bool:
    await anyio.lowlevel.checkpoint()
    return text != SECRET


async def test_a_function_is_asked(app: Any) -> None:
    app.check = said(True)
    app.skip = types.SimpleNamespace(it=said(False))
    assert await after(SECRET, call=f"{app.__name__}:check") is None
    name = f"{app.__name__}:skip.it"
    assert await after(SECRET, call=name) == (
        f"`when.call` ({name}) says not to check the response"
    )


@pytest.mark.parametrize(
    "function",
    [
        said(False),
        later,
        Asynchronous(),
        functools.partial(later),
        lambda query, text: later(query, text),
        said(0),
    ],
)
async def test_functions_of_every_kind_may_say_no(function: Any) -> None:
    reason = await after(SECRET, call=function)
    assert reason is not None
    assert reason.endswith("says not to check the response")


@pytest.mark.parametrize("answer", [ValueError(SECRET), TypeError(SECRET), None])
async def test_a_function_that_fails_does_not_lose_the_check(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "resay"):
        assert await after(SECRET, call=said(answer)) is None
    [record] = caplog.records
    assert "the response is checked" in record.getMessage()
    assert SECRET not in caplog.text
    assert record.exc_info is None


async def test_a_function_that_hangs_can_be_given_up() -> None:
    stop = anyio.Event()

    async def hang(request: Request | None, text: str) -> bool:
        stop.set()
        await anyio.sleep_forever()
        return False

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(functools.partial(after, SECRET, call=hang))
        await stop.wait()
        tasks.cancel_scope.cancel()


async def test_a_function_is_imported_when_it_is_first_needed_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted_app.py").write_text(
        "imports = []\ndef __getattr__(name):\n    imports.append(name)\n"
        "    return lambda query, text: True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    when = When(call="counted_app:check")
    assert "counted_app" not in sys.modules
    when.load()
    assert await when.after(REQUEST, Passage.of(SECRET)) is None
    assert await when.after(REQUEST, Passage.of(SECRET)) is None
    assert sys.modules["counted_app"].imports.count("check") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("not_there_at_all:check", "ModuleNotFoundError in 'not_there_at_all'"),
        ("resay.scorers.gate:nothing", "'resay.scorers.gate' has no 'nothing'"),
        ("resay.scorers.gate:When.nothing", "'resay.scorers.gate' has no 'When.nothing'"),
        ("resay._internal._version:__version__", "is not a function"),
        ("math:sqrt", "must take two arguments"),
    ],
)
async def test_a_function_that_cannot_be_had_is_named(name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        When(call=name).load()
    assert repr(name) in str(caught.value)
    with pytest.raises(ConfigurationError, match=message):
        await after(SECRET, call=name)


async def test_the_function_is_asked_last(app: Any) -> None:
    app.check = said(ValueError())
    assert await after("Hi!", call=f"{app.__name__}:check", checkable=True) is not None
    assert await after("Hi!", call="not_there_at_all:check", min_chars=20) is not None


def test_a_function_is_written_as_its_name() -> None:
    assert When(call=later).model_dump()["call"] is later
    written = When(call=later).model_dump_json(include={"call"})
    assert written == f'{{"call":"{later.__module__}:later"}}'
