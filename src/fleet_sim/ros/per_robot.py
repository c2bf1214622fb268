"""Per-robot endpoints: created and destroyed as robots are spawned and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, Rows
from fleet_sim.core.ros_names import is_ros_name
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.roster import Roster


class Endpoints:
    """One endpoint for each robot that has per-robot interfaces in `group`.

    `items` and `rows` are aligned with `names`, the robots in order of spawning.
    """

    def __init__(
        self, bridge: Bridge, group: str, make: Callable[[str], Any], destroy: Callable[[Any], object]
    ) -> None:
        self.names: list[str] = []
        self.rows: Rows = NO_ROWS
        self.version = -1
        """Version of the world for which `rows` are the rows of `names`."""
        self.items: list[Any] = []
        self._bridge = bridge
        self._group = group
        self._make = make
        self._destroy = destroy
        self._by_name: dict[str, Any] = {}

    def on_fleet_changed(self, roster: Roster) -> list[str]:
        """Create and destroy endpoints as needed; returns the new robots."""
        wanted = [name for name in roster.names if self._wants(name)]
        # Removed first: a new robot may have the name of one that has gone.
        gone = self._by_name.keys() - set(wanted)
        for name in gone:
            self._destroy(self._by_name.pop(name))
        new = [name for name in wanted if name not in self._by_name]
        for name in new:
            # Kept across changes of the fleet: making an endpoint takes discovery all over the network.
            self._by_name[name] = self._make(name)
        self.names = wanted
        self.items = [self._by_name[name] for name in wanted]
        self.rows = roster.rows_of(wanted) if wanted else np.empty(0, np.int64)
        self.version = roster.version
        return new

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]

    def _wants(self, name: str) -> bool:
        if not self._bridge.params.has_own(name, self._group):
            return False
        if not is_ros_name(name):
            self._bridge.tell_no_ros_name(name)
            return False
        return True


def publishers(bridge: Bridge, group: str, kind: Any, topic: str, profile: Any) -> Endpoints:
    """Return one publisher for each robot on <robot>/<topic>."""
    node = bridge.robots

    def make(name: str) -> Any:
        return node.create_publisher(kind, f"{name}/{topic}", profile)

    return Endpoints(bridge, group, make, node.destroy_publisher)
