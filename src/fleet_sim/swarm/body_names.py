"""The names that code written for RobotSwarmSimulator uses of an agent."""

from __future__ import annotations

from fleet_sim.arrays import Floats
from fleet_sim.swarm.swarm_body import SwarmBody


class NamedBody(SwarmBody):
    """A body with getters, and with how far it came in a step."""

    @property
    def pos(self) -> Floats:
        """Another name of `position`; a copy, so assign it as a whole."""
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
