"""A namespace for the nodes that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...launch.actions.text_action import TextAction
from ...launch.frontend.expose import expose_action
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.namespaces import make_namespace_absolute, prefix_namespace

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_action("push_ros_namespace")
class PushROSNamespace(TextAction):
    """Puts the nodes that follow, in this scope, into a namespace below the present one."""

    _ros_texts = {"namespace": "namespace"}

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._namespace = normalize_to_list_of_substitutions(namespace)

    @property
    def namespace(self) -> Any:
        """The namespace, as substitutions."""
        return self._namespace

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        pushed = perform_substitutions(context, self._namespace)
        namespace = prefix_namespace(context.launch_configurations.get("ros_namespace"), pushed)
        if namespace is not None:
            context.launch_configurations["ros_namespace"] = make_namespace_absolute(namespace)
        return None


PushRosNamespace = PushROSNamespace
"""The older name."""
