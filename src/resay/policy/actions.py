"""What happens to a flagged answer that is not regenerated: the section `action`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from resay._internal.strict import Strict

_WITHHELD = "Sorry, this answer was withheld because it could not be confirmed."
_REST_WITHHELD = "[The rest was left out: it could not be confirmed.]"

MarkStyle = Literal["none", "inline", "footnotes"]
"""How the text of an answer is marked."""


class Annotate(Strict):
    """Return the response with its verdict."""

    do: Literal["annotate"] = Field(
        default="annotate", description="Return the response with its verdict."
    )
    marks: MarkStyle = Field(
        default="none",
        description="How the reader of the text sees what is flagged or was not checked: not at all"
        " (none), as [unsupported], [contradicted] or [not checked] after it (inline), or by"
        " Markdown footnotes with the evidence (footnotes). JSON, tool calls and answers that are"
        " one block of code are never marked.",
    )


class Block(Strict):
    """Withhold a flagged response."""

    do: Literal["block"] = Field(default="block", description="Withhold a flagged response.")
    exit: Literal["replace", "raise"] = Field(
        default="replace",
        description="Return the message instead, or raise HallucinationBlocked.",
    )
    message: str = Field(
        default=_WITHHELD,
        min_length=1,
        description="The message that replaces a withheld response.",
    )
    partial_message: str | None = Field(
        default=None,
        min_length=1,
        description="The message in place of the rest of a stream whose beginning was shown, as a"
        f" paragraph of its own; null = your `message` or, without one, {_REST_WITHHELD!r}",
    )
    finish_reason: Literal["content_filter", "stop"] = Field(
        default="content_filter",
        description="The finish reason of a withheld answer for API clients: filtered"
        " (`finish_reason: content_filter`, `status: incomplete`, `stop_reason: refusal`), or"
        " completed (`stop`, `completed`, `end_turn`), for clients that treat a filtered answer"
        " as an error.",
    )

    @property
    def message_for_rest(self) -> str:
        """The message in place of the rest of a stream whose beginning was shown."""
        own = _REST_WITHHELD if self.message == _WITHHELD else self.message
        return self.partial_message or own
