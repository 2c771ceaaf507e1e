"""`POST /v1/check`: checks an existing answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from resay import Document, HallucinationBlocked, Sources, TokenLogprob, Verdict
from resay.adapters import (
    Action,
    CheckContext,
    GuardRuntime,
    Input,
    compute,
    format_for_judge,
    given_references,
    tokens_of,
    without_instructions,
)
from resay.adapters.apis import CHAT_COMPLETIONS, ApiRequest, Body
from resay.adapters.settings import Strict
from resay.adapters.upstream import JudgeProvider, SampleProvider
from resay.adapters.verdicts import aanswer_data, failed_check
from resay.errors import ConfigurationError
from resay.plugins import Reference
from resay_server.gateway.endpoints import EndpointState, Reply, read_as, upstream_of
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.guarded_request import RequestContext, withheld_answer
from resay_server.gateway.harmless_params import HARMLESS
from resay_server.gateway.routing import Routing

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

    text: _Text = Field(description="The text; a blank one is ignored.")
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
        for index, message in enumerate(messages or ()):
            if not isinstance(message.get("role"), str):
                raise ValueError(f"message {index} has no `role`")
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
    action: Action = Field(description="The action that was taken.")
    hallucination: dict[str, Any] = Field(
        description="The verdict and the action, as for guarded answers; contains no text of a"
        " withheld answer."
    )


async def check(
    context: RequestContext, body: Body, routing: Routing, shared: EndpointState
) -> Reply:
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
    check_request, runtime = read_as(CheckRequest, body), GuardRuntime(context.guard)
    request = _request(check_request, context.call.tenant)
    _refuse_incomplete(runtime, check_request, request)
    request = replace(request, context=await _with_inputs(runtime, check_request, request.context))
    question = request.context.request.question or None
    try:
        verdict = await _verdict(context, check_request.response, request, routing, shared)
        answer = runtime.apply(check_request.response, verdict)
    except HallucinationBlocked as error:
        answer, refusal = await withheld_answer(error, context.detail)
        return Reply(
            body={},
            answers=(answer,),
            model=check_request.model,
            question=question,
            refused=refusal,
        )
    reply = CheckResponse(
        id=context.call.request_id,
        text=answer.text,
        action=answer.action,
        hallucination={},
    )
    data = await aanswer_data(answer, detail=context.detail)
    # pydantic would copy it on the event loop.
    body = {**reply.model_dump(), "hallucination": data}
    return Reply(body=body, answers=(answer,), model=check_request.model, question=question)


async def _verdict(
    context: RequestContext,
    response: str,
    api_request: ApiRequest,
    routing: Routing,
    shared: EndpointState,
) -> Verdict:
    upstream = upstream_of(context, api_request, routing, shared.sample_tags)
    judge = JudgeProvider(CHAT_COMPLETIONS, api_request.body, upstream)
    sources = Sources(
        main=judge,
        samples=SampleProvider(CHAT_COMPLETIONS, api_request, upstream),
        judge=judge,
        via="native" if context.guard.policy.sampling.model is None else "litellm",
    )
    try:
        return await GuardRuntime(context.guard).acheck_with(response, api_request.context, sources)
    # As for guarded answers: the verdict reports the failure.
    except Exception as error:
        return failed_check(error)


def _request(check_request: CheckRequest, tenant: str | None) -> ApiRequest:
    """Return the question as a request for chat completions."""
    body = {"messages": check_request.conversation, **check_request.params}
    if check_request.model is not None:
        body["model"] = check_request.model
    api_request = CHAT_COMPLETIONS.read(body)
    context = replace(
        api_request.context,
        request=replace(api_request.request, tenant=tenant),
        # For what is required of the client; what is compared with follows.
        references=_named_references(check_request),
        samples=None if check_request.samples is None else tuple(check_request.samples),
        entity=check_request.entity,
    )
    return replace(api_request, context=context)


async def _with_inputs(
    runtime: GuardRuntime, check_request: CheckRequest, context: CheckContext
) -> CheckContext:
    """Return the context with the client's documents and tokens as the policy's methods read them.

    Raises:
        RefusedError: The tokens are not valid.
    """
    context = replace(
        context,
        references=await _references(runtime, check_request),
        logprobs=_tokens(check_request),
    )
    return runtime.with_skip_reason(context)


def _refuse_incomplete(
    runtime: GuardRuntime, check_request: CheckRequest, api_request: ApiRequest
) -> None:
    """Refuse a check that could only be inconclusive because the client left something out.

    Nothing was spent yet, and an inconclusive verdict is easily mistaken for a decision.
    """
    problem = _missing(runtime, check_request, api_request)
    another = "use another policy (x-resay-policy)"
    if problem is None and api_request.context.references and not runtime.takes_references:
        problem = (
            "no step of the policy compares with `references`; set `evidence: documents` on one,"
            f" or {another}"
        )
    if problem is None and check_request.logprobs and not runtime.required_by("logprobs"):
        problem = f"no step of the policy uses `logprobs`; add `method: logprobs`, or {another}"
    if problem is not None:
        raise RefusedError(400, "invalid_request", problem)


def _missing(
    runtime: GuardRuntime, check_request: CheckRequest, api_request: ApiRequest
) -> str | None:
    request, unavailable = api_request.request, dict[Input, str]()
    if not request.question:
        unavailable["question"] = "; pass `question` or `messages`"
    if not api_request.context.references:
        unavailable["references"] = "; pass `references`"
    if not check_request.logprobs:
        unavailable["logprobs"] = "; pass `logprobs`"
    can_draw = request.messages and (check_request.model or runtime.policy.sampling.model)
    decided = runtime.decides_by_references(api_request.context)
    if check_request.samples is None and not can_draw and not decided:
        remedy = (
            "pass `samples`, or the question (`question` or `messages`) and the `model` to draw"
        )
        unavailable["samples"] = f"; {remedy} them from"
        if api_request.context.wants_object:
            return f"method 'fields' needs samples{unavailable['samples']}"
    if check_request.model is None:
        unavailable["model"] = (
            "; pass `model`, or use a policy that names its judge (x-resay-policy)"
        )
    return runtime.missing_inputs(unavailable)


def _tokens(check_request: CheckRequest) -> tuple[TokenLogprob, ...]:
    try:
        return tokens_of(check_request.logprobs or ())
    except ConfigurationError as error:
        raise RefusedError(400, "invalid_request", str(error)) from None


def _document(reference: CheckReference, number: int) -> Document:
    source = reference.source or f"document {number}"
    metadata = {} if reference.title is None else {"title": reference.title}
    return Document(source, reference.text, metadata=metadata)


def _named_references(check_request: CheckRequest) -> tuple[Reference, ...]:
    """Return the documents one by one, with the names that the client gave some of them."""
    references: list[Document | str] = []
    for number, reference in enumerate(check_request.references or (), start=1):
        has_name = reference.source is not None or reference.title is not None
        references.append(_document(reference, number) if has_name else reference.text)
    return given_references(references)


async def _references(runtime: GuardRuntime, check_request: CheckRequest) -> tuple[Reference, ...]:
    """Return the documents, as one text for steps that compare with them in place of samples.

    A sentence is supported by the documents as a whole, not by each of them separately.
    """
    documents: list[Document] = []
    for number, reference in enumerate(check_request.references or (), start=1):
        if reference.text.strip():
            documents.append(_document(reference, number))
    if not documents:
        return ()
    if not runtime.required_by("references"):
        return _named_references(check_request)
    if not runtime.required_by("judge"):
        return given_references(["\n\n".join(document.text.strip() for document in documents)])

    def for_judge() -> str:
        return format_for_judge([without_instructions(document) for document in documents])

    chars = sum(len(document.text) for document in documents)
    return given_references([await compute(for_judge, chars=chars)])
