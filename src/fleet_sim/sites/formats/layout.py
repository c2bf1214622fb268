"""Maps as LSMART and other tools for warehouses write them: JSON with the rows of a `layout`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fleet_sim.sites.formats.movingai import map_of, stations_of
from fleet_sim.sites.formats.site_format import SiteFormat, fail
from fleet_sim.sites.grid import Grid
from fleet_sim.sites.site import Site
from fleet_sim.sites.stations import StationKind

STATIONS = {"w": StationKind.WORKSTATION, "e": StationKind.PICK, "r": StationKind.PARK}
"""What letters stand for: where people pack, where goods are taken from a shelf, and where robots start."""


class LayoutFormat(SiteFormat):
    """A JSON file with `layout`, a list of rows, as LSMART has it."""

    suffixes = (".json",)
    doc = "LSMART map"
    keys = ("layout",)

    def unused(self, content: Any) -> dict[str, list[str]]:
        """Return the keys beside the layout, its size and its name."""
        names = sorted(set(map(str, content)) - {"layout", "n_row", "n_col", "name"})
        return {"": names} if names else {}

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the site of the rows; raises ConfigError."""
        rows = content["layout"]
        if not isinstance(rows, list) or not rows or not all(isinstance(row, str) and row for row in rows):
            fail(path, "must be a list of rows of letters", "layout")
        for key, size in (("n_row", len(rows)), ("n_col", len(rows[0]))):
            if content.get(key, size) != size:
                fail(path, f"is {content[key]!r}, but the layout has {size}", key)
        read = map_of(rows, len(rows[0]), path, also_free="".join(STATIONS))
        grid = Grid(read.free_mask)
        # LSMART itself has no names for them, so they are counted over all kinds.
        stations = stations_of(read, grid, STATIONS, counted=True)
        name = content.get("name", path.stem)
        return Site(str(name), grid, stations=stations)


FORMAT = LayoutFormat()
