"""Spawners whose positions are given: a point, a list, a grid, a table in a file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_float, as_floats
from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.gate.bounds import MOST_ALIKE
from fleet_sim.settings import Setting, parse_value, setting
from fleet_sim.settings.types import as_number
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.parameters import Configured, Vector, documented, file_setting
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner
from fleet_sim.swarm.spawning import Recipe
from fleet_sim.swarm.swarm_world import Spawner, SwarmWorld

COUNT = {"type": ["integer", "null"], "minimum": 0}


def read_point(value: object) -> Floats | None:
    """Return a point (2,), or None; raises ValueError."""
    return None if value is None else as_floats(value, (2,), "point")


def read_count(value: object) -> int | None:
    """Return a whole number of at least 0, or None; raises ValueError."""
    if value is None:
        return None
    number = as_number(int, value, Setting(low=0))
    if number is None:
        raise ValueError(f"must be a whole number of at least 0, got {value!r}")
    return int(number)


@documented
@dataclass(eq=False, repr=False)
class PointAgentSpawner(AgentSpawner):
    """Puts all agents at one `position`.

    With `avoid_overlap` they go around it, as close as there is room.
    """

    position: Any = setting(
        None,
        reader=read_point,
        schema={"type": ["array", "null"]},
        unit="m",
        doc="Position; null: the agent's own position, or the centre of the world.",
    )

    uses_own_position = True

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.position is not None and self._agent_has_position:
            raise self.refuse("position: is given twice, here and as agent.position; leave one of them out")
        # The radius that positions are drawn within grows from call to call, as `choose_positions` says.
        self._spread = 0.0

    @property
    def middle(self) -> Floats:
        """The point."""
        own = self.world.start_of(self.recipe.config).position
        return np.asarray(own if self.position is None else self.position)

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2): the point, or draws from a disc about it that grows with each call."""
        if not self.avoid_overlap:
            return np.tile(self.middle, (count, 1))
        draws = self.rng.random((count, 2))
        # The root makes points even over the disc: areas grow with the square of the radius.
        radii, angles = self._spread * np.sqrt(draws[:, 0]), 2.0 * np.pi * draws[:, 1]
        # Grows only as far as it must, so agents stay as close to the point as there is room.
        self._spread += max(self.recipe.config.disc, 1e-3)
        return self.middle + np.stack((radii * trig.cos(angles), radii * trig.sin(angles)), axis=1)

    def spawn(self) -> None:
        """Spawn `n` agents now."""
        # A spawner that spawns again begins at the point again.
        self._spread = 0.0
        super().spawn()


class ListedAgentSpawner(AgentSpawner):
    """Base of spawners that know all positions beforehand: `listed` (n, 2)."""

    chosen_freely = False
    listed: Floats

    @property
    def middle(self) -> Floats:
        """The middle of the positions' box."""
        return 0.5 * (self.listed.min(axis=0) + self.listed.max(axis=0))

    def choose_positions(self, count: int) -> Floats:
        """Return the first `count` positions (count, 2)."""
        return self.listed[:count].copy()


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class FixedAgentSpawner(ListedAgentSpawner):
    """Spawns one agent at each of `positions`, with the heading from `angles` if given."""

    positions: list[Vector] = setting(unit="m", doc="Positions, one per agent.")
    angles: list[float] | None = setting(None, unit="rad", doc="Headings, one per agent; null: from `facing`.")
    n: int = setting(
        None, reader=read_count, schema=COUNT, doc="Number of agents; must be the number of positions, the default."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        count = len(self.positions)
        if self.n not in (None, count):
            raise self.refuse(f"n: there are {count} positions, got n = {self.n}")
        if self.angles is not None and len(self.angles) != count:
            raise self.refuse(f"angles: there are {count} positions, got {len(self.angles)} angles")
        self.n, self.listed = count, np.array(self.positions, np.float64).reshape(count, 2)

    def _headings(self, positions: Floats) -> Floats:
        return super()._headings(positions) if self.angles is None else np.array(self.angles)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class GridAgentSpawner(ListedAgentSpawner):
    """Puts `n` agents on a grid about `center`."""

    n: int = setting(low=0, high=MOST_ALIKE, doc="Number of agents.")
    columns: int | None = setting(None, low=1, doc="Number of agents per row; null: as square as possible.")
    spacing: float = setting(1.0, unit="m", doc="Distance between neighbours.")
    center: Vector | None = setting(None, unit="m", doc="Centre of the grid; null: the centre of the world.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        # Nearly square where nothing is said.
        wide = self.columns or max(1, int(np.ceil(np.sqrt(self.n))))
        index = np.arange(self.n)
        cells = np.stack((index % wide, index // wide), axis=1) * self.spacing
        center = 0.5 * self.world.size if self.center is None else np.array(self.center)
        # About its own middle, with `initial` for a grid of nobody.
        self.listed = center + cells - 0.5 * cells.max(axis=0, initial=0.0)


@documented
@dataclass(eq=False, repr=False)
class CsvAgentSpawner(Configured, Spawner):
    """Spawns one agent per line of a CSV `file` with a header: `x` and `y` in m, and settings of the agent.

    `angle`, `name`, `team` or any other setting may have a column of its own; what is empty, or not there, is as in
    `agent`.
    """

    world: SwarmWorld = setting(reader=lambda world: world, schema={}, doc="The world into which agents are spawned.")
    agent: Any = setting(doc="Configuration of the agents, where the file does not say otherwise.")
    file: Path = file_setting(MISSING, "The CSV file.")

    # It is done after its first step. No parameter.
    oneshot = True

    def __post_init__(self) -> None:
        """Read the file; raises InvalidValueError naming it and the line, and what the world says about an agent."""
        super().__post_init__()
        agent, world = self.agent, self.world
        plain = {"type": agent} if isinstance(agent, (str, type)) else agent
        # A type alone is the short form of a mapping with a type only.
        if not isinstance(plain, Mapping):
            raise InvalidValueError(f"agent: must be a name or a mapping with a type, got {agent!r}")
        if plain.get("position") is not None:
            raise self.refuse("agent.position: the columns x and y say where agents are; leave it out")
        lines = _read_table(self.file)
        for key in ("x", "y"):
            if lines and key not in lines[0]:
                raise InvalidValueError(f"{self.file}: the column {key!r} is missing")
        self._batches: list[tuple[Recipe, list[Floats], list[float]]] = []
        last: dict[str, Any] | None = None
        # The first line is the header, and people count from 1.
        for number, line in enumerate(lines, start=2):
            # As in a YAML file: `true` and `[1, 2]` in a column mean what they mean there.
            settings = {key: parse_value(text) for key, text in line.items() if text}
            try:
                position = as_floats([settings.pop("x", None), settings.pop("y", None)], (2,), "x, y")
                angle = settings.pop("angle", None)
                # Lines alike are spawned in one call; the order of the file is kept, so agents keep its numbering.
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
            # Fields beyond the header go under one key, so that too many of them can be seen and refused.
            lines = list(csv.DictReader(stream, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidValueError(f"{path}: cannot be read: {error}") from error
    return [{str(key).strip(): (value or "").strip() for key, value in line.items() if key} for line in lines]
