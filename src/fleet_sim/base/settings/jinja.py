"""Renders templates with Jinja2, of which only what values need is allowed, within limits of time and memory.

Jinja2's sandbox keeps a template away from Python's insides, but not from loops without end nor from texts that fill
the memory. So the syntax is an allow-list, loops are counted, and what grows is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, meta, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.settings.expressions import CONSTANTS, FUNCTIONS, MODULES, combined

MOST_ROUNDS = 100_000
"""Of all loops of a template together."""
LONGEST_VALUE = 10_000
"""Of texts and lists that are put together, in characters and items."""
LONGEST_RESULT = 4 * 2**20
"""Of a rendered template, in characters."""

# None of them makes much of little, as `center` and `indent` do.
FILTERS = frozenset(
    ("abs", "all", "any", "count", "d", "default", "first", "float", "int", "join", "last", "length", "list", "lower")
    + ("max", "min", "round", "sort", "string", "sum", "trim", "unique", "upper")
)
_OPERATORS = {
    nodes.Add: "+",
    nodes.Sub: "-",
    nodes.Mul: "*",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Mod: "%",
    nodes.Pow: "**",
}
# What is not listed is refused: macros, imports, includes and blocks among it.
_NODES: tuple[type[nodes.Node], ...] = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict),
    *(nodes.Pair, nodes.Getitem, nodes.Getattr, nodes.Filter, nodes.Test, nodes.CondExpr, nodes.Assign, nodes.If),
    *(nodes.For, nodes.Compare, nodes.Operand, nodes.Neg, nodes.Pos, nodes.Not, nodes.And, nodes.Or, nodes.Call),
    *(nodes.Concat, nodes.Keyword, *_OPERATORS),
)


class WorldTemplate:
    """A template that was checked; `names` are the variables it asks for.

    What is allowed is checked before anything is compiled. `render` may be called with other values again; each call
    has limits of its own.
    """

    def __init__(self, text: str, source: str) -> None:
        """Raises ConfigError for what is not a template, or not allowed in one."""
        self._source = source
        self._environment = _Environment()
        try:
            self._read(text)
        except TemplateSyntaxError as error:
            self._fail(error.lineno, error.message or "not a template")
        except (RecursionError, SyntaxError, MemoryError) as error:
            # Jinja2 goes down the tree by recursion and makes Python of it, which has limits for blocks of its own.
            raise ConfigError("the template is nested too deep, or too long a sum", source=source) from error

    def _read(self, text: str) -> None:
        """Check and compile a template; as a tree first, so that a name or a call that is not listed never runs."""
        tree = self._environment.parse(text)
        self._check(tree)
        known = {*self._environment.globals}
        self.names = {name for name in meta.find_undeclared_variables(tree) if name not in known}
        limited = _Limits().visit(tree)
        self._template = self._environment.from_string(limited.set_environment(self._environment))

    def render(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the text for `values` of the variables, and what the template has set; raises ConfigError."""
        rounds = _Rounds()
        context = self._template.new_context({**values, "_rounds": rounds})
        try:
            text = "".join(_up_to_limit(self._template.root_render_func(context)))
        except UndefinedError as error:
            missing = (error.message or "").endswith("is undefined")
            advice = ": give it, as in config_from_yaml(path, width=6) or --set width=6, or write <{ w|default(6) }>"
            raise ConfigError(f"{error.message}{advice if missing else ''}", source=self._source) from error
        except (TemplateError, ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as error:
            raise ConfigError(f"the template cannot be rendered: {error}", source=self._source) from error
        return text, dict(context.get_exported())

    def _check(self, node: nodes.Node) -> None:
        """Raise ConfigError with the line for anything in a template that could do more than compute a text."""
        if not isinstance(node, _NODES):
            self._fail(node.lineno, f"{type(node).__name__.lower()} is not allowed in templates here")
        if isinstance(node, nodes.Name) and node.name.startswith("_"):
            self._fail(node.lineno, f"names do not begin with an underscore: {node.name}")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            self._fail(node.lineno, f"unknown filter {node.name!r}; known are {', '.join(sorted(FILTERS))}")
        if isinstance(node, nodes.Call) and not _is_known_function(node.node):
            self._fail(node.lineno, f"only functions are called here: range, {', '.join(sorted(FUNCTIONS))}")
        if isinstance(node, nodes.For) and node.recursive:
            self._fail(node.lineno, "recursive loops are not allowed")
        for child in node.iter_child_nodes():
            self._check(child)

    def _fail(self, line: int, message: str) -> NoReturn:
        raise ConfigError(f"line {line}: {message}", source=self._source)


def _is_known_function(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Getattr):
        return isinstance(node.node, nodes.Name) and node.node.name in MODULES and node.attr in FUNCTIONS
    return isinstance(node, nodes.Name) and (node.name in FUNCTIONS or node.name == "range")


class _Limits(NodeTransformer):
    """Lets each loop count its rounds, and measures each list and each text that is put together."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Count the rounds of a loop."""
        self.generic_visit(node)
        rounds = nodes.Getattr(nodes.Name("_rounds", "load"), "over", "load")
        node.iter = _call(rounds, [cast(nodes.Expr, node.iter)])
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Join texts by a function of this module."""
        self.generic_visit(node)
        return _call(nodes.Name("_joined", "load"), node.nodes)

    def visit_List(self, node: nodes.List) -> nodes.Node:
        """Measure a list: lists of lists of lists are short to write."""
        self.generic_visit(node)
        return _call(nodes.Name("_measured", "load"), [node])

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        """Measure a mapping."""
        self.generic_visit(node)
        return _call(nodes.Name("_measured", "load"), [node])

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        """Measure a tuple, but not names on the left of an assignment."""
        self.generic_visit(node)
        return node if node.ctx == "store" else _call(nodes.Name("_measured", "load"), [node])


def _call(function: nodes.Expr, arguments: list[nodes.Expr]) -> nodes.Call:
    return nodes.Call(function, arguments, [], None, None)


class _Rounds:
    """Counts the rounds of all loops of one rendering."""

    def __init__(self) -> None:
        self.left = MOST_ROUNDS

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """Return the items one by one; raises InvalidValueError after too many rounds."""
        for item in items:
            self.left -= 1
            if self.left < 0:
                raise InvalidValueError(f"its loops make more than {MOST_ROUNDS} rounds")
            yield item


class _Environment(ImmutableSandboxedEnvironment):
    """The syntax of RobotSwarmSimulator's worlds, with the functions of expressions in files."""

    intercepted_binops = frozenset(_OPERATORS.values())

    def __init__(self) -> None:
        super().__init__(
            # Not Jinja's usual braces, which YAML reads as mappings.
            block_start_string="<%",
            block_end_string="%>",
            variable_start_string="<{",
            variable_end_string="}>",
            line_statement_prefix="#%>",
            undefined=StrictUndefined,
            keep_trailing_newline=True,
        )
        functions: dict[str, Any] = {**FUNCTIONS, **CONSTANTS}
        # Set anew, not added to: Jinja's own include functions that fill the memory, such as `lipsum`.
        self.globals = {**functions, "range": _range, "_joined": _joined, "_measured": _measure}
        self.globals |= {name: SimpleNamespace(**functions) for name in MODULES}
        self.filters = {name: function for name, function in self.filters.items() if name in FILTERS}
        self.filters |= {"all": all, "any": any, "join": _join, "round": FUNCTIONS["round"]}

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right` of numbers, or put two texts or lists together."""
        # Sums of texts and lists grow, so they are measured; all else is for numbers.
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            return _measure(left + right)
        if operator == "+" and isinstance(left, list) and isinstance(right, list):
            return _measure(left + right)
        if not all(isinstance(side, (int, float)) for side in (left, right)):
            # An unknown variable is said to be unknown, and not to be no number.
            for side in (left, right):
                str(side)
            raise InvalidValueError(f"{operator}: arithmetic is for numbers, got {left!r} and {right!r}")
        return combined(operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may see this attribute: methods of values are of no use, as none may be called."""
        return not callable(value) or isinstance(obj, (SimpleNamespace, _Rounds))

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call it; which names may be called was checked before."""
        return True


def _measure(value: Any) -> Any:
    """Return `value`; raises InvalidValueError where it has too many items, those of inner lists counted each time."""
    # Without recursion, as lists may be nested deeply.
    left, waiting = LONGEST_VALUE, [value]
    while waiting:
        item = waiting.pop()
        left -= 1 if isinstance(item, (int, float, Undefined)) or item is None else len(item)
        if left < 0:
            raise InvalidValueError(f"a text or list has more than {LONGEST_VALUE} items")
        if isinstance(item, (list, tuple)):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
    return value


def _joined(*parts: Any) -> str:
    texts = [str(part) for part in parts]
    if sum(map(len, texts)) > LONGEST_VALUE:
        raise InvalidValueError(f"a text has more than {LONGEST_VALUE} characters")
    return "".join(texts)


def _join(items: Iterable[Any], between: str = "") -> str:
    parts: list[Any] = []
    for item in items:
        parts += [between, item]
    # Without the text before the first item.
    return _joined(*_measure(parts)[1:])


def _range(*limits: int) -> range:
    # A range is small, but not what a template makes of it.
    items: range = _measure(range(*limits))
    return items


def _up_to_limit(pieces: Iterator[str]) -> Iterator[str]:
    """Yield `pieces`; raises InvalidValueError where they are more than a file should be."""
    length = 0
    for piece in pieces:
        length += len(piece)
        if length > LONGEST_RESULT:
            raise InvalidValueError(f"it becomes longer than {LONGEST_RESULT} characters")
        yield piece
