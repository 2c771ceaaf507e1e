from dataclasses import replace
from typing import Any

import pytest

from resay import Request
from resay.adapters import CheckContext, given_references
from resay.core.request_references import without_references

TOOL = {"type": "function", "function": {"name": "look_up"}}
QUESTION = ({"role": "user", "content": "Who?"},)


def context_of(params: dict[str, Any], **known: Any) -> CheckContext:
    return CheckContext(Request(QUESTION, None, params), **known)


def test_a_context_without_a_request_knows_nothing() -> None:
    context = CheckContext()
    assert context.request.messages == ()
    assert not context.wants_object
    assert not context.has_side_effects
    assert not context.is_repeatable


@pytest.mark.parametrize(
    "context",
    [
        context_of({}, structured=True),
        context_of({}, object_tools=("look_up",)),
        context_of({"response_format": {"type": "json_object"}}),
        context_of({"response_format": {"type": "json_schema", "json_schema": {}}}),
        context_of({"response_format": CheckContext}),
    ],
)
def test_requests_for_objects(context: CheckContext) -> None:
    assert context.wants_object
    assert not context_of({"response_format": {"type": "text"}}).wants_object


def test_tools_offered_to_get_an_object_are_not_run() -> None:
    assert context_of({"tools": [TOOL]}).has_side_effects
    assert not context_of({"tools": [TOOL]}, object_tools=("look_up",)).has_side_effects
    other = {"type": "function", "function": {"name": "delete"}}
    assert context_of({"tools": [TOOL, other]}, object_tools=("look_up",)).has_side_effects
    stored = {"tools": [TOOL], "thread_id": "t"}
    assert context_of(stored, object_tools=("look_up",)).has_side_effects


@pytest.mark.parametrize(
    ("context", "is_repeatable"),
    [
        (context_of({}), True),
        (context_of({"tools": [TOOL]}), False),
        (context_of({}, unrepeatable="the provider stores the conversation"), False),
        (CheckContext(Request(())), False),
    ],
)
def test_which_requests_are_sent_once_more(context: CheckContext, *, is_repeatable: bool) -> None:
    assert context.is_repeatable is is_repeatable


def test_the_clients_request_has_no_keys_in_it() -> None:
    body = {"messages": [], "metadata": {"docs": []}, "api_key": "sk-12345678"}
    context = context_of({"api_key": "sk-12345678"}, client_body=body)
    assert context.client_request == {"messages": [], "metadata": {"docs": []}}
    assert context_of({"seed": 1}).client_request == {"messages": list(QUESTION), "seed": 1}


def test_nothing_of_the_context_is_in_a_changed_request() -> None:
    # What draws, rewrites or shortens a request returns a request, and its context stays.
    context = context_of({"tools": [TOOL]}, entity="Ada", object_tools=("look_up",))
    request = context.request
    for changed in (request.for_sampling(temperature=0.7), without_references(request, ())):
        again = replace(context, request=changed)
        assert (again.entity, again.object_tools) == ("Ada", ("look_up",))
        assert again.wants_object
        assert not again.has_side_effects


def test_its_texts_are_not_in_its_repr() -> None:
    context = context_of(
        {},
        references=given_references(["the secret"]),
        samples=("the secret",),
        client_references=given_references(["the secret"]),
        client_body={"text": "the secret"},
    )
    assert "the secret" not in repr(context)
