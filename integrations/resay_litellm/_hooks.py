"""LiteLLM's hooks, and conversion of its response objects to JSON and back for each API."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, cast

from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.integrations.custom_logger import CustomLogger
from litellm.llms.openai.responses.transformation import OpenAIResponsesAPIConfig
from litellm.types.guardrails import GuardrailEventHooks
from litellm.types.llms.openai import ResponsesAPIResponse
from litellm.types.utils import Choices, Message, ModelResponse, ModelResponseStream
from openai.types.responses.response import IncompleteDetails
from pydantic import ValidationError

from resay._internal.importing import import_named
from resay._internal.nesting import inside_guard, marked
from resay.adapters.choices import UnfinishedChoices
from resay.adapters.policies import PolicyLike, guard_of
from resay.adapters.relay import Events, Relay
from resay.adapters.upstream import JudgeProvider, Upstream, litellm_provider
from resay.adapters.verdicts import VERDICT_KEY, verdict_data, verdict_in
from resay.core.logprobs import field_of
from resay.core.query import Query
from resay.core.verdict import HallucinationBlocked, OnVerdict, Verdict
from resay.errors import ConfigurationError, ProviderRefusedError
from resay.guard import Guard
from resay.policy import Block
from resay.providers.apis import (
    CHAT_COMPLETIONS,
    MESSAGES,
    Api,
    Body,
    Event,
    EventReader,
    Request,
    encoded,
)
from resay.providers.apis import RESPONSES as API
from resay.providers.base import Completions

HIDDEN = "_hidden_params"
"""The attribute in which LiteLLM keeps metadata of a response for the proxy's headers."""


@dataclass(frozen=True, slots=True)
class Piece(Event):
    """An event with the chunk of LiteLLM's stream that it was parsed from.

    Attributes:
        piece: The chunk.
    """

    piece: Any = None


async def pieces_in(pieces: AsyncIterator[Any], *, mode: str) -> AsyncGenerator[Piece]:
    """Read LiteLLM's chunks as events.

    Args:
        pieces: The chunks.
        mode: How pydantic should dump values, `json` or `python`.
    """
    async for piece in pieces:
        yield Piece(piece.model_dump(mode=mode, exclude_none=True, warnings=False), piece=piece)


def hidden_of(response: object, *, withheld: bool) -> dict[str, Any]:
    """Return LiteLLM's metadata of a response, without the text of a withheld one."""
    hidden: Mapping[str, Any] = field_of(response, HIDDEN) or {}
    return {k: v for k, v in hidden.items() if not (withheld and k == "original_response")}


class Format:
    """How LiteLLM serves one API.

    Attributes:
        api: The API.
        method: The name of the router's method.
        function: The name of litellm's own function.
    """

    api: ClassVar[Api]
    method: ClassVar[str]
    function: ClassVar[str]

    def fits(self, data: Body, response: object) -> bool:
        """Return whether a response, or the first chunk of a stream, belongs to this API."""
        raise NotImplementedError

    def body(self, response: Any) -> Body:
        """Return a response as JSON."""
        raise NotImplementedError

    def given(self, response: Any, body: Body) -> Any:
        """Return a response object for a body that was derived from the response's."""
        raise NotImplementedError

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        """Read the chunks of a stream as events."""
        raise NotImplementedError

    def piece(self, event: Event) -> Any:
        """Return the chunk for an event: the original one if the event is unchanged."""
        raise NotImplementedError


class _Chat(Format):
    api = CHAT_COMPLETIONS
    method = "acompletion"
    function = "acompletion"

    def fits(self, data: Body, response: object) -> bool:
        kinds = (ModelResponse, ModelResponseStream)
        return bool(data.get("messages")) and isinstance(response, kinds)

    def body(self, response: Any) -> Body:
        return response.model_dump(exclude_none=True, warnings=False)

    def given(self, response: Any, body: Body) -> Any:
        before, now = self.body(response)["choices"], body["choices"]
        # A response without choices gains one when it is withheld.
        known = [*zip(response.choices, before, strict=True)] or [(None, {})] * len(now)
        pairs = zip(known, now, strict=True)
        choices = [_choice(choice, was, given) for (choice, was), given in pairs]
        withheld = len(before) < len(now) or any(map(_is_replaced, before, now))
        given: Any = _anew(response) if withheld else response.model_copy()
        given.choices = choices
        setattr(given, VERDICT_KEY, body[VERDICT_KEY])
        return given

    async def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        unended = UnfinishedChoices()
        async for event in pieces_in(pieces, mode="python"):
            unended.note(event.body["choices"], event.body)
            yield _counting(event)
        for place, body in unended.unfinished():
            end: Body = {"index": place, "delta": {}, "finish_reason": "stop"}
            yield Event({**body, "choices": [end]})

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        told = {k: v for k, v in event.body.items() if v is not None and k != VERDICT_KEY}
        piece: Any = ModelResponseStream(**told)
        for choice in piece.choices if VERDICT_KEY in event.body else ():
            _mark(choice, event.body[VERDICT_KEY])
        return piece


