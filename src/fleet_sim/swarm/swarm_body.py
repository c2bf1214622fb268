"""One agent or object by its row: where it is and what it looks like, whatever type it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fleet_sim.arrays import NO_ROWS, Floats, Rows
from fleet_sim.core.world import World
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import StaleHandleError
from fleet_sim.settings import read
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.agent_config import AgentConfig
from fleet_sim.swarm.attributes import check_assignment
from fleet_sim.swarm.canvas import Color
from fleet_sim.swarm.crowd import SwarmColumns


class SwarmBody:
    """A handle over one row of a world's columns; see `SwarmAgent` for what it can do.

    Reading what was removed raises StaleHandleError.
    """

    law: ClassVar[str | None] = None
    """The motion law that moves it; None: nothing does."""

    def __init__(self, columns: World, swarm: SwarmColumns, handle: SimObject, config: AgentConfig) -> None:
        self.columns = columns
        self.swarm = swarm
        self.handle = handle
        """The entity in the core: an Agent where it can move, else a SimObject."""
        self.row: int = handle.row
        self.config: Any = config
        """What it was made from: the settings class of its type."""
        self.is_made = False
        """Whether it is in its group; from then on, what is assigned to it acts or is refused."""

    def __setattr__(self, name: str, value: object) -> None:
        if vars(self).get("is_made"):
            advice = "remove the agent and spawn another one, or say it in the configuration"
            check_assignment(self, name, type(self.config), advice)
        super().__setattr__(name, value)

    def _require_alive(self) -> int:
        if not self.handle.is_alive:
            raise StaleHandleError(f"{type(self).__name__} {self.handle.last_label} was removed")
        return self.row

    @property
    def is_alive(self) -> bool:
        """Whether it is still there."""
        return bool(self.handle.is_alive)

    # ---- where it is -------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Floats:
        """A copy of where it is (2,), in m."""
        position: Floats = self.columns.position[self._require_alive(), :2].copy()
        return position

    @position.setter
    def position(self, value: object) -> None:
        self.place(value, self.angle)

    @property
    def x_pos(self) -> float:
        """Where it is along x, in m."""
        return float(self.columns.position[self._require_alive(), 0])

    @property
    def y_pos(self) -> float:
        """Where it is along y, in m."""
        return float(self.columns.position[self._require_alive(), 1])

    @property
    def angle(self) -> float:
        """Its heading in (-pi, pi] rad, counter-clockwise from the x axis."""
        x, y, z, w = self.columns.orientation[self._require_alive()].tolist()
        return trig.atan2_of(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    @angle.setter
    def angle(self, value: float) -> None:
        self.place(self.position, value)

    def place(self, position: object, angle: float) -> None:
        """Put it at `position` (2,) with the heading `angle`; raises InvalidValueError for what is not finite."""
        raise NotImplementedError

    @property
    def linear(self) -> float:
        """Its speed along its heading, in m/s."""
        return float(self.columns.motion.body_linear[self._require_alive(), 0])

    @property
    def angular(self) -> float:
        """Its turning speed, in rad/s."""
        return float(self.columns.motion.body_angular[self._require_alive(), 2])

    # ---- what it is --------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Its name, unique in the world."""
        return self.columns.index.names[self._require_alive()]

    @property
    def radius(self) -> float:
        """The radius of its disc, in m."""
        return float(self.swarm.agent_radius[self._require_alive()])

    @property
    def touching(self) -> bool:
        """Whether it touched a wall, an object or another agent in this step."""
        return bool(self.swarm.touching[self._require_alive()])

    @property
    def halted(self) -> bool:
        """Whether it moves no more: at a goal, or disabled by a collision."""
        return bool(self.swarm.halted[self._require_alive()])

    @property
    def body_color(self) -> Color:
        """What pictures of the world draw it in: red, green, blue up to 255."""
        color: Color = self.config.body_color
        return color

    @body_color.setter
    def body_color(self, color: object) -> None:
        checked = read(type(self.config), {"body_color": color})
        # Others may have been made from the same settings.
        self.config = replace(self.config, body_color=checked.body_color)

    @property
    def outline(self) -> Floats | None:
        """The corners (K, 2) of its polygon in the world frame, or None where it is a disc."""
        corners = self.config.outline
        if corners is None:
            return None
        sine, cosine = trig.sin_cos_of(self.angle)
        x, y = corners[:, 0], corners[:, 1]
        return self.position + np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1)

    def __deepcopy__(self, memo: dict[int, Any]) -> SwarmBody:
        """A handle stays itself in a copy of what refers to it."""
        return self

    def __repr__(self) -> str:
        label = self.name if self.is_alive else f"{self.handle.last_label} (removed)"
        return f"<{type(self).__name__} {label}>"


def rows_of(bodies: Iterable[SwarmBody]) -> Rows:
    """Return the rows of bodies, in their order."""
    rows = [body.row for body in bodies]
    return np.array(rows, np.int64) if rows else NO_ROWS
