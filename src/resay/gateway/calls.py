"""One request as the gateway sees it, before its body is read."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from resay.gateway.refusing import Dialect, RefusedError
from resay.providers.apis import CHAT_COMPLETIONS, COMPLETIONS, MESSAGES, RESPONSES, Api

__all__ = [
    "CHECK",
    "LITELLM_GUARDRAIL",
    "OWN",
    "PREFIX",
    "Call",
    "Headers",
    "credential",
    "has_body",
    "plain_path",
    "read_call",
]

Headers = list[tuple[bytes, bytes]]

PREFIX = "/v1"
POLICY, TENANT, REQUEST_ID = b"x-resay-policy", b"x-resay-tenant", b"x-request-id"

_APIS: Mapping[str, Api] = {
    PREFIX + api.path: api for api in (CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, MESSAGES)
}
CHECK, LITELLM_GUARDRAIL = f"{PREFIX}/check", "/beta/litellm_basic_guardrail_api"
OWN = frozenset({CHECK, LITELLM_GUARDRAIL})
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_SANE_TENANT = re.compile(r"[\x21-\x7e]{1,128}")
# By which OpenAI's and Anthropic's SDKs tell how often they have sent a request before.
_RETRY_COUNT = b"x-stainless-retry-count"
_SANE_COUNT = re.compile(r"[0-9]{1,4}")
_BEARER = "bearer "
_DECODINGS = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the gateway sees it, before its body is read.

    Attributes:
        request_id: What it is called in logs and errors.
        method: The HTTP method.
        path: The path as it was sent, percent-encoded, without the query.
        query: The query, without its question mark.
        headers: The headers, names in lower case.
        dialect: Whose errors the client understands.
        api: What is spoken, where it is guarded.
        own: The path, where the gateway itself answers. What is neither is passed on.
    """

    request_id: str
    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: Headers = field(repr=False)
    dialect: Dialect
    api: Api | None
    own: str | None = None

    def header(self, name: bytes) -> str | None:
        """Return a header's value; None where there is none."""
        found = (value for key, value in self.headers if key == name)
        value = next(found, None)
        return None if value is None else value.decode("latin-1")

    def _once(self, name: bytes) -> str | None:
        # A proxy may have added its own to what the client said.
        if sum(key == name for key, _ in self.headers) > 1:
            message = f"the header {name.decode()} is there more than once"
            raise RefusedError(400, "repeated_header", message)
        return self.header(name)

    @property
    def policy(self) -> str | None:
        """The name of the policy that the client wants; None for the default.

        Raises:
            RefusedError: It wants several.
        """
        return self._once(POLICY)

    @property
    def tenant(self) -> str | None:
        """On whose behalf it is asked.

        Raises:
            RefusedError: It cannot be read.
        """
        tenant = self._once(TENANT)
        if tenant is not None and not _SANE_TENANT.fullmatch(tenant):
            raise RefusedError(
                400,
                "bad_tenant",
                "the header x-resay-tenant must be 1 to 128 visible ASCII characters",
            )
        return tenant

    @property
    def retries(self) -> bool:
        """Whether the client's SDK says that it has sent it before."""
        count = self.header(_RETRY_COUNT) or ""
        return _SANE_COUNT.fullmatch(count) is not None and int(count) > 0


def read_call(scope: Mapping[str, Any]) -> Call:
    """Return the request in an ASGI scope."""
    headers: Headers = list(scope["headers"])
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    decoded = plain_path(path)
    # What is sent on is sent in capitals.
    method = scope["method"].upper()
    names = {name for name, _ in headers}
    anthropic = decoded.startswith(PREFIX + MESSAGES.path) or b"anthropic-version" in names
    posted = method == "POST"
    return Call(
        _request_id(headers),
        method,
        path,
        scope["query_string"],
        headers,
        "anthropic" if anthropic else "openai",
        _APIS.get(decoded) if posted else None,
        decoded if posted and decoded in OWN else None,
    )


def plain_path(path: bytes) -> str:
    """Return a path as the most forgiving upstreams read it."""
    decoded = path.decode("latin-1")
    for _ in range(_DECODINGS):
        decoded = unquote(decoded)
    # Some take what follows a semicolon for parameters.
    known = re.sub(r";[^/]*", "", decoded.partition("#")[0])
    return re.sub(r"/+", "/", known).strip().rstrip("/").lower()


def _request_id(headers: Headers) -> str:
    given = next((value for name, value in headers if name == REQUEST_ID), b"")
    return given.decode() if _SANE_ID.fullmatch(given) else f"req-{uuid.uuid4().hex}"


def has_body(call: Call) -> bool:
    """Return whether a request has a body."""
    return (
        call.header(b"transfer-encoding") is not None
        or (call.header(b"content-length") or "0").strip("0") != ""
    )


def credential(call: Call) -> str | None:
    """Return the key that a client came with, wherever its SDK puts it."""
    for name in (b"x-api-key", b"api-key"):
        if value := call.header(name):
            return value
    value = call.header(b"authorization") or ""
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else None
