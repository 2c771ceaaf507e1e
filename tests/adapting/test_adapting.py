"""What the adapters share."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import copy_context

import pytest

from resay import Guard, PolicyError, Verdict
from resay.adapting import (
    LEFT_OUT,
    OPENAI_PARAMS,
    UnmappedError,
    check_chat_completions,
    guard_of,
    inside_guard,
    litellm_provider,
    marked,
    verdict_data,
)
from resay.verdict import SentenceVerdict

NGRAM = {"chain": [{"method": "ngram"}]}


def test_a_guard_is_taken_as_it_is_and_a_policy_makes_one() -> None:
    guard = Guard(NGRAM)
    assert guard_of(guard) is guard
    assert guard_of(NGRAM).policy == guard.policy
    with pytest.raises(PolicyError):
        guard_of({"chain": []})


def test_a_mark_holds_for_what_is_called_meanwhile_and_no_longer() -> None:
    seen: list[bool] = []

    def look() -> None:
        seen.append(inside_guard())

    with marked(), marked():
        copied = copy_context()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    copied.run(look)
    look()
    # A thread of nobody's has no part in it; work that was handed over has.
    assert seen == [False, True, False]


def test_a_mark_is_taken_back_when_something_fails() -> None:
    with pytest.raises(KeyError), marked():
        raise KeyError
    assert not inside_guard()


@pytest.mark.parametrize(
    ("model", "tools"),
    [("gpt-5.1", True), ("o3-pro", False), ("gpt-5-codex", False), ("responses/gpt-4.1", False)],
)
def test_requests_that_litellm_sends_elsewhere_do_not_fit(model: str, tools: bool) -> None:
    with pytest.raises(UnmappedError, match="Responses API"):
        check_chat_completions(model, tools=tools)


@pytest.mark.parametrize(
    ("model", "tools"),
    [("gpt-4.1-mini", True), ("gpt-5", False), ("gpt-5.1", False), ("o3", True), ("mine", True)],
)
def test_others_fit(model: str, tools: bool) -> None:
    check_chat_completions(model, tools=tools)


def test_what_is_sent_and_what_is_left_out_do_not_overlap() -> None:
    assert not OPENAI_PARAMS & LEFT_OUT
    assert {"seed", "n", "store", "stream"} <= LEFT_OUT


def test_one_provider_serves_all() -> None:
    assert litellm_provider() is litellm_provider()


def test_a_withheld_answers_verdict_has_none_of_its_words() -> None:
    sentence = SentenceVerdict("It is made up.", 0, 14, 1.0, flagged=True)
    verdict = Verdict("flagged", 1.0, "1 of 1 sentences > 0.50", (sentence,))
    shown, hidden = (verdict_data(verdict, action) for action in ("annotate", "block"))
    assert (shown["action"], shown["sentences"][0]["text"]) == ("annotate", "It is made up.")
    assert (hidden["action"], hidden["sentences"][0]["text"]) == ("block", "")
    assert Verdict.from_dict(shown) == verdict


@pytest.mark.parametrize("sdk", ["anthropic", "litellm", "openai"])
def test_without_its_sdk_an_adapter_says_what_to_install(sdk: str) -> None:
    code = f"""
import importlib.util
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "{sdk}" else known(name, *a)
from resay import optional, MissingDependencyError
optional.find_spec = importlib.util.find_spec
try:
    import resay_{sdk}
except MissingDependencyError as error:
    print(error)
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert f"pip install 'resay[{sdk}]'" in done.stdout
