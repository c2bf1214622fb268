"""Maps of what does not move: what a lidar sees, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensing.sensors.occupancy import FREE, OCCUPIED, occupancy_grid

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def fixture(sim: Sim, kind: Any, pose: fs.Pose, **settings: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **settings), pose, collision_mode=fs.CollisionMode.STATIC))


def test_what_touches_the_rim_of_a_cell_is_not_in_it(sim: Sim) -> None:
    fixture(sim, "box", fs.Pose.from_yaw(1.0, 0.0, 0.0, 1.570796), half_extents=(2.0, 0.1, 0.5))
    grid = occupancy_grid(sim.world, resolution=0.05)
    assert (grid.cells == OCCUPIED).sum() == 4 * 80


def test_only_what_does_not_move_is_on_it(sim: Sim) -> None:
    shape = fs.ShapeParams("box", half_extents=(0.2, 0.2, 0.5))
    sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_xyz(2.0, 0.0, 0.2)))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(4.0, 0.0, 0.2)))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(6.0, 0.0, 0.2), pickable=False))
    sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(8.0, 0.0, 2.0), pickable=False))
    fixture(sim, "box", fs.Pose.from_xyz(0.0, 0.0, 0.2))
    grid = occupancy_grid(sim.world)
    places = np.array([[x, 0.0] for x in (0.0, 2.0, 4.0, 6.0)])
    assert grid.values_at(places).tolist() == [OCCUPIED, FREE, FREE, OCCUPIED]
    assert grid.values_at(np.array([[50.0, 0.0]])).tolist() == [-1]
    assert grid.origin == (-1.5, -1.5)


def test_an_empty_world_has_an_empty_map(sim: Sim) -> None:
    grid = occupancy_grid(sim.world, resolution=0.5)
    assert (grid.cells.shape, grid.origin, int(grid.cells.max())) == ((20, 20), (-5.0, -5.0), FREE)
    with pytest.raises(ValueError, match="read-only"):
        grid.cells[0, 0] = 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"resolution": 0.0}, "resolution in m"),
        ({"resolution": 1e-5}, "cells is too large"),
        ({"bounds": (1, 1, 0, 2)}, "bounds: expected"),
        ({"z": math.nan}, "z in m"),
        ({"margin": -1}, "margin in m"),
    ],
)
def test_wrong_settings(sim: Sim, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(fs.InvalidValueError, match=message):
        occupancy_grid(sim.world, **settings)


def test_a_huge_hall_has_coarser_cells_where_that_is_wanted() -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False))
    box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
    for index, x in enumerate((0.0, 600.0)):
        pose = fs.Pose((x, x, 0.0))
        sim.spawn(fs.SimObjectSpawnParams(name=f"b{index}", collision_shape=box, initial_pose=pose, pickable=False))
    with pytest.raises(fs.InvalidValueError, match="too large"):
        occupancy_grid(sim.world)
    grid = occupancy_grid(sim.world, coarsen=True)
    assert grid.resolution == pytest.approx(0.15)
    assert grid.cells.size <= 26_000_000
    assert grid.values_at(np.array([[0.0, 0.0], [600.0, 600.0], [300.0, 300.0]])).tolist() == [100, 100, 0]
