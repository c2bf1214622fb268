"""Remappings for the nodes that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.actions.text_action import TextAction
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_action("set_remap")
class SetRemap(TextAction):
    """Remaps a name on the nodes that follow in this scope; a node's own remappings come after."""

    _ros_texts = {"src": "from", "dst": "to"}

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._source = normalize_to_list_of_substitutions(src)
        self._target = normalize_to_list_of_substitutions(dst)

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
