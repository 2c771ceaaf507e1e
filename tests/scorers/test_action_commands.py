"""What the commands of a shell do, for `actions`."""

from __future__ import annotations

import pytest

from resay.scorers.actions.commands import shell_effects


@pytest.mark.parametrize(
    ("line", "family", "others"),
    [
        ("git commit -am 'Fix'", "commit", {"push", "delete", "read"}),
        ("git push origin main", "push", {"commit"}),
        ("git checkout -b fix/login", "create", {"push", "commit", "delete"}),
        ("git branch -D old", "delete", {"push"}),
        ("git log --oneline", "read", {"commit", "update", "create"}),
        ("npm ci", "install", {"test", "deploy"}),
        ("pip install pyyaml", "install", {"test", "delete"}),
        ("npm run build", "build", {"install", "test"}),
        ("npm test", "test", {"install", "build"}),
        ("python -m pytest -q tests", "test", {"run", "install"}),
        ("sudo systemctl restart nginx", "deploy", {"read", "delete"}),
        ("A=1 uv run mypy src", "test", {"install", "run"}),
        ("rm -r build", "delete", {"build", "read"}),
        ("cat install.log", "read", {"install"}),
        ("/usr/bin/mv a.txt b.txt", "move", {"read"}),
        ("echo x > notes.txt", "create", {"delete"}),
    ],
)
def test_words_say_what_a_command_does(line: str, family: str, others: set[str]) -> None:
    effects = shell_effects(line)
    assert family in effects.families
    assert not effects.families & others
    assert not effects.is_opaque


def test_each_command_of_a_line_counts() -> None:
    effects = shell_effects("cd app && npm run lint; git commit -m 'a && rm -r b' | tee log\nls")
    assert {"test", "commit", "save", "search"} <= effects.families
    assert "delete" not in effects.families
    assert not effects.is_opaque


@pytest.mark.parametrize("line", ["./nightly.sh", "python job.py", "ls && frobnicate all"])
def test_a_script_may_do_anything(line: str) -> None:
    assert shell_effects(line).is_opaque


def test_what_goes_nowhere_creates_nothing() -> None:
    assert "create" not in shell_effects("ls 2>&1 > /dev/null").families


def test_the_first_words_of_a_command_say_what_it_does() -> None:
    assert "push" in shell_effects("vcs one two push").families
    assert "push" not in shell_effects("vcs one two three push").families


def test_long_lines_are_read_to_a_limit() -> None:
    assert shell_effects("true; " * 10_000 + "rm x").families == {"read"}
