"""What fleet managers ask of the traffic: commands that change places and stop robots, and who has which nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Ints, Rows, as_float, as_floats
from fleet_sim.base.budget import Work
from fleet_sim.base.errors import FleetSimError, InvalidValueError, brief, unknown_name
from fleet_sim.base.gate import LARGEST_SPEED
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import STOPPED, TrafficColumns
from fleet_sim.warehouse.traffic.control import TrafficControl
from fleet_sim.warehouse.traffic.floor import Floor
from fleet_sim.warehouse.traffic.network import ManyPlaces, area_of, node_of, nodes_of
from fleet_sim.world.commands import Command, CommandAck, NamedCommand, command
from fleet_sim.world.world import World

# Commands, and how they are carried out.


PLACES = Work("places and corners of areas", 1_000)
"""Each is compared with all nodes."""
MOST_OCCUPIED = 10_000
"""Cells of the map that are occupied at a time: each is an obstacle of its own."""


@command("change_places")
class ChangePlaces(Command):
    """Change `places` of the traffic, all or none: `operation` is one of OPERATIONS.

    `places` are names of stations and zones, numbers of nodes, points (x, y), and areas ((x, y), ...) in m, as
    `traffic.close` has them; `speed` in m/s is for limit_speed, 0: that of the site again. The acknowledgement's
    `value` has the nodes, or the cells of the map.
    """

    feature: ClassVar[str] = "traffic"

    operation: str
    places: tuple[Any, ...]
    speed: float = 0.0


@command("hold_robots")
class HoldRobots(NamedCommand):
    """Let robots in the traffic brake and stand with their goals and actions, or drive on: `hold=False`."""

    feature: ClassVar[str] = "traffic"

    hold: bool = True


def _close(control: TrafficControl, site: Site, places: ManyPlaces, speed: float) -> Ints:
    nodes = nodes_of(control.floor.network, site, places)
    control.close(nodes)
    return nodes


def _open(control: TrafficControl, site: Site, places: ManyPlaces, speed: float) -> Ints:
    nodes = nodes_of(control.floor.network, site, places)
    control.close(nodes, closed=False)
    return nodes


def limit_speed(control: TrafficControl, site: Site, places: ManyPlaces, speed: float) -> Ints:
    """Limit the speed at places; 0: as the site does. Raises InvalidValueError."""
    given = as_float(speed, "speed in m/s", low=0.0, high=LARGEST_SPEED)
    nodes = nodes_of(control.floor.network, site, places)
    control.floor.limit(nodes, given or np.nan)
    return nodes


def occupy(control: TrafficControl, site: Site, places: ManyPlaces, speed: float = 0.0) -> Ints:
    """Let something stand in the cells of the map at places; raises InvalidValueError for too many of them."""
    cells, floor = _cells_of(control, site, places), control.floor
    count = int(np.count_nonzero(floor.occupied)) + len(cells)
    if count > MOST_OCCUPIED:
        raise InvalidValueError(f"at most {MOST_OCCUPIED:,} cells may be occupied, with these there are {count:,}")
    floor.occupy(cells, occupied=True)
    return cells


def free(control: TrafficControl, site: Site, places: ManyPlaces, speed: float = 0.0) -> Ints:
    """Let cells be free that were occupied; raises InvalidValueError for those of walls."""
    cells = _cells_of(control, site, places)
    control.floor.occupy(cells, occupied=False)
    return cells


OPERATIONS: dict[str, Callable[[TrafficControl, Site, ManyPlaces, float], Ints]] = {
    "close": _close,
    "open": _open,
    "limit_speed": limit_speed,
    "occupy": occupy,
    "free": free,
}
"""What ChangePlaces does: close and open nodes, limit the speed, occupy and free cells of the map."""


def _cells_of(control: TrafficControl, site: Site, places: ManyPlaces) -> Ints:
    """Return the cells (K,) of the site's grid at places; raises InvalidValueError for those that are no free space."""
    grid = site.grid
    chosen: list[Ints] = []
    for place in places if isinstance(places, (list, np.ndarray)) else [places]:
        area = area_of(site, place)
        if area is not None:
            cells = np.flatnonzero(area.contains(grid.middles) & grid.free_mask.ravel())
        elif isinstance(place, tuple):
            cells = grid.cells_at(as_floats(place, (2,), "place")[None])
        else:
            node = node_of(control.floor.network, site, place)
            cells = grid.cells_at(control.floor.network.positions[node][None])
        if not len(cells) or not grid.is_free(cells).all():
            raise InvalidValueError(f"{brief(place)}: there is no free space of the site, whose walls stay as they are")
        chosen.append(cells)
    return np.unique(np.concatenate([np.empty(0, np.int64), *chosen]))


def change_places(control: TrafficControl, site: Site, asked: ChangePlaces) -> CommandAck:
    """Carry out a ChangePlaces; raises FleetSimError, and then nothing is changed."""
    operation = OPERATIONS.get(asked.operation)
    if operation is None:
        raise unknown_name("operation", asked.operation, OPERATIONS)
    if not isinstance(asked.places, (tuple, list)) or not asked.places:
        raise InvalidValueError(f"places: expected at least one, got {brief(asked.places)}")
    places = [_place(place) for place in asked.places]
    PLACES.charge(sum(len(place) if isinstance(place, tuple) else 1 for place in places))
    cells = operation(control, site, places, asked.speed)
    return CommandAck(asked.command_id, asked.source, control.time, value=cells)


def _place(given: object) -> Any:
    """Return a place as `nodes_of` has them: logs have lists where a point or an area is a tuple."""
    return tuple(map(_place, given)) if isinstance(given, (tuple, list)) else given


