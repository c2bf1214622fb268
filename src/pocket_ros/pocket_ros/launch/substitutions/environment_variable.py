"""Environment variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_substitution("env")
class EnvironmentVariable(SubstitutionOfWords):
    """The value of an environment variable.

    Raises SubstitutionFailure when it is not set and there is no default.
    """

    _ros_words = Words("env", ("name", "default_value"), optional=1, described="EnvVar")

    def __init__(
        self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None
    ) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    @property
    def default_value(self) -> list[Substitution] | None:
        """The default, as substitutions."""
        return self._default

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        if name in os.environ:
            return os.environ[name]
        if self._default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self._default)
