from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ForwardRef, get_type_hints

import pytest

import resay
from resay import Verdict
from resay._internal.public_names import public_modules
from support.alone import needs

HEAVY = (
    *("litellm", "openai", "anthropic", "langchain_core", "httpx", "opentelemetry"),
    *("torch", "transformers", "onnxruntime", "tokenizers", "huggingface_hub", "numpy"),
)
# One process, which prints what is loaded after each step.
STEPS = (
    "pass",
    "import resay",
    "resay.Guard(); resay.Verdict",
)
MODEL_STEPS = (
    "import resay",
    "methods = 'nli', 'bertscore', 'mqag', 'similarity', 'grounding'\n"
    "resay.Policy.of({'chain': [{'method': m} for m in methods]})",
    "resay.Guard({'chain': [{'method': 'nli'}], 'threshold': {'passage': 0.4}})",
)


def test_every_name_is_there() -> None:
    assert sorted(resay.__all__) == resay.__all__
    for name in resay.__all__:
        assert getattr(resay, name) is not None
    assert set(dir(resay)) == set(resay.__all__)
    assert resay.__version__


def test_type_checkers_see_every_name() -> None:
    # An import makes a name public only if it is written as `import Guard as Guard`.
    spec = find_spec("resay._public")
    assert spec is not None
    assert spec.origin is not None
    _docstring, *statements = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    names = []
    for statement in statements:
        assert isinstance(statement, ast.ImportFrom)
        (imported,) = statement.names
        assert imported.asname == imported.name
        names.append(imported.name)
    assert sorted(names) == resay.__all__


def test_an_error_or_a_verdict_needs_no_guard() -> None:
    program = "import sys; from resay import PolicyError, Verdict; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"resay.guard", "resay.engine", "resay.scorers"} & {*done.stdout.split()}


