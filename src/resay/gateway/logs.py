"""What the gateway writes to its log: one line for each record, without a word of what was said.

What Resay and uvicorn say holds no content and is written. What other libraries say may hold it, as
may the messages of exceptions: of those the log has who said something, where, and the
exception's type. What breaks the gateway itself is written with its traceback and without its
message. At level DEBUG all of it is written, with tracebacks.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Literal, cast

from resay._internal.telemetry import request_id as current_request_id
from resay.errors import ConfigurationError
from resay.gateway.observing import Observation

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]

_access = logging.getLogger("resay.gateway.access")

_ROUTES: Mapping[str, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "check": "/v1/check",
}
_PASSED = "/v1/*"
_OPEN = ("resay", "uvicorn")
# They come with handlers of their own, which would write what is said as it is, and twice.
_LOUD = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST_FIELD, _LONGEST_MESSAGE = 256, 4096


class WithoutMessage(Exception):  # noqa: N818 - it stands for an error
    """An exception as it can be logged anywhere: its traceback and type, and those of its causes.

    Messages may hold what was asked or answered; those about settings never do, and are kept.

    Args:
        error: The exception.

    Attributes:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        said = f": {error}" if isinstance(error, ConfigurationError) else ""
        super().__init__(f"{type(error).__name__}{said}")
        self.error = error
        self.__traceback__ = error.__traceback__
        context = None if error.__suppress_context__ else error.__context__
        # Of several that were raised together the first says enough.
        inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
        cause = error.__cause__ or context or next(iter(inner), None)
        self.__cause__ = None if cause is None else WithoutMessage(cause)


def configure(format: Format = "text", level: Level = "info") -> None:  # noqa: A002 - as the option
    """Have this process write its log to stderr. Calling it again changes how.

    Args:
        format: `json` for one JSON object on each line, `text` for lines that people read.
        level: From which level on Resay and the server are heard; others from WARNING on. `debug`
            lets content into the log: what other libraries say, and tracebacks.
    """
    handler = _Handler()
    form = _Json if format == "json" else _Text
    handler.setFormatter(form(is_open=level == "debug"))
    root = logging.getLogger()
    for known in [known for known in root.handlers if isinstance(known, _Handler)]:
        root.removeHandler(known)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in _OPEN:
        logging.getLogger(name).setLevel(level.upper())
    for name in _LOUD:
        loud = logging.getLogger(name)
        loud.filters[:] = [known for known in loud.filters if not isinstance(known, _Only)]
        loud.addFilter(_Only(handler))
    # Some print the values they warn of.
    logging.captureWarnings(capture=True)


def log_request(observation: Observation) -> None:
    """Write the line of a request that was guarded, or was to be. An `Observer`.

    Args:
        observation: How it has ended.
    """
    verdict = observation.verdict
    _write(
        "POST",
        _ROUTES.get(observation.api, observation.api),
        observation.status,
        observation.elapsed_s,
        {
            "request_id": observation.request_id,
            "model": observation.model,
            "policy": observation.policy,
            "tenant": observation.tenant,
            "client": observation.client,
            "stream": observation.stream,
            "decision": verdict.decision if verdict else None,
            "action": observation.action,
            "score": verdict.score if verdict else None,
            "complete": observation.complete,
        },
    )


def log_passed(
    method: str,
    status: int,
    elapsed_s: float,
    *,
    route: str = _PASSED,
    request_id: str | None = None,
) -> None:
    """Write the line of a request that nobody guarded: passed on, or refused.

    Args:
        method: The HTTP method.
        status: The HTTP status that the client was given.
        elapsed_s: How long it took, in seconds.
        route: Where it went; never a raw path or a query, which may hold keys.
        request_id: What it is called; None for what the context says.
    """
    fields = {"request_id": request_id or current_request_id.get()}
    _write(method, route, status, elapsed_s, fields)


