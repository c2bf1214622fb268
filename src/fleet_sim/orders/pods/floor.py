"""PodFloor: what the traffic has to know of pods, and where robots with pods may go.

Places of pods are barred for robots that carry one. All others pass below the pods, unless they are higher than the
legs of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.world import World
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.orders.columns import OrderColumns
from fleet_sim.orders.pods.shelves import PodShelves
from fleet_sim.orders.pods.storage import PodStorage
from fleet_sim.traffic.tables import DistanceTables
from fleet_sim.traffic.traffic import Traffic

NEAREST_WAIT = 2
"""Steps from a station at which the first pod waits: nearer ones would stand in the way of the one that leaves."""


class PodFloor:
    """Keeps robots with pods off places where pods stand or are expected; all others pass below."""

    def __init__(
        self,
        world: World,
        table: OrderColumns,
        traffic: Callable[[], Traffic | None],
        storage: PodStorage,
        shelves: PodShelves,
        legs: float,
    ) -> None:
        self._world, self._table, self._find = world, table, traffic
        self._storage, self._shelves, self._legs = storage, shelves, legs
        self._traffic: Traffic | None = None
        self._nodes: Ints = np.empty(0, np.int64)
        self._barred: Bools = np.zeros(len(storage), bool)
        self._version = -1
        self._begun = False
        self.stranded: dict[int, list[int]] = {}
        """Pods that stand where they should not, and the nodes that they take."""

    @property
    def traffic(self) -> Traffic:
        """The traffic; raises as `begin` does."""
        return self._attached() if self._traffic is None else self._traffic

    # ---- beginning ---------------------------------------------------------------------------------------------------

    def begin(self, stations: Sequence[Floats], queue: int) -> list[list[tuple[float, float]]] | None:
        """Bar the places of pods; return the points where `queue` pods wait at each of `stations`, the nearest first.

        None as long as no robot is in the traffic. Raises StateError without a traffic, and InvalidValueError for one
        in which pods cannot be carried.
        """
        if not len(self._found().rows):
            return None
        traffic = self._attached()
        self._begun = True
        self.look()
        return self._waits(traffic, stations, queue)

    def _found(self) -> Traffic:
        traffic = self._find()
        if traffic is None:
            raise StateError("pods are carried by robots in the traffic; add a section 'traffic' to the scenario")
        return traffic

    def _attached(self) -> Traffic:
        """Find the traffic, and see whether pods can be carried in it."""
        traffic = self._found()
        reach = self._shelves.reach
        # A robot with a pod needs the room of the pod, also where it turns.
        if traffic.bars.radius < reach * (1.0 - 1e-9):
            raise InvalidValueError(
                f"a robot with a pod has a radius of {reach:.4g} m, the traffic is for {traffic.bars.radius:.4g} m;"
                f" set traffic: {{radius: {np.ceil(reach * 1e3) / 1e3:g}}}"
            )
        self._nodes = traffic.network.node_at(self._storage.points)
        off = np.flatnonzero(self._nodes < 0)
        if len(off):
            x, y = self._storage.points[off[0]].tolist()
            raise InvalidValueError(f"the storage place ({x:g}, {y:g}) has no room for a robot with a pod")
        self._traffic = traffic
        traffic.bars.pass_under(self._shelves.objects)
        return traffic

    def _waits(self, traffic: Traffic, stations: Sequence[Floats], queue: int) -> list[list[tuple[float, float]]]:
        """Return up to `queue` places (x, y) in m to wait for each of `stations`, nearest first, none of them twice.

        They can be reached with a pod. Raises InvalidValueError for a station without room for one.
        """
        network = traffic.network
        all_barred: Bools = np.zeros(len(network), bool)
        all_barred[self._nodes] = True
        # Tables of its own, in which the places of all pods are taken: the worst case that can come.
        tables = DistanceTables(network.sources())
        tables.block(np.zeros(len(network), bool), all_barred)
        nodes = network.node_at(np.array(stations))
        usable = ~all_barred
        # No pod waits on a station.
        usable[network.node_at(np.array([(place.x, place.y) for place in traffic.site.stations]))] = False
        chosen = []
        for node, (x, y) in zip(nodes.tolist(), stations, strict=True):
            if node < 0:
                raise InvalidValueError(f"the station at ({x:g}, {y:g}) has no room for a robot with a pod")
            steps = tables.steps[tables.rows_of(np.array([node]), np.ones(1, bool))[0]]
            # Found out now, and not when the last place is taken.
            shut = np.flatnonzero(steps[self._nodes] < 0)
            if len(shut):
                at = self._storage.points[shut[0]].tolist()
                raise InvalidValueError(
                    f"no robot with a pod gets from the storage place ({at[0]:g}, {at[1]:g}) to the station at"
                    f" ({x:g}, {y:g}) when all other places are taken; leave an aisle beside each place"
                )
            near = np.flatnonzero(usable & (steps >= NEAREST_WAIT))
            waits = near[np.argsort(steps[near], kind="stable")][:queue]
            usable[waits] = False
            chosen.append([(float(px), float(py)) for px, py in network.positions[waits].tolist()])
        return chosen

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Bar the places that are kept for pods, and no others."""
        if not self._begun:
            return
        taken = self._storage.taken_mask
        for mask, change in (
            (taken & ~self._barred, self.traffic.bars.add),
            (self._barred & ~taken, self.traffic.bars.remove),
        ):
            if mask.any():
                change(self._nodes[mask])
        self._barred = taken.copy()
        if self.stranded:
            self.traffic.bars.add(np.array([node for nodes in self.stranded.values() for node in nodes], np.int64))
        if self._world.version != self._version:
            self._version = self._world.version
            self._look_up()

    def _look_up(self) -> None:
        """Let robots that are higher than the legs of pods drive around them."""
        traffic, table = self.traffic, self._table
        for agent in traffic.robots:
            # Bars are changed for robots that are new only.
            if table.present[agent.row] and self._is_high(agent.row) and not traffic.bars.is_wide(agent):
                traffic.bars.set_wide(agent)

    def _is_high(self, row: int) -> bool:
        return float(self._table.top[row] + self._world.position[row, 2]) > self._legs

    def passes_under(self, row: int) -> bool:
        """Return whether the robot in `row` takes part in the traffic and is low enough."""
        return self.traffic.takes_part(self._world.handles[row]) and not self._is_high(row)

    def widen(self, row: int, wide: bool) -> None:
        """Let a robot keep off the places of pods, or no longer; raises InvalidValueError for one that is driving."""
        agent = self._world.handles[row]
        if self.traffic.takes_part(agent) and self.traffic.bars.is_wide(agent) != wide:
            self.traffic.bars.set_wide(agent, wide)

    def lengths_to(self, row: int, places: Ints) -> Floats:
        """Return the lengths (K,) in m of the ways of a robot with a pod to storage places by index; inf for none."""
        network = self.traffic.network
        rows = network.tables.rows_of(self._nodes[places], np.ones(len(places), bool))
        # Counted from the places to the robot: ways are as long in both directions.
        steps = network.tables.steps[rows, self.traffic.nodes(np.array([row]))[0]]
        return np.where(steps < 0, np.inf, steps * self.traffic.site.grid.cell)

    def strand(self, pod: int, point: Floats) -> None:
        """Keep robots with pods off a pod that was left at `point` (2,) m."""
        traffic = self.traffic
        reach = self._shelves.reach + traffic.bars.radius
        gaps = np.abs(traffic.network.positions - point).max(axis=1)
        nodes = np.flatnonzero(gaps < reach)
        self.stranded[pod] = nodes.tolist()
        traffic.bars.add(nodes)

    def clear_away(self, pod: int) -> None:
        """Hear that a stranded pod is gone."""
        nodes = np.array(self.stranded.pop(pod, []), np.int64)
        if len(nodes):
            self.traffic.bars.remove(nodes)
            # Pods may stand there rightly.
            self.traffic.bars.add(self._nodes[self._barred])
            self.look()

    def restore(self, stranded: dict[int, list[int]], *, begun: bool) -> None:
        """Go on from a saved state; once `begun`, the traffic has its bars from there."""
        self.stranded = {pod: list(nodes) for pod, nodes in stranded.items()}
        self._barred = self._storage.taken_mask & begun
        # The traffic may be another one, as in the process that reads a state file.
        self._begun, self._traffic = begun, None
        self._version = -1
