"""A mesh file that is written again counts as it is now for whatever is spawned from then on."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore

FACES = "124 143 578 586 156 162 348 387 137 175 268 284"


def write_box(file: Path, height: float, moment: int) -> None:
    """Write a box of 1 x 1 m that stands on z = 0; `moment` is the time of the file, in s."""
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, height)]
    lines = [*(f"v {x} {y} {z}" for x, y, z in corners), *(f"f {' '.join(face)}" for face in FACES.split())]
    file.write_text("\n".join(lines) + "\n")
    os.utime(file, (moment, moment))


def new_sim() -> Sim:
    return Sim(fs.SimulationParams(gui=False, monitor=False, physics=True, enable_floor=False))


def heights(sim: Sim, x: float) -> list[float]:
    """Return the height at `x` as PyBullet's rays, those of the columns, and a picture see it."""
    start, end = [x, 0.1, 5.0], [x, 0.1, -5.0]
    columns = sim.queries.ray_cast([start], [end]).points[0, 2]
    view = {"camera_mode": "manual", "camera_pitch": -90.0, "camera_distance": 5.0, "camera_target": (x, 0.1, 0.0)}
    depth = sim.take_picture(9, 9, view).depth
    return [sim.bullet.rayTest(start, end)[0][3][2], float(columns), 5.0 - float(depth[4, 4])]


@pytest.mark.parametrize("concave", [True, False])
def test_a_shape_of_a_mesh_that_changed(tmp_path: Path, concave: bool) -> None:
    file = tmp_path / "box.obj"
    shape = fs.ShapeParams("mesh", mesh_path=str(file), concave=concave)
    sim = new_sim()
    for moment, height in enumerate((0.5, 2.0, 1.0)):
        write_box(file, height, moment)
        x = 3.0 * moment
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, 0, 0)), collision_mode="static", pickable=False))
        assert heights(sim, x) == pytest.approx([height] * 3, abs=2e-3)


def test_the_mesh_of_a_model_that_changed(tmp_path: Path) -> None:
    mesh = '<geometry><mesh filename="box.obj"/></geometry>'
    urdf = f'<robot name="r"><link name="base"><visual>{mesh}</visual><collision>{mesh}</collision></link></robot>'
    (tmp_path / "r.urdf").write_text(urdf)
    sim = new_sim()
    for moment, height in enumerate((0.5, 2.0, 1.0)):
        write_box(tmp_path / "box.obj", height, moment)
        pose = fs.Pose((3.0 * moment, 0, 0))
        robot = fs.Agent.from_urdf(str(tmp_path / "r.urdf"), pose, sim_core=sim)
        assert heights(sim, 3.0 * moment) == pytest.approx([height] * 3, abs=2e-3)
        assert np.asarray(sim.get_aabbs()[robot.object_id][1])[2] == pytest.approx(height)


def test_a_drawn_camera_sees_a_mesh_that_changed(tmp_path: Path) -> None:
    file = tmp_path / "box.obj"
    shape = fs.ShapeParams("mesh", mesh_path=str(file))
    camera = {
        "type": "camera",
        "width": 9,
        "height": 9,
        "pose": {"position": [0, 0, 5], "rpy": [0, np.pi / 2, 0]},
        "near": 0.1,
        "far": 10,
    }
    sim = new_sim()
    robot = sim.spawn(fs.AgentSpawnParams(sensors=[camera], initial_pose=fs.Pose((0, 0, 0))))
    for moment, height in enumerate((0.5, 2.0)):
        write_box(file, height, moment)
        box = sim.spawn(fs.SimObjectSpawnParams(shape, shape, collision_mode="static"))
        sim.step_once()
        assert 5.0 - robot.sensors[0].read().depth[4, 4] == pytest.approx(height, abs=2e-3)
        sim.remove_object(box)
