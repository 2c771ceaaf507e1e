"""What the README, the pages and the examples say must work."""

from __future__ import annotations

import ast
import asyncio
import gc
import logging
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from xml.etree import ElementTree

import pytest

from resay import Guard, Policy
from simulation import SimulatedInference, SimulatedProvider
from support.cli import resay_here
from support.docs import (
    EXAMPLES,
    ROOT,
    answered_by,
    create_files,
    installed_for,
    modules,
    remove_output,
    snippets,
)
from support.otel import forget_providers
from website import recording
from website.links import problems
from website.overview import PICTURE, drawing
from website.reference import FOLDER, reference_pages

SVG = "{http://www.w3.org/2000/svg}"
SVG_PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))


def blocks(language: str) -> list[str]:
    return [snippet.text for snippet in snippets(language)]


@contextmanager
def swept_loop() -> Iterator[None]:
    """Give LlamaIndex the event loop that it would make, and clear away what it leaves in there."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
    with warnings.catch_warnings():
        # It closes none of its asynchronous clients.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    # What is left are the frameworks, and to look through them again takes half a second each time.
    gc.freeze()


@contextmanager
def own_log() -> Iterator[None]:
    """Let a page set up the log for itself alone."""
    log = logging.getLogger("resay")
    level, handlers = log.level, log.handlers[:]
    yield
    log.setLevel(level)
    log.handlers[:] = handlers


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    create_files(folder)
    return folder


@pytest.fixture(scope="module")
def inference() -> Iterator[SimulatedInference]:
    with SimulatedInference() as inference:
        yield inference


@pytest.fixture
def openai_at_home(
    simulated: SimulatedProvider,
    inference: SimulatedInference,
    laid_out: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[SimulatedProvider]:
    """Send what goes to OpenAI, to Anthropic, or to an inference server, to simulated ones.

    It runs in a folder with the policy.
    """
    for name, value in answered_by(simulated).items():
        monkeypatch.setenv(name, value)
    shutil.copytree(laid_out, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    forget_providers(monkeypatch)
    monkeypatch.setenv("INFERENCE_URL", inference.url)
    with swept_loop(), own_log():
        yield simulated


def test_there_is_something_to_test() -> None:
    assert len(blocks("python")) >= 3
    assert len(blocks("yaml")) >= 5
    assert len(blocks("console")) >= 1
    assert len(EXAMPLES) >= 5


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.strip().splitlines()[-1])
def test_python_in_the_pages_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = compile(code, "README.md", "exec")
    copy_context().run(exec, page, {"__name__": "__readme__"})
    assert capsys.readouterr().out.strip()


SHOWN = [
    pytest.param(program, output, id=page)
    for page in ("README.md", "docs/cost.md", "docs/first-steps.md", "docs/how-it-works.md")
    for program, output in re.findall(
        r"^```python\n([^`]*)^```\n\n```text\n([^`]*)^```",
        (ROOT / page).read_text(),
        re.MULTILINE,
    )
]


@pytest.mark.parametrize(("program", "output"), SHOWN)
def test_a_program_of_a_guide_prints_what_the_guide_shows(
    program: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(program, "page", "exec"), {})
    printed = capsys.readouterr().out
    assert without_time(output) == without_time(printed)


def without_time(output: str) -> list[str]:
    """Return the lines of an output, without the seconds that it took."""
    return [re.sub(r"\b\d+\.\d s$", "… s", line.rstrip()) for line in output.splitlines()]


def test_three_guides_show_an_output() -> None:
    assert len(SHOWN) == 3


@pytest.mark.parametrize(("name", "code"), modules().items(), ids=modules())
def test_modules_in_the_pages_pass_their_tests(name: str, code: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(code)
    assert len(code.splitlines()) < 41
    options = ("-q", "-p", "no:cacheprovider", "-o", "addopts=")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* passed in", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("text", blocks("yaml"))
def test_policies_in_the_pages_are_valid(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The page on scorers names the one of the examples.
    monkeypatch.syspath_prepend(ROOT / "examples")
    Policy.parse(text)


COMMANDS = [
    line.removeprefix("$ ")
    for block in blocks("console")
    for line in block.splitlines()
    if line.startswith("$ resay")
]


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_pages_run(command: str) -> None:
    words = shlex.split(command)[1:]
    output = words[-1] if words[-2:-1] == [">"] else ""
    if output:
        words = words[:-2]
    remove_output(Path(), words)
    done = resay_here(*words)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.strip()
    if output:
        Path(output).write_text(done.stdout)


SERVERS = sorted(
    {
        line
        for page in ("README.md", "docs/first-steps.md")
        for line in re.findall(
            r"`(Guard\(model=(?:\"openai/[^\"]*\"|.*?, api_base=.*?)\))`", (ROOT / page).read_text()
        )
    }
)


@pytest.mark.parametrize("line", SERVERS)
def test_a_guard_for_a_server_asks_it(
    line: str, simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "simulated")
    monkeypatch.setenv("OPENAI_BASE_URL", simulated.base_url)
    here = re.sub(r'(?<=api_base=").*(?=")', simulated.base_url, line)
    guard = eval(here, {"Guard": Guard})
    assert "Harbour" in guard.ask("Tell me about the Sydney Harbour Bridge.").text
    assert simulated.calls >= 2


def test_there_are_lines_for_four_servers() -> None:
    assert len(SERVERS) == 4


def test_the_first_steps_run_as_they_are_written(tmp_path: Path) -> None:
    shell = shutil.which("bash")
    page = (ROOT / "docs" / "first-steps.md").read_text()
    blocks_of_page = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = [
        line.removeprefix("$ ")
        for block in blocks_of_page
        for line in block.splitlines()
        if not line.startswith("$ pip ")
    ]
    assert len(commands) >= 6
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        done = subprocess.run(
            [shell or "sh", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == (1 if "resay check" in command else 0), done.stderr
    assert "It has 31 lamps." in (tmp_path / "verdict.html").read_text()


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.yaml")), ids=lambda path: path.name)
def test_the_example_policies_are_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE", raising=False)
    Policy.load(path)


LINKING = (
    *(
        ROOT / f"{name}.md"
        for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")
    ),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("docs/reference/*.md")),
)


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors_of(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("name", reference_pages())
def test_a_page_made_from_the_code_is_current(name: str) -> None:
    """`make reference` writes them."""
    assert (FOLDER / name).read_text(encoding="utf-8") == reference_pages()[name]


def test_no_example_takes_a_verdict_for_granted() -> None:
    """`verdict_of` returns None for what was not checked, which type checkers refuse to pass."""
    files = [*LINKING, *ROOT.glob("examples/**/*.py"), *ROOT.glob("integrations/**/*.py")]
    careless = re.compile(r"verdict_of\([^()]*\)\.\w")
    assert len(files) > 50
    assert [path.name for path in files if careless.search(path.read_text())] == []


def test_no_other_page_is_said_to_be_made_from_the_code() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(reference_pages())


def test_the_picture_of_how_it_works_is_what_its_module_draws() -> None:
    """`PYTHONPATH=tests python -m website.overview` draws it."""
    assert PICTURE.read_text(encoding="utf-8") == drawing()


def recorded_lines() -> list[str]:
    """Return the lines of the recorded terminal, as somebody who copies them gets them."""
    lines: dict[str, str] = {}
    for element in ElementTree.parse(recording.PICTURE).iter(f"{SVG}text"):
        line = element.get("clip-path", "")
        lines[line] = lines.get(line, "") + (element.text or "")
    return [line.rstrip() for line in lines.values()]


def test_the_recording_is_of_the_first_program_and_within_what_is_promised() -> None:
    """`make pictures` records it."""
    lines = recorded_lines()
    program = blocks("python")[0].splitlines()
    start = lines.index("$ cat first.py") + 1
    assert lines[start : start + len(program)] == program
    assert "$ pip install resay" in lines
    times = re.findall(r"^ +([\d.]+) s, ([\d.]+) s of CPU$", "\n".join(lines), re.MULTILINE)
    environment, installation, check, question = [(float(wall), float(cpu)) for wall, cpu in times]
    assert environment[0] + installation[0] + check[0] < recording.MAX_WALL_S
    assert check[1] < recording.MAX_CHECK_CPU_S
    assert question[1] < recording.MAX_ASK_CPU_S


@pytest.mark.parametrize("picture", SVG_PICTURES, ids=lambda picture: picture.name)
def test_a_drawing_loads_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    assert not re.findall(r"<script|<foreignObject|@import|@font-face|href=", text)
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", text))


def test_a_program_of_the_tests_that_a_page_names_says_where_it_runs() -> None:
    section = "CONTRIBUTING.md#programs-that-the-pages-name"
    named: list[str] = []
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))):
        text = page.read_text()
        # The tests have modules of their own; `venv`, say, is none of them.
        for module in re.findall(r"python -m ([\w.]+)", text):
            path = ROOT / "tests" / module.replace(".", "/")
            if not (path.with_suffix(".py").exists() or (path / "__main__.py").exists()):
                continue
            named.append(module)
            has_link = f"[`python -m {module}" in text and section in text
            assert has_link or "after `make .venv/.dev`" in text, f"{page.name}: {module}"
    assert len(named) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_what_to_install(path: Path) -> None:
    installed = installed_for(path)
    assert installed[0].startswith("resay")
    # What it imports that no extra brings; tests/extras runs it with just this.
    imported = {line.split()[1].partition(".")[0] for line in imports_of(path)}
    for module, package in {
        "langchain": "langchain",
        "langchain_openai": "langchain-openai",
    }.items():
        assert (module in imported) == (package in installed)


def imports_of(path: Path) -> list[str]:
    return re.findall(r"^(?:from|import) .+", path.read_text(), re.MULTILINE)


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1500


def test_links_of_the_site_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="there">There</h1><a href="https://example.org/">')
    (tmp_path / "llms.txt").write_text("- [Gone](gone.md): no page\n")
    (tmp_path / "index.html").write_text(
        '<a href="other.html#there"><a href="other.html#gone"><a href="gone.html"><a href="#gone">'
        '<script src="https://example.org/script.js"></script>'
    )
    assert sorted(problems(tmp_path)) == [
        "index.html: #gone has no such anchor",
        "index.html: gone.html leads nowhere",
        "index.html: loads https://example.org/script.js",
        "index.html: other.html#gone has no such anchor",
        "llms.txt: gone.md leads nowhere",
    ]


def test_every_page_has_its_place_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = [path.name for path in ROOT.glob("docs/*.md")]
    assert pages
    assert not [name for name in pages if f" {name}\n" not in navigation]


def names_in(file: Path) -> set[str]:
    """Return what a module defines, and the methods and attributes of its classes."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found |= {node.name, *(f"{node.name}.{name}" for name in defined(node.body))}
    return found | defined(ast.parse(file.read_text()).body)


