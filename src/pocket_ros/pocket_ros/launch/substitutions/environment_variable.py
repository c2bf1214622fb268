"""Environment variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class EnvironmentVariable(Substitution):
    """The value of an environment variable.

    Raises SubstitutionFailure when it is not set and there is no default.
    """

    def __init__(
        self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None
    ) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    def describe(self) -> str:
        return f"EnvVar({' + '.join(part.describe() for part in self._name)})"

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        if name in os.environ:
            return os.environ[name]
        if self._default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self._default)
