"""What the adapters share."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import copy_context

import pytest

from resay import ConfigurationError, Guard, Policy, PolicyError, SentenceVerdict, Verdict
from resay.adapters import inside_guard, marked
from resay.adapters.apis import CHAT_COMPLETIONS, MESSAGES, Api, Body
from resay.adapters.policies import check_client_policy, guard_of
from resay.adapters.upstream import (
    LEFT_OUT,
    OPENAI_PARAMS,
    JudgeProvider,
    Upstream,
    litellm_provider,
)
from resay.adapters.verdicts import verdict_data
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.errors import MissingDependencyError
from support.alone import needs

NGRAM = {"chain": [{"method": "ngram"}]}


def test_a_guard_is_taken_as_it_is_and_a_policy_makes_one() -> None:
    guard = Guard(NGRAM)
    assert guard_of(guard) is guard
    assert guard_of(NGRAM).policy == guard.policy
    with pytest.raises(PolicyError):
        guard_of({"chain": []})


def test_a_retriever_is_the_guards() -> None:
    repairing = {**NGRAM, "action": {"do": "regenerate"}}

    def search(query: str) -> list[str]:
        return []

    assert guard_of(repairing, search).policy == Policy.of(repairing)
    with pytest.raises(ConfigurationError, match="no retriever"):
        guard_of(repairing)
    with pytest.raises(ConfigurationError, match="'function', but a Guard has its own"):
        guard_of(Guard(NGRAM), search)


@pytest.mark.usefixtures("no_litellm")
def test_a_client_needs_litellm_only_for_models_that_the_policy_names() -> None:
    rechecks = {"do": "regenerate", "recheck": [{"method": "prompt", "judge": "mistral/m"}]}
    check_client_policy(Guard(), "a client")
    check_client_policy(Guard({"chain": [{"method": "prompt", "judge": "openai/m"}]}), "a client")
    for policy in (
        {"chain": [{"method": "prompt", "judge": {"model": "mistral/m"}}]},
        {**NGRAM, "action": {**rechecks, "retriever": {"kind": "folder", "path": "."}}},
    ):
        with pytest.raises(
            MissingDependencyError, match=r"'mistral/m'.*pip install 'resay\[litellm"
        ):
            check_client_policy(Guard(policy), "a client")


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


def test_what_is_sent_and_what_is_left_out_do_not_overlap() -> None:
    assert not OPENAI_PARAMS & LEFT_OUT
    assert {"seed", "n", "store", "stream"} <= LEFT_OUT


def test_what_a_judge_answers_is_found_by_how_it_is_asked() -> None:
    async def ask(body: Body) -> Body:
        return body

    def source(api: Api, **body: object) -> str | None:
        return JudgeProvider(api, {"model": "m", **body}, Upstream(ask, "client")).cache_source

    # Whatever else the main call says has nothing to do with it.
    assert source(CHAT_COMPLETIONS, messages=[1]) == source(CHAT_COMPLETIONS, max_tokens=9000)
    assert source(MESSAGES, max_tokens=5) == source(MESSAGES, max_tokens=9)
    assert source(MESSAGES, max_tokens=5) != source(MESSAGES, max_tokens=9000)


@needs("litellm")
def test_one_provider_serves_all() -> None:
    assert litellm_provider() is litellm_provider()


def test_a_withheld_answers_verdict_has_none_of_its_words() -> None:
    sentence = SentenceVerdict("It is made up.", 0, 14, 1.0, flagged=True)
    verdict = Verdict("flagged", 1.0, "1 of 1 sentence > 0.50", (sentence,))
    shown, hidden = (verdict_data(verdict, action) for action in ("annotate", "block"))
    assert (shown["action"], shown["sentences"][0]["text"]) == ("annotate", "It is made up.")
    assert (hidden["action"], hidden["sentences"][0]["text"]) == ("block", "")
    assert Verdict.from_dict(shown) == verdict


def test_a_repaired_answers_verdict_says_what_was_changed() -> None:
    edit = Edit("It is made up.", "It is known.", 0, 14, ("a.md",))
    record = Regeneration("repair", (Attempt("why"),), 0, draft="It is made up.", edits=(edit,))
    verdict = Verdict("consistent", 0.0, "passage 0.00 <= 0.50", regeneration=record)
    shown, hidden = (verdict_data(verdict, action) for action in ("regenerate", "block"))
    assert Verdict.from_dict(shown) == verdict
    assert "made up" not in str(hidden)
    assert hidden["regeneration"]["edits"][0]["sources"] == ["a.md"]


def test_without_its_sdk_an_adapter_says_what_to_install() -> None:
    sdks = ("anthropic", "litellm", "openai")
    code = f"""
import importlib
import importlib.util
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in {sdks} else known(name, *a)
from resay import MissingDependencyError
from resay._internal import importing
importing.find_spec = importlib.util.find_spec
for sdk in {sdks}:
    try:
        importlib.import_module("resay_" + sdk)
    except MissingDependencyError as error:
        print(error)
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    for sdk, line in zip(sdks, done.stdout.splitlines(), strict=True):
        assert f"pip install 'resay[{sdk}]'" in line
