"""The command `resay policy`: write, check and describe policy files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from resay._internal.plurals import counted
from resay.adapters import GuardRuntime
from resay.commands import MODEL_PANEL, print_json, write_text
from resay.core.request import Request
from resay.core.usage import Usage
from resay.engine.requirements import problems_with_names
from resay.errors import ConfigurationError, ResayError
from resay.guard import Guard
from resay.guard_core import check_usable
from resay.policy import Annotate, Policy, policy_schema
from resay.policy.auto import choose, min_samples
from resay.policy.effective import effective_text
from resay.policy.model import POLICY_VARIABLE
from resay.policy.yaml_reader import read_text, read_yaml
from resay.providers.base import Completions, Layer
from resay.providers.batching import LiveCallsConfig
from resay.providers.caching import NoCacheConfig
from resay.providers.openai_compatible import OpenAICompatibleProvider
from resay.scorers import ScorerConfig
from resay.testing import SimulatedProvider

app = typer.Typer(
    help="Write, check and describe policy files.", no_args_is_help=True, add_completion=False
)

_SCHEMA = "policy.schema.json"
_QUESTION = "Tell me about the Sydney Harbour Bridge."
_TOOL = {"name": "save_note", "arguments": '{"title": "Sydney Harbour Bridge"}'}
_TOOL_CALL: Sequence[Mapping[str, Any]] = (
    {"role": "user", "content": _QUESTION},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": _TOOL}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '{"saved": true}'},
)
_DOCUMENT = "The Sydney Harbour Bridge was opened on 19 March 1932."


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("policy.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a policy to start from, with comments, and its schema beside it for editors."""
    schema = file.with_name(_SCHEMA)
    if file.exists() and not force:
        raise ConfigurationError(f"{str(file)!r} exists; name another file, or pass --force")
    template = resources.files("resay.cli") / "policy.yaml"
    write_text(file, template.read_text(encoding="utf-8"))
    write_text(schema, json.dumps(policy_schema(), separators=(",", ":")))
    typer.echo(f"{file}: written; editors with yaml-language-server check it by {schema.name}")
    typer.echo(f"next: resay policy check {file}")


@app.command("schema")
def show_schema() -> None:
    """Print the JSON Schema of policy files, for editors."""
    print_json(policy_schema(), compact=True)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The policy file.", envvar=POLICY_VARIABLE)],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Estimate the cost with this model's price.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
) -> None:
    """Check a policy file, and what it names, as a guard does; print the line of any mistake.

    Also prints the policy with its defaults, what an answer costs, and warnings.
    """
    text = read_text(file, str(file))
    policy = Policy.parse(text, source=str(file))
    check_usable(policy)
    document = read_yaml(text, source=str(file), env=os.environ)
    steps = " -> ".join(step.method_name for step in policy.chain)
    typer.echo(f"{file}: valid; {steps}; action: {policy.action.do}")
    if policy.needs_retriever:
        typer.echo("the application must pass a retriever: Guard(..., retriever=...)")
    if policy.budget is not None:
        for line in choose(policy.budget, min_samples=min_samples(policy.sampling)).lines():
            typer.echo(line)
    typer.echo(f"\n{effective_text(policy, document)}")
    for line in _estimate_lines(policy, model):
        typer.echo(line)
    for warning in _warnings(policy, text):
        typer.echo(f"warning: {warning}", err=True)


def _warnings(policy: Policy, text: str) -> Iterator[str]:
    """Yield what is probably not meant in a policy that is valid."""
    methods = [step.method_name for step in policy.chain]
    if methods == ["ngram"]:
        yield "`ngram` compares words, and flags paraphrases; use `facts`, which costs as little"
    threshold = policy.threshold
    if threshold.passage == threshold.sentence == 0.5 and "#: calibrated" not in text:
        yield (
            "the thresholds are not calibrated; `resay calibrate` fits them to some 50 labelled"
            " answers"
        )
    if threshold.lowest == 1:
        yield "nothing is ever flagged: no score is above 1, which is the `threshold`; lower it"
    # `actions` looks at nothing but what an answer says was done.
    checks_greetings = methods != ["actions"]
    if checks_greetings and (policy.when is None or not policy.when.checkable):
        yield "greetings and thanks are checked as well; skip them with `when: {checkable: true}`"
    for _, request, _ in problems_with_names(policy):
        yield (
            f"the model {request.model!r} names no provider, as in 'openai/gpt-4.1-mini', and no"
            " server (`params: {api_base: ...}`); it can be asked only if the application passes a"
            " provider that knows it"
        )
    if policy.needs_retriever:
        yield "the policy regenerates without a retriever; name one, or pass it to `Guard`"


