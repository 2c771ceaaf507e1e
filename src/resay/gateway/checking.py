"""`POST /v1/check` and `/v1/feedback`, and helpers shared by the gateway's own endpoints.

Requests for samples carry a mark, so that the gateway recognizes them if they come back. If its
upstream is a LiteLLM proxy that has the gateway check all answers, each sample would otherwise be
checked with samples of its own, without end. LiteLLM takes the id of a call from the header
`x-litellm-call-id` and passes it to its guardrails; other upstreams ignore the header.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from resay._internal.event_loops import compute
from resay._internal.strict import Strict, message_of
from resay.adapters.policies import averdict_data, failed_check
from resay.adapters.threads import cancel_once
from resay.adapters.upstream import JudgeProvider, SampleProvider, Upstream, litellm_provider
from resay.core.logprobs import TokenLogprob, tokens_of
from resay.core.references import Document
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.engine.actions import Answer
from resay.engine.regeneration.prompts import format_for_judge, without_instructions
from resay.errors import ConfigurationError
from resay.gateway.calls import Call
from resay.gateway.config import GatewayConfig
from resay.gateway.guarding import HARMLESS, HarmlessParams, RequestContext, withheld_answer
from resay.gateway.logs import one_line
from resay.gateway.policies import Policies
from resay.gateway.refusing import RefusedError
from resay.gateway.routing import Routing
from resay.gateway.shared import SharedConversations
from resay.gateway.stored import Conversations
from resay.guard import Guard, Input
from resay.providers.apis import CHAT_COMPLETIONS, Body, Request
from resay.providers.base import Provider, Sources
from resay.providers.shared_limits import SharedState
from resay.reporting.journal import Entry, Feedback, Journal, JournalError, Rating, TooManyError
from resay.reporting.journal.feedback import MAX_CLAIM

_HEADER = b"x-litellm-call-id"
_FORM = re.compile(r"resay\.([0-9]{1,12})\.[0-9a-f]{16}\.([0-9a-f]{32})")
_LIKE = "resay."
_VALID_S = 3600
_PURPOSE = b"resay: marks on samples"


class Marks:
    """Creates unforgeable marks, each for one request, and recognizes them for an hour.

    Args:
        secret: A secret shared by the gateway's processes, so that they recognize each other's
            marks; None for a secret of this process.
        clock: Returns the time, in seconds since the epoch.
    """

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        key = secrets.token_bytes(32) if secret is None else secret.encode()
        self._key = hmac.digest(key, _PURPOSE, hashlib.sha256)
        self._clock = clock

    def marked(self, call: Call) -> Call:
        """Return a client's request as one for a sample: in OpenAI's API, with a mark."""
        kept = [(name, value) for name, value in call.headers if name != _HEADER]
        headers = [*kept, (_HEADER, self.make().encode())]
        return replace(call, query=b"", headers=headers, dialect="openai")

    def make(self) -> str:
        """Return a mark."""
        payload = f"{_LIKE}{int(self._clock()) + _VALID_S}.{secrets.token_hex(8)}"
        return f"{payload}.{self._sum(payload)}"

    def recognizes(self, name: str) -> bool:
        """Return whether a call's id is one of our marks."""
        form = _FORM.fullmatch(name)
        if form is None or int(form[1]) < self._clock():
            return False
        return hmac.compare_digest(self._sum(name[: -len(form[2]) - 1]), form[2])

    @staticmethod
    def looks_like_mark(name: str) -> bool:
        """Return whether a call's id looks like a mark, valid or not."""
        return name.startswith(_LIKE)

    def _sum(self, payload: str) -> str:
        return hmac.digest(self._key, payload.encode(), hashlib.sha256).hex()[:32]


