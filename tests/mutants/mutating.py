"""Makes mutants of a module: copies of its source, each with one small fault."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SWAPPED: Mapping[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
_NOT_RUN = ("annotation", "returns", "decorator_list", "bases")
# What says only how much work there is, so whether it is worth a thread or a turn for others.
_HINTS = frozenset(
    (
        *("chars", "_AVERAGING", "_BATCH_SIZE", "_COMPARING", "_DECISION_COST"),
        *("_FLAG_COST", "_JOIN_COST", "_SEARCH_COST"),
    )
)
_NO_CODE = (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Nonlocal)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one fault.

    Attributes:
        module: The module's full name.
        place: The function or class that has the fault, or the name that is assigned.
        before: The code that is replaced, as Python would write it.
        after: What replaces it.
        nth: Which of the equal pieces of code of that place it is, from 1.
        line: Where it is.
        original: The module's source.
        source: The same with the fault.
    """

    module: str
    place: str
    before: str
    after: str
    nth: int
    line: int
    original: str
    source: str

    @property
    def name(self) -> str:
        """What tells it from all other mutants, whatever else changes in the file."""
        again = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.module}:{self.place}: {self.before}  ->  {self.after}{again}"

    @property
    def diff(self) -> str:
        """The lines that differ."""
        old, new = self.original.splitlines(), self.source.splitlines()
        lines = difflib.unified_diff(old, new, lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its source.

    Left alone is what no test of behaviour is about: annotations, decorators, messages, tables of
    published figures, and what only type checkers read.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found: list[Mutant] = []
    for place, node, replacement in _faults(ast.parse(source)):
        before, after = ast.unparse(node), ast.unparse(replacement)
        seen[place, before, after] += 1
        nth, line = seen[place, before, after], getattr(node, "lineno", 0)
        mutated = _replaced(source, node, replacement)
        found.append(Mutant(module, place, before, after, nth, line, source, mutated))
    return found


def handmade(module: str, source: str, place: str, before: str, after: str) -> Mutant:
    """Return a mutant that somebody thought of.

    Raises:
        LookupError: The code that it replaces is not there, or is there more than once.
    """
    nodes = [
        node
        for where, node in _nodes(ast.parse(source))
        if where == place and isinstance(node, ast.expr) and ast.unparse(node) == before
    ]
    if len(nodes) != 1:
        raise LookupError(
            f"{module}:{place} has {before!r} {len(nodes)} times; correct it in HANDMADE"
        )
    mutated = _replaced(source, nodes[0], ast.parse(after, mode="eval").body)
    return Mutant(module, place, before, after, 1, nodes[0].lineno, source, mutated)


def sample(mutants: Sequence[Mutant], most: int) -> list[Mutant]:
    """Return the same few mutants of each function in every run, on every machine."""
    chosen: Counter[str] = Counter()
    kept: set[str] = set()
    for mutant in sorted(mutants, key=lambda m: hashlib.sha256(m.name.encode()).digest()):
        chosen[mutant.place] += 1
        if chosen[mutant.place] <= most:
            kept.add(mutant.name)
    return [mutant for mutant in mutants if mutant.name in kept]


def _faults(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    for place, node in _nodes(tree):
        yield from ((place, node, replacement) for replacement in _replacements(node))
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not _can_be_turned(node.test):
            yield place, node.test, ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.If):
            yield place, node.test, ast.Constant(False)
        if isinstance(node, ast.comprehension):
            yield from ((place, condition, ast.Constant(True)) for condition in node.ifs)


def _can_be_turned(test: ast.expr) -> bool:
    """Return whether another fault is the same as turning a condition round."""
    return isinstance(test, (ast.Compare, ast.UnaryOp))


def _nodes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that may be replaced, each with the place it belongs to."""
    for statement in tree.body:
        yield from _inside(statement, "")


def _inside(node: ast.AST, place: str) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, _NO_CODE) or _is_data(node) or _is_no_behaviour(node):
        return
    named = node.target if isinstance(node, ast.AnnAssign) else None
    if isinstance(node, ast.Assign):
        named = node.targets[0]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        place = f"{place}.{node.name}".lstrip(".")
    elif isinstance(named, ast.Name) and not place:
        place = named.id
        if place == "__all__":
            return
    yield place, node
    for name, value in ast.iter_fields(node):
        if name in _NOT_RUN:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child, place)


def _is_data(node: ast.AST) -> bool:
    """Return whether it is a table of figures: a test of it could only repeat them."""
    if not isinstance(node, (ast.Dict, ast.Set, ast.List, ast.Tuple)):
        return False
    values = node.values if isinstance(node, ast.Dict) else node.elts
    return len(values) > 3 and all(isinstance(value, ast.Constant) for value in values)


def _is_no_behaviour(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        # Where `zip(strict=True)` would raise, something else is wrong already.
        return node.arg in ("strict", "chars")
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith(("TYPE_CHECKING", "% _AT_ONCE == 0"))
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(target, ast.Name) and target.id in _HINTS
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "TypeVar")


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a fault would have in the place of a piece of code."""
    if isinstance(node, ast.Compare):
        yield from _compared(node)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        yield from _calculated(node)
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=_SWAPPED[type(node.op)][0]())
        for i in range(len(node.values)):
            rest = [*node.values[:i], *node.values[i + 1 :]]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from _called(node)
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _other_values(node.value))
    elif isinstance(node, ast.Subscript):
        yield from _picked(node)
    else:
        yield from _stated(node)


