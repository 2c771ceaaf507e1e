"""`POST /v1/feedback`: records a rating of a verdict or an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, cast

from pydantic import BaseModel, Field

from resay.adapters.apis import Body
from resay.adapters.settings import Strict
from resay.errors import ConfigurationError
from resay_server.gateway.calls import Call
from resay_server.gateway.endpoints import LONGEST_NAME, EndpointState, read_as
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.logs import one_line
from resay_server.journal import (
    About,
    Entry,
    Feedback,
    Journal,
    JournalError,
    Rating,
    TooManyError,
)
from resay_server.journal.feedback import MAX_CLAIM

# How long to wait for an entry to be written after its answer was sent, in seconds.
_WRITTEN_S = 0.25
# Prefixes of the ids that providers give to answers.
_OF_PROVIDERS = ("chatcmpl-", "cmpl-", "resp_", "msg_")
_ID_HEADER = "`x-resay-request-id`"
_THUMBS: Mapping[str, Rating] = {"up": "right", "down": "wrong"}


class FeedbackRequest(Strict):
    """A rating of a verdict or an answer."""

    id: str = Field(
        min_length=1,
        max_length=128,
        description="The id of the request, from the response header `x-resay-request-id`, or the"
        " id of the journal entry.",
    )
    rating: Literal["right", "wrong", "unsure", "up", "down"] = Field(
        description="`right`, `wrong` or `unsure`: a reviewer's rating of the verdict. `up` or"
        " `down`: an end user's rating of the answer."
    )
    claim: int | None = Field(
        default=None,
        ge=0,
        le=MAX_CLAIM,
        description="The index of the rated claim in the verdict's `claims`, or of the sentence if"
        " the verdict has no claims; null to rate the whole.",
    )
    note: str | None = Field(
        default=None, max_length=2_000, description="The reason for the rating."
    )
    rater: str = Field(
        default="",
        max_length=128,
        description="The rater's name in your application. A later rating of the same claim by the"
        " same rater replaces this one.",
    )


class FeedbackResponse(BaseModel):
    """The recorded rating."""

    object: Literal["hallucination.feedback"] = "hallucination.feedback"
    id: str = Field(description="The id of the journal entry.")
    request_id: str | None = Field(description="The id of the request.")
    rating: Rating = Field(description="The recorded rating.")
    about: About = Field(description="Whether the verdict or the answer was rated.")
    claim: int | None = Field(description="The index of the rated claim; null for the whole.")
    rater: str = Field(description="The recorded name of the rater.")


async def rate(call: Call, client: str | None, body: Body, shared: EndpointState) -> Body:
    """Record a rating of one of the tenant's own entries.

    Args:
        call: The request.
        client: The owner of its key; None if clients need none.
        body: A `FeedbackRequest`.
        shared: State shared by all requests of the gateway.

    Returns:
        A `FeedbackResponse`.

    Raises:
        RefusedError: It is not valid, the tenant has no such entry, or there is no journal.
    """
    feedback_request, journal = read_as(FeedbackRequest, body), shared.journal
    if journal is None:
        message = "the gateway keeps no journal to record feedback in; set `journal` in its file"
        raise RefusedError(404, "not_found", message)
    try:
        entry = await _entry(journal, feedback_request.id, call.tenant)
        if entry is None:
            raise RefusedError(404, "unknown_request", _unknown(feedback_request.id))
        feedback = Feedback(
            entry_id=entry.id,
            rating=_THUMBS.get(feedback_request.rating, cast("Rating", feedback_request.rating)),
            about="answer" if feedback_request.rating in _THUMBS else "verdict",
            claim=feedback_request.claim,
            note=feedback_request.note,
            # Reviewers' names never have this prefix, so clients cannot replace their ratings.
            rater=":".join(filter(None, ("api", client, feedback_request.rater))),
            source="api",
        )
        await journal.rate(feedback)
    except ConfigurationError as error:
        raise RefusedError(400, "invalid_request", str(error)) from None
    except TooManyError as error:
        raise RefusedError(409, "too_many_ratings", str(error)) from None
    except JournalError:
        message = "the journal cannot be used at the moment; try again later"
        raise RefusedError(503, "journal_unavailable", message) from None
    return FeedbackResponse(
        id=entry.id,
        request_id=entry.request_id,
        rating=feedback.rating,
        about=feedback.about,
        claim=feedback.claim,
        rater=feedback.rater,
    ).model_dump()


async def _entry(journal: Journal, some_id: str, tenant: str | None) -> Entry | None:
    """Return the tenant's newest entry with this id, or for the request with this id."""
    for wait_s in (_WRITTEN_S, 0.0):
        await journal.flush()
        entry = await journal.find_own(some_id, tenant)
        if entry is not None:
            return entry
        # The client may be faster than the recording of its answer.
        await asyncio.sleep(wait_s)
    return None


def _unknown(some_id: str) -> str:
    message = f"the journal has no request {one_line(some_id, LONGEST_NAME)!r} of this tenant"
    if some_id.startswith(_OF_PROVIDERS):
        return f"{message}; this is the provider's id; send the value of the header {_ID_HEADER}"
    return f"{message}; send the value of the answer's header {_ID_HEADER}, and the same tenant"
