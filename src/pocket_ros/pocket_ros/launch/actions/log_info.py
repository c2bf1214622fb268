"""Write a line to the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..action import Action
from ..launch_description_entity import LaunchDescriptionEntity
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class LogInfo(Action):
    """Logs a message at level INFO under the name `launch.user`."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._msg = normalize_to_list_of_substitutions(msg)

    @property
    def msg(self) -> list[Substitution]:
        """The message, as substitutions."""
        return self._msg

    def describe(self) -> str:
        return f"LogInfo({' + '.join(part.describe() for part in self._msg)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        get_logger("launch.user").info(perform_substitutions(context, self._msg))
        return None
