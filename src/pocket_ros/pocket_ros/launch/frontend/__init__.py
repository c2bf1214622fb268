"""Launch files in XML and YAML.

`entity` is what both are read into, `loading` reads them, `tags` makes actions of them.
"""

from typing import Any

from .entity import Entity, InvalidLaunchEntityError
from .loading import load_launch_file

__all__ = ["Entity", "InvalidLaunchEntityError", "load_launch_file"]


def __getattr__(name: str) -> Any:
    if name in ("expose_action", "expose_substitution", "Parser"):
        raise NotImplementedError(
            f"launch.frontend.{name} is not covered by pocket_ros: its XML and YAML tags are fixed; "
            "a full ROS 2 has it"
        )
    raise AttributeError(f"module 'launch.frontend' has no attribute '{name}'")
