"""Fleet managers over ROS with a fault each, for a lab to find: `python ros_mutants.py NAME SITE STORAGE`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from ros_transports import PATIENCE, Json, Manager, RobotState, main


class SentOnce(Manager):
    """It sends each goal once."""

    def drive(self, name: str, node: str, state: RobotState, now: float) -> None:
        if self.robots[name].get("last") != node:
            super().drive(name, node, state, now)
        self.robots[name]["last"] = node


class Forgetful(Manager):
    """It remembers nothing."""

    def save(self) -> None:
        """Nothing is written."""


class LeaseExpires(Manager):
    """Nodes of a robot that cannot drive are free for others."""

    def held(self, but: str) -> set[str]:
        all_robots = self.robots
        self.robots = {name: one for name, one in all_robots.items() if name not in self.unfit}
        try:
            return super().held(but)
        finally:
            self.robots = all_robots


class ReassignsLoaded(Manager):
    """It gives the order of a robot that cannot drive to another one, also where the load is on that robot."""

    def look_after(self, name: str, robot: Json, state: RobotState, now: float) -> None:
        order = self.orders.get(robot["order"] or "")
        if order and order["loaded"] and now - self.unfit.get(name, math.inf) > PATIENCE:
            order.update(robot=None, loaded=False)
            robot["order"] = None
        super().look_after(name, robot, state, now)


class HomeAfterRestart(Manager):
    """After a restart it takes all robots for standing at home."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, robot in self.robots.items():
            robot["way"] = [self.home[name]]


class CancelsPicked(Manager):
    """It takes an order back while its load is being picked."""

    def on_order(self, given: Json) -> None:
        order = self.orders.get(given["id"])
        if given["do"] == "cancel" and order is not None:
            order["picks"] = False
        super().on_order(given)


MUTANTS: dict[str, type[Manager]] = {
    one.__name__: one for one in (SentOnce, Forgetful, LeaseExpires, ReassignsLoaded, HomeAfterRestart, CancelsPicked)
}

if __name__ == "__main__":
    main(MUTANTS[sys.argv.pop(1)])
