"""The map that all robots share, and maps that clients name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nav2_msgs.srv import LoadMap

from fleet_sim.base.files import as_path, beside, resolve_config
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.monitoring import map_height
from fleet_sim.sensing.sensors import OccupancyGrid, occupancy_grid
from fleet_sim.sensing.sensors.occupancy import immovable_rows

if TYPE_CHECKING:
    from fleet_sim.simulation import MultiRobotSimulationCore


class RobotMaps:
    """The map of what never moves, to be asked between two steps. What has not changed is not computed again."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._key: tuple[object, ...] = ()
        self._grid: OccupancyGrid | None = None

    def grid(self) -> OccupancyGrid:
        """Return the map."""
        world, params = self._bridge.sim.world, self._bridge.params
        rows = immovable_rows(world)
        height = map_height(self._bridge)
        key = (
            world.object_id[rows].tobytes(),
            world.position[rows].tobytes(),
            world.orientation[rows].tobytes(),
            height,
        )
        if self._grid is None or key != self._key:
            self._key = key
            self._grid = occupancy_grid(world, resolution=params.map_resolution, z=height, coarsen=True)
        return self._grid

    @property
    def state(self) -> object:
        """What changes with the map."""
        self.grid()
        return self._key


# Maps that clients name: that of the simulation's own walls can be loaded, others cannot.


CODES = LoadMap.Response
OTHER_WALLS = "robots would drive by one map, and into the walls of another; load another world by sim/load_world"


def problem_with_map(sim: MultiRobotSimulationCore, url: str) -> tuple[int, str] | None:
    """Return None where the map `url` is the file that the walls were read from, else Nav2's code and why not."""
    path = url.removeprefix("file://")
    if not path or "://" in path:
        return CODES.RESULT_MAP_DOES_NOT_EXIST, "map_url: expected a path, or file:// and a path"
    for section in ("site", "building"):
        entry = sim.origin.scenario.get(section)
        name = entry.get("map") if isinstance(entry, Mapping) else entry
        # As the scenario names it, and by its path.
        if isinstance(name, str) and (
            path == name or as_path(path).resolve() == resolve_config(beside(sim.origin.source, name)).resolve()
        ):
            return None
    return CODES.RESULT_UNDEFINED_FAILURE, OTHER_WALLS