CHAT = _Chat()
"""`/v1/chat/completions`."""


def _counting(event: Piece) -> Piece:
    """Return a chunk that only reports usage without its choices, as OpenAI sends it."""
    choices = event.body["choices"]
    if not event.body.get("usage") or any(c["delta"] or c.get("finish_reason") for c in choices):
        return event
    return Piece({**event.body, "choices": list[Any]()}, piece=event.piece)


def _is_replaced(before: Body, after: Body) -> bool:
    return {k: v for k, v in after.items() if k != VERDICT_KEY} != before


def _choice(choice: Any, before: Body, after: Body) -> Any:
    verdict = after.get(VERDICT_KEY)
    if _is_replaced(before, after):
        said = {k: v for k, v in after["message"].items() if v is not None}
        kept = {k: after[k] for k in ("finish_reason", "index")}
        given: Any = Choices(message=Message(**said), **kept)
    elif verdict is None:
        return choice
    else:
        given = choice.model_copy()
    if verdict is not None:
        setattr(given, VERDICT_KEY, verdict)
    return given


def _anew(response: Any) -> Any:
    # Withheld text may be anywhere in the old response, also in provider fields beside the choices.
    kept = {k: field_of(response, k) for k in ("id", "created", "model", "system_fingerprint")}
    given: Any = ModelResponse(choices=[], usage=field_of(response, "usage"), **kept)
    given._hidden_params = hidden_of(response, withheld=True)  # noqa: SLF001 - the source of the proxy's headers
    return given


def _mark(choice: Any, worst: Body) -> None:
    # Each of several answers has its own verdict. Of all fields of a chunk, LiteLLM's serialisation
    # only lets this one through.
    verdict = field_of(choice, VERDICT_KEY) or worst
    known: dict[str, Any] = field_of(choice.delta, "provider_specific_fields") or {}
    choice.delta.provider_specific_fields = {**known, VERDICT_KEY: verdict}


class _Responses(Format):
    api = API
    method = "aresponses"
    function = "aresponses"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("input") or not hasattr(response, "model_dump"):
            return False
        whole = (
            field_of(response, "object") == "response" and field_of(response, "output") is not None
        )
        kind = field_of(response, "type")
        return whole or str(getattr(kind, "value", kind)).startswith("response.")

    def body(self, response: Any) -> Body:
        return response.model_dump(mode="json", exclude_none=True, warnings=False)

    def given(self, response: Any, body: Body) -> Any:
        if body["output"] == self.body(response)["output"]:
            copy = response.model_copy()
            if VERDICT_KEY in body:
                setattr(copy, VERDICT_KEY, body[VERDICT_KEY])
            return copy
        # Withheld text may be anywhere in the old response.
        kept = {k: getattr(response, k) for k in body if hasattr(response, k)}
        told = {k: body[k] for k in ("output", "status", VERDICT_KEY) if k in body}
        why = body.get("incomplete_details")
        details = None if why is None else IncompleteDetails.model_validate(why)
        # Not validated, because not all that providers send would pass.
        kind: Any = ResponsesAPIResponse
        made = kind.model_construct(**{**kept, **told, "incomplete_details": details})
        made._hidden_params = hidden_of(response, withheld=True)  # noqa: SLF001 - as on all such responses
        return made

    def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        return pieces_in(pieces, mode="json")

    def piece(self, event: Event) -> Any:
        if isinstance(event, Piece):
            return event.piece
        told = dict(event.body)
        if isinstance(told.get("response"), Mapping):
            told["response"] = _object(ResponsesAPIResponse, told["response"])
        kind: Any = OpenAIResponsesAPIConfig.get_event_model_class(told["type"])
        return _object(kind, told)


