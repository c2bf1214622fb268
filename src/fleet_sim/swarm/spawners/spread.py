"""Spawners that draw positions at random: in a region with holes, in a disc, in a ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fleet_sim.arrays import Floats, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.settings import setting
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.swarm.parameters import Vector, documented
from fleet_sim.swarm.regions import Region, as_polygon, rectangle
from fleet_sim.swarm.spawners.agent_spawner import AgentSpawner

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


@documented
@dataclass(eq=False, repr=False)
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
        # A bound, not a while: a region that is all holes would draw for ever.
        for _ in range(MOST_DRAWS):
            # Drawn in the box around the region, and kept where they are inside: even over any shape.
            drawn = self.rng.uniform(lower, upper, (count - len(found), 2))
            inside_mask = self.region.contains(drawn)
            for hole in self.holes:
                inside_mask &= ~hole.contains(drawn)
            found = np.concatenate((found, drawn[inside_mask]))
            if len(found) == count:
                return found
        raise InvalidValueError("region: it has no area left beside its holes")


@documented
@dataclass(eq=False, repr=False)
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


@documented
@dataclass(eq=False, repr=False)
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
