"""Actions that drive or wait in other ways: Follow, DriveBy, Turn, Wait, and Teleop.

It steers to a point of the path ahead, as pure pursuit does: on the arc through that point, slower where the arc is
tight. At corners sharper than SHARP the robot stops and turns; the last pose is reached by a MoveAction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Floats, Rows
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.geometry import Path, Pose
from fleet_sim.base.limits import LARGEST_EXTENT, LARGEST_SPEED, LONGEST_TIME
from fleet_sim.base.params import ActionCause, ActionStatus, MotionMode, MovementDirection
from fleet_sim.base.settings import setting
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots import drive
from fleet_sim.robots.actions.action import BLOCKED_DOC, Action, DeclaredAction, Numbers, Until, immovable, read_point
from fleet_sim.robots.actions.drive import MoveAction, read_path
from fleet_sim.robots.agent import Agent

SHARP = 0.8
"""Turns of more than this (rad) are corners: a robot stops there to turn."""
AHEAD = 0.15
"""How far ahead (m) on the path it steers to; at high speeds farther, but at most MOST_AHEAD."""
STEPS_AHEAD, TURN, LONGEST, SLOW = 3.0, 2.0, 0.4, 0.5
"""At high speeds: the way of so many steps, or of the time to come to turn at TURN rad/s, at most of LONGEST s; of
robots that begin to turn more slowly than 1.6 rad/s^2 the time in which they turn by SLOW^2 / 2 rad from rest."""
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
        time = max(STEPS_AHEAD * dt, min(TURN / turns, max(LONGEST, SLOW / math.sqrt(turns))))
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


# DriveBy and Turn: move by a distance or an angle, from wherever the robot is. Both command a velocity in each step:
# the highest from which the robot can still stop at the end, within its limits. They end where the robot is at the
# end and can stop in one step, and fail where something is in the way, as what is relative to the robot has no way
# around.


def read_way(value: object) -> Floats:
    """Return a way (3,) in m; raises InvalidValueError."""
    way = read_point(value)
    if way is None:
        raise InvalidValueError("must be 3 finite numbers, got nothing")
    return way


EXACT, CLOSE = 1e-7, 1e-3
"""How near to its end a motion ends, in m or rad: of robots that go exactly where they are told, and with physics."""


@dataclass(eq=False, repr=False)
class _Relative(DeclaredAction):
    """Drives by a twist that slows down towards the end; a robot that stops before an obstacle fails."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.done = 0.0
        """The way made so far, in m or rad."""
        self._begin: Floats | None = None
        self._last = 0.0

    # ---- to override -------------------------------------------------------------------------------------------------

    def _goal(self) -> tuple[float, float, str]:
        """Return the way to make, at least 0, the wanted speed, and what is wrong with the request, or ""."""
        raise NotImplementedError

    def _made(self, agent: Agent) -> float:
        """Return the way made since the beginning."""
        raise NotImplementedError

    def _speed(self, agent: Agent) -> float:
        """Return how fast the robot comes nearer to the end; below 0: farther away."""
        raise NotImplementedError

    def _limits(self, agent: Agent) -> tuple[float, float]:
        """Return the largest speed and acceleration of the robot."""
        raise NotImplementedError

    def _command(self, agent: Agent, rows: Rows, speed: float) -> None:
        """Drive at `speed`; below 0: back, where it came too far."""
        raise NotImplementedError

    # ---- running -----------------------------------------------------------------------------------------------------

    def start(self, agent: Agent) -> Until | None:
        """Start to move."""
        wrong = self._goal()[2]
        hindrance = immovable(agent)
        if wrong:
            self.fail(wrong, ActionCause.INVALID_GOAL)
        elif agent.world.routes.conveys(agent.row):
            self.fail("the traffic of the site drives this robot", ActionCause.UNREACHABLE)
        elif hindrance is not None:
            self.fail(*hindrance)
        else:
            world, row = agent.world, agent.row
            self._begin = np.array([*world.position[row], quaternions.yaw_of(world.orientation, row)])
            self._last = float(self._begin[3])
            self._drive_on(agent)
        return None

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Look how far it has come."""
        self.done = self._made(agent)
        near = CLOSE if agent.world.dynamic[agent.row] else EXACT
        if abs(self._goal()[0] - self.done) <= near and self._can_stop(agent):
            drive.stop(agent.world, np.array([agent.row]))
            self.complete()
        elif self.blocked_by is not None:
            self._blocked_by = self.blocked_by
            self.fail(f"{self._blocked_by!r} is in the way", ActionCause.BLOCKED)
        else:
            self._drive_on(agent)
        return None

    def stop(self, agent: Agent) -> None:
        """Stop the robot, however the action ended."""
        if self._begin is not None:
            drive.stop(agent.world, np.array([agent.row]))

    def reset(self) -> None:
        """Make the action ready to start again, from wherever its robot is then."""
        super().reset()
        self.done, self._begin = 0.0, None

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase, duration, the way made and what is left of it."""
        way = self._goal()[0]
        return {
            "phase": "moving",
            "blocked_by": self.blocked_by or "",
            "duration": self.get_duration(),
            "done": self.done,
            "distance_left": max(way - self.done, 0.0),
        }

    def _can_stop(self, agent: Agent) -> bool:
        """Return whether the robot can be at rest in the next step."""
        # The tolerance is for rounding.
        return abs(self._speed(agent)) <= self._limits(agent)[1] * agent.world.clock.dt * (1.0 + 1e-9)

    def _drive_on(self, agent: Agent) -> None:
        """Command the speed of the next step: the highest from which the robot can still stop at the end."""
        way, wanted, _ = self._goal()
        left, speed, dt = way - self.done, self._speed(agent), agent.world.clock.dt
        side = math.copysign(1.0, left)
        fastest, acceleration = self._limits(agent)
        # A step that ends at the speed w goes (v + w) dt / 2, and n steps of even braking after it n w dt / 2: the end
        # is reached where (n + 1) w = rest. Braking allows w up to n a dt, which gives the least n.
        rest = max(2.0 * abs(left) / dt - side * speed, 0.0)
        steps = max(math.ceil(math.sqrt(0.25 + rest / (acceleration * dt)) - 0.5 - 1e-9), 1)
        highest = rest / (steps + 1)
        self._command(agent, np.array([agent.row]), side * min(wanted, fastest, highest))


