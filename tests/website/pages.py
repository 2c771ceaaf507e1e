"""Writes the pages of the site: those of docs/, and those whose content is elsewhere.

The keys of policies and of gateway files and the fields of verdicts come from their JSON Schemas,
the command line from typer, the methods and the Python API from the docstrings, the results in the
notebooks from running them, and the first page from the README.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import NO_CONVERT
from nbformat import read as read_notebook

from resay.cli.app import COMMANDS, imported
from resay.plugins import registry
from resay.policy import policy_schema
from resay_server.gateway import GatewayConfig
from resay_server.gateway.openapi.document import document
from website.links import problems

__all__ = ["build", "write_pages"]

ROOT = Path(__file__).resolve().parents[2]
# Pages of the site whose text is not in docs/.
BORROWED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "tests/versions.md": "versions.md",
}
API = {
    "Checking": ("resay", "A guard, and what it returns. Errors derive from `ResayError`."),
    "Batches": ("resay_lab.batch", "Many answers at once: [Batches](../batch.md)."),
    "Calibration": (
        "resay_lab.calibration",
        "Thresholds from labels: [Calibration](../calibration.md).",
    ),
    "The journal": ("resay_server.journal", "Recorded verdicts: [The journal](../journal.md)."),
    "The gateway": (
        "resay_server.gateway",
        "A server in your process: [The gateway](../gateway.md).",
    ),
    "For adapters": (
        "resay.adapters",
        "A guard for those who build an adapter or a gateway.",
    ),
    "For your tests": ("resay.testing", "A simulated provider and its faults."),
}
_OTHERS = "[Other frameworks](../frameworks.md)"
ADAPTERS = {
    "OpenAI": ("resay_openai", "[With OpenAI's SDK](../openai.md)"),
    "Anthropic": ("resay_anthropic", "[With Anthropic's SDK](../anthropic.md)"),
    "LangChain": ("resay_langchain", "[With LangChain](../langchain.md)"),
    "LlamaIndex": ("resay_llamaindex", "[With LlamaIndex](../llamaindex.md)"),
    "LiteLLM": ("resay_litellm", "[With LiteLLM](../litellm.md)"),
    "Agent Framework": ("resay_frameworks.agent_framework", _OTHERS),
    "CrewAI": ("resay_frameworks.crewai", _OTHERS),
    "DSPy": ("resay_frameworks.dspy", _OTHERS),
    "Google ADK": ("resay_frameworks.google_adk", _OTHERS),
    "Haystack": ("resay_frameworks.haystack", _OTHERS),
    "LangGraph": ("resay_frameworks.langgraph", _OTHERS),
    "OpenAI Agents SDK": ("resay_frameworks.openai_agents", _OTHERS),
    "Pydantic AI": ("resay_frameworks.pydantic_ai", _OTHERS),
    "smolagents": ("resay_frameworks.smolagents", _OTHERS),
    "MCP": ("resay_mcp", "[For agents](../mcp.md)"),
}
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def write_pages(folder: Path, nav: Sequence[Any]) -> None:
    """Write all pages, ready for a generator of sites.

    Args:
        folder: Where to write; what is there is replaced.
        nav: The navigation of mkdocs.yml, for llms.txt.
    """
    shutil.rmtree(folder, ignore_errors=True)
    docs = ROOT / "docs"
    shutil.copytree(docs / "pictures", folder / "pictures")
    shutil.copytree(docs / "notebooks", folder / "notebooks")
    pages = {path.name: path.read_text() for path in sorted(docs.glob("*.md"))}
    pages |= {page: (ROOT / source).read_text() for source, page in BORROWED.items()}
    pages = {name: _with_links_led(name, text) for name, text in pages.items()}
    pages |= {
        "reference/policy.md": policy_page(policy_schema()),
        "reference/methods.md": methods_page(registry()),
        "reference/verdict.md": verdict_page(document()["components"]["schemas"]),
        "reference/gateway.md": gateway_page(GatewayConfig.model_json_schema()),
        "reference/cli.md": cli_page(),
        "reference/api.md": api_page("Python API", API),
        "reference/adapters.md": api_page("Adapters", ADAPTERS),
        **{f"notebooks/{path.stem}.md": notebook_page(path) for path in _notebooks()},
        **{_page_of(path): _file_page(path) for path in sorted({*_linked_files()})},
    }
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "llms.txt").write_text(_listing(nav, pages))


def _with_links_led(name: str, text: str) -> str:
    """Lead links to files of the repository to their pages on the site."""
    source = next((own for own, made in BORROWED.items() if made == name), f"docs/{name}")

    def led(found: re.Match[str]) -> str:
        start, target, anchor = found.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        return f"{start}{_page_of(path)}{anchor or ''})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(led, part) for part in parts)


def _listing(nav: Sequence[Any], pages: Mapping[str, str]) -> str:
    """Return llms.txt: each page with its first sentence."""
    lines = ["# Resay", "", f"> {_summary(pages['index.md'])}", "", "## Start", ""]
    sections = [one for one in nav if not isinstance(next(iter(one.values())), str)]
    for one in (*(one for one in nav if one not in sections), *sections):
        ((title, value),) = one.items()
        if not isinstance(value, str):
            lines += ["", f"## {title}", ""]
        for entry in [value] if isinstance(value, str) else value:
            name = next(iter(entry.values())) if isinstance(entry, dict) else entry
            heading = re.search(r"^# (.+)$", pages[name], re.MULTILINE)
            lines.append(f"- [{heading[1] if heading else name}]({name}): {_summary(pages[name])}")
    return "\n".join(lines) + "\n"


def _summary(text: str) -> str:
    """Return the first sentence of a page."""
    prose = re.sub(r"^```.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)
    paragraphs = re.split(r"\n\s*\n", prose)
    first = next((p for p in paragraphs if re.match(r"[A-Z`*]", p)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split())).replace("**", "")
    return re.split(r"(?<=[.!?:]) (?=[A-Z`])", plain)[0].rstrip(":")


def _page_of(path: str) -> str:
    if path in BORROWED:
        return BORROWED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path.lstrip('.')}.md"


def _linked_files() -> Iterator[str]:
    """Yield the files and folders that pages link to and that are no pages themselves."""
    for page in (*(ROOT / name for name in BORROWED), *sorted((ROOT / "docs").glob("*.md"))):
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for _, target, _ in _LINK.findall(prose):
            path = (page.parent / target).resolve().relative_to(ROOT).as_posix()
            if path not in BORROWED and not path.startswith("docs/"):
                yield path


def _file_page(name: str) -> str:
    path = ROOT / name
    if path.is_dir():
        listed = "\n".join(f"- `{one.name}`" for one in sorted(path.iterdir()) if one.is_file())
        return f"# {name}\n\n{listed}\n"
    language = {".py": "python", ".yaml": "yaml", ".json": "json", ".ts": "ts"}.get(
        path.suffix, "text"
    )
    return f"# {name}\n\n````{language}\n{path.read_text()}````\n"


# The policy ---------------------------------------------------------------------------------------


def policy_page(schema: Mapping[str, Any]) -> str:
    """Return the keys of a policy, as tables.

    Args:
        schema: The JSON Schema of policies.
    """
    introduction = (
        "Every key of a policy file, from the JSON Schema that `resay policy schema` prints."
        " `resay policy check FILE` reports mistakes with file and line. [How a check"
        " runs](../runtime.md) and [Methods](../methods.md) explain the keys. `${NAME}` stands for"
        " an environment variable wherever a value does."
    )
    return _schema_page("Policy keys", introduction, schema, schema["$defs"])


def verdict_page(schemas: Mapping[str, Any]) -> str:
    """Return the fields of a verdict, as tables.

    Args:
        schemas: The schemas of the gateway's OpenAPI document.
    """
    introduction = (
        "The JSON of a verdict, as `Verdict.to_dict()` returns it and responses have it under"
        " `hallucination`. The attributes of `resay.Verdict` have the same names. Where content is"
        " left out, texts are missing, and scores and offsets stay."
    )
    return _schema_page(
        "Verdict fields", introduction, schemas["Verdict"], schemas, with_defaults=False
    )


def gateway_page(schema: Mapping[str, Any]) -> str:
    """Return the keys of a gateway file, as tables.

    Args:
        schema: The JSON Schema of gateway files.
    """
    introduction = (
        "Every key of the file that `resay serve --config` reads: [The gateway](../gateway.md)."
    )
    return _schema_page("Gateway keys", introduction, schema, schema["$defs"])


def _schema_page(
    title: str,
    introduction: str,
    schema: Mapping[str, Any],
    definitions: Mapping[str, Any],
    *,
    with_defaults: bool = True,
) -> str:
    """Return a table of an object's keys, and one of each object in it."""
    lines = [f"# {title}", "", introduction, ""]
    keys = _Keys(definitions, with_defaults=with_defaults)
    lines += keys.table(schema)
    while keys.left:
        name, given = keys.left.popleft()
        lines += [f"## {name} {{ #{_slug(name)} }}", ""]
        if given.get("description"):
            lines += [_inline(given["description"]), ""]
        lines += keys.table(given)
    return "\n".join(lines) + "\n"