def defined(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


NAMED = [
    pytest.param(page, *found, id=":".join(found).removesuffix(":"))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))
    for found in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)(?::([\w.]+))?`", page.read_text())
    if found[0].partition("/")[0] not in ("v1", "beta", "openai", "anthropic", "ghcr")
    and not re.search("EXTRA|NAME", found[0])
]


@pytest.mark.parametrize(("page", "path", "name"), NAMED)
def test_files_and_names_that_the_pages_name_exist(page: Path, path: str, name: str) -> None:
    roots = (
        *("", "src", "src/resay", "integrations"),
        *("server/src", "server/src/resay_server", "lab/src", "lab/src/resay_lab"),
    )
    places = [ROOT / root / path for root in roots]
    found = [place for place in places if place.exists()]
    assert found, f"{page.name}: {path}"
    if name:
        assert name in names_in(found[0]), f"{page.name}: {path}:{name}"


def test_the_tests_that_the_page_on_security_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/security.md").read_text())
    assert len(named) > 50
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file}::{name}"


def test_each_promise_on_the_page_on_security_names_a_test() -> None:
    page = (ROOT / "docs/security.md").read_text().partition("## Promises")[2].partition("\n## ")[0]
    promises = re.findall(r"^- .+\n(?:  .+\n?)*", page, re.MULTILINE)
    assert len(promises) > 50
    assert all("::test_" in promise.splitlines()[-1] for promise in promises)