RESPONSES = _Responses()
"""`/v1/responses`."""


def _object(kind: Any, data: Mapping[str, Any]) -> Any:
    try:
        return kind(**data)
    # Providers deviate from the schema, and the first events of a response lack some of its fields.
    except ValidationError:
        return kind.model_construct(**data)


class _Messages(Format):
    """Messages are mappings, and their streams are event bytes that may be split anywhere."""

    api = MESSAGES
    method = "aanthropic_messages"
    function = "anthropic_messages"

    def fits(self, data: Body, response: object) -> bool:
        if not data.get("messages"):
            return False
        if isinstance(response, (bytes, str)):
            begins = _bytes(response).lstrip().startswith((b"event:", b"data:", b":"))
            return "max_tokens" in data and begins
        return isinstance(response, Mapping) and cast("Body", response).get("type") == "message"

    def body(self, response: Any) -> Body:
        return cast("Body", response)

    def given(self, response: Any, body: Body) -> Any:
        withheld = HIDDEN in response and HIDDEN not in body
        return {**body, HIDDEN: hidden_of(response, withheld=True)} if withheld else body

    async def events(self, pieces: AsyncIterator[Any]) -> AsyncGenerator[Event]:
        reader = EventReader()
        async for piece in pieces:
            for event in reader.feed(_bytes(piece)):
                yield event
        for event in reader.finish():
            yield event

    def piece(self, event: Event) -> Any:
        return encoded(event)


def _bytes(piece: bytes | str) -> bytes:
    return piece.encode() if isinstance(piece, str) else piece


FORMATS: tuple[Format, ...] = (CHAT, _Messages(), RESPONSES)
"""The APIs that LiteLLM serves and the guard can parse."""


# LiteLLM's own bookkeeping in a request, and parameters that would answer a sample from elsewhere.
_BOOKKEEPING = frozenset(
    {
        "acompletion",
        "async_call",
        "atext_completion",
        "attempted_targets",
        "cache",
        "cache_key",
        "caching",
        "caching_groups",
        "complete_response",
        "completion_call_id",
        "context_window_fallback_dict",
        "deployment",
        "fallback_depth",
        "fallbacks",
        "fastest_response",
        "final_prompt_value",
        "guardrail_to_apply",
        "guardrails",
        "litellm_call_id",
        "litellm_logging_obj",
        "litellm_metadata",
        "litellm_parent_otel_span",
        "litellm_session_id",
        "litellm_trace_id",
        "logger_fn",
        "max_fallbacks",
        "max_retries",
        "model_group",
        "model_info",
        "num_retries",
        "original_function",
        "preset_cache_key",
        "proxy_server_request",
        "retry_policy",
        "retry_strategy",
        "secret_fields",
        "self",
        "shared_session",
        "specific_deployment",
        "stream_response",
        "tags",
        "text_completion",
        "ttl",
    }
)