class _Keys:
    """Writes tables of keys, and finds which tables there must be.

    Args:
        definitions: The `$defs` of the schema.
        with_defaults: Whether tables say which keys are required, and the defaults of others.
    """

    def __init__(self, definitions: Mapping[str, Any], *, with_defaults: bool = True) -> None:
        self._with_defaults = with_defaults
        self.left: deque[tuple[str, Mapping[str, Any]]] = deque()
        self._definitions = definitions
        self._names: dict[tuple[object, ...], str] = {}

    def table(self, given: Mapping[str, Any]) -> list[str]:
        """Return the keys of an object."""
        lines = ["| key | type | default | |", "|---|---|---|---|"]
        if not self._with_defaults:
            lines = ["| field | type | |", "|---|---|---|"]
        for key, one in given.get("properties", {}).items():
            row = [f"`{key}`", self._type(one, key), _inline(one.get("description", ""))]
            if self._with_defaults:
                default = "required" if key in given.get("required", ()) else ""
                if "default" in one and not isinstance(one["default"], dict):
                    default = f"`{json.dumps(one['default'])}`"
                row.insert(2, default)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
        return [*lines, ""]

    def _type(self, given: Mapping[str, Any], key: str) -> str:
        """Return a type as people write it."""
        if "$ref" in given:
            return self._type(self._definitions[given["$ref"].rpartition("/")[2]], key)
        if "properties" in given:
            return self._link(given, key)
        if "const" in given:
            return f"`{given['const']}`"
        if "enum" in given:
            return ", ".join(f"`{one}`" for one in given["enum"])
        if several := given.get("anyOf", given.get("oneOf")):
            kinds = [self._type(one, key) for one in several if one.get("pattern") != r"\$\{"]
            return " or ".join(dict.fromkeys(kinds))
        if given.get("type") == "array":
            return "list of " + self._type(given.get("items", {}), key)
        values: list[Any] = [
            given.get("additionalProperties"),
            *given.get("patternProperties", {}).values(),
        ]
        if kinds := [self._type(value, key) for value in values if isinstance(value, dict)]:
            return "mapping to " + kinds[0]
        return _bounded(given)

    def _link(self, given: Mapping[str, Any], key: str) -> str:
        """Return a link to an object's own table."""
        # The schema repeats an object wherever it can be: one table is enough.
        same = (given.get("title"), given.get("description"), *given["properties"])
        if same not in self._names:
            properties = given["properties"]
            constants = {k: one["const"] for k, one in properties.items() if "const" in one}
            kind = constants.get("method") or next(iter(constants.values()), None)
            if kind is None and "method" in properties and self._with_defaults:
                kind = "your own"
            name = f"{key}: {kind}" if kind else key
            if name in self._names.values():
                name = f"{name} ({given['title']})"
            self._names[same] = name
            self.left.append((name, given))
        name = self._names[same]
        return f"[{name.partition(': ')[2] or name}](#{_slug(name)})"


