"""Mesh files of pybullet_data: as large as the engine makes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pybullet_data
import pytest

from fleet_sim import Agent, MultiRobotSimulationCore
from fleet_sim.models.meshes.loading import load_mesh, mesh_extents

pybullet = pytest.importorskip("pybullet")

DATA = Path(pybullet_data.getDataPath())
FILES = sorted(
    str(file.relative_to(DATA))
    for file in DATA.rglob("*")
    # A thousand objects of one program, which differ in nothing but their points; the first of them stand for all.
    if file.suffix.lower() in (".obj", ".stl", ".dae") and ("random_urdfs" not in file.parts or file.name < "003")
)
TURNED_BY_NODES = {"racecar/meshes/hokuyo.dae"}
"""PyBullet takes only the first <rotate> of a node. All of them count in the format, and in RViz and Gazebo."""
MARGIN = 0.004
"""PyBullet's margin around hulls, on both sides, and what it rounds."""
ROBOT = """<robot name="thing"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def engine() -> Iterator[int]:
    client = pybullet.connect(pybullet.DIRECT)
    yield client
    pybullet.disconnect(client)


@pytest.mark.parametrize("name", [name for name in FILES if name not in TURNED_BY_NODES])
def test_boxes_are_the_engines_but_for_its_margin(engine: int, tmp_path: Path, name: str) -> None:
    urdf = tmp_path / "thing.urdf"
    urdf.write_text(ROBOT.format(DATA / name), encoding="utf-8")
    body = pybullet.loadURDF(str(urdf), flags=pybullet.URDF_USE_INERTIA_FROM_FILE, physicsClientId=engine)
    position, orientation = pybullet.getBasePositionAndOrientation(body, physicsClientId=engine)
    assert position == (0.0, 0.0, 0.0) and orientation == (0.0, 0.0, 0.0, 1.0)
    expected = np.array(pybullet.getAABB(body, -1, physicsClientId=engine))
    pybullet.removeBody(body, physicsClientId=engine)
    box = np.array(mesh_extents(str(DATA / name)))
    np.testing.assert_allclose(box, expected, atol=MARGIN + 1e-5 * np.abs(expected).max())
    points = load_mesh(str(DATA / name)).points()
    assert np.array_equal(box, [points.min(axis=0), points.max(axis=0)])


def test_a_robot_with_a_mesh_that_calls_y_up_has_the_engines_box(sim: MultiRobotSimulationCore, tmp_path: Path) -> None:
    wheel = DATA / "racecar" / "meshes" / "left_front_wheel.dae"
    assert b"Y_UP" in wheel.read_bytes()
    file = tmp_path / "wheel.urdf"
    file.write_text(ROBOT.format(wheel), encoding="utf-8")
    robot = Agent.from_urdf(str(file), sim_core=sim)
    lower, upper = (np.array(corner) for corner in sim.bullet.getAABB(robot.body_id, -1))
    np.testing.assert_allclose(sim.world.half_extents[robot.row], 0.5 * (upper - lower), atol=MARGIN)


@pytest.mark.parametrize("name", sorted(TURNED_BY_NODES))
def test_a_file_that_the_engine_reads_otherwise_is_read_as_its_format_says(name: str) -> None:
    lower, upper = mesh_extents(str(DATA / name))
    # Turned by 90 degrees around x: the height in the file is along z, not along y.
    assert upper[2] - lower[2] > 1.3 * (upper[1] - lower[1])
