from __future__ import annotations

import ast
import copy
import itertools
import json
import re
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator

import resay_server.gateway
from resay import Guard, Verdict
from resay.adapters.verdicts import verdict_data
from resay_server.gateway import GatewayConfig
from resay_server.gateway.calls import OWN_ENDPOINTS, REQUEST_ID, TENANT, VERDICT_DETAIL
from resay_server.gateway.calls import POLICY as POLICY_HEADER
from resay_server.gateway.openapi.document import document
from support.gateway import ASKED, CHAT, POLICY, Gateways
from support.journal import make_verdict, repaired
from support.regenerating import QUESTION, Model, Shelf
from support.regenerating import guard_of as repairing

UPSTREAM = {"upstream": {"url": "http://127.0.0.1:9/v1"}}
KEYS = {"keys": [{"name": "team", "sha256": "0" * 64}]}
MADE_OF_CLASSES = {
    *("Attempt", "Contradiction", "Document", "Edit", "Regeneration", "SentenceVerdict"),
    *("StepRecord", "Usage", "Verdict"),
}
TEXT = "The bridge opened in 1932. It has 31 lamps."
BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block}\n"
CODE = re.compile(r"[a-z]+(_[a-z]+)+|overloaded")
SOURCE = Path(resay_server.gateway.__file__).parent
DOCUMENT = document()


def schema(name: str, *, closed: bool = False) -> Draft202012Validator:
    """Return what validates against a schema of the document.

    Args:
        name: The schema's name.
        closed: Whether fields that are not in the schema are refused too.
    """
    components = copy.deepcopy(DOCUMENT["components"])
    if closed:
        for made in MADE_OF_CLASSES:
            components["schemas"][made]["unevaluatedProperties"] = False
        components["schemas"]["Hallucination"]["unevaluatedProperties"] = False
        # Of the two that are joined there, neither knows the other's fields.
        del components["schemas"]["Verdict"]["unevaluatedProperties"]
    found = {"$ref": f"#/components/schemas/{name}", "components": components}
    return Draft202012Validator(found)


@pytest.mark.parametrize(
    "told", [None, UPSTREAM, UPSTREAM | KEYS, UPSTREAM | {"operator_key": "k" * 16}]
)
def test_the_document_is_valid(told: Any) -> None:
    OpenAPIV31SpecValidator(document(told and GatewayConfig.of(told))).validate()


def test_the_document_is_plain_json_and_new_each_time() -> None:
    one, other = document(), document()
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    one["paths"]["/v1/messages"]["post"]["responses"].clear()
    assert one["paths"]["/v1/responses"]["post"]["responses"]
    assert document() == other


def test_it_has_all_that_the_gateway_serves() -> None:
    paths = {*ASKED, *OWN_ENDPOINTS, "/healthz", "/readyz", "/metrics", "/openapi.json"}
    assert set(DOCUMENT["paths"]) == paths
    named = {one["name"] for one in DOCUMENT["components"]["parameters"].values()}
    assert named == {name.decode() for name in (POLICY_HEADER, TENANT, REQUEST_ID, VERDICT_DETAIL)}


def security(path: str, told: Any) -> list[set[str]]:
    (operation,) = document(GatewayConfig.of(UPSTREAM | told))["paths"][path].values()
    return [set(one) for one in operation["security"]]


def test_it_says_who_needs_a_key() -> None:
    clients = [{"bearer"}, {"x-api-key"}, {"api-key"}]
    operators = {"operator_key": "k" * 16}
    assert security("/v1/messages", {}) == [*clients, set()]
    assert security("/v1/messages", KEYS) == clients
    assert security("/metrics", KEYS) == [set()]
    assert security("/metrics", KEYS | operators) == [{"operator"}, {"operatorBearer"}]
    assert security("/healthz", KEYS | operators) == []


def verdicts() -> Iterator[tuple[str, Verdict]]:
    """Real verdicts, and some that have everything there can be in one."""
    guard = Guard({"chain": [{"method": "ngram"}]})
    skips = Guard({"chain": [{"method": "ngram"}], "when": {"min_sentences": 9}})
    yield "consistent", guard.check(TEXT, samples=[TEXT] * 3)
    yield "flagged", guard.check(TEXT, samples=[f"Some {i} others." for i in range(3)])
    yield "inconclusive", repairing(Model(judges=False)).check(TEXT, question="?", samples=[TEXT])
    yield "skipped", skips.check(TEXT, samples=[TEXT] * 3)
    yield "repaired", repairing(Model()).ask(QUESTION).verdict
    yield "written anew", repairing(Model(), action={"mode": "rewrite"}).ask(QUESTION).verdict
    yield "not repaired", repairing(Model(), Shelf(())).ask(QUESTION).verdict
    yield "broken", repairing(Model(repairs=lambda _: None)).ask(QUESTION).verdict
    yield "everything", make_verdict("flagged", repaired(0))


@pytest.fixture(scope="module")
def real() -> dict[str, Verdict]:
    return dict(verdicts())


