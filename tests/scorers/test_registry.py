from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from resay import ConfigurationError, Guard, Policy, PolicyError
from resay.plugins import ScorerConfig, Step, build, registry
from resay.policy import policy_schema
from resay.scorers.ngram import Ngram
from support.installed import installed as distribution

PLUGIN = '''
from typing import Literal
from resay.scorers import ScorerConfig
from resay.core.scores import Scores

class Coin:
    name = "coin"
    needs = frozenset()

    class Config(ScorerConfig):
        method: Literal["coin"] = "coin"
        side: str = "heads"

    def __init__(self, config):
        self.side = config.side

    async def score(self, passage, evidence):
        return Scores(passage=0.5)

class Misnamed(Coin):
    pass

class WrongNeeds(Coin):
    needs = frozenset({"sample"})

    class Config(ScorerConfig):
        method: Literal["wrong_needs"] = "wrong_needs"

class Raises(Coin):
    name = "raises"

    class Config(ScorerConfig):
        method: Literal["raises"] = "raises"

    def __init__(self, config):
        raise KeyError("sk-secret")

class Ngram(Coin):
    """Must not take the place of a built-in method."""
'''
POINTS = """\
coin = coin_plugin:Coin
wrong_name = coin_plugin:Misnamed
wrong_needs = coin_plugin:WrongNeeds
no_config = builtins:dict
missing = no_such_module:Scorer
ngram = coin_plugin:Ngram
exits = exiting_plugin:Scorer
raises = coin_plugin:Raises
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[None]:
    """Install a distribution with plug-ins, good and bad."""
    (tmp_path / "exiting_plugin.py").write_text("raise SystemExit(3)")
    points = {"resay.scorers": POINTS}
    with distribution(tmp_path, PLUGIN, points, name="coin_plugin"):
        yield
    sys.modules.pop("exiting_plugin", None)


def test_the_built_in_methods() -> None:
    assert registry()["ngram"] is Ngram
    for name, scorer in registry().items():
        assert scorer.name == name
        assert scorer.Config.model_fields["method"].default == name
        assert scorer.__module__.removesuffix(".scorer") == f"resay.scorers.{name}"


@pytest.mark.usefixtures("installed")
def test_an_installed_method_is_found_and_built() -> None:
    (step,) = Policy.of({"chain": [{"method": "coin", "side": "tails"}]}).chain
    assert step.method_name == "coin"
    scorer = build(step)
    assert (type(scorer).__name__, vars(scorer)) == ("Coin", {"side": "tails"})


@pytest.mark.usefixtures("installed")
def test_broken_plugins_are_skipped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="resay"):
        found = {n for n, s in registry().items() if not s.__module__.startswith("resay.")}
        assert found == {"coin", "raises"}
    assert {"wrong_name", "wrong_needs", "no_config", "missing", "exits"} <= {
        str(r.args[0]) for r in caplog.records if isinstance(r.args, tuple)
    }


@pytest.mark.usefixtures("installed")
def test_a_policy_that_names_a_broken_plug_in_says_why() -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse("chain:\n  - method: exits\n", source="p.yaml")
    (problem,) = error.value.problems
    assert problem == (
        "p.yaml:2: chain[0].method: cannot load the scorer 'exits' from 'exiting_plugin:Scorer':"
        " SystemExit"
    )


@pytest.mark.parametrize("method", ["raises", "coin_plugin:Raises"])
@pytest.mark.usefixtures("installed")
def test_a_plug_in_that_cannot_be_created_is_named(method: str) -> None:
    chain = [{"method": "facts"}, {"method": method}]
    with pytest.raises(ConfigurationError) as error:
        Guard({"chain": chain})
    assert str(error.value) == (
        "chain[1]: the scorer 'raises' (coin_plugin:Raises) cannot be created: KeyError"
    )
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.usefixtures("installed")
def test_a_built_in_method_cannot_be_replaced() -> None:
    assert registry()["ngram"] is Ngram


def test_a_configuration_of_nobody_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no scorer is registered for 'ScorerConfig'"):
        build(ScorerConfig())


OWN = """
from resay.core.scores import Scores
from resay.scorers import ScorerConfig, ScorerTraits
from resay.scorers.ngram import Ngram
from resay.scorers.ensemble import Ensemble as TheirEnsemble

