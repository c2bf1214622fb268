"""DriveBy and Turn: move by a distance or an angle, from wherever the robot is.

Both command a velocity in each step: the highest from which the robot can still stop at the end, within its limits.
They end where the robot is at the end and can stop in one step, and fail where something is in the way, as what is
relative to the robot has no way around.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.actions.base import Until
from fleet_sim.actions.conveyed import immovable
from fleet_sim.actions.declared import DeclaredAction, Numbers, read_point
from fleet_sim.arrays import Floats, Rows
from fleet_sim.config.modes import ActionCause
from fleet_sim.entities import drive
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError
from fleet_sim.gate.bounds import LARGEST_EXTENT, LARGEST_SPEED
from fleet_sim.settings import setting
from fleet_sim.spatial import quaternions


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
