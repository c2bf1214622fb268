"""Spawners whose positions are given: a point, a list, a grid, a table in a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.settings import parse_value
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner
from fleet_sim.swarm.spawning import Recipe
from fleet_sim.swarm.swarm_world import Spawner, SwarmWorld


class PointAgentSpawner(AgentSpawner):
    """Puts all agents at one `position`, by default the agent's own, or the middle of the world.

    With `avoid_overlap` they go around it, as close as there is room.
    """

    def __init__(self, world: SwarmWorld, agent: Any, position: Any = None, **settings: Any) -> None:
        super().__init__(world, agent, **settings)
        chosen = position if position is not None else self.recipe.config.position or 0.5 * world.size
        self.position = as_floats(chosen, (2,), "position")
        self._spread = 0.0

    @property
    def middle(self) -> Floats:
        """The point."""
        return self.position

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2): the point, or draws from a disc about it that grows with each call."""
        if not self.avoid_overlap:
            return np.tile(self.position, (count, 1))
        draws = self.rng.random((count, 2))
        radii, angles = self._spread * np.sqrt(draws[:, 0]), 2.0 * np.pi * draws[:, 1]
        self._spread += max(self.recipe.config.disc, 1e-3)
        return self.position + np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1)

    def spawn(self) -> None:
        """Spawn `n` agents now."""
        self._spread = 0.0
        super().spawn()


class FixedAgentSpawner(AgentSpawner):
    """Puts one agent at each of `positions` (N, 2), with its heading of `angles` where these are given."""

    chosen_freely = False

    def __init__(self, world: SwarmWorld, agent: Any, positions: Any, angles: Any = None, **settings: Any) -> None:
        self.positions = as_floats(positions, (None, 2), "positions")
        super().__init__(world, agent, **{"n": len(self.positions), **settings})
        if self.n != len(self.positions):
            raise InvalidValueError(f"n: there are {len(self.positions)} positions, got n = {self.n}")
        self.angles = None if angles is None else as_floats(angles, (self.n,), "angles")

    @property
    def middle(self) -> Floats:
        """The middle of the positions' box."""
        return 0.5 * (self.positions.min(axis=0) + self.positions.max(axis=0))

    def choose_positions(self, count: int) -> Floats:
        """Return the first `count` positions (count, 2)."""
        return self.positions[:count].copy()

    def _headings(self, positions: Floats) -> Floats:
        return super()._headings(positions) if self.angles is None else self.angles


class GridAgentSpawner(FixedAgentSpawner):
    """Puts `n` agents on a grid about `center`, `columns` wide (None: as square as possible), `spacing` m apart."""

    def __init__(
        self,
        world: SwarmWorld,
        agent: Any,
        n: int,
        columns: int | None = None,
        spacing: float = 1.0,
        center: Any = None,
        **settings: Any,
    ) -> None:
        wide = int(np.ceil(np.sqrt(n))) if columns is None else columns
        if not isinstance(wide, int) or wide < 1:
            raise InvalidValueError(f"columns: expected a whole number of at least 1, got {columns!r}")
        index = np.arange(n)
        cells = np.stack((index % wide, index // wide), axis=1) * float(spacing)
        middle = 0.5 * world.size if center is None else as_floats(center, (2,), "center")
        super().__init__(world, agent, middle + cells - 0.5 * cells.max(axis=0), **settings)


class CsvAgentSpawner(Spawner):
    """Spawns one agent per line of a CSV `file` with a header: `x` and `y` in m, and settings of the agent.

    `angle`, `name`, `team` or any other setting may have a column of its own; what is empty, or not there, is as in
    `agent`.
    """

    oneshot = True

    def __init__(self, world: SwarmWorld, agent: Any, file: str) -> None:
        super().__init__(world)
        self.file = Path(file)
        plain = {"type": agent} if isinstance(agent, (str, type)) else agent
        if not isinstance(plain, Mapping):
            raise InvalidValueError(f"agent: must be a name or a mapping with a type, got {agent!r}")
        lines = _read_table(self.file)
        for key in ("x", "y"):
            if lines and key not in lines[0]:
                raise InvalidValueError(f"{self.file}: the column {key!r} is missing")
        self._batches: list[tuple[Recipe, list[Floats], list[float]]] = []
        last: dict[str, Any] | None = None
        for number, line in enumerate(lines, start=2):
            settings = {key: parse_value(text) for key, text in line.items() if text}
            try:
                position = as_floats([settings.pop("x", None), settings.pop("y", None)], (2,), "x, y")
                angle = settings.pop("angle", None)
                if settings != last:
                    self._batches.append((world.recipe({**plain, **settings}), [], []))
                    last = settings
                recipe, positions, angles = self._batches[-1]
                angles.append(as_float(recipe.config.angle if angle is None else angle, "angle"))
            except FleetSimError as error:
                raise InvalidValueError(f"{self.file}, line {number}: {error}") from error
            positions.append(position)

    def step(self) -> None:
        """Spawn all of them."""
        for recipe, positions, angles in self._batches:
            self.world.spawn_many(recipe, positions, angles)


def _read_table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            lines = list(csv.DictReader(stream, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidValueError(f"{path}: cannot be read: {error}") from error
    return [{str(key).strip(): (value or "").strip() for key, value in line.items() if key} for line in lines]
