"""Roadmap: nodes and directed lanes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fleet_sim.arrays import Floats, Ints, as_floats
from fleet_sim.errors import InvalidValueError, brief, unknown_name
from fleet_sim.spatial import trigonometry as trig

NO_LIMIT = float("inf")


@dataclass(frozen=True, eq=False)
class Roadmap:
    """Nodes at `positions` (N, 2) in m, and `lanes` (M, 2) from one node to another, by index.

    `names` (N,) may be empty texts; those that are not are unique. `speed_limits` (M,) are in m/s, inf where there is
    none. A lane that may be driven both ways is two lanes.
    """

    positions: Floats
    lanes: Ints
    names: tuple[str, ...] = ()
    speed_limits: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        positions = as_floats(self.positions, (None, 2), "nodes of the roadmap")
        count = len(positions)
        given_lanes = np.asarray(self.lanes)
        # Not converted: a fraction would become the number of another node.
        if given_lanes.size and (
            given_lanes.ndim != 2 or given_lanes.shape[1] != 2 or given_lanes.dtype.kind not in "iu"
        ):
            raise InvalidValueError(f"lanes: expected pairs of numbers of nodes, got shape {given_lanes.shape}")
        lanes = given_lanes.astype(np.int64).reshape(-1, 2)
        for lane in lanes.tolist():
            if not (0 <= lane[0] < count and 0 <= lane[1] < count):
                raise InvalidValueError(f"lane {lane}: there are {count} nodes, numbered from 0")
            if lane[0] == lane[1]:
                raise InvalidValueError(f"lane {lane}: it leads from a node to itself")
        names = tuple(self.names) or ("",) * count
        if len(names) != count:
            raise InvalidValueError(f"names: expected one per node ({count}), got {len(names)}")
        if not all(isinstance(name, str) for name in names):
            raise InvalidValueError(f"names: those of nodes must be text, got {brief(names)}")
        given = [name for name in names if name]
        if len(set(given)) < len(given):
            twice = next(name for name in given if given.count(name) > 1)
            raise InvalidValueError(f"two nodes are named {twice!r}")
        limits = np.array(self.speed_limits if len(self.speed_limits) else np.full(len(lanes), NO_LIMIT), np.float64)
        if limits.shape != (len(lanes),) or not (limits > 0.0).all():
            raise InvalidValueError(f"speed_limits: expected one above 0 m/s per lane ({len(lanes)})")
        for name, value in (("positions", positions), ("lanes", lanes), ("speed_limits", limits)):
            frozen = value.copy()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)
        object.__setattr__(self, "names", names)

    def node(self, name: str) -> int:
        """Return the index of the node called `name`; raises UnknownNameError with the closest one."""
        if not name or name not in self.names:
            raise unknown_name("node", name, [known for known in self.names if known])
        return self.names.index(name)

    @property
    def lengths(self) -> Floats:
        """Lengths (M,) of the lanes in m."""
        begin, end = self.positions[self.lanes[:, 0]], self.positions[self.lanes[:, 1]]
        return np.asarray(trig.hypot(*(end - begin).T))
