"""The section `site` of a scenario: a building around its robots, with its walls, places and speed limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import ConfigError, InvalidValueError, unknown_name
from fleet_sim.base.files import beside, resolve_config
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import LARGEST_EXTENT
from fleet_sim.base.params import CollisionMode, ControllerMode
from fleet_sim.base.scenario import Section
from fleet_sim.base.settings import Checked, object_schema, read, setting
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.sites.grid import Grid, check_size
from fleet_sim.warehouse.sites.reading import read_site
from fleet_sim.warehouse.sites.site import Site, Station, StationKind, Zone, ZoneKind
from fleet_sim.world.clock import purpose_key, uniforms
from fleet_sim.world.world import SpeedRule, World

# Speed limits of zones, held by all robots that drive: to goals, along paths, routes and by velocity commands.


IDLE = ControllerMode.IDLE.code
FASTEST = 1e6
"""Accelerations in m/s^2 that count as no limit: such robots brake where they are."""


class SpeedZones(SpeedRule):
    """Lowers the limits of robots in zones, and before them, while their laws of motion move them.

    A robot that drives straight at a zone has braked to its limit when it comes to the edge; one that turns into it
    brakes there. Where zones overlap the lowest limit holds. A robot's own limits are never changed but within a step.
    """

    def __init__(self, world: World, zones: Sequence[Zone]) -> None:
        self._world = world
        self._zones = [zone for zone in zones if zone.kind is ZoneKind.SPEED_LIMIT]
        if self._zones:
            world.speed_rules.append(self)
        self._rows: Rows = NO_ROWS
        self._limit: Floats = np.empty(0)
        self._limits: Floats = np.empty((0, 3))

    def end(self) -> None:
        """Limit nobody any more."""
        if self._zones:
            self._world.speed_rules.remove(self)

    def lower(self) -> None:
        """Lower the limits of robots in zones and before them."""
        world, motion = self._world, self._world.motion
        rows = np.flatnonzero((motion.control != IDLE) & world.alive & (motion.law != 0))
        if not len(rows):
            return
        limits = self._limits_at(rows)
        at = np.flatnonzero(limits < np.inf)
        self._rows = rows = rows[at]
        self._limit, self._limits = motion.linear_limit[rows], motion.linear_limits[rows]
        motion.linear_limit[rows] = np.minimum(self._limit, limits[at])
        motion.linear_limits[rows] = np.minimum(self._limits, limits[at, None])

    def restore(self) -> None:
        """Give robots their own limits again."""
        motion, rows = self._world.motion, self._rows
        if not len(rows):
            return
        motion.linear_limit[rows], motion.linear_limits[rows] = self._limit, self._limits
        self._rows = NO_ROWS

    def _limits_at(self, rows: Rows) -> Floats:
        """Return the speeds (N,) that zones allow `rows` in this step, inf where no zone is near their way."""
        world, motion, dt = self._world, self._world.motion, self._world.clock.dt
        places, velocities = world.position[rows, :2], world.velocity[rows, :2]
        speeds = np.sqrt(velocities[:, 0] * velocities[:, 0] + velocities[:, 1] * velocities[:, 1])
        headings = velocities / np.where(speeds > 0.0, speeds, 1.0)[:, None]
        accels = np.minimum(motion.linear_accel[rows], motion.linear_accels[rows].max(axis=1))
        accels = np.minimum(accels, FASTEST)
        found = np.full(len(rows), np.inf)
        for zone in self._zones:
            distances = np.where(zone.contains(places), 0.0, _ahead(zone.corners, places, headings))
            # A robot may speed up in this step, and brakes from the next one on.
            left = np.maximum(distances - (speeds + 0.5 * accels * dt) * dt, 0.0)
            allowed = np.sqrt(zone.speed * zone.speed + 2.0 * accels * left)
            found = np.minimum(found, np.where(distances < np.inf, allowed, np.inf))
        return found


def _ahead(corners: Floats, places: Floats, headings: Floats) -> Floats:
    """Return how far (N,) ahead of `places` (N, 2) the edge of a polygon is, along unit `headings`; inf if nowhere."""
    found = np.full(len(places), np.inf)
    for begin, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = end - begin
        to_x, to_y = begin[0] - places[:, 0], begin[1] - places[:, 1]
        across = headings[:, 0] * edge[1] - headings[:, 1] * edge[0]
        # Robots at rest have no heading, and those along an edge do not come to it.
        crossing_mask = np.abs(across) > 1e-12
        safe = np.where(crossing_mask, across, 1.0)
        along = (to_x * edge[1] - to_y * edge[0]) / safe
        share = (to_x * headings[:, 1] - to_y * headings[:, 0]) / safe
        hit_mask = crossing_mask & (along >= 0.0) & (share >= 0.0) & (share <= 1.0)
        found = np.where(hit_mask, np.minimum(found, along), found)
    return found


# Puts the walls of a site into a simulation, where robots, lidars, cameras and maps meet them.


COLOR = (0.62, 0.64, 0.68, 1.0)


def build_walls(
    sim: MultiRobotSimulationCore, site: Site, height: float = 1.0, floor: float = 0.0, name: str | None = None
) -> list[SimObject]:
    """Spawn the walls of `site`, `height` m tall on a `floor` of that height, as static objects; returns them.

    They are called <name>_wall_<i>, with the name of the site by default.
    """
    prefix = site.name if name is None else name
    boxes = site.boxes()
    # Equal boxes follow each other, since consecutive equals are spawned with one write per column.
    order = np.lexsort((boxes[:, 1], boxes[:, 0], boxes[:, 4], boxes[:, 3]))
    shapes: dict[tuple[float, float], ShapeParams] = {}
    params = []
    for number, (x, y, yaw, length, width) in enumerate(boxes[order].tolist()):
        shape = shapes.get((length, width))
        if shape is None:
            half = (length, width, 0.5 * height)
            shape = shapes[length, width] = ShapeParams("box", half_extents=half, rgba_color=COLOR)
        params.append(
            SimObjectSpawnParams(
                shape,
                shape,
                Pose.from_euler(x, y, floor + 0.5 * height, 0.0, 0.0, math.remainder(yaw, math.tau)),
                name=f"{prefix}_wall_{number}",
                pickable=False,
                collision_mode=CollisionMode.STATIC,
            )
        )
    spawned: list[SimObject] = sim.spawn_all(params)
    return spawned


# The places of a site that robots and objects can be spawned at.


FREE, STARTS = "free", "starts"


class SitePlaces:
    """Free cells, starts and stations of a site in a world."""

    def __init__(self, world: World, site: Site) -> None:
        self._world = world
        self._site = site

    def places(self, what: str, count: int | None, *, seed: int, clearance: float) -> tuple[Floats, Floats]:
        """Return positions (N, 2) in m and headings (N,) in rad, in the frame of the world.

        `what` is `free`, for `count` cells (one by default) where nothing stands, drawn from the largest connected part
        of the free space; `starts`; a kind of station; or a station's name. Raises InvalidValueError where there are
        fewer than `count`, or none.
        """
        if what == FREE:
            return self._at(self._free(1 if count is None else count, seed, clearance))
        # A setting that could not act is refused.
        for name, value in (("clearance", clearance), ("seed", seed)):
            if value:
                raise InvalidValueError(f"{name}: it is for free cells; starts and stations are where they are")
        if what == STARTS:
            starts = self._site.first_starts(count)
            if not len(starts):
                raise InvalidValueError(f"site {self._site.name!r} has no starts")
            return self._at(starts)
        stations = self._stations(what)
        if not stations:
            raise InvalidValueError(f"site {self._site.name!r} has no station of the kind {what!r}")
        if count is not None and count > len(stations):
            raise InvalidValueError(f"site {self._site.name!r} has {len(stations)} of {what!r}, {count} are asked for")
        # The first ones, in the order of the file: the same count gives the same places.
        chosen = stations[:count]
        return np.array([(s.x, s.y) for s in chosen]).reshape(-1, 2), np.array([s.yaw for s in chosen])

    def _stations(self, what: str) -> tuple[Station, ...]:
        kinds = [kind.value for kind in StationKind]
        if what in kinds:
            return self._site.stations_of(what)
        names = [station.name for station in self._site.stations]
        if what not in names:
            raise unknown_name("place of the site", what, [FREE, STARTS, *kinds, *names])
        return (self._site.station(what),)

    def _free(self, count: int, seed: int, clearance: float) -> Ints:
        """Return `count` cells that can reach each other and where nothing stands, by chance but the same for a seed.

        Raises InvalidValueError where there are fewer.
        """
        grid = self._site.open_grid
        # In one region, so that all who start there can reach each other.
        cells = (grid.clear_of(clearance) if clearance else grid).largest_region()
        world = self._world
        # Whatever stands there, with its middle in the cell.
        empty = np.setdiff1d(cells, grid.cells_at(world.position[world.rows, :2]))
        if count > len(empty):
            raise InvalidValueError(
                f"site {self._site.name!r} has {len(empty)} free cells where nothing stands, {count} are asked for"
            )
        # By cell, not in a row: cells that are taken change nothing for the others.
        order = np.argsort(uniforms(purpose_key(seed, "free cells"), empty, 0), kind="stable")
        return empty[order[:count]]

    def _at(self, cells: Ints) -> tuple[Floats, Floats]:
        return self._site.grid.positions(cells), np.zeros(len(cells))


@dataclass
class SiteSettings(Checked):
    """A site of a scenario."""

    map: str = setting(doc="File of the site, relative to this one, in any format that `fleet-sim site show` reads.")
    level: str | None = setting(None, doc="The level of a building with several.")
    cell: float | None = setting(
        None, above=0, high=1e4, unit="m", doc="Size of the cells; null: that of the file. A whole number of times it."
    )
    wall_height: float = setting(1.0, above=0, high=100, unit="m", doc="How tall walls and shelves are.")


def until_cleared(
    sim: MultiRobotSimulationCore, manager: Any, name: str, leave: Callable[[], object] = lambda: None
) -> None:
    """Add a manager to `sim` until that is cleared, and call `leave` then: walls and robots are gone.

    Raises DuplicateNameError.
    """
    sim.register_manager(manager, name)

    def end() -> None:
        leave()
        sim.unregister_manager(manager)
        sim.events.off("cleared", end)

    sim.events.on("cleared", end)


class SiteSection(Section[MultiRobotSimulationCore]):
    """Builds the walls of a site; `sim.get_manager("site")` returns the Site."""

    doc = "A building: its walls and shelves, stations and places to start from."
    settings: ClassVar[type[SiteSettings]] = SiteSettings

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of an entry."""
        return {"anyOf": [{"type": "string"}, object_schema(self.settings)]}

    def check(self, entry: Any, *, source: str = "") -> None:
        """Raise ConfigError where the settings or the file of the site are wrong."""
        self.read(entry, source)

    def prepare(self, sim: MultiRobotSimulationCore, entry: Any, *, source: str = "") -> None:
        """Build the walls and offer the places of the site to robots and objects; raises ConfigError."""
        self.build(sim, *self.read(entry, source))

    def build(self, sim: MultiRobotSimulationCore, settings: SiteSettings, site: Site) -> None:
        """Add `site` to `sim`."""
        build_walls(sim, site, settings.wall_height)
        sim.world.places["site"] = SitePlaces(sim.world, site)
        speed_zones = SpeedZones(sim.world, site.zones)

        def leave() -> None:
            sim.world.places.pop("site", None)
            speed_zones.end()

        until_cleared(sim, site, "site", leave)

    def read(self, entry: Any, source: str) -> tuple[SiteSettings, Site]:
        """Return the checked settings of an entry, and its site; raises ConfigError."""
        given = entry if isinstance(entry, Mapping) else {"map": entry}
        settings = read(self.settings, given, source=source, path="site")
        try:
            file = resolve_config(beside(source, settings.map), source=source)
            site = read_site(file, level=settings.level, cell=settings.cell)
        except ConfigError as error:
            raise error.within("site", source=source) from error
        return settings, site