def user_params(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that the user set, as other hooks left them.

    Args:
        data: The request as hooks receive it.
    """
    sent = _sent(data)
    names = data.keys() if sent is None else [name for name in data if name in sent]
    return {
        name: data[name]
        for name in names
        if name not in _BOOKKEEPING and not name.startswith("_") and data[name] is not None
    }


def _sent(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the request as the proxy's client sent it, or None without a proxy."""
    request = data.get("proxy_server_request")
    body = cast("Mapping[str, Any]", request).get("body") if isinstance(request, Mapping) else None
    return cast("Mapping[str, Any]", body) if isinstance(body, Mapping) else None


def proxy_router() -> Any:
    """Return the router of the proxy that this process runs, or None outside a proxy."""
    # Not imported: a running proxy has loaded the module already.
    return getattr(sys.modules.get("litellm.proxy.proxy_server"), "llm_router", None)


def _look_up(router: Any, name: str, old_name: str, *args: object) -> Any:
    """Ask a router, if there is one; litellm 1.110 deprecates the old names of its methods."""
    if hasattr(router, "registry"):
        return getattr(router.registry(), name)(*args)
    return None if router is None else getattr(router, old_name)(*args)


def _has_deployment(router: Any, name: str) -> bool:
    return bool(_look_up(router, "has_deployment", "has_model_id", name))


@dataclass(frozen=True, slots=True)
class Target:
    """The deployment that answered, for further requests to it.

    Attributes:
        router: The proxy's router, or None if it has none.
        model: The id of the deployment, or if unknown, the model that the client named.
    """

    router: Any
    model: str | None

    @classmethod
    def of(cls, data: Mapping[str, Any], response: object) -> Target:
        """Find the deployment that answered.

        A model group's name would not do: the router spreads its requests over deployments, which
        may be different models.

        Args:
            data: The request.
            response: The response, or the stream.
        """
        router = proxy_router()
        for candidate in _ids(data, response):
            if isinstance(candidate, str) and _has_deployment(router, candidate):
                return cls(router, candidate)
        return cls(router, data.get("model"))

    def knows(self, model: str) -> bool:
        """Return whether the router has a deployment, or a group, of this name."""
        known = _has_deployment(self.router, model)
        return known or model in (_look_up(self.router, "names", "get_model_names") or ())

    @property
    def litellm_model(self) -> str | None:
        """The deployment's model as litellm names it, or None if unknown."""
        if self.router is None:
            return self.model
        deployment = _look_up(self.router, "deployment", "get_deployment", self.model)
        return field_of(field_of(deployment, "litellm_params"), "model")


def _ids(data: Mapping[str, Any], response: object) -> Iterator[object]:
    yield field_of(field_of(response, "_hidden_params"), "model_id")
    for name in ("metadata", "litellm_metadata"):
        yield field_of(field_of(data.get(name), "model_info"), "id")
    yield field_of(field_of(cast("object", data.get("deployment")), "model_info"), "id")


# A cached answer is no sample, and the guard does the retries.
_FRESH = {"no-cache": True, "no-store": True}
_PER_CALL: dict[str, Any] = {"cache": _FRESH, "caching": False, "num_retries": 0, "stream": False}


def upstream_of(form: Format, target: Target, asked: Body) -> Upstream:
    """Return how to send the guard's own requests for a request.

    The result has no `source`: a deployment can be reconfigured while the proxy runs, so its
    answers are never cached for other requests.

    Args:
        form: The format of the request.
        target: The deployment that answered it.
        asked: The request, with the endpoint and credentials that it may name.
    """
    way = Query((), None, asked).connection

    async def ask(body: Body) -> Body:
        return await _ask(form, target, {**way, **body})

    async def takes_n() -> bool:
        query = Query((), target.litellm_model, way)
        return query.model is not None and await litellm_provider().takes_n(query)

    return Upstream(
        ask,
        named_provider=lambda: _Named(target),
        via="litellm",
        takes_n=takes_n,
        cost_usd=_cost_usd,
        endpoint=None if target.model is None else f"litellm {target.model}",
    )


class _Named:
    """Answers queries for a model by name, from the proxy's model of that name or else litellm."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def takes_n(self, query: Query) -> bool:
        """Return whether litellm forwards `n`; the proxy's own models give one answer at a time."""
        known = query.model is not None and self._target.knows(query.model)
        return not known and await litellm_provider().takes_n(query)

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Raises:
            ProviderError: The request failed.
        """
        if query.model is None or not self._target.knows(query.model):
            with marked():
                return await litellm_provider().complete(query, n=n)
        upstream = upstream_of(CHAT, self._target, {})
        judge = JudgeProvider(CHAT.api, {"model": query.model}, upstream)
        return await judge.complete(replace(query, model=None))


async def _ask(form: Format, target: Target, body: Body) -> Body:
    import litellm

    model: Any = body.get("model")
    if not model:
        raise ProviderRefusedError("LiteLLM does not say which model answered")
    known = target.knows(model)
    call: Any = getattr(target.router, form.method) if known else getattr(litellm, form.function)
    kwargs = {**body, **_PER_CALL}
    if known:
        # Another model's answer is no sample either.
        kwargs["disable_fallbacks"] = True
    elif form is CHAT:
        kwargs["max_retries"] = 0
    if body.get("tools") and find_spec("mcp") is None:
        # litellm 1.106 checks every tool for MCP, with a package that it does not install.
        kwargs["_skip_mcp_handler"] = True
    response = await call(**kwargs)
    return {**form.body(response), HIDDEN: field_of(response, HIDDEN)}


def _cost_usd(body: Body) -> float | None:
    cost = field_of(body.get(HIDDEN), "response_cost")
    return cost if isinstance(cost, (int, float)) else None


class ResayGuardrail(CustomGuardrail):
    """Checks the models' answers in LiteLLM's proxy.

    The proxy creates one instance for each entry of its `guardrails` that names this class, and
    calls its hooks after the model has answered.

    Args:
        policy: A path to a policy file, a mapping with the same contents, a `Policy` or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        on_verdict: Called with each `resay.Verdict`: a function, or the place to import one from,
            as `package.module:name`. If it is async, it is awaited. Its exceptions are logged.
        **kwargs: The other `litellm_params` of the guardrail.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a proxy cannot provide.
        ValueError: The guardrail's `mode` is not `post_call`.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        on_verdict: OnVerdict | str | None = None,
        **kwargs: Any,
    ) -> None:
        listener = import_named(on_verdict) if isinstance(on_verdict, str) else on_verdict
        self.resay_guard = guard_of(policy, on_verdict=listener)
        self.resay_guard.refuse(
            {"references": ", and a proxy has none; leave `evidence: references` out"}
        )
        _check_via(self.resay_guard)
        guardrail: Any = super()
        guardrail.__init__(supported_event_hooks=[GuardrailEventHooks.post_call], **kwargs)

    @classmethod
    def get_supported_event_hooks(cls) -> list[GuardrailEventHooks]:
        """Return the hooks in which the proxy may call this guardrail."""
        return [GuardrailEventHooks.post_call]

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Do nothing: the proxy calls the guardrail itself."""

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Check a response.

        Returns:
            The response with its verdict, also if it is regenerated or replaced with the policy's
            message. A response that holds no text of a model is returned unchanged.

        Raises:
            HTTPException: The answer was withheld and the policy says `exit: raise`; status 422.
        """
        form = self._format_of(data, response)
        if form is None or verdict_in(response) is not None:
            return response
        relay, request, upstream = self._reading(form, data, response)
        body, since = form.body(response), time.time()
        try:
            checked = await relay.acheck(request, body, upstream)
        except HallucinationBlocked as error:
            self._record(data, verdict_data(error.verdict, "block"), since)
            raise _refused(error) from None
        if checked is body:
            return response
        if VERDICT_KEY in checked:
            self._record(data, checked[VERDICT_KEY], since)
        return form.given(response, checked)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Check a stream, as the policy's `stream` says.

        Yields:
            Chunks of the stream; the one that ends the answer holds the verdict.

        Raises:
            HTTPException: The answer was withheld and the policy says `exit: raise`.
            GuardrailRaisedException: The same, if the client has received a part already: the proxy
                turns the exception into the stream's last event.
        """
        pieces: AsyncIterator[Any] = response.__aiter__()
        try:
            first = await anext(pieces)
        except StopAsyncIteration:
            return
        whole = _put_back(first, pieces)
        form = self._format_of(request_data, first)
        if form is None:
            async for piece in whole:
                yield piece
            return
        relay, request, upstream = self._reading(form, request_data, response)
        since, begun = time.time(), False
        try:
            read = _one_by_one(form.events(whole))
            async with aclosing(relay.aevents(request, read, upstream)) as events:
                async for together in events:
                    for event in together:
                        body = event.body
                        told = body.get(VERDICT_KEY) or field_of(body.get("response"), VERDICT_KEY)
                        if told is not None:
                            self._record(request_data, told, since)
                        begun = True
                        yield form.piece(event)
        except HallucinationBlocked as error:
            self._record(request_data, verdict_data(error.verdict, "block"), since)
            raise (self._broken_off(error) if begun else _refused(error)) from None

    def _broken_off(self, error: HallucinationBlocked) -> Exception:
        # For an HTTPException, the proxy would drop the connection once the status has been sent.
        return GuardrailRaisedException(
            self.guardrail_name,
            f"hallucination_blocked: {error.verdict.reason}",
            should_wrap_with_default_message=False,
            status_code=422,
            blocked_content=True,
        )

    def _format_of(self, data: Body, response: object) -> Format | None:
        if inside_guard():
            return None
        return next((form for form in FORMATS if form.fits(data, response)), None)

    def _reading(
        self, form: Format, data: Body, response: object
    ) -> tuple[Relay, Request, Upstream]:
        target = Target.of(data, response)
        # LiteLLM computes the cost of a stream while it is read.
        relay = Relay(self.resay_guard, form.api, drain=True)
        request = relay.read({**user_params(data), "model": target.model}, answered=True)
        return relay, request, upstream_of(form, target, request.body)

    def _record(self, data: dict[str, Any], told: Body, since: float) -> None:
        """Record the verdict in LiteLLM's own logs, without any text of the answer."""
        now = time.time()
        verdict = Verdict.from_dict(told)
        intervened = told["action"] == "block" or verdict.regenerated
        guardrail: Any = self
        guardrail.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response={**verdict.to_dict(content=False), "action": told["action"]},
            request_data=data,
            guardrail_status="guardrail_intervened" if intervened else "success",
            start_time=since,
            end_time=now,
            duration=now - since,
            event_type=GuardrailEventHooks.post_call,
        )


