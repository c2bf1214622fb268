"""The motion law of unicycles: linear velocity along the heading half-way through the turn, and angular velocity."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.world import World
from fleet_sim.motion import differential
from fleet_sim.motion.law import move_by_control
from fleet_sim.motion.laws import register_motion_law
from fleet_sim.motion.limits import clipped
from fleet_sim.motion.velocity import expire_commands, towards
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.components import scatter, vector_index

IDLE = ControllerMode.IDLE.code


class UnicycleLaw:
    """Moves by `v dt` along the heading half-way through the turn `w dt`, in the plane.

    Speeds and their changes stay within the agent's limits. Goals and paths are driven as a differential base does.
    """

    name = "unicycle"

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        return move_by_control(world, rows, dt, follow_commands, differential.follow_poses)


def follow_commands(world: World, rows: Rows, dt: float) -> None:
    """Move `rows` one step by their velocity commands; one at rest that is told to rest becomes idle."""
    motion = world.motion
    expire_commands(world, rows)
    speeds = _limited(
        motion.command_linear[rows, 0],
        motion.body_linear[rows, 0],
        (motion.linear_limit[rows], motion.linear_limits[rows, 0]),
        (motion.linear_accel[rows] * dt, motion.linear_accels[rows, 0] * dt),
    )
    turns = _limited(
        motion.command_angular[rows, 2],
        motion.body_angular[rows, 2],
        (motion.angular_limit[rows], motion.angular_limits[rows, 2]),
        (motion.angular_accel[rows] * dt, motion.angular_accels[rows, 2] * dt),
    )
    headings = quaternions.yaws(world.orientation[rows])
    # The chord of an arc has the direction of the heading half-way, so circles close and do not spiral out.
    middles = headings + turns * (0.5 * dt)
    sines, cosines = trig.sin_cos(middles)
    after = headings + turns * dt
    world.position[rows, 0] += speeds * dt * cosines
    world.position[rows, 1] += speeds * dt * sines
    world.orientation[rows] = quaternions.from_yaws(after)
    _write_twists(world, rows, speeds, turns, after)
    world.touch(rows[(speeds != 0.0) | (turns != 0.0)])
    wanted_mask = (motion.command_linear[rows, 0] != 0.0) | (motion.command_angular[rows, 2] != 0.0)
    resting = rows[~wanted_mask & (speeds == 0.0) & (turns == 0.0)]
    motion.control[resting] = IDLE
    motion.command_expiry[resting] = -1


def _limited(wanted: Floats, present: Floats, limits: tuple[Floats, Floats], changes: tuple[Floats, Floats]) -> Floats:
    """Return speeds (N,) about one axis: `wanted` within (norm, axis) limits and changes from `present`."""
    limited, slowed = _has_finite(limits), _has_finite(changes)
    if not limited and not slowed:
        return wanted
    vectors = np.zeros((3, len(wanted)))
    vectors[0] = wanted
    if limited:
        vectors = clipped(vectors, limits[0], np.broadcast_to(limits[1], vectors.shape))
    if slowed:
        before = np.zeros_like(vectors)
        before[0] = present
        vectors = towards(before, vectors, changes[0], np.broadcast_to(changes[1], vectors.shape))
    return vectors[0]


def _has_finite(arrays: tuple[Floats, Floats]) -> bool:
    # Counting is several times faster than any() where agents are few.
    return bool(np.count_nonzero(np.isfinite(arrays[0])) or np.count_nonzero(np.isfinite(arrays[1])))


def _write_twists(world: World, rows: Rows, speeds: Floats, turns: Floats, headings: Floats) -> None:
    motion = world.motion
    index = vector_index(rows)
    # One array for all four: making arrays costs more than filling them where agents are few.
    twists = np.zeros((3, 3, len(rows)))
    linear, angular, velocity = twists
    linear[0] = speeds
    angular[2] = turns
    sines, cosines = trig.sin_cos(headings)
    np.multiply(speeds, cosines, out=velocity[0])
    np.multiply(speeds, sines, out=velocity[1])
    scatter(motion.body_linear, index, linear)
    scatter(motion.body_angular, index, angular)
    scatter(world.velocity, index, velocity)
    scatter(world.angular_velocity, index, angular)


register_motion_law(UnicycleLaw.name, UnicycleLaw())
