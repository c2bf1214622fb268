"""Parameters set in the launch file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.frontend.expose import expose_substitution
from ...launch.frontend.substitution_of_words import SubstitutionOfWords, Words
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import Substitution
from ...launch.substitutions import SubstitutionFailure
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_substitution("param")
class Parameter(SubstitutionOfWords):
    """The value that SetParameter gave a parameter. Raises SubstitutionFailure where it gave none."""

    _ros_words = Words("param", ("name", "default"), optional=1)

    def __init__(self, name: SomeSubstitutionsType, *, default: SomeSubstitutionsType | None = None) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._default = None if default is None else normalize_to_list_of_substitutions(default)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        found: Any = None
        configurations: dict[str, Any] = dict(context.launch_configurations)
        for item in configurations.get("global_params", ()):
            if isinstance(item, tuple) and item[0] == name:
                found = item[1]
        if found is not None:
            return str(found)
        if self._default is not None:
            return perform_substitutions(context, self._default)
        raise SubstitutionFailure(f"parameter '{name}' was not set by SetParameter and has no default")
