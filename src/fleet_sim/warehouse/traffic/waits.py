"""Who waits for whom in the traffic, and why the last one of them stands."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Ints, Rows
from fleet_sim.warehouse.sites.site import Site
from fleet_sim.warehouse.traffic.columns import BROKEN, DELAYED, SERVING, STOPPED, UNFIT, TrafficColumns
from fleet_sim.warehouse.traffic.floor import Floor
from fleet_sim.warehouse.traffic.network import spread
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.world import World

HELD = {
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
    held = next((text for bit, text in HELD.items() if table.held[row] & bit), None)
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
