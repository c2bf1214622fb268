"""Remappings for the nodes that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.action import Action, Parsed
from ...launch.frontend.attributes import texts
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ...launch.frontend.entity import Entity
    from ...launch.frontend.parser import Parser
    from ...launch.launch_context import LaunchContext


@expose_action("set_remap")
class SetRemap(Action):
    """Remaps a name on the nodes that follow in this scope; a node's own remappings come after."""

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._source = normalize_to_list_of_substitutions(src)
        self._target = normalize_to_list_of_substitutions(dst)

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> Parsed:
        """What `from` and `to` say."""
        return cls, super().parse(entity, parser)[1] | texts(entity, parser, src="from", dst="to")

    @property
    def src(self) -> Any:
        """The name to replace, as substitutions."""
        return self._source

    @property
    def dst(self) -> Any:
        """The name instead, as substitutions."""
        return self._target

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        rule = (perform_substitutions(context, self._source), perform_substitutions(context, self._target))
        context.launch_configurations["ros_remaps"] = [
            *context.launch_configurations.get("ros_remaps", ()),
            rule,
        ]
        return None