class Coin:
    name = "my-coin"
    needs = frozenset()

    class Config(ScorerConfig):
        side: str = "heads"

    def __init__(self, config):
        self.side = config.side

    async def score(self, passage, evidence):
        return Scores(sentences=(0.9,) * len(passage.sentences))

class NoConfig:
    async def score(self, passage, evidence): ...

class Nested:
    Inside = Coin

class Taken(Coin):
    name = "ngram"

class Nameless(Coin):
    name = "a name\\n"

class NoNeeds(Coin):
    needs = None

class UnknownNeeds(Coin):
    needs = frozenset({"sample", "judge"})

class UnknownLater(Coin):
    name = "unknown"

    def __init__(self, config):
        self.needs = frozenset({"sample"})

class Returns(Coin):
    name = "returns"
    value = None

    async def score(self, passage, evidence):
        return self.value

class ReturnsList(Returns):
    value = [0.9]

class ReturnsText(Returns):
    value = "It has 6 lanes."

class BySentence(Coin):
    name = "by_sentence"
    traits = ScorerTraits(by_sentence=True)

class WrongTraits(Coin):
    name = "wrong_traits"
    traits = {"by_sentence": True}

class NeedsLater(NoConfig):
    name = "later"

    class Config(ScorerConfig): ...

    def __init__(self, config): ...

class OtherConfig(NoConfig):
    class Config: ...

class Composite(TheirEnsemble):
    name = "composite"

class Corrects(Coin):
    needs = frozenset({"scores"})

coin = Coin(Coin.Config())
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the application's with scorers; yields its name."""
    # What is imported once is kept, so each test has a module of its own.
    name = f"own_scorers_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def policy_of(method: str, **settings: object) -> Policy:
    return Policy.of({"chain": [{"method": method, **settings}]})


def test_a_policy_names_a_scorer_by_where_it_is(own: str) -> None:
    policy = policy_of(f"{own}:Coin", side="tails", settle={"below": 0.2})
    (step,) = policy.chain
    assert (step.method_name, step.model_dump()["method"]) == ("my-coin", f"{own}:Coin")
    assert vars(build(step)) == {"side": "tails"}
    for copy in (Policy.of(policy.model_dump(mode="json")), pickle.loads(pickle.dumps(policy))):
        assert copy == policy
        assert copy.chain[0] == step
    assert policy_of(f"{own}:Nested.Inside").chain[0].method_name == "my-coin"


def test_a_verdict_shows_the_name_of_ones_own_scorer(own: str) -> None:
    guard = Guard({"chain": [{"method": f"{own}:Coin"}, {"method": "ngram"}]})
    verdict = pickle.loads(pickle.dumps(guard)).check(
        "It has 6 lanes.", samples=[f"It has {n}." for n in "345"]
    )
    assert [step.method for step in verdict.steps] == ["my-coin", "ngram"]
    assert verdict.flagged


@pytest.mark.parametrize(
    ("scorer", "kind"), [("Returns", "NoneType"), ("ReturnsList", "list"), ("ReturnsText", "str")]
)
def test_scorers_that_fail_lose_only_their_scores(own: str, scorer: str, kind: str) -> None:
    chain = [{"method": f"{own}:{scorer}"}, {"method": "ngram"}]
    samples = [f"It has {n}." for n in "345"]
    verdict = Guard({"chain": chain}).check("It has 6 lanes.", samples=samples)
    assert verdict.steps[0].error == f"it returned a {kind}, not Scores"
    assert verdict.flagged
    alone = Guard({"chain": chain[:1]}).check("It has 6 lanes.")
    assert alone.inconclusive
    assert alone.reason == f"returns: it returned a {kind}, not Scores"