async def _put_back(first: Any, others: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    yield first
    async for piece in others:
        yield piece


async def _one_by_one(events: AsyncGenerator[Event]) -> AsyncGenerator[Events]:
    async with aclosing(events):
        async for event in events:
            yield [event]


def _check_via(guard: Guard) -> None:
    if guard.policy.sampling.via == "native":
        raise ConfigurationError(
            "`sampling.via` is 'native', but everything goes through litellm here; leave it out"
        )


def _refused(error: HallucinationBlocked) -> Exception:
    # Outside the proxy, no client waits for a status.
    if find_spec("fastapi") is None:
        return error
    fastapi: Any = import_module("fastapi")
    verdict = verdict_data(error.verdict, "block")
    return fastapi.HTTPException(422, detail={"error": "hallucination_blocked", "verdict": verdict})


class HallucinationCallback(CustomLogger):
    """Adds a verdict to every response of `litellm.acompletion`.

    ```python
    litellm.callbacks = [HallucinationCallback("policy.yaml")]
    response = await litellm.acompletion("openai/gpt-4.1-mini", messages)
    response.hallucination["decision"]
    ```

    A callback cannot withhold a response, because litellm ignores its exceptions, but it can
    replace it with a regenerated one. It sees neither streams nor blocking `litellm.completion`.

    Args:
        policy: A `Policy`, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `Retriever`, or anything that
            `resay.retrieval.as_retriever` accepts. It replaces the policy's retriever.
        on_verdict: Called with each `resay.Verdict`. If it is async, it is awaited. Its exceptions
            are logged.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a callback cannot do, or it regenerates
            and has no retriever.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        logger: Any = super()
        logger.__init__()
        self.resay_guard = guard_of(policy, retriever, on_verdict)
        _check(self.resay_guard)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Check a response.

        Returns:
            The response with its verdict in `hallucination`, or None to leave it unchanged.
        """
        if inside_guard() or not isinstance(response, ModelResponse) or not response.choices:
            return None
        if field_of(call_type, "value") != "acompletion" or verdict_in(response) is not None:
            return None
        relay = Relay(self.resay_guard, CHAT.api)
        request = relay.read(_asked(request_data, response), answered=True)
        target = Target(None, request.body["model"])
        body = CHAT.body(response)
        with marked():
            checked = await relay.acheck(request, body, upstream_of(CHAT, target, request.body))
        return None if checked is body else CHAT.given(response, checked)


def _asked(data: dict[str, Any], response: ModelResponse) -> dict[str, Any]:
    log = data.get("litellm_logging_obj")
    # Positional arguments are only in the log object, whose model lacks its provider.
    model, messages = data.get("model"), data.get("messages") or field_of(log, "messages")
    # litellm accepts its own message objects too.
    plain = [m.model_dump(exclude_none=True) if hasattr(m, "model_dump") else m for m in messages]
    asked = {**user_params(data), "messages": plain}
    if model is None:
        provider = field_of(field_of(response, "_hidden_params"), "custom_llm_provider")
        return {**asked, "model": field_of(log, "model"), "custom_llm_provider": provider}
    return {**asked, "model": model}


def _check(guard: Guard) -> None:
    policy = guard.policy
    blocking = {
        "action": isinstance(policy.action, Block),
        "otherwise": isinstance(getattr(policy.action, "otherwise", None), Block),
        "on_error": policy.on_error == "block",
        "unscored": policy.unscored == "block",
    }
    for key, blocks in blocking.items():
        if blocks:
            raise ConfigurationError(
                f"a callback cannot do `{key}: block`, because litellm ignores its exceptions;"
                f" use `{key}: annotate`, or guard the proxy with ResayGuardrail"
            )
    guard.refuse({"references": ", and a callback knows none; leave `evidence: references` out"})
    _check_via(guard)
