"""Actions that move joints: to positions, along trajectories, and an end effector to a pose."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints, as_floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.limits import LONGEST_TIME
from fleet_sim.base.params import ActionCause, ActionStatus, Mode
from fleet_sim.base.registry import saved
from fleet_sim.base.settings import setting
from fleet_sim.robots.actions.action import Action, DeclaredAction, Numbers, Until, as_given, read_point, read_turn
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.arm import TOLERANCE, read_target
from fleet_sim.robots.joint_arguments import (
    JointNumbers,
    Tolerance,
    limits_cause,
    place_of,
    read_joint_numbers,
    read_tolerances,
)
from fleet_sim.world import steering
from fleet_sim.world.joints import DEFAULT_FORCE, TO_POSITION
from fleet_sim.world.shapes import RobotModel

# Curves of joints through points in time.


SHORTEST = 1e-9
"""Minimum duration of a piece between two points, in seconds."""


@saved
class JointCurves:
    """The curves of K joints through P points: cubics if velocities are given, otherwise straight lines.

    `coefficients` (P - 1, 4, K) are those of each piece, for u from 0 to 1 within its time.
    """

    def __init__(self, times: Floats, positions: Floats, velocities: Floats | None) -> None:
        """`times` (P,) in s, P >= 2; `positions` and `velocities` (P, K)."""
        self.times = times
        self.positions = positions
        # Two points at one time would divide by 0.
        self.spans = np.maximum(np.diff(times), SHORTEST)
        begin, rise = positions[:-1], np.diff(positions, axis=0)
        if velocities is None:
            none = np.zeros_like(rise)
            self.coefficients = np.stack([begin, rise, none, none], axis=1)
        else:
            first, last = velocities[:-1] * self.spans[:, None], velocities[1:] * self.spans[:, None]
            # Cubic Hermite: positions and velocities at both ends, the latter scaled from time to u.
            pieces = [begin, first, 3.0 * rise - 2.0 * first - last, first + last - 2.0 * rise]
            self.coefficients = np.stack(pieces, axis=1)

    def piece(self, at: float) -> int:
        """Return the number of the piece at time `at`; outside, the first or last one."""
        # Before the first point and after the last there is no other piece to take.
        index = int(np.searchsorted(self.times, at, side="right")) - 1
        return min(max(index, 0), len(self.spans) - 1)

    def sample(self, at: float) -> tuple[Floats, Floats]:
        """Return position and velocity (K,) at time `at`; outside the joints are at rest."""
        if at <= self.times[0] or at >= self.times[-1]:
            # What is asked for at an end gets the point itself, without rounding.
            place = self.positions[0] if at <= self.times[0] else self.positions[-1]
            return place, np.zeros_like(place)
        index = self.piece(at)
        u = (at - float(self.times[index])) / float(self.spans[index])
        c0, c1, c2, c3 = self.coefficients[index]
        position: Floats = c0 + u * (c1 + u * (c2 + u * c3))
        velocity: Floats = (c1 + u * (2.0 * c2 + u * 3.0 * c3)) / float(self.spans[index])
        return position, velocity

    def top_speeds(self) -> Floats:
        """Return the maximum speed (K,) on the curves."""
        c1, c2, c3 = self.coefficients[:, 1], self.coefficients[:, 2], self.coefficients[:, 3]
        # The speed is a parabola in u, so it is largest at an end or at its vertex.
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(c3 != 0.0, np.clip(-c2 / (3.0 * c3), 0.0, 1.0), 0.0)
        rates = [np.abs(c1 + u * (2.0 * c2 + u * 3.0 * c3)) for u in (0.0, 1.0, vertex)]
        speeds: Floats = (np.max(rates, axis=0) / self.spans[:, None]).max(axis=0)
        return speeds


# What a trajectory is given as: names of joints, times, and tolerances, read and checked.


def read_names(value: object) -> tuple[str, ...]:
    """Return names of joints, each once; raises InvalidValueError."""
    names = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InvalidValueError(f"expected at least one name, each once, got {value!r}")
    return names


def read_times(value: object) -> Floats:
    """Return ascending times (P,) in s as a new array; raises InvalidValueError."""
    # A copy: the caller may change his array while the action runs.
    times = as_floats(value, (None,), "times in s").copy()
    if not len(times) or times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        raise InvalidValueError(f"expected numbers of at least 0, each larger than the last, got {value!r}")
    return times


def read_tolerances_by_name(value: Tolerance, names: tuple[str, ...], what: str) -> Floats:
    """Return one tolerance (K,) per joint of `names`, NaN for those without; infinite ones are allowed."""
    tolerances = np.full(len(names), np.nan)
    if value is None:
        return tolerances
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise InvalidValueError(f"{what}: {unknown[0]!r} is not a joint of the trajectory: {', '.join(names)}")
        places, given = [names.index(name) for name in value], list(value.values())
    else:
        places, given = list(range(len(names))), np.broadcast_to(value, (len(names),)).tolist()
    tolerances[places] = given
    if not all(number >= 0.0 for number in given):
        raise InvalidValueError(f"{what} in rad or m: expected numbers of at least 0, got {value!r}")
    return tolerances


# Detects motors that make no progress towards their targets.


STALL_TIME = 1.0
"""Seconds without progress after which motors count as stalled."""
STALL_PROGRESS = 1e-4
"""Change in rad or m that counts as progress."""


@saved
class BestDistance(NamedTuple):
    """The smallest total distance (rad or m) of the joints from their targets so far, and its time."""

    distance: float = math.inf
    time: float = 0.0

    def after(self, distance: float, now: float) -> BestDistance:
        """Return the updated record for the present `distance`."""
        return BestDistance(distance, now) if distance < self.distance - STALL_PROGRESS else self

    def stalled(self, now: float) -> bool:
        """Return whether the joints have made no progress for too long."""
        return now - self.time >= STALL_TIME


@dataclass(eq=False, repr=False)
class JointAction(DeclaredAction):
    """Move joints to targets: a list for all of them, or a mapping by name; COMPLETED when each is within tolerance.

    A `tolerance` of None is replaced by the agent's when the action starts. FAILED at once, with the cause, for
    an agent without such joints, a wrong number of targets, and targets beyond a joint's limits; FAILED later where
    motors cannot get there with `max_force` (N m or N). An action that does not complete leaves its joints where they
    are. The base may drive meanwhile.
    """

    moves_base: ClassVar[bool] = False

    target_joint_positions: JointNumbers = setting(
        reader=as_given, unit="rad or m", doc="Targets: a list for all movable joints, or a mapping by name or index."
    )
    max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the motors, if there are any."
    )
    tolerance: Tolerance = setting(
        None,
        reader=as_given,
        unit="rad or m",
        doc="Tolerance: a number, a list by joint index or a mapping by name; None: the agent's `joint_tolerance`.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._places: Ints = NO_ROWS
        self._targets: Floats = np.empty(0)
        self._tolerances: Floats = np.empty(0)
        self._best = BestDistance()

    def moves_joints(self, places: Ints) -> bool:
        """Return whether some of `places` are among the joints with targets."""
        return bool(np.isin(places, self._places).any())

    def start(self, agent: Agent) -> Until | None:
        """Command the joints to their targets."""
        model = agent.robot_model
        if model is None:
            self.fail("the agent was made from shapes and has no joints", ActionCause.INVALID_GOAL)
            return None
        cause = self._read(agent, model)
        if cause:
            self.fail(cause, ActionCause.INVALID_GOAL)
            return None
        self._best = BestDistance()
        targets = dict(zip(model.movable[self._places].tolist(), self._targets.tolist(), strict=True))
        agent.set_joints_targets(targets, self.max_force)
        # At once: joints that are there already end the action in this step.
        return self.update(agent, 0.0)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether the joints have arrived."""
        joints, slots = agent.world.joints, self._slots(agent)
        left = np.abs(joints.position[slots] - self._targets)
        if bool((left <= self._tolerances).all()):
            self.complete()
            return None
        now = agent.world.clock.time
        if agent.uses_motors:
            self._watch(agent, left, now)
            return None
        # Without motors the time of arrival is known.
        # The slowest joint decides; until its time nobody has to look.
        wait = float(np.max((left - self._tolerances) / joints.max_velocity[slots]))
        return Until(joints=True, time=now + wait)

    def time_left(self, agent: Agent) -> float:
        """Return the time in s until all joints are exactly at their targets, moved at full speed."""
        joints, slots = agent.world.joints, self._slots(agent)
        left = np.abs(joints.position[slots] - self._targets)
        return float(np.max(left / joints.max_velocity[slots], initial=0.0))

    def stop(self, agent: Agent) -> None:
        """Hold the joints at their present positions, unless they have arrived."""
        if self.status is not ActionStatus.COMPLETED and len(self._places):
            slots = self._slots(agent)
            joints = agent.world.joints
            # Only joints still on their way to our targets: the others have a newer command.
            ours_mask = (joints.control[slots] == TO_POSITION) & (joints.target[slots] == self._accepted(agent))
            steering.hold_joints(agent.world, slots[ours_mask])

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and the largest remaining distance (rad or m) of a joint."""
        left = np.abs(agent.world.joints.position[self._slots(agent)] - self._targets)
        return {
            "phase": "moving",
            "duration": self.get_duration(),
            "distance_left": float(left.max()) if len(left) else 0.0,
        }

    def _read(self, agent: Agent, model: RobotModel) -> str:
        """Read targets and tolerances for `model`; return an error message, or ""."""
        try:
            self._places, self._targets = read_joint_numbers(model, self.target_joint_positions, "joint targets")
            if agent.world.robots.mimics[agent.row]:
                self._places, self._targets = steering.without_followers(model, self._places, self._targets)
            # Kept, so that describing the action tells what it really used; past the rule that it stays from now on.
            if self.tolerance is None:
                vars(self)["tolerance"] = agent.joint_tolerance
            default = np.empty(len(model.movable))
            self._tolerances = read_tolerances(model, self.tolerance, default)[self._places]
        except FleetSimError as error:
            # No places, so that `stop` does not touch joints that were never commanded.
            self._places = NO_ROWS
            return str(error)
        cause = limits_cause(model, self._places, self._targets)
        if cause:
            self._places = NO_ROWS
        return cause

    def _slots(self, agent: Agent) -> Ints:
        slots: Ints = self._places + int(agent.world.robots.joint_start[agent.row])
        return slots

    def _accepted(self, agent: Agent) -> Floats:
        joints, slots = agent.world.joints, self._slots(agent)
        # What the joints were told: targets beyond a limit by less than the slack are cut.
        cut: Floats = np.clip(self._targets, joints.lower[slots], joints.upper[slots])
        return cut

    def _watch(self, agent: Agent, left: Floats, now: float) -> None:
        """Fail if the motors have made no progress for some time."""
        # Beyond the tolerance only: joints that tremble within it have arrived.
        beyond = np.maximum(left - self._tolerances, 0.0)
        self._best = self._best.after(float(beyond.sum()), now)
        if self._best.stalled(now):
            worst = int(np.argmax(beyond))
            model = agent.robot_model
            assert model is not None
            name = model.joint_names[model.movable[self._places[worst]]]
            self.fail(
                f"joint {name!r} stopped {left[worst]:g} short of its target {self._targets[worst]:g}: it is blocked, "
                f"or max_force {self.max_force:g} is too little",
                ActionCause.UNREACHABLE,
            )


# PoseAction: move an arm's end effector to a pose.


UNREACHABLE = "IK target was not reachable"
SETTLE_TIME = 1.0
"""Seconds that motors get, after their joints are within tolerance, to bring the end effector there too."""

log = logging.getLogger("fleet_sim.robots.actions")


@dataclass(eq=False, repr=False)
class PoseAction(DeclaredAction):
    """Move the end effector to `target_position`, with `target_orientation` (xyzw) if that is given.

    Both are in the world frame, as it is when the action starts: the base should stay where it is. COMPLETED when the
    joints are at their targets, within the agent's `joint_tolerance`, and the end effector is within `tolerance` of
    its own.

    FAILED at once, with the cause, for an agent without joints or without that link. What cannot be reached is
    approached as far as possible, with a warning in the log; the action then ends FAILED with "IK target was not
    reachable". FAILED also where joints cannot get to their targets, see JointAction.
    """

    moves_base: ClassVar[bool] = False

    target_position: Numbers = setting(reader=read_point, unit="m", doc="Position of the end effector, world frame.")
    target_orientation: Numbers | None = setting(
        None, reader=read_turn, doc="Orientation, xyzw, world frame; None: any."
    )
    end_effector_link: int | str | None = setting(
        None, doc="End effector link by index or name; None: the one with fingers or a tool, else the last."
    )
    max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the motors, if there are any."
    )
    tolerance: float = setting(
        TOLERANCE, low=0.0, unit="m", doc="Distance to the target within which the end effector has arrived."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Read here for its checks: a wrong goal is refused when it is given, not when its turn comes.
        read_target(self.target_position, self.target_orientation)
        self._joints: JointAction | None = None
        self._reachable = True
        self._deadline: float | None = None

    def parts(self) -> list[Action]:
        """Return the action that moves the joints."""
        return [] if self._joints is None else [self._joints]

    def moves_joints(self, places: Ints) -> bool:
        """Return whether some of `places` are among the joints that lead to the end effector."""
        return self._joints is not None and self._joints.moves_joints(places)

    def start(self, agent: Agent) -> Until | None:
        """Find joint values for the target and send the joints there."""
        model = agent.robot_model
        if model is None:
            self.fail("the agent was made from shapes and has no joints", ActionCause.INVALID_GOAL)
            return None
        try:
            found = agent.find_reach(
                self.target_position, self.target_orientation, self.end_effector_link, self.tolerance
            )
        except FleetSimError as error:
            self.fail(str(error), ActionCause.INVALID_GOAL)
            return None
        self._reachable = bool(found.reachable_mask[0])
        if not self._reachable:
            log.warning(
                "%s: the end effector of %r stays %.3f m from %s; it goes as near as it can",
                UNREACHABLE,
                agent.world.label(agent.row),
                found.position_errors[0],
                np.asarray(self.target_position).tolist(),
            )
        joints = model.movable[found.slots - int(agent.world.robots.joint_start[agent.row])]
        targets = dict(zip(joints.tolist(), found.values.tolist(), strict=True))
        # In no queue: this action runs it as a part and cleans up after it.
        self._joints = JointAction(targets, self.max_force)
        return self._go_on(agent, self._joints.begin(agent))

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether joints and end effector have arrived."""
        assert self._joints is not None
        if self._joints.is_complete():
            return self._settle(agent)
        return self._go_on(agent, self._joints.proceed(agent, dt))

    def stop(self, agent: Agent) -> None:
        """Hold the joints at their present positions, unless they have arrived."""
        if self._joints is not None:
            # Joints that have arrived keep their targets; held anew, these would move to where the joints sag.
            if not self._joints.is_complete():
                self._joints.cancel()
            self._joints.stop(agent)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and the distance (m) of the end effector from its target."""
        here = agent.get_end_effector_pose(self.end_effector_link).position
        x, y, z = (np.asarray(self.target_position) - here).tolist()
        phase = "settling" if self._deadline is not None else "moving"
        return {"phase": phase, "duration": self.get_duration(), "distance_left": (x * x + y * y + z * z) ** 0.5}

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._joints, self._reachable, self._deadline = None, True, None

    def _go_on(self, agent: Agent, until: Until | None) -> Until | None:
        """Wait for the joints, or evaluate their final positions."""
        assert self._joints is not None
        if self._joints.status is ActionStatus.FAILED:
            if self._reachable:
                self.fail(self._joints.error_message or "the joints did not get there")
            else:
                self.fail(UNREACHABLE, ActionCause.UNREACHABLE)
            return None
        return self._settle(agent) if self._joints.is_complete() else until

    def _settle(self, agent: Agent) -> Until | None:
        """Wait until the joints, which are within tolerance, bring the end effector within its own."""
        position, orientation = self.target_position, self.target_orientation
        if self._reachable and agent.are_ee_at_target(position, orientation, self.end_effector_link, self.tolerance):
            self.complete()
            return None
        assert self._joints is not None
        now = agent.world.clock.time
        if self._deadline is None:
            self._deadline = now + SETTLE_TIME + (0.0 if agent.uses_motors else self._joints.time_left(agent))
        # Exactly there, the joints cannot bring the end effector any nearer, so there is nothing to wait for.
        there = agent.are_joints_at_targets(self._joints.target_joint_positions, 0.0)
        if not there and now < self._deadline:
            return None if agent.uses_motors else Until(joints=True, time=self._deadline)
        if self._reachable:
            left = self.progress(agent)["distance_left"]
            self.fail(f"the end effector stopped {left:.3f} m from its target; did the base move?")
        else:
            self.fail(UNREACHABLE, ActionCause.UNREACHABLE)
        return None


# JointTrajectoryAction: move joints through given positions at given times.


@saved
class TrajectoryCause(Mode):
    """Why a trajectory was not executed."""

    INVALID_JOINTS = "invalid_joints"
    INVALID_GOAL = "invalid_goal"
    OLD = "old"
    PATH_TOLERANCE = "path_tolerance"
    GOAL_TOLERANCE = "goal_tolerance"


@dataclass(eq=False, repr=False)
class JointTrajectoryAction(DeclaredAction):
    """Move joints through `positions` (P, K) at `times` (P,) in s from the start; COMPLETED at the last.

    Between points positions are interpolated: by cubics where `velocities` (P, K) are given, else in straight lines.
    The way to the first point begins where the joints are. Joints move no faster than they can and lag behind then.

    `path_tolerance` and `goal_tolerance`, one number, one per joint of `joint_names` or a mapping of some, say how far
    (rad, m) a joint may be from where it should be on the way, and at the end. Without one the way does not count, and
    at the end the agent's `joint_tolerance` does. `goal_time_tolerance` in s is how late the end may be; None: as late
    as it takes, while the joints get nearer. `start_time_wanted` in s of simulation time delays the start, or leaves
    out what should have been before now.

    FAILED with a `trajectory_cause`; the joints are then held where they are.
    """

    moves_base: ClassVar[bool] = False

    joint_names: Sequence[str] = setting(reader=read_names, doc="The joints that are led, each once.")
    times: Numbers = setting(reader=read_times, unit="s", doc="When the points are reached, from the start, ascending.")
    positions: Sequence[Sequence[float]] | Floats = setting(
        reader=as_given, unit="rad or m", doc="A list for each point, with the position of each joint."
    )
    velocities: Sequence[Sequence[float]] | Floats | None = setting(
        None,
        reader=as_given,
        unit="rad/s or m/s",
        doc="Velocities at the points, in the same form; None: straight lines between the points.",
    )
    path_tolerance: Tolerance = setting(
        None,
        reader=as_given,
        unit="rad or m",
        doc="How far from its place on the way a joint may be: a number, one per joint or by name; None: any distance.",
    )
    goal_tolerance: Tolerance = setting(
        None, reader=as_given, unit="rad or m", doc="The same at the end; None: the agent's `joint_tolerance`."
    )
    goal_time_tolerance: float | None = setting(
        None, low=0.0, unit="s", doc="How late the end may be; None: as late as it takes, while the joints get nearer."
    )
    start_time_wanted: float | None = setting(
        None,
        low=-LONGEST_TIME,
        high=LONGEST_TIME,
        unit="s",
        doc="Simulation time of the start; one that has passed leaves out what was before now. None: at once.",
    )
    max_force: float = setting(
        DEFAULT_FORCE, low=0.0, unit="N m or N", doc="Maximum force of the motors, if there are any."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = tuple(self.joint_names)
        self._times = np.asarray(self.times)
        # Copies: the caller may change his arrays while the action runs.
        shape = len(self._times), len(names)
        self._points: Floats = as_floats(self.positions, shape, "positions of the points").copy()
        self._speeds: Floats | None = None
        if self.velocities is not None:
            self._speeds = as_floats(self.velocities, shape, "velocities of the points").copy()
        # Past the rule of the base class, which would begin anew.
        vars(self).update(positions=self._points, velocities=self._speeds)
        self._path_tolerances = read_tolerances_by_name(self.path_tolerance, names, "path_tolerance")
        self._goal_tolerances = read_tolerances_by_name(self.goal_tolerance, names, "goal_tolerance")
        self.trajectory_cause: TrajectoryCause | None = None
        self._places: Ints = NO_ROWS
        self._best = BestDistance()
        self._first = 0.0
        self._curves: JointCurves | None = None
        self._keeps_up = False

    def moves_joints(self, places: Ints) -> bool:
        """Return whether some of `places` are among the joints of the trajectory."""
        return bool(np.isin(places, self._places).any())

    def start(self, agent: Agent) -> Until | None:
        """Check the trajectory against the robot and start it."""
        self.trajectory_cause = None
        self._best = BestDistance()
        now = agent.world.clock.time
        self._first = now if self.start_time_wanted is None else self.start_time_wanted
        model = agent.robot_model
        if model is None or not self._read(model, mimics=bool(agent.world.robots.mimics[agent.row])):
            if model is None:
                self._refuse(TrajectoryCause.INVALID_JOINTS, "the agent was made from shapes and has no joints")
            return None
        if self._first + self._times[-1] < now:
            self._refuse(TrajectoryCause.OLD, f"the trajectory ends {now - self._first - self._times[-1]:g} s ago")
            return None
        self._begin_here(agent, now - self._first)
        if self._first > now:
            return Until(time=self._first)
        return self._lead(agent, now)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Compare actual with desired positions and command the next ones."""
        now = agent.world.clock.time
        # Times of ticks and sums of times differ by rounding; so do the comparisons below.
        if now < self._first - 1e-9:
            return Until(time=self._first)
        if self.end_reached(now):
            return self._settle(agent, now)
        if not (self._keeps_up or np.isnan(self._path_tolerances).all()):
            self._compare(agent, now)
        return None if self.is_complete() else self._lead(agent, now)

    def stop(self, agent: Agent) -> None:
        """Hold the joints at their present positions, unless they have arrived."""
        if self.status is not ActionStatus.COMPLETED and len(self._places):
            steering.hold_joints(agent.world, self._slots(agent))

    def end_reached(self, now: float) -> bool:
        """Return whether the time of the last point has come."""
        return bool(now >= self._first + self._times[-1] - 1e-9)

    def desired(self, now: float) -> tuple[Floats, Floats]:
        """Return the desired positions and velocities (K,) at simulation time `now`."""
        assert self._curves is not None
        return self._curves.sample(now - self._first)

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase and duration, and of the joints: names, and positions and velocities desired and actual."""
        world = agent.world
        now = world.clock.time
        slots = self._slots(agent)
        positions, velocities = self.desired(now)
        actual, speeds = world.joints.position[slots].copy(), world.joints.velocity[slots].copy()
        left = max(0.0, float(self._first + self._times[-1] - now))
        return {
            "phase": "following",
            "duration": self.get_duration(),
            "distance_left": left,
            "joint_names": self.joint_names,
            "desired": (positions, velocities),
            "actual": (actual, speeds),
        }

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _read(self, model: RobotModel, *, mimics: bool) -> bool:
        """Look up the joints and check all points; return whether they are possible, with the cause noted if not."""
        try:
            self._places = np.array([place_of(model, name) for name in self.joint_names], np.int64)
            if mimics:
                steering.without_followers(model, self._places, self._points)
        except FleetSimError as error:
            self._refuse(TrajectoryCause.INVALID_JOINTS, str(error))
            return False
        for index, point in enumerate(self._points):
            cause = limits_cause(model, self._places, point)
            if cause:
                self._refuse(TrajectoryCause.INVALID_GOAL, f"point {index}: {cause}")
                return False
        return True

    def _refuse(self, cause: TrajectoryCause, message: str) -> None:
        senseless = cause in (TrajectoryCause.INVALID_JOINTS, TrajectoryCause.INVALID_GOAL, TrajectoryCause.OLD)
        if senseless:
            self._places = NO_ROWS
        self.trajectory_cause = cause
        self.fail(message, ActionCause.INVALID_GOAL if senseless else ActionCause.UNREACHABLE)

    def _begin_here(self, agent: Agent, late: float) -> None:
        """Insert the joints' present positions before the first point that is still to come."""
        slots = self._slots(agent)
        ahead = self._times > max(late, 0.0)
        # Curves need two points, and the end is always still to be reached.
        if not ahead.any():
            ahead[-1] = True
        here = max(late, 0.0)
        joints = agent.world.joints
        times = np.concatenate([[here], self._times[ahead]])
        positions = np.concatenate([joints.position[slots][None], self._points[ahead]])
        velocities = self._speeds
        if velocities is not None:
            velocities = np.concatenate([joints.velocity[slots][None], velocities[ahead]])
        self._curves = JointCurves(times, positions, velocities)
        speeds = self._curves.top_speeds()
        # Such joints follow their curves in the columns, exactly and without a call of Python in each step.
        self._keeps_up = not agent.uses_motors and bool((speeds <= joints.max_velocity[slots]).all())

    def _lead(self, agent: Agent, now: float) -> Until | None:
        """Command the joints to their desired positions at the end of this step.

        Those that can keep up follow their curves by themselves from one point to the next; the others are corrected
        at each step.
        """
        assert self._curves is not None
        world, slots, curves = agent.world, self._slots(agent), self._curves
        dt = world.clock.dt
        if self.end_reached(now + dt):
            steering.give_joint_targets(world, slots, self._points[-1], self.max_force)
            return Until(time=self._first + float(self._times[-1]))
        if self._keeps_up:
            piece = curves.piece(now + dt - self._first)
            begin, span = self._first + float(curves.times[piece]), float(curves.spans[piece])
            steering.give_joint_curves(world, slots, curves.coefficients[piece], begin, span)
            # A step before the piece ends: each command is for the end of the step in which it is given.
            return Until(time=max(begin + span - dt, now + dt))
        wanted, _ = self.desired(now + dt)
        # The velocity that leads from where the joints are, not from where they should be: errors do not add up.
        steering.give_joint_velocities(world, slots, (wanted - world.joints.position[slots]) / dt, self.max_force)
        return None

    def _compare(self, agent: Agent, now: float) -> None:
        error = np.abs(agent.world.joints.position[self._slots(agent)] - self.desired(now)[0])
        # NaN means no tolerance: comparisons with it are false.
        self._fail_beyond(error, self._path_tolerances, TrajectoryCause.PATH_TOLERANCE, "on the way")

    def _settle(self, agent: Agent, now: float) -> Until | None:
        """Check whether the joints have reached the last point."""
        joints, slots = agent.world.joints, self._slots(agent)
        error = np.abs(joints.position[slots] - self._points[-1])
        given = self._goal_tolerances
        allowed = np.where(np.isnan(given), joints.tolerance[slots], given)
        if bool((error <= allowed).all()):
            self.complete()
            return None
        steering.give_joint_targets(agent.world, slots, self._points[-1], self.max_force)
        end = self._first + float(self._times[-1])
        if self.goal_time_tolerance is None:
            self._best = self._best.after(float(error.sum()), now)
            over = agent.uses_motors and self._best.stalled(now)
        else:
            over = now >= end + self.goal_time_tolerance - 1e-9
        if over:
            self._fail_beyond(error, allowed, TrajectoryCause.GOAL_TOLERANCE, "at the end")
        if agent.uses_motors:
            return None
        # Without motors joints move at full speed, so their arrival can be foreseen.
        there = now + float(np.max((error - allowed) / joints.max_velocity[slots]))
        return Until(time=there if self.goal_time_tolerance is None else min(there, end + self.goal_time_tolerance))

    def _fail_beyond(self, error: Floats, allowed: Floats, cause: TrajectoryCause, where: str) -> None:
        beyond = np.flatnonzero(error > allowed)
        if len(beyond):
            first = int(beyond[0])
            self._refuse(
                cause,
                f"joint {self.joint_names[first]!r} is {error[first]:g} off {where}; {allowed[first]:g} was allowed",
            )

    def _slots(self, agent: Agent) -> Ints:
        slots: Ints = self._places + int(agent.world.robots.joint_start[agent.row])
        return slots
