"""The mujoco module, loaded when it is first needed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from fleet_sim.errors import missing_extra


def mujoco_module() -> Any:
    """Import mujoco and return it; raises MissingDependencyError naming the extra that installs it."""
    loaded = sys.modules.get("mujoco")
    if loaded is not None:
        return loaded
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise missing_extra("mujoco", "mujoco", "Physics with engine: mujoco") from error
