"""Controls which answers stored by the upstream clients may read again.

The upstream returns a stored answer to anyone who asks for it, even if it was withheld or rewritten
here. So a model's text from there is passed on only if this gateway knows that it was released.
Released answers that were forgotten are not passed on either.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from resay.adapters.apis import (
    CHAT_COMPLETIONS,
    RESPONSES,
    Api,
    Body,
    Event,
    Outcome,
    mapping,
    mappings,
    text,
)
from resay_server.gateway.conversations import Conversations
from resay_server.gateway.errors import RefusedError

_MOST_RELEASED = 65_536
_LONGEST_ID = 256
# OpenAI keeps responses this long.
_TTL_S = 30 * 86_400.0
_MOST_CHANGED, _MOST_AWAITED = 16_384, 4_096
# Content from clients, which no model wrote.
_ROLES = frozenset({"developer", "system", "tool", "user"})
_TYPES = frozenset(
    {
        "apply_patch_call_output",
        "compaction",
        "computer_call_output",
        "custom_tool_call_output",
        "function_call_output",
        "item_reference",
        "local_shell_call_output",
        "mcp_approval_response",
        "shell_call_output",
    }
)
_OBJECTS = frozenset(
    {
        "chat.completion.deleted",
        "conversation",
        "conversation.deleted",
        "response.deleted",
        "response.input_tokens",
    }
)
# Fields of a response with its status and its request.
_FRAME = (
    "background",
    "completed_at",
    "conversation",
    "created_at",
    "error",
    "id",
    "incomplete_details",
    "instructions",
    "max_output_tokens",
    "metadata",
    "model",
    "object",
    "parallel_tool_calls",
    "previous_response_id",
    "service_tier",
    "status",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
    "usage",
    "user",
)
_UNFINISHED = frozenset({"in_progress", "queued"})


def ids_of(data: Body) -> list[str]:
    """Return the ids of an answer and of its parts.

    Args:
        data: A response, or the body of a stream's event.
    """
    response = data.get("response")
    holders = (data,) if response is None else (data, mapping(response))
    ids: list[object] = []
    for holder in holders:
        ids.append(holder.get("id"))
        if "output" in holder:
            ids += (item.get("id") for item in mappings(holder["output"]))
    if "item" in data:
        ids.append(mapping(data["item"]).get("id"))
    ids.append(data.get("item_id"))
    return [name for name in ids if isinstance(name, str) and name]


def is_unfinished(response: Body) -> bool:
    """Return whether a response is still in progress."""
    return text(response.get("status")) in _UNFINISHED


def without_output(response: Body) -> dict[str, Any]:
    """Return a response without the model's output."""
    frame = {name: response[name] for name in _FRAME if name in response}
    return {**frame, "output": []}


