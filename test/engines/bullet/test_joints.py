"""PyBullet sees the joints of the columns, as late as it sees poses, and its motors move those of heavy robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import PANDA, READY
from small_world import MakeSim

import fleet_sim as fs
from fleet_sim import (
    ActionStatus,
    Agent,
    InvalidValueError,
    JointAction,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
)

CUBE = ShapeParams("box", half_extents=(0.05, 0.05, 0.05))


def spawn(sim: MultiRobotSimulationCore, **settings: object) -> Agent:
    settings = {"mass": 0.0, "use_fixed_base": True, "joint_positions": READY, "name": "arm", **settings}
    agent: Agent = Agent.from_urdf(PANDA, sim_core=sim, **settings)  # type: ignore[arg-type]
    return agent


def engine_joint(sim: MultiRobotSimulationCore, arm: Agent, joint: int = 0) -> float:
    return float(sim.bullet.getJointState(arm.body_id, joint)[0])


@pytest.mark.parametrize("flush", ["demand", "step"])
def test_pybullet_has_the_joints_of_the_columns(make_sim: MakeSim, flush: str) -> None:
    sim = make_sim(pose_flush=flush)
    arm = spawn(sim)
    states = sim.bullet.getJointStates(arm.body_id, arm.robot_model.movable.tolist())
    assert [state[0] for state in states] == READY, "also at the very first"
    arm.set_joint_target(0, 1.0)
    for _ in range(3):
        sim.step_once()
        assert engine_joint(sim, arm) == arm.get_joint_state(0)[0] > 0.0
    arm.set_joint_positions({"panda_joint1": -1.0})
    assert engine_joint(sim, arm) == -1.0, "outside a step at once"


@pytest.mark.parametrize("flush", ["demand", "step"])
def test_in_phase_1_pybullet_has_the_joints_of_the_last_step(make_sim: MakeSim, flush: str) -> None:
    pytest.importorskip("pybullet", reason="pybullet is not installed")
    sim = make_sim(pose_flush=flush)
    arm = spawn(sim)
    arm.set_joint_target(0, 1.0)
    seen: list[tuple[float, float]] = []
    sim.register_callback(lambda core, dt: seen.append((arm.get_joint_state(0)[0], engine_joint(sim, arm))))
    for _ in range(3):
        sim.step_once()
    columns, engine = zip(*seen, strict=True)
    assert columns[0] > 0.0
    assert engine == (0.0, *columns[:-1])
    assert engine_joint(sim, arm) == columns[-1]


def test_nothing_is_loaded_for_joints_alone(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = spawn(sim)
    arm.add_action(JointAction({"panda_joint1": 1.0}))
    for _ in range(10):
        sim.step_once()
    assert sim.world.tables["bullet"].body[arm.row] == -1  # type: ignore[attr-defined]


def test_joints_that_pybullet_reads_otherwise_are_noticed(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = spawn(sim)
    model = sim.world.models[0]
    sim.world.models[0] = replace(model, joint_names=("shoulder", *model.joint_names[1:]))
    with pytest.raises(InvalidValueError, match=r"finds joints.*panda_joint1, .* instead of shoulder, "):
        _ = arm.body_id


# ---- physics ---------------------------------------------------------------------------------------------------------


def test_motors_hold_an_arm_and_bring_it_to_its_targets(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm = spawn(sim, mass=None)
    assert arm.uses_motors
    for _ in range(50):
        sim.step_once()
    assert np.abs(arm.joint_positions - READY).max() < 1e-3
    action = JointAction({"panda_joint1": 1.0, "panda_joint4": -1.5})
    arm.add_action(action)
    speeds = []
    while not action.is_complete():
        sim.step_once()
        speeds.append(arm.get_joint_state(0)[1])
    assert action.status is ActionStatus.COMPLETED
    assert action.get_duration() < 0.6
    assert 2.0 < max(speeds) < 2.2, "within the speed limit of the description, and true"
    assert engine_joint(sim, arm) == arm.get_joint_state(0)[0]
    for _ in range(20):
        sim.step_once()
    assert arm.get_joint_state(0) == (pytest.approx(1.0, abs=1e-3), pytest.approx(0.0, abs=1e-3))


def test_motors_that_are_too_weak_fail_with_the_cause(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm = spawn(sim, mass=None)
    action = JointAction({"panda_joint2": -1.5}, max_force=1.0)
    arm.add_action(action)
    for _ in range(500):
        sim.step_once()
        if action.is_complete():
            break
    assert action.status is ActionStatus.FAILED
    assert "joint 'panda_joint2' stopped" in str(action.error_message)
    assert action.cause == "unreachable"
    assert "max_force 1 is too little" in str(action.error_message)


def test_velocities_and_forces_of_motors(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm = spawn(sim, mass=None)
    arm.set_joint_velocity("panda_joint7", 0.5)
    for _ in range(20):
        sim.step_once()
    assert arm.get_joint_state(6)[1] == pytest.approx(0.5, abs=0.01)
    before = arm.get_joint_state(6)[0]
    arm.set_joints_forces({"panda_joint7": -0.05})
    for _ in range(20):
        sim.step_once()
    assert arm.get_joint_state(6)[1] < 0.4
    arm.stop_joints()
    for _ in range(20):
        sim.step_once()
    assert abs(arm.get_joint_state(6)[1]) < 1e-3
    assert arm.get_joint_state(6)[0] != before


def test_a_kinematic_arm_among_dynamic_bodies_goes_exactly_where_it_should_and_pushes(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02, gravity=(0.0, 0.0, 0.0))
    arm = spawn(sim)
    assert not arm.uses_motors
    hand = sim.bullet.getLinkState(arm.body_id, 11)[4]
    beside = Pose.from_xyz(hand[0], 0.2, hand[2] - 0.02)
    cube = sim.spawn(SimObjectSpawnParams(CUBE, CUBE, beside, mass=0.2, name="cube"))
    arm.set_joint_target(0, 0.6)
    for _ in range(8):
        sim.step_once()
        assert engine_joint(sim, arm) == arm.get_joint_state(0)[0]
    assert arm.get_joint_state(0)[0] == pytest.approx(8 * 0.02 * arm.robot_model.max_velocities[0])
    assert cube.velocity[1] > 0.5, "the hand has hit it"
    for _ in range(20):
        sim.step_once()
    assert arm.joint_positions.tolist() == [0.6, *READY[1:]], "the hit has done nothing to the arm"


def test_a_mass_given_is_that_of_the_whole_robot(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    arm = spawn(sim, mass=5.0, use_fixed_base=False)
    links = range(-1, arm.get_num_joints())
    assert sum(sim.bullet.getDynamicsInfo(arm.body_id, link)[0] for link in links) == pytest.approx(5.0)


def test_a_robot_of_ones_own_body_is_refused(make_sim: MakeSim) -> None:
    sim = make_sim()
    body = sim.bullet.loadURDF(fs.resolve_urdf("panda"), useFixedBase=True)
    with pytest.raises(fs.InvalidValueError, match="Spawn an Agent from a description"):
        fs.Agent(body, sim)
    assert not sim.agents
