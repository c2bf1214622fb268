"""Launch configurations and arguments."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_substitution("var")
class LaunchConfiguration(SubstitutionOfWords):
    """The value of a launch configuration, or the default where it is not set.

    Raises SubstitutionFailure when it is not set and there is no default.
    """

    _ros_words = Words("var", ("variable_name", "default"), optional=1, described="LaunchConfig")

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: object = None) -> None:
        self._variable_name = normalize_to_list_of_substitutions(variable_name)
        if default is None:
            self._default: list[Substitution] | None = None
        else:
            parts = default if isinstance(default, str | Substitution | list | tuple) else str(default)
            self._default = normalize_to_list_of_substitutions(
                [p if isinstance(p, str | Substitution) else str(p) for p in parts]
                if isinstance(parts, list | tuple)
                else parts
            )

    @property
    def variable_name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._variable_name

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._variable_name)
        if name in context.launch_configurations:
            return str(context.launch_configurations[name])
        if self._default is not None:
            return perform_substitutions(context, self._default)
        near = difflib.get_close_matches(name, context.launch_configurations, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise SubstitutionFailure(f"launch configuration '{name}' does not exist{hint}")
