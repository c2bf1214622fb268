"""Small nonsense of every kind, for tests that add something to fleet_sim."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.settings import setting
from fleet_sim.sensing.sensors.render.shot import Frame, Lighting, Shot
from fleet_sim.swarm import Controller, Metric, Sensor
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner
from fleet_sim.world.collision_rules import CollisionRule
from fleet_sim.world.world import DriveRule, SpeedRule, World


@dataclass
class WindyParams(fs.SimulationParams):
    """The settings with one more."""

    wind: float = setting(1.0, low=0, unit="m/s", doc="Of the air.")


class Jump:
    """A motion law that jumps 5 m per step."""

    name = "jump_of_guidance"

    def step(self, world: fs.World, rows: Rows, dt: float) -> Rows:
        world.position[rows, 0] += 5.0
        world.touch(rows)
        return rows[:0]


class Nudge(fs.AgentController):
    """A controller that drives on."""

    def compute(self, agent: fs.Agent, dt: float) -> None:
        agent.set_velocity(1.0)


class Hop(fs.Action):
    """An action that ends at once: well, or with the cause it is given."""

    def __init__(self, cause: str = "", timeout: float | None = None) -> None:
        super().__init__(timeout)
        self.cause_given = cause

    def start(self, agent: fs.Agent) -> None:
        if self.cause_given:
            self.fail("no hopping", fs.ActionCause(self.cause_given))
        else:
            self.complete()


@dataclass(frozen=True)
class BeaconParams(fs.SensorParams):
    default_name: ClassVar[str] = "beacon"


@dataclass(frozen=True, eq=False)
class BeaconReading(fs.Reading):
    distance: float


class Beacon(fs.SensorKind):
    """A sensor that reads its distance from the origin."""

    params_class, reading_class = BeaconParams, BeaconReading

    def sense(self, batch: Any) -> dict[str, Any]:
        return {"distance": np.hypot(batch.positions[:, 0], batch.positions[:, 1])}


class Fog:
    """A renderer that sees nothing but grey."""

    name = device = "fog"

    def __init__(self, lighting: Lighting) -> None:
        self.lighting = lighting

    def render(self, shot: Shot) -> Frame:
        return Frame(rgb=np.full((shot.intrinsics.height, shot.intrinsics.width, 3), 128, np.uint8))

    def close(self) -> None:
        """There is nothing to free."""


class Straight(Controller):
    def act(self, group: Group) -> Floats:
        return np.tile([1.0, 0.0], (len(group), 1))


class Seven(Sensor):
    def sense(self, group: Group) -> Ints:
        return np.full(len(group), 7)


class Head(Metric):
    def calculate(self) -> None:
        self.set_value(7.0)


class Corner(AgentSpawner):
    def choose_positions(self, count: int) -> Floats:
        return np.ones((count, 2))


class Ghosts(CollisionRule):
    def allows(self, first: Rows, second: Rows) -> Bools:
        return np.zeros(len(first), np.bool_)


class Slowly(SpeedRule):
    """No robot may drive faster than `limit`, in m/s, along any axis."""

    def __init__(self, world: World, limit: float) -> None:
        self._motion, self._limit = world.motion, limit

    def lower(self) -> None:
        """Lower the limits of all."""
        self._kept = self._motion.linear_limit.copy(), self._motion.linear_limits.copy()
        np.minimum(self._motion.linear_limit, self._limit, out=self._motion.linear_limit)
        np.minimum(self._motion.linear_limits, self._limit, out=self._motion.linear_limits)

    def restore(self) -> None:
        """Write back what all had."""
        self._motion.linear_limit[:], self._motion.linear_limits[:] = self._kept


class Asleep(DriveRule):
    reason = "it sleeps"

    def refuses(self, rows: Rows) -> Bools:
        return np.ones(len(rows), np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lift(fs.Command):
    """Lift robots by a height in m."""

    names: tuple[str, ...]
    height: float = 1.0


class Greet:
    """A subcommand, as a module or an object."""

    def add(self, commands: Any) -> None:
        parser = commands.add_parser("greet", help="greet somebody")
        parser.add_argument("whom")
        parser.set_defaults(command=self.execute)

    def execute(self, args: argparse.Namespace) -> int:
        print(f"hello {args.whom}")
        return 3
