"""Python expressions."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import ParsedSubstitution, Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_substitution("eval")
class PythonExpression(SubstitutionOfWords):
    """The text of the value of a Python expression.

    The names of `python_modules` (`math` unless given) are known, and those of `math` also without the
    module's name. Raises whatever the expression raises.
    """

    _ros_words = Words("eval", ("expression", "python_modules"), optional=1)

    def __init__(
        self,
        expression: SomeSubstitutionsType,
        python_modules: SomeSubstitutionsType | Sequence[SomeSubstitutionsType] = ("math",),
    ) -> None:
        self._expression = normalize_to_list_of_substitutions(expression)
        modules = [python_modules] if isinstance(python_modules, str | Substitution) else list(python_modules)
        self._modules = [normalize_to_list_of_substitutions(module) for module in modules]

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        arguments = super().parse(data)[1]
        if "python_modules" in arguments:
            arguments["python_modules"] = [arguments["python_modules"]]  # one word, with commas in it
        return cls, arguments

    @property
    def expression(self) -> list[Substitution]:
        """The expression, as substitutions."""
        return self._expression

    @property
    def python_modules(self) -> list[list[Substitution]]:
        """The modules whose names are known."""
        return self._modules

    def describe(self) -> str:
        expression = describe_substitutions(self._expression)
        modules = ", ".join(part.describe() for parts in self._modules for part in parts)
        return f"PythonExpr({expression}, [{modules}])"

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
