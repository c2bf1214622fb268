"""Conditions on the value of one launch configuration."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ..condition import Condition
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


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
