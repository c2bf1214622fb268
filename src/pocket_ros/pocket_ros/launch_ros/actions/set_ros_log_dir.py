"""Where the nodes that follow log to."""

from __future__ import annotations

import os
from typing import Any

from ...launch.actions import SetEnvironmentVariable
from ...launch.launch_context import LaunchContext
from ...launch.launch_description_entity import LaunchDescriptionEntity
from ...launch.logging import get_logging_directory
from ...launch.some_substitutions_type import SomeSubstitutionsType


class SetROSLogDir(SetEnvironmentVariable):
    """Sets `ROS_LOG_DIR` for the processes that follow in this scope; a relative one is below the current."""

    def __init__(self, new_log_dir: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__("ROS_LOG_DIR", new_log_dir, **kwargs)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        current = context.environment.get("ROS_LOG_DIR") or str(get_logging_directory())
        super().execute(context)
        context.environment["ROS_LOG_DIR"] = os.path.join(current, context.environment["ROS_LOG_DIR"])
        return None
