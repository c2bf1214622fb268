"""Odometry with drift: the pose a robot estimates from its own motion."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.random import normal_rows
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig


@dataclass(frozen=True)
class OdometryParams(SensorParams):
    """Odometry: integrated motion, with errors that grow with the distance. Teleporting a robot counts as motion."""

    default_name: ClassVar[str] = "odometry"

    linear_scale: float = setting(1.0, above=0, doc="Measured distance / true distance; models a wrong wheel radius.")
    angular_scale: float = setting(1.0, above=0, doc="Measured angle / true angle; models a wrong wheel separation.")
    linear_noise: float = setting(
        0.0, low=0, unit="m/sqrt(m)", doc="Standard deviation of the distance after one metre."
    )
    angular_noise: float = setting(
        0.0, low=0, unit="rad/sqrt(rad)", doc="Standard deviation of the heading after one radian."
    )
    heading_noise: float = setting(
        0.0, low=0, unit="rad/sqrt(m)", doc="Standard deviation of the heading after one metre."
    )


@dataclass(frozen=True, eq=False)
class OdometryReading(Reading):
    """Where odometry believes the sensor's frame is, seen from where it was when mounted: without errors, the truth.

    `position` (3,) and `orientation` (4,); `origin_position` and `origin_orientation` tell where that was, in the
    world. `linear_velocity` and `angular_velocity` (3,) are the constant twist,
    in the sensor's frame, that would have moved it since the reading before.
    """

    position: Floats
    orientation: Floats
    linear_velocity: Floats
    angular_velocity: Floats
    origin_position: Floats
    origin_orientation: Floats


_TOLD = tuple(field.name for field in fields(OdometryReading) if field.name not in ("time", "tick"))


class Odometry(SensorKind):
    """Integrates the motion since the previous reading, as measured by the robot."""

    params_class = OdometryParams
    reading_class = OdometryReading
    remembered = (
        {"time": (), "true_position": (3,), "true_orientation": (4,), "position": (3,), "orientation": (4,)}
        | {"linear_velocity": (3,), "angular_velocity": (3,)}
        | {"origin_position": (3,), "origin_orientation": (4,)}
    )
    """The true pose of the last reading, and the believed pose and velocities."""

    def begin(self, batch: Batch) -> None:
        """Start with the believed pose at the origin."""
        state = batch.state
        state["time"][:] = batch.time
        for name in ("true", "origin"):
            state[f"{name}_position"][:] = batch.positions
            state[f"{name}_orientation"][:] = batch.orientations
        state["orientation"][:, 3] = 1.0

    def sense(self, batch: Batch) -> dict[str, Floats]:
        """Return believed poses and velocities."""
        state = batch.state
        # Asked again at the same time, the answer is that of the first time.
        later = np.flatnonzero(batch.time > state["time"])
        if len(later):
            self._advance(batch, later)
        return {name: state[name].copy() for name in _TOLD}

    def _advance(self, batch: Batch, later: Ints) -> None:
        """Add the motion since the last reading, as wheels measure it, to the believed poses of `later`."""
        state = batch.state
        elapsed = (batch.time - state["time"][later])[:, None]
        # Motion in the frame of the last reading: this is what wheels measure, and it is added in the believed frame.
        back = quaternions.conjugate(state["true_orientation"][later])
        way = quaternions.rotate(back, batch.positions[later] - state["true_position"][later])
        turn = quaternions.to_rotation_vectors(quaternions.multiply(back, batch.orientations[later]))
        way, turn = _as_measured(batch, later, way, turn)
        believed = state["orientation"][later]
        state["position"][later] += quaternions.rotate(believed, way)
        # Normalized below: over many thousands of products rounding would otherwise change the length.
        turned = quaternions.multiply(believed, quaternions.from_rotation_vectors(turn))
        state["orientation"][later] = quaternions.normalized(turned)
        state["linear_velocity"][later] = _along_arcs(way, turn) / elapsed
        state["angular_velocity"][later] = turn / elapsed
        state["true_position"][later] = batch.positions[later]
        state["true_orientation"][later] = batch.orientations[later]
        state["time"][later] = batch.time


def _as_measured(batch: Batch, later: Ints, way: Floats, turn: Floats) -> tuple[Floats, Floats]:
    """Return displacements (N, 3) and rotation vectors (N, 3) with measurement errors."""
    params: OdometryParams = batch.params
    drawn = normal_rows(batch.keys[later], batch.tick, 3)
    distances = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2 + way[:, 2] ** 2)
    angles = np.sqrt(turn[:, 0] ** 2 + turn[:, 1] ** 2 + turn[:, 2] ** 2)
    roots = np.sqrt(distances)
    # As a factor on the distance d, noise / sqrt(d) gives a deviation of noise * sqrt(d). So variances add up, and the
    # drift does not depend on the rate.
    stretch = params.linear_scale + params.linear_noise * drawn[:, 0] / np.where(distances > 0.0, roots, 1.0)
    measured_way = way * np.where(distances > 0.0, stretch, 1.0)[:, None]
    measured_turn = turn * params.angular_scale
    measured_turn[:, 2] += params.angular_noise * np.sqrt(angles) * drawn[:, 1]
    measured_turn[:, 2] += params.heading_noise * roots * drawn[:, 2]
    return measured_way, measured_turn


def _along_arcs(ways: Floats, turns: Floats) -> Floats:
    """Return (N, 3) how far frames go, in their own axes, that move by `ways` while they turn evenly by `turns`."""
    angles = np.sqrt(turns[:, 0] ** 2 + turns[:, 1] ** 2 + turns[:, 2] ** 2)
    # A chord leads half a turn to the side of where its arc began, and is shorter by sin(h) / h across the axis.
    back = quaternions.rotate(quaternions.from_rotation_vectors(-0.5 * turns), ways)
    bent_mask = angles > 1e-9
    half = np.where(bent_mask, 0.5 * angles, 1.0)
    axes = turns / np.where(bent_mask, angles, 1.0)[:, None]
    level = (back[:, 0] * axes[:, 0] + back[:, 1] * axes[:, 1] + back[:, 2] * axes[:, 2])[:, None] * axes
    return np.where(bent_mask[:, None], level + (back - level) * (half / trig.sin(half))[:, None], ways)
