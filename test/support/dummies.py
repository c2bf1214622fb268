"""Small nonsense of every kind, for tests that add something to fleet_sim."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Rows
from fleet_sim.base.settings import setting
from fleet_sim.sensing.sensors.render.shot import Frame, Lighting, Shot
from fleet_sim.swarm import Metric
from fleet_sim.world.world import DriveRule, SpeedRule, World


@dataclass
class WindyParams(fs.SimulationParams):
    """The settings with one more."""

    wind: float = setting(1.0, low=0, unit="m/s", doc="Of the air.")


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


class Fog:
    """A renderer that sees nothing but grey."""

    name = device = "fog"

    def __init__(self, lighting: Lighting) -> None:
        self.lighting = lighting

    def render(self, shot: Shot) -> Frame:
        return Frame(rgb=np.full((shot.intrinsics.height, shot.intrinsics.width, 3), 128, np.uint8))

    def close(self) -> None:
        """There is nothing to free."""


class Head(Metric):
    def calculate(self) -> None:
        self.set_value(7.0)


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


class Greet:
    """A subcommand, as a module or an object."""

    def add(self, commands: Any) -> None:
        parser = commands.add_parser("greet", help="greet somebody")
        parser.add_argument("whom")
        parser.set_defaults(command=self.execute)

    def execute(self, args: argparse.Namespace) -> int:
        print(f"hello {args.whom}")
        return 3
