"""Where a launch description comes from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .launch_description import LaunchDescription
from .some_substitutions_type import SomeSubstitutionsType
from .utilities import normalize_to_list_of_substitutions, perform_substitutions
from .utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescriptionSource:
    """A description, now or when the launch gets there; `location` is its file."""

    def __init__(
        self,
        launch_description: LaunchDescription | None = None,
        location: SomeSubstitutionsType = "",
        method: str = "unspecified mechanism from a script",
    ) -> None:
        self._launch_description = launch_description
        self._location = normalize_to_list_of_substitutions(location)
        self._expanded: str | None = None
        self.method = method

    @property
    def location(self) -> str:
        """The file, or how it would be found before it has been loaded."""
        if self._expanded is not None:
            return self._expanded
        return describe_substitutions(self._location)

    def try_get_launch_description_without_context(self) -> LaunchDescription | None:
        """The description where its location needs no launch to be known, else None."""
        if self._launch_description is None:
            from .launch_context import LaunchContext
            from .substitutions import TextSubstitution

            if all(isinstance(part, TextSubstitution) for part in self._location):
                return self.get_launch_description(LaunchContext())
        return self._launch_description

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """The description, loaded once. Raises FileNotFoundError and InvalidLaunchFileError."""
        if self._expanded is None:
            self._expanded = os.path.abspath(perform_substitutions(context, self._location))
        if self._launch_description is None:
            self._launch_description = self._get_launch_description(self._expanded)
        return self._launch_description

    def _get_launch_description(self, location: str) -> LaunchDescription:
        raise NotImplementedError(
            f"{type(self).__name__} cannot load {location}: it was given no description"
        )
