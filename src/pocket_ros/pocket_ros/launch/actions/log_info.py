"""Write a line to the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frontend.expose import expose_action
from ..launch_description_entity import LaunchDescriptionEntity
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions
from .text_action import TextAction

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_action("log")
class LogInfo(TextAction):
    """Logs a message at level INFO under the name `launch.user`."""

    _ros_texts = {"msg": "message"}

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._msg = normalize_to_list_of_substitutions(msg)

    @property
    def msg(self) -> list[Substitution]:
        """The message, as substitutions."""
        return self._msg

    def describe(self) -> str:
        return f"LogInfo({describe_substitutions(self._msg)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        get_logger("launch.user").info(perform_substitutions(context, self._msg))
        return None
