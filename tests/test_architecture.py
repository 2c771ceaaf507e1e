"""Which room may know which."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "resay"

# From the top of the house to the ground floor. A module imports only what stands below it.
FLOORS = (
    {"__main__"},
    {"cli"},
    {"bench"},
    {"calibration"},
    {"gateway"},
    {"dashboard"},
    {"adapting", "journal", "report"},
    {"guard"},
    {"listening", "running", "streaming"},
    {"holding"},
    {"regenerating"},
    {"checking", "demands", "observing"},
    {"chain"},
    {"deciding"},
    {"board", "actions"},
    {"policy", "contradiction"},
    {"scorers"},
    {"apis", "evidence", "objects", "retrieval", "sources", "when"},
    {"testing"},
    {"providers", "models"},
    {"query", "verdict", "growing", "logprobs"},
    {"passage", "prices", "regeneration"},
    {"nearness", "segmentation", "tokens", "stopping"},
    {"documents", "unscored", "usage"},
    {"decision", "importing", "loops", "nesting", "one_of", "optional", "strict", "sync", "tasks"},
    {"telemetry", "telling"},
    {"errors", "_version"},
)
HEIGHT = {room: len(FLOORS) - i for i, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    names = [
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only
    ]
    return {name.split(".")[1] for name in names if name.startswith("resay.")}


@pytest.mark.parametrize("room", sorted({room_of(path) for path in MODULES}))
def test_a_room_imports_only_what_stands_below_it(room: str) -> None:
    for path in (path for path in MODULES if room_of(path) == room):
        above = {r for r in imported_rooms(path) - {room} if HEIGHT[r] >= HEIGHT[room]}
        # One floor may hold rooms that know each other; those are listed from left to right.
        assert not above, f"{path.relative_to(SOURCE)} must not know {above}"


def test_files_are_short() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert not {path: count for path, count in lines.items() if count > 800}
