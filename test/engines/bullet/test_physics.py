"""Dynamic rows fall, are pushed and carried; the columns know."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bullet_scene import Scene

import fleet_sim as fs
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import data_path
from fleet_sim.engines.bullet.engine import BulletPhysics
from fleet_sim.world.shapes import BodyShape, Geometry

DT = 0.1
CUBE = Geometry(ShapeKind.BOX, half_extents=(0.1, 0.1, 0.1))
CUBE_SHAPE = BodyShape(CUBE, CUBE)


@pytest.fixture(params=["step", "demand"])
def world(request: pytest.FixtureRequest, make_scene: Callable[..., Scene]) -> tuple[Scene, BulletPhysics]:
    """Return a world with a floor and physics, in either policy."""
    scene = make_scene(request.param, floor=True)
    return scene, BulletPhysics(scene.mirror)


def _run(scene: Scene, physics: BulletPhysics, steps: int, drive: Callable[[], None] = lambda: None) -> None:
    for _ in range(steps):
        scene.step(drive)
        physics.step(DT)


def _boxes(scene: Scene, positions: Any, **columns: Any) -> Any:
    return scene.spawn(positions, CUBE_SHAPE, mass=1.0, dynamic=True, **columns)


def test_a_world_without_dynamic_rows_never_reaches_pybullet(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    physics = BulletPhysics(scene.mirror)
    scene.spawn([0.0, 0.0, 0.0])
    _run(scene, physics, 3)
    assert not scene.client.connected


def _drive(scene: Scene, robot: Any, way: float) -> None:
    scene.put(robot, scene.world.position[robot] + [way, 0.0, 0.0])


def test_a_driving_robot_carries_what_stands_on_it(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    robot = scene.spawn([0.0, 0.0, 0.11])
    box = _boxes(scene, [0.0, 0.0, 0.311])

    _run(scene, physics, 3)
    _run(scene, physics, 50, partial(_drive, scene, robot, 0.02))
    np.testing.assert_allclose(scene.world.position[box[0]], [1.0, 0.0, 0.31], atol=0.1)
    assert physics.contact_pairs().tolist() == [sorted([int(robot[0]), int(box[0])])]


def test_a_robot_put_elsewhere_sweeps_nothing_aside(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    robot = scene.spawn([-5.0, 0.0, 0.11])
    box = _boxes(scene, [0.0, 0.0, 0.1])
    _run(scene, physics, 3)
    _run(scene, physics, 1, lambda: scene.put(robot, [5.0, 0.0, 0.11]))
    _run(scene, physics, 3)
    np.testing.assert_allclose(scene.world.position[box[0], :2], 0.0, atol=0.01)


@pytest.mark.parametrize("inside", [True, False])
def test_a_dynamic_box_put_elsewhere_starts_from_there(world: tuple[Scene, BulletPhysics], inside: bool) -> None:
    scene, physics = world
    box = _boxes(scene, [0.0, 0.0, 5.0])
    _run(scene, physics, 2)

    def put() -> None:
        scene.world.velocity[box] = [1.0, 0.0, 0.0]
        scene.put(box, [3.0, 0.0, 8.0])

    if not inside:
        put()
    _run(scene, physics, 1, put if inside else lambda: None)
    np.testing.assert_allclose(scene.world.position[box[0]], [3.1, 0.0, 8.0 - 0.05], atol=0.02)
    np.testing.assert_allclose(scene.world.velocity[box[0]], [1.0, 0.0, -0.98], atol=0.05)


def test_a_box_taken_up_and_let_go(world: tuple[Scene, BulletPhysics]) -> None:
    """Becoming kinematic stops physics from moving a body; becoming dynamic lets it fall again."""
    scene, physics = world
    box = _boxes(scene, [0.0, 0.0, 1.0])
    _run(scene, physics, 1)
    weight = _boxes(scene, [9.0, 0.0, 0.1])
    scene.world.dynamic[box] = False
    scene.put(box, [0.0, 0.0, 2.0])
    _run(scene, physics, 5)
    assert scene.world.position[box[0]].tolist() == [0.0, 0.0, 2.0]
    scene.world.dynamic[box] = True
    _run(scene, physics, 30)
    assert scene.world.position[box[0], 2] == pytest.approx(0.1, abs=0.01)
    assert scene.world.position[weight[0], 2] == pytest.approx(0.1, abs=0.01)


def test_a_dynamic_model_falls_with_its_base_frame(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    shape = BodyShape(model_path=data_path("franka_panda/panda.urdf"))
    row = scene.spawn([0.0, 0.0, 5.0], shape, mass=1.0, dynamic=True)
    fixed = scene.spawn([3.0, 0.0, 5.0], shape)
    scene.step()
    physics.step(DT)
    assert scene.world.position[row[0], 2] == pytest.approx(5.0 - 0.5 * 9.81 * DT**2, abs=0.02)
    assert scene.world.position[fixed].tolist() == [[3.0, 0.0, 5.0]]


def test_contact_pairs_are_sorted_and_unique(world: tuple[Scene, BulletPhysics]) -> None:
    scene, physics = world
    assert physics.contact_pairs().shape == (0, 2)
    rows = _boxes(scene, [[0.0, 0.0, 0.1], [0.0, 0.0, 0.3], [0.0, 0.0, 0.5], [3.0, 0.0, 0.1]])
    _run(scene, physics, 10)
    expected = [[int(rows[0]), int(rows[1])], [int(rows[1]), int(rows[2])]]
    assert physics.contact_pairs().tolist() == expected
    assert physics.contact_pairs(limit=-1.0).shape == (0, 2)


# ---- dynamics --------------------------------------------------------------------------------------------------------


Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def box(sim: Sim, x: float = 0.0, mass: float = 1.0) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(x, 0.0, 0.1), mass=mass))


def test_what_would_be_undone_is_refused(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(physics=True)
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True, mass=0.0))
    with pytest.raises(fs.StateError, match="use the mass of the entity"):
        sim.bullet.changeDynamics(arm.body_id, 2, mass=4.0)
    sim.bullet.stepSimulation()
    obj = box(sim, 3.0)
    with pytest.raises(fs.StateError, match=r"use sim.step_once\(\)"):
        sim.bullet.stepSimulation()
    assert obj.get_pose().z == 0.1


def test_what_rebuild_engine_cannot_build_is_said(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    sim = make_sim(physics=True)
    obj = box(sim)
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        sim.rebuild_engine()
    assert caplog.text == ""
    bullet = sim.bullet
    bullet.createMultiBody(1.0, bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=0.1), basePosition=[9, 9, 9])
    bullet.createConstraint(obj.body_id, -1, -1, -1, bullet.JOINT_FIXED, [0, 0, 0], [0, 0, 0], [0, 0, 5])
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        sim.rebuild_engine()
    assert "bodies: 1, constraints: 1" in caplog.text


def test_another_time_step_is_refused_where_the_simulation_steps_the_engine(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(physics=True)
    for call in (lambda: sim.bullet.setTimeStep(0.1), lambda: sim.bullet.setPhysicsEngineParameter(fixedTimeStep=0.1)):
        with pytest.raises(fs.StateError, match=r"steps the engine by params\.physics_substep"):
            call()
    sim.bullet.setPhysicsEngineParameter(numSolverIterations=7)
    assert sim.bullet.getPhysicsEngineParameters()["numSolverIterations"] == 7
    alone = make_sim(physics=False)
    alone.bullet.setTimeStep(0.1)
    assert alone.bullet.getPhysicsEngineParameters()["fixedTimeStep"] == 0.1


def test_parameters_of_the_engine_last(make_sim: MakeSim) -> None:
    """Also those that PyBullet does not tell: below the threshold of the restitution, a ball does not bounce."""

    def highest_after_a_bounce(rebuilt: bool) -> float:
        sim = make_sim(physics=True, timestep=1 / 240)
        ball = fs.ShapeParams("sphere", radius=0.1)
        sim.bullet.setPhysicsEngineParameter(numSolverIterations=7, restitutionVelocityThreshold=9.0)
        if rebuilt:
            sim.rebuild_engine()
        falling = sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose.from_xyz(0, 0, 0.3), mass=1.0))
        falling.set_material(restitution=0.9)
        sim.bullet.changeDynamics(0, -1, restitution=0.9)
        heights = [falling.get_pose().z for _ in range(200) if sim.step_once() is None]
        assert sim.bullet.getPhysicsEngineParameters()["numSolverIterations"] == 7
        return max(heights[100:])

    assert highest_after_a_bounce(True) == pytest.approx(highest_after_a_bounce(False))
    sim = make_sim(physics=True)
    with pytest.raises(fs.InvalidValueError, match="give each value with the name of its parameter"):
        make_sim(physics=False).bullet.setPhysicsEngineParameter(0.1, 7)
    with pytest.raises(TypeError):
        sim.bullet.setPhysicsEngineParameter(nonsense=1)
    sim.clear()
    assert sim.bullet.getPhysicsEngineParameters()["numSolverIterations"] == 50


def test_states_of_pybullet_are_refused_for_entities(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = make_sim(physics=True)
    own = sim.bullet.createMultiBody(1.0, sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.1))
    sim.bullet.saveBullet(str(tmp_path / "a.bullet"))
    sim.bullet.resetBasePositionAndOrientation(own, [1, 1, 1], [0, 0, 0, 1])
    sim.bullet.restoreState(fileName=str(tmp_path / "a.bullet"))
    assert sim.bullet.getBasePositionAndOrientation(own)[0] == (0.0, 0.0, 0.0)
    obj = box(sim, 3.0)
    sim.bullet.saveBullet(str(tmp_path / "b.bullet"))
    with pytest.raises(fs.StateError, match=r"would go back in PyBullet alone; use sim\.save_state\(\)"):
        sim.bullet.restoreState(fileName=str(tmp_path / "b.bullet"))
    assert obj.is_alive