class StoredAnswers:
    """Tracks, in this process's memory, which of the upstream's stored answers were released."""

    def __init__(self) -> None:
        # Oldest first.
        self._released: OrderedDict[str, str | None] = OrderedDict()
        self._changed = Conversations(_MOST_CHANGED, ttl_s=_TTL_S)
        self._awaited = Conversations(_MOST_AWAITED, ttl_s=_TTL_S)

    def record_outcomes(
        self, ids: Iterable[str], outcomes: Sequence[Outcome], client: str | None = None
    ) -> None:
        """Remember the outcome of an answer.

        Args:
            ids: Its id, and those of its parts.
            outcomes: Its outcome, or those of several answers under its id.
            client: The owner of the key with which it was asked for.
        """
        names = [name for name in dict.fromkeys(ids) if 0 < len(name) <= _LONGEST_ID]
        if any(outcome.message is not None for outcome in outcomes):
            for name in names:
                self._released.pop(name, None)
            if names:
                saved = [asdict(outcome) for outcome in outcomes]
                self._changed.remember(names[0], {"outcomes": saved, "client": client})
            return
        # Some upstreams let clients choose ids. An answer withheld under one stays withheld.
        if names and self._changed.recall(names[0]) is None:
            self._release(names, client)

    def _release(self, names: Iterable[str], client: str | None) -> None:
        for name in names:
            # What somebody else owns stays theirs.
            self._released.setdefault(name, client)
        while len(self._released) > _MOST_RELEASED:
            self._released.popitem(last=False)

    def remember_background(
        self, name: str, policy: str, request: Body, client: str | None = None
    ) -> None:
        """Remember a request whose answer is created in the background.

        Args:
            name: The id of the response.
            policy: The policy to check it by.
            request: The request.
            client: The owner of the key with which it was asked for.
        """
        if 0 < len(name) <= _LONGEST_ID:
            record = {"policy": policy, "request": request, "client": client}
            self._awaited.remember(name, record)

    def remember_conversation(self, body: Body, client: str | None) -> None:
        """Remember whose a new conversation is.

        Args:
            body: The upstream's response.
            client: The owner of the key with which it was created.
        """
        name = text(body.get("id"))
        if body.get("object") == "conversation" and 0 < len(name) <= _LONGEST_ID:
            self._release([name], client)

    def check_owner(self, name: str, client: str | None) -> None:
        """Check that a stored answer or conversation is a client's own.

        Args:
            name: Its id.
            client: The owner of the client's key.

        Raises:
            RefusedError: It is not, or nothing is known of it.
        """
        if not self._is_own(name, client):
            raise _refusal()

    def check_continued(self, request: Body, client: str | None) -> None:
        """Check that a request does not continue another client's conversation.

        Args:
            request: The request.
            client: The owner of the client's key.

        Raises:
            RefusedError: It does.
        """
        conversation = request.get("conversation")
        ids = (
            request.get("previous_response_id"),
            conversation,
            mapping(conversation).get("id"),
        )
        for name in map(text, ids):
            if self._owners(name) and not self._is_own(name, client):
                raise _refusal()

    def own_entries(self, body: Body, client: str | None) -> Body:
        """Return a list of stored answers with a client's own only.

        Args:
            body: The upstream's response.
            client: The owner of the client's key.
        """
        entries = mappings(body.get("data"))
        own = [entry for entry in entries if self._is_own(text(entry.get("id")), client)]
        ids = [entry["id"] for entry in own] or [None]
        ends = {"first_id": ids[0], "last_id": ids[-1]}
        changed_ends = {name: value for name, value in ends.items() if name in body}
        return {**body, "data": own, **changed_ends}

    def _owners(self, name: str) -> list[str | None]:
        """Return the clients who own what has this id; none if it is unknown."""
        records = (self._changed.recall(name), self._awaited.recall(name))
        owners: list[str | None] = [record["client"] for record in records if record is not None]
        return [*owners, self._released[name]] if name in self._released else owners

    def _is_own(self, name: str, client: str | None) -> bool:
        owners = self._owners(name)
        return bool(owners) and all(owner == client for owner in owners)

    def unchecked(self, body: Body) -> tuple[str, Body] | None:
        """Return the policy and request of a completed answer not yet checked; None for others.

        Args:
            body: The upstream's response.
        """
        name = text(body.get("id"))
        record = self._awaited.recall(name) if self.awaits(name) else None
        if record is None or is_unfinished(body) or not RESPONSES.completions(body):
            return None
        return record["policy"], record["request"]

    def awaits(self, name: str) -> bool:
        """Return whether an answer is created in the background and was not checked yet.

        Args:
            name: Its id; empty for none.
        """
        is_settled = name in self._released or self._changed.recall(name) is not None
        return not is_settled and self._awaited.recall(name) is not None

    def filter_response(self, body: Body) -> Body:
        """Return the upstream's response as clients may see it.

        Unreleased answers are left out of lists.

        Raises:
            RefusedError: It is a single answer that was not released.
        """
        entries = body.get("data")
        if isinstance(entries, list):
            filtered = map(self._filtered, mappings(cast("list[Any]", entries)))
            return {**body, "data": [entry for entry in filtered if entry is not None]}
        response = self._filtered(body)
        if response is None:
            raise _refusal()
        return response

    def check_event(self, event: Event) -> None:
        """Check whether an event of a stored answer may be sent.

        Raises:
            RefusedError: It may not.
        """
        names = ids_of(event.body)
        ends = event.data == "[DONE]" or event.body.get("type") == "error"
        if not ends and not (names and all(name in self._released for name in names)):
            raise _refusal()

    def _filtered(self, body: Mapping[str, Any]) -> Body | None:
        if "choices" in body:
            return self._answer(CHAT_COMPLETIONS, body, whole=self._is_released(body))
        if "output" in body:
            return self._response(body)
        return body if self._is_allowed(body) else None

    def _response(self, body: Body) -> Body | None:
        items = mappings(body.get("output"))
        is_released = self._is_released(body)
        if is_released and all(self._is_allowed(item) or not item.get("id") for item in items):
            return body
        answer = self._answer(RESPONSES, body, whole=False)
        if answer is not None:
            return answer
        if is_unfinished(body) or not items:
            return without_output(body)
        # For example, a compacted conversation.
        if all(self._is_allowed(item) for item in items):
            return {**without_output(body), "output": items}
        return None

    def _answer(self, api: Api, body: Body, *, whole: bool) -> Body | None:
        if whole:
            return body
        changed = self._changed.recall(text(body.get("id")))
        outcomes = [Outcome(**saved) for saved in changed["outcomes"]] if changed else []
        if not outcomes or len(api.completions(body)) != len(outcomes):
            return None
        return api.answered(body, outcomes)

    def _is_released(self, body: Mapping[str, Any]) -> bool:
        return text(body.get("id")) in self._released

    def _is_allowed(self, item: Mapping[str, Any]) -> bool:
        name = text(item.get("id"))
        # Ids of a stored completion's messages consist of its id and their index.
        return (
            text(item.get("role")) in _ROLES
            or text(item.get("type")) in _TYPES
            or text(item.get("object")) in _OBJECTS
            or name in self._released
            or name.rpartition("-")[0] in self._released
        )


def _refusal() -> RefusedError:
    return RefusedError(
        403,
        "answer_not_released",
        "this stored answer was withheld, or this gateway process has no verdict for it (verdicts"
        " are lost at a restart); send the request again",
    )
