"""Buildings to drive in, and how near a robot came to their walls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
from fleet_sim.warehouse.sites import Grid, Site, Warehouse, write_site

OFFICE = """
########################
#......#.......#.......#
#......#.......#.......#
#......#.......#.......#
#......#...............#
#..............#.......#
#......#.......#.......#
####.#######.#######.###
#......................#
#......................#
####.#######.#######.###
#......#.......#.......#
#......#.......#.......#
#......................#
#......#.......#.......#
#......#.......#.......#
########################
"""
"""Six rooms at a corridor, a letter to a metre."""


def office(origin: tuple[float, float, float] = (-3.0, 2.0, 0.3)) -> Site:
    """Return an office of cells of 0.1 m, turned and away from the origin; its doors are 1 m wide."""
    rows = [[letter == "." for letter in line] for line in OFFICE.split()]
    free = np.array(rows).repeat(10, axis=0).repeat(10, axis=1)
    return Site("office", Grid(free, 0.1, origin))


def warehouse() -> Site:
    """Return shelves with aisles of 1 m."""
    return Warehouse(rows=3, columns=2, shelf_length=5, margin=2, workstations=2, chargers=2).site("hall")


def scenario(
    folder: Path, site: Site, robots: list[dict[str, Any]], simulation: dict[str, Any] | None = None, **sections: Any
) -> Path:
    """Write a scenario with `site` to `folder`; returns its file."""
    write_site(site, folder / f"{site.name}.yaml")
    path = folder / "scenario.yaml"
    settings = {"gui": False, "timestep": 0.05, "ignore_static_collision": False, **(simulation or {})}
    content = {"simulation": settings, "site": f"{site.name}.yaml", "robots": robots, **sections}
    path.write_text(yaml.safe_dump(content))
    return path


def gap(site: Site, place: Floats | tuple[float, float]) -> float:
    """The distance from `place` (2,) to the nearest wall of `site`, computed from its boxes."""
    x, y, yaw, length, width = site.boxes().T
    east, north = place[0] - x, place[1] - y
    along, across = np.cos(yaw) * east + np.sin(yaw) * north, np.cos(yaw) * north - np.sin(yaw) * east
    return float(np.hypot(np.maximum(np.abs(along) - length, 0), np.maximum(np.abs(across) - width, 0)).min())


def drive(sim: fs.MultiRobotSimulationCore, robot: fs.Agent, most: int = 8000) -> Floats:
    """Step until the robot's actions have ended; returns its places (N, 2) after each step."""
    seen = []
    while not robot.is_action_queue_empty():
        sim.step_once()
        assert not sim.get_active_collision_pairs()
        seen.append(robot.get_pose().position[:2])
        assert len(seen) < most, "the robot does not arrive"
    return np.array(seen)
