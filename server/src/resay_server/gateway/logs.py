"""The gateway's log: one line for each record, without any content of requests or answers.

Messages of Resay and uvicorn contain no such content, and are written. Those of other libraries may
contain it, as may exception messages: for these, the log has the logger, the place, and the type of
the exception. Failures of the gateway itself are written with their traceback and without their
message. At level DEBUG everything is written, with tracebacks.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence, Set
from typing import Literal, cast

from resay import request_id as current_request_id
from resay.errors import ConfigurationError
from resay_server.gateway.observation import Observation
from resay_server.journal.export import timestamp

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
# Their own handlers would write records unfiltered, and a second time.
_LOUD = ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_LONGEST_FIELD, _LONGEST_MESSAGE = 256, 4096


class WithoutMessage(Exception):  # noqa: N818 - it represents an error
    """An exception that is safe to log: the traceback and type of it and its causes.

    Messages may contain users' content; those of configuration errors never do, and are kept.

    Args:
        error: The exception.

    Attributes:
        error: The exception.
    """

    def __init__(self, error: BaseException) -> None:
        message = f": {error}" if isinstance(error, ConfigurationError) else ""
        super().__init__(f"{type(error).__name__}{message}")
        self.error = error
        self.__traceback__ = error.__traceback__
        context = None if error.__suppress_context__ else error.__context__
        # The first one of an exception group is enough.
        inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
        cause = error.__cause__ or context or next(iter(inner), None)
        self.__cause__ = None if cause is None else WithoutMessage(cause)


def configure(format: Format = "text", level: Level = "info") -> None:  # noqa: A002 - as the option
    """Configure this process's logging to stderr. Further calls replace the configuration.

    Args:
        format: `json` for one JSON object per line, `text` for human-readable lines.
        level: The level for Resay and the server; others are logged from WARNING on. `debug` lets
            content into the log: messages of other libraries, and tracebacks.
    """
    handler = _Handler()
    form = _Json if format == "json" else _Text
    handler.setFormatter(form(is_open=level == "debug"))
    root = logging.getLogger()
    for earlier in root.handlers[:]:
        if isinstance(earlier, _Handler):
            root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    # No line names threads and processes, which every record would look up.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for name in _OPEN:
        logging.getLogger(name).setLevel(level.upper())
    for name in _LOUD:
        logger = logging.getLogger(name)
        logger.filters[:] = [item for item in logger.filters if not isinstance(item, _Only)]
        logger.addFilter(_Only(handler))
    # Some warnings print the values that they are about.
    logging.captureWarnings(capture=True)


def log_request(observation: Observation) -> None:
    """Log a request that was guarded, or was to be. An `Observer`.

    Args:
        observation: The request's outcome.
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
            **_failure(observation.error, observation.cause),
        },
    )


def log_passed(
    method: str,
    status: int,
    elapsed_s: float,
    *,
    route: str = _PASSED,
    request_id: str | None = None,
    error: str | None = None,
    cause: str | None = None,
) -> None:
    """Log an unguarded request: one that was passed on or refused.

    Args:
        method: The HTTP method.
        status: The HTTP status sent to the client.
        elapsed_s: Its duration in seconds.
        route: The route; never a raw path or a query, which may contain keys.
        request_id: The request's id; None for the one in the context.
        error: The code of the gateway's error, if the client received one.
        cause: Why the gateway or the upstream failed, without any content.
    """
    fields = {"request_id": request_id or current_request_id.get(), **_failure(error, cause)}
    _write(method, route, status, elapsed_s, fields)


def _failure(error: str | None, cause: str | None) -> Mapping[str, str]:
    """Return the fields that only a failed request has."""
    failure = {"code": error, "cause": cause}
    return {name: value for name, value in failure.items() if value is not None}


def _write(
    method: str, route: str, status: int, elapsed_s: float, fields: Mapping[str, object]
) -> None:
    if not _access.isEnabledFor(logging.INFO):
        return
    values = [fields.get(name) for name in ("policy", "decision", "action", "code", "cause")]
    summary = ", ".join([str(value) for value in values if value is not None])
    arguments = (one_line(method), route, status, elapsed_s, f": {summary}" if summary else "")
    # Without searching the stack for this place, which takes a third of a record's time.
    record = _access.makeRecord(
        _access.name, logging.INFO, __file__, 0, "%s %s %d in %.2f s%s", arguments, None
    )
    own = {"method": method, "route": route, "status": status, "elapsed_s": round(elapsed_s, 6)}
    vars(record).update(own, **fields)
    _access.handle(record)


def one_line(text: str, longest: int = _LONGEST_FIELD) -> str:
    r"""Return a text in a form that fits on a log line.

    Args:
        text: Any text, even if it is not valid Unicode.
        longest: The maximum length in characters.

    Returns:
        The text, cut off, with unprintable characters (line breaks, control characters, marks that
        change the writing direction, surrogates) written as `\n`, `\x1b` or `\u202e`.
    """
    line = text[: longest + 1]
    if not line.isprintable():
        written = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        line = "".join(written)
    # Cut the escaped text, so that a result passed in again stays the same.
    return line if len(line) <= longest else line[: longest - 1] + "…"


class _Handler(logging.StreamHandler):  # pyright: ignore[reportMissingTypeArgument] - not subscriptable in 3.10
    """Writes to stderr."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's
        """Do nothing: logging would print the record's arguments unfiltered."""


class _Only(logging.Filter):
    """Passes a logger's records to one handler only."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        self._handler.handle(record)
        return False


class _Lines(logging.Formatter):
    """Fields common to both formats."""

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
        fields: dict[str, object] = {
            "time": timestamp(record.created),
            "level": record.levelname,
            "logger": one_line(record.name),
            "message": self._message(record),
            "request_id": _request_id(record),
            "error": self._error(record),
            "traceback": self._traceback(record),
        }
        fields = {name: value for name, value in fields.items() if value not in (None, [])}
        return json.dumps(fields | self._fields(record, fields.keys()), allow_nan=False)

    def _fields(self, record: logging.LogRecord, taken: Set[str]) -> dict[str, object]:
        # Fields added by other libraries may contain anything.
        if _origin(record) != "resay":
            return {}
        added = {k: v for k, v in vars(record).items() if k not in _STANDARD and k not in taken}
        return {one_line(name): _plain(value) for name, value in added.items()}


class _Text(_Lines):
    """Human-readable lines. Tracebacks are indented, so that none looks like a record."""

    def format(self, record: logging.LogRecord) -> str:
        error = self._error(record)
        parts = [
            timestamp(record.created),
            record.levelname,
            one_line(record.name),
            _request_id(record) or "-",
            self._message(record),
            f"({error})" if error else "",
        ]
        line = " ".join(part for part in parts if part)
        return "\n    ".join([line, *self._traceback(record)])


def _origin(record: logging.LogRecord) -> str:
    """Return the package that a record comes from."""
    return record.name.partition(".")[0]


def _request_id(record: logging.LogRecord) -> str | None:
    identifier: object = getattr(record, "request_id", None) or current_request_id.get()
    return one_line(str(identifier)) if identifier else None


def _plain(value: object) -> object:
    """Return a field's value in JSON-ready form; for other values, the type's name."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return type(value).__name__