# From outlines to cells: the free space of a building from its floors and walls.


def free_space(floors: Sequence[Floats], walls: Floats, cell: float, thickness: float) -> Grid:
    """Return the grid of cells whose middles are on a floor and that no wall touches.

    `floors` are outlines (K, 2), `walls` (M, 4) edges from x, y to x, y of `thickness`, all in m. Without floors all
    that is within the bounds of the walls is free.
    """
    corners = np.concatenate([*floors, walls[:, :2], walls[:, 2:]])
    # NaN fails this comparison too.
    if not np.abs(corners).max() <= LARGEST_EXTENT:
        raise InvalidValueError(f"the building must be within {LARGEST_EXTENT:g} m of its origin along each axis")
    low = np.floor((corners.min(axis=0) - thickness) / cell) * cell
    size = np.ceil((corners.max(axis=0) + thickness - low) / cell).astype(np.int64)
    if size.max() > 1_000_000:
        raise InvalidValueError(f"the building is {(size * cell).tolist()} m large, which is too much")
    width, height = size.tolist()
    check_size(height, width)
    grid = Grid(np.ones((height, width), bool), cell, (float(low[0]), float(low[1]), 0.0))
    middles = grid.middles
    free = np.zeros(grid.count, bool) if floors else np.ones(grid.count, bool)
    for floor in floors:
        free |= Zone("floor", ZoneKind.NO_GO, floor).contains(middles)
    mask = free.reshape(height, width)
    for wall in walls.tolist():
        _block(mask, grid, wall, 0.5 * thickness)
    return grid.with_free(mask)


