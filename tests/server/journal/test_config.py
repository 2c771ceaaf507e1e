from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from resay.errors import ConfigurationError, MissingDependencyError
from resay_server.journal import JournalConfig, open_journal

PASSWORD = "hunter2"


def test_the_default_is_a_file_without_content() -> None:
    config = JournalConfig()
    assert (config.url, config.content) == ("sqlite:///resay-journal.db", "none")
    assert repr(open_journal()) == f"Journal({str(Path('resay-journal.db').absolute())!r})"


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////var/b.db", "/var/b.db"),
        ("sqlite:///~/b.db", "~/b.db"),
        ("postgresql://localhost/db", None),
        ("postgres:///db?host=/run/postgresql", None),
    ],
)
def test_addresses(url: str, file: str | None) -> None:
    assert JournalConfig(url=url).file == file


@pytest.mark.parametrize(
    "url",
    [
        "",
        "journal.db",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://host/x.db",
        "sqlite:///a\0b",
        f"mysql://root:{PASSWORD}@host/db",
        f"postgresql:root:{PASSWORD}",
        f"postgresql://root:{PASSWORD}@[host/db",
    ],
)
def test_what_is_no_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValidationError, match="must be sqlite:///FILE") as caught:
        JournalConfig(url=url)
    assert PASSWORD not in str(caught.value)


def test_what_libpq_does_not_understand_is_refused_without_being_shown() -> None:
    pytest.importorskip("psycopg")
    config = JournalConfig(
        url=f"postgresql://resay@host/db?password={PASSWORD}&passwrod={PASSWORD}"
    )
    with pytest.raises(ConfigurationError, match="%XX") as caught:
        open_journal(config)
    assert PASSWORD not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_password_is_not_shown() -> None:
    pytest.importorskip("psycopg")
    config = JournalConfig(url=f"postgresql://resay:{PASSWORD}@host:5433/db?password={PASSWORD}")
    assert PASSWORD not in repr(config)
    assert repr(open_journal(config)) == "Journal('postgresql://host:5433/db')"


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match=r"resay\[postgres\]"):
        open_journal(JournalConfig(url="postgresql://localhost/db"))
