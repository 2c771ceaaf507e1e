"""What people who extend Resay import, and what their distributions install."""

from __future__ import annotations

import inspect
import json
import pickle
import sys
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest

import resay.plugins
from resay import ConfigurationError, Guard, Policy, PolicyError
from resay.providers.default import DefaultProvider
from resay.providers.litellm_names import LITELLM_NAMES
from resay.testing import ScriptedProvider
from support.alone import needs
from support.installed import installed

PROVIDER = """
from resay.testing import ScriptedProvider

class Acme(ScriptedProvider):
    def __init__(self):
        super().__init__(lambda query: f"{query.model} says that it has 6 lanes.")


"""
RETRIEVER = """
class Pages:
    def retrieve(self, query, *, k):
        return ["The bridge has 8 lanes."]
"""
FACTS = {"chain": [{"method": "facts"}], "sampling": {"max": 3}}


@pytest.mark.parametrize("name", resay.plugins.__all__)
def test_what_is_promised_is_described(name: str) -> None:
    promised = getattr(resay.plugins, name)
    # Types such as `Literal["random", "uncertainty"]` have no docstring of their own.
    assert inspect.getdoc(promised) or get_origin(promised) is Literal


def test_a_models_name_begins_with_its_installed_provider(tmp_path: Path) -> None:
    with installed(tmp_path, PROVIDER, {"resay.providers": "acme = acme_ai:Acme"}, name="acme_ai"):
        answer = Guard(FACTS, model="acme/large").ask("How many lanes has the bridge?")
    assert answer.text == "acme/large says that it has 6 lanes."
    assert answer.verdict.samples == 3
    assert not answer.verdict.flagged


def test_an_installed_provider_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    points = {"resay.providers": "acme = acme_ai:Missing"}
    with installed(tmp_path, PROVIDER, points, name="acme_ai"):
        message = "cannot load the provider 'acme' from 'acme_ai:Missing': AttributeError"
        with pytest.raises(ConfigurationError, match=message):
            Guard(FACTS, model="acme/large").ask("How many lanes has the bridge?")


def test_a_policy_names_an_installed_retriever(tmp_path: Path) -> None:
    policy = {**FACTS, "action": {"do": "regenerate", "retriever": "pages", "attempts": 1}}
    answers = iter(["It has 6 lanes.", "It has 7 lanes.", "It has 9 lanes.", "It has 5 lanes."])

    def reply(query: resay.Request) -> str:
        text = str(query.messages[-1]["content"])
        return next(answers) if text == "How many lanes?" else "The bridge has 8 lanes."

    with installed(tmp_path, RETRIEVER, {"resay.retrievers": "pages = pages:Pages"}, name="pages"):
        answer = Guard(policy, provider=ScriptedProvider(reply)).ask("How many lanes?")
    assert answer.regenerated
    assert "8 lanes" in answer.text


def test_a_policy_names_a_retrievers_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_pages.py").write_text(RETRIEVER)
    monkeypatch.syspath_prepend(tmp_path)
    Guard({**FACTS, "action": {"do": "regenerate", "retriever": "my_pages:Pages"}})


def test_a_retriever_that_nothing_installs_is_refused() -> None:
    policy = {**FACTS, "action": {"do": "regenerate", "retriever": "pages"}}
    with pytest.raises(PolicyError, match="or the name of an installed retriever"):
        Guard(policy)


def test_a_scripted_provider_answers_in_order_and_keeps_the_queries() -> None:
    provider = ScriptedProvider(["It has 6 lanes.", "It has 7 lanes."])
    policy = {**FACTS, "sampling": {"max": 1, "min": 1, "confidence": None}}
    answer = Guard(policy, provider=provider).ask("How many lanes has the bridge?")
    assert answer.text == "It has 6 lanes."
    assert [query.question for query in provider.queries] == ["How many lanes has the bridge?"] * 2


