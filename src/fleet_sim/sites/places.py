"""The places of a site that robots and objects can be spawned at."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.core.random import purpose_key, uniforms
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, unknown_name
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import Station, StationKind

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
