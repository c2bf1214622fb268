"""Small networks and random teams on them."""

from __future__ import annotations

import numpy as np

from fleet_sim.base.arrays import Ints
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