CONFIGURED = """
from __future__ import annotations

from pathlib import Path
from typing import Literal


class Pages:
    def __init__(self, path: Path, *, limit: int = 3, mode: Literal["a", "b"] = "a", client=None):
        if limit > 9:
            raise ValueError("key sk-secret: 9 at most")
        self.path, self.limit = path, limit

    def retrieve(self, query, *, k):
        return [self.path.read_text()][: self.limit]


def search(query):
    return ["The bridge has 8 lanes."]


class Warehouse:
    made = []

    def __init__(self, url: str, *, tables: tuple[str, ...] = ()):
        self.url, self.tables = url, tables
        self.made.append(self)

    async def on_verdict(self, record): ...


class Broken:
    def __init__(self):
        raise KeyError("key sk-secret")


class Refusing:
    def __init__(self):
        from resay import ConfigurationError

        raise ConfigurationError("the warehouse is closed")
"""
POINTS = {
    "resay.retrievers": "handbook = configured:Pages",
    "resay.sinks": "warehouse = configured:Warehouse\nbroken = configured:Broken",
}


def retriever_of(**settings: object) -> dict[str, Any]:
    return {**FACTS, "action": {"do": "regenerate", "retriever": settings, "attempts": 1}}


@pytest.mark.parametrize("kind", ["handbook", "configured:Pages"])
@pytest.mark.parametrize("merged", [False, True])
def test_a_policy_gives_a_retriever_its_settings(tmp_path: Path, kind: str, merged: bool) -> None:
    (tmp_path / "handbook.txt").write_text("The bridge has 8 lanes.")
    answers = iter(["It has 6 lanes.", "It has 7 lanes.", "It has 9 lanes.", "It has 5 lanes."])

    def reply(query: resay.Request) -> str:
        text = str(query.messages[-1]["content"])
        return next(answers) if text == "How many lanes?" else "The bridge has 8 lanes."

    retriever: dict[str, Any] = {"kind": kind, "path": str(tmp_path / "handbook.txt"), "limit": 1}
    if merged:
        retriever = {"kind": "hybrid", "of": [retriever]}
    with installed(tmp_path, CONFIGURED, POINTS, name="configured"):
        policy = Policy.of(retriever_of(**retriever))
        assert Policy.of(policy.model_dump(mode="json")) == policy
        assert pickle.loads(pickle.dumps(policy)) == policy
        assert "handbook.txt" not in repr(policy)
        answer = Guard(policy, provider=ScriptedProvider(reply)).ask("How many lanes?")
    assert answer.text == "The bridge has 8 lanes."


@pytest.mark.parametrize("to", ["warehouse", "configured:Warehouse"])
def test_a_policy_gives_a_sink_its_settings(tmp_path: Path, to: str) -> None:
    text = "chain: [{method: facts}]\nobservers:\n"
    text += f"  - {{to: '{to}', content: true, url: '${{URL}}', tables: [verdicts]}}\n"
    with installed(tmp_path, CONFIGURED, POINTS, name="configured"):
        policy = Policy.parse(text, env={"URL": "http://sk-secret@127.0.0.1"})
        assert "secret" not in repr(policy)
        for _ in range(2):
            Guard(policy)
        other = {**FACTS, "observers": [{"to": to, "url": "http://other"}]}
        Guard(other)
        made = sys.modules["configured"].Warehouse.made
    # Guards with the same settings share one.
    assert [(sink.url, sink.tables) for sink in made] == [
        ("http://sk-secret@127.0.0.1", ("verdicts",)),
        ("http://other", ()),
    ]


SETTINGS: list[tuple[dict[str, Any], str]] = [
    (
        {"kind": "handbook", "pth": "x", "path": "x"},
        ".pth: the retriever 'handbook' has no setting 'pth'; did you mean 'path'?",
    ),
    (
        {"kind": "handbook", "path": "x", "colour": "x"},
        "has no setting 'colour'; there are 'path', 'limit', 'mode', 'client'",
    ),
    ({"kind": "handbook"}, ": the retriever 'handbook' needs the setting 'path'"),
    (
        {"kind": "handbook", "path": "x", "limit": "five"},
        ".limit: the retriever 'handbook': 'limit' must be a valid integer",
    ),
    (
        {"kind": "handbook", "path": "x", "mode": "c"},
        ".mode: the retriever 'handbook': 'mode' must be 'a' or 'b'",
    ),
    (
        {"kind": "configured:search", "path": "x"},
        ".path: the retriever 'configured:search' has no setting 'path'; it takes none",
    ),
    ({"kind": "configured:Nothing"}, "cannot import 'configured:Nothing': 'configured' has no"),
    ({"kind": "handbok"}, ".kind: unknown retriever 'handbok'; did you mean 'handbook'?"),
    (
        {"kind": "hybrid", "of": [{"kind": "handbook", "pth": "x", "path": "x"}]},
        ".of[0].pth: the retriever 'handbook' has no setting 'pth'",
    ),
]


