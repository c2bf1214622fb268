"""The starts and goals of a scenario on a map that is given beside it."""

from __future__ import annotations

from pathlib import Path

from fleet_sim.arrays import Ints
from fleet_sim.errors import ConfigError
from fleet_sim.paths import resolve_config
from fleet_sim.sites.formats.movingai import ends_of_scenario
from fleet_sim.sites.formats.site_format import read_text
from fleet_sim.sites.site import Site


def read_ends(path: str | Path, site: Site) -> tuple[Ints, Ints]:
    """Return the starts and goals (S,) of the `.scen` in `path` as cells of `site`; raises ConfigError.

    The map that the file names is not looked for: people keep the two in different folders.
    """
    file = resolve_config(path)
    if file.suffix.lower() != ".scen":
        raise ConfigError(f"starts and goals are read from .scen files, got {file.name!r}", source=str(file))
    starts, goals = ends_of_scenario(read_text(file), file, site.grid)
    for what, cells in (("start", starts), ("goal", goals)):
        free_mask = site.grid.is_free(cells)
        if not free_mask.all():
            row, column = divmod(int(cells[~free_mask][0]), site.grid.width)
            raise ConfigError(f"the {what} in column {column}, row {row} is blocked in the map", source=str(file))
    return starts, goals