def hold_robots(world: World, table: TrafficColumns, control: TrafficControl, asked: HoldRobots) -> CommandAck:
    """Carry out a HoldRobots; without names for all that take part."""
    accepted: list[str] = []
    rejected: dict[str, str] = {}
    for name in asked.names or [world.label(row) for row in control.rows.tolist()]:
        try:
            row = row_in_traffic(world, table, name)
        except FleetSimError as error:
            rejected[name] = str(error)
            continue
        (control.hold if asked.hold else control.let_go)(np.array([row]), STOPPED)
        accepted.append(name)
    return asked.ack(control.time, accepted, rejected)


def row_in_traffic(world: World, table: TrafficColumns, name: str) -> int:
    """Return the row of the robot of that name; raises FleetSimError where it takes no part."""
    if not isinstance(name, str) or not world.index.has_name(name):
        raise unknown_name("robot", name, map(world.label, table.among(world.rows).tolist()))
    row = world.index.row_named(name)
    if not table.present[row]:
        raise InvalidValueError(f"{name!r} takes no part in the traffic")
    return row


# Grants: who has which nodes, and who waits for whom.


class Grant(NamedTuple):
    """What a robot has of the network, and what it waits for.

    `nodes` (K,) are its own, in the order of its way: those that it has not cleared, up to where it may drive. A robot
    that waits asks for `next` (-1: it has no plan), before which the robots in `waits_for` pass; `reason` says it in
    words, "" for a robot that does not wait.
    """

    row: int
    nodes: Ints
    next: int = -1
    waits_for: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class _Use:
    """A use of a node or crossing by a robot: after so many others, -1 where it has it."""

    row: int
    need: int


def grants_of(world: World, table: TrafficColumns, floor: Floor, rows: Rows) -> list[Grant]:
    """Return what each of `rows`, robots in the traffic, has and waits for."""
    graph = floor.execution.graph
    asking = [row for row in rows.tolist() if table.waiting[row] or table.held[row]]
    uses: dict[int, list[_Use]] = {}
    # Once for all: each use of each way is looked at.
    for other in floor.execution.rows.tolist() if asking else ():
        for resource, need in _uses_of(table, floor, other):
            uses.setdefault(resource, []).append(_Use(other, need))
    found = []
    for row in rows.tolist():
        nodes = graph.ways.nodes[row, table.behind[row] : table.granted[row] + 1].astype(np.int64)
        grant = Grant(row, nodes)
        found.append(_explained(world, table, floor, grant, uses) if row in asking else grant)
    return found


def _uses_of(table: TrafficColumns, floor: Floor, row: int) -> Iterator[tuple[int, int]]:
    """Yield the nodes and crossings on the way of a robot, and how many uses have to end before; -1: it has it."""
    graph = floor.execution.graph
    ways, tracks = graph.ways, graph.tracks
    for place in range(int(table.behind[row]), int(table.length[row])):
        planned = place > table.granted[row]
        yield int(ways.nodes[row, place]), int(ways.needs[row, place, 0]) if planned else -1
        if place <= table.at[row]:
            continue
        lane = int(ways.lanes[row, place])
        for slot, claim in enumerate(tracks.claims[tracks.begins[lane] : tracks.begins[lane + 1]].tolist()):
            yield claim, int(ways.needs[row, place, 1 + slot]) if planned else -1


def _explained(world: World, table: TrafficColumns, floor: Floor, grant: Grant, uses: dict[int, list[_Use]]) -> Grant:
    """Return a grant with what the robot waits for."""
    graph, row = floor.execution.graph, grant.row
    if table.held[row]:
        names = [name for bit, name in HELD.items() if table.held[row] & bit]
        return grant._replace(reason=f"it is held: {', '.join(names)}")
    place = int(table.granted[row]) + 1
    # Who follows another one stands behind it.
    if table.leader[row] >= 0:
        return _for_others(world, grant, int(grant.nodes[-1]), {int(table.leader[row])})
    if place >= table.length[row]:
        return grant._replace(reason="no plan leads on: its goal, or the way to it, is closed or others stand there")
    node = int(graph.ways.nodes[row, place])
    if not floor.execution.open_mask[node]:
        why = "an obstacle is there" if floor.covered[node] else "it is closed"
        return grant._replace(next=node, reason=f"node {node}: {why}")
    left = graph.uses.left
    before: set[int] = set()
    lane = int(graph.ways.lanes[row, place])
    claims = graph.tracks.claims[graph.tracks.begins[lane] : graph.tracks.begins[lane + 1]].tolist()
    for slot, resource in enumerate([node, *claims]):
        need = int(graph.ways.needs[row, place, slot])
        if left[resource] < need:
            before.update(use.row for use in uses.get(resource, ()) if use.need < need)
    number = int(graph.ways.rounds[row, place])
    if number and graph.rounds.sizes[number]:
        rounds, others = graph.ways.rounds, floor.execution.rows
        ahead = np.arange(rounds.shape[1])[None] > table.granted[others][:, None]
        ahead &= np.arange(rounds.shape[1])[None] < table.length[others][:, None]
        before.update(others[((rounds[others] == number) & ahead).any(axis=1)].tolist())
    return _for_others(world, grant, node, before - {row})


def _for_others(world: World, grant: Grant, node: int, others: set[int]) -> Grant:
    rows = tuple(sorted(others))
    names = ", ".join(map(world.label, rows[:MOST_NAMED])) + (", ..." if len(rows) > MOST_NAMED else "")
    reason = f"node {node}: after {names}" if rows else f"node {node}: it is about to be granted"
    return grant._replace(next=node, waits_for=rows, reason=reason)


MOST_NAMED = 10
HELD = {1: "stopped", 2: "delayed", 4: "broken down", 8: "not fit to drive", 16: "at work"}
"""The reasons to stand of `columns.py`, in words."""
