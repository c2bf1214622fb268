"""Spawners: when they spawn, how many agents, and at which positions, drawn at random or given."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Rows, as_float, as_floats
from fleet_sim.base.errors import FleetSimError, InvalidValueError, did_you_mean
from fleet_sim.base.files import opened
from fleet_sim.base.limits import MOST_ALIKE
from fleet_sim.base.request_budget import ENTITIES, Work
from fleet_sim.base.settings import Setting, parse_value, setting
from fleet_sim.base.settings.fields import as_number
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.sensing.collision.broad import candidate_pairs
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.members import Spawner, SwarmWorld
from fleet_sim.swarm.parameters import (
    Configured,
    PartRegistry,
    Vector,
    built_in_names,
    choice_setting,
    configured,
    file_setting,
)
from fleet_sim.swarm.spawning import Recipe, work_of
from fleet_sim.swarm.swarm_state import Region, as_polygon, rectangle

# Free space for discs to spawn: which of them overlap nothing, and where they move when pushed apart.


MOST_PUSHES = 1000
"""Largest number of rounds of pushing; what overlaps then is left to the world's own separation."""
SLACK = 1e-9
"""Overlaps below this, in m, are rounding."""
EXCESS = 0.05
"""How much further than needed discs are pushed, in radii."""
GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


@dataclass(frozen=True)
class Room:
    """Discs that are there already: `centres` (K, 2) and `radii` (K,). `size` (2,) is that of a world with walls."""

    centres: Floats
    radii: Floats
    size: Floats | None = None

    def free_mask(self, drawn: Floats, radius: float) -> Bools:
        """Return which of `drawn` (N, 2) overlap neither these discs nor those drawn before them that are free (N,)."""
        first, second, _, _ = self._overlaps(drawn, radius)
        free_mask = np.ones(len(self.centres) + len(drawn), np.bool_)
        for one, other in zip(first.tolist(), second.tolist(), strict=True):
            # Pairs come sorted, so `one` is decided when a later one is compared with it.
            if free_mask[one]:
                free_mask[other] = False
        return free_mask[len(self.centres) :]

    def pushed_apart(self, drawn: Floats, radius: float) -> Floats:
        """Return `drawn` (N, 2), pushed out of each other, of these discs and of the walls; these discs stay."""
        centres, count = drawn.copy(), len(self.centres)
        for _ in range(MOST_PUSHES):
            first, second, offsets, depths = self._overlaps(centres, radius)
            outside = 0.0 if self.size is None else np.abs(self._inside(centres, radius) - centres).max(initial=0.0)
            if depths.max(initial=0.0) <= SLACK and outside <= SLACK:
                break
            shift = np.zeros((count + len(centres), 2))
            # The one that was there stays, and the other one makes all of the way.
            share = np.where(first < count, 1.0, 0.5)[:, None]
            # A little further than needed, so that the last overlaps vanish instead of halving for ever.
            away = _directions(offsets, second) * (depths + EXCESS * radius)[:, None]
            np.add.at(shift, second, away * share)
            np.add.at(shift, first, away * -0.5)
            # The sum of many pushes would throw discs out of a heap; their mean would take for ever to dissolve it.
            contacts = np.bincount(np.concatenate((first, second)), minlength=len(shift))
            shift /= np.sqrt(np.maximum(contacts, 1))[:, None]
            centres = self._inside(centres + shift[count:], radius)
        return centres

    def _inside(self, centres: Floats, radius: float) -> Floats:
        if self.size is None:
            return centres
        edge = np.minimum(radius, 0.5 * self.size)
        inside: Floats = np.clip(centres, edge, self.size - edge)
        return inside

    def _overlaps(self, drawn: Floats, radius: float) -> tuple[Rows, Rows, Floats, Floats]:
        """Return the pairs (P,), (P,) that overlap, the offsets (P, 2) to the second, and how deep they do (P,).

        Indices count these discs first and then those of `drawn`.
        """
        count = len(self.centres)
        centres = np.concatenate((self.centres, drawn))
        sizes = np.concatenate((self.radii, np.full(len(drawn), radius)))
        lower, upper = np.zeros((len(centres), 3)), np.zeros((len(centres), 3))
        lower[:, :2], upper[:, :2] = centres - sizes[:, None], centres + sizes[:, None]
        static_mask = np.arange(len(centres)) < count
        pairs = candidate_pairs(lower, upper, static_mask=static_mask, ignore_static=False)
        first, second = pairs[:, 0], pairs[:, 1]
        # Two that were there already are nobody's business here.
        offsets = centres[second] - centres[first]
        depths = sizes[first] + sizes[second] - trig.hypot(offsets[:, 0], offsets[:, 1])
        hit = np.flatnonzero((depths > 0.0) & (second >= count))
        return first[hit], second[hit], offsets[hit], depths[hit]


