"""Pictures of scans: the right way up, and in the right colors."""

from __future__ import annotations

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import draw_scans

Sim = fs.MultiRobotSimulationCore


def test_what_is_seen_is_tinted_up_to_where_the_rays_end(sim: Sim) -> None:
    wall = fs.ShapeParams("box", half_extents=(0.25, 2.0, 0.5))
    sim.spawn(fs.SimObjectSpawnParams(None, wall, fs.Pose.from_xyz(3.25, 2.0, 0.5), collision_mode="static"))
    # A robot that turns its lidar to the upper half of the picture.
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.3, np.pi / 2], angle_min=-np.pi / 2, angle_max=np.pi / 2, range_max=4)
    grid = fs.occupancy_grid(sim.world, z=0.3, bounds=(-5, -5, 5, 5), resolution=0.1)
    picture = draw_scans(grid, [lidar], width=200)
    assert (picture.shape, picture.dtype) == ((200, 200, 3), np.uint8)

    def color(x: float, y: float) -> list[int]:
        return [int(part) for part in picture[round((5 - y) * 20), round((x + 5) * 20)]]

    free, seen, hidden, wall_color = color(0, -2), color(0, 2), color(4.5, 2.0), color(3.3, 3.9)
    assert free == hidden
    assert seen[0] < free[0]
    assert seen[2] > seen[0]
    assert max(wall_color) < 100
    assert color(0.0, 4.5) == free
    # The end of a ray is on the wall.
    assert color(3.0, 1.0)[2] > 150
    assert color(3.0, 1.0)[0] < 120


def test_a_lidar_that_was_read_is_drawn_as_it_was(sim: Sim) -> None:
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.3])
    grid = fs.occupancy_grid(sim.world)
    first = draw_scans(grid, [lidar], width=64)
    ball = fs.ShapeParams("sphere", radius=0.5)
    sim.spawn(fs.SimObjectSpawnParams(None, ball, fs.Pose.from_xyz(2.0, 0.0, 0.3)))
    assert (draw_scans(grid, [lidar], width=64) == first).all()
    lidar.read()
    assert (draw_scans(grid, [lidar], width=64) != first).any()


def test_other_sensors_are_refused(sim: Sim) -> None:
    with pytest.raises(fs.InvalidValueError, match="scans are drawn of planar lidars"):
        draw_scans(fs.occupancy_grid(sim.world), [sim.add_sensor("imu")])
