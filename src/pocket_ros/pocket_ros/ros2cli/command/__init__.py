"""The commands of `ros2`."""

from __future__ import annotations

import importlib
from typing import Any


def command_module(name: str) -> Any:
    """The module of a command of `ros2`."""
    try:
        return importlib.import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        # Only `bag` uses rosbags, which is an extra: whoever runs nodes needs none of it.
        if error.name is None or error.name.partition(".")[0] != "rosbags":
            raise
        raise RuntimeError(
            f"'ros2 {name}' needs rosbags, which is not installed; run: pip install 'pocket_ros[bag]'"
        ) from error
