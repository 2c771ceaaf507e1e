"""Judges answer in a limited length, exactly and as an object, where that is possible."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from resay import Guard, ProviderError, ProviderRefusedError, Request, Usage
from resay.plugins import Completion, Completions
from resay.providers.preferring import Preferences, Preferring

pytestmark = pytest.mark.anyio


class Server:
    """Answers as a server with certain habits does, and keeps the parameters it was sent."""

    def __init__(self, *, refuses: int | None = None, thinks: int = 0, answer: str = "Yes") -> None:
        self.params: list[dict[str, Any]] = []
        self._refuses = refuses
        self._thinks = thinks
        self._answer = answer

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.params.append(dict(request.params))
        limit = request.params.get("max_tokens")
        if limit is not None and self._refuses == 0:
            raise TypeError("unexpected keyword argument 'max_tokens'")
        if limit is not None and self._refuses is not None:
            raise ProviderRefusedError("no such parameter", status=self._refuses)
        if limit is not None and limit < self._thinks:
            return Completions((Completion("", "length"),), Usage(1, 5, limit))
        return Completions((Completion(self._answer, "stop"),), Usage(1, 5, 1))


REQUEST = Request.of("Is it so?", model="m")


def limited(server: Server) -> Preferring:
    return Preferring(server, Preferences(max_tokens=100))


async def test_a_limit_is_sent_unless_the_query_has_its_own() -> None:
    server = Server()
    await limited(server).complete(REQUEST)
    await limited(server).complete(
        Request.of("Is it so?", model="m", params={"max_completion_tokens": 7})
    )
    assert server.params == [{"max_tokens": 100}, {"max_completion_tokens": 7}]


@pytest.mark.parametrize("status", [400, 422, 0])
async def test_who_refuses_the_parameter_is_asked_again_once_and_not_sent_it_again(
    status: int,
) -> None:
    server = Server(refuses=status)
    for _ in range(3):
        assert (await limited(server).complete(REQUEST)).first.text == "Yes"
    assert server.params == [{"max_tokens": 100}, {}, {}, {}]
    # Another model at the same place is another matter.
    await limited(server).complete(Request.of("Is it so?", model="other"))
    assert server.params[4:] == [{"max_tokens": 100}, {}]


@pytest.mark.parametrize("status", [401, 404, 429])
async def test_other_refusals_are_not_about_the_parameter(status: int) -> None:
    server = Server(refuses=status)
    with pytest.raises(ProviderRefusedError):
        await limited(server).complete(REQUEST)
    assert len(server.params) == 1


async def test_a_request_that_is_refused_in_any_case_teaches_nothing() -> None:
    class Closed(Server):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.params.append(dict(request.params))
            raise ProviderRefusedError("no such model", status=400)

    server = Closed()
    for _ in range(2):
        with pytest.raises(ProviderError):
            await limited(server).complete(REQUEST)
    assert server.params == [{"max_tokens": 100}, {}] * 2


async def test_a_model_that_thinks_first_gets_room_for_it() -> None:
    server = Server(thinks=500)
    answers = await limited(server).complete(REQUEST)
    assert (answers.first.text, answers.usage.calls, answers.usage.completion_tokens) == (
        "Yes",
        2,
        101,
    )
    await limited(server).complete(REQUEST)
    assert [params["max_tokens"] for params in server.params] == [100, 800, 800]


async def test_room_to_think_that_a_model_does_not_have_loses_no_answer() -> None:
    class Small(Server):
        """Thinks for 500 tokens, and writes no more than 700."""

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.params.get("max_tokens", 0) > 700:
                self.params.append(dict(request.params))
                raise ProviderRefusedError("max_tokens is too large: 800", status=400)
            return await super().complete(request, n=n)

    server = Small(thinks=500)
    assert (await limited(server).complete(REQUEST)).first.text == "Yes"
    assert server.params == [{"max_tokens": 100}, {"max_tokens": 800}, {}]


@pytest.mark.parametrize(
    "step",
    [
        *({"method": "prompt"}, {"method": "prompt", "mode": "per_sample"}, {"method": "fibe"}),
        *({"method": "zero_shot"}, {"method": "cross_examination"}, {"method": "p_true"}),
        *({"method": "direct_question"}, {"method": "reverse_validation"}),
    ],
)
async def test_every_question_to_a_judge_is_bounded(step: dict[str, Any]) -> None:
    server = Server(answer="I would like to say a great deal about this.")
    guard = Guard({"chain": [step], "cache": {"store": "none"}}, provider=server, model="m")
    samples = ["It opened in 1932.", "It was opened in 1932.", "In 1932, it opened."]
    await guard.acheck("The bridge opened in 1931.", question="When did it open?", samples=samples)
    assert server.params
    assert all(0 < params["max_tokens"] <= 8_000 for params in server.params)


SCHEMA = {"type": "object", "properties": {"verdicts": {"type": "array"}}}


class Declaring:
    """Supports some parameters by its own account, and refuses some of them in some words."""

    def __init__(self, *supported: str, refuses: tuple[str, ...] = (), says: str = "") -> None:
        self.params: list[dict[str, Any]] = []
        self._supported = frozenset(supported)
        self._refuses = refuses
        self._says = says

    async def takes_n(self, request: Request) -> bool:
        return False

    async def supported_params(self, request: Request) -> frozenset[str]:
        return self._supported

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.params.append(dict(request.params))
        refused = [param for param in self._refuses if param in request.params]
        if refused:
            raise ProviderRefusedError(self._says.format(refused[0]), status=400)
        return Completions((Completion('{"verdicts": []}', "stop"),), Usage(1, 5, 1))


def exact(provider: Any) -> Preferring:
    return Preferring(provider, Preferences(max_tokens=100, exact=True, schema=SCHEMA))


async def test_what_a_model_supports_is_asked_for() -> None:
    everything = Declaring("temperature", "json_object", "json_schema")
    objects = Declaring("json_object")
    for provider in (everything, objects, Declaring(), Server()):
        await exact(provider).complete(REQUEST)
    (params,) = everything.params
    assert (params["temperature"], params["max_tokens"]) == (0, 100)
    assert params["response_format"]["json_schema"]["schema"] == SCHEMA
    assert objects.params == [{"max_tokens": 100, "response_format": {"type": "json_object"}}]


async def test_what_a_query_sets_itself_stays_and_varied_answers_may_vary() -> None:
    provider = Declaring("temperature", "json_object")
    await exact(provider).complete(
        Request.of("Is it so?", model="m", params={"temperature": 1, "max_tokens": 7})
    )
    await exact(provider).complete(REQUEST.for_sampling())
    assert [params.get("temperature") for params in provider.params] == [1, None]
    assert provider.params[0]["max_tokens"] == 7


@pytest.mark.parametrize(
    ("says", "left"),
    [
        ("Unsupported value: '{}'", {"max_tokens", "response_format"}),
        ("Bad request", set[str]()),
    ],
)
async def test_a_refusal_costs_one_call_for_each_model(says: str, left: set[str]) -> None:
    provider = Declaring("temperature", "json_object", refuses=("temperature",), says=says)
    for _ in range(3):
        assert (await exact(provider).complete(REQUEST)).first.text
    assert [set(params) for params in provider.params] == [
        {"max_tokens", "temperature", "response_format"},
        *[left] * 3,
    ]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (400, "This model does not support response format `json_schema`."),
        (400, "Function calling with a response mime type: 'application/json' is unsupported"),
        (400, "Thinking may not be enabled when tool_choice forces tool use."),
        (400, "The model returned the following errors: extraneous key [tools] is not permitted"),
        (400, "Failed to validate JSON. Please adjust your prompt."),
        (500, "failed to parse grammar"),
    ],
)
async def test_a_form_is_refused_in_the_words_of_many_servers(status: int, says: str) -> None:
    class Formless(Declaring):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            answers = await super().complete(request, n=n)
            if "response_format" in request.params:
                raise ProviderRefusedError(says, status=status)
            return answers

    provider = Formless("temperature", "json_object")
    for _ in range(2):
        await exact(provider).complete(REQUEST)
    without = {"max_tokens", "temperature"}
    assert [set(params) for params in provider.params[1:]] == [without, without]


async def test_a_model_that_refuses_one_after_the_other_is_asked_without_any() -> None:
    refuses = ("temperature", "response_format")
    provider = Declaring("temperature", "json_object", refuses=refuses, says="no {}")
    for _ in range(2):
        assert (await exact(provider).complete(REQUEST)).first.text
    assert [set(params) for params in provider.params] == [
        {"max_tokens", "temperature", "response_format"},
        {"max_tokens", "response_format"},
        *[set[str]()] * 2,
    ]


@pytest.mark.parametrize("refuses", [(), ("temperature",), ("response_format", "max_tokens")])
async def test_no_verdict_is_lost_by_a_refusal(refuses: tuple[str, ...]) -> None:
    class Judge(Declaring):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            await super().complete(request, n=n)
            said = '{"verdicts": [{"claim": 1, "supported_by": [1, 2, 3], "contradicted_by": []}]}'
            return Completions((Completion(said),), Usage(1))

    judge = Judge("temperature", "json_object", refuses=refuses, says="unsupported parameter")
    guard = Guard({"chain": [{"method": "prompt"}], "cache": {"store": "none"}}, provider=judge)
    samples = ["It opened in 1932.", "It was opened in 1932.", "In 1932, it opened."]
    for _ in range(2):
        verdict = await guard.acheck("The bridge opened in 1932.", samples=samples)
        assert verdict.decision == "consistent"
    assert len(judge.params) == 2 + bool(refuses)


class Failing(Declaring):
    """Refuses only some calls, by their number, or those with a limit."""

    def __init__(self, error: ProviderError, *, calls: tuple[int, ...] = (), limit: bool = False):
        super().__init__("temperature", "json_object")
        self._error = error
        self._calls = calls
        self._limit = limit

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        answers = await super().complete(request, n=n)
        if len(self.params) in self._calls or (self._limit and "max_tokens" in request.params):
            raise self._error
        return answers


EVERYTHING = {"max_tokens", "temperature", "response_format"}


@pytest.mark.parametrize("status", [400, 500])
async def test_a_model_that_has_answered_with_parameters_is_sent_them_after_an_error(
    status: int,
) -> None:
    provider = Failing(ProviderRefusedError("it went wrong", status=status), calls=(2,))
    await exact(provider).complete(REQUEST)
    with contextlib.suppress(ProviderError):
        await exact(provider).complete(REQUEST)
    await exact(provider).complete(REQUEST)
    assert set(provider.params[-1]) == EVERYTHING


@pytest.mark.parametrize(
    "says",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"
        " (5000 in the messages, 4000 in the completion).",
        "max_tokens is too large: 24256. This model supports at most 16384 completion tokens",
    ],
)
async def test_a_request_that_is_too_long_is_sent_without_a_limit_this_time_only(
    says: str,
) -> None:
    provider = Failing(ProviderRefusedError(says, status=400), limit=True)
    for _ in range(2):
        assert (await exact(provider).complete(REQUEST)).first.text
    without = EVERYTHING - {"max_tokens"}
    assert [set(params) for params in provider.params] == [EVERYTHING, without] * 2
    with pytest.raises(ProviderRefusedError):
        await exact(Failing(ProviderRefusedError(says, status=400), calls=(1,))).complete(
            Request.of("Is it so?", model="m", params={"max_tokens": 7})
        )
