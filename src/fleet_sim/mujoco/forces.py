"""Forces and torques of the user, which last one step of the simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.core.world import World
from fleet_sim.mujoco.bound import Bound

Numbers = tuple[float, ...]


class Push(NamedTuple):
    """What pushes an entity: a force in N, at a point or at the centre of mass, and a torque in N m; world frame."""

    row: int
    generation: int
    force: Numbers
    torque: Numbers
    point: Numbers | None


class MujocoForces:
    """Keeps what pushes until the step is over, and applies it in each substep."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.pushes: list[Push] = []

    def add(self, row: int, force: Numbers, torque: Numbers, point: Numbers | None) -> None:
        """Push the entity in `row` in the next step."""
        self.pushes.append(Push(row, int(self._world.generation[row]), force, torque, point))

    def apply(self, bound: Bound) -> None:
        """Apply all of them to a substep whose positions are known."""
        if not self.pushes:
            return
        data = bound.data
        data.xfrc_applied[:] = 0.0
        for push in self.pushes:
            found = np.flatnonzero(bound.rows == push.row)
            if not len(found) or not self._world.is_live(push.row, push.generation):
                continue
            body = int(bound.compiled.base[found[0]])
            force, torque = np.array(push.force), np.array(push.torque)
            if push.point is not None:
                torque = torque + np.cross(np.array(push.point) - data.xipos[body], force)
            data.xfrc_applied[body] += np.concatenate((force, torque))

    def clear(self, bound: Bound | None) -> None:
        """Forget them: the step is over."""
        if self.pushes:
            self.pushes.clear()
            if bound is not None:
                bound.data.xfrc_applied[:] = 0.0
