"""IMU: orientation, angular velocity and linear acceleration, in the frame of the sensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fleet_sim.arrays import Bools, Floats
from fleet_sim.core.random import normal_rows
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.sensors.kind import Batch, SensorKind
from fleet_sim.sensors.sensor import Reading, SensorParams
from fleet_sim.settings import setting
from fleet_sim.spatial import components, quaternions

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
    velocities += components.cross(np.ascontiguousarray(spins.T), np.ascontiguousarray(arms.T)).T
    still_mask = batch.rows == NO_ROW
    velocities[still_mask] = 0.0
    spins[still_mask] = 0.0
    return velocities, spins
