"""What users write to PyBullet themselves: refused where it would be undone, and else it counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from own_bodies import BOX, ball, drive
from things import run

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore

Maker = Callable[..., Sim]


def test_writes_to_kinematic_entities_are_refused_and_say_what_to_call(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    robot, arm = drive(sim), fs.Agent.from_urdf("arm6", fs.Pose((0, 3, 0)), mass=0.0, sim_core=sim)
    bullet, body = sim.bullet, robot.body_id
    for write, instead in (
        (lambda: bullet.resetBasePositionAndOrientation(body, (1, 0, 0), (0, 0, 0, 1)), "set_pose"),
        (lambda: bullet.resetBaseVelocity(objectUniqueId=body, linearVelocity=(1, 0, 0)), "set_velocity"),
        (lambda: bullet.resetJointState(arm.body_id, 1, 0.5), "set_joint_target"),
        (lambda: bullet.setJointMotorControl2(arm.body_id, 1, bullet.POSITION_CONTROL, 0.5), "set_joint_target"),
        (
            lambda: bullet.setJointMotorControlArray(arm.body_id, [1], bullet.POSITION_CONTROL, [0.5]),
            "set_joint_target",
        ),
        (lambda: bullet.resetJointStateMultiDof(arm.body_id, 1, [0.5]), "set_joint_target"),
        (lambda: bullet.resetJointStatesMultiDof(arm.body_id, [1], [[0.5]]), "set_joint_target"),
        (
            lambda: bullet.setJointMotorControlMultiDof(arm.body_id, 1, bullet.POSITION_CONTROL, targetPosition=[0.5]),
            "set_joint_target",
        ),
        (
            lambda: bullet.setJointMotorControlMultiDofArray(
                arm.body_id, [1], bullet.POSITION_CONTROL, targetPositions=[[0.5]]
            ),
            "set_joint_target",
        ),
        (lambda: bullet.applyExternalForce(body, -1, (9, 0, 0), (0, 0, 0), bullet.WORLD_FRAME), "what has a mass"),
        (lambda: bullet.applyExternalTorque(body, -1, (0, 0, 9), bullet.WORLD_FRAME), "what has a mass"),
        (lambda: bullet.removeBody(body), "sim.remove_object"),
    ):
        with pytest.raises(fs.StateError, match=instead):
            write()
    run(sim, 3)
    assert robot.get_pose().x > 0.0


@pytest.mark.parametrize("name", ["setRealTimeSimulation", "setJointMotorControl"])
def test_calls_that_act_beside_the_simulation_name_another(sim: Sim, name: str) -> None:
    assert not hasattr(sim.bullet, name)
    with pytest.raises(AttributeError, match=r"use (sim\.run_simulation|setJointMotorControl2)\(\)"):
        getattr(sim.bullet, name)


def test_writes_to_what_the_engine_moves_and_to_own_bodies_count(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    cube = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0, 0, 3)), mass=1.0))
    body = ball(sim)
    for each in (cube.body_id, body):
        sim.bullet.resetBasePositionAndOrientation(each, (5, each, 3), (0, 0, 0, 1))
    run(sim, 1)
    assert cube.get_pose().x == pytest.approx(5.0)
    with pytest.raises(fs.StateError, match=r"sim\.remove_object"):
        sim.bullet.removeBody(cube.body_id)
    sim.bullet.removeBody(body)