@pytest.mark.parametrize(("setting", "message"), SETTINGS)
def test_a_wrong_setting_of_a_retriever_is_named(
    tmp_path: Path, setting: dict[str, Any], message: str
) -> None:
    text = "chain: [{method: facts}]\naction:\n  do: regenerate\n"
    text += f"  retriever: {json.dumps(setting)}\n"
    with (
        installed(tmp_path, CONFIGURED, POINTS, name="configured"),
        pytest.raises(PolicyError) as error,
    ):
        Policy.parse(text, source="p.yaml")
    (problem,) = error.value.problems
    assert problem.startswith("p.yaml:4: action.retriever")
    assert message in problem


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("uri: x, url: x", "observers[0].uri: the sink 'warehouse' has no setting 'uri'"),
        ("url: x, contnt: true", "no setting 'contnt'; did you mean 'content'?"),
        ("url: 7", "observers[0].url: the sink 'warehouse': 'url' must be a valid string"),
    ],
)
def test_a_wrong_setting_of_a_sink_is_named(tmp_path: Path, setting: str, message: str) -> None:
    text = f"chain: [{{method: facts}}]\nobservers:\n  - {{to: warehouse, {setting}}}\n"
    with (
        installed(tmp_path, CONFIGURED, POINTS, name="configured"),
        pytest.raises(PolicyError) as error,
    ):
        Policy.parse(text, source="p.yaml")
    (problem,) = error.value.problems
    assert problem.startswith("p.yaml:3: ")
    assert message in problem


@pytest.mark.parametrize(
    ("policy", "message", "cause"),
    [
        (
            {"observers": [{"to": "configured:Warehouse", "url": "x"}, {"to": "broken"}]},
            "observers[1]: the sink 'broken' cannot be created: KeyError",
            KeyError,
        ),
        (
            {"observers": [{"to": "warehouse"}]},
            "observers[0]: the sink 'warehouse' needs the setting 'url'",
            None,
        ),
        (
            {"observers": [{"to": "configured:Refusing"}]},
            "observers[0]: the sink 'configured:Refusing' cannot be created: the warehouse is",
            ConfigurationError,
        ),
        (
            retriever_of(kind="handbook", path="x", limit=10),
            "action.retriever: the retriever 'handbook' cannot be created: ValueError",
            ValueError,
        ),
        (
            retriever_of(kind="hybrid", of=["configured:search", "configured:Broken"]),
            "action.retriever.of[1]: the retriever 'configured:Broken' cannot be created: KeyError",
            KeyError,
        ),
    ],
)
def test_a_plug_in_that_cannot_be_created_is_named(
    tmp_path: Path, policy: dict[str, Any], message: str, cause: type[Exception] | None
) -> None:
    with (
        installed(tmp_path, CONFIGURED, POINTS, name="configured"),
        pytest.raises(ConfigurationError) as error,
    ):
        Guard({**FACTS, **policy})
    assert str(error.value).startswith(message)
    assert "secret" not in str(error.value)
    assert type(error.value.__cause__) is (cause or type(None))


def test_a_provider_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    points = {"resay.providers": "acme = configured:Broken"}
    message = "the provider 'acme' cannot be created: KeyError"
    with (
        installed(tmp_path, CONFIGURED, points, name="configured"),
        pytest.raises(ConfigurationError, match=message),
    ):
        Guard(FACTS, model="acme/large").ask("How many lanes has the bridge?")