def _block(mask: Bools, grid: Grid, wall: Sequence[float], half: float) -> None:
    """Take the cells out of `mask` that a wall with half thickness `half` touches."""
    cell, (left, bottom, _) = grid.cell, grid.origin
    x1, y1, x2, y2 = wall
    # Only the cells around the wall are looked at; a building has a thousand walls.
    columns = np.arange(*_span(min(x1, x2) - half - left, max(x1, x2) + half - left, cell, grid.width))
    ups = np.arange(*_span(min(y1, y2) - half - bottom, max(y1, y2) + half - bottom, cell, grid.height))
    x, y = np.meshgrid(left + (columns + 0.5) * cell, bottom + (ups + 0.5) * cell)
    length = max(trig.hypot_of(x2 - x1, y2 - y1), 1e-9)
    ahead, aside = (x2 - x1) / length, (y2 - y1) / length
    along = (x - x1) * ahead + (y - y1) * aside
    off = np.abs((y - y1) * ahead - (x - x1) * aside)
    # How far a cell reaches in the direction of the wall, and across it.
    reach = 0.5 * cell * (abs(ahead) + abs(aside))
    touched = (off < half + reach) & (along > -half - reach) & (along < length + half + reach)
    rows = grid.height - 1 - ups
    mask[np.ix_(rows, columns)] &= ~touched


def _span(low: float, high: float, cell: float, count: int) -> tuple[int, int]:
    return max(int(np.floor(low / cell)), 0), min(int(np.floor(high / cell)) + 1, count)


def around(points: Floats) -> Floats:
    """Return the corners (4, 2) of all space within 2 m of `points`: as much room as lanes without walls promise."""
    low, high = points.min(axis=0) - 2.0, points.max(axis=0) + 2.0
    return np.array([low, (high[0], low[1]), high, (low[0], high[1])])
