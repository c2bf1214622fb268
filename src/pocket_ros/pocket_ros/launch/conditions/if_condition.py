"""Conditions on text that says true or false."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..condition import Condition
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions
from ..utilities.substitutions import describe_substitutions
from .evaluate_condition_expression import evaluate_condition_expression

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class IfCondition(Condition):
    """Holds when the expression is true."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        self._expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(predicate=self._holds)

    def _holds(self, context: LaunchContext) -> bool:
        return evaluate_condition_expression(context, self._expression)

    def describe(self) -> str:
        return f"{type(self).__name__}({describe_substitutions(self._expression)})"


class UnlessCondition(IfCondition):
    """Holds when the expression is false."""

    def _holds(self, context: LaunchContext) -> bool:
        return not super()._holds(context)
