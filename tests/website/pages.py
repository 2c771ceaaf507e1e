"""Writes the pages of the site: those of docs/, and those whose content is elsewhere.

The command line comes from typer, the Python API from the docstrings, the results in the notebooks
from running them, and the first page from the README.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
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
from website.links import problems
from website.reference import inline, reference_pages

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
        **{f"reference/{name}": text for name, text in reference_pages().items()},
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
    return inline(text).replace("|", "\\|").replace("[", "\\[")


def _help(text: str) -> list[str]:
    paragraphs = re.split(r"\n\s*\n", text.replace("\b", "").replace("\f", ""))
    return [line for one in paragraphs for line in (inline(one), "")]


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