@dataclass(frozen=True)
class _Measured:
    """The usage of an answer and of its check.

    Attributes:
        answer: That of the answer.
        check: That of its check.
        sentences: The number of sentences of the answer.
        circumstances: What else the methods compare with, in words.
    """

    answer: Usage
    check: Usage
    sentences: int
    circumstances: str = ""


class _UnreadableError(ResayError):
    """The simulated model does not answer as a method asks its judge to."""


class _Redirected(Layer):
    """Sends every request, whatever its model is, to a simulated provider."""

    def __init__(self, server: SimulatedProvider) -> None:
        super().__init__(OpenAICompatibleProvider())
        self._params = server.params

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send the request there."""
        params = {**request.params, **self._params}
        return await self.inner.complete(replace(request, params=params), n=n)


def _estimate_lines(policy: Policy, model: str | None) -> Iterator[str]:
    """Yield what an answer costs, measured with a simulated model."""
    neural = next((step.method_name for step in policy.chain if _loads_model(step)), None)
    if neural is not None:
        yield f"cost per answer: not measured, because method {neural!r} loads a neural model"
        return
    try:
        measured = _measured(policy)
    except _UnreadableError as error:
        yield f"cost per answer: not measured, because {error}"
        return
    except ResayError as error:
        yield f"cost per answer: unknown here; {error}"
        return
    check = measured.check
    yield (
        f"cost per answer: {counted(measured.answer.calls + check.calls, 'call')} and"
        f" {counted(measured.answer.tokens + check.tokens, 'token')}, of which"
        f" {counted(check.calls, 'call')} and {counted(check.tokens, 'token')} are the check's"
        f" (measured with a simulated answer of {counted(measured.sentences, 'sentence')}"
        f"{measured.circumstances})"
    )
    if policy.action.do == "regenerate":
        yield "  a flagged answer costs more: it is rewritten, and checked again"
    if model is None:
        return
    cost = policy.prices.cost_usd(model, measured.answer + check)
    price = "unknown; set it in `prices`" if cost is None else f"${cost:.4f}"
    yield f"  with {model}: {price}"


def _loads_model(config: ScorerConfig) -> bool:
    """Return whether a method loads a neural model, by the types of its settings."""
    if getattr(config, "by", None) in ("judge", "words"):
        return False
    for name, field in type(config).model_fields.items():
        if "ModelConfig" in str(field.annotation) and getattr(config, name) is not None:
            return True
    parts: Sequence[Any] = getattr(config, "parts", ())
    return any(_loads_model(part.scorer) for part in parts)


def _measured(policy: Policy) -> _Measured:
    """Return what an answer and its check cost.

    Raises:
        ResayError: The simulated model cannot answer, or not as a method of the chain asks.
    """
    plain = policy.model_copy(
        update={
            "action": Annotate(),
            "cache": NoCacheConfig(),
            "calls": LiveCallsConfig(),
            "journal": None,
            "observers": (),
            "on_error": "annotate",
            "when": None,
        }
    )
    with SimulatedProvider(seed=7) as server:
        guard = Guard(plain, model="simulated", provider=_Redirected(server))
        needs_calls, needs_document = _needs_calls(plain), _needs_document(guard)
        answer = guard.ask(
            _TOOL_CALL if needs_calls else _QUESTION,
            references=[_DOCUMENT] if needs_document else (),
        )
    for step in answer.verdict.steps:
        # A question that was repeated, and those left out because of the answer, are no estimate.
        if step.undetermined:
            raise _UnreadableError(f"the simulated model is no judge for method {step.method!r}")
    check = answer.verdict.usage
    return _Measured(
        answer=replace(
            answer.usage,
            calls=answer.usage.calls - check.calls,
            prompt_tokens=answer.usage.prompt_tokens - check.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens - check.completion_tokens,
        ),
        check=check,
        sentences=len(answer.verdict.sentences),
        circumstances=(", after a tool call" if needs_calls else "")
        + (", with a document" if needs_document else ""),
    )


def _needs_calls(policy: Policy) -> bool:
    """Return whether a method compares with tool calls, without which it would ask no judge."""
    return any(step.method_name == "actions" for step in policy.chain)


def _needs_document(guard: Guard) -> bool:
    """Return whether a method compares with documents, without which it would ask no judge."""
    if GuardRuntime(guard).required_by("references") is not None:
        return True
    evidence = [getattr(step, "evidence", None) for step in guard.policy.chain]
    return "documents" in evidence or "references" in evidence
