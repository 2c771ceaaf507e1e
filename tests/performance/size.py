"""How large the package is: files, lines of code, and the wheel."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path

import typer

from test_architecture import MODULES, ROOT

_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Count lines that are neither blank, nor a comment, nor part of a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def wheel_kb() -> float:
    """Build the wheel, and return its size in kB."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run(command, check=True, capture_output=True)
        return next(Path(folder).glob("*.whl")).stat().st_size / 1000


def size() -> None:
    """How large the package is: code, files, and the wheel."""
    packages: dict[str, int] = defaultdict(int)
    for name, path in MODULES.items():
        packages[".".join(name.split(".")[:2])] += code_lines(path.read_text(encoding="utf-8"))
    for package, count in sorted(packages.items(), key=lambda item: -item[1]):
        typer.echo(f"{count:7,} {package}")
    typer.echo(f"{sum(packages.values()):7,} lines of code")
    typer.echo(f"{len(MODULES):7,} files")
    typer.echo(f"{wheel_kb():7,.0f} kB of wheel")
