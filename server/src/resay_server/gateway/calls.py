"""A client's request."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from resay.adapters.apis import MESSAGES, Api
from resay_server.gateway.errors import Dialect, RefusedError
from resay_server.gateway.headers import Headers
from resay_server.gateway.paths import GUARDED, PREFIX, Address, address_of, plain_path

POLICY, TENANT, REQUEST_ID = b"x-resay-policy", b"x-resay-tenant", b"x-request-id"
VERDICT_DETAIL = b"x-resay-verdict"
_APIS: Mapping[str, Api] = {api.path: api for api in GUARDED}
CHECK, LITELLM_GUARDRAIL = f"{PREFIX}/check", "/beta/litellm_basic_guardrail_api"
FEEDBACK = f"{PREFIX}/feedback"
PORTKEY = "/webhooks/portkey"
AGENTGATEWAY_REQUEST, AGENTGATEWAY_RESPONSE = "/request", "/response"
WEBHOOKS = frozenset({PORTKEY, AGENTGATEWAY_REQUEST, AGENTGATEWAY_RESPONSE})
OWN_ENDPOINTS = frozenset({CHECK, LITELLM_GUARDRAIL, FEEDBACK, *WEBHOOKS})
_SANE_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_SANE_TENANT = re.compile(r"[\x21-\x7e]{1,128}")
# OpenAI's and Anthropic's SDKs count their attempts to send a request in this header.
_RETRY_COUNT = b"x-stainless-retry-count"
_SANE_COUNT = re.compile(r"[0-9]{1,4}")
_BEARER = "bearer "


@dataclass(frozen=True, slots=True)
class Call:
    """One incoming request, before its body is read.

    Attributes:
        request_id: Its id in logs and errors.
        method: The HTTP method.
        path: The path as sent, percent-encoded, without the query.
        query: The query, without its question mark.
        headers: The headers, names in lower case.
        dialect: The error format that the client understands.
        address: What the path addresses.
        api: The API, if the answer is guarded.
        own: The path, if the gateway itself answers. All other requests are passed on, or refused.
        received_s: When it arrived, by the monotonic clock.
    """

    request_id: str
    method: str
    path: bytes
    query: bytes = field(repr=False)
    headers: Headers = field(repr=False)
    dialect: Dialect
    address: Address
    api: Api | None
    own: str | None = None
    received_s: float = field(default_factory=time.monotonic, compare=False)
    # The first value of each header.
    _values: Mapping[bytes, bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", dict(reversed(self.headers)))

    def header(self, name: bytes) -> str | None:
        """Return a header's value, the first of several; None if it is absent."""
        value = self._values.get(name)
        return None if value is None else value.decode("latin-1")

    def has_header(self, *names: bytes) -> bool:
        """Return whether any of these headers is there."""
        return not self._values.keys().isdisjoint(names)

    def _single_header(self, name: bytes) -> str | None:
        value = self.header(name)
        # A proxy may have added a value of its own to the client's.
        if value is not None and sum(key == name for key, _ in self.headers) > 1:
            message = f"the header {name.decode()} occurs more than once"
            raise RefusedError(400, "repeated_header", message)
        return value

    @property
    def policy(self) -> str | None:
        """The name of the requested policy; None for the default.

        Raises:
            RefusedError: It names several.
        """
        return self._single_header(POLICY)

    @property
    def tenant(self) -> str | None:
        """The tenant of the request.

        Raises:
            RefusedError: The header is malformed.
        """
        tenant = self._single_header(TENANT)
        if tenant is not None and not _SANE_TENANT.fullmatch(tenant):
            raise RefusedError(
                400,
                "bad_tenant",
                "the header x-resay-tenant must be 1 to 128 visible ASCII characters",
            )
        return tenant

    @property
    def uncompressed(self) -> Call:
        """The same request, asking for an uncompressed answer."""
        others = [(name, value) for name, value in self.headers if name != b"accept-encoding"]
        return replace(self, headers=[*others, (b"accept-encoding", b"identity")])

    @property
    def is_retry(self) -> bool:
        """Whether the client's SDK says that this is a retry."""
        count = self.header(_RETRY_COUNT) or ""
        return _SANE_COUNT.fullmatch(count) is not None and int(count) > 0


def read_call(scope: Mapping[str, Any]) -> Call:
    """Return the request in an ASGI scope."""
    headers: Headers = list(scope["headers"])
    values = dict(reversed(headers))
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    address, decoded = address_of(path), plain_path(path)
    # Methods are forwarded in capitals.
    method = scope["method"].upper()
    anthropic = address.path.startswith(MESSAGES.path) or b"anthropic-version" in values
    posted = method == "POST"
    return Call(
        request_id=_request_id(values.get(REQUEST_ID, b"")),
        method=method,
        path=path,
        query=scope["query_string"],
        headers=headers,
        dialect="anthropic" if anthropic else "openai",
        address=address,
        api=_APIS.get(address.path) if posted else None,
        own=decoded if posted and decoded in OWN_ENDPOINTS else None,
    )


def _request_id(value: bytes) -> str:
    return value.decode() if _SANE_ID.fullmatch(value) else f"req-{uuid.uuid4().hex}"


def has_body(call: Call) -> bool:
    """Return whether a request has a body."""
    return (
        call.header(b"transfer-encoding") is not None
        or (call.header(b"content-length") or "0").strip("0") != ""
    )


def credential(call: Call) -> str | None:
    """Return the client's key, from any of the headers that SDKs use."""
    for name in (b"x-api-key", b"api-key"):
        if value := call.header(name):
            return value
    value = call.header(b"authorization") or ""
    return value[len(_BEARER) :].strip() if value.lower().startswith(_BEARER) else None
