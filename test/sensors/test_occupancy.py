"""Maps of what does not move: what a lidar sees, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from shapes_of_kinds import shape_of

import fleet_sim as fs
from fleet_sim.sensors.occupancy import FREE, OCCUPIED, occupancy_grid

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.4)


def fixture(sim: Sim, kind: Any, pose: fs.Pose, **settings: Any) -> None:
    sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **settings), pose, collision_mode=fs.CollisionMode.STATIC))


def clutter(sim: Sim, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for index in range(40):
        x, y = rng.uniform(-6, 6, 2)
        if math.hypot(x, y) > 1.2:
            tilt = rng.uniform(-0.5, 0.5, 2) * (index % 3 == 0)
            fixture(
                sim,
                ("box", "cylinder", "sphere", "capsule")[index % 4],
                fs.Pose.from_euler(x, y, rng.uniform(0.0, 0.6), *tilt, rng.uniform(-3, 3)),
                half_extents=tuple(rng.uniform(0.05, 0.6, 3)),
                radius=rng.uniform(0.1, 0.5),
                height=rng.uniform(0.2, 1.0),
            )
    fixture(sim, "plane", fs.Pose.from_euler(7.0, 0.0, 0.0, 0.0, -math.pi / 2, 0.3))
    fixture(sim, "plane", fs.Pose.from_xyz(0.0, 0.0, 0.0))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("resolution", [0.05, 0.2])
def test_it_is_what_a_lidar_sees(sim: Sim, seed: int, resolution: float) -> None:
    clutter(sim, seed)
    grid = occupancy_grid(sim.world, resolution=resolution, z=0.3, bounds=(-9, -9, 9, 9))
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.3], rays=720, range_max=8.0)
    ranges = lidar.read().ranges
    angles = lidar.params.angles
    directions = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    hit_mask = np.isfinite(ranges)
    assert hit_mask.mean() > 0.5
    # A surface may be the edge between two cells.
    hits = [
        (ranges[hit_mask] + hair)[:, None] * directions[hit_mask] for hair in (-2e-3 * resolution, 2e-3 * resolution)
    ]
    assert np.max([grid.values_at(points) for points in hits], axis=0).min() == OCCUPIED
    reach = np.where(hit_mask, ranges, 8.0)
    # Beside the way of a ray cells are occupied, so what has to be free is not narrower than they are.
    share = [(grid.values_at((part * reach)[:, None] * directions) == FREE).mean() for part in (0.25, 0.5, 0.75)]
    assert min(share) > (0.97 if resolution < 0.1 else 0.85)


def test_every_cell_says_whether_something_is_in_it(sim: Sim) -> None:
    fixture(sim, "box", fs.Pose.from_yaw(1.0, 0.5, 0.5, 0.5), half_extents=(0.4, 0.1, 0.5))
    fixture(sim, "cylinder", fs.Pose.from_xyz(-0.5, 0.0, 0.5), radius=0.33)
    grid = occupancy_grid(sim.world, resolution=0.1, margin=0.5)
    fine = occupancy_grid(sim.world, resolution=0.01, margin=0.5)
    area = 4 * 0.4 * 0.1 + math.pi * 0.33**2
    assert (fine.cells == OCCUPIED).sum() * 1e-4 == pytest.approx(area, rel=0.08)
    # A coarse cell is occupied exactly when one of the fine cells inside it is.
    lines, columns = np.nonzero(fine.cells == OCCUPIED)
    points = np.stack((columns, lines), axis=1) * 0.01 + fine.origin + 0.005
    expected = np.full(grid.cells.shape, FREE, np.int8)
    places = np.floor((points - grid.origin) / 0.1).astype(int)
    expected[places[:, 1], places[:, 0]] = OCCUPIED
    assert (grid.cells != expected).sum() <= 4


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
