"""What the paths of requests address, and which unguarded ones are passed through.

Providers serve the same APIs under several paths. Azure's clients name a deployment in the path,
and OpenAI's former ones an engine: `/openai/deployments/NAME/chat/completions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from resay.adapters.apis import CHAT_COMPLETIONS, COMPLETIONS, MESSAGES, RESPONSES
from resay_server.gateway.errors import RefusedError

PREFIX = "/v1"
GUARDED = (CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, MESSAGES)
"""The APIs whose answers are guarded."""
STORED = (CHAT_COMPLETIONS.path, RESPONSES.path, "/conversations")
"""The paths below which upstreams return answers that they stored."""

_DECODINGS = 3
_SHOWN = 100
# Prefixes, as lenient servers read them: `/v1` may be there twice, from two base URLs.
_LENIENT = re.compile(r"(?:/openai|/anthropic)?(?:/v1)*(?=/)", re.IGNORECASE)
_IN_DEPLOYMENT = re.compile(r"/(?:deployments|engines)/(?=.)", re.IGNORECASE)
# Prefixes of requests that are passed through, spelt out.
_STRICT = re.compile(
    rb"(?:/openai(?:/v1)?|/anthropic/v1|/v1)"
    rb"(?P<deployment>/(?:deployments|engines)/[^/]+(?=/.))?"
    rb"(?P<rest>/.+)"
)


@dataclass(frozen=True, slots=True)
class Address:
    """What a path addresses, without its prefix.

    Attributes:
        path: The path as the most lenient servers read it, in lower case: `/chat/completions`.
        deployment: The deployment or engine that the path names, if any.
        forwarded: The path as it is sent on, percent-encoded; None if it is not below a known
            prefix.
    """

    path: str
    deployment: str | None
    forwarded: bytes | None

    @property
    def decoded(self) -> str:
        """The path as it is sent on, percent-decoded; empty if it is below no known prefix."""
        return unquote((self.forwarded or b"").decode("latin-1")).rstrip("/")


# Most requests use few paths.
@lru_cache(maxsize=64)
def address_of(path: bytes) -> Address:
    """Return what a request's path addresses.

    Args:
        path: The path as sent, percent-encoded, without the query.
    """
    lenient = _lenient(path)
    prefix = _LENIENT.match(lenient)
    api_path = lenient[prefix.end() :] if prefix else lenient
    deployment = None
    in_deployment = _IN_DEPLOYMENT.match(api_path)
    if in_deployment is not None:
        name, path_of_deployment = _split_deployment(api_path[in_deployment.end() :])
        if path_of_deployment:
            deployment, api_path = name, path_of_deployment
    strict = _STRICT.fullmatch(path)
    return Address(
        path=api_path.lower(),
        deployment=deployment,
        forwarded=None if strict is None else strict["rest"],
    )


def _split_deployment(path: str) -> tuple[str, str]:
    """Split a path after `/deployments/`; names of models may contain slashes."""
    for api in GUARDED:
        name = path[: -len(api.path)]
        if name and path.lower().endswith(api.path):
            return name, api.path
    name, slash, remainder = path.partition("/")
    return name, slash + remainder


@lru_cache(maxsize=64)
def plain_path(path: bytes) -> str:
    """Return a path as the most lenient upstreams parse it."""
    return _lenient(path).lower()


def _lenient(path: bytes) -> str:
    decoded = path.decode("latin-1")
    for _ in range(_DECODINGS):
        decoded = unquote(decoded)
    # Some treat the part after a semicolon as parameters.
    without_parameters = re.sub(r";[^/]*", "", decoded.partition("#")[0])
    return re.sub(r"/+", "/", without_parameters).strip().rstrip("/")


# Passed through unless the operator says otherwise: they return no answers of models.
_ALWAYS = (
    "GET /v1/models",
    "GET /v1/models/*",
    "POST /v1/embeddings",
    "POST /v1/messages/count_tokens",
    "POST /v1/responses/compact",
    "POST /v1/responses/input_tokens",
)
# Endpoints below `/responses` that are about no stored response.
_NO_NAMES = frozenset({"compact", "input_tokens"})
_STORED_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "POST"})
_PATTERN = re.compile(
    r"(?:(?P<method>DELETE|GET|PATCH|POST|PUT) )?/v1(?P<path>(?:/(?:\*|[^/\s*?#%;\\]+))+)"
)
# Endings under which providers answer questions. No pattern with a `*` opens them.
_ANSWERS = re.compile(
    r"(?:/(?:answers|api/chat|batch(?:es)?|chat|complete|completions|converse|converse-stream"
    r"|edits|generate|generate_stream|infill|invocations|invoke|invoke-with-response-stream"
    r"|messages|responses|runs)"
    r"|:[a-z]*(?:generate[a-z]*|predict[a-z]*))$"
)
# Fields that contain a question, in some API.
_QUESTIONS = ("messages", "input", "contents", "prompt")


@dataclass(frozen=True, slots=True)
class Pattern:
    """An unguarded path that is passed through.

    Attributes:
        text: The pattern as it was written, such as `GET /v1/files/*`.
        method: The method; None for every method.
        segments: The segments below the prefix; `*` stands for any, and at the end for all below.
    """

    text: str
    method: str | None
    segments: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Pattern:
        """Parse a pattern.

        Raises:
            ValueError: It is not a pattern, or its path is guarded.
        """
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(
                "must be a path below /v1, such as /v1/files/*, alone or after a method:"
                " GET /v1/files/*"
            )
        path = match["path"]
        address = address_of(f"{PREFIX}{path}".encode())
        if match["method"] in (None, "POST") and address.path in _API_PATHS:
            raise ValueError("is guarded, and cannot be passed through")
        return cls(text, match["method"], tuple(path.split("/")[1:]))

    @property
    def is_wide(self) -> bool:
        """Whether it matches more than one path."""
        return "*" in self.segments

    def matches(self, method: str, path: str) -> bool:
        """Return whether it opens a path.

        Args:
            method: The method.
            path: The path, without its prefix.
        """
        # Whoever may use a path may also ask how.
        allowed = (None, "GET" if method == "HEAD" else method)
        if self.method not in allowed and method != "OPTIONS":
            return False
        segments = path.split("/")[1:]
        if self.segments[-1] == "*" and len(segments) >= len(self.segments):
            segments = [*segments[: len(self.segments) - 1], "*"]
        pairs = list(zip(self.segments, segments, strict=False))
        return len(self.segments) == len(segments) and all(p in ("*", s) for p, s in pairs)


_API_PATHS = frozenset(api.path for api in GUARDED)


class PassThrough:
    """Decides which unguarded requests are passed through.

    Args:
        patterns: The patterns of the gateway's file.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [Pattern.of(text) for text in (*_ALWAYS, *patterns)]

    def check(self, method: str, address: Address) -> bool:
        """Check whether a request is passed through.

        Args:
            method: The method.
            address: What it addresses.

        Returns:
            Whether its body may contain no question. A pattern for just this path was written by
            somebody who knows what it does; below other paths there may be anything.

        Raises:
            RefusedError: It is not.
        """
        if address.forwarded is None:
            raise RefusedError(404, "not_found", f"unknown path; the gateway serves {PREFIX}/")
        path = address.decoded
        # Both as a strict server reads it and as a lenient one does.
        if path.lower() != address.path:
            raise _closed(method, path)
        matching = [p for p in self._patterns if p.matches(method, path)]
        if any(not pattern.is_wide for pattern in matching):
            return False
        if is_stored(method, address):
            return True
        if _ANSWERS.search(address.path):
            apis = ", ".join(PREFIX + api.path for api in GUARDED)
            raise _closed(method, path, f"; answers are guarded under {apis}")
        if not matching:
            raise _closed(method, path)
        return True


def is_stored(method: str, address: Address) -> bool:
    """Return whether an unguarded request may be answered with stored answers."""
    path = address.path
    return method in _STORED_METHODS and any(
        path == root or path.startswith(f"{root}/") for root in STORED
    )


def stored_id(address: Address) -> str:
    """Return the id that a path names for which `is_stored` holds; empty for a whole list."""
    path = address.decoded
    root = next(root for root in STORED if path.lower().startswith(root))
    name = path[len(root) + 1 :].partition("/")[0]
    return "" if name in _NO_NAMES else name


def contains_question(body: object) -> bool:
    """Return whether the JSON body of a request asks a model something."""
    return isinstance(body, dict) and any(name in body for name in _QUESTIONS)


def _closed(method: str, path: str, hint: str = "") -> RefusedError:
    return RefusedError(
        403,
        "path_closed",
        f"the gateway does not pass on {method} {PREFIX + path[:_SHOWN]!r}{hint}; its operator can"
        " open an unguarded path with `pass_through` in the gateway file",
    )