def _stated(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Continue, ast.Break)) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Constant, ast.Yield))
    ):
        yield ast.Pass()


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for i, operator in enumerate(node.ops):
        for other in _SWAPPED[type(operator)]:
            yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _calculated(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    # Text and types can be added, and that is all.
    if not any(
        isinstance(x, ast.JoinedStr)
        or (isinstance(x, ast.Constant) and isinstance(x.value, (str, type(None))))
        for x in operands
    ):
        for other in _SWAPPED.get(type(node.op), ()):
            yield _with(node, op=other())


def _called(node: ast.Call) -> Iterator[ast.AST]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in _CALLS:
        yield _with(node, func=ast.Name(_CALLS[function.id]))
        if function.id in ("any", "all"):
            first = ast.Call(ast.Name("iter"), node.args, [])
            yield ast.Call(ast.Name("next"), [first, ast.Constant(function.id == "all")], [])
    elif isinstance(function, ast.Attribute) and function.attr in ("min", "max"):
        yield _with(node, func=_with(function, attr=_CALLS[function.attr]))


def _other_values(value: object) -> Sequence[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [1]
    if isinstance(value, float):
        return [value * 1.5 if value else 0.5]
    return []


def _picked(node: ast.Subscript) -> Iterator[ast.AST]:
    index = node.slice
    if isinstance(index, ast.Slice):
        if index.lower is not None:
            yield _with(node, slice=_with(index, lower=None))
        if index.upper is not None:
            yield _with(node, slice=_with(index, upper=None))
    elif isinstance(index, ast.Constant) and index.value == 0:
        yield _with(node, slice=ast.Constant(-1))
    elif ast.unparse(index) == "-1":
        yield _with(node, slice=ast.Constant(0))


def _with(node: ast.AST, **changed: object) -> ast.AST:
    fields = {name: getattr(node, name, None) for name in node._fields}
    return type(node)(**{**fields, **changed})


def _replaced(source: str, node: ast.expr | ast.stmt, replacement: ast.AST) -> str:
    """Return the source with other code in the place of a node; the rest stays as it is."""
    text = ast.unparse(replacement)
    if isinstance(node, ast.expr):
        text = f"({text})"
    lines = source.encode().splitlines(keepends=True)
    start, end = node.lineno - 1, node.end_lineno - 1
    head, tail = lines[start][: node.col_offset], lines[end][node.end_col_offset :]
    return b"".join([*lines[:start], head, text.encode(), tail, *lines[end + 1 :]]).decode()
