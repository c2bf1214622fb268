"""What clicks ask for, as commands: values that are recorded and repeated like any other."""

from __future__ import annotations

import math
from typing import Any

from fleet_sim.arrays import Floats
from fleet_sim.core.commands import ExecuteAction, Remove, SetPoses, Spawn, Stop
from fleet_sim.models import KNOWN_MODELS

SOURCE = "view"
"""What commands say they came from."""
BOX = "plain box"
"""The choice of a robot without a description."""
SHIPPED = ("diff_base", "omni_base", "mobile_manipulator", "arm6", "rail_arm")
"""Robots that are always there."""


def robots_to_add() -> list[str]:
    """Return what a page may add: a plain robot, ours, and those that users have registered."""
    return [BOX, *SHIPPED, *sorted(name for name, entry in KNOWN_MODELS.items() if entry.tier == "user")]


def go_to(
    name: str, here: Floats, point: Floats, *, queue: bool, routed: bool, tolerance: float = 0.0
) -> ExecuteAction:
    """Send a robot at `here` (3,) to a point (3,) on the floor, or have it go there after what it does.

    It keeps its height. `routed`: on a way around the walls. `tolerance`: in m, where it goes to a place near the
    point, see `Feature.goal_tolerance`.
    """
    heading = math.atan2(point[1] - here[1], point[0] - here[0])
    action: dict[str, Any] = {
        "type": "move_to",
        "target_pose": [float(point[0]), float(point[1]), float(here[2]), heading],
        "final_orientation_align": False,
    }
    if routed:
        action["route"] = "auto"
    if tolerance:
        action["tolerance"] = tolerance
    return ExecuteAction(names=(name,), actions=(action,), replace=not queue, source=SOURCE)


def stop(name: str) -> Stop:
    """Stop a robot."""
    return Stop(names=(name,), source=SOURCE)


def remove(name: str) -> Remove:
    """Remove a robot or object."""
    return Remove(names=(name,), source=SOURCE)


def put(name: str, position: Floats, orientation: Floats) -> SetPoses:
    """Put a robot or object somewhere; it stands then."""
    return SetPoses(
        names=(name,),
        positions=position[None],
        orientations=orientation[None],
        preserve_velocity=False,
        source=SOURCE,
    )


def spawn(model: str, point: Floats) -> Spawn:
    """Spawn a robot of a known model, or a plain box that drives, at a point (3,) on the floor."""
    x, y = float(point[0]), float(point[1])
    if model == BOX:
        shape = {"shape_type": "box", "half_extents": [0.35, 0.25, 0.15], "rgba_color": [0.1, 0.45, 0.8, 1.0]}
        entry: dict[str, Any] = {"name": "robot", "pose": [x, y, 0.15], "shape": shape}
    else:
        entry = {"name": model, "pose": [x, y, 0.0], "urdf_path": model}
    return Spawn(robots=(entry,), rename=True, remote=True, source=SOURCE)
