"""A format of meshes is one reader and one entry: then robots, boxes, cameras and lidars know it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.models import load_robot_model
from fleet_sim.models.meshes.formats import FORMATS
from fleet_sim.models.meshes.mesh import Mesh, MeshFormat, Part

BOX = """1 -1 -1  -1 1 -1  -1 -1 1  1 1 1  -1 -1 -1  1 1 -1  1 -1 1  -1 1 1
0 4 5  4 1 5  2 6 3  2 3 7  4 0 6  4 6 2  1 7 3  1 3 5  0 5 3  0 3 6  4 2 7  4 7 1
"""
ROBOT = """<robot name="thing"><link name="base">
<visual><geometry><mesh filename="thing.corners" scale="0.5 0.3 0.2"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material></visual>
<collision><geometry><mesh filename="thing.corners" scale="0.5 0.3 0.2"/></geometry></collision></link></robot>"""


def read_corners(data: bytes, _file: Path) -> Mesh:
    """Read a file of two lines: coordinates of points, and indices of the corners of triangles."""
    points, triangles = data.splitlines()
    positions = np.array(points.split(), np.float64).reshape(-1, 3)
    return Mesh((Part(positions, np.array(triangles.split(), np.int64).reshape(-1, 3)),))


@pytest.fixture(autouse=True)
def format_of_two_lines() -> Iterator[None]:
    FORMATS.register(".corners", MeshFormat(read_corners))
    yield
    FORMATS.unregister(".corners")


@pytest.fixture
def robot(tmp_path: Path) -> str:
    (tmp_path / "thing.corners").write_text(BOX)
    file = tmp_path / "robot.urdf"
    file.write_text(ROBOT)
    return str(file)


def test_a_robot_with_it_is_accepted_and_has_a_box(sim: fs.MultiRobotSimulationCore, robot: str) -> None:
    agent = sim.spawn(fs.AgentSpawnParams(urdf_path=robot, initial_pose=fs.Pose((2.0, 0.0, 0.0))))
    sim.step_once()
    assert sim.world.aabb_lower[agent.row] == pytest.approx([1.5, -0.3, -0.2])
    assert sim.world.aabb_upper[agent.row] == pytest.approx([2.5, 0.3, 0.2])


def test_a_lidar_sees_it(sim: fs.MultiRobotSimulationCore, robot: str) -> None:
    sim.spawn(fs.AgentSpawnParams(urdf_path=robot, initial_pose=fs.Pose((2.0, 0.0, 0.0))))
    lidar = sim.add_sensor("lidar", name="lidar", pose=[0.0, 0.0, 0.0], rays=4)
    sim.step_once()
    (reading,) = sim.sensors.read([lidar])
    ahead = int(np.abs(lidar.params.angles).argmin())
    assert reading.ranges[ahead] == pytest.approx(1.5, abs=1e-3)
    assert math.isinf(np.delete(reading.ranges, ahead).min())


@pytest.mark.usefixtures("opengl")
def test_a_camera_draws_it(sim: fs.MultiRobotSimulationCore, robot: str) -> None:
    agent = sim.spawn(fs.AgentSpawnParams(urdf_path=robot, initial_pose=fs.Pose((2.0, 0.0, 0.0))))
    camera = sim.add_sensor("camera", name="camera", pose=[0.0, 0.0, 0.0], renderer="opengl", channels=["ids"])
    sim.step_once()
    (picture,) = sim.sensors.read([camera])
    assert (picture.ids == agent.object_id).any()


def test_limits_count_for_it(sim: fs.MultiRobotSimulationCore, robot: str, tmp_path: Path) -> None:
    limits = fs.MeshLimits(max_triangles=11)
    with pytest.raises(fs.InvalidValueError, match=r"thing.corners' has 12 triangles, 11 are allowed"):
        load_robot_model(robot, limits=limits)
    (tmp_path / "thing.corners").write_text("1 2 three\n0 0 0\n")
    with pytest.raises(fs.InvalidValueError, match=r"thing.corners' is no readable .corners file: .*three"):
        fs.Agent.from_urdf(robot, sim_core=sim)


def test_endings_are_checked() -> None:
    with pytest.raises(fs.DuplicateNameError, match=r"mesh format '.obj' exists already"):
        FORMATS.register(".obj", MeshFormat(read_corners))
    for ending in ("ply", ".PLY"):
        with pytest.raises(fs.InvalidValueError, match=f"lower case, as '.ply'; got '{ending}'"):
            FORMATS.register(ending, MeshFormat(read_corners))
