"""Where the nodes that follow log to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...launch.actions import SetEnvironmentVariable
from ...launch.frontend.expose import expose_action
from ...launch.launch_context import LaunchContext
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.logging import get_logging_directory
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import Substitution

if TYPE_CHECKING:
    pass


@expose_action("set_ros_log_dir")
class SetROSLogDir(SetEnvironmentVariable):
    """Sets `ROS_LOG_DIR` for the processes that follow in this scope; a relative one is below the current."""

    _ros_texts = {"new_log_dir": "new_log_dir"}

    def __init__(self, new_log_dir: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__("ROS_LOG_DIR", new_log_dir, **kwargs)

    @property
    def log_dir(self) -> list[Substitution]:
        """The folder, as substitutions."""
        return self.value

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        current = context.environment.get("ROS_LOG_DIR") or str(get_logging_directory())
        super().execute(context)
        context.environment["ROS_LOG_DIR"] = os.path.join(current, context.environment["ROS_LOG_DIR"])
        return None
