"""`resay hook stop`, called as Claude Code and Codex call it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.cli import resay_here
from support.transcripts import CLAUDE, CODEX, written

EDIT: Sequence[Any] = [
    {"type": "user", "message": {"role": "user", "content": "Fix app.py and run the tests."}},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "t-9",
                    "name": "Edit",
                    "input": {"file_path": "/x/app.py", "old_string": "a", "new_string": "b"},
                }
            ],
        },
    },
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t-9",
                    "content": "The file /x/app.py has been updated.",
                }
            ],
        },
    },
]


def event(path: Path | None, message: str | None, **changes: Any) -> dict[str, Any]:
    """Return what an agent writes to the hook's stdin."""
    data = {
        "session_id": "s-1",
        "transcript_path": None if path is None else str(path),
        "cwd": "/x",
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": message,
    }
    return data | changes


def called(told: object, *words: str) -> subprocess.CompletedProcess[str]:
    text = told if isinstance(told, str) else json.dumps(told)
    return resay_here("hook", "stop", *words, stdin=text)


def reply(told: object, *words: str) -> dict[str, Any]:
    """Return what the hook says; empty if it lets the agent stop."""
    done = called(told, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def test_tests_that_nobody_ran_do_not_pass(tmp_path: Path) -> None:
    path = written(tmp_path, EDIT)
    said = reply(event(path, "I fixed `app.py`. All tests pass."))
    assert said["decision"] == "block"
    assert "- All tests pass. (no call checked it)" in said["reason"]
    assert "app.py" not in said["reason"]
    assert said.keys() == {"decision", "reason"}


@pytest.mark.parametrize("events", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_tests_that_failed_do_not_pass(events: Sequence[object], tmp_path: Path) -> None:
    said = reply(event(written(tmp_path, events), "All tests pass."))
    assert said["decision"] == "block"
    assert "failed" in said["reason"]
    assert "1 failed" in said["reason"]


@pytest.mark.parametrize(
    "message",
    [
        "I fixed `app.py`. I have not run the tests.",
        "I updated `app.py`. Shall I run the tests?",
        "Next I will run the tests.",
        "The parser reads one line at a time.",
        "I fixed `app.py`. Let me know if you want me to commit.",
        "I fixed `app.py`. Let me know whether I should run the tests.",
        "I was told to commit, but did not.",
        "I fixed `app.py`. Run the tests before you merge.",
        "I fixed `app.py`. Make sure that the tests pass.",
        "I committed nothing.",
        "I fixed `app.py`. Next steps: run the tests, merge, and let the team know.",
    ],
)
def test_what_was_done_and_what_claims_nothing_may_stop(message: str, tmp_path: Path) -> None:
    assert reply(event(written(tmp_path, EDIT), message)) == {}


def test_the_last_message_may_be_in_the_transcript_alone(tmp_path: Path) -> None:
    last = {"role": "assistant", "content": [{"type": "text", "text": "All tests pass."}]}
    path = written(tmp_path, [*EDIT, {"type": "assistant", "message": last}])
    assert reply(event(path, None))["decision"] == "block"


def test_a_policy_decides_and_an_option_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = event(written(tmp_path, EDIT), "I fixed `app.py`. All tests pass.")
    (tmp_path / "strict.yaml").write_text("chain: [actions]\n")
    (tmp_path / "none.yaml").write_text("chain: [actions]\nwhen: {min_chars: 1000}\n")
    monkeypatch.setenv("RESAY_POLICY", str(tmp_path / "none.yaml"))
    assert reply(last) == {}
    assert reply(last, "--policy", str(tmp_path / "strict.yaml"))["decision"] == "block"
    monkeypatch.setenv("RESAY_POLICY", str(tmp_path / "missing.yaml"))
    assert "missing.yaml" in reply(last)["systemMessage"]


def test_it_never_sends_an_agent_back_twice_in_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, EDIT)
    assert reply(event(path, "All tests pass.", stop_hook_active=True)) == {}


def test_a_subagent_is_checked_by_its_own_transcript(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    own = written(tmp_path / "sub", EDIT)
    told = event(
        tmp_path / "nowhere.jsonl",
        "All tests pass.",
        hook_event_name="SubagentStop",
        agent_transcript_path=str(own),
    )
    assert reply(told)["decision"] == "block"


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("", "stdin must have the hook's input, a JSON object"),
        ("[1]", "stdin must have the hook's input, a JSON object"),
        (event(None, "All tests pass."), "the hook's input has no `transcript_path`"),
        ({"last_assistant_message": "Done."}, "the hook's input has no `transcript_path`"),
        (event(Path("/nowhere/t.jsonl"), "All tests pass."), "cannot read the transcript: No such"),
    ],
)
def test_what_fails_stops_no_agent_and_is_shown_to_its_user(told: object, message: str) -> None:
    done = called(told)
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said.keys() == {"systemMessage"}
    assert said["systemMessage"].startswith(f"resay did not check this turn: {message}")
    assert done.stderr.strip() == said["systemMessage"]


def test_a_policy_that_is_not_valid_stops_no_agent(tmp_path: Path) -> None:
    path = written(tmp_path, EDIT)
    said = reply(event(path, "All tests pass."), "--policy", str(tmp_path / "nowhere.yaml"))
    assert "no such file" in said["systemMessage"]


def test_an_error_without_a_name_stops_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("All tests pass.")

    monkeypatch.setattr("resay.guard.Guard.check", fail)
    said = reply(event(written(tmp_path, EDIT), "All tests pass."))
    assert said == {"systemMessage": "resay did not check this turn: RuntimeError"}


@pytest.mark.parametrize("words", [("stop", "--polcy", "p.yaml"), ("stpo",)])
def test_mistaken_arguments_are_no_order_to_go_on(words: tuple[str, ...]) -> None:
    # Agents read exit code 2 as such an order.
    assert resay_here("hook", *words, stdin="{}").returncode == 5


def test_nothing_to_compare_with_is_nothing_to_say(tmp_path: Path) -> None:
    assert reply(event(written(tmp_path, EDIT), "  ")) == {}
    (tmp_path / "empty.jsonl").write_text("")
    assert reply(event(tmp_path / "empty.jsonl", "All tests pass.")) == {}


def test_a_policy_decides_what_is_checked(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [actions]\nthreshold: 1.0\n")
    path = written(tmp_path, EDIT)
    assert reply(event(path, "All tests pass."), "--policy", str(policy)) == {}
