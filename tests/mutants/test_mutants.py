"""The faults are those that are named, and a test that would notice one does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.mutating import handmade, mutants_of, sample
from mutants.table import EQUIVALENT, HANDMADE, TESTS, handmade_of, source_of

SOURCE = '''
from __future__ import annotations

LEAST: int = 4


def clip(value: float | None, scores: list[float], name: str = "none") -> float:
    """Not more than 1."""
    if value is None or value < 0.5:
        return 0.0
    log(f"{value - 1}")
    return min(value, scores[0]) + sum(s for s in scores if not s) if LEAST else -value
'''
FAULTS = [
    "LEAST: 4  ->  5",
    "LEAST: 4  ->  3",
    "clip: value is None or value < 0.5  ->  not (value is None or value < 0.5)",
    "clip: value is None or value < 0.5  ->  False",
    "clip: value is None or value < 0.5  ->  value is None and value < 0.5",
    "clip: value is None or value < 0.5  ->  value < 0.5",
    "clip: value is None or value < 0.5  ->  value is None",
    "clip: value is None  ->  value is not None",
    "clip: value < 0.5  ->  value <= 0.5",
    "clip: value < 0.5  ->  value >= 0.5",
    "clip: 0.5  ->  0.75",
    "clip: 0.0  ->  0.5",
    "clip: log(f'{value - 1}')  ->  pass",
    "clip: min(value, scores[0])  ->  max(value, scores[0])",
    "clip: scores[0]  ->  scores[-1]",
    "clip: 0  ->  1",
    "clip: not s  ->  True",
    "clip: not s  ->  s",
    "clip: -value  ->  value",
]


def test_each_fault_is_one_small_change_of_what_runs() -> None:
    mutants = mutants_of("m", SOURCE)
    names = {mutant.name.removeprefix("m:") for mutant in mutants}
    assert names >= set(FAULTS)
    assert len(names) == len(mutants)
    for mutant in mutants:
        compile(mutant.source, "m.py", "exec")
        changed = {line[0] for line in mutant.diff.splitlines()}
        assert changed == {"-", "+"}
        assert "Not more than 1." in mutant.source
    # Messages, and what only type checkers read, are left alone.
    assert not any("value - 1" in m.before and m.after != "pass" for m in mutants)
    assert not any(m.before.startswith("float") for m in mutants)


def test_a_sample_is_the_same_whatever_stands_before_it() -> None:
    names = [mutant.name for mutant in sample(mutants_of("m", SOURCE), 3)]
    moved = mutants_of("m", SOURCE.replace("LEAST", "\n\nMOST = 9\nLEAST", 1))
    names_after_move = [mutant.name for mutant in sample(moved, 3) if mutant.scope != "MOST"]
    assert names == names_after_move
    assert sum(name.startswith("m:clip") for name in names) == 3


def test_modules_tests_and_faults_of_the_table_exist() -> None:
    faults: set[str] = set()
    for module, files in TESTS.items():
        source = source_of(module).read_text(encoding="utf-8")
        faults |= {mutant.name for mutant in mutants_of(module, source)}
        assert len(handmade_of(module, source)) == len(HANDMADE.get(module, ()))
        for file in files:
            assert (Path(__file__).parents[1] / file).is_file()
    # Where the code has changed, somebody has to look again whether the fault can be noticed.
    assert not set(EQUIVALENT) - faults
    assert len(EQUIVALENT) < len(faults) / 100


def test_code_that_is_gone_cannot_be_replaced() -> None:
    with pytest.raises(LookupError, match="'value > 1' 0 times"):
        handmade("m", SOURCE, "clip", "value > 1", "value >= 1")


TRIALS = """
import sys
from pathlib import Path
from mutants.running import Trial, preload, run

root = Path(sys.argv[1])
test = (str(root / "tests/test_it.py"),)
preload(root, test)
sources = ["LEAST = 4", "LEAST = 5", "LEAST = 4\\nwhile True: pass"]
trials = [Trial("it", source, test, cpu_s=0.3) for source in sources]
outcomes = dict(run(trials, 2, root))
print([(outcomes[i].passed, outcomes[i].late) for i in range(3)])
try:
    list(run([Trial("other", "", test)], 1, root))
except RuntimeError as error:
    print(error)
"""


def test_what_runs_is_the_mutant(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "src/it.py").write_text("LEAST = 4")
    (tmp_path / "tests/test_it.py").write_text("import it\ndef test_it(): assert it.LEAST == 4\n")
    paths = (str(tmp_path / "src"), str(Path(__file__).parents[1]))
    process = subprocess.run(
        [sys.executable, "-c", TRIALS, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes, error = process.stdout.splitlines() or [process.stderr, ""]
    assert outcomes == "[(True, False), (False, False), (False, True)]"
    assert error.endswith("never import other")
