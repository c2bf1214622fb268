"""Write a line to the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..action import Action, Parsed
from ..frontend.attributes import texts
from ..frontend.expose import expose_action
from ..launch_description_entity import LaunchDescriptionEntity
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..frontend.entity import Entity
    from ..frontend.parser import Parser
    from ..launch_context import LaunchContext


@expose_action("log")
class LogInfo(Action):
    """Logs a message at level INFO under the name `launch.user`."""

    def __init__(self, *, msg: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._msg = normalize_to_list_of_substitutions(msg)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `message` says."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, msg="message")

    @property
    def msg(self) -> list[Substitution]:
        """The message, as substitutions."""
        return self._msg

    def describe(self) -> str:
        return f"LogInfo({' + '.join(part.describe() for part in self._msg)})"

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        get_logger("launch.user").info(perform_substitutions(context, self._msg))
        return None