def _directions(offsets: Floats, numbers: Rows) -> Floats:
    """Return the unit vectors of `offsets` (P, 2); where two are in one place, each pair gets its own direction."""
    lengths = trig.hypot(offsets[:, 0], offsets[:, 1])
    angles = np.where(lengths > 0.0, trig.arctan2(offsets[:, 1], offsets[:, 0]), numbers * GOLDEN_ANGLE)
    return np.stack(trig.sin_cos(angles)[::-1], axis=1)


Facing = float | tuple[float, float] | Literal["towards", "away", "random"] | None

MODES = ("oneshot", "repeat")
WAYS = ("towards", "away", "random")
MOST_ROUNDS = 200
"""Largest number of times that overlapping positions are drawn again."""
AT_TARGET = 1e-6
"""Distance in m below which a point has no direction to look in, and the heading is drawn."""
MANY = 1000
"""Number of random positions from which on their box shows the size of the region."""


def read_facing(value: object) -> Facing:
    """Return which way agents look; raises ValueError for anything but a number, a point or one of `WAYS`."""
    if value is None:
        return None
    if isinstance(value, str):
        if value not in WAYS:
            raise ValueError(f"unknown way {value!r}.{did_you_mean(value, WAYS)}")
        return value  # type: ignore[return-value]  # it is one of `WAYS`
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) == 1:
            return as_float(value[0], "angle in rad")
        x, y = as_floats(value, (2,), "point").tolist()
        return x, y
    return as_float(value, "angle in rad")


