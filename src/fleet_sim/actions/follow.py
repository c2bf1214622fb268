"""Follow: drive along a path whose poses draw a curve, without a stop at each of them.

It steers to a point of the path ahead, as pure pursuit does: on the arc through that point, slower where the arc is
tight. At corners sharper than SHARP the robot stops and turns; the last pose is reached by a MoveAction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.actions.base import BLOCKED_DOC, Action, Until
from fleet_sim.actions.conveyed import immovable
from fleet_sim.actions.declared import DeclaredAction
from fleet_sim.actions.move_along import MoveAction, read_path
from fleet_sim.arrays import Floats
from fleet_sim.config.modes import ActionStatus, MotionMode, MovementDirection
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.gate.bounds import LONGEST_TIME
from fleet_sim.geometry import Path, Pose
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

SHARP = 0.8
"""Turns of more than this (rad) are corners: a robot stops there to turn."""
AHEAD = 0.15
"""How far ahead (m) on the path it steers to; at high speeds farther, but at most MOST_AHEAD."""
STEPS_AHEAD, TURN, LONGEST = 3.0, 2.0, 0.4
"""At high speeds: the way of so many steps, or of the time to come to turn at TURN rad/s, at most of LONGEST s."""
MOST_AHEAD = 0.5
ALIGNED = 0.02
"""Off the direction to drive in by less than this (rad), a robot that turned on the spot drives."""
NEAR = 0.02
"""Distance in m from the end of a curve at which it has ended; the last pose is reached that exactly."""
BRAKING = 0.8
"""The part of the acceleration that it counts on for braking."""


@dataclass(eq=False, repr=False)
class FollowAction(DeclaredAction):
    """Drive along `path`; COMPLETED at its last pose, with the causes of a MoveAction.

    Robots with a differential base that lead with their front steer along a path with curves, and stop at its corners
    only. All others, and paths of corners, are driven as by a MoveAction.
    """

    path: Path | Sequence[Pose] = setting(reader=read_path, doc="Waypoints, world frame.")
    keep_height: bool = setting(False, doc="Keep the robot's height, as of a MoveAction.")
    blocked_timeout: float | None = setting(None, low=0.0, high=LONGEST_TIME, unit="s", doc=BLOCKED_DOC)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._leg: MoveAction | None = None
        self._points: Floats = np.empty((0, 2))
        self._ways: Floats = np.empty(0)
        """How far along the path each point is, in m."""
        self._corners: list[float] = []
        """Where along it the corners ahead are, and its end."""
        self._way = 0.0
        self._turning = True

    def start(self, agent: Agent) -> Until | None:
        """Start to drive."""
        if (
            len(self.path)
            and immovable(agent) is None
            and not agent.world.routes.conveys(agent.row)
            and self._is_steered(agent)
        ):
            self._read(agent)
            if self._is_curved():
                drive.wait_when_blocked(agent.world, np.array([agent.row]), self.blocked_timeout)
                return None
        whole = MoveAction(self.path, keep_height=self.keep_height, blocked_timeout=self.blocked_timeout)
        return self._move(agent, whole)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Steer on."""
        if self._leg is not None:
            return self._after(self._leg, agent, self._leg.proceed(agent, dt))
        hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
            return None
        if self.fail_blocked(agent):
            return None
        self._look(agent)
        if self._corners[0] - self._way <= NEAR:
            self._corners, self._turning = self._corners[1:], True
            if not self._corners:
                drive.stop(agent.world, np.array([agent.row]))
                last = MoveAction(
                    [self.path[-1]],
                    keep_height=self.keep_height,
                    tolerance=2.0 * NEAR,
                    blocked_timeout=self.blocked_timeout,
                )
                return self._move(agent, last)
        self._steer(agent, dt)
        return None

    def stop(self, agent: Agent) -> None:
        """Stop the robot, however the action ended."""
        if self._leg is not None:
            self._leg.cancel(self.error_message or "the path ended")
            self._leg.stop(agent)
        elif len(self._points):
            drive.stop(agent.world, np.array([agent.row]))

    def parts(self) -> list[Action]:
        """Return the way to the last pose, or the whole way."""
        return [] if self._leg is None else [self._leg]

    def reset(self) -> None:
        """Make the action ready to start again, from wherever its robot is then."""
        super().reset()
        self._leg, self._points, self._ways = None, np.empty((0, 2)), np.empty(0)
        self._corners, self._way, self._turning = [], 0.0, True

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration and remaining distance in m."""
        leg = {} if self._leg is None else self._leg.progress(agent)
        left = float(self._ways[-1]) - self._way if len(self._ways) else 0.0
        own = {"phase": "moving", "blocked_by": self.blocked_by or "", "distance_left": left}
        return {**own, **leg, "duration": self.get_duration()}

    # ---- another action ----------------------------------------------------------------------------------------------

    def _move(self, agent: Agent, leg: MoveAction) -> Until | None:
        self._leg = leg
        return self._after(leg, agent, leg.begin(agent))

    def _after(self, leg: MoveAction, agent: Agent, until: Until | None) -> Until | None:
        if leg.status is ActionStatus.COMPLETED:
            self.complete()
        elif leg.is_complete():
            self.fail_as(leg)
        return until

    # ---- steering ----------------------------------------------------------------------------------------------------

    def _is_steered(self, agent: Agent) -> bool:
        motion, row = agent.world.motion, agent.row
        law = agent.world.laws.names()[int(motion.law[row])]
        return bool(law == MotionMode.DIFFERENTIAL.value and motion.direction[row] == MovementDirection.FORWARD.code)

    def _read(self, agent: Agent) -> None:
        """Read the path, from where the robot is."""
        here = agent.world.position[agent.row, :2]
        points = np.array([(pose.x, pose.y) for pose in self.path])
        # From where it is, unless the first pose is near.
        if trig.hypot_of(*(points[0] - here).tolist()) > AHEAD:
            points = np.concatenate((here[None], points))
        lengths = trig.hypot(*np.diff(points, axis=0).T)
        # Poses at one place have no direction between them.
        kept_mask = np.concatenate(([True], lengths > 1e-6))
        self._points = points[kept_mask]
        steps = np.diff(self._points, axis=0)
        self._ways = np.concatenate(([0.0], np.cumsum(trig.hypot(*steps.T))))
        yaws = trig.arctan2(steps[:, 1], steps[:, 0])
        sharp_mask = np.abs(quaternions.wrapped(np.diff(yaws))) > SHARP
        self._corners = [*self._ways[1:-1][sharp_mask].tolist(), float(self._ways[-1])]

    def _is_curved(self) -> bool:
        """Return whether there are bends besides the corners."""
        return len(self._points) - 1 > len(self._corners)

    def _look(self, agent: Agent) -> None:
        """Look how far along the path the robot is: at the nearest point of the next piece of it."""
        first = max(int(np.searchsorted(self._ways, self._way, "right")) - 1, 0)
        # Not beyond the next corner: it is passed at rest.
        last = int(np.searchsorted(self._ways, min(self._way + 1.0, self._corners[0]), "left"))
        begin, end = self._points[first:last], self._points[first + 1 : last + 1]
        if not len(begin):
            return
        line, away = end - begin, agent.world.position[agent.row, :2] - begin
        lengths = np.diff(self._ways[first : last + 1])
        along = np.clip((line * away).sum(axis=1) / lengths, 0.0, lengths)
        beside = away - line * (along / lengths)[:, None]
        nearest = int((beside * beside).sum(axis=1).argmin())
        # Never back, where a path crosses itself.
        self._way = max(self._way, float(self._ways[first + nearest] + along[nearest]))

    def _steer(self, agent: Agent, dt: float) -> None:
        """Drive on the arc to a point of the path ahead; at corners turn towards it first."""
        world, row = agent.world, agent.row
        fastest, brakes = drive.limits_ahead(world, row)
        spin, turns = drive.limits_of_turns(world, row)
        brakes, turns = BRAKING * brakes, BRAKING * turns
        left = self._corners[0] - self._way
        # A robot that begins to turn slowly would swing about the path if it looked no farther than that takes.
        time = max(STEPS_AHEAD * dt, min(TURN / turns, LONGEST))
        # No faster than it can steer: a point farther ahead would cut bends.
        speed = min(fastest, left / dt, math.sqrt(2.0 * brakes * left), MOST_AHEAD / time)
        at = min(self._way + max(AHEAD, speed * time), self._corners[0])
        target = np.array([np.interp(at, self._ways, self._points[:, axis]) for axis in (0, 1)])
        x, y = (target - world.position[row, :2]).tolist()
        sine, cosine = trig.sin_cos_of(quaternions.yaw_of(world.orientation, row))
        # In the frame of the robot.
        ahead, aside = cosine * x + sine * y, cosine * y - sine * x
        error = trig.atan2_of(aside, ahead)
        self._turning = abs(error) > (ALIGNED if self._turning else SHARP)
        if self._turning:
            turn = math.copysign(min(spin, abs(error) / dt, math.sqrt(2.0 * turns * abs(error))), error)
            speed = 0.0
        else:
            # The circle through the robot, along its heading, and the target: 2 y / (x^2 + y^2).
            bend = 2.0 * aside / (ahead * ahead + aside * aside)
            speed = min(speed, spin / abs(bend)) if bend else speed
            turn = speed * bend
        rows = np.array([row])
        drive.start_velocities(world, rows, np.array([[speed, 0.0, 0.0]]), np.array([[0.0, 0.0, turn]]), 0.0)