def test_names_are_found_without_source_files(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set(public_modules())
    public_modules.cache_clear()
    monkeypatch.setattr("resay._internal.public_names.get_data", lambda *_: None)
    assert set(public_modules()) == names
    assert resay.Verdict is Verdict
    public_modules.cache_clear()


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Gaurd'"):
        resay.Gaurd  # noqa: B018 - the access is the test


# What a guard that counts n-grams does not need before it gets a request.
FOR_REQUESTS = (
    *("resay.engine.chain", "resay.engine.request", "resay.reporting.reporter"),
    *("resay.core.verdict", "resay.core.display.html", "resay.core.code.reader"),
    *("resay.core.claims", "resay.core.segmentation.blocks", "resay.lang.language"),
    *("resay.scorers.common.sample_index", "resay.scorers.common.uncited"),
    "resay.scorers.common.judge_config",
)
# What a check with samples does not need either.
FOR_CALLS = (
    *("resay.providers.default", "resay.providers.litellm", "resay.providers.openai_compatible"),
    "resay.providers.apis.base",
)
# What it never needs, because its policy says nothing about it.
FOR_OTHER_POLICIES = (
    *("resay.policy.regenerate", "resay.policy.journal", "resay.policy.lookups", "yaml"),
    *("resay.policy.observers", "resay.policy.auto", "resay.policy.yaml_reader"),
    *("resay.providers.batching.layer", "resay.providers.shared_limits"),
    *("resay.retrieval.config", "resay.models.config"),
    *("resay.scorers.common.second_opinion", "resay.scorers.gate"),
)
FIRST_GUARD = "from resay import Guard; guard = Guard({'chain': [{'method': 'ngram'}]})"
FIRST_CHECK = (
    "guard.check('It opened in 1932.', question='When?', samples=['It opened in 1931.'] * 2)"
)


def modules_after(steps: Sequence[str]) -> list[set[str]]:
    """Return the modules that are loaded after each step."""
    script = "import sys\n" + "\n".join(f"{step}\nprint(*sys.modules)" for step in steps)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return [set(line.split()) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def loaded() -> list[set[str]]:
    return modules_after(STEPS)


def test_nothing_heavy_is_loaded(loaded: list[set[str]]) -> None:
    *_, made = loaded
    assert "resay.guard" in made
    assert not made & set(HEAVY)


def test_the_first_guard_imports_only_what_it_needs() -> None:
    guard, check = modules_after([FIRST_GUARD, FIRST_CHECK])
    assert "resay.scorers.ngram" in guard
    assert not guard & {*FOR_REQUESTS, *FOR_CALLS, *FOR_OTHER_POLICIES}
    assert {*FOR_REQUESTS} <= check
    assert not check & {*FOR_CALLS, *FOR_OTHER_POLICIES}
    # They exist: what has another name by now would never be imported.
    assert all(find_spec(name) for name in (*FOR_CALLS, *FOR_OTHER_POLICIES))


# Prints what of Resay the thread of the event loop imports while it answers the first request.
IN_LOOP = """
import asyncio, sys, threading
from contextlib import suppress
from resay import Guard
from resay.errors import ResayError
from resay.providers.replay import ScriptedProvider

guard = Guard({"chain": ["ngram"]}, provider=ScriptedProvider(lambda _: "It opened in 1932."))

class Recorder:
    def find_spec(self, name, path=None, target=None):
        imported.append((name, threading.current_thread() is threading.main_thread()))

async def stream():
    async with guard.astream("When?", model="m") as chunks:
        async for _ in chunks:
            pass

server = {"base_url": "http://127.0.0.1:9/v1", "api_key": "none", "max_retries": 0}

async def ask_a_server():
    with suppress(ResayError):
        await Guard({"chain": ["ngram"]}).aask("When?", model="openai/m", params=server)

async def stream_from(model, params):
    guard = Guard({"chain": ["ngram"]})
    with suppress(ResayError):
        async with guard.astream("When?", model=model, params=params) as chunks:
            async for _ in chunks:
                pass

imported = []
sys.meta_path.insert(0, Recorder())
asyncio.run(%s)
for name, in_loop in imported:
    print(name, in_loop)
"""


@pytest.mark.parametrize(
    "call",
    [
        "guard.aask('When?', model='m')",
        "stream()",
        "ask_a_server()",
        "stream_from('openai/m', server)",
        # Refused, without its key, by what reads litellm's files.
        "stream_from('openai/gpt-4.1-mini', None)",
        "guard.aask('When?', model='m', references=['It opened in 1931.'])",
    ],
)
def test_the_first_request_imports_what_runs_it_in_a_thread(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", IN_LOOP % call],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    imported = dict(line.split() for line in done.stdout.splitlines())
    assert imported["resay.engine.chain"] == "False"
    assert imported["resay.core.verdict"] == "False"
    in_loop = {name for name, is_in_loop in imported.items() if is_in_loop == "True"}
    assert "httpcore" not in in_loop
    ours = {name for name in in_loop if name.startswith("resay.")}
    # Small, and needed before there is anything to wait for.
    context = {"resay.core.check_context", "resay.core.call_log", "resay.core.logprobs"}
    assert ours <= context | {"resay.engine.answer_stream"}


@pytest.mark.parametrize("name", ["AnswerChunk", "Completion", "Chunk", "Verdict", "Answer"])
def test_values_can_be_part_of_models_of_pydantic(name: str) -> None:
    script = f"""
import dataclasses, typing
from pydantic import TypeAdapter
from resay.plugins import *
from resay import *
fields = typing.get_type_hints({name})
assert {{field.name for field in dataclasses.fields({name})}} <= {{*fields}}
assert TypeAdapter({name}).json_schema(mode="serialization")["properties"]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@needs("torch", "transformers")
def test_a_policy_with_models_loads_none_of_what_they_run_on() -> None:
    *_, policy, guard = modules_after(MODEL_STEPS)
    assert not policy & set(HEAVY)
    assert not guard & {"torch", "transformers", "onnxruntime"}


def test_a_check_without_references_loads_nothing_that_compares_with_them() -> None:
    check = "guard.check('It opened in 1932.', question='When?', {}=['It opened in 1932.'] * 2)"
    made, with_samples, with_references = modules_after(
        [
            "from resay import Guard; guard = Guard({'chain': ['facts']})",
            check.format("samples"),
            check.format("references"),
        ]
    )
    assert "resay.scorers.references" not in made | with_samples
    assert "resay.scorers.references" in with_references


def test_importing_loads_almost_nothing(loaded: list[set[str]]) -> None:
    ours = loaded[1] - loaded[0]
    assert not {name for name in ours if name.startswith(("pydantic", "yaml", "anyio", "rich"))}


@pytest.mark.parametrize(
    "name", ["ask", "aask", "stream", "astream", "check", "acheck", "check_many", "with_options"]
)
def test_what_makes_tools_of_methods_can_read_their_types(name: str) -> None:
    hints = get_type_hints(getattr(resay.Guard, name))
    assert "return" in hints
    assert not any(isinstance(hint, (str, ForwardRef)) for hint in hints.values())


def _public_modules() -> Iterator[str]:
    yield from ("resay", "resay.errors", "resay.plugins", "resay.policy", "resay.providers")
    yield from ("resay.retrieval", "resay.testing", "resay.adapters")
    for module in iter_modules(import_module("resay.adapters").__path__):
        name = f"resay.adapters.{module.name}"
        if hasattr(import_module(name), "__all__"):
            yield name


def _function_of(member: object) -> Callable[..., object] | None:
    """Return the function of a method, a property or a function of ours."""
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    elif isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = member.func
    return member if inspect.isfunction(member) else None


def _annotated(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a class with its methods and properties, or a function."""
    yield name, value
    if not inspect.isclass(value):
        return
    for ours in value.__mro__:
        if not ours.__module__.startswith("resay."):
            continue
        for member_name, member in vars(ours).items():
            function = _function_of(member)
            is_public = not member_name.startswith("_") or member_name in ("__init__", "__call__")
            if function is not None and is_public:
                yield f"{name}.{member_name}", function


@pytest.mark.parametrize("module_name", list(_public_modules()))
def test_what_reads_annotations_finds_every_type(module_name: str) -> None:
    module = import_module(module_name)
    unknown: dict[str, str] = {}
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value) and not inspect.isfunction(value):
            continue
        for label, annotated in _annotated(name, value):
            try:
                hints = get_type_hints(annotated)
            except NameError as error:
                unknown[label] = str(error)
                continue
            if any(isinstance(hint, (str, ForwardRef)) for hint in hints.values()):
                unknown[label] = f"not a type: {hints}"
    assert unknown == {}


def test_hints_name_the_types_themselves() -> None:
    from resay.core.contradiction import Contradiction
    from resay.plugins import Evidence, Passage, Scorer, Scores

    score = get_type_hints(Scorer.score)
    assert score == {"passage": Passage, "evidence": Evidence, "return": Scores}
    contradictions = get_type_hints(Scores)["contradictions"]
    assert contradictions == tuple[Contradiction | None, ...]


def blocking_and_asynchronous() -> Iterator[tuple[str, Any, Any]]:
    """Yield each public function or method with its asynchronous version, by its name."""
    for module_name in ("resay", "resay.adapters", "resay_lab.batch", "resay_lab.calibration"):
        if find_spec(module_name.partition(".")[0]) is None:
            continue
        module = import_module(module_name)
        members = {name: getattr(module, name) for name in module.__all__}
        classes = [value for value in members.values() if inspect.isclass(value)]
        for names in (members, *map(vars, classes)):
            for name, asynchronous in names.items():
                blocking = names.get(name.removeprefix("a"))
                if blocking is not asynchronous and inspect.isfunction(blocking):
                    yield name.removeprefix("a"), blocking, asynchronous


def test_help_of_a_blocking_version_stands_by_itself() -> None:
    checked: set[str] = set()
    for name, blocking, asynchronous in blocking_and_asynchronous():
        _, _, details = (inspect.getdoc(asynchronous) or "").partition("\n\n")
        docstring = inspect.getdoc(blocking) or ""
        assert docstring, name
        assert not docstring.startswith("Blocking version"), name
        assert details in docstring, name
        checked.add(name)
    assert {"ask", "check", "check_many", "stream", "close"} <= checked
    assert {"calibrate", "fill", "relay_stream"} <= checked or find_spec("resay_lab") is None
