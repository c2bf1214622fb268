"""Where the nodes that follow log to."""

from __future__ import annotations

from typing import Any

from ...launch.actions import SetEnvironmentVariable
from ...launch.some_substitutions_type import SomeSubstitutionsType


class SetROSLogDir(SetEnvironmentVariable):
    """Sets `ROS_LOG_DIR` for the processes that follow in this scope."""

    def __init__(self, new_log_dir: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__("ROS_LOG_DIR", new_log_dir, **kwargs)
