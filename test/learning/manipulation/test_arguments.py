"""No argument of bin picking is accepted and then ignored: each one, changed, changes something, or is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.spatial import quaternions
from fleet_sim.learning.manipulation import BaseBin, BinScene, Camera, FrankaArm, PickBin
from fleet_sim.learning.manipulation.config import REST, load_bin_picking
from fleet_sim.learning.manipulation.scenes import look_at, picking_params

BENT = [0.1, *REST[1:]]
HERE = {"arm_base_position": [0, 0, 0], "arm_base_orientation": [0, 0, 0, 1], "default_joint_positions": REST}
ROOM = {"workspace_origin": [0.5, 0, 0], "workspace_dimensions": [0.16, 0.16, 0.04]}
NEAR = [0.5, 0.0, 0.3]


@pytest.fixture(scope="module")
def sim_arguments() -> Iterator[MultiRobotSimulationCore]:
    made = MultiRobotSimulationCore(picking_params(load_bin_picking(None)))
    yield made
    made.close()


@pytest.fixture
def make(sim_arguments: MultiRobotSimulationCore) -> Iterator[Callable[..., FrankaArm]]:
    """Makes arms, one at a time."""
    arms: list[FrankaArm] = []

    def one(**given: Any) -> FrankaArm:
        for arm in arms:
            sim_arguments.remove_object(arm.agent)
        arms[:] = [FrankaArm(bullet_client=sim_arguments, **{**HERE, **given})]
        return arms[0]

    yield one
    for arm in arms:
        sim_arguments.remove_object(arm.agent)


def seen(arm: FrankaArm) -> list[float]:
    """What can be told of an arm: where it is, and its fingers."""
    return [*arm.agent.get_pose().as_position(), *arm.agent.get_pose().orientation, *arm.agent.joint_positions.tolist()]


# What another value changes; the workspace and the client have tests of their own below.
MADE: dict[str, tuple[Any, dict[str, Any], Callable[[FrankaArm], Any]]] = {
    "arm_base_position": ([0, 0.2, 0], {}, seen),
    "arm_base_orientation": ([0, 0, 1, 0], {}, seen),
    "default_joint_positions": (BENT, {}, seen),
    "get_end_effector_force_sensor_readings": (True, {}, lambda arm: arm.reads_forces),
    "clip_delta_actions_to_workspace": (True, ROOM, lambda arm: arm.clips_to_workspace),
    "workspace_origin": ([0.4, 0, 0], ROOM, lambda arm: arm.workspace),
    "workspace_dimensions": ([0.3, 0.16, 0.04], ROOM, lambda arm: arm.workspace),
    "name": ("left", {}, lambda arm: arm.agent.name),
}
READY = np.delete(REST, [7, 8, 11])
METHODS: dict[str, dict[str, tuple[Any, dict[str, Any]]]] = {
    "read_joint_positions": {"default_joint_positions": (BENT, {"default_joint_positions": REST})},
    "get_workspace": {"workspace_origin": ([0.4, 0, 0], ROOM), "workspace_dimensions": ([0.3, 0.16, 0.04], ROOM)},
    "stiffen": {"gain": (0.9, {"gain": 0.2})},
    "apply_action": {
        "control_mode": (0, {"control_mode": 2, "target": [0.1] * 9}),
        "target": ([0.3] * 9, {"control_mode": 0, "target": [0.1] * 9}),
    },
    "apply_action_pos": {"target_joint_poses": ([0.3, *READY[1:]], {"target_joint_poses": READY})},
    "apply_action_vel": {"target_joint_velocities": ([0.3] * 9, {"target_joint_velocities": [0.1] * 9})},
    "apply_action_delta": {"delta_action": ([0.05, 0, 0, 0, 1], {"delta_action": [0, 0, 0, 0, 1]})},
    "at_target": {
        "target": ([0.3] * 9, {"target": READY}),
        # The fingers never get there.
        "num_joints_to_check": (7, {"target": [*READY[:7], 9, 9]}),
    },
    "get_joint_poses_ik": {
        "target_ee_position": ([0.45, 0, 0.3], {"target_ee_position": NEAR}),
        "target_ee_orientation": ([1, 0, 0, 0], {"target_ee_position": NEAR}),
        "use_null_space": (True, {"target_ee_position": [0.4, 0.3, 0.4]}),
    },
    "clip_to_workspace": {
        "desired_target_pos": ([9, 9, 0], {"desired_target_pos": NEAR}),
        "yaw": (0.7, {"desired_target_pos": [9, 9, 0]}),
    },
    "apply_action_to_gripper": {
        "target_position_a": (0.03, {"target_position_a": 0.01, "target_position_b": 0.01}),
        "target_position_b": (0.03, {"target_position_a": 0.01, "target_position_b": 0.01}),
    },
    "check_target_position_bounds": {
        "target_pos_a": (9.0, {"target_pos_a": 0.01, "target_pos_b": 0.01}),
        "target_pos_b": (9.0, {"target_pos_a": 0.01, "target_pos_b": 0.01}),
    },
}
OWN_TESTS = {("check_grab", "obj_id"), ("__init__", "bullet_client"), ("touched_objects", "things"), ("holds", "thing")}
"""Arguments with tests of their own in test_franka_arm.py and, of the last, in envs/test_franka.py."""
MODULES = ("fleet_sim.learning.manipulation.arm", "fleet_sim.learning.manipulation.arm")
"""Where FrankaArm has its methods from, but for the base of all that is assigned to."""


def test_every_argument_is_looked_at() -> None:
    taken = set()
    for name, function in inspect.getmembers(FrankaArm, inspect.isfunction):
        if name == "__init__" or (not name.startswith("_") and function.__module__ in MODULES):
            taken |= {(name, parameter) for parameter in inspect.signature(function).parameters if parameter != "self"}
    covered = {("__init__", name) for name in MADE} | {(name, one) for name, given in METHODS.items() for one in given}
    assert taken == covered | OWN_TESTS


@pytest.mark.parametrize("name", MADE)
def test_what_an_arm_is_made_with_counts(make: Callable[..., FrankaArm], name: str) -> None:
    value, others, look = MADE[name]
    usual = look(make(**others))
    assert look(make(**{**others, name: value})) != usual


@pytest.mark.parametrize("method", METHODS)
def test_what_a_method_is_given_counts(make: Callable[..., FrankaArm], method: str) -> None:
    arm = make(**ROOM)

    def done(given: dict[str, Any]) -> str:
        arm.stiffen(0.2)
        arm.reset()
        before = arm.sim.clock.tick
        answer = getattr(arm, method)(**given)
        # The gain of motors shows in how they move.
        if method == "stiffen":
            arm.agent.set_joint_target("panda_joint1", 0.3)
            arm.sim.step_once()
        return repr((answer, np.round(seen(arm), 9).tolist(), arm.sim.clock.tick - before))

    for name, (value, others) in METHODS[method].items():
        usual = done(others)
        assert done(others) == usual
        assert done({**others, name: value}) != usual, name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workspace_origin": [0, 0, 0]}, "belong together"),
        ({"workspace_dimensions": [1, 1, 1]}, "belong together"),
        ({"clip_delta_actions_to_workspace": True}, "has no workspace"),
    ],
)
def test_half_a_workspace_is_refused(make: Callable[..., FrankaArm], given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        make(**given)


def test_attributes_that_are_set_count(make: Callable[..., FrankaArm]) -> None:
    arm = make()
    usual = seen(arm)
    arm.default_joint_pos = BENT
    arm.reset()
    assert seen(arm) != usual
    with pytest.raises(InvalidValueError, match="default_joint_positions"):
        arm.default_joint_pos = [0.0]
    for count, targets in ((0, 9), (10, 10), (8, 7), (True, 9), (2.0, 9)):
        with pytest.raises(InvalidValueError, match="num_joints_to_check"):
            arm.at_target([0.0] * targets, count)  # type: ignore[arg-type]
    ticks = []
    for steps in (120, 3):
        arm.max_steps = steps
        arm.reset()
        before = arm.sim.clock.tick
        arm.apply_action_pos([1.0] * 9)
        ticks.append(arm.sim.clock.tick - before)
    assert ticks[1] == 3 < ticks[0]


def test_values_of_cameras_and_bins_are_checked(sim_arguments: MultiRobotSimulationCore) -> None:
    with pytest.raises(InvalidValueError, match="sim_mode: expected one of gpu-gui"):
        Camera({}, sim_arguments, "gpu")
    bin_ = PickBin({}, sim_arguments, "testing", 7)
    assert bin_.steps_for_objects_to_fall == 7
    with pytest.raises(InvalidValueError, match="objects are generated"):
        bin_.get_random_object_file("objects/")
    sim_arguments.remove_object(bin_.handle)
    for wrong in (0, 2.5, True):
        with pytest.raises(InvalidValueError, match="steps_for_objects_to_fall: expected a whole number"):
            PickBin({}, sim_arguments, True, wrong)  # type: ignore[arg-type]
    first, other = BaseBin({}, sim_arguments, "first"), BaseBin({"position": [0, 1, 0]}, sim_arguments)
    assert first.handle is not None and first.handle.name == "first"
    assert other.bin_origin != first.bin_origin
    for made in (first, other):
        sim_arguments.remove_object(made.handle)


def test_a_scene_in_a_simulation_with_another_engine_is_refused(sim_arguments: MultiRobotSimulationCore) -> None:
    with pytest.raises(InvalidValueError, match=r"simulation: .*asks for gravity=.*the given simulation has"):
        BinScene(sim_arguments, small_bin(gravity=-3.0))
    # What the configuration leaves as usual says nothing about the simulation.
    assert BinScene(sim_arguments, small_bin()).sim is sim_arguments


# ---- The camera above the bin: depth in metres, and where it looks ---------------------------------------------------


def test_depth_is_in_metres_and_leads_back_to_the_floor(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    rgb, depth = camera.get_image(get_depth_data=True)
    assert rgb.shape == (64, 64, 3)
    assert depth.shape == (64, 64)
    reading = camera.read()
    # The lowest line of the picture shows the floor before the bin.
    ahead = reading.points()[-1, 32].astype(float)
    place = quaternions.rotate(reading.orientation[None], ahead[None])[0] + reading.position
    assert place[2] == pytest.approx(0.0, abs=2e-3)
    camera.config.scale_depth_data = True
    grey = camera.render(mode="rgb_and_depth_arrays")
    assert grey is not None
    assert 0.0 <= grey[1].min() <= grey[1].max() <= 255.0
    camera.config.scale_depth_data = False
    assert camera.render(mode="human") is None
    with pytest.raises(InvalidValueError, match="mode"):
        camera.render(mode="rgb")
    scene.sim.remove_sensor(camera.sensor)


def test_colors_alone_are_those_beside_the_depth_and_leave_the_last_reading(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    first = camera.sensor.latest
    colors = camera.get_image()
    assert camera.sensor.latest is first
    both, depth = camera.get_image(get_depth_data=True)
    np.testing.assert_array_equal(colors, both)
    camera.get_image()
    np.testing.assert_array_equal(camera.sensor.latest.depth, depth)
    scene.sim.remove_sensor(camera.sensor)


@pytest.mark.parametrize("target", [(1.0, 0.0, 0.0), (0.0, -1.0, -1.0), (-1.0, 0.2, 0.5)])
def test_looking_at_a_point_puts_it_in_the_middle(target: tuple[float, float, float]) -> None:
    turn = look_at(np.zeros(3), np.array(target), np.array([0.0, 0.0, 1.0]))
    forward = quaternions.rotate(turn[None], np.array([[0.0, 0.0, 1.0]]))[0]
    down = quaternions.rotate(turn[None], np.array([[0.0, 1.0, 0.0]]))[0]
    assert forward == pytest.approx(np.array(target) / np.linalg.norm(target))
    assert down[2] < 0.0
    with pytest.raises(InvalidValueError, match="cannot look"):
        look_at(np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]))


def test_matrices_are_those_of_the_engine_wherever_the_camera_is(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    bullet = scene.sim.bullet
    settings = scene.config.camera
    view, lens = settings.view_matrix, settings.projection_matrix
    expected = bullet.computeViewMatrix(view.eye_position, view.target_position, view.up_vector)
    assert camera.view_matrix == pytest.approx(expected, abs=1e-6)
    aspect = settings.width_resolution / settings.height_resolution
    expected = bullet.computeProjectionMatrixFOV(lens.fov, aspect, lens.near_plane, lens.far_plane)
    assert camera.projection_matrix == pytest.approx(expected, abs=1e-5)
    arm = scene.arms[0]
    camera.mount_on(arm.agent, 8, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), 40.0, 0.01, 1.0)
    eye = np.linalg.inv(np.reshape(camera.view_matrix, (4, 4)).T)[:3, 3]
    assert eye == pytest.approx(arm.agent.get_link_pose(8).position, abs=1e-6)
    camera.reset()
    assert camera.view_matrix == pytest.approx(
        bullet.computeViewMatrix(view.eye_position, view.target_position, view.up_vector), abs=1e-6
    )
    scene.sim.remove_sensor(camera.sensor)


def test_a_camera_in_its_place_stays_the_same_sensor(scene: BinScene) -> None:
    camera = Camera(scene.config.camera, scene.sim)
    before = camera.sensor
    camera.reset()
    assert camera.sensor is before
    scene.sim.remove_sensor(before)


def test_a_camera_is_made_from_a_mapping(scene: BinScene) -> None:
    view = {"eye-position": [0.5, 0.0, 0.6], "target-position": [0.5, 0.0, 0.0], "up-vector": [0, 1, 0]}
    camera = Camera({"width-resolution": 20, "height-resolution": 10, "view-matrix": view}, scene.sim.bullet)
    assert np.shape(camera.get_image("gpu-headless")) == (10, 20, 3)
    other = Camera({}, scene.sim)
    assert np.shape(other.get_image()) == (160, 160, 3)
    for made in (camera, other):
        scene.sim.remove_sensor(made.sensor)
    with pytest.raises(ConfigError, match=r"camera_config.*'width_resolution'"):
        Camera({"width-resolutoin": 20}, scene.sim)
    with pytest.raises(InvalidValueError, match="expected a simulation"):
        Camera({}, scene.sim.client)  # type: ignore[arg-type]
