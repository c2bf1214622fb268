"""What fleet managers ask of the traffic: commands that change places and stop robots, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Ints, Rows
from fleet_sim.base.errors import InvalidValueError, brief, unknown_name
from fleet_sim.base.request_budget import Work
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import BROKEN, DELAYED, SERVING, STOPPED, UNFIT, TrafficColumns
from fleet_sim.warehouse.traffic.floor import Floor
from fleet_sim.warehouse.traffic.network import spread
from fleet_sim.world.commands import Command, NamedCommand, command
from fleet_sim.world.schema import NO_ROW
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


OPERATIONS = ("close", "open", "limit_speed", "occupy", "free")
"""What ChangePlaces does: close and open nodes, limit the speed, occupy and free cells of the map."""


def places_of(asked: ChangePlaces) -> list[Any]:
    """Return the places of a command as `nodes_of` has them; raises InvalidValueError for none, and for too many."""
    if not isinstance(asked.places, (tuple, list)) or not asked.places:
        raise InvalidValueError(f"places: expected at least one, got {brief(asked.places)}")
    places = [_place(place) for place in asked.places]
    PLACES.charge(sum(len(place) if isinstance(place, tuple) else 1 for place in places))
    return places


def _place(given: object) -> Any:
    # Logs have lists where a point or an area is a tuple.
    return tuple(map(_place, given)) if isinstance(given, (tuple, list)) else given


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


def grants_of(world: World, table: TrafficColumns, floor: Floor, rows: Rows) -> list[Grant]:
    """Return what each of `rows`, robots in the traffic, has and waits for."""
    graph = floor.execution.graph
    asking = [row for row in rows.tolist() if table.waiting[row] or table.held[row]]
    # Of nodes and crossings: the row of each who uses it, and after how many others; -1 where it has it.
    uses: dict[int, list[tuple[int, int]]] = {}
    # Once for all: each use of each way is looked at.
    for other in floor.execution.rows.tolist() if asking else ():
        for resource, need in _uses_of(table, floor, other):
            uses.setdefault(resource, []).append((other, need))
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


def _explained(
    world: World, table: TrafficColumns, floor: Floor, grant: Grant, uses: dict[int, list[tuple[int, int]]]
) -> Grant:
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
            before.update(user for user, after in uses.get(resource, ()) if after < need)
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


# Who waits for whom in the traffic, and why the last one of them stands.

DOES = {
    BROKEN: "has broken down",
    UNFIT: "may not drive",
    DELAYED: "is delayed",
    SERVING: "is served",
    STOPPED: "stands",
}
"""What a robot does that is held, the first that holds."""


def waits_for(floor: Floor, table: TrafficColumns, rows: Rows) -> Rows:
    """Return whom each of `rows` (N,) waits for; NO_ROW for those that do not wait, or for nobody.

    That is who has the next node of its way, else who passes it before; where nothing is planned ahead, who has the
    next node on its shortest way.
    """
    found = np.full(len(rows), NO_ROW)
    indices = np.flatnonzero(table.waiting[rows] & (table.held[rows] == 0))
    if not len(indices):
        return found
    graph, network = floor.execution.graph, floor.network
    holders, sources = _holders(floor, table), network.sources()
    for index in indices.tolist():
        row, place = int(rows[index]), int(table.granted[rows[index]]) + 1
        if table.at[row] < table.granted[row]:
            # In the middle of a lane, behind the one that leaves its end.
            found[index] = table.leader[row]
        elif place < table.length[row]:
            holder = int(holders[graph.ways.nodes[row, place]])
            found[index] = graph.ways.leaders[row, place] if holder in (row, NO_ROW) else holder
        else:
            here = int(graph.ways.nodes[row, table.at[row]])
            ends = network.neighbours[here]
            # As if nobody stood anywhere: who stands in the way is asked for.
            steps, scratch = np.full(len(network), -1, np.int32), np.empty(len(network), np.int32)
            spread(sources, np.zeros(len(network), np.bool_), int(table.goal[row]), steps, scratch)
            ends = ends[(ends >= 0) & (steps[ends] >= 0)]
            if len(ends):
                found[index] = holders[ends[np.argmin(steps[ends])]]
    return found


def _holders(floor: Floor, table: TrafficColumns) -> Ints:
    """Return the row of the robot that has each node (N,), NO_ROW for none."""
    holders, rows = np.full(len(floor.network), NO_ROW), floor.execution.rows
    counts = table.granted[rows] - table.behind[rows] + 1
    owners = np.repeat(rows, counts)
    places = (
        np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(table.behind[rows], counts)
    )
    nodes, stands = floor.execution.graph.ways.nodes[owners, places], floor.network.stands
    holders[nodes] = owners
    if stands:
        for node, owner in zip(nodes.tolist(), owners.tolist(), strict=True):
            holders[stands.of(node)] = owner
    return holders


def explained(world: World, floor: Floor, table: TrafficColumns, site: Site, row: int) -> str:
    """Return why the robot in `row` does not drive, as a sentence: "a waits for b, which waits for c, which stands at
    desk"."""
    chain, text = [row], world.label(row)
    while (after := int(waits_for(floor, table, np.array([chain[-1]]))[0])) != NO_ROW:
        text += f" waits for {world.label(after)}, which"
        if after in chain:
            return f"{text} waits in a circle"
        chain.append(after)
    return f"{text} {_state(floor, table, site, chain[-1])}"


def _state(floor: Floor, table: TrafficColumns, site: Site, row: int) -> str:
    """Return what a robot does that waits for nobody."""
    here = int(floor.execution.graph.ways.nodes[row, table.at[row]])
    lift = floor.rides.lift_of(row)
    x, y = floor.network.positions[here].tolist()
    near = [station.name for station in site.stations if abs(station.x - x) + abs(station.y - y) < floor.radius]
    place = near[0] if near else "({:g}, {:g})".format(*floor.world_positions(np.array([here]))[0].tolist())
    held = next((text for bit, text in DOES.items() if table.held[row] & bit), None)
    if held is not None:
        return f"{held} at {place}"
    goal = int(table.goal[row])
    if goal < 0 or table.arrived[row]:
        return f"has nothing to do at {place}" if goal < 0 else f"has arrived at {place}"
    if lift:
        return f"rides or waits for lift {lift} at {place}"
    if not table.waiting[row]:
        return f"drives at {place}"
    return f"waits at {place} for a closed place or for others, no way leads on now"
