"""OpenAI's Responses API."""

from __future__ import annotations

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.providers.apis import responses_stream
from resay.providers.apis.base import Api, Body, Event, Outcome, Request
from resay.providers.apis.one_answer import OneAnswerApi
from resay.providers.apis.reading import listed, text
from resay.providers.apis.responses_output import (
    KEY,
    item_status,
    made_id,
    message_item,
    replaced_response,
    response_without_logprobs,
    said_calls,
    said_logprobs,
    said_text,
    stopped_by,
    text_part,
    unread_in,
    usage_in,
)
from resay.providers.apis.responses_request import (
    asking_logprobs,
    fresh_request,
    read_request,
    sample_request,
)
from resay.providers.apis.responses_stream import event_without_logprobs, placed_event
from resay.providers.base import Completion

__all__ = ["RESPONSES"]

# A response that is still being made, or never was, answers nothing.
_NO_ANSWER = frozenset({"cancelled", "failed", "in_progress", "queued"})


class _Responses(OneAnswerApi):
    _events = responses_stream
    _key = KEY
    path = "/responses"
    gives_logprobs = True

    def read(self, body: Body) -> Request:
        return read_request(body)

    def asking_logprobs(self, body: Body, top: int) -> Body:
        return asking_logprobs(body, top)

    def without_logprobs(self, data: Body) -> Body:
        return response_without_logprobs(event_without_logprobs(data))

    def sample(self, request: Request, query: Query, n: int) -> Body:
        del n
        return sample_request(request, query)

    def fresh(self, body: Body, query: Query) -> Body:
        return fresh_request(body, query)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        if not isinstance(response.get("output"), list):
            return ()
        said, unread = said_text(response), unread_in(listed(response["output"]))
        if text(response.get("status")) in _NO_ANSWER and not (said or unread):
            return ()
        completion = Completion(
            said,
            stopped_by(response),
            said_logprobs(response),
            response,
            said_calls(response),
            unread=unread,
        )
        return (completion,)

    def usage(self, response: Body) -> Usage:
        return usage_in(response) or Usage(1, cost_usd=None)

    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        item = message_item(made_id(response, 0), item_status(outcome), [text_part(message)])
        return replaced_response(response, [item], outcome)

    def placed(self, event: Event, position: int) -> Event:
        return placed_event(event, position)


RESPONSES: Api = _Responses()
"""`POST /responses`."""
