"""The entry point of the feature `ackermann`: what a car can steer, as columns that only cars have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fleet_sim.base.arrays import Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.settings import Checked, setting
from fleet_sim.robots.motion.cars import FEATURE as NAME
from fleet_sim.robots.motion.cars import AckermannColumns
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.world import World

# The settings under `ackermann:`, in the spawn entry of a robot.


MOST = 1e4
"""Upper limit of lengths: beyond it rounding would be seen."""


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


class AckermannFeature(Feature[AckermannSettings, AckermannColumns]):
    """Steering: `ackermann:` in the spawn entry of a robot with `motion_mode: ackermann`."""

    doc = "What a robot with motion_mode ackermann can steer."
    settings = AckermannSettings
    table = AckermannColumns

    def values(self, settings: AckermannSettings) -> Mapping[str, Any]:
        """Return the columns of a car with `settings`, its wheels straight ahead."""
        rate = settings.max_steering_rate
        return {
            "wheelbase": settings.wheelbase,
            "min_radius": settings.min_turning_radius,
            "steering_rate": np.inf if rate is None else rate,
            "steering": 0.0,
            "pieces": 0,
        }

    def start(self, host: FeatureHost, table: AckermannColumns) -> World:
        """Return the world, for `enter`; the law of motion does the rest."""
        return host.world

    def enter(self, part: World, table: AckermannColumns, rows: Rows) -> None:
        """Refuse robots that do not drive as cars, or that ask for what cars cannot do."""
        for row in rows.tolist():
            reason = _hindrance(part, row)
            if reason:
                table.clear_rows(rows)
                raise InvalidValueError(f"ackermann: {part.label(row)!r} {reason}")
        # Goals in the plane: a car neither climbs nor leans.
        part.motion.planar[rows] = part.motion.whole_steps[rows] = True


def _hindrance(world: World, row: int) -> str:
    """Return why a robot cannot be steered like a car, "" where it can."""
    law = world.laws.names()[int(world.motion.law[row])]
    # Law 0 is a car on a fixed base, which is allowed to stand there.
    if world.motion.law[row] and law != NAME:
        return f"has motion_mode {law!r}; steering is for motion_mode: {NAME}"
    if world.motion.avoidance[row] > 0.0:
        return "avoids others (avoidance), which needs robots that turn on the spot or move aside; set avoidance: 0"
    if world.dynamic[row]:
        return "is moved by the physics engine, which has no law for cars; give it a mass of 0"
    return ""


FEATURE = AckermannFeature()