@configured
class AgentSpawner(Configured, Spawner):
    """Spawns `n` agents of one configuration, at positions that a subclass chooses in `choose_positions`.

    `mode` "oneshot" spawns once, after `delay`; "repeat" again every `interval`, `times` times. With `avoid_overlap`
    agents are not spawned on top of others: where there is no room that is an error, or with `crowding` "push" they are
    pushed apart, out of the region too, as far as the world has room. Random numbers come from the world's seed, or
    from `seed`.
    """

    world: SwarmWorld = setting(reader=lambda world: world, schema={}, doc="The world into which agents are spawned.")
    agent: Any = setting(doc="Configuration of the agents, or an agent made in code that they are copies of.")
    n: int = setting(1, low=0, high=MOST_ALIKE, doc="Number of agents.")
    facing: Facing = setting(
        None,
        reader=read_facing,
        schema={"anyOf": [{"type": ["number", "null"]}, {"type": "array"}, {"enum": WAYS}]},
        doc="A heading in rad, a point to look at, towards or away from the middle of the positions (drawn for who is"
        " there), or random; null: the agent's own angle.",
    )
    avoid_overlap: bool = setting(False, doc="Do not spawn agents that overlap others.")
    crowding: str = choice_setting(
        "error", ("error", "push"), "With avoid_overlap: draw places until all have room, or push them apart."
    )
    seed: int | None = setting(None, low=0, doc="Seed of the draws; null: the world's.")
    mode: str = choice_setting("oneshot", MODES, "Once, or again and again.")
    delay: float = setting(0.0, low=0, unit="s", doc="Time before the first agents.")
    interval: float = setting(1.0, low=0, unit="s", doc="Time between two repetitions, with mode repeat.")
    times: int | None = setting(None, low=1, doc="Number of repetitions, with mode repeat; null: unlimited.")
    oneshot: bool = setting(False, doc="Same as mode oneshot, the default.")

    # Whether positions are drawn at random, so that others can be drawn where there is no room. No parameter.
    chosen_freely = True
    # Whether the agent's own position counts. No parameter.
    uses_own_position = False

    def __post_init__(self) -> None:
        """Check what was given; raises InvalidValueError, and what the world says about the agent."""
        super().__post_init__()
        self.recipe = self.world.recipe(self.agent)
        if not self.uses_own_position and self._agent_has_position:
            raise self.refuse("agent.position: this spawner chooses the positions of its agents; leave it out")
        if self.oneshot and self.mode != "oneshot":
            raise self.refuse(f"oneshot: true does not go with mode {self.mode!r}; leave one of them out")
        self.oneshot = self.mode == "oneshot" and self.delay == 0.0
        # Before positions are made. What comes later counts now: then there is nobody to refuse it to.
        rounds = 1 if self.mode == "oneshot" else MOST_ALIKE if self.times is None else self.times
        agents = (self.n or 0) * rounds
        for work, amount in {ENTITIES: agents, **work_of(self.world, self.recipe, agents)}.items():
            (work.check if self.oneshot else work.charge)(amount, len(self.world.columns) if work is ENTITIES else 0.0)
        # A stream of its own for each spawner: another one before it does not change its draws.
        self._purpose = self.world.new_names(None, "spawner", 1)[0]
        self._own_rng = None if self.seed is None else np.random.Generator(np.random.PCG64(self.seed))
        self._due = self.world.steps + self.world.sim.clock.ticks(self.delay)
        self._spawned = 0

    @property
    def _agent_has_position(self) -> bool:
        """Whether the settings of the agents say where they are; an agent made in code is always somewhere."""
        return self.recipe.config.position is not None and not isinstance(self.agent, SwarmAgent)

    @property
    def rng(self) -> np.random.Generator:
        """Where draws come from."""
        return self._own_rng or self.world.rng(self._purpose)

    @property
    def middle(self) -> Floats:
        """The middle (2,) of the positions, for "towards" and "away"."""
        raise NotImplementedError

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2)."""
        raise NotImplementedError

    def step(self) -> None:
        """Spawn where that is due in this step."""
        if self.world.steps < self._due:
            return
        self._spawned += 1
        if self.mode == "repeat":
            self._due += max(1, self.world.sim.clock.ticks(self.interval))
        done = self.mode == "oneshot" or (self.times is not None and self._spawned >= self.times)
        self.mark_for_deletion = self.mark_for_deletion or done
        # Last, as it may raise: what has no room is not drawn again in each step.
        self.spawn()

    def spawn(self) -> None:
        """Spawn `n` agents now. Raises InvalidValueError where `avoid_overlap` leaves no room for them.

        An `agent` made in code is copied as it is now, with the controller and the sensors it has by now.
        """
        if not self.n:
            return
        if isinstance(self.agent, SwarmAgent):
            self.recipe = self.world.recipe(self.agent)
        positions = self._free_positions() if self.avoid_overlap else self.choose_positions(self.n)
        self.world.spawn_many(self.recipe, positions, self._headings(positions))

    # ---- which way they look -----------------------------------------------------------------------------------------

    def _headings(self, positions: Floats) -> Floats:
        """Return the headings (N,) in rad of agents at `positions` (N, 2), as `facing` says."""
        facing = self.facing
        if facing == "random":
            return self.rng.uniform(-np.pi, np.pi, len(positions))
        if facing is None or isinstance(facing, float):
            return np.full(len(positions), self.recipe.config.angle if facing is None else facing)
        target = self.middle if isinstance(facing, str) else np.array(facing)
        x, y = (target - positions).T
        headings: Floats = trig.arctan2(-y, -x) if facing == "away" else trig.arctan2(y, x)
        there = np.flatnonzero(trig.hypot(x, y) < AT_TARGET)
        if len(there):
            headings[there] = self.rng.uniform(-np.pi, np.pi, len(there))
        return headings

    # ---- room --------------------------------------------------------------------------------------------------------

    def _free_positions(self) -> Floats:
        """Return positions where a disc of the agent's radius overlaps neither another one nor those there already."""
        world, radius = self.world, self.recipe.config.disc
        rows = world.collidable_rows
        size = world.size if world.config.collide_walls else None
        room = Room(world.columns.position[rows, :2], world.swarm.agent_radius[rows], size)
        if self.crowding == "push":
            drawn = self.choose_positions(self.n)
            # As below: that many on top of each other would take minutes.
            if self.n < MANY or not _is_too_full(drawn, radius):
                return room.pushed_apart(drawn, radius)
        chosen = np.empty((0, 2))
        for _ in range(MOST_ROUNDS if self.chosen_freely else 1):
            # What fits is kept; only the rest is drawn again.
            drawn = np.concatenate((chosen, self.choose_positions(self.n - len(chosen))))
            if self.chosen_freely and self.n >= MANY and _is_too_full(drawn, radius):
                # Comparing all with all would take minutes, and for larger numbers all memory.
                break
            chosen = drawn[room.free_mask(drawn, radius)]
            if len(chosen) == self.n:
                return chosen
        raise InvalidValueError(
            f"{type(self).__name__}: found room for {len(chosen)} of {self.n} agents of radius {radius:g} m; make the"
            " region larger, set crowding to push, or avoid_overlap to false"
        )


