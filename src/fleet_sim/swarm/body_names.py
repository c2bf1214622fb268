"""The names that code written for RobotSwarmSimulator uses of an agent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import Floats, as_floats, as_whole
from fleet_sim.errors import InvalidValueError
from fleet_sim.swarm.swarm_body import SwarmBody


class NamedBody(SwarmBody):
    """A body with getters, stops, and how far it came in a step."""

    @property
    def pos(self) -> Floats:
        """Another name of `position`."""
        return self.position

    @pos.setter
    def pos(self, value: object) -> None:
        self.position = value

    def getPosition(self) -> Floats:
        """Return `position`."""
        return self.position

    def get_x_pos(self) -> float:
        """Return `x_pos`."""
        return self.x_pos

    def get_y_pos(self) -> float:
        """Return `y_pos`."""
        return self.y_pos

    def get_heading(self) -> float:
        """Return `angle`."""
        return self.angle

    def set_heading(self, new_heading: float) -> None:
        """Set `angle`."""
        self.angle = new_heading

    def set_x_pos(self, new_x: float) -> None:
        """Put it at `new_x` along x, in m."""
        self.position = np.array((new_x, self.y_pos))

    def set_y_pos(self, new_y: float) -> None:
        """Put it at `new_y` along y, in m."""
        self.position = np.array((self.x_pos, new_y))

    def set_pos_vec(self, vec: Sequence[float] | Floats) -> None:
        """Put it where `vec` says: x and y in m, and its heading in rad."""
        x, y, angle = as_floats(vec, (3,), "x, y, angle").tolist()
        self.place((x, y), angle)

    @property
    def dead(self) -> bool:
        """Another name of `halted`; may be set."""
        return self.halted

    @dead.setter
    def dead(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidValueError(f"dead: expected True or False, got {value!r}")
        self.swarm.halted[self._require_alive()] = value

    @property
    def stopped_duration(self) -> int:
        """For how many more steps it stays where it is, although it may turn; may be set.

        With `catastrophic_collisions` a stop halts it. One without a controller has to be commanded again after it.
        """
        return int(self.swarm.stopped[self._require_alive()])

    @stopped_duration.setter
    def stopped_duration(self, steps: int) -> None:
        self.swarm.stopped[self._require_alive()] = as_whole(steps, "stopped_duration in steps", low=0)

    @property
    def collision_flag(self) -> bool:
        """Another name of `touching`."""
        return self.touching

    def getVelocity(self) -> Floats:
        """Return `dpos`: RobotSwarmSimulator's velocities are in m per step."""
        return self.dpos

    @property
    def dpos(self) -> Floats:
        """How far it came (2,) in the last step, pushes by others included, in m."""
        row = self._require_alive()
        way: Floats = self.columns.position[row, :2] - self.swarm.previous[row]
        return way

    @property
    def dx(self) -> float:
        """How far it came along x in the last step, in m."""
        return float(self.dpos[0])

    @property
    def dy(self) -> float:
        """How far it came along y in the last step, in m."""
        return float(self.dpos[1])
