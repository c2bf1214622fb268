"""What is written under `slotcar:` in the entry of a robot."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.gate.bounds import LARGEST_SIZE, LARGEST_SPEED
from fleet_sim.settings import Checked, setting


@dataclass
class SlotcarSettings(Checked):
    """How a robot follows the paths that a fleet manager sends."""

    speed: float = setting(0.5, low=0.01, high=LARGEST_SPEED, unit="m/s", doc="Speed at which it drives.")
    acceleration: float = setting(0.25, low=1e-3, high=1e3, unit="m/s^2", doc="At which it usually speeds up.")
    max_acceleration: float = setting(0.75, low=1e-3, high=1e3, unit="m/s^2", doc="At which it stops where it must.")
    turn_speed: float = setting(0.6, low=0.01, high=100.0, unit="rad/s", doc="Speed at which it turns.")
    turn_acceleration: float = setting(
        1.5, low=1e-3, high=1e3, unit="rad/s^2", doc="At which it usually starts to turn."
    )
    max_turn_acceleration: float = setting(2.0, low=1e-3, high=1e3, unit="rad/s^2", doc="At which it can stop turning.")
    stop_distance: float = setting(
        0.75, low=0.0, high=LARGEST_SIZE, unit="m", doc="Middle of the area before it that must be free."
    )
    stop_radius: float = setting(
        0.75, low=0.0, high=LARGEST_SIZE, unit="m", doc="Radius of that area; 0: it does not look out."
    )
    reversible: bool = setting(True, doc="Whether it also drives backwards.")
