"""Small expressions in configurations: arithmetic, comparisons and names, evaluated safely without Python's eval."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleet_sim.base.errors import InvalidValueError, did_you_mean


def _round(value: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > _MOST_DIGITS:
        # Python computes the power of ten first, of any size.
        raise ValueError(f"round takes up to {_MOST_DIGITS} digits")
    return round(value, digits)


CONSTANTS: dict[str, float] = {"pi": math.pi, "PI": math.pi, "e": math.e, "inf": math.inf}
MODULES = ("math", "np", "numpy")
"""Names before a point that may stand before a constant or a function: `np.pi`."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
    "round": _round,
    "int": int,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "floor": math.floor,
    "ceil": math.ceil,
    "radians": math.radians,
    "degrees": math.degrees,
    # As NumPy calls them: arithmetic in files is marked by `!np`.
    "deg2rad": math.radians,
    "rad2deg": math.degrees,
    "arctan2": math.atan2,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "log2": math.log2,
    "log10": math.log10,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "array": list,
}
_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LARGEST_EXPONENT = 64
# As many as the exponent of a float64 allows.
_MOST_BITS = 1024
_LONGEST = 10_000
_MOST_DIGITS = 30


class Expression:
    """An expression of numbers, lists, names, + - * / // % **, comparisons, and, or, not, and FUNCTIONS.

    The constructor raises InvalidValueError for anything else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise InvalidValueError(f"an expression has at most {_LONGEST} characters, got {len(text)}")
        try:
            # Parsed once: conditions are evaluated in every step.
            self._body = _without_modules(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InvalidValueError(f"{text!r} is not an expression: {error}") from error
        self.names = frozenset(_names(self._body, text))

    def check_names(self, names: Iterable[str]) -> None:
        """Raise InvalidValueError if the expression uses a name that is not in `names`."""
        known = {*names, *CONSTANTS}
        for name in sorted(self.names - known):
            raise InvalidValueError(f"unknown name {name!r} in {self.text!r}.{did_you_mean(name, known)}")

    def value(self, names: Mapping[str, Any] | None = None) -> Any:
        # Everything that arithmetic can raise; what is none of these is a fault of ours.
        """Return the value for the given values of `names`; raises InvalidValueError if it cannot be computed."""
        try:
            return self._value(self._body, names or {})
        except (ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as error:
            if isinstance(error, InvalidValueError):
                raise
            raise InvalidValueError(f"{self.text!r} has no value: {error}") from error

    def _value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """Return the value of a node; only the kinds that were let in when it was parsed come here."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id, names)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(item, names) for item in node.elts]
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](self._value(node.operand, names))
        if isinstance(node, ast.BoolOp):
            # A generator, so that evaluation stops at the value that decides, as in Python.
            values = (self._value(item, names) for item in node.values)
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.BinOp):
            return self._binary(node, names)
        if isinstance(node, ast.Compare):
            return self._compared(node, names)
        if isinstance(node, ast.Subscript):
            return self._value(node.value, names)[self._value(node.slice, names)]
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return FUNCTIONS[node.func.id](*(self._value(item, names) for item in node.args))

    def _named(self, name: str, names: Mapping[str, Any]) -> Any:
        # Names of the caller win over constants: a metric may well be called `e`.
        if name in names:
            return names[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise InvalidValueError(f"unknown name {name!r} in {self.text!r}.{did_you_mean(name, {*names, *CONSTANTS})}")

    def _binary(self, node: ast.BinOp, names: Mapping[str, Any]) -> Any:
        return combined(_SYMBOLS[type(node.op)], self._value(node.left, names), self._value(node.right, names))

    def _compared(self, node: ast.Compare, names: Mapping[str, Any]) -> bool:
        """Return the result of a comparison, which may be chained."""
        left = self._value(node.left, names)
        for symbol, item in zip(node.ops, node.comparators, strict=True):
            right = self._value(item, names)
            if not _COMPARE[type(symbol)](left, right):
                return False
            # Chained, as in Python: `a < b < c` is `a < b and b < c`.
            left = right
        return True


def combined(symbol: str, left: Any, right: Any) -> Any:
    """Return `left symbol right`, such as 2 + 3; lists are combined item by item, as arrays are.

    Raises ValueError for what is not a number, for lists of other lengths, and for results that are too large.
    """
    sides = [len(side) for side in (left, right) if isinstance(side, list)]
    if sides:
        if len(set(sides)) > 1:
            raise ValueError(f"lists of {sides[0]} and {sides[1]} items cannot be combined")
        lefts, rights = (side if isinstance(side, list) else [side] * sides[0] for side in (left, right))
        return [combined(symbol, *pair) for pair in zip(lefts, rights, strict=True)]
    if not all(isinstance(side, (int, float)) for side in (left, right)):
        raise ValueError("arithmetic is for numbers")
    if symbol == "**":
        # A mistyped exponent must not use up the memory of the machine.
        if abs(right) > _LARGEST_EXPONENT:
            raise ValueError(f"exponents go up to {_LARGEST_EXPONENT}")
        # Powers of powers multiply their digits at each level; no number here needs more than a float can hold.
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > _MOST_BITS:
            raise ValueError("the result is too large")
        return left**right
    result = _BINARY[symbol](left, right)
    # Sums and products grow, too, if slowly; the bound keeps their growth from adding up.
    if isinstance(result, int) and result.bit_length() > _MOST_BITS:
        raise ValueError("the result is too large")
    return result


_NODES = (
    *(ast.List, ast.Tuple, ast.Subscript, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.expr_context),
    *(ast.And, ast.Or),
    *(*_SYMBOLS, *_UNARY, *_COMPARE),
)


class _ModuleNames(ast.NodeTransformer):
    """Reads `np.pi` as `pi`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        known = node.attr in FUNCTIONS or node.attr in CONSTANTS
        if known and isinstance(node.value, ast.Name) and node.value.id in MODULES:
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node


def _without_modules(body: ast.expr) -> ast.expr:
    plain: ast.expr = _ModuleNames().visit(body)
    return plain


def _names(node: ast.AST, text: str) -> list[str]:
    """Return the names used in `node`; raises InvalidValueError for syntax that is not allowed."""
    # Before anything else is looked at, as a name is by far the most common node.
    # An allow-list of node types: anything not listed here, such as an attribute access, is rejected.
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        return []
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in FUNCTIONS or node.keywords:
            raise InvalidValueError(f"unknown function {name!r} in {text!r}.{did_you_mean(name, FUNCTIONS)}")
        return [found for item in node.args for found in _names(item, text)]
    if not isinstance(node, _NODES):
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise InvalidValueError(f"{what!r} is not allowed in the expression {text!r}")
    return [found for child in ast.iter_child_nodes(node) for found in _names(child, text)]