M = TypeVar("M", bound=BaseModel)
_MOST_PROBLEMS = 20
_LONGEST_NAME = 64
# SDKs wait for at most a minute before they retry.
_FAILED_S = 120.0
_MOST_FAILED = 1024
_FAILED_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the gateway's own endpoints.

    Attributes:
        body: The body.
        answers: The answers that were checked.
        model: The model that supposedly wrote them; None if unknown.
        question: The question; None if unknown.
        policy: The policy that was applied; None for the one that the request named.
        refused: The error to send instead of the body, if an answer is withheld by an error.
    """

    body: Body
    answers: tuple[Answer, ...] = ()
    model: str | None = None
    question: str | None = None
    policy: str | None = None
    refused: RefusedError | None = None


class Shared:
    """State shared by all requests of one gateway.

    Args:
        config: The gateway's configuration.
        policies: Its policies.
        state: State shared with other gateways.
        journal: The journal for verdicts; None for none.

    Attributes:
        policies: The policies.
        journal: The journal.
        conversations: Requests remembered until their answers are checked.
        failed: Samples drawn for requests whose main call failed.
        marks: Marks the gateway's own requests.
    """

    def __init__(
        self,
        config: GatewayConfig,
        policies: Policies,
        state: SharedState | None,
        journal: Journal | None,
    ) -> None:
        key = None if config.upstream is None else config.upstream.api_key
        self.policies = policies
        self.journal = journal
        self.conversations = SharedConversations(state)
        self.failed = Conversations(_MOST_FAILED, _FAILED_BYTES, _FAILED_S)
        self.marks = Marks(None if key is None else key.get_secret_value())


Handler = Callable[[RequestContext, Body, Routing, Shared], Awaitable[Reply]]
"""Handles a request. It raises a `RefusedError` on failure."""


def read_as(model: type[M], body: Body) -> M:
    """Validate a request's body with a model.

    Raises:
        RefusedError: It is not valid; the message lists every problem, without the values.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        problems = list(dict.fromkeys(_problems(error)))
    # Outside of the handler, so that no chained exception carries the values.
    listed = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    listed += f"; and {more} more" if more > 0 else ""
    raise RefusedError(400, "invalid_request", f"the request is not valid: {listed}")


def _problems(error: ValidationError) -> Iterator[str]:
    for details in error.errors(include_url=False, include_input=False):
        place = ".".join(one_line(str(step), _LONGEST_NAME) for step in details["loc"])
        message = message_of(details)
        if details["type"] == "missing":
            message = "required, but missing"
        if details["type"] == "extra_forbidden":
            message = "unknown field"
        yield f"{place}: {message}" if place else message


def sources_of(
    context: RequestContext,
    request: Request,
    routing: Routing,
    marks: Marks,
    *,
    main: Provider | None = None,
    payer: str = "",
) -> Sources:
    """Return the providers for a check of an existing answer.

    Args:
        context: The request.
        request: The question, as a request for chat completions.
        routing: The routing to upstreams.
        marks: Marks requests to the upstream.
        main: The provider of the main call, if there is one.
        payer: Further text to separate cached samples by payer.
    """
    call = context.call

    async def ask(body: Body) -> Body:
        # Each gets its own mark, because LiteLLM keys its records by it.
        asking = routing.ask(marks.marked(call), CHAT_COMPLETIONS.path, body)
        return await cancel_once(asking)

    async def takes_n() -> bool:
        return routing.takes_n(request.body)

    policy = context.guard.policy
    upstream = Upstream(
        ask,
        f"{routing.source(call, context.client)} {payer}",
        lambda: HarmlessParams(litellm_provider(), request.query, policy),
        takes_n=takes_n,
        cost_usd=routing.cost_usd,
    )
    judge = JudgeProvider(CHAT_COMPLETIONS, request.body, upstream)
    samples = SampleProvider(CHAT_COMPLETIONS, request, upstream)
    via = "native" if policy.sampling.model is None else "litellm"
    return Sources(main or judge, samples, judge, via)


# Parameters of generation. Tools make a model act; here it only repeats an answer.
_PARAMS = HARMLESS - {"parallel_tool_calls", "tool_choice", "tools"}
_Text = Annotated[str, Field(max_length=200_000)]


