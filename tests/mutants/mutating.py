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
# They estimate only how much work there is: whether it is worth a thread, or a pause for others.
_WORK_ESTIMATES = ("chars", "_AVERAGING", "_BATCH_SIZE", "_COMPARING")
_NO_CODE = (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Nonlocal)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one fault.

    Attributes:
        module: The module's full name.
        scope: The function or class that has the fault, or the name that is assigned.
        before: The code that is replaced, as Python would write it.
        after: What replaces it.
        nth: Which of the equal pieces of code in that scope it is, from 1.
        line: Where it is.
        original: The module's source.
        source: The same with the fault.
    """

    module: str
    scope: str
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
        return f"{self.module}:{self.scope}: {self.before}  ->  {self.after}{again}"

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
    occurrences: Counter[tuple[str, str, str]] = Counter()
    mutants: list[Mutant] = []
    for scope, node, replacement in _faults(ast.parse(source)):
        before, after = ast.unparse(node), ast.unparse(replacement)
        occurrences[scope, before, after] += 1
        mutants.append(
            Mutant(
                module=module,
                scope=scope,
                before=before,
                after=after,
                nth=occurrences[scope, before, after],
                line=getattr(node, "lineno", 0),
                original=source,
                source=_replaced(source, node, replacement),
            )
        )
    return mutants


def handmade(module: str, source: str, scope: str, before: str, after: str) -> Mutant:
    """Return a mutant that was written by hand.

    Raises:
        LookupError: The code that it replaces is not there, or is there more than once.
    """
    nodes = [
        node
        for node_scope, node in _nodes(ast.parse(source))
        if node_scope == scope and isinstance(node, ast.expr) and ast.unparse(node) == before
    ]
    if len(nodes) != 1:
        raise LookupError(
            f"{module}:{scope} has {before!r} {len(nodes)} times; correct it in HANDMADE"
        )
    return Mutant(
        module=module,
        scope=scope,
        before=before,
        after=after,
        nth=1,
        line=nodes[0].lineno,
        original=source,
        source=_replaced(source, nodes[0], ast.parse(after, mode="eval").body),
    )


def sample(mutants: Sequence[Mutant], maximum: int) -> list[Mutant]:
    """Return the same few mutants of each function in every run, on every machine."""
    counts: Counter[str] = Counter()
    names: set[str] = set()
    for mutant in sorted(mutants, key=lambda m: hashlib.sha256(m.name.encode()).digest()):
        counts[mutant.scope] += 1
        if counts[mutant.scope] <= maximum:
            names.add(mutant.name)
    return [mutant for mutant in mutants if mutant.name in names]


def _faults(tree: ast.Module) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield each fault: its scope, the node it replaces, and the replacement."""
    for scope, node in _nodes(tree):
        for replacement in _replacements(node):
            yield scope, node, replacement
        is_conditional = isinstance(node, (ast.If, ast.IfExp, ast.While))
        # Comparisons and `not` have been negated by `_replacements`.
        if is_conditional and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
            yield scope, node.test, ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.If):
            yield scope, node.test, ast.Constant(False)
        if isinstance(node, ast.comprehension):
            for condition in node.ifs:
                yield scope, condition, ast.Constant(True)


def _nodes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that may be replaced, each with its scope."""
    for statement in tree.body:
        yield from _nodes_within(statement, "")


def _nodes_within(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, _NO_CODE) or _is_data(node) or _is_no_behaviour(node):
        return
    target = node.target if isinstance(node, ast.AnnAssign) else None
    if isinstance(node, ast.Assign):
        target = node.targets[0]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}".lstrip(".")
    elif isinstance(target, ast.Name) and not scope:
        scope = target.id
        if scope == "__all__":
            return
    yield scope, node
    for name, value in ast.iter_fields(node):
        if name in _NOT_RUN:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes_within(child, scope)


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
        return ast.unparse(node.test).endswith(("TYPE_CHECKING", "% _BATCH_SIZE == 0"))
    if isinstance(node, ast.FunctionDef):
        return node.name.endswith("_cost")
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(target, ast.Name) and (
            target.id in _WORK_ESTIMATES or target.id.endswith("_COST")
        )
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "TypeVar")


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a fault would have in place of a node."""
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)):
        yield from _operations(node)
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=_SWAPPED[type(node.op)][0]())
        for i in range(len(node.values)):
            others = [*node.values[:i], *node.values[i + 1 :]]
            yield others[0] if len(others) == 1 else _with(node, values=others)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _constants(node.value))
    elif isinstance(node, ast.Subscript):
        yield from _subscripts(node)
    else:
        yield from _statements(node)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Continue, ast.Break)) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Constant, ast.Yield))
    ):
        yield ast.Pass()


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for i, operator in enumerate(node.ops):
        for other in _SWAPPED[type(operator)]:
            yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _operations(node: ast.BinOp | ast.AugAssign) -> Iterator[ast.AST]:
    operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    # Text and types can be added, and that is all.
    if not any(
        isinstance(x, ast.JoinedStr)
        or (isinstance(x, ast.Constant) and isinstance(x.value, (str, type(None))))
        for x in operands
    ):
        for other in _SWAPPED.get(type(node.op), ()):
            yield _with(node, op=other())


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in _CALLS:
        yield _with(node, func=ast.Name(_CALLS[function.id]))
        if function.id in ("any", "all"):
            first = ast.Call(ast.Name("iter"), node.args, [])
            yield ast.Call(ast.Name("next"), [first, ast.Constant(function.id == "all")], [])
    elif isinstance(function, ast.Attribute) and function.attr in ("min", "max"):
        yield _with(node, func=_with(function, attr=_CALLS[function.attr]))


def _constants(value: object) -> Sequence[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [1]
    if isinstance(value, float):
        return [value * 1.5 if value else 0.5]
    return []


def _subscripts(node: ast.Subscript) -> Iterator[ast.AST]:
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


def _with(node: ast.AST, **changes: object) -> ast.AST:
    fields = {name: getattr(node, name, None) for name in node._fields}
    return type(node)(**{**fields, **changes})


def _replaced(source: str, node: ast.expr | ast.stmt, replacement: ast.AST) -> str:
    """Return the source with other code in place of a node, and nothing else changed."""
    text = ast.unparse(replacement)
    if isinstance(node, ast.expr):
        text = f"({text})"
    lines = source.encode().splitlines(keepends=True)
    start, end = node.lineno - 1, node.end_lineno - 1
    head, tail = lines[start][: node.col_offset], lines[end][node.end_col_offset :]
    return b"".join([*lines[:start], head, text.encode(), tail, *lines[end + 1 :]]).decode()
