"""What OpenAI's Responses API remembers: conversations, and responses to go on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulation.body import InvalidRequestError
from simulation.responses_body import ResponsesBody

__all__ = ["Conversations"]

Item = Mapping[str, Any]


class Conversations:
    """Remembers input and output items by the ids they are asked for. Use it from one thread."""

    def __init__(self) -> None:
        self._items: dict[str, tuple[Item, ...]] = {}

    def before(self, request: ResponsesBody) -> Sequence[Item]:
        """Return the items of the conversation that a request goes on with.

        Args:
            request: The request. A conversation that nobody spoke of is a new one: where they are
                made is not served here.

        Raises:
            InvalidRequestError: It goes on from a response that was not given or not stored.
        """
        last = request.previous_response_id
        if last is None:
            return self._items.get(request.conversation or "", ())
        if last not in self._items:
            raise InvalidRequestError(
                f"Previous response with id {last!r} not found.",
                "previous_response_id",
                "previous_response_not_found",
            )
        return self._items[last]

    def keep(self, request: ResponsesBody, response: Mapping[str, Any]) -> None:
        """Remember a response, unless the request asks not to."""
        items = (*self.before(request), *request.items, *response["output"])
        if request.store is not False:
            self._items[response["id"]] = items
        if request.conversation is not None:
            self._items[request.conversation] = items
