"""Redaction: the user's function that texts pass through before they are stored."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from resay.adapters import import_named, is_async
from resay.errors import ConfigurationError
from resay_server.journal.evidence import (
    evidence_json,
    evidence_of,
    replace_evidence_texts,
)
from resay_server.journal.rows import (
    ContentFree,
    Row,
    has_content,
    stored_evidence,
    verdict_and_question,
    verdict_json,
    with_texts,
    without_content,
)
from resay_server.journal.verdict_texts import replace_texts

_log = logging.getLogger("resay.journal")


class Redaction:
    """Passes texts through a function of the user, and drops them if it fails.

    Args:
        path: The function, as `package.module:function`.

    Raises:
        ConfigurationError: There is no such function, or it is asynchronous.
    """

    def __init__(self, path: str) -> None:
        function: Any = import_named(path)
        if not callable(function) or is_async(function):
            raise ConfigurationError(
                "`journal.redact` must name a synchronous function that takes a text and returns"
                f" one, not {path!r}"
            )
        self._function = cast("Callable[[str], object]", function)

    def redacted_row(self, row: Row) -> Row:
        """Return a row with its text redacted; without text if that fails."""
        if not has_content(row):
            return row
        verdict, question = verdict_and_question(row)
        bare = without_content(verdict)
        evidence = stored_evidence(row)
        # Judges are often shown the same texts.
        redact = cache(self._redact)
        try:
            redacted = replace_texts(verdict, bare, redact)
            # The result may no longer be a valid verdict.
            without_content(redacted)
            if question is not None:
                question = redact(question)
            if evidence is not None:
                evidence = evidence_json(replace_evidence_texts(evidence_of(evidence), redact))
            return with_texts(row, verdict_json(redacted), question, evidence)
        # The user's function may raise anything, with a message that quotes the text.
        except Exception as error:
            _log.warning("`redact` failed with %s; the text is not stored", type(error).__name__)
        return with_texts(row, ContentFree(verdict_json(bare)), None, None)

    def redacted_note(self, note: str) -> str | None:
        """Return a rater's note, redacted; None if that fails."""
        try:
            return self._redact(note)
        except Exception as error:  # The user's function may raise anything.
            _log.warning("`redact` failed with %s; the note is not stored", type(error).__name__)
        return None

    def _redact(self, text: str) -> str:
        redacted = self._function(text)
        if isinstance(redacted, str):
            return redacted
        raise TypeError
