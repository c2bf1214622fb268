"""PyBullet sees the joints of the columns, as late as it sees poses, and its motors move those of heavy robots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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


# ---- going back ------------------------------------------------------------------------------------------------------


# ---- Robots that the user made with PyBullet have their joints when they are adopted as agents -----------------------


Sim = fs.MultiRobotSimulationCore
MakeSim_adopted_robots = Callable[..., Sim]


def crane(sim: Sim, base_mass: float = 0.0) -> int:
    """Return a body of a base, an arm that turns about z and a hook that slides along x."""
    bullet = sim.bullet
    box = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[0.2, 0.2, 0.1])
    rod = bullet.createCollisionShape(bullet.GEOM_CYLINDER, radius=0.05, height=1.0)
    mesh = bullet.createCollisionShape(
        bullet.GEOM_MESH, vertices=[[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.3]], indices=[0, 1, 2, 0, 2, 3]
    )
    turned = [0.0, 0.70710678, 0.0, 0.70710678]
    return int(
        bullet.createMultiBody(
            base_mass,
            box,
            basePosition=[0, 0, 0.1],
            linkMasses=[1, 0.5],
            linkCollisionShapeIndices=[rod, mesh],
            linkVisualShapeIndices=[-1, -1],
            linkPositions=[[0, 0, 0.5], [0, 0, 0.6]],
            linkOrientations=[turned, [0, 0, 0, 1]],
            linkInertialFramePositions=[[0, 0, 0.2], [0, 0, 0]],
            linkInertialFrameOrientations=[[0, 0, 0, 1]] * 2,
            linkParentIndices=[0, 1],
            linkJointTypes=[bullet.JOINT_REVOLUTE, bullet.JOINT_PRISMATIC],
            linkJointAxis=[[1, 0, 0], [0, 0, 1]],
        )
    )


def test_a_body_made_by_hand_has_its_joints(make_sim: MakeSim_adopted_robots) -> None:
    sim = make_sim()
    agent = fs.Agent(crane(sim), sim, name="crane")
    assert agent.get_num_joints() == 2
    assert agent.joint_names == ("joint1", "joint2")
    agent.set_joint_target_by_name("joint1", 0.8)
    sim.run_simulation(3.0)
    assert agent.get_joint_state_by_name("joint1")[0] == pytest.approx(0.8)
    assert agent.are_all_joints_at_targets()
    assert sim.bullet.getJointState(agent.body_id, 0)[0] == pytest.approx(0.8)
    state = sim.bullet.getLinkState(agent.body_id, 1, computeForwardKinematics=1)
    position, _ = sim.world.link_poses(np.array([agent.row]), np.array([1]))
    np.testing.assert_allclose(position[0], state[4], atol=1e-6)


def test_a_loaded_robot_keeps_names_limits_and_positions(make_sim: MakeSim_adopted_robots) -> None:
    sim = make_sim()
    path = fs.resolve_urdf("panda")
    body = sim.bullet.loadURDF(path, useFixedBase=True)
    sim.bullet.resetJointState(body, 0, 0.3)
    agent = fs.Agent(body, sim)
    model = sim.world.model_of(agent.row)
    described = fs.load_robot_model(path)
    assert model is not None
    assert model.joint_names == described.joint_names and model.link_names == described.link_names
    np.testing.assert_allclose(model.upper[described.limited_mask], described.upper[described.limited_mask])
    assert agent.get_joint_state(0)[0] == pytest.approx(0.3)
    agent.set_joint_target(0, 99.0)
    sim.run_simulation(5.0)
    assert agent.get_joint_state(0)[0] == pytest.approx(described.upper[0])


def test_its_shapes_are_where_pybullet_has_them(make_sim: MakeSim_adopted_robots) -> None:
    """Links of simple shapes as they are, others as boxes, also after joints moved."""
    sim = make_sim()
    agent = fs.Agent(crane(sim), sim)
    for target in (0.0, 0.6):
        agent.set_joint_target_by_name("joint1", target)
        sim.run_simulation(3.0)
        boxes = [sim.bullet.getAABB(agent.body_id, link) for link in range(-1, 2)]
        lower, upper = sim.get_aabbs()[agent.object_id]
        np.testing.assert_allclose(lower, np.min([box[0] for box in boxes], axis=0), atol=0.05)
        np.testing.assert_allclose(upper, np.max([box[1] for box in boxes], axis=0), atol=0.05)


def test_with_physics_motors_move_the_joints(make_sim: MakeSim_adopted_robots) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    agent = fs.Agent(crane(sim, base_mass=50.0), sim)
    agent.set_joint_target_by_name("joint1", 0.5)
    sim.run_simulation(3.0)
    assert agent.get_joint_state_by_name("joint1")[0] == pytest.approx(0.5, abs=0.05)
    assert sim.bullet.getJointState(agent.body_id, 0)[0] == agent.get_joint_state_by_name("joint1")[0]


def test_rebuilding_the_engine_does_not_lose_adopted_bodies(make_sim: MakeSim_adopted_robots) -> None:
    sim = make_sim()
    agent: Any = fs.Agent(crane(sim), sim, name="crane")
    with pytest.raises(fs.StateError, match="crane stand for PyBullet bodies made by you"):
        sim.rebuild_engine()
    sim.remove_object(agent)
    sim.rebuild_engine()


@pytest.mark.parametrize("made_by", ["hand", "loadURDF"])
def test_cameras_see_it_where_pybullet_shows_it(
    make_sim: MakeSim_adopted_robots, made_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    sim = make_sim()
    bullet = sim.bullet
    if made_by == "hand":
        box = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=[0.2, 0.3, 0.1], rgbaColor=[1, 0, 0, 1])
        rod = bullet.createVisualShape(bullet.GEOM_CYLINDER, radius=0.1, length=1.0, rgbaColor=[0, 0, 1, 1])
        body = bullet.createMultiBody(
            0.0,
            -1,
            box,
            basePosition=[2, 0, 0.3],
            linkMasses=[1],
            linkCollisionShapeIndices=[-1],
            linkVisualShapeIndices=[rod],
            linkPositions=[[0, 0, 0.5]],
            linkOrientations=[[0, 0, 0, 1]],
            linkInertialFramePositions=[[0.1, 0.2, 0.2]],
            linkInertialFrameOrientations=[[0, 0, 0, 1]],
            linkParentIndices=[0],
            linkJointTypes=[bullet.JOINT_REVOLUTE],
            linkJointAxis=[[1, 0, 0]],
        )
    else:
        body = bullet.loadURDF(fs.resolve_urdf("arm6"), [1.5, 0, 0], useFixedBase=True)
    agent = fs.Agent(body, sim)
    assert "form is not known" not in caplog.text
    agent.set_joint_target_by_name(agent.joint_names[0 if made_by == "hand" else 1], 0.7)
    sim.run_simulation(3.0)
    seen = [
        sim.add_sensor(
            "camera", renderer=renderer, pose=[0, 0, 0.6], channels=["links"], width=160, height=120, name=renderer
        )
        .read()
        .links
        for renderer in ("auto", "tiny")
    ]
    assert (seen[0] >= 0).sum() > 100
    assert (seen[0] != seen[1]).mean() < 0.02, "only along edges"


@pytest.mark.parametrize("base_mass", [0.0, 3.0])
def test_a_robot_that_was_removed_lives_again_in_its_body(make_sim: MakeSim_adopted_robots, base_mass: float) -> None:
    sim = make_sim(physics=base_mass > 0.0)
    agent = fs.Agent(crane(sim, base_mass), sim)
    body, count = agent.body_id, sim.bullet.getNumBodies()
    agent.set_joint_target(0, 0.5)
    sim.step_once()
    saved, pose, joints = sim.save_state(), agent.get_pose(), agent.joint_positions
    sim.remove_object(agent)
    # It stays in PyBullet, where the user may move it.
    sim.bullet.resetBasePositionAndOrientation(body, [5, 5, 5], [0, 0, 0, 1])
    sim.restore_state(saved)
    (again,) = sim.agents
    assert again.body_id == body and sim.bullet.getNumBodies() == count
    assert again.get_pose() == pose
    place = sim.bullet.getLinkState(body, 0, computeForwardKinematics=1)[4]
    np.testing.assert_allclose(place, again.get_link_pose(0).position, atol=1e-6)
    np.testing.assert_array_equal(again.joint_positions, joints)
    again.set_joint_target(0, 1.0)
    for _ in range(20):
        sim.step_once()
    assert again.joint_positions[0] == pytest.approx(1.0, abs=0.05)


def test_an_object_whose_body_is_gone_for_good_gets_one_of_its_own(make_sim: MakeSim_adopted_robots) -> None:
    sim = make_sim()
    ball = sim.bullet.createMultiBody(0.0, sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.2))
    thing = sim.register_static_body(ball, "ball")
    saved = sim.save_state()
    sim.remove_object(thing)
    sim.bullet.removeBody(ball)
    other = sim.bullet.createMultiBody(0.0, sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=2.0))
    assert other == ball
    sim.restore_state(saved)
    (again,) = sim.sim_objects
    assert again.body_id != other
    assert sim.bullet.getCollisionShapeData(again.body_id, -1)[0][3][0] == pytest.approx(0.2)
