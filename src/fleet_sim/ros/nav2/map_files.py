"""Maps that clients name: those of the simulation's own walls can be loaded, others cannot."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from nav2_msgs.srv import LoadMap

from fleet_sim.entities.world_command import world_folders
from fleet_sim.errors import ConfigError, InvalidValueError, MissingDependencyError
from fleet_sim.gate.remote import check_file, remote_input
from fleet_sim.paths import beside, is_file, resolve_config
from fleet_sim.sites import Building, Site, read_site

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore

CODES = LoadMap.Response
OTHER_WALLS = "robots would drive by one map, and into the walls of another; load another world by sim/load_world"


class MapProblem(NamedTuple):
    """Why a map cannot be loaded, with the code that Nav2 has for it."""

    code: int
    reason: str


def problem_with_map(sim: MultiRobotSimulationCore, url: str) -> MapProblem | None:
    """Return None where the map `url` is of the walls that are there, of the site or of a storey, else why it is not.

    The file of the scenario's own site is known by its path; others are read, from the folders that messages may name,
    and compared cell by cell.
    """
    path = url.removeprefix("file://")
    if not path or "://" in path:
        return MapProblem(CODES.RESULT_MAP_DOES_NOT_EXIST, "map_url: expected a path, or file:// and a path")
    try:
        file = resolve_config(path)
    except ConfigError as error:
        return MapProblem(CODES.RESULT_MAP_DOES_NOT_EXIST, f"map_url: {error}")
    own = _own_file(sim)
    if own is not None and is_file(file) and os.path.samefile(file, own):
        return None
    try:
        with remote_input(world_folders(sim.world)):
            check_file(file, "map_url")
            if not is_file(file):
                return MapProblem(CODES.RESULT_MAP_DOES_NOT_EXIST, f"map_url: there is no file {path[:200]!r}")
            found = read_site(file)
    except InvalidValueError as error:
        return MapProblem(CODES.RESULT_UNDEFINED_FAILURE, str(error))
    except (ConfigError, MissingDependencyError) as error:
        return MapProblem(CODES.RESULT_INVALID_MAP_DATA, str(error))
    same = any(_is_same(found, site) for site in _sites(sim))
    return None if same else MapProblem(CODES.RESULT_UNDEFINED_FAILURE, OTHER_WALLS)


def _own_file(sim: MultiRobotSimulationCore) -> Path | None:
    """Return the file that the walls were read from, None for those of no file."""
    for section in ("site", "building"):
        entry = sim.origin.scenario.get(section)
        name = entry.get("map") if isinstance(entry, Mapping) else entry
        if isinstance(name, str):
            file = resolve_config(beside(sim.origin.source, name))
            return file if is_file(file) else None
    return None


def _sites(sim: MultiRobotSimulationCore) -> list[Site]:
    site, building = sim.extensions.find_manager("site"), sim.extensions.find_manager("building")
    sites = [site] if isinstance(site, Site) else []
    return sites + ([level.site for level in building.levels] if isinstance(building, Building) else [])


def _is_same(one: Site, other: Site) -> bool:
    """Return whether two sites have the same free cells at the same place."""
    same_place = np.allclose((one.grid.cell, *one.grid.origin), (other.grid.cell, *other.grid.origin))
    return bool(same_place) and np.array_equal(one.grid.free_mask, other.grid.free_mask)
