"""JointTrajectoryAction: move joints through given positions at given times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.actions.base import Until
from fleet_sim.actions.curves import JointCurves
from fleet_sim.actions.declared import DeclaredAction, Numbers, as_given
from fleet_sim.actions.stall import BestDistance
from fleet_sim.actions.trajectory_values import read_names, read_times, read_tolerances_by_name
from fleet_sim.arrays import NO_ROWS, Floats, Ints, as_floats
from fleet_sim.config.modes import ActionCause, ActionStatus, Mode
from fleet_sim.core import joint_steering, mimic
from fleet_sim.core.joints import DEFAULT_FORCE
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.joint_values import Tolerance, limits_cause, place_of
from fleet_sim.errors import FleetSimError
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.saved_classes import saved
from fleet_sim.settings import setting


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
        None,
        reader=as_given,
        unit="rad or m",
        doc="The same at the end; None: the agent's `joint_tolerance`.",
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
            joint_steering.hold_joints(agent.world, self._slots(agent))

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
                mimic.without_followers(model, self._places, self._points)
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
            joint_steering.give_joint_targets(world, slots, self._points[-1], self.max_force)
            return Until(time=self._first + float(self._times[-1]))
        if self._keeps_up:
            piece = curves.piece(now + dt - self._first)
            begin, span = self._first + float(curves.times[piece]), float(curves.spans[piece])
            joint_steering.give_joint_curves(world, slots, curves.coefficients[piece], begin, span)
            # A step before the piece ends: each command is for the end of the step in which it is given.
            return Until(time=max(begin + span - dt, now + dt))
        wanted, _ = self.desired(now + dt)
        # The velocity that leads from where the joints are, not from where they should be: errors do not add up.
        joint_steering.give_joint_velocities(world, slots, (wanted - world.joints.position[slots]) / dt, self.max_force)
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
        joint_steering.give_joint_targets(agent.world, slots, self._points[-1], self.max_force)
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