def _write(
    method: str, route: str, status: int, elapsed_s: float, fields: Mapping[str, object]
) -> None:
    if not _access.isEnabledFor(logging.INFO):
        return
    shown = [fields.get(name) for name in ("policy", "decision", "action")]
    told = ", ".join(str(value) for value in shown if value is not None)
    extra = {"method": method, "route": route, "status": status, "elapsed_s": round(elapsed_s, 6)}
    _access.info(
        "%s %s %d in %.2f s%s",
        one_line(method),
        route,
        status,
        elapsed_s,
        f": {told}" if told else "",
        extra={**extra, **fields},
    )


def one_line(text: str, longest: int = _LONGEST_FIELD) -> str:
    r"""Return a text as it can appear in a line.

    Args:
        text: Any text, also one that is no valid Unicode.
        longest: How many characters it may have.

    Returns:
        The text, cut, with what cannot be printed (line breaks, control characters, marks that turn
        the direction of writing, surrogates) written as `\n`, `\x1b` or `\u202e`.
    """
    line = text[: longest + 1]
    if not line.isprintable():
        written = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        line = "".join(written)
    # Cut as it is written, so that what is a line already stays as it is.
    return line if len(line) <= longest else line[: longest - 1] + "…"


class _Handler(logging.StreamHandler):  # pyright: ignore[reportMissingTypeArgument] - not subscriptable in 3.10
    """Writes to stderr."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's
        """Say nothing: logging would print the record's arguments as they are."""


class _Only(logging.Filter):
    """Gives the records of a logger to one handler, and to nobody else."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        self._handler.handle(record)
        return False


class _Lines(logging.Formatter):
    """What both formats tell of a record."""

    def __init__(self, *, is_open: bool) -> None:
        super().__init__()
        self._is_open = is_open

    def _message(self, record: logging.LogRecord) -> str:
        if not (self._is_open or _origin(record) in _OPEN):
            return f"(withheld: {record.module}:{record.lineno})"
        return one_line(record.getMessage().rstrip("\n"), _LONGEST_MESSAGE)

    def _error(self, record: logging.LogRecord) -> str | None:
        error = record.exc_info[1] if record.exc_info else None
        error = error.error if isinstance(error, WithoutMessage) else error
        return None if error is None else type(error).__name__

    def _traceback(self, record: logging.LogRecord) -> list[str]:
        error = record.exc_info[1] if record.exc_info else None
        if self._is_open and isinstance(error, WithoutMessage):
            error = error.error
        if error is None or not (self._is_open or isinstance(error, WithoutMessage)):
            return []
        lines = self.formatException((type(error), error, error.__traceback__)).splitlines()
        return [one_line(line, _LONGEST_MESSAGE) for line in lines]


class _Json(_Lines):
    """One JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname,
            "logger": one_line(record.name),
            "message": self._message(record),
            "request_id": _request_id(record),
            "error": self._error(record),
            "traceback": self._traceback(record),
        }
        known = {name: value for name, value in told.items() if value not in (None, [])}
        return json.dumps(known | self._fields(record, known), allow_nan=False)

    def _fields(self, record: logging.LogRecord, known: Mapping[str, object]) -> dict[str, object]:
        # Where others add fields, nobody knows what they hold.
        if _origin(record) != "resay":
            return {}
        added = {k: v for k, v in vars(record).items() if k not in _STANDARD and k not in known}
        return {one_line(name): _plain(value) for name, value in added.items()}


class _Text(_Lines):
    """Lines for people. Those of a traceback are indented, so that none looks like a record."""

    def format(self, record: logging.LogRecord) -> str:
        error = self._error(record)
        parts = [
            _time(record),
            record.levelname,
            one_line(record.name),
            _request_id(record) or "-",
            self._message(record),
            f"({error})" if error else "",
        ]
        line = " ".join(part for part in parts if part)
        return "\n    ".join([line, *self._traceback(record)])


def _origin(record: logging.LogRecord) -> str:
    """Return the package that says something."""
    return record.name.partition(".")[0]


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _request_id(record: logging.LogRecord) -> str | None:
    told: object = getattr(record, "request_id", None) or current_request_id.get()
    return one_line(str(told)) if told else None


def _plain(value: object) -> object:
    """Return a field's value as JSON has it; of what is no plain value, its type."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return type(value).__name__
