"""IMU, and odometry with drift."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.sensors.sensor import Batch, Reading, SensorKind, SensorParams
from fleet_sim.world.clock import normal_rows
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

_ORIENTATION, _GYRO, _ACCEL, _GYRO_BIAS, _ACCEL_BIAS = range(5)
"""Channels of noise."""


@dataclass(frozen=True)
class ImuParams(SensorParams):
    """An inertial measurement unit. Noise densities and walks are as in a data sheet."""

    default_name: ClassVar[str] = "imu"

    orientation_noise: float = setting(
        0.0, low=0, unit="rad", doc="Standard deviation of the orientation about each axis."
    )
    gyro_noise: float = setting(0.0, low=0, unit="rad/s/sqrt(Hz)", doc="Noise density of the angular velocity.")
    gyro_bias_walk: float = setting(0.0, low=0, unit="rad/s^2/sqrt(Hz)", doc="Random walk of its bias.")
    accel_noise: float = setting(0.0, low=0, unit="m/s^2/sqrt(Hz)", doc="Noise density of the acceleration.")
    accel_bias_walk: float = setting(0.0, low=0, unit="m/s^3/sqrt(Hz)", doc="Random walk of its bias.")


@dataclass(frozen=True, eq=False)
class ImuReading(Reading):
    """A reading of an IMU.

    `orientation` (4,) is that of the sensor's frame in the world, xyzw; `angular_velocity` (3,) in rad/s and
    `linear_acceleration` (3,) in m/s2 are in the sensor's frame. It is the proper acceleration: at rest it points up,
    with the magnitude of gravity. It is the mean since the previous reading, so that readings integrate to velocities;
    the first mean begins at `subscribe`.
    """

    orientation: Floats
    angular_velocity: Floats
    linear_acceleration: Floats


class Imu(SensorKind):
    """Computes IMU readings from velocities; keeps the last velocities and the biases."""

    params_class = ImuParams
    reading_class = ImuReading
    remembered = {"time": (), "position": (3,), "orientation": (4,)} | dict.fromkeys(
        ("velocity", "spin", "acceleration", "gyro_bias", "accel_bias"), (3,)
    )
    """The acceleration is the one without noise."""

    def begin(self, batch: Batch) -> None:
        """Start from the present velocity, without bias."""
        self.resume(batch)

    def resume(self, batch: Batch) -> None:
        """Start from the present velocity: what was before is no part of the next reading."""
        state = batch.state
        state["velocity"][:], state["spin"][:] = frame_motion(self.world, batch)
        _note_pose(batch)
        state["acceleration"][:] = 0.0

    def sense(self, batch: Batch) -> dict[str, Floats]:
        """Return orientations, angular velocities and accelerations."""
        params: ImuParams = batch.params
        state = batch.state
        elapsed = batch.time - state["time"]
        passed_mask = elapsed > 0.0
        spans = np.where(passed_mask, elapsed, 1.0)[:, None]
        # Before `_note_pose`: the velocities of links need the previous pose.
        velocity, spin = self._motion(batch, passed_mask, spans)
        # A second reading at the same time returns the first one.
        mean = np.where(passed_mask[:, None], (velocity - state["velocity"]) / spans, state["acceleration"])
        _note_pose(batch)
        state["velocity"][:], state["spin"][:], state["acceleration"][:] = velocity, spin, mean
        for name, walk, channel in (
            ("gyro_bias", params.gyro_bias_walk, _GYRO_BIAS),
            ("accel_bias", params.accel_bias_walk, _ACCEL_BIAS),
        ):
            if walk:
                # A random walk: its variance grows with time, whatever the rate.
                steps = normal_rows(batch.keys, batch.tick, 3, channel)
                state[name] += walk * np.sqrt(np.where(passed_mask, elapsed, 0.0))[:, None] * steps
        back = quaternions.conjugate(batch.orientations)
        # An accelerometer feels what holds it up, not gravity itself.
        felt = mean - np.asarray(self.context.world.gravity)
        # A noise density becomes the deviation of one reading by the square root of the rate.
        density = 1.0 / math.sqrt(self._period(params))
        return {
            "orientation": self._orientations(batch, params),
            "angular_velocity": quaternions.rotate(back, spin)
            + state["gyro_bias"]
            + _noise(batch, params.gyro_noise * density, _GYRO),
            "linear_acceleration": quaternions.rotate(back, felt)
            + state["accel_bias"]
            + _noise(batch, params.accel_noise * density, _ACCEL),
        }

    def _motion(self, batch: Batch, passed_mask: Bools, spans: Floats) -> tuple[Floats, Floats]:
        """Return velocities and angular velocities (N, 3) in the world frame.

        Those of links that joints move are means since the reading before, from their poses.
        """
        velocity, spin = frame_motion(self.world, batch)
        state, linked = batch.state, np.flatnonzero(batch.links >= 0)
        if len(linked):
            before = quaternions.conjugate(state["orientation"][linked])
            turns = quaternions.to_rotation_vectors(quaternions.multiply(batch.orientations[linked], before))
            ways = batch.positions[linked] - state["position"][linked]
            passed = passed_mask[linked, None]
            velocity[linked] = np.where(passed, ways / spans[linked], state["velocity"][linked])
            spin[linked] = np.where(passed, turns / spans[linked], state["spin"][linked])
        return velocity, spin

    def _period(self, params: ImuParams) -> float:
        """Return the seconds between two readings."""
        step = self.world.clock.dt
        return step if params.rate is None else max(step, 1.0 / params.rate)

    def _orientations(self, batch: Batch, params: ImuParams) -> Floats:
        if not params.orientation_noise:
            return batch.orientations
        errors = _noise(batch, params.orientation_noise, _ORIENTATION)
        return quaternions.multiply(batch.orientations, quaternions.from_rotation_vectors(errors))


def _note_pose(batch: Batch) -> None:
    batch.state["time"][:] = batch.time
    batch.state["position"][:] = batch.positions
    batch.state["orientation"][:] = batch.orientations


def _noise(batch: Batch, deviation: float, channel: int) -> Floats:
    """Return noise (N, 3) of a standard deviation."""
    if not deviation:
        return np.zeros((len(batch), 3))
    return deviation * normal_rows(batch.keys, batch.tick, 3, channel)


def frame_motion(world: World, batch: Batch) -> tuple[Floats, Floats]:
    """Return velocities (N, 3) and angular velocities (N, 3) of the sensors' frames, in the world frame.

    A frame moves as if it were fixed to its entity's base; one that nothing carries is at rest.
    """
    velocities, spins = world.velocity[batch.rows], world.angular_velocity[batch.rows]
    arms = batch.positions - world.position[batch.rows]
    # For row -1 this computes with the last row of the columns; those results are replaced below.
    velocities += quaternions.cross(np.ascontiguousarray(spins.T), np.ascontiguousarray(arms.T)).T
    still_mask = batch.rows == NO_ROW
    velocities[still_mask] = 0.0
    spins[still_mask] = 0.0
    return velocities, spins


# Odometry with drift: the pose a robot estimates from its own motion.


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
