"""Tracks: a network as robots drive it, as arrays by lane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.errors import InvalidValueError
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.network import Network

PARALLEL = 1e-9


class Tracks(NamedTuple):
    """Nodes and lanes. Lane `v * K + k` leads from node v to `neighbours[v, k]`.

    `positions` (N, 2) in m; `neighbours` (N, K), -1 padded. By lane (N * K,): `yaws` in rad, `lengths` and `clears` in
    m, speed `limits` in m/s; what it needs beside its end is `claims[begins[lane] : begins[lane + 1]]`. A robot that
    has driven `clears` along a lane touches nobody at the lane's start, or on another lane from or to there. Middles of
    robots stay `room` m apart: in a straight line, or along x or y where they are `square`, along the rows and columns
    of a grid.
    """

    positions: Floats
    neighbours: Ints
    begins: Ints
    claims: Ints
    yaws: Floats
    lengths: Floats
    clears: Floats
    limits: Floats
    room: float
    square: bool = False


def tracks_of(network: Network, room: float, limits: Floats | None = None, *, square: bool = False) -> Tracks:
    """Return the tracks of `network` for robots that keep their middles `room` m apart.

    `limits` (N * K,) in m/s are the speed limits of the lanes; None: none. `square` robots keep their sides along the
    rows and columns of the network's grid. Raises InvalidValueError where two robots would touch each other while both
    stand on nodes that a lane connects, and the network does not know it, and for squares off a grid.
    """
    if square and network.grid is None:
        raise InvalidValueError("footprint: squares keep their sides along the cells of a grid; set network: grid")
    positions, neighbours = np.array(network.positions), np.array(network.neighbours)
    count, width = neighbours.shape
    ways = positions[neighbours] - positions[:, None, :]
    lengths = np.where(neighbours >= 0, trig.hypot(ways[..., 0], ways[..., 1]), 1.0)
    yaws = trig.arctan2(ways[..., 1].ravel(), ways[..., 0].ravel())
    claims = network.claims
    begins = np.array(claims.begins) if claims else np.zeros(count * width + 1, np.int64)
    short_mask = (neighbours >= 0) & (lengths < room * (1.0 - PARALLEL))
    if short_mask.any() and not claims:
        node, slot = (int(part) for part in np.argwhere(short_mask)[0])
        raise InvalidValueError(
            f"robots whose middles stay {room:g} m apart do not fit on nodes {lengths[node, slot]:g} m apart, as at "
            f"{positions[node].tolist()}; use larger cells, or smaller robots"
        )
    clears = np.minimum(_clears(network, yaws.reshape(count, width), room), lengths)
    speeds = np.full(count * width, np.inf) if limits is None else np.array(limits, np.float64)
    lanes = (yaws, lengths.ravel(), clears.ravel(), speeds)
    return Tracks(positions, neighbours, begins, np.array(claims.ids), *lanes, float(room), square)


def _clears(network: Network, yaws: Floats, room: float) -> Floats:
    """Return how far (N, K) robots drive along each lane until they are `room` from all other lanes at its start."""
    clears = np.full(yaws.shape, room)
    for ends, directions in ((network.neighbours, yaws), _entering(network)):
        for slot in range(ends.shape[1]):
            # The way back along the same lane is nobody's while somebody is on the lane.
            other_mask = (ends[:, slot : slot + 1] >= 0) & (ends[:, slot : slot + 1] != network.neighbours)
            sines, cosines = trig.sin_cos(directions[:, slot : slot + 1] - yaws)
            acute_mask = other_mask & (cosines > PARALLEL)
            with np.errstate(divide="ignore"):
                needed = room / np.abs(np.where(acute_mask, sines, 1.0))
            np.maximum(clears, needed, out=clears)
    return clears


def _entering(network: Network) -> tuple[Ints, Floats]:
    """Return the nodes (N, L) from which each is entered, and the directions in rad in which they are seen from it."""
    sources = network.sources().astype(np.int64)
    ways = network.positions[sources] - network.positions[:, None, :]
    return sources, trig.arctan2(ways[..., 1].ravel(), ways[..., 0].ravel()).reshape(sources.shape)