def _with_words(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


_Words = Annotated[str, Field(max_length=200_000), AfterValidator(_with_words)]


class CheckReference(Strict):
    """A trusted text to compare the answer with."""

    text: _Words = Field(description="The text.")
    source: str | None = Field(
        default=None, max_length=2_000, description="Its source, such as a URL or a file."
    )
    title: str | None = Field(default=None, max_length=500, description="Its title.")


def _as_document(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


_Document = Annotated[
    CheckReference, BeforeValidator(_as_document, json_schema_input_type=str | CheckReference)
]


class CheckRequest(Strict):
    """An answer to check, and the evidence to check it against."""

    response: _Text = Field(description="The answer to check.")
    question: _Words | None = Field(default=None, description="The question that it answers.")
    messages: list[dict[str, Any]] | None = Field(
        default=None,
        min_length=1,
        max_length=1_000,
        description="The conversation that it answers, as messages of OpenAI's chat completions;"
        " an alternative to `question`.",
    )
    samples: list[_Text] | None = Field(
        default=None,
        max_length=100,
        description="Other answers to the same question; if null, they are drawn from `model`.",
    )
    references: list[_Document] | None = Field(
        default=None,
        max_length=200,
        description="Trusted texts to compare the answer with, if the policy uses references. Steps"
        " with `evidence: references` compare with all of them joined into one text.",
    )
    logprobs: list[dict[str, Any]] | None = Field(
        default=None,
        max_length=100_000,
        description="The answer's tokens with their log probabilities, as in OpenAI's"
        " `logprobs.content`, for policies that use them.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The model that wrote the answer. The gateway calls it for samples, and as"
        " the judge if the policy names none.",
    )
    entity: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="The main subject of the answer, for methods that need it.",
    )
    params: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        description="Parameters for drawing samples from `model`, such as `temperature`, as in"
        " OpenAI's chat completions.",
    )

    @field_validator("messages")
    @classmethod
    def _must_have_roles(cls, messages: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        for place, message in enumerate(messages or ()):
            if not isinstance(message.get("role"), str):
                raise ValueError(f"message {place} has no `role`")
        return messages

    @field_validator("params")
    @classmethod
    def _must_be_harmless(cls, params: dict[str, Any]) -> dict[str, Any]:
        if params.keys() - _PARAMS:
            raise ValueError(f"allowed are only: {', '.join(sorted(_PARAMS))}")
        return params

    @model_validator(mode="after")
    def _must_have_one_question(self) -> CheckRequest:
        if self.question is not None and self.messages is not None:
            raise ValueError("pass `question` or `messages`, not both")
        return self

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """The conversation as messages; none if it is not given."""
        if self.question is not None:
            return [{"role": "user", "content": self.question}]
        return self.messages or []


class CheckResponse(BaseModel):
    """The result of a check."""

    object: Literal["hallucination.check"] = "hallucination.check"
    id: str = Field(description="The id of the request.")
    text: str = Field(description="The text to show after applying the policy's action.")
    action: Literal["allow", "annotate", "block", "regenerate"] = Field(
        description="The action that was taken."
    )
    hallucination: dict[str, Any] = Field(
        description="The verdict and the action, as for guarded answers; contains no text of a"
        " withheld answer."
    )


async def check(context: RequestContext, body: Body, routing: Routing, shared: Shared) -> Reply:
    """Check an answer.

    Args:
        context: The request.
        body: A `CheckRequest`.
        routing: The routing to upstreams.
        shared: State shared by all requests of the gateway.

    Returns:
        A `CheckResponse`.

    Raises:
        RefusedError: It is not valid, or lacks something that the policy needs.
    """
    check_request, guard = read_as(CheckRequest, body), context.guard
    request = _request(check_request, context.tenant)
    _refuse_incomplete(guard, check_request, request)
    tokens = _tokens(check_request)
    question = request.query.question or None
    try:
        verdict = await _verdict(context, check_request, request, routing, shared, tokens)
        answer = guard.apply(check_request.response, verdict)
    except HallucinationBlocked as error:
        answer, refusal = await withheld_answer(error, context.detail)
        return Reply({}, (answer,), check_request.model, question, refused=refusal)
    reply = CheckResponse(
        id=context.call.request_id,
        text=answer.text,
        action=answer.action,
        hallucination={},
    )
    data = await averdict_data(answer.verdict, answer.action, detail=context.detail)
    # pydantic would copy it on the event loop.
    body = {**reply.model_dump(), "hallucination": data}
    return Reply(body, (answer,), check_request.model, question)


async def _verdict(
    context: RequestContext,
    check_request: CheckRequest,
    request: Request,
    routing: Routing,
    shared: Shared,
    tokens: Sequence[TokenLogprob],
) -> Verdict:
    guard = context.guard
    try:
        return await guard.acheck_with(
            check_request.response,
            request.query,
            sources_of(context, request, routing, shared.marks),
            references=await _references(guard, check_request),
            samples=check_request.samples,
            logprobs=tokens,
        )
    # As for guarded answers: the verdict reports the failure.
    except Exception as error:
        return failed_check(error)


def _request(check_request: CheckRequest, tenant: str | None) -> Request:
    """Return the question as a request for chat completions."""
    known: Mapping[str, Any] = {} if check_request.model is None else {"model": check_request.model}
    body = {**known, "messages": check_request.conversation, **check_request.params}
    request = CHAT_COMPLETIONS.read(body)
    return replace(
        request, query=replace(request.query, entity=check_request.entity, tenant=tenant)
    )


def _refuse_incomplete(guard: Guard, check_request: CheckRequest, request: Request) -> None:
    """Refuse a check that could only be inconclusive because the client left something out.

    Nothing was spent yet, and an inconclusive verdict is easily mistaken for a decision.
    """
    problem = _missing(guard, check_request, request)
    another = "use another policy (x-resay-policy)"
    if problem is None and check_request.references and not guard.takes_references:
        problem = (
            "no step of the policy compares with `references`; set `evidence: references` on one,"
            f" or {another}"
        )
    if problem is None and check_request.logprobs and not guard.needing("logprobs"):
        problem = f"no step of the policy uses `logprobs`; add `method: logprobs`, or {another}"
    if problem is not None:
        raise RefusedError(400, "invalid_request", problem)


def _missing(guard: Guard, check_request: CheckRequest, request: Request) -> str | None:
    query, unavailable = request.query, dict[Input, str]()
    if not query.question:
        unavailable["query"] = "; pass `question` or `messages`"
    if not check_request.references:
        unavailable["references"] = "; pass `references`"
    if not check_request.logprobs:
        unavailable["logprobs"] = "; pass `logprobs`"
    can_draw = query.messages and (check_request.model or guard.policy.sampling.model)
    decided = guard.decides_by_references(query, check_request.references or ())
    if check_request.samples is None and not can_draw and not decided:
        remedy = (
            "pass `samples`, or the question (`question` or `messages`) and the `model` to draw"
        )
        unavailable["samples"] = f"; {remedy} them from"
        if query.wants_object:
            return f"method 'fields' needs samples{unavailable['samples']}"
    if check_request.model is None:
        unavailable["model"] = (
            "; pass `model`, or use a policy that names its judge (x-resay-policy)"
        )
    return guard.missing(unavailable)


def _tokens(check_request: CheckRequest) -> Sequence[TokenLogprob]:
    try:
        return tokens_of(check_request.logprobs or ())
    except ConfigurationError as error:
        raise RefusedError(400, "invalid_request", str(error)) from None


async def _references(guard: Guard, check_request: CheckRequest) -> Sequence[str]:
    """Return the documents, as one text for steps that compare with them in place of samples.

    A sentence is supported by the documents as a whole, not by each of them separately.
    """
    if not check_request.references:
        return ()
    if not guard.needing("references"):
        return [given.text for given in check_request.references]
    documents = [_document(place, one) for place, one in enumerate(check_request.references, 1)]
    if guard.needing("judge"):
        chars = sum(len(document.text) for document in documents)
        return (
            await compute(
                lambda: format_for_judge([without_instructions(one) for one in documents]),
                chars=chars,
            ),
        )
    return ("\n\n".join(document.text.strip() for document in documents),)


def _document(place: int, given: CheckReference) -> Document:
    known = {} if given.title is None else {"title": given.title}
    return Document(given.source or f"document {place}", given.text, metadata=known)


# How long to wait for an entry to be written after its answer was sent, in seconds.
_WRITTEN_S = 0.25
# Prefixes of the ids that providers give to answers.
_OF_PROVIDERS = ("chatcmpl-", "cmpl-", "resp_", "msg_")
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
    rating: Literal["right", "wrong", "unsure"] = Field(description="The recorded rating.")
    about: Literal["verdict", "answer"] = Field(
        description="Whether the verdict or the answer was rated."
    )
    claim: int | None = Field(description="The index of the rated claim; null for the whole.")
    rater: str = Field(description="The recorded name of the rater.")


async def rate(call: Call, client: str | None, body: Body, shared: Shared) -> Body:
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
        if (own := await journal.find_own(some_id, tenant)) is not None:
            return own
        # The client may be faster than the recording of its answer.
        await asyncio.sleep(wait_s)
    return None


def _unknown(some_id: str) -> str:
    message = f"the journal has no request {one_line(some_id, _LONGEST_NAME)!r} of this tenant"
    if some_id.startswith(_OF_PROVIDERS):
        return f"{message}; that is the provider's id: send the header x-resay-request-id's"
    return f"{message}; send the id in the answer's header x-resay-request-id, and the same tenant"
