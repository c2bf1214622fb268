"""What users set with changeDynamics lasts; what would go behind the simulation's back is refused or said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def box(sim: Sim, x: float = 0.0, mass: float = 1.0) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(x, 0.0, 0.1), mass=mass))


def test_dynamics_of_an_object_survive_rebuild_engine(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    obj, other = box(sim), box(sim, 3.0)
    sim.bullet.changeDynamics(
        obj.body_id, -1, mass=3.0, lateralFriction=0.9, spinningFriction=0.2, contactStiffness=900, contactDamping=9
    )
    assert obj.mass == 3.0
    before = sim.bullet.getDynamicsInfo(obj.body_id, -1)
    assert before[:2] == (3.0, 0.9) and before[7:10] == (0.2, 9.0, 900.0)
    sim.step_once()
    sim.rebuild_engine()
    after = sim.bullet.getDynamicsInfo(obj.body_id, -1)
    assert (after[:2], after[7:10]) == (before[:2], before[7:10])
    assert after[2] == pytest.approx(before[2])
    assert sim.bullet.getDynamicsInfo(other.body_id, -1)[:2] == (1.0, 0.5)
    sim.remove_object(obj)
    assert sim.bullet.getDynamicsInfo(box(sim, 6.0).body_id, -1)[7] == 0.0, "another entity in its row"


def test_dynamics_of_links_survive_rebuild_engine(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True, mass=None))
    sim.bullet.changeDynamics(arm.body_id, 2, mass=4.0, lateralFriction=0.8)
    before = sim.bullet.getDynamicsInfo(arm.body_id, 2)
    sim.rebuild_engine()
    assert sim.bullet.getDynamicsInfo(arm.body_id, 2)[:2] == before[:2] == (4.0, 0.8)


def test_a_newer_material_wins(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    obj = box(sim)
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True, mass=None))
    for entity, link in ((obj, -1), (arm, 2)):
        sim.bullet.changeDynamics(entity.body_id, link, lateralFriction=0.9)
        entity.set_material(friction=0.3)
        assert sim.bullet.getDynamicsInfo(entity.body_id, link)[1] == 0.3
    sim.rebuild_engine()
    assert sim.bullet.getDynamicsInfo(obj.body_id, -1)[1] == 0.3
    assert sim.bullet.getDynamicsInfo(arm.body_id, 2)[1] == 0.3


def test_a_kinematic_object_that_gets_a_mass_falls_with_its_columns(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    obj = box(sim, mass=0.0)
    obj.set_pose(fs.Pose.from_xyz(0.0, 0.0, 2.0))
    sim.bullet.changeDynamics(obj.body_id, -1, mass=5.0)
    sim.run_simulation(2.0)
    assert obj.mass == 5.0
    assert obj.get_pose().z == pytest.approx(0.1, abs=0.01)
    sim.bullet.changeDynamics(obj.body_id, -1, mass=0.0)
    obj.set_pose(fs.Pose.from_xyz(0.0, 0.0, 2.0))
    sim.run_simulation(1.0)
    assert obj.get_pose().z == sim.bullet.getBasePositionAndOrientation(obj.body_id)[0][2] == 2.0


def test_without_physics_a_mass_is_kept_and_nothing_moves(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj = box(sim, mass=0.0)
    sim.bullet.changeDynamics(obj.body_id, -1, mass=5.0, lateralFriction=0.9)
    assert obj.mass == 5.0
    sim.rebuild_engine()
    assert sim.bullet.getDynamicsInfo(obj.body_id, -1)[1] == 0.9


def test_what_would_be_undone_is_refused(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(physics=True)
    arm = sim.spawn(fs.AgentSpawnParams(urdf_path="arm6", use_fixed_base=True, mass=0.0))
    with pytest.raises(fs.StateError, match="is kinematic, so its links weigh nothing"):
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
