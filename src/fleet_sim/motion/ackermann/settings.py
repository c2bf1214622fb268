"""The settings under `ackermann:`, in the spawn entry of a robot."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting

MOST = 1e4
"""Upper limit of lengths: beyond it rounding would be seen."""


@dataclass
class AckermannSettings(Checked):
    """What a robot with `motion_mode: ackermann` can steer. Its origin is the middle of the rear axle."""

    wheelbase: float = setting(0.5, low=1e-3, high=MOST, unit="m", doc="From the rear axle to the front axle.")
    min_turning_radius: float = setting(
        1.0, low=1e-3, high=MOST, unit="m", doc="Radius of the tightest arc, of the middle of the rear axle."
    )
    max_steering_rate: float | None = setting(
        1.0,
        low=1e-3,
        high=1e3,
        unit="rad/s",
        doc="How fast the front wheels are steered; null: at once, so that arcs follow each other without a stop.",
    )
