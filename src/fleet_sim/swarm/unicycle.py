"""The motion law of unicycles: constant linear and angular velocity during a step, along exact arcs."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.schema import MotionColumns
from fleet_sim.core.world import World
from fleet_sim.motion import driving
from fleet_sim.motion.law import move_by_control
from fleet_sim.motion.laws import register_motion_law
from fleet_sim.motion.velocity import expire_commands
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.spatial.components import gather, scatter, vector_index
from fleet_sim.spatial.quaternions import wrapped
from fleet_sim.swarm.compiled_agents import follow_freely

IDLE, VELOCITY = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code
INF = float("inf")

FEW = 12
"""Number of rows up to which one is moved after the other."""


class UnicycleLaw:
    """Moves along arcs in the plane: in a step by the chord `2 sin(w dt / 2) v / w`, with the heading half-way.

    Speeds and their changes stay within the agent's limits. Goals and paths are driven as a differential base does.
    """

    name = "unicycle"

    def step(self, world: World, rows: Rows, dt: float) -> Rows:
        """Move `rows` by `dt` seconds; return those that arrived."""
        if len(rows) <= FEW:
            left = [row for row in rows.tolist() if not _follow_freely(world, row, dt)]
            if not left:
                return NO_ROWS
            # Those of which more has to be asked go the way of arrays, which gives the same.
            rows = np.array(left)
        elif world.compiled and world.in_step and follow_freely(world, rows, dt):
            return NO_ROWS
        return move_by_control(world, rows, dt, follow_commands, driving.follow_poses)


def follow_commands(world: World, rows: Rows, dt: float) -> None:
    """Move `rows` one step by their velocity commands; one at rest with a command of zero becomes idle."""
    motion = world.motion
    expire_commands(world, rows)
    index = vector_index(rows)
    along, _, about = index
    wanted_speeds, wanted_turns = gather(motion.command_linear, along), gather(motion.command_angular, about)
    lin_limits = motion.linear_limit.take(rows), gather(motion.linear_limits, along)
    lin_accels = motion.linear_accel.take(rows), gather(motion.linear_accels, along)
    speeds = _limited(wanted_speeds, gather(motion.body_linear, along), lin_limits, lin_accels, dt)
    ang_limits = motion.angular_limit.take(rows), gather(motion.angular_limits, about)
    ang_accels = motion.angular_accel.take(rows), gather(motion.angular_accels, about)
    turns = _limited(wanted_turns, gather(motion.body_angular, about), ang_limits, ang_accels, dt)
    headings = quaternions.yaws(world.orientation[rows])
    half, after = turns * (0.5 * dt), headings + turns * dt
    angles = np.stack((headings + half, 0.5 * after, after, half))
    # All angles in one call: where agents are few, a call takes as long for four times as many.
    sines, cosines = trig.sin_cos(angles)
    # The chord is shorter than the arc, and has the direction of the heading half-way.
    bent_mask = half != 0.0
    chords = speeds * dt * np.where(bent_mask, sines[3] / np.where(bent_mask, half, 1.0), 1.0)
    position = world.position.reshape(-1)
    position[along] += chords * cosines[0]
    position[along + 1] += chords * sines[0]
    turned = np.zeros((len(rows), 4))
    turned[:, 2], turned[:, 3] = sines[1], cosines[1]
    world.orientation[rows] = turned
    _write_twists(world, index, speeds, turns, (cosines[2], sines[2]))
    moved_mask = (speeds != 0.0) | (turns != 0.0)
    if np.count_nonzero(moved_mask) == len(rows):
        world.touch(rows)
        return
    world.touch(rows[moved_mask])
    _end_commands(motion, rows[~(moved_mask | (wanted_speeds != 0.0) | (wanted_turns != 0.0))])


def _end_commands(motion: MotionColumns, rows: Rows) -> None:
    motion.control[rows] = IDLE
    motion.command_expiry[rows] = -1


def _follow_freely(world: World, row: int, dt: float) -> bool:
    """Move `row` as `follow_commands` does, to the bit, if it follows a command that has not expired, without a limit.

    Returns whether it does; if not, nothing has changed. In plain numbers this is many times faster than with arrays
    of one.
    """
    motion = world.motion.scalars
    if motion.control[row] != VELOCITY or motion.axis_limited[row]:
        return False
    linear, angular = motion.linear_limit[row], motion.angular_limit[row]
    if not linear == motion.linear_accel[row] == angular == motion.angular_accel[row] == INF:
        return False
    # Expired commands are for the way of arrays, which ends them.
    if 0 <= motion.command_expiry[row] <= world.clock.tick:
        return False
    body = world.scalars
    x, y, z, q = 3 * row, 3 * row + 1, 3 * row + 2, 4 * row
    speed, turn = motion.command_linear[x], motion.command_angular[z]
    position, orientation = body.position, body.orientation
    heading = quaternions.heading_of(orientation[q], orientation[q + 1], orientation[q + 2], orientation[q + 3])
    half, after = turn * (0.5 * dt), heading + turn * dt
    chord = speed * dt * (trig.sin_cos_of(half)[0] / half if half != 0.0 else 1.0)
    sine, cosine = trig.sin_cos_of(heading + half)
    position[x] += chord * cosine
    position[y] += chord * sine
    orientation[q] = orientation[q + 1] = 0.0
    orientation[q + 2], orientation[q + 3] = trig.sin_cos_of(0.5 * after)
    sine, cosine = trig.sin_cos_of(after)
    velocity, angular_velocity = body.velocity, body.angular_velocity
    body_linear, body_angular = motion.body_linear, motion.body_angular
    velocity[x], velocity[y], body_linear[x] = speed * cosine, speed * sine, speed
    body_angular[z] = angular_velocity[z] = turn
    velocity[z] = angular_velocity[x] = angular_velocity[y] = 0.0
    # All three components, as another law may have left some of the others.
    body_linear[y] = body_linear[z] = body_angular[x] = body_angular[y] = 0.0
    if speed != 0.0 or turn != 0.0:
        world.touch_one(row)
    else:
        motion.control[row] = IDLE
        motion.command_expiry[row] = -1
    return True


def _limited(
    wanted: Floats, present: Floats, limits: tuple[Floats, Floats], accels: tuple[Floats, Floats], dt: float
) -> Floats:
    """Return speeds (N,) about one axis: `wanted`, within (norm, axis) `limits` and as near as `accels` allow."""
    limited, slowed = _has_finite(limits), _has_finite(accels)
    if not limited and not slowed:
        # Without limits the command is taken as it is, to the bit, as in `_follow_freely`.
        return wanted
    if limited:
        most = np.minimum(*limits)
        wanted = np.minimum(np.maximum(wanted, -most), most)
    if not slowed:
        return wanted
    most, change = np.minimum(*accels) * dt, wanted - present
    allowed = np.minimum(np.maximum(change, -most), most)
    # Not `present + change`, which would miss `wanted` by rounding.
    return np.where(allowed == change, wanted, present + allowed)


def _has_finite(arrays: tuple[Floats, Floats]) -> bool:
    # Counting is several times faster than any() where agents are few.
    return bool(np.count_nonzero(np.isfinite(np.minimum(*arrays))))


def _write_twists(world: World, index: Ints, speeds: Floats, turns: Floats, ahead: tuple[Floats, Floats]) -> None:
    """Write the twists of rows that go at `speeds` along `ahead`, unit vectors by component."""
    motion = world.motion
    # One array for all four: making arrays costs more than filling them where agents are few.
    twists = np.zeros((3, 3, len(speeds)))
    linear, angular, velocity = twists
    linear[0] = speeds
    angular[2] = turns
    np.multiply(speeds, ahead[0], out=velocity[0])
    np.multiply(speeds, ahead[1], out=velocity[1])
    scatter(motion.body_linear, index, linear)
    scatter(motion.body_angular, index, angular)
    scatter(world.velocity, index, velocity)
    scatter(world.angular_velocity, index, angular)


register_motion_law(UnicycleLaw.name, UnicycleLaw())


def steered(headings: Floats, x: Floats, y: Floats, *, top_speed: float, turn_gain: float, top_turn: float) -> Floats:
    """Return actions (N, 2) that turn `headings` (N,) to wanted velocities (x, y) and drive as far as they point there.

    The turning speed is `turn_gain` (1/s) times the bearing, within `top_turn` rad/s; the speed is the wanted one's
    share along the heading, from 0 to `top_speed`.
    """
    sizes = np.sqrt(x * x + y * y)
    bearings = np.where(sizes > 0.0, wrapped(trig.arctan2(y, x) - headings), 0.0)
    turns = np.minimum(np.maximum(turn_gain * bearings, -top_turn), top_turn)
    speeds = np.minimum(np.maximum(sizes * trig.cos(bearings), 0.0), top_speed)
    return np.stack((speeds, turns), axis=1)