@dataclass(eq=False, repr=False)
class DriveByAction(_Relative):
    """Drive straight by `target`, along its x, the robot's heading; below 0 is backwards.

    FAILED with the cause for a target that is not along x, and a speed of the other sign.
    """

    target: Numbers = setting(reader=read_way, unit="m", doc="How far, body frame: [x, 0, 0].")
    speed: float = setting(
        low=-LARGEST_SPEED, high=LARGEST_SPEED, unit="m/s", doc="How fast; of the same sign as the target."
    )

    def _goal(self) -> tuple[float, float, str]:
        """Return the way in m and the speed in m/s, both positive, and what is wrong with the goal or ""."""
        x, y, z = map(float, self.target)
        wrong = ""
        if y or z:
            wrong = f"target: robots drive along x here, got y {y:g} and z {z:g}"
        elif abs(x) > LARGEST_EXTENT:
            wrong = f"target: at most {LARGEST_EXTENT:g} m, got {x:g}"
        elif x * self.speed <= 0.0:
            wrong = f"speed: must have the sign of the target {x:g} m and not be 0, got {self.speed:g}"
        return abs(x), abs(self.speed), wrong

    def _made(self, agent: Agent) -> float:
        assert self._begin is not None
        away = agent.world.position[agent.row] - self._begin[:3]
        # The straight distance: a robot that is pushed aside has come farther.
        return float(np.sqrt((away * away).sum()))

    def _speed(self, agent: Agent) -> float:
        velocity = agent.world.velocity[[agent.row]]
        ahead = quaternions.rotate(quaternions.conjugate(agent.world.orientation[[agent.row]]), velocity)[0, 0]
        return math.copysign(1.0, self.speed) * float(ahead)

    def _limits(self, agent: Agent) -> tuple[float, float]:
        return drive.limits_ahead(agent.world, agent.row)

    def _command(self, agent: Agent, rows: Rows, speed: float) -> None:
        linear = np.array([[math.copysign(1.0, self.speed) * speed, 0.0, 0.0]])
        drive.start_velocities(agent.world, rows, linear, np.zeros((1, 3)), 0.0)


