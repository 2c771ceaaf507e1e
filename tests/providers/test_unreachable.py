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
    unreachable = unreachable_by(error)
    assert unreachable is not None
    assert unreachable.reason.startswith(why)
    assert "secret" not in unreachable.reason


def remedy_at(host: str, behind: OSError) -> str:
    error = httpx.ConnectError("", request=httpx.Request("POST", f"http://{host}/v1/chat"))
    error.__cause__ = behind
    unreachable = unreachable_by(error)
    assert unreachable is not None
    return unreachable.remedy


REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "")
NO_HOST = socket.gaierror(socket.EAI_NONAME, "")


@pytest.mark.parametrize("behind", [REFUSED, NO_HOST], ids=["refused", "no host"])
@pytest.mark.parametrize(
    "host",
    [
        "localhost:11434",
        "127.0.0.1:11434",
        "[::1]:11434",
        "10.0.0.5",
        "192.168.1.7:8000",
        "vllm:8000",
        "gpu.internal",
        "Studio.local.",
    ],
)
def test_a_server_of_your_own_is_to_be_started(host: str, behind: OSError) -> None:
    assert remedy_at(host, behind).startswith("start the server")


@pytest.mark.parametrize("behind", [REFUSED, NO_HOST], ids=["refused", "no host"])
@pytest.mark.parametrize("host", ["api.openai.com", "api.opnai.com", "8.8.8.8", "local.example.de"])
def test_nobody_can_start_a_public_server(host: str, behind: OSError) -> None:
    remedy = remedy_at(host, behind)
    assert "start the server" not in remedy
    assert "network" in remedy
    assert "HTTPS_PROXY" in remedy
    assert "spelling" in remedy


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "api.openai.com"])
def test_a_server_that_speaks_no_tls_need_not_be_started(host: str) -> None:
    remedy = remedy_at(host, ssl.SSLError(1, "wrong version number"))
    assert "start the server" not in remedy
    assert "http://" in remedy
    assert "SSL_CERT_FILE" in remedy


def test_a_connection_that_broke_was_there() -> None:
    broken = httpx.ConnectError("", request=REQUEST)
    broken.__cause__ = ConnectionResetError(errno.ECONNRESET, "")
    assert unreachable_by(broken) is None
    assert unreachable_by(ValueError()) is None
