"""Stations: whom they serve, who waits where for his turn, and where robots leave them to.

A robot that is sent to a station with a queue is sent to a place of its own in it when it comes near: to the station,
to one of the places of the lane before it, or, while these are taken, to a place in the open where it is in nobody's
way. All move up together when the first one leaves, in the order in which they came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.warehouse.orders.places import OrderPlaces, Spot
from fleet_sim.warehouse.orders.settings import ServiceSettings
from fleet_sim.warehouse.orders.transport import DriveEnd, Transport
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.storeys import spots, steps_to
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World


class Service(Stateful):
    """Each place serves `at_once` robots, or as many as `own` says of it; the others wait in the order they came."""

    STATE = ("_served", "_queues")

    def __init__(self, at_once: int, own: Mapping[int, int]) -> None:
        self._at_once, self._own = at_once, own
        self._served: dict[int, list[int]] = {}
        self._queues: dict[int, deque[int]] = {}

    def enter(self, place: int, row: int) -> bool:
        """Let a robot be served at `place`; return whether it is at once. If not, `leave` returns it later."""
        served = self._served.setdefault(place, [])
        if len(served) < self._own.get(place, self._at_once):
            served.append(row)
            return True
        self._queues.setdefault(place, deque()).append(row)
        return False

    def leave(self, place: int, row: int) -> int | None:
        """Let a robot go, served or not; return the one whose turn it is now, if this changed."""
        queue = self._queues.get(place)
        if queue is not None and row in queue:
            queue.remove(row)
            return None
        served = self._served.get(place)
        if served is None or row not in served:
            return None
        served.remove(row)
        if not queue:
            return None
        following = queue.popleft()
        served.append(following)
        return following

    def length(self, place: int) -> int:
        """Return how many robots are served or wait at `place`."""
        return len(self._served.get(place, ())) + len(self._queues.get(place, ()))


# Lanes: the places before a station, laid along the nodes of the traffic.


NEAR, FAR = 2, 4
"""Steps to the beginning of a lane: within the first a robot has come, beyond the second it is in nobody's way."""
AGAINST = 3
"""How much a move against a road counts for planners, as a rule; lanes are laid along roads."""


class Lane(NamedTuple):
    """The nodes of a station: where it serves, its places of waiting, the next one first, where robots come from and
    where they leave to. `heading` in rad is that of a robot that drives along it; `near_mask` (N,) has the nodes from
    which a robot has come."""

    station: int
    places: tuple[int, ...]
    gate: int
    leave: int
    heading: float
    near_mask: Bools


def lay_lane(network: Network, station: int, count: int, taken: set[int], name: str) -> Lane:
    """Return a straight lane of `count` places to the node `station`, that closes no way and has none of `taken`.

    Where there are several, the one that fewest others can come across; raises InvalidValueError where there is none.
    """
    nothing = np.zeros(len(network), bool)
    before = network.reached_from(station, nothing)
    found: list[tuple[tuple[int, ...], Lane]] = []
    longest = 0
    for slot, after in enumerate(network.neighbours[station].tolist()):
        if after < 0 or after in taken:
            continue
        straight = network.positions[station] - network.positions[after]
        lane = [station]
        # From the station against the way in which it is left, if that goes straight on.
        while len(lane) <= count + 1:
            behind = network.node_at((network.positions[lane[-1]] + straight)[None]).tolist()[0]
            if behind < 0 or behind in taken or lane[-1] not in network.neighbours[behind]:
                break
            lane.append(behind)
        longest = max(longest, len(lane) - 2)
        if len(lane) < count + 2:
            continue
        *places, gate = lane[1:]
        closed = nothing.copy()
        closed[[station, *places]] = True
        open_mask = network.reached_from(after, closed) | closed
        if before.sum() > (before & open_mask).sum():
            continue
        beside = network.neighbours[[station, *places]]
        crossed = int(np.count_nonzero(~np.isin(beside[beside >= 0], [*lane, after])))
        heading = float(trig.arctan2(-straight[1:], -straight[:1])[0])
        along = int(network.guided_tables(AGAINST).to(station)[gate])
        found.append(((crossed, along, slot), Lane(station, tuple(places), gate, after, heading, _near(network, gate))))
    if not found:
        raise InvalidValueError(
            f"there is no room for a straight queue of {count} before {name!r} that leaves a way around it, and a place"
            f" to drive on to behind it; {max(longest, 0)} is the longest that has room at all"
        )
    return min(found)[1]