def test_the_verdicts_differ(real: dict[str, Verdict]) -> None:
    assert {one.decision for one in real.values()} == {
        *("consistent", "flagged", "inconclusive", "skipped")
    }
    assert real["repaired"].regenerated
    assert real["written anew"].regenerated
    assert real["broken"].regeneration
    assert not real["broken"].regenerated


@pytest.mark.parametrize("action", ["allow", "annotate", "block", "regenerate"])
def test_verdicts_have_the_shape_that_is_told(real: dict[str, Verdict], action: str) -> None:
    validator = schema("Hallucination", closed=True)
    for verdict in real.values():
        validator.validate(json.loads(json.dumps(verdict_data(verdict, action))))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the way to each field."""
    if isinstance(value, dict):
        yield from ((*path, key) for key in value)
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from leaves(item, (*path, key))


def test_no_field_may_be_missing_or_of_another_kind() -> None:
    data = verdict_data(make_verdict("flagged", repaired(0)), "annotate")
    validator = schema("Hallucination", closed=True)
    # What a retriever says of a document, and the kinds of failures, are free.
    ways = [way for way in leaves(data) if not {"metadata", "failures"} & set(way[:-1])]
    assert len(ways) > 60
    for *way, field in ways:
        missing, other = copy.deepcopy(data), copy.deepcopy(data)
        del reduce(getitem, way, missing)[field]
        reduce(getitem, way, other)[field] = object()
        for spoilt in (missing, other):
            with pytest.raises(ValidationError):
                validator.validate(spoilt)


def test_a_field_that_is_not_told_would_be_found() -> None:
    data = verdict_data(make_verdict(), "annotate")
    with pytest.raises(ValidationError):
        schema("Hallucination", closed=True).validate({**data, "more": 1})
    data["sentences"][0]["more"] = 1
    with pytest.raises(ValidationError):
        schema("Hallucination", closed=True).validate(data)


def test_each_field_of_a_verdict_is_described() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    bare = [
        f"{name}.{field}"
        for name in MADE_OF_CLASSES
        for field, one in schemas[name]["properties"].items()
        if not one.get("description")
    ]
    assert bare == []
    assert "None" not in json.dumps({name: schemas[name] for name in MADE_OF_CLASSES})


def documented(path: str, status: int) -> dict[str, Any]:
    """Return what the document says of a response."""
    (operation,) = DOCUMENT["paths"][path].values()
    responses = operation["responses"]
    found = responses.get(str(status)) or responses["default"]
    name = found.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["responses"][name] if name else found


def check_headers(path: str, response: Any) -> None:
    told = set(documented(path, response.status_code).get("headers", {}))
    assert {name for name in response.headers if name.startswith("x-resay-")} <= told


@pytest.mark.parametrize("path", sorted(ASKED))
@pytest.mark.parametrize("policy", [POLICY, BLOCK])
def test_answers_are_as_told(gateways: Gateways, path: str, policy: str) -> None:
    response = gateways.start(policy).post(path)
    body = response.json()
    assert response.status_code == 200
    assert body["hallucination"]["action"] == ("block" if policy == BLOCK else "annotate")
    schema("GuardedAnswer").validate(body)
    schema("Hallucination", closed=True).validate(body["hallucination"])
    check_headers(path, response)


def test_of_several_answers_each_has_a_verdict(gateways: Gateways) -> None:
    body = gateways.start().post(json={**CHAT, "n": 2}).json()
    for holder in (body, *body["choices"]):
        schema("Hallucination", closed=True).validate(holder["hallucination"])


@pytest.mark.parametrize("path", sorted(ASKED))
def test_errors_are_as_told(gateways: Gateways, path: str) -> None:
    served = gateways.start(BLOCK.replace("do: block", "do: block, exit: raise"))
    alone = gateways.start(upstream={"url": "http://127.0.0.1:9/v1"})
    responses = [
        served.post(path),
        served.post(path, content=b"[]"),
        served.post(path, headers={"x-resay-policy": "nobody's"}),
        served.post(path, headers={"x-resay-tenant": "a b"}),
        served.post(path, headers={"content-encoding": "gzip"}),
        served.post(path, headers={"x-long": "y" * 40_000}),
        alone.post(path),
    ]
    assert [r.status_code for r in responses] == [422, 400, 400, 400, 415, 431, 502]
    for response in responses:
        told = documented(path, response.status_code)
        body = response.json()
        schema("Error", closed=True).validate(body)
        check_headers(path, response)
        if path != "/v1/messages":
            assert body["error"]["code"] in told["x-resay-codes"]
    schema("Verdict", closed=True).validate(responses[0].json()["error"]["verdict"])


CHECKED = {"response": TEXT, "samples": [f"Some {i} others." for i in range(3)]}
LITELLM: dict[str, Any] = {"input_type": "response", "texts": [TEXT], "litellm_call_id": "c-7"}
ASKED_BEFORE = LITELLM | {"input_type": "request", "structured_messages": CHAT["messages"]}


@pytest.mark.parametrize("policy", [POLICY, BLOCK])
def test_checks_are_as_told(gateways: Gateways, policy: str) -> None:
    response = gateways.start(policy).post("/v1/check", json=CHECKED)
    assert response.status_code == 200
    schema("CheckResponse", closed=True).validate(response.json())
    check_headers("/v1/check", response)


@pytest.mark.parametrize("policy", [POLICY, BLOCK])
def test_what_litellm_is_told_is_as_told(gateways: Gateways, policy: str) -> None:
    served = gateways.start(policy)
    for asked in (ASKED_BEFORE | {"model": "m"}, LITELLM):
        schema("GuardrailRequest").validate(asked)
        response = served.post("/beta/litellm_basic_guardrail_api", json=asked)
        assert response.status_code == 200
        schema("GuardrailResponse", closed=True).validate(response.json())
        check_headers("/beta/litellm_basic_guardrail_api", response)
    assert response.json()["hallucination"]


PORTKEY: dict[str, Any] = {
    "eventType": "afterRequestHook",
    "requestType": "chatComplete",
    "request": {"json": CHAT, "text": ""},
    "response": {"json": {"choices": [{"message": {"role": "assistant", "content": TEXT}}]}},
}
MESSAGES: dict[str, Any] = {"body": {"messages": CHAT["messages"]}}
CHOICES: dict[str, Any] = {"body": {"choices": PORTKEY["response"]["json"]["choices"]}}


@pytest.mark.parametrize("policy", [POLICY, BLOCK])
@pytest.mark.parametrize(
    ("path", "asked", "names"),
    [
        (
            "/webhooks/portkey",
            PORTKEY,
            ("PortkeyWebhookRequest", "PortkeyWebhookResponse"),
        ),
        ("/request", MESSAGES, ("AgentgatewayRequest", "AgentgatewayReply")),
        ("/response", CHOICES, ("AgentgatewayResponse", "AgentgatewayReply")),
    ],
)
def test_webhooks_are_as_told(
    gateways: Gateways, policy: str, path: str, asked: dict[str, Any], names: tuple[str, str]
) -> None:
    schema(names[0]).validate(asked)
    response = gateways.start(policy).post(path, json=asked)
    assert response.status_code == 200
    schema(names[1], closed=True).validate(response.json())
    check_headers(path, response)


@pytest.mark.parametrize(
    "spoilt",
    [
        {"response": None},
        {"samples": TEXT},
        {"samples": [7]},
        {"references": [{"source": "guide.md"}]},
        {"references": [["text"]]},
        {"model": ""},
        {"more": 1},
    ],
)
def test_what_is_no_request_to_check_is_refused_as_told(gateways: Gateways, spoilt: Any) -> None:
    validator = schema("CheckRequest")
    validator.validate(
        CHECKED | {"question": "?", "model": "m", "references": ["a", {"text": "b"}]}
    )
    with pytest.raises(ValidationError):
        validator.validate(CHECKED | spoilt)
    response = gateways.start().post("/v1/check", json=CHECKED | spoilt)
    assert response.status_code == 400
    schema("OpenAIError", closed=True).validate(response.json())
    assert response.json()["error"]["code"] in documented("/v1/check", 400)["x-resay-codes"]


def test_what_watchers_ask_is_as_told(gateways: Gateways) -> None:
    served = gateways.start()
    for path in ("/healthz", "/readyz"):
        response = httpx.get(served.url + path)
        assert response.status_code == 200
        schema("Status").validate(response.json())


def trees() -> Iterator[ast.AST]:
    """Return the nodes of the gateway's source."""
    return (n for path in SOURCE.rglob("*.py") for n in ast.walk(ast.parse(path.read_text())))


def errors_in_the_source() -> set[tuple[int, str]]:
    """Return the statuses and codes of the errors that the gateway makes."""
    found: set[tuple[int, str]] = set()
    for node in trees():
        parts = node.args if isinstance(node, ast.Call) else []
        parts = node.elts if isinstance(node, ast.Tuple) else parts
        values = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        for status, code in itertools.pairwise(values):
            if isinstance(status, int) and isinstance(code, str) and CODE.fullmatch(code):
                found |= {(status, code)} if status >= 400 else set()
    return found


def test_the_document_knows_all_errors_and_no_others() -> None:
    told: set[tuple[str, str]] = set()
    for path, item in DOCUMENT["paths"].items():
        (operation,) = item.values()
        for status in operation["responses"]:
            codes = documented(path, 0 if status == "default" else int(status))
            told |= {(status, code) for code in codes.get("x-resay-codes", [])}
    unknown = {(str(status), code) for status, code in errors_in_the_source()} - told
    # What litellm raises has the provider's status.
    assert {code for _, code in unknown} <= {code for status, code in told if status == "default"}
    words = {node.value for node in trees() if isinstance(node, ast.Constant)}
    assert {code for _, code in told} <= words
