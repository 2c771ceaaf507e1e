from __future__ import annotations

import errno
import socket
import ssl

import httpx
import pytest

from resay.providers.unreachable import unreachable_by

REQUEST = httpx.Request("POST", "https://user:secret@llm.example/v1/chat?key=secret")


@pytest.mark.parametrize(
    ("behind", "why"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), "nothing listens at llm.example:443"),
        (socket.gaierror(socket.EAI_NONAME, ""), "there is no host 'llm.example'"),
        (ssl.SSLCertVerificationError(1, ""), "no secure connection to llm.example:443"),
        (OSError("Multiple exceptions"), "llm.example:443 cannot be connected to"),
    ],
)
def test_it_names_the_address_and_nothing_else(behind: OSError, why: str) -> None:
    error = httpx.ConnectError("", request=REQUEST)
    error.__cause__ = behind
    reason = unreachable_by(error)
    assert reason is not None
    assert reason.startswith(why)
    assert "secret" not in reason


def test_a_connection_that_broke_was_there() -> None:
    broken = httpx.ConnectError("", request=REQUEST)
    broken.__cause__ = ConnectionResetError(errno.ECONNRESET, "")
    assert unreachable_by(broken) is None
    assert unreachable_by(ValueError()) is None
