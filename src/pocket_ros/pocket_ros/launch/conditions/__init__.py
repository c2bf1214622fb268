"""Conditions for actions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...places import offer_class_modules
from ..description import Condition, SomeSubstitutionsType, Substitution
from ..utilities import describe_substitutions, normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..description import LaunchContext


# Text as a truth value.


VALID_TRUE_EXPRESSIONS = ["true", "1"]
VALID_FALSE_EXPRESSIONS = ["false", "0"]


class InvalidConditionExpressionError(Exception):
    """A text that is neither true nor false."""


def evaluate_condition_expression(context: LaunchContext, expression: Iterable[Substitution]) -> bool:
    """True for `true` and `1`, False for `false` and `0`, in any case and with any space around.

    Raises InvalidConditionExpressionError for any other text.
    """
    text = perform_substitutions(context, expression).strip().lower()
    if text in VALID_TRUE_EXPRESSIONS:
        return True
    if text in VALID_FALSE_EXPRESSIONS:
        return False
    raise InvalidConditionExpressionError(
        "invalid condition expression, expected one of "
        f"[{', '.join([*VALID_TRUE_EXPRESSIONS, *VALID_FALSE_EXPRESSIONS])}] but got: '{text}'"
    )


# Conditions on text that says true or false.


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


# Conditions on the value of one launch configuration.


class LaunchConfigurationEquals(Condition):
    """Holds when the configuration has the value; None stands for a configuration that is not set.

    It is deprecated: a UserWarning says what to use instead.
    """

    def __init__(self, launch_configuration_name: str, expected_value: SomeSubstitutionsType | None) -> None:
        warnings.warn(
            f"{type(self).__name__} is deprecated: use IfCondition(EqualsSubstitution(LaunchConfiguration("
            f"'{launch_configuration_name}'), ...)) or NotEqualsSubstitution",
            stacklevel=2,
        )
        self._name = launch_configuration_name
        self._expected = (
            None if expected_value is None else normalize_to_list_of_substitutions(expected_value)
        )
        super().__init__(predicate=self._holds)

    def _holds(self, context: LaunchContext) -> bool:
        expected = None if self._expected is None else perform_substitutions(context, self._expected)
        return context.launch_configurations.get(self._name) == expected


class LaunchConfigurationNotEquals(LaunchConfigurationEquals):
    """Holds when the configuration has another value, or none."""

    def _holds(self, context: LaunchContext) -> bool:
        return not super()._holds(context)


__all__ = [
    "IfCondition",
    "InvalidConditionExpressionError",
    "LaunchConfigurationEquals",
    "LaunchConfigurationNotEquals",
    "UnlessCondition",
    "evaluate_condition_expression",
]

offer_class_modules(__name__)
