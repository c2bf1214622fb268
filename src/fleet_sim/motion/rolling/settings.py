"""The settings under `wheels:`, in the spawn entry of a robot."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting


@dataclass
class WheelSettings(Checked):
    """How the wheels of a robot turn that is moved without physics. Size and distance are settings of the robot."""

    turn: bool = setting(True, doc="Whether wheels turn with the distance driven, and those of cars are steered.")
    mecanum: bool | None = setting(
        None,
        doc="Whether wheels have rollers at 45 degrees; null: four at the corners of a robot with motion_mode omni do.",
    )