@needs("litellm")
def test_nobody_takes_a_name_of_litellms(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    points = {"resay.providers": "openai = acme_ai:Acme\nacme = acme_ai:Acme"}
    with installed(tmp_path, PROVIDER, points, name="acme_ai"):
        openai, acme = (
            type(DefaultProvider().provider_of(resay.Request((), model))).__name__
            for model in ("openai/gpt-4.1-mini", "acme/large")
        )
        assert openai in ("LiteLLMProvider", "OpenAIProvider")
        assert acme == "Acme"
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert "provider plug-in 'openai' of acme_ai is left out" in warnings[0]


@needs("litellm")
def test_the_names_of_litellm_are_up_to_date() -> None:
    import litellm

    assert {provider.value for provider in litellm.provider_list} <= LITELLM_NAMES


SINK = """
class Sink:
    async def on_verdict(self, record): ...
"""


def test_two_distributions_that_install_one_name_are_named(tmp_path: Path) -> None:
    policy = {**FACTS, "observers": [{"to": "acme"}]}
    first, second = ({"resay.sinks": f"acme = {name}:Sink"} for name in ("acme_one", "acme_two"))
    with (
        installed(tmp_path / "1", SINK, first, name="acme_one"),
        installed(tmp_path / "2", SINK, second, name="acme_two"),
    ):
        message = "the sink 'acme' is ambiguous: acme_one and acme_two each install one; uninstall"
        with pytest.raises(ConfigurationError, match=message):
            Guard(policy)
    again = tmp_path / "3"
    # Two that name the same object, such as a distribution that was renamed, are in agreement.
    with (
        installed(again, SINK, first, name="acme_one"),
        installed(tmp_path / "4", "", first, name="acme_one_renamed"),
    ):
        Guard(policy)


OWN_SCORER = """
from resay.plugins import ScorerConfig, Scores

class Own:
    name = "own"
    needs = frozenset()
    Config = ScorerConfig

    def __init__(self, config):
        pass

    {score}
"""


def check_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, score: str
) -> resay.Verdict:
    (tmp_path / f"{name}.py").write_text(OWN_SCORER.format(score=score))
    monkeypatch.syspath_prepend(tmp_path)
    return Guard({"chain": [{"method": f"{name}:Own"}]}).check("It has 4 lamps.")


@pytest.mark.parametrize(
    ("name", "score", "reason"),
    [
        (
            "own_nan",
            "async def score(self, p, e): return Scores((float('nan'),))",
            "own: a score must lie in [0, 1] or be None, not nan",
        ),
        (
            "own_high",
            "async def score(self, p, e): return Scores(passage=7.0)",
            "own: a score must lie in [0, 1] or be None, not 7.0",
        ),
        (
            "own_text",
            "async def score(self, p, e): return Scores((p.text,))",
            "own: a score must be a number in [0, 1] or None, not of type str",
        ),
        (
            "own_sync",
            "def score(self, p, e): return Scores((0.5,))",
            "own: its `score` is not async; write `async def score`",
        ),
    ],
)
def test_what_a_scorer_does_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, score: str, reason: str
) -> None:
    verdict = check_with(tmp_path, monkeypatch, name, score)
    assert verdict.inconclusive
    assert verdict.reason == reason


def test_a_score_may_be_an_awaitable_of_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = (
        "def score(self, p, e):\n        import asyncio\n"
        "        return asyncio.ensure_future(self.late())\n"
        "    async def late(self): return Scores((0.9,))"
    )
    assert check_with(tmp_path, monkeypatch, "own_future", score).flagged


def test_the_log_says_where_a_scorer_failed_and_repeats_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="resay")
    score = (
        "async def score(self, p, e):\n        return self.helped(p)\n"
        "    def helped(self, p): raise ValueError(p.text)"
    )
    verdict = check_with(tmp_path, monkeypatch, "own_failing", score)
    assert verdict.reason == "own: it failed (ValueError)"
    path = tmp_path / "own_failing.py"
    lines = path.read_text().splitlines()
    raised = next(i for i, line in enumerate(lines, start=1) if "raise" in line)
    assert f'File "{path}", line {raised}, in helped' in caplog.text
    assert f'File "{path}", line {raised - 1}, in score' in caplog.text
    assert "ValueError" in caplog.text
    assert "lamps" not in caplog.text