@dataclass(eq=False, repr=False)
class TurnAction(_Relative):
    """Turn on the spot by `angle`: positive turns left, and more than 2 pi turns more than once around."""

    angle: float = setting(low=-1e4, high=1e4, unit="rad", doc="How far.")
    speed: float = setting(1.0, above=0.0, high=LARGEST_SPEED, unit="rad/s", doc="How fast at most.")

    def start(self, agent: Agent) -> Until | None:
        """Start to turn."""
        if drive.is_steered(agent.world, agent.row):
            self.fail("the robot is steered like a car and cannot turn on the spot", ActionCause.UNREACHABLE)
            return None
        return super().start(agent)

    def _goal(self) -> tuple[float, float, str]:
        return abs(self.angle), self.speed, ""

    def _made(self, agent: Agent) -> float:
        yaw = quaternions.yaw_of(agent.world.orientation, agent.row)
        # From step to step, as a heading does not tell how often it went around.
        turned = math.remainder(yaw - self._last, 2.0 * math.pi)
        self._last = yaw
        return self.done + math.copysign(1.0, self.angle) * turned

    def _speed(self, agent: Agent) -> float:
        return math.copysign(1.0, self.angle) * float(agent.world.angular_velocity[agent.row, 2])

    def _limits(self, agent: Agent) -> tuple[float, float]:
        return drive.limits_of_turns(agent.world, agent.row)

    def _command(self, agent: Agent, rows: Rows, speed: float) -> None:
        angular = np.array([[0.0, 0.0, math.copysign(1.0, self.angle) * speed]])
        drive.start_velocities(agent.world, rows, np.zeros((1, 3)), angular, 0.0)


# Wait: wait for simulated time to pass.


@dataclass(eq=False, repr=False)
class Wait(DeclaredAction):
    """Wait for `duration` s of simulation time, to the tick: 1 s at a step of 0.1 s takes 10 steps."""

    duration: float = setting(low=0.0, unit="s", doc="Duration in simulation time.")
    action_type: str = setting("idle", doc='A label of the user\'s own, such as "charging".')

    def __post_init__(self) -> None:
        super().__post_init__()
        self._executed = 0

    def start(self, agent: Agent) -> Until | None:
        """Begin to wait."""
        return self.update(agent, 0.0)

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Check whether the time has passed."""
        end = (self.start_time or 0.0) + self.duration
        # The time of a tick may be short of the sum by rounding.
        if agent.world.clock.time >= end - 1e-9:
            self.complete()
        return Until(time=end)

    def execute(self, agent: Agent, dt: float) -> bool:
        """Count this call as `dt` of waiting."""
        if self.status is ActionStatus.NOT_STARTED:
            self._executed = 0
            if super().execute(agent, dt):
                return True
        self._executed += 1
        # Calls are counted, as somebody who executes it by hand need not step the clock.
        if not self.is_complete() and self._executed * dt >= self.duration - 1e-9:
            self.complete()
            self.stop(agent)
        return self.is_complete()


WaitAction = Wait
"""Its other name."""


# Teleop: let somebody else drive, until told that this is done.


@dataclass(eq=False, repr=False)
class TeleopAction(DeclaredAction):
    """Wait while velocity commands drive the robot; COMPLETED by the command FinishActions, and the robot then stops.

    FAILED at once, with the cause, for an agent that cannot move or that the traffic drives.
    """

    # Velocities are what it waits for, so they must not end it.
    moves_base: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._is_done = False
        self._began = False

    def start(self, agent: Agent) -> Until | None:
        """Begin to wait, with a robot that stands."""
        hindrance = immovable(agent)
        if hindrance is not None:
            self.fail(*hindrance)
        elif agent.world.routes.conveys(agent.row):
            self.fail("the traffic of the site drives this robot", ActionCause.UNREACHABLE)
        else:
            self._began = True
            drive.stop(agent.world, np.array([agent.row]))
        return None

    def update(self, agent: Agent, dt: float) -> Until | None:
        """Look whether it is done."""
        if self._is_done:
            self.complete()
        return None

    def finish(self) -> bool:
        """End with success, as soon as the actions of this step are run."""
        self._is_done = True
        return True

    def stop(self, agent: Agent) -> None:
        """Stop the robot, however the action ended."""
        if self._began:
            drive.stop(agent.world, np.array([agent.row]))

    def reset(self) -> None:
        """Make the action ready to start again."""
        super().reset()
        self._is_done = self._began = False

    def progress(self, agent: Agent) -> dict[str, Any]:
        """Return phase and duration."""
        return {"phase": "moving", "duration": self.get_duration()}