def _is_too_full(positions: Floats, radius: float) -> bool:
    """Return whether discs at `positions` have more area than the box around them: no other positions there will do."""
    lower, upper = positions.min(axis=0) - radius, positions.max(axis=0) + radius
    return bool(len(positions) * np.pi * radius * radius > np.prod(upper - lower))


# Spawners that draw positions at random: in a region with holes, in a disc, in a ring.


DRAWS = Work("corners of regions beside which positions are drawn", 20e6)
MOST_DRAWS = 10_000
"""How often a region is drawn from in vain before it counts as having no area."""


POLYGON = {"type": ["array", "null"]}
"""What the schema says of corners; what is wrong with a polygon is said by the reader."""


def read_polygon(value: object) -> Floats | None:
    """Return the corners (K, 2) of a polygon, given by all of them or a rectangle by two opposite ones; or None.

    Raises ValueError.
    """
    return None if value is None else _as_area(value, "corners")


def read_polygons(value: object) -> list[Floats] | None:
    """Return the corners of several polygons, or None; raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"must be a list of polygons, got {value!r}")
    return [_as_area(polygon, f"polygon {index}") for index, polygon in enumerate(value)]


def _as_area(value: object, what: str) -> Floats:
    """Return the corners (K, 2) of a polygon; raises InvalidValueError."""
    if not isinstance(value, (list, tuple, np.ndarray)) or np.size(value) != 4:
        return as_polygon(value, what)
    # RobotSwarmSimulator's regions: the two corners may also come as four numbers.
    corners = as_floats(np.reshape(value, (2, 2)), (2, 2), what)
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    return rectangle(lower, upper - lower)


@configured
class UniformAgentSpawner(AgentSpawner):
    """Draws positions evenly from a polygon `region` without its `holes`, polygons too.

    Without a `region` it is the whole world, as far from the walls as the agent's disc needs.
    """

    region: Any = setting(
        None,
        schema=POLYGON,
        reader=read_polygon,
        unit="m",
        doc="Corners of the region, or two opposite ones of a rectangle; null: the whole world.",
    )
    holes: Any = setting(None, schema=POLYGON, reader=read_polygons, unit="m", doc="Corners of each hole.")

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        corners = self.region
        if corners is None:
            # So far inside of the border that nobody overlaps it; half of a small world, at most.
            inset = np.minimum(self.recipe.config.disc, 0.5 * self.world.size)
            corners = rectangle(inset, self.world.size - 2.0 * inset)
        self.region = Region(corners)
        self.holes = [Region(hole) for hole in self.holes or ()]

    @property
    def middle(self) -> Floats:
        """The middle of the region's box."""
        lower, upper = self.region.bounds
        return 0.5 * (lower + upper)

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2); raises InvalidValueError where the region has no area."""
        lower, upper = self.region.bounds
        found = np.empty((0, 2))
        corners = sum(4 if area.points is None else len(area.points) for area in (self.region, *self.holes))
        # A bound, not a while: a region that is all holes would draw for ever.
        for _ in range(MOST_DRAWS):
            # Drawn in the box around the region, and kept where they are inside: even over any shape.
            DRAWS.charge((count - len(found)) * corners)
            drawn = self.rng.uniform(lower, upper, (count - len(found), 2))
            inside_mask = self.region.contains(drawn)
            for hole in self.holes:
                inside_mask &= ~hole.contains(drawn)
            found = np.concatenate((found, drawn[inside_mask]))
            if len(found) == count:
                return found
        raise InvalidValueError("region: it has no area left beside its holes")


@configured
class DonutAgentSpawner(AgentSpawner):
    """Draws positions evenly from a ring about `center`, between the radii `inner` and `outer`."""

    center: Vector = setting((5.0, 5.0), unit="m", doc="Centre of the ring.")
    inner: float = setting(4.0, low=0, unit="m", aliases=("inner_radius",), doc="Radius of the hole.")
    outer: float = setting(
        6.0, low=0, unit="m", aliases=("outer_radius",), doc="Radius of the ring, not below `inner`."
    )

    def __post_init__(self) -> None:
        """Check the parameters; raises InvalidValueError."""
        super().__post_init__()
        if self.outer < self.inner:
            raise self.refuse(f"outer: must be at least inner ({self.inner:g} m), got {self.outer:g}")

    @property
    def middle(self) -> Floats:
        """The centre of the ring."""
        return np.array(self.center)

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2)."""
        return in_ring(self.rng, count, self.middle, self.inner, self.outer)


