"""Small networks and random teams on them."""

from __future__ import annotations

import heapq
import math

import numpy as np

from fleet_sim.base.arrays import Bools, Ints
from fleet_sim.warehouse.sites import Grid, Roadmap, Site
from fleet_sim.warehouse.traffic import Network

EIGHT = """
........
........
..####..
..####..
........
........
"""


HALL = """
..........
..........
..##..##..
..##..##..
..........
..........
"""
"""Two pillars, around which robots can drive both ways."""


def site_of(drawing: str, cell: float = 1.0) -> Site:
    """Return the site that a drawing shows: a letter to a cell, free where there is a dot."""
    rows = [[letter == "." for letter in line] for line in drawing.split()]
    return Site("drawn", Grid(np.array(rows), cell))


def grid_network(drawing: str = EIGHT) -> Network:
    """Return the free cells of a drawing, for robots of 0.4 m."""
    return Network.of_grid(site_of(drawing), 0.4)


def roadmap_network(points: list[tuple[float, float]], lanes: list[tuple[int, int]], radius: float = 0.4) -> Network:
    """Return nodes and lanes in an empty hall of 40 m."""
    roadmap = Roadmap(np.array(points), np.array(lanes))
    return Network.of_roadmap(Site("lanes", Grid(np.ones((40, 40), bool)), roadmap=roadmap), radius)


def random_network(rng: np.random.Generator, height: int, width: int, free: float = 0.8) -> Network:
    """Return the largest region of a random grid."""
    grid = Grid(rng.random((height, width)) < free)
    mask = np.zeros(grid.count, bool)
    mask[grid.largest_region()] = True
    mask[0] |= not mask.any()
    return Network.of_grid(Site("random", grid.with_free(mask.reshape(height, width))), 0.4)


def random_places(rng: np.random.Generator, network: Network, robots: int) -> tuple[Ints, Ints]:
    """Return starts and goals, each all different."""
    return rng.permutation(len(network))[:robots], rng.permutation(len(network))[:robots]


# ---- distances, plainly: what oracles hold those of the package against


def ends_of(network: Network) -> list[list[int]]:
    """The nodes that one move leads to, from each."""
    return [[end for end in ends if end >= 0] for ends in network.neighbours.tolist()]


def claims_of(network: Network) -> dict[tuple[int, int], set[int]]:
    """What each move needs beside the node at its end."""
    claims, found = network.claims, {}
    for move, end in enumerate(network.links.ravel().tolist() if network.claims else ()):
        if end >= 0:
            ids = claims.ids[claims.begins[move] : claims.begins[move + 1]]
            found[move // network.links.shape[1], end] = set(ids.tolist())
    return found


def costs_by_roads(network: Network, against: int) -> dict[tuple[int, int], int]:
    """What moves on a grid count as: rows and columns lead to lower and to higher places in turns."""
    assert network.grid is not None
    places = [divmod(cell, network.grid.width) for cell in network.cells.tolist()]
    moves = [(one, end) for one, ends in enumerate(ends_of(network)) for end in ends]
    costs = {}
    for axis in (0, 1):
        along = [(one, end) for one, end in moves if places[one][axis] == places[end][axis]]
        count = [
            sum(places[one][axis] == line for one, _ in along) for line in range(max(network.grid.free_mask.shape))
        ]
        roads = np.cumsum([number >= 0.5 * max(max(count), 1) for number in count])
        for one, end in along:
            rises = places[end][1 - axis] > places[one][1 - axis]
            costs[one, end] = 1 if rises == (roads[places[one][axis]] % 2 == 0) else against
    return costs


def dijkstra(network: Network, goal: int, shut: Bools, costs: dict[tuple[int, int], int] | None = None) -> list[int]:
    """Dijkstra's algorithm backwards; nodes that are shut are left, but not entered. -1: no way."""
    into: list[list[int]] = [[] for _ in range(len(network))]
    for one, ends in enumerate(ends_of(network)):
        for end in ends:
            into[end].append(one)
    found, waiting = {goal: 0}, [(0, goal)]
    while waiting:
        away, node = heapq.heappop(waiting)
        if away > found[node] or shut[node]:
            continue
        for one in into[node]:
            further = away + (1 if costs is None else costs[one, node])
            if further < found.get(one, math.inf):
                found[one] = further
                heapq.heappush(waiting, (further, one))
    return [found.get(node, -1) for node in range(len(network))]
