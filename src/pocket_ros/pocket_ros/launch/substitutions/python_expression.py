"""Python expressions."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class PythonExpression(Substitution):
    """The text of the value of a Python expression.

    The names of `python_modules` (`math` unless given) are known, and those of `math` also without the
    module's name. Raises whatever the expression raises.
    """

    def __init__(
        self,
        expression: SomeSubstitutionsType,
        python_modules: SomeSubstitutionsType | Sequence[SomeSubstitutionsType] = ("math",),
    ) -> None:
        self._expression = normalize_to_list_of_substitutions(expression)
        modules = [python_modules] if isinstance(python_modules, str | Substitution) else list(python_modules)
        self._modules = [normalize_to_list_of_substitutions(module) for module in modules]

    @property
    def expression(self) -> list[Substitution]:
        """The expression, as substitutions."""
        return self._expression

    def describe(self) -> str:
        return f"PythonExpr({' + '.join(part.describe() for part in self._expression)})"

    def perform(self, context: LaunchContext) -> str:
        names: dict[str, object] = {}
        expression = perform_substitutions(context, self._expression)
        listed = ",".join(perform_substitutions(context, parts) for parts in self._modules)
        for name in filter(None, (name.strip() for name in listed.split(","))):
            module = importlib.import_module(name)
            names[module.__name__] = module
            if module.__name__ == "math":
                names.update(vars(module))
        return str(eval(expression, {**names}))