def _bounded(given: Mapping[str, Any]) -> str:
    names = {"string": "text", "boolean": "true or false", "object": "mapping"}
    kind = str(given.get("type", "anything"))
    bounds = [
        f"{sign} {given[key]:.10g}"
        for key, sign in (
            *(("minimum", "≥"), ("exclusiveMinimum", ">")),
            *(("maximum", "≤"), ("exclusiveMaximum", "<")),
        )
        if key in given
    ]
    return " ".join([names.get(kind, kind), ", ".join(bounds)]).strip()


def _slug(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name.lower()).strip("-")


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("${", "$\\{").replace("<", "&lt;")


# The methods --------------------------------------------------------------------------------------


def methods_page(scorers: Mapping[str, type[Any]]) -> str:
    """Return what the module of each method says: its paper, its equations and its cost.

    Args:
        scorers: The scorer classes by method name.
    """
    lines = [
        "# Methods and their papers",
        "",
        "What each method computes, with the sections and equations of its paper:"
        " [Methods](../methods.md) says which to choose.",
        "",
    ]
    for name, scorer in scorers.items():
        title, _, text = inspect.cleandoc(sys.modules[scorer.__module__].__doc__ or "").partition(
            "\n"
        )
        settings = f"[Settings](policy.md#{_slug(f'chain: {name}')})"
        lines += [f"## {title.rstrip('.')}", "", settings, "", _escaped(text.strip()), ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Return a docstring as Markdown that shows its prose as it is; formulas are indented."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)
            continue
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [re.sub(r"([<*_|])", r"\\\1", prose) for prose in parts[::2]]
        lines.append("".join(parts))
    return "\n".join(lines)


# The command line ---------------------------------------------------------------------------------


def cli_page() -> str:
    """Return all commands, with their arguments and options."""
    lines = [
        "# Command line",
        "",
        "`resay COMMAND --help` prints the same. Exit codes: 0 consistent or skipped, 1 flagged,"
        " 2 bad input, 3 inconclusive, 4 the model gave no answer, 5 internal error or unwritable"
        " output, 130 interrupted, 141 output pipe closed.",
        "",
    ]
    for name in COMMANDS:
        lines += _command(f"resay {name}", imported(name), "##")
    return "\n".join(lines) + "\n"


def _command(name: str, command: Any, level: str) -> list[str]:
    context = command.context_class(command, info_name=name)
    records = [one.get_help_record(context) for one in command.params if one.name != "help"]
    lines = [f"{level} {name}", "", *_help(command.help or "")]
    if rows := [f"| `{left}` | {_cell(right)} |" for left, right in filter(None, records)]:
        lines += ["| | |", "|---|---|", *rows, ""]
    for key, one in getattr(command, "commands", {}).items():
        lines += _command(f"{name} {key}", one, level + "#")
    return lines


def _cell(text: str) -> str:
    return _inline(text).replace("|", "\\|").replace("[", "\\[")


def _help(text: str) -> list[str]:
    paragraphs = re.split(r"\n\s*\n", text.replace("\b", "").replace("\f", ""))
    return [line for one in paragraphs for line in (_inline(one), "")]


# The Python API -----------------------------------------------------------------------------------


def api_page(title: str, modules: Mapping[str, tuple[str, str]]) -> str:
    """Return a page that mkdocstrings fills from the docstrings of public names."""
    lines = [f"# {title}", ""]
    for heading, (module, told) in modules.items():
        lines += [f"## {heading}", "", f"`import {module}`. {told}", ""]
        for name in _public(module):
            lines += [f"::: {module}.{name}", ""]
    return "\n".join(lines) + "\n"


def _public(module: str) -> list[str]:
    """Return the names that a module makes public, read from its text: some need a framework."""
    for root in (ROOT / "src", ROOT / "integrations", ROOT / "server/src", ROOT / "lab/src"):
        path = root / module.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path.exists():
            listed = re.search(r"^__all__ = \[(.*?)\]", path.read_text(), re.MULTILINE | re.DOTALL)
            if listed:
                return re.findall(r'"(\w+)"', listed[1])
    return list(import_module(module).__all__)


# The notebooks ------------------------------------------------------------------------------------


def _notebooks() -> list[Path]:
    return sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def notebook_page(path: Path) -> str:
    """Run a notebook, and return its cells and their results.

    Raises:
        CellExecutionError: A cell fails.
    """
    notebook = read_notebook(path, NO_CONVERT)
    with TemporaryDirectory() as sockets:
        kernel = KernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        try:
            NotebookClient(notebook, km=kernel, timeout=120).execute()
        finally:
            kernel.shutdown_kernel(now=True)
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [_output(one) for one in cell.outputs]
    title, *rest = parts
    note = f"[Download the notebook]({path.name}). The results are those of building this page."
    return "\n\n".join([title, note, *rest]) + "\n"


def _output(given: Mapping[str, Any]) -> str:
    if given["output_type"] == "stream":
        return f"```text\n{given['text'].rstrip()}\n```"
    data = given.get("data", {})
    if "text/html" in data and "<table" in data["text/html"]:
        table = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        return re.sub(r"\n\s*", "\n", table).strip()
    return f"```text\n{data.get('text/plain', '')}\n```"


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names functions of Python, without them."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def build() -> int:
    """Write the pages, have the site made of them, and look for links that lead nowhere.

    Returns:
        The exit status.
    """
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)
    pages, site = ROOT / settings["docs_dir"], ROOT / settings["site_dir"]
    write_pages(pages, settings["nav"])
    shutil.rmtree(site, ignore_errors=True)
    zensical = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(zensical, cwd=ROOT, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout + done.stderr)
    if done.returncode or "No issues found" not in done.stdout + done.stderr:
        return 1
    for page in pages.rglob("*.md"):  # llms.txt leads to them
        shutil.copy(page, site / page.relative_to(pages))
    found = sorted({*problems(site)})
    sys.stdout.write("\n".join([*found, f"{len(found)} broken links", ""]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(build())