def test_a_part_may_be_ones_own_scorer(own: str) -> None:
    parts = [{"scorer": {"method": f"{own}:Coin", "side": "tails"}}]
    verdict = Guard(policy_of("ensemble", parts=parts)).check("It has 6 lanes.")
    assert verdict.sentences[0].reason == "my-coin 0.90"
    for name in ("Composite", "Corrects"):
        with pytest.raises(PolicyError, match="it cannot be a part"):
            policy_of("ensemble", parts=[{"scorer": {"method": f"{own}:{name}"}}])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("{own}:Coins", "cannot import '{own}:Coins': '{own}' has no 'Coins'"),
        (
            "no_such_place:Coin",
            "ModuleNotFoundError in 'no_such_place'; check that it is installed",
        ),
        ("{own}:coin", "is not a class; use the scorer's class"),
        ("{own}:Nested", "is not a scorer: it has no 'score'"),
        ("{own}:NoConfig", "is not a scorer: it has no 'Config'"),
        ("{own}:OtherConfig", "must be a subclass of ScorerConfig"),
        ("{own}:Taken", "has the same name as another method, 'ngram'; rename it"),
        ("{own}:Nameless", "needs a `name` for verdicts"),
        ("{own}:NoNeeds", "must have a frozenset as `needs`"),
        (
            "{own}:UnknownNeeds",
            "has an unknown value in `needs`: 'sample'; allowed are 'samples', 'judge', ",
        ),
        ("{own}:", "must be package.module:Class"),
        (":Coin", "must be package.module:Class"),
        ("../{own}:Coin", "must be package.module:Class"),
        ("{own}:Coin()", "must be package.module:Class"),
        ("{own}:Coin:x", "must be package.module:Class"),
        ("{own} :Coin", "must be package.module:Class"),
    ],
)
def test_invalid_scorers_are_refused_with_the_line(own: str, name: str, why: str) -> None:
    method = name.format(own=own)
    with pytest.raises(PolicyError) as raised:
        Policy.parse(f'chain:\n  - method: "{method}"', source="p.yaml")
    (problem,) = raised.value.problems
    assert problem.startswith("p.yaml:2: chain[0].method: ")
    assert repr(method) in problem
    assert why.format(own=own) in problem


def test_settings_of_ones_own_scorer_are_checked_like_any(own: str) -> None:
    with pytest.raises(
        PolicyError, match=r"chain\[0\]\.sid: unknown key 'sid'; did you mean 'side'"
    ):
        policy_of(f"{own}:Coin", sid="tails")
    with pytest.raises(PolicyError, match=r"chain\[0\]\.side: must be text, not 1"):
        policy_of(f"{own}:Coin", side=1)
    with pytest.raises(PolicyError, match="put another method first"):
        policy_of(f"{own}:Corrects")
    with pytest.raises(ConfigurationError, match="'later' has no `needs`"):
        Guard(policy_of(f"{own}:NeedsLater")).check("It has 6 lanes.")
    with pytest.raises(ConfigurationError, match="'unknown' has an unknown value in `needs`"):
        Guard(policy_of(f"{own}:UnknownLater"))
    with pytest.raises(
        ConfigurationError, match=r"'wrong_traits' must be ScorerTraits\(...\), not"
    ):
        Guard(policy_of(f"{own}:WrongTraits"))


def test_traits_say_how_ones_own_scorer_runs_and_may_be_omitted(own: str) -> None:
    plain, by_sentence = (
        Step.of(policy_of(f"{own}:{name}").chain[0]) for name in ("Coin", "BySentence")
    )
    assert (plain.needs_whole_passage, plain.stops, plain.source) == (True, False, "sample")
    assert not by_sentence.needs_whole_passage


def test_editors_take_ones_own_scorer_with_any_settings() -> None:
    validator = jsonschema.Draft202012Validator(policy_schema())
    for step, valid in (
        ({"method": "my.module:Coin", "side": "tails", "settle": {"below": 0.2}}, True),
        ({"method": "my.module:Coin", "settle": {"belw": 0.2}}, False),
        ({"method": "my.module", "side": "tails"}, False),
        ({"side": "tails"}, False),
    ):
        assert validator.is_valid({"chain": [step]}) is valid
