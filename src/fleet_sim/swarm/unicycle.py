"""The motion law of unicycles: constant linear and angular velocity during a step, along exact arcs.

Commands of agents and their motion are one kernel each: compiled where the world uses compiled code, else in Python on
the numbers of the same columns.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.params import ControllerMode
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.quaternions import wrapped
from fleet_sim.base.spatial.rotations import heading, sin_cos
from fleet_sim.robots.motion import driving
from fleet_sim.robots.motion.laws import Law, register_motion_law
from fleet_sim.robots.motion.rows import BodyArrays, SpeedLimits, quaternion_of, touch
from fleet_sim.world.columns import ColumnTable, named_columns, numbers_of
from fleet_sim.world.world import World

_IDLE, _VELOCITY, _POSE = ControllerMode.IDLE.code, ControllerMode.VELOCITY.code, ControllerMode.POSE.code


class AxisLimits(NamedTuple):
    """Columns of the limits of motion along each axis (N, 3)."""

    linear_limits: Floats
    linear_accels: Floats
    angular_limits: Floats
    angular_accels: Floats


class Driving(NamedTuple):
    """Columns of motion that unicycles read and write."""

    control: Bytes
    law: Bytes
    waypoint: Ints
    reached: Bools
    command_timeout: Floats
    command_linear: Floats
    command_angular: Floats
    command_expiry: Ints
    body_linear: Floats
    body_angular: Floats


class Held(NamedTuple):
    """Columns of a swarm: who rests, for how many steps who only turns, and who rests after that."""

    halted: Bools
    stopped: Ints
    catastrophic: Bools


class UnicycleArrays(NamedTuple):
    """The columns of a world that its unicycles are moved by."""

    bodies: BodyArrays
    driving: Driving
    norms: SpeedLimits
    axes: AxisLimits


_KNOWN: WeakKeyDictionary[object, tuple[Any, ...]] = WeakKeyDictionary()


def unicycle_arrays(world: World) -> UnicycleArrays:
    """Return the columns of `world`: arrays with compiled code, else their numbers."""
    motion, known = world.motion, _KNOWN.get(world)
    # A table that grows gets other arrays, and other scalars with them. Looking up thirty names takes as long as what
    # is done with twenty agents.
    if known is None or known[0] is not motion.scalars or known[1] is not world.scalars:
        arrays = UnicycleArrays(
            named_columns(BodyArrays, world),
            named_columns(Driving, motion),
            named_columns(SpeedLimits, motion),
            named_columns(AxisLimits, motion),
        )
        known = _KNOWN[world] = motion.scalars, world.scalars, arrays, numbers_of(arrays)
    found: UnicycleArrays = known[2 if world.compiled else 3]
    return found


def held_arrays(swarm: ColumnTable, *, compiled: bool) -> Held:
    """Return the columns of a swarm: arrays with compiled code, else their numbers."""
    known = _KNOWN.get(swarm)
    if known is None or known[0] is not swarm.scalars:
        arrays = named_columns(Held, swarm)
        known = _KNOWN[swarm] = swarm.scalars, arrays, numbers_of(arrays)
    found: Held = known[1 if compiled else 2]
    return found


LAW = "unicycle"


def drive_unicycles(world: World, rows: Rows, dt: float) -> Rows:
    """Move `rows` along arcs in the plane by `dt` seconds; return those that arrived.

    In a step by the chord `2 sin(w dt / 2) v / w`, with the heading half-way. Speeds and their changes stay within the
    agent's limits. Goals and paths are driven as a differential base does.
    """
    arrays, tick = unicycle_arrays(world), world.clock.tick
    if follow(rows, dt, tick, arrays) if world.compiled else follow.in_python(rows.tolist(), dt, tick, arrays):
        return NO_ROWS
    return driving.follow_poses(world, rows[world.motion.control.take(rows) == _POSE], dt)


@compiled_step
def follow(rows: Rows, dt: float, tick: int, arrays: UnicycleArrays) -> bool:
    """Move those of `rows` that follow a velocity command by one step of `dt` s along arcs; return whether all do.

    One at rest with a command of zero becomes idle. An engine is told at the end of the simulation's step.
    """
    bodies, driving, norms, axes = arrays.bodies, arrays.driving, arrays.norms, arrays.axes
    all_moved = True
    for row in rows:
        if driving.control[row] != _VELOCITY:
            all_moved = False
            continue
        if 0 <= driving.command_expiry[row] <= tick:
            for axis in range(3):
                driving.command_linear[row, axis] = driving.command_angular[row, axis] = 0.0
            driving.command_expiry[row] = -1
        wanted, wanted_turn = driving.command_linear[row, 0], driving.command_angular[row, 2]
        speed = _next_speed(
            driving.body_linear[row, 0],
            _within(wanted, norms.linear_limit[row], axes.linear_limits[row, 0]),
            norms.linear_accel[row] * dt,
            axes.linear_accels[row, 0] * dt,
        )
        turn = _next_speed(
            driving.body_angular[row, 2],
            _within(wanted_turn, norms.angular_limit[row], axes.angular_limits[row, 2]),
            norms.angular_accel[row] * dt,
            axes.angular_accels[row, 2] * dt,
        )
        before = heading(quaternion_of(bodies.orientation, row))
        half, after = turn * (0.5 * dt), before + turn * dt
        # The chord is shorter than the arc, and has the direction of the heading half-way.
        chord = speed * dt * (sin_cos(half)[0] / half if half != 0.0 else 1.0)
        sine, cosine = sin_cos(before + half)
        bodies.position[row, 0] += chord * cosine
        bodies.position[row, 1] += chord * sine
        bodies.orientation[row, 0] = bodies.orientation[row, 1] = 0.0
        bodies.orientation[row, 2], bodies.orientation[row, 3] = sin_cos(0.5 * after)
        sine, cosine = sin_cos(after)
        bodies.velocity[row, 0], bodies.velocity[row, 1] = speed * cosine, speed * sine
        bodies.angular_velocity[row, 2] = driving.body_angular[row, 2] = turn
        driving.body_linear[row, 0] = speed
        # All components, as another law may have left some of the others.
        bodies.velocity[row, 2] = bodies.angular_velocity[row, 0] = bodies.angular_velocity[row, 1] = 0.0
        driving.body_linear[row, 1] = driving.body_linear[row, 2] = 0.0
        driving.body_angular[row, 0] = driving.body_angular[row, 1] = 0.0
        if speed != 0.0 or turn != 0.0:
            touch(bodies, row)
        elif wanted == 0.0 and wanted_turn == 0.0:
            driving.control[row], driving.command_expiry[row] = _IDLE, -1
    return all_moved


@compiled_step
def _within(speed: float, norm_limit: float, axis_limit: float) -> float:
    """Return `speed` about one axis within a limit of the norm, then within that of the axis."""
    # As of vectors: the norm of large numbers overflows.
    size = math.sqrt(speed * speed)
    if size > norm_limit:
        speed = speed / size * norm_limit
    speed = speed if speed > -axis_limit else -axis_limit
    return speed if speed < axis_limit else axis_limit


@compiled_step
def _next_speed(present: float, wanted: float, norm_change: float, axis_change: float) -> float:
    """Return the speed after a step: as near to the one `wanted` as the changes allow."""
    change = wanted - present
    allowed = _within(change, norm_change, axis_change)
    # Not `present + change`, which would miss it by rounding.
    return wanted if allowed == change else present + allowed


@compiled_step
def give(
    rows: Rows, twists: Floats, dt: float, tick: int, held: Held, alive: Bools, driving: Driving, given: Rows
) -> int:
    """Give the agents of `rows` body twists (N, 2), m/s and rad/s, as velocity commands; NaN leaves one to others.

    Halted agents rest; stopped ones only turn, and a step of their stop is over with that. One that is `catastrophic`
    is halted by it. The rows that were commanded are written to `given`; returns how many.
    """
    count = 0
    for number in range(len(rows)):
        row = rows[number]
        speed, turn = twists[number, 0], twists[number, 1]
        stopped = held.stopped[row] > 0
        if stopped:
            held.stopped[row] -= 1
            held.halted[row] = held.halted[row] or held.catastrophic[row]
        if held.halted[row] or stopped:
            # Other commands, which NaN stands for, do not drive them either.
            speed = 0.0
            turn = 0.0 if held.halted[row] or math.isnan(turn) else turn
        # Controllers are user code and may have removed agents.
        if math.isnan(speed) or math.isnan(turn) or not alive[row] or driving.law[row] == 0:
            continue
        driving.waypoint[row] = 0
        driving.command_linear[row, 0], driving.command_angular[row, 2] = speed, turn
        driving.command_linear[row, 1] = driving.command_linear[row, 2] = 0.0
        driving.command_angular[row, 0] = driving.command_angular[row, 1] = 0.0
        timeout = driving.command_timeout[row]
        # 0.07 / 0.01 is slightly above 7 in floats: without the tolerance that command would last a tick longer.
        driving.command_expiry[row] = tick + math.ceil(timeout / dt - 1e-9) if timeout > 0.0 else -1
        driving.reached[row] = False
        driving.control[row] = _VELOCITY
        given[count] = row
        count += 1
    return count


@compiled_step
def look(rows: Rows, orientation: Floats, angles: Floats, sines: Floats) -> None:
    """Write sines of the headings of `rows`, turned by `angles` (N,), which become their cosines."""
    for number in range(len(rows)):
        sines[number], angles[number] = sin_cos(heading(quaternion_of(orientation, rows[number])) + angles[number])


register_motion_law(LAW, Law(LAW, drive_unicycles))


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
