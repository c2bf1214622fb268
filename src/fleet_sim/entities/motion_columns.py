"""What the spawn params of an agent say of its motion, as values of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from fleet_sim.arrays import as_float
from fleet_sim.config.modes import MotionMode, MovementDirection
from fleet_sim.core.world import World
from fleet_sim.entities.controller_plan import ControllerPlan
from fleet_sim.entities.spawn_params import AgentSpawnParams
from fleet_sim.errors import InvalidValueError, UnknownNameError
from fleet_sim.gate.bounds import LONGEST_TIME

WHEELS = "wheels"
"""The motion law of robots that drive by the motors of their wheels."""
_LIMITS = (
    ("max_linear_vel", "linear_limits", "linear_limit"),
    ("max_linear_accel", "linear_accels", "linear_accel"),
    ("max_angular_vel", "angular_limits", "angular_limit"),
    ("max_angular_accel", "angular_accels", "angular_accel"),
)


def motion_columns(world: World, params: AgentSpawnParams, plan: ControllerPlan, *, rolls: bool) -> dict[str, Any]:
    """Return the motion columns of a robot with the controllers of `plan`; `rolls`: by motors of wheels.

    Raises InvalidValueError for a mode of motion that there is not, or that the robot cannot have.
    """
    settings, mode = plan.params, plan.law or str(params.motion_mode)
    try:
        law = world.laws.index(mode)
    except UnknownNameError as error:
        raise InvalidValueError(f"motion_mode: {error}") from error
    if mode == MotionMode.DIFFERENTIAL and rolls:
        law = world.laws.index(WHEELS)
    elif mode == WHEELS and not rolls:
        raise InvalidValueError(
            f"motion_mode: {WHEELS!r} is for robots with motors (physics on, and a mass) and with wheels on both sides "
            "whose radius is known; give wheel_radius where they collide as meshes"
        )
    if mode == MotionMode.ACKERMANN and settings.navigation_2d is False:
        raise InvalidValueError("navigation_2d: goals of cars (motion_mode: ackermann) are always in the plane")
    columns: dict[str, Any] = {
        "law": 0 if params.use_fixed_base else law,
        "default_direction": (settings.default_direction or MovementDirection.FORWARD).code,
        "planar": bool(settings.navigation_2d),
        "avoidance": as_float(settings.avoidance or 0.0, "avoidance in s", low=0.0),
        "command_timeout": as_float(
            settings.cmd_vel_timeout or 0.0, "cmd_vel_timeout in s", low=0.0, high=LONGEST_TIME
        ),
    }
    for name, axes, norm in _LIMITS:
        columns[axes], columns[norm] = params.limit(name, settings)
    columns["axis_limited"] = any(np.isinf(columns[norm]) for _, _, norm in _LIMITS)
    return columns
