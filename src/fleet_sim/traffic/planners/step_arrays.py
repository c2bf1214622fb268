"""What steps of PIBT work on, as kernels take it."""

from __future__ import annotations

from typing import NamedTuple

from fleet_sim.arrays import Bytes, Ints
from fleet_sim.kernels import compiled_step
from fleet_sim.traffic.planners.guides import Columns
from fleet_sim.traffic.planners.queueing import OWN_PLACE
from fleet_sim.traffic.tables import Links, Steps


class StepArrays(NamedTuple):
    """What steps of PIBT work on: the network, who may be where, who is where, and room to work in.

    `links` are those of the network, `begins` and `ids` the claims of its moves. `bars` says of each node who may enter
    it, `passes` of each robot what it may pass. `standing` has the robot on each node, `holding` the one that holds a
    node or a claim in this step. `remaining` is as `look_ahead` writes it; `choices`, `stack` and `ranks` are room.
    """

    links: Links
    begins: Ints
    ids: Ints
    bars: Bytes
    passes: Ints
    standing: Links
    holding: Links
    choices: Links
    stack: Links
    ranks: Ints
    remaining: Links


class Guidance(NamedTuple):
    """Where robots want to go: `rows` (R,) are those of `steps` to their goals, OWN_PLACE for robots that wait, and
    `guides` (R, N) the columns of the moves that they should make, if there are any."""

    steps: Steps
    rows: Ints
    guides: Columns


@compiled_step
def look_ahead(links: Links, now: Ints, steps: Steps, rows: Ints, remaining: Links) -> None:
    """Write how far from its goal each robot is after each of its moves, waiting last, to `remaining` (R, K + 1).

    For all robots before the first one is planned: each look is at another end of a large table, and many of them are
    fetched at once where none waits for what is done with another.
    """
    for robot in range(len(now)):
        begin, row = now[robot], rows[robot]
        for column in range(links.shape[1]):
            node = links[begin, column]
            if row == OWN_PLACE:
                remaining[robot, column] = 1
            elif node >= 0:
                remaining[robot, column] = steps[row, node]
        remaining[robot, links.shape[1]] = 0 if row == OWN_PLACE else steps[row, begin]
