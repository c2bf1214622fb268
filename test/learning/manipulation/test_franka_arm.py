"""FrankaArm: positions, velocities and steps of the gripper, within limits and within the bin."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim import MultiRobotSimulationCore, SimulationParams
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.envs import Franka2Env
from fleet_sim.learning.manipulation import BinScene, FrankaArm
from fleet_sim.learning.manipulation.config import REST


def test_a_reset_puts_every_joint_at_its_default(arm: FrankaArm) -> None:
    arm.apply_action_delta([0.0, 0.0, -0.02, 0.1, -1.0])
    arm.reset()
    state = arm.get_position_velocity_state()
    assert state.shape == (18,)
    assert state[:9] == pytest.approx([*REST[:7], *REST[9:11]], abs=1e-9)
    assert not state[9:].any()
    assert arm.gripper_is_open


def test_positions_are_reached_and_cut_to_the_limits(arm: FrankaArm) -> None:
    target = arm.agent.joint_positions + [0.1, -0.1, 0.05, 0.1, 0.0, 0.1, -0.2, 0.01, 0.01]
    arm.apply_action(arm.sim.bullet.POSITION_CONTROL, target.tolist())
    assert np.abs(arm.agent.joint_positions[:7] - target[:7]).max() <= arm.acceptable_proximity_to_target
    arm.apply_action_pos([9.0, *target[1:].tolist()])
    low, high = arm.agent.get_joint_limits(0)
    assert low <= arm.agent.joint_positions[0] <= high + 1e-3


def test_velocities_hold_for_one_step(arm: FrankaArm) -> None:
    before, steps = arm.agent.joint_positions.copy(), arm.sim.step_count
    arm.apply_action(arm.sim.bullet.VELOCITY_CONTROL, [0.5, *[0.0] * 8])
    assert arm.sim.step_count == steps + 1
    moved = arm.agent.joint_positions - before
    assert 0.0 < moved[0] <= 0.5 * arm.sim.clock.dt + 1e-6
    with pytest.raises(InvalidValueError, match="control_mode"):
        arm.apply_action(99, [0.0] * 9)


def test_steps_of_the_gripper_are_straight_and_stay_in_the_bin(arm: FrankaArm, scene: BinScene) -> None:
    position, angles = arm.get_gripper_state()
    arm.apply_action_delta([0.01, 0.015, -0.02, 0.2, 1.0])
    after, turned = arm.get_gripper_state()
    assert after - position == pytest.approx([0.01, 0.015, -0.02], abs=5e-4)
    assert turned[2] - angles[2] == pytest.approx(0.2, abs=0.002)
    assert scene.pick_bin is not None
    low = scene.pick_bin.pose.x - 0.5 * scene.pick_bin.dimensions[0]
    for _ in range(8):
        arm.apply_action_delta([-0.05, 0.0, 0.0, 0.0, 1.0])
    assert arm.get_gripper_state()[0][0] > low
    # With the line of its fingers along y it gets nearest to the walls across x.
    assert arm.workspace is not None
    assert (
        arm.clip_to_workspace([0.0, -9.0, -1.0], 0.0)[[0, 2]].tolist() == [limits[0] for limits in arm.workspace][::2]
    )
    assert arm.clip_to_workspace([0.0, -9.0, -1.0], np.pi / 2)[1] == pytest.approx(arm.workspace[1][0])


@pytest.mark.parametrize("size", [0.016, 0.005, 0.002])
def test_a_small_step_of_the_gripper_is_made_too(arm: FrankaArm, size: float) -> None:
    for axis in range(3):
        step = [0.0] * 5
        step[axis], step[4] = size, 1.0
        position, _ = arm.get_gripper_state()
        begin = arm.sim.step_count
        arm.apply_action_delta(step)
        assert arm.get_gripper_state()[0] - position == pytest.approx(step[:3], abs=6e-4)
        assert begin < arm.sim.step_count < begin + 20


def test_time_goes_on_with_every_action(arm: FrankaArm) -> None:
    begin = arm.sim.step_count
    arm.apply_action_delta([0.0] * 4 + [1.0])
    assert arm.sim.step_count == begin + 2


@pytest.fixture(params=["bullet", "mujoco"])
def other_env(request: pytest.FixtureRequest) -> Iterator[Franka2Env]:
    """An environment with an empty bin, on each engine."""
    if find_spec({"bullet": "pybullet"}.get(request.param, request.param)) is None:
        pytest.skip(f"{request.param} is not installed")
    env = Franka2Env(small_bin(objects=(1, 1)), engine=request.param)
    env.reset(seed=0)
    scene = env.loaded_scene()
    assert scene.pick_bin is not None
    env.remove_single_object_from_bin(scene.pick_bin.objects[0])
    yield env
    env.close()


def test_small_steps_add_up(other_env: Franka2Env) -> None:
    arm = other_env.arm()
    arm.apply_action_delta([0.0, 0.0, 0.03, 0.0, 1.0])
    for size in (0.0002, 0.0005, 0.001):
        for axis, sign in ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1)):
            begin, wanted = arm.get_gripper_state()[0], np.zeros(3)
            wanted[axis] = sign * size
            for _ in range(20):
                arm.apply_action_delta([*wanted, 0.0, 1.0])
            # Twenty steps come within 2 % of twenty times one.
            assert arm.get_gripper_state()[0] - begin == pytest.approx(20 * wanted, abs=0.02 * 20 * size)


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_open_gripper_touches_no_wall_at_the_edge_of_its_workspace(other_env: Franka2Env, count: int) -> None:
    env, arm = other_env, other_env.arm()
    scene, random = env.loaded_scene(), np.random.default_rng(1)
    assert scene.pick_bin is not None
    x, y, _ = scene.pick_bin.pose.position
    for number in range(count):
        along, yaw = random.uniform(-0.2, 0.2), random.uniform(-np.pi / 2, np.pi / 2)
        east, north = [(1.0, along), (-1.0, along), (along, 1.0), (along, -1.0)][number % 4]
        place = arm.clip_to_workspace([x + east, y + north, -1.0], yaw)
        down = quaternions.from_eulers(np.array([[np.pi, 0.0, yaw]]))[0]
        joints = arm.get_joint_poses_ik(place.tolist(), down.tolist(), True)
        joints[7:] = arm.open_position
        arm.agent.set_joint_positions(joints)
        arm.sim.step_once()
        assert arm.get_gripper_state()[0] == pytest.approx(place, abs=1e-3)
        assert not env.check_for_collision_with_bin(arm.arm_id), (place - (x, y, 0.0), yaw)
    # It is at the edge: a finger's breadth farther out it would touch.
    nearest = min(0.08 - abs(place[0] - x), 0.08 - abs(place[1] - y))
    assert 0.015 < nearest < 0.052
    # Moves from pose to pose keep off, too.
    env.reset(seed=1)
    for _ in range(count // 3):
        action = random.uniform(-1.0, 1.0, 5) * (0.016, 0.016, 0.0, 0.25, 0.0) + (0.0, 0.0, -0.016, 0.0, 1.0)
        assert not env.step(action)[4]["collision_with_bin"]


def test_the_gripper_closes_on_nothing_and_opens_again(arm: FrankaArm) -> None:
    arm.close_gripper()
    assert arm.agent.joint_positions[7:] == pytest.approx([0.0, 0.0], abs=1e-3)
    assert not arm.gripper_is_open
    arm.open_gripper()
    assert arm.agent.joint_positions[7:] == pytest.approx([arm.open_position] * 2, abs=1e-3)
    assert arm.check_target_position_bounds(-1.0, 1.0) == (0.0, pytest.approx(0.04))


def test_a_turn_of_the_gripper_leaves_it_where_it_is(arm: FrankaArm) -> None:
    position, angles = arm.get_gripper_state()
    arm.apply_action_delta([0.0, 0.0, 0.0, 0.25, 1.0])
    after, turned = arm.get_gripper_state()
    assert turned[2] - angles[2] == pytest.approx(0.25, abs=2e-3)
    assert after == pytest.approx(position, abs=5e-4)


@pytest.mark.parametrize("null_space", [False, True])
def test_inverse_kinematics_brings_the_hand_there(arm: FrankaArm, null_space: bool) -> None:
    target, down = [0.5, 0.05, 0.25], [1.0, 0.0, 0.0, 0.0]
    joints = arm.get_joint_poses_ik(target, down, null_space)
    assert joints.shape == (9,)
    assert joints[7:].tolist() == arm.agent.joint_positions[7:].tolist()
    arm.apply_action_pos(joints.tolist())
    assert arm.get_gripper_state()[0] == pytest.approx(target, abs=1e-3)


def test_with_the_null_space_the_arm_does_not_drift(arm: FrankaArm) -> None:
    target, down = [0.5, 0.05, 0.25], [1.0, 0.0, 0.0, 0.0]
    expected = arm.get_joint_poses_ik(target, down, True)
    # The elbow is turned aside.
    arm.apply_action_pos((arm.agent.joint_positions + [0.5, 0.0, -0.5, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0]).tolist())
    assert arm.get_joint_poses_ik(target, down, True)[:7] == pytest.approx(expected[:7], abs=2e-3)
    assert np.abs(arm.get_joint_poses_ik(target, down, False)[:7] - expected[:7]).max() > 0.05
    arm.rest_poses[2] = 0.4
    assert arm.get_joint_poses_ik(target, down, True)[2] > expected[2] + 0.1
    arm.null_space_limits()
    assert arm.rest_poses[2] == 0.0


def test_a_workspace_ends_above_the_floor_of_the_bin(arm: FrankaArm, scene: BinScene) -> None:
    made = scene.pick_bin
    assert made is not None
    for thing in list(made.objects):
        scene.remove_single_object_from_bin(thing)
    for _ in range(12):
        arm.apply_action_delta([0.5 - arm.get_gripper_state()[0][0], 0.0, -0.05, 0.0, 1.0])
    touching = scene.sim.bullet.getContactPoints(arm.arm_id, made.bin_id)
    assert all(point[9] == 0.0 for point in touching)
    assert arm.get_gripper_state()[0][2] < 0.014
    # The fingers still close; pressed on the floor they would not.
    arm.close_gripper()
    assert arm.agent.joint_positions[7:] == pytest.approx([0.0, 0.0], abs=1e-3)


def test_limits_are_those_of_the_model(arm: FrankaArm) -> None:
    assert arm.moveable_joints == [0, 1, 2, 3, 4, 5, 6, 9, 10]
    assert arm.max_velocities == pytest.approx([2.175] * 4 + [2.61] * 3 + [0.2] * 2)
    assert arm.upper_limits[3] - arm.lower_limits[3] == pytest.approx(arm.joint_ranges[3])
    with pytest.raises(AttributeError):
        arm.lower_limits = [0.0] * 9  # type: ignore[misc]


def test_forces_in_the_fingers_are_told_where_they_are_measured(arm: FrankaArm) -> None:
    assert arm.close_gripper() == {"end_effector_a": [], "end_effector_b": []}
    arm.enable_joint_force_torque_sensor_on_end_effectors()
    forces = arm.open_gripper()
    assert len(forces["end_effector_a"]) == len(forces["end_effector_b"]) > 0
    arm.reads_forces = False


def test_forces_are_measured_from_the_first_reset_on() -> None:
    arms = {"arm-1": {"get-end-effector-force-sensor-readings": True}}
    scene = BinScene(config=small_bin(objects=(2, 2), arms=arms))
    for seed in range(2):
        scene.reset(rng=np.random.default_rng(seed))
        forces = scene.arms[0].close_gripper()
        assert any(force != 0.0 for finger in forces.values() for force in finger)
    scene.sim.close()


def test_a_thing_that_is_gripped_stays_in_the_hand_when_shaken(arm: FrankaArm, scene: BinScene) -> None:
    assert scene.pick_bin is not None
    thing = scene.pick_bin.objects[0]
    for other in scene.pick_bin.objects[1:]:
        scene.remove_single_object_from_bin(other)
    middle = scene.pick_bin.pose
    assert not arm.check_grab(thing)
    thing.set_pose(type(middle)((middle.x, middle.y, 0.02)))
    place = [middle.x, middle.y, 0.02]
    for height in (0.1, 0.012):
        down = arm.get_joint_poses_ik([place[0], place[1], place[2] + height - 0.012], [1.0, 0.0, 0.0, 0.0], True)
        down[7:] = 0.02
        arm.apply_action_pos(down.tolist())
    arm.close_gripper()
    assert arm.check_grab(thing)
    assert arm.check_grab(thing.object_id)
    arm.clips_to_workspace = False
    arm.apply_action_delta([0.0, 0.0, 0.08, 0.0, -1.0])
    arm.shake()
    assert arm.check_grab(thing)
    assert thing.get_pose().z > 0.06
    arm.clips_to_workspace = True


def test_it_needs_physics() -> None:
    with (
        MultiRobotSimulationCore(SimulationParams(gui=False)) as sim,
        pytest.raises(InvalidValueError, match="physics"),
    ):
        FrankaArm([0, 0, 0], [0, 0, 0, 1], sim, REST)


def test_a_client_is_a_simulation_or_its_bullet() -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, physics=True)) as sim:
        arm = FrankaArm([0, 0, 0], [0, 0, 0, 1], sim.bullet, REST)
        assert arm.sim is sim
        assert arm.bc is sim.bullet
        assert sim.bullet.getNumJoints(arm.arm_id) == 12
        with pytest.raises(sim.bullet.error):
            sim.bullet.getBasePositionAndOrientation(99)
        for wrong in (sim.client, object(), None):
            with pytest.raises(InvalidValueError, match="bullet_client: expected a simulation"):
                FrankaArm([0, 0, 0], [0, 0, 0, 1], wrong, REST)  # type: ignore[arg-type]


def test_a_gripper_stays_where_it_was_told_to_close_while_the_arm_moves(arm: FrankaArm) -> None:
    arm.closed_position = 0.005
    arm.close_gripper()
    assert arm.agent.joint_positions[7:] == pytest.approx([0.005, 0.005], abs=0.001)
    arm.apply_action_delta([0.0, 0.0, 0.02, 0.0, -1.0])
    assert arm.agent.joint_positions[7:] == pytest.approx([0.005, 0.005], abs=0.001)
    arm.open_gripper()
    assert arm.agent.joint_positions[7:] == pytest.approx([arm.open_position] * 2, abs=0.001)
    arm.closed_position = 0.0