@configured
class UniformCircleAgentSpawner(AgentSpawner):
    """Draws positions evenly from a disc."""

    center: Vector | None = setting(None, unit="m", doc="Centre of the disc; null: the centre of the world.")
    radius: float = setting(1.0, low=0, unit="m", doc="Radius of the disc.")

    @property
    def middle(self) -> Floats:
        """The centre of the disc."""
        return 0.5 * self.world.size if self.center is None else np.array(self.center)

    def choose_positions(self, count: int) -> Floats:
        """Return `count` positions (count, 2)."""
        return in_ring(self.rng, count, self.middle, 0.0, self.radius)


def in_ring(rng: np.random.Generator, count: int, center: Floats, inner: float, outer: float) -> Floats:
    """Return points (count, 2) drawn evenly from a ring between two radii about `center` (2,)."""
    draws = rng.random((count, 2))
    # The area within a radius grows with its square: even draws of the square are even over the ring.
    radii = np.sqrt(inner * inner + draws[:, 0] * (outer * outer - inner * inner))
    angles = 2.0 * np.pi * draws[:, 1]
    return np.asarray(center + np.stack((radii * trig.cos(angles), radii * trig.sin(angles)), axis=1))


# Spawners whose positions are given: a point, a list, a grid, a table in a file.


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


@configured
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


class _ListedAgentSpawner(AgentSpawner):
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


@configured(kw_only=True)
class FixedAgentSpawner(_ListedAgentSpawner):
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


@configured(kw_only=True)
class GridAgentSpawner(_ListedAgentSpawner):
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


@configured
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
        with opened(path, newline="") as stream:
            # Fields beyond the header go under one key, so that too many of them can be seen and refused.
            lines = list(csv.DictReader(stream, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidValueError(f"{path}: cannot be read: {error}") from error
    return [{str(key).strip(): (value or "").strip() for key, value in line.items() if key} for line in lines]


SPAWNERS = PartRegistry(
    "spawner",
    Spawner,
    built_in_names(globals(), Spawner, suffix="AgentSpawner", short={UniformCircleAgentSpawner: "circle"}),
)
