"""The guard objects of `resay_frameworks`, each with two versions of its framework.

The programs in `objects` put a guard object into the framework's own agent, graph, pipeline or
program, which asks a simulated provider. `make test-frameworks` installs the frameworks first.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulation import SimulatedProvider, Subject, World
from support.repaired import WORLD as HALF_RIGHT
from support.versions import program_of, ran

HERE = Path(__file__).resolve().parent
INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")
MESSAGE = "Sorry, this answer was withheld because it could not be confirmed."
RIGHT = "The Zorblatt was built in 1631 by Ada Kling."
WORLD = World(
    [
        *HALF_RIGHT.subjects,
        Subject("Quibble", facts=[["The Quibble is a lamp in Bonn."], ["It has three arms."]]),
    ]
)


class Outcomes(NamedTuple):
    """What a framework makes of the policy's actions.

    Attributes:
        block: The text in place of a withheld answer, or the name of the framework's error.
        raise_: The same for a policy that says `exit: raise`.
        regenerated: What is in a regenerated answer.
        acts: Whether the policy's action applies at all.
    """

    block: str = MESSAGE
    raise_: str = "HallucinationBlocked"
    regenerated: str = RIGHT
    acts: bool = True


WITHHELD = "the answer was withheld: 2 of 4 sentences > 0.50 with 3 samples"
OUTCOMES = {
    "agent_framework": Outcomes(),
    # The agent answers again, and then the task fails.
    "crewai": Outcomes("Exception", "Exception", "It strikes twice a day."),
    "dspy": Outcomes(acts=False),
    "google_adk": Outcomes(raise_="HALLUCINATION_BLOCKED"),  # an error code
    "haystack": Outcomes(raise_="PipelineRuntimeError"),
    "langgraph": Outcomes(),
    "openai_agents": Outcomes(raise_=WITHHELD),  # its own exception either way
    "pydantic_ai": Outcomes(),
    "smolagents": Outcomes(),
}
PROGRAMS = sorted(path.stem.removeprefix("with_") for path in (HERE / "objects").glob("with_*.py"))


ENVIRONMENTS = sorted(p.stem for p in HERE.glob("*.txt") if program_of(p.stem) in PROGRAMS)


def test_every_object_has_two_versions() -> None:
    for program in PROGRAMS:
        assert [program_of(name) for name in ENVIRONMENTS].count(program) == 2, program
    modules = HERE.parents[1].glob("integrations/resay_frameworks/[a-z]*.py")
    assert [path.stem for path in sorted(modules)] == PROGRAMS == sorted(OUTCOMES)


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as simulated:
        yield simulated


def results_of(environment: str, provider: SimulatedProvider, folder: Path) -> Mapping[str, Any]:
    """Run the program of an environment, and return what came of each case."""
    python = Path(INSTALLED or "").resolve() / environment / "bin" / "python"
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "OPENAI_API_KEY": "simulated",
        "OPENAI_BASE_URL": provider.base_url,
        # None of them is to look for anything elsewhere.
        **{f"{kind}_PROXY": "http://127.0.0.1:9" for kind in ("HTTP", "HTTPS", "ALL")},
        "NO_PROXY": "127.0.0.1",
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "HAYSTACK_TELEMETRY_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OTEL_SDK_DISABLED": "true",
    }
    done = subprocess.run(
        [python, HERE / "objects" / f"with_{program_of(environment)}.py"],
        env=settings,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=1100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "results.json").read_text())


@pytest.mark.skipif(INSTALLED is None, reason="`make test-frameworks` installs the frameworks")
@pytest.mark.timeout(1200)  # most of it imports
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_object_does_as_the_policy_says(
    environment: str, provider: SimulatedProvider, tmp_path: Path
) -> None:
    results = results_of(environment, provider, tmp_path)
    outcomes = OUTCOMES[program_of(environment)]

    consistent = results["consistent"]
    assert "The Quibble is a lamp in Bonn." in consistent["text"]
    assert (consistent["decision"], consistent["action"]) == ("consistent", "allow")
    annotated = results["annotate"]
    assert "The Zorblatt was built in" in annotated["text"]
    assert (annotated["decision"], annotated["action"]) == ("flagged", "annotate")
    # An answer whose check fails is shown, unless the policy says that it is not.
    failing = results["failing"]
    assert "The Zorblatt was built in" in failing["text"]
    assert (failing["decision"], failing["action"]) == ("inconclusive", "annotate")
    if outcomes.acts:
        check_actions(results, outcomes)
    check_tools(results["tools"]["conversations"])
    ran("frameworks", Path(INSTALLED or ""), environment)


def check_actions(results: Mapping[str, Any], outcomes: Outcomes) -> None:
    """Check that answers are regenerated and withheld."""
    regenerated = results["regenerate"]
    assert outcomes.regenerated in regenerated["text"]
    assert "made by" not in regenerated["text"]
    assert (regenerated["decision"], regenerated["action"]) == ("consistent", "regenerate")
    check_withheld(results["block"], outcomes.block)
    check_withheld(results["failing, withheld"], outcomes.block)
    check_withheld(results["raise"], outcomes.raise_)
    for case in ("block", "raise", "failing, withheld"):
        # No error repeats the answer.
        assert "built in" not in results[case].get("message", "")


def check_withheld(result: Mapping[str, Any], expected: str) -> None:
    """Check that an answer was withheld, by a text or an error."""
    if "error" in result:
        assert result["error"] == expected
        return
    assert result["text"] == expected
    assert result["action"] == "block"


def check_tools(conversations: list[list[dict[str, Any]]]) -> None:
    """Check that the conversation with its calls and their results is what is sampled."""
    assert conversations
    for messages in conversations:
        (asked,) = [message for message in messages if message["role"] == "user"]
        assert "What is the Zorblatt?" in str(asked["content"])
        calling = next(message for message in messages if message.get("tool_calls"))
        (call,) = calling["tool_calls"]
        assert call["type"] == "function"
        assert call["function"]["name"] == "clock_year"
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
        (told,) = [message for message in messages if message["role"] == "tool"]
        assert told["tool_call_id"] == call["id"]
        assert RIGHT in str(told["content"])
