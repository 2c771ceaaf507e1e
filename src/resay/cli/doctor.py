"""The command `resay doctor`: what is installed and configured here."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay._internal._version import __version__
from resay._internal.event_loops import run_sync
from resay.commands import (
    BAD_INPUT,
    NO_ANSWER,
    ApiBaseOption,
    ApiKeyEnvOption,
    connection_params,
)
from resay.errors import ConfigurationError, ProviderError
from resay.guard_core import check_usable
from resay.policy import Policy
from resay.policy.model import POLICY_VARIABLE
from resay.providers.litellm_problems import KEY_VARIABLES
from resay.providers.openai_compatible import OpenAICompatibleProvider

app = typer.Typer(add_completion=False)

# The distributions that show whether an extra is installed.
_EXTRAS: Mapping[str, str] = {
    "litellm": "litellm",
    "openai": "openai",
    "anthropic": "anthropic",
    "langchain": "langchain-core",
    "llamaindex": "llama-index-core",
    "server": "resay-server",
    "lab": "resay-lab",
    "mcp": "mcp",
    "nli": "torch",
    "onnx": "onnxruntime",
    "pdf": "pypdf",
    "qdrant": "qdrant-client",
    "redis": "redis",
    "otel": "opentelemetry-api",
    "sentencex": "sentencex",
    "stemming": "snowballstemmer",
}


@app.command()
def doctor(api_base: ApiBaseOption = None, api_key_env: ApiKeyEnvOption = None) -> None:
    """Show what is installed and configured, and whether a model's server answers.

    Of keys it shows whether they are set, never their values.
    """
    console = Console(highlight=False)
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    console.print(Text.assemble((f"resay {__version__}", "bold"), f"  {python}"))
    findings = [_policy_finding()]
    if api_base is not None:
        findings.append(_server_finding(connection_params(api_base, api_key_env)))
    # What is wrong comes first.
    findings.sort(key=lambda finding: finding.code == 0)
    for finding in findings:
        console.print(finding.text, soft_wrap=True)
    console.print(_keys_table())
    console.print(_extras_table())
    raise typer.Exit(max(finding.code for finding in findings))


@dataclass(frozen=True, slots=True)
class _Finding:
    """What was found about the policy or the server.

    Attributes:
        text: The line that says it.
        code: The exit code; 0 if nothing is wrong.
    """

    text: Text
    code: int = 0


def _extras_table() -> Table:
    table = Table("extra", "installed", title="Extras", title_justify="left", box=None)
    for extra, distribution in _EXTRAS.items():
        try:
            installed = Text(f"{distribution} {version(distribution)}", "green")
        except PackageNotFoundError:
            installed = Text(f"no: pip install 'resay[{extra}]'", "dim")
        table.add_row(extra, installed)
    return table


def _keys_table() -> Table:
    table = Table("provider", "variable", title="Keys", title_justify="left", box=None)
    for provider, names in KEY_VARIABLES.items():
        set_names = [name for name in names if os.environ.get(name)]
        if set_names:
            table.add_row(provider, Text(f"{set_names[0]} is set", "green"))
        else:
            table.add_row(provider, Text(f"{names[0]} is not set", "dim"))
    return table


def _policy_finding() -> _Finding:
    path = os.environ.get(POLICY_VARIABLE)
    source = "the default policy" if path is None else f"{path} ({POLICY_VARIABLE})"
    try:
        policy = Policy.configured()
        check_usable(policy)
    except ConfigurationError as error:
        return _Finding(Text(f"Policy: {source}: {error}", "red"), BAD_INPUT)
    steps = " -> ".join(step.method_name for step in policy.chain)
    return _Finding(Text(f"Policy: {source}: {steps}; action: {policy.action.do}"))


def _server_finding(params: Mapping[str, str]) -> _Finding:
    try:
        models = run_sync(OpenAICompatibleProvider(timeout_s=10).models, params)
    except ProviderError as error:
        return _Finding(Text(f"Server: {error}", "red"), NO_ANSWER)
    names = ", ".join(map(repr, models[:10])) + (", …" if len(models) > 10 else "")
    return _Finding(Text(f"Server: {params['api_base']} answers; models: {names or 'none'}"))
