"""The filter for rows."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, cast

from resay.errors import ConfigurationError
from resay_lab.batch.inputs import Rows, mapping_of

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_READ = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare),
    *(ast.Name, ast.Load, ast.Constant, ast.List, ast.Tuple, *_COMPARED),
)


class Where:
    """A filter for rows: comparisons of columns, joined by `and`, `or` and `not`.

    Only comparisons, column names, numbers, strings, lists and `len(column)` are supported; nothing
    else of Python is, and no code is run. A row for which a comparison is impossible, such as of a
    string with a number, is not selected.

    Args:
        text: The expression, such as `lang == 'de' and len(response) > 200`.

    Raises:
        ConfigurationError: It is anything else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError) as error:
            raise ConfigurationError(f"cannot parse --where {text!r}: {error}") from None
        for node in ast.walk(self._tree):
            if not isinstance(node, _READ) and not _is_len(node):
                raise ConfigurationError(
                    f"--where {text!r} may only compare columns, without {type(node).__name__};"
                    " write for example `lang == 'de' and len(response) > 200`"
                )

    @classmethod
    def of(cls, text: str | None, source: object, rows: Rows) -> Where | None:
        """Return a filter for an input that has its columns.

        Args:
            text: The expression; None or empty for no filter.
            source: The input, as the caller named it.
            rows: Its rows.

        Raises:
            ConfigurationError: It is no such expression, or no row has one of its columns.
        """
        if not text:
            return None
        where = cls(text)
        # An iterator can be read only once.
        if not isinstance(source, Iterator):
            where.require_columns(rows)
        return where

    def require_columns(self, rows: Rows) -> None:
        """Refuse a column that no row has. It reads only until each column was seen.

        Args:
            rows: The rows.

        Raises:
            ConfigurationError: There is such a column.
        """
        missing = dict.fromkeys(self._names())
        columns: dict[str, None] = {}
        for raw in rows:
            if not missing:
                return
            row = mapping_of(raw) or {}
            columns |= dict.fromkeys(row)
            for name in row:
                missing.pop(name, None)
        if not (missing and columns):
            return
        name = next(iter(missing))
        nearest = get_close_matches(name, columns, 1)
        remedy = f"the columns are {', '.join(map(repr, columns))}"
        if nearest:
            remedy = f"did you mean {nearest[0]!r}?"
        raise ConfigurationError(f"--where {self.text!r}: no row has a column {name!r}; {remedy}")

    def _names(self) -> list[str]:
        """Return the columns that it compares."""
        nodes = list(ast.walk(self._tree))
        functions = [node.func for node in nodes if isinstance(node, ast.Call)]
        return [node.id for node in nodes if isinstance(node, ast.Name) and node not in functions]

    def wants(self, row: Mapping[str, Any] | None) -> bool:
        """Return whether a row is selected; an invalid one is, so that it is reported."""
        if row is None:
            return True
        try:
            return bool(_value(self._tree.body, row))
        except (TypeError, KeyError):
            return False


def _is_len(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and not node.keywords
    )


def _value(node: ast.expr, row: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And)
        return (all if every else any)(_value(value, row) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, row)
        return not value if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.Compare):
        return _compared(node, row)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, row) for item in node.elts]
    if isinstance(node, ast.Call):
        return len(_value(node.args[0], row))
    return row[node.id] if isinstance(node, ast.Name) else cast("ast.Constant", node).value


def _compared(node: ast.Compare, row: Mapping[str, Any]) -> bool:
    left = _value(node.left, row)
    for test, other in zip(node.ops, node.comparators, strict=True):
        right = _value(other, row)
        if not _COMPARED[type(test)](left, right):
            return False
        left = right
    return True