def _near(network: Network, node: int) -> Bools:
    mask = np.zeros(len(network), bool)
    mask[list(steps_to(network, node, NEAR))] = True
    return mask


class StationLanes(Transport):
    """Takes robots of the traffic through the lanes of stations; others it sends as they are.

    Each robot bound for a station with a lane is `_coming`, or has a place in its line, the first of which is the
    station itself.
    """

    STATE = (*Transport.STATE, "_lines", "_coming", "_sent", "_left", "_there", "_settled")

    def __init__(
        self, world: World, traffic: Callable[[], Traffic | None], places: OrderPlaces, service: ServiceSettings
    ) -> None:
        """Raises ConfigError for stations that there are not."""
        super().__init__(world, traffic)
        self._places = places
        self._settings = {place: own for place, own in service.by_place(places).items() if own.queue}
        self._by_point = {places.points[place]: place for place in self._settings}
        self._lanes: dict[int, Lane] = {}
        self._spots: dict[int, list[int]] = {}
        self._network: Network | None = None
        self._lines: dict[int, list[int]] = {place: [] for place in self._settings}
        self._coming: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        """The node that a robot with a place in a line was sent to last."""
        self._left: dict[int, Spot | None] = {}
        """Robots that drive on from a station, and where they were sent, if anywhere."""
        self._settled: set[int] = set()
        """Robots that have come to a place of a lane; they go before those that have not."""
        self._there: set[int] = set()
        """Robots that are at the station."""

    def lay_out(self) -> None:
        """Lay the lanes, once there are robots in the traffic; raises ConfigError where they have no room."""
        traffic = self._traffic()
        if not self._settings or traffic is None or not len(traffic.rows) or traffic.network is self._network:
            return
        network = self._network = traffic.network
        names = self._places.names
        nodes = {
            place: int(traffic.nodes_at(np.array([self._places.points[place]]))[0])
            for place in range(len(self._places.stations))
        }
        taken = {*nodes.values(), -1}
        for place, own in self._settings.items():
            try:
                lane = lay_lane(network, nodes[place], own.queue, taken - {nodes[place]}, names[place])
            except InvalidValueError as error:
                raise ConfigError(str(error), path=f"orders.service.stations.{names[place]}.queue") from error
            self._lanes[place] = lane
            taken |= {*lane.places, lane.gate, lane.leave}
        ends = [node for lane in self._lanes.values() for node in (lane.gate, lane.leave)]
        found = set(spots(network, ends[0], sorted(taken - {-1})))
        for end in ends:
            steps = steps_to(network, end, len(network))
            self._spots[end] = [node for node, away in steps.items() if away >= FAR and node in found]

    # ---- as a Transport ----------------------------------------------------------------------------------------------

    def send(self, row: int, point: Spot, heading: float | None = None) -> None:
        """Let a robot drive to `point` in m; from a station with a lane it drives on first."""
        if not self._leave(row, point):
            self._begin(row, point)

    def stop(self, row: int) -> None:
        """Let a robot that was sent somewhere stop; from a station with a lane it drives on, to the open."""
        if not self._leave(row, None):
            super().stop(row)

    def forget(self, row: int) -> None:
        """Forget a robot that is about to be removed."""
        self._quit(row)
        self._left.pop(row, None)
        super().forget(row)

    @property
    def looks(self) -> bool:
        """Whether it looks in each tick how far robots are: those that come to a station with a lane."""
        return bool(self._settings)

    def take_outcomes(self) -> list[DriveEnd]:
        """Return the drives that have ended since the last call, in the order they ended."""
        outcomes = super().take_outcomes()
        if self._settings:
            self.lay_out()
        return self._sorted_out(outcomes) if self._lanes else outcomes

    def queues(self) -> Mapping[int, Sequence[int]]:
        """Return the robots in the queue of each station that has one, the first ones first."""
        return self._lines

    # ---- lanes -------------------------------------------------------------------------------------------------------

    def _begin(self, row: int, point: Spot) -> None:
        self._quit(row)
        self.lay_out()
        place, traffic = self._by_point.get(point), self._traffic()
        if place not in self._lanes or traffic is None or not traffic.takes_part(self._world.handles[row]):
            super().send(row, point)
            return
        assert place is not None
        self._coming[row] = place
        self._drive(row, self._lanes[place].gate, None)

    def _drive(self, row: int, node: int, heading: float | None) -> None:
        if self._sent.get(row) != node:
            self._sent[row] = node
            traffic = self._traffic()
            assert traffic is not None
            super().send(row, traffic.spot(node), heading)

    def _leave(self, row: int, point: Spot | None) -> bool:
        """Let a robot drive on from a station where it stands; return whether it stood there."""
        place = self._line_of(row)
        if row in self._left and place is None:
            # On its way out already: from there it goes where it was told to last.
            self._left[row] = point
            return True
        if place is None or row not in self._there:
            self._quit(row)
            return False
        lane = self._lanes[place]
        self._quit(row)
        self._left[row] = point
        self._drive(row, lane.leave, lane.heading)
        traffic = self._traffic()
        if traffic is not None:
            traffic.plan_soon()
        return True

    def _line_of(self, row: int) -> int | None:
        return next((place for place, line in self._lines.items() if row in line), None)

    def _quit(self, row: int) -> None:
        """Take a robot out of all lines; the others move up."""
        self._coming.pop(row, None)
        self._sent.pop(row, None)
        self._there.discard(row)
        self._settled.discard(row)
        place = self._line_of(row)
        if place is not None:
            self._lines[place].remove(row)
            self._move_up(place)

    def _move_up(self, place: int) -> None:
        """Send all of a line to their places, those first that have come to the lane."""
        lane, line = self._lanes[place], self._lines[place]
        line.sort(key=lambda row: (row not in self._there, row not in self._settled))
        nodes = (lane.station, *lane.places)
        for row, node in zip(line, nodes, strict=False):
            self._drive(row, node, lane.heading)
        for row in line[len(nodes) :]:
            self._wait_in_the_open(row, lane.gate)

    def _wait_in_the_open(self, row: int, gate: int) -> None:
        # Who has a spot keeps it.
        if self._sent.get(row) not in self._spots[gate]:
            self._drive(row, self._free_spot(gate), None)

    def _free_spot(self, node: int) -> int:
        """Return the nearest spot to a gate, or to where a lane leaves to, that nobody has; `node` if there is none."""
        taken = set(self._sent.values())
        return next((spot for spot in self._spots[node] if spot not in taken), node)

    def _sorted_out(self, outcomes: Sequence[DriveEnd]) -> list[DriveEnd]:
        """Return those of `outcomes` that others wait for, and go on with the rest."""
        traffic = self._traffic()
        assert traffic is not None
        told = []
        for outcome in outcomes:
            row = outcome.row
            place = self._line_of(row)
            if outcome.reason:
                self._quit(row)
                self._left.pop(row, None)
                told.append(outcome)
            elif place is not None:
                if self._sent[row] == self._lanes[place].station:
                    self._there.add(row)
                    told.append(outcome)
                elif self._sent[row] in self._lanes[place].places:
                    # It gives way to nobody there.
                    self.hold(row)
                    if row not in self._settled:
                        self._settled.add(row)
                        self._move_up(place)
            elif row not in self._sent:
                told.append(outcome)
        self._go_on(traffic)
        traffic.put_first(np.array(sorted({*self._left, *self._moving_up(traffic)}), np.int64))
        return told

    def _moving_up(self, traffic: Traffic) -> list[int]:
        """Return the robots that drive to a station next, and those in lanes that move up behind them."""
        found = []
        for place, lane in self._lanes.items():
            line = [row for row in self._lines[place][: len(lane.places) + 1] if row not in self._there]
            nodes = traffic.nodes(np.array(line, np.int64)).tolist() if line else []
            found += [row for row, node in zip(line, nodes, strict=True) if row == line[0] or node in lane.places]
        return found

    def _go_on(self, traffic: Traffic) -> None:
        """Let robots that have come take their places, and those that have left a station go where they were sent."""
        for row, point in list(self._left.items()):
            # As soon as it moves off, so that it need not stop behind the station.
            if self._world.velocity[row, :2].any():
                del self._left[row]
                if point is None:
                    self._drive(row, self._free_spot(self._sent[row]), None)
                else:
                    self._begin(row, point)
        coming = list(self._coming)
        nodes = traffic.nodes(np.array(coming, np.int64)).tolist() if coming else []
        for row, node in zip(coming, nodes, strict=True):
            place = self._coming[row]
            if self._lanes[place].near_mask[node]:
                del self._coming[row]
                line = self._lines[place]
                line.append(row)
                self._world.events.emit(
                    "queue_joined", agent=self._world.handles[row], station=self._places.names[place], length=len(line)
                )
                self._move_up(place)
