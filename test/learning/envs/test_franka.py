"""Bin picking: grabs, ends of episodes, several arms, cameras on arms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from oracle_rows import holds
from small_bins import small_bin

from fleet_sim import Pose
from fleet_sim.base.errors import InvalidValueError, UnknownNameError
from fleet_sim.learning.envs import Franka0Env, Franka2Env
from fleet_sim.learning.manipulation import BinScene, bins, load_bin_picking

DOWN = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def env() -> Iterator[Franka2Env]:
    made = Franka2Env(small_bin(objects=(2, 2)), max_steps=5)
    made.reset(seed=1)
    yield made
    made.close()


def grip_first_thing(env: Franka2Env) -> None:
    """Put the first thing into the middle of the bin, and close the gripper around it."""
    scene, arm = env.loaded_scene(), env.arm()
    assert scene.pick_bin is not None
    first, *others = scene.pick_bin.objects
    for other in others:
        other.set_pose(Pose((scene.pick_bin.pose.x + 0.06, 0.06, 0.02)))
    x, y, _ = scene.pick_bin.pose.position
    first.set_pose(Pose((x, y, 0.018)))
    for height in (0.12, 0.02):
        joints = arm.get_joint_poses_ik([x, y, height], DOWN, True)
        joints[7:] = 0.02
        arm.apply_action_pos(joints.tolist())
    arm.close_gripper()
    arm.clips_to_workspace = False
    for _ in range(3):
        arm.apply_action_delta([0.0, 0.0, 0.05, 0.0, -1.0])


@holds(
    *("env:FleetSim/Franka*-v0.reward", "env:FleetSim/FrankaDelta-v0.observation.gripper_open"),
    *(f"env:FleetSim/Franka*-v0.info.{key}" for key in ("successful_grab", "grab_limit_reached", "grabs", "objects")),
    fault="learning/envs/franka.py: the step of a grab costs nothing",
)
def test_a_grab_that_survives_the_shake_is_rewarded_and_ends_the_episode(env: Franka2Env) -> None:
    grip_first_thing(env)
    seen, reward, terminated, truncated, info = env.step(np.array([0.0, 0.0, 0.001, 0.0, -1.0], np.float32))
    assert info["successful_grab"]
    assert info["grab_limit_reached"]
    assert reward == pytest.approx(0.9)
    assert (terminated, truncated) == (True, False)
    assert (info["grabs"], info["objects"], seen["gripper_open"]) == (1, 1, 0)


@holds("env:FleetSim/Franka*-v0.info.collision_with_bin", fault="learning/envs/franka.py: a touch is told as none")
def test_touching_a_bin_is_punished_and_ends_the_episode_where_settings_say_so(env: Franka2Env) -> None:
    scene, arm = env.loaded_scene(), env.arm()
    assert scene.pick_bin is not None
    arm.clips_to_workspace = False
    wall = scene.pick_bin.pose.x + 0.08
    for height in (0.1, 0.01):
        joints = arm.get_joint_poses_ik([wall, 0.0, height], DOWN, True)
        joints[7:] = 0.02
        arm.apply_action_pos(joints.tolist())
    assert env.check_for_collision_with_bin(arm.arm_id, True)
    assert not env.check_for_collision_with_bin(arm.arm_id, False)
    terminated, info = env.check_termination()
    assert terminated and info["collision_with_bin"]
    assert env.get_reward(info) == pytest.approx(-1.1)


def test_names_of_the_documents_mean_the_same(env: Franka2Env, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, arm = env.loaded_scene(), env.arm()
    assert scene.pick_bin is not None
    assert env.bullet_client is scene.sim.bullet
    assert env.num_arms == 1
    assert list(env.scene_modes) == ["bin-scene"]
    assert scene.bin_with_objs is scene.pick_bin
    assert scene.ground_id == scene.ground
    # MuJoCo's floor is no body.
    assert (scene.ground > -1) is (scene.sim.engine.name == "bullet")
    assert scene.pick_bin.bin_origin == list(scene.pick_bin.pose.position)
    kind = scene.pick_bin.path_to_current_object
    drawn: list[str] = []
    draw = scene.pick_bin.get_random_object_file
    monkeypatch.setattr(scene.pick_bin, "get_random_object_file", lambda: drawn.append(draw()) or drawn[-1])
    env.reset(keep_object_type=True)
    env.reset(options={"keep_object_type": True})
    assert not drawn
    env.reset(options={"keep_object_type": False})
    env.reset()
    assert len(drawn) == 2 and scene.pick_bin.path_to_current_object == kind == "box_training_1"
    settings = env.config_file
    assert settings["scene"]["drop-bin-enable"] is True
    assert settings["simulation"]["ml-mode"] == "training"
    assert load_bin_picking(settings) == env.config
    assert arm.moveable_joints[7:] == [9, 10]


def test_a_reward_and_an_end_may_be_asked_for_without_more(env: Franka2Env) -> None:
    ended = env.check_termination()
    assert not ended
    assert env.get_reward() == pytest.approx(-0.1)
    grip_first_thing(env)
    ended = env.check_termination()
    assert ended
    assert ended == (True, ended.info)
    assert env.get_reward() == env.get_reward(ended.info) == pytest.approx(0.9)
    env.reset(seed=2)
    assert env.get_reward() == pytest.approx(-0.1)


def test_what_render_and_reset_do_not_know_is_refused(env: Franka2Env) -> None:
    assert np.array_equal(env.render("rgb"), env.render("rgb_array"))
    with pytest.raises(InvalidValueError, match="rgb_arry"):
        env.render("rgb_arry")
    with pytest.raises(UnknownNameError, match="keep_object_type"):
        env.reset(options={"keep_objct_type": True})


def test_a_scene_of_ones_own_is_a_mode() -> None:
    class Table(BinScene):
        pass

    class TableEnv(Franka2Env):
        scene_modes: ClassVar = {"bin-scene": Table}

    env = TableEnv(small_bin(objects=(1, 1)))
    assert env.bullet_client is None
    assert isinstance(env.load_scene("bin-scene"), Table)
    with pytest.raises(InvalidValueError, match="mode"):
        env.load_scene("table")
    env.close()


def test_an_episode_is_cut_in_the_end(env: Franka2Env) -> None:
    for step in range(1, 6):
        seen, _, terminated, truncated, _ = env.step(np.array([0.0, 0.0, 0.0, 0.0, 1.0], np.float32))
        assert not terminated and seen["gripper_open"] == 1
        assert truncated == (step == 5)


def test_the_camera_rides_on_an_arm(env: Franka2Env) -> None:
    before = env.get_image_observation()
    env.mount_camera_on_robot(0, 8, 11, mount_position_offset=-0.06)
    hand = env.get_image_observation()
    assert not np.array_equal(hand, before)
    env.arm().apply_action_delta([0.03, 0.03, 0.03, 0.3, 1.0])
    assert not np.array_equal(env.get_image_observation(), hand)
    with pytest.raises(InvalidValueError, match="there is no arm 7"):
        env.mount_camera_on_robot(7, 8, 11)
    env.recompute_view_and_projection_matrix([0.9, 0.0, 0.5], [0.5, 0.0, 0.0], 24.0, 0.01, 2.0, [0.0, 0.0, 1.0])
    assert not np.array_equal(env.get_image_observation(), hand)


@pytest.mark.parametrize("link", [7, 8, 9])
def test_a_camera_mounted_as_by_default_sees_the_bin(
    env: Franka2Env, link: int, caplog: pytest.LogCaptureFixture
) -> None:
    env.mount_camera_on_robot(0, link, 11)
    assert env.camera is not None
    _, depth = env.camera.get_image(get_depth_data=True)
    assert np.quantile(depth, 0.5) > 0.2
    assert not caplog.records


def test_nothing_is_said_of_files_that_the_pictures_do_not_lack(caplog: pytest.LogCaptureFixture) -> None:
    env = Franka2Env(small_bin(objects=(1, 1)))
    env.reset(seed=0)
    env.close()
    # Which renderer draws is told where it is a slow one.
    assert not [record for record in caplog.records if record.name != "fleet_sim.sensing.sensors.render.renderer"]


def test_a_camera_inside_the_hand_is_warned_of(env: Franka2Env, caplog: pytest.LogCaptureFixture) -> None:
    env.mount_camera_on_robot(0, 8, 11, mount_position_offset=0.02)
    assert [record.getMessage() for record in caplog.records if "inside the arm" in record.getMessage()]


def test_a_reset_puts_the_camera_back(env: Franka2Env) -> None:
    assert env.camera is not None
    view = env.camera.view_matrix
    env.mount_camera_on_robot(0, 8, 11, mount_position_offset=-0.06)
    env.reset(seed=1)
    assert env.camera.view_matrix == view
    shape = np.shape(env.camera.get_image())
    env.recompute_view_and_projection_matrix([0.9, 0.0, 0.5], [0.5, 0.0, 0.0], 24.0, 0.01, 2.0, render_width=32)
    env.reset(seed=1)
    assert env.camera.view_matrix == view
    assert np.shape(env.camera.get_image()) == shape


def test_the_render_mode_of_the_settings_counts() -> None:
    for mode, shown in (("rgb_array", 3), ("rgb_and_depth_arrays", 2)):
        made = Franka2Env(small_bin(objects=(2, 2), render_mode=mode))
        made.reset(seed=0)
        picture = made.render()
        assert made.render_mode == mode
        assert (picture.shape[-1] if mode == "rgb_array" else len(picture)) == shown
        made.close()
    assert Franka2Env(small_bin(), render_mode="rgb_and_depth_arrays").render_mode == "rgb_and_depth_arrays"
    assert Franka2Env(small_bin()).render_mode is None


def test_several_arms_stand_around_one_bin() -> None:
    arms = {"arm-1": {}, "arm-2": {"position": [1.0, 0.0, 0.0], "orientation": [0.0, 0.0, 180.0]}}
    env = Franka0Env(small_bin(arms=arms))
    env.reset(seed=0)
    assert env.number_of_arms == len(env.robots) == 2
    first, second = (arm.get_gripper_state()[0] for arm in env.robots)
    assert first[0] + second[0] == pytest.approx(1.0, abs=1e-3)
    env.close()


def test_never_more_grabs_are_asked_for_than_there_are_things() -> None:
    ends = {"terminate-after-successful-grabs": {"grabs-before-termination": 50}}
    env = Franka2Env(small_bin(objects=(2, 2), termination=ends))
    env.reset(seed=0)
    assert env.grabs_before_termination == 2
    env.close()


def test_the_shaped_reward_changes_no_sum_and_makes_a_crash_the_worst() -> None:
    config = {**small_bin(objects=(2, 2)), "reward": "shaped", "observation": "state", "discount": 0.9}
    env = Franka2Env(config, max_steps=6)
    env.reset(seed=1)
    begin, total, steps = env.potential(), 0.0, 0
    done = False
    while not done:
        _, reward, terminated, done, info = env.step([0.005, -0.01, -0.016, 0.1, 1.0])
        assert not terminated and reward == pytest.approx(-0.1 + info["shaping"]) == pytest.approx(env.get_reward())
        total, steps = total + 0.9**steps * info["shaping"], steps + 1
    # Ng, Harada and Russell 1999: what is added telescopes to the potentials of the ends.
    assert total == pytest.approx(0.9**steps * env.potential() - begin)
    # Nearer is better: ten per meter, and two more over the last centimeters; all of the holding and lifting is left.
    thing, touched = env.nearest_object()
    assert thing is not None and not touched
    way = np.linalg.norm(np.array(thing.get_pose().position) - env.arm().get_gripper_state()[0])
    assert env.potential() == pytest.approx(-10.0 * way - 2.0 * math.tanh(way / 0.03) - 2.0 - 4.0)
    env.steps = 2
    crash = {"collision_with_bin": True, "shaping": 0.0}
    # This step, the four that are left, discounted, and 1: more than to wait for the end.
    assert env.get_reward(crash) == pytest.approx(-0.1 - 0.1 * (0.9 + 0.81 + 0.729 + 0.6561) - 1.0)
    env.close()
    with Franka2Env(small_bin(), max_steps=6) as plain:
        plain.reset(seed=1)
        assert plain.get_reward(crash) == pytest.approx(-1.1)
        assert "shaping" not in plain.step([0.0] * 5)[4]


def test_numbers_are_those_of_the_arm_and_of_what_it_touches(env: Franka2Env) -> None:
    made = Franka2Env({**small_bin(objects=(2, 2)), "observation": "state", "reward": "shaped"})
    check_env(made, skip_render_check=True)
    made.reset(seed=1)
    grip_first_thing(made)
    arm, scene = made.arm(), made.loaded_scene()
    assert scene.pick_bin is not None
    held = scene.pick_bin.objects[0]
    state = made.get_state()
    assert state.shape == (33,) and state in made.observation_space
    # Lengths in 2 cm and things in twenties: of the size that networks learn from, whatever they are of.
    units = np.ones(33)
    units[[7, 8, 18, 19, 20, 24, 25, 26]], units[32] = 0.02, 20.0
    numbers = made.get_numbers()
    assert state * units == pytest.approx(numbers, abs=1e-6)
    assert numbers[:9] == pytest.approx(arm.agent.joint_positions, abs=1e-6)
    assert numbers[9:18] == pytest.approx(arm.agent.joint_velocities, abs=1e-6)
    position, angles = arm.get_gripper_state()
    assert numbers[18:21] == pytest.approx(position - scene.pick_bin.pose.position, abs=1e-6)
    assert numbers[21:24] == pytest.approx([np.sin(angles[2]), np.cos(angles[2]), 0.0], abs=1e-6)
    pose = held.get_pose()
    assert numbers[24:27] == pytest.approx(np.array(pose.position) - position, abs=1e-6)
    assert abs(numbers[27:31] @ np.array(pose.orientation)) == pytest.approx(1.0) and numbers[30] >= 0.0
    assert numbers[31:].tolist() == [1.0, 2.0]
    # Held as high as a grab counts there is nothing left to do; open fingers hold nothing, whatever they touch.
    way = np.linalg.norm(np.array(pose.position) - position)
    assert made.potential() == 0.0
    arm.gripper_is_open = True
    near = -10.0 * way - 2.0 * np.tanh(way / 0.03)
    assert made.potential() == pytest.approx(near - 2.0 - 4.0, abs=0.02)
    # Also of what is 100 m away, in units of 2 cm.
    for thing in scene.pick_bin.objects:
        thing.set_pose(Pose((100.0, -100.0, 3.0)))
    assert made.get_state() in made.observation_space
    made.close()


def test_closed_fingers_that_press_on_an_object_do_not_hold_it(env: Franka2Env) -> None:
    scene, arm = env.loaded_scene(), env.arm()
    assert scene.pick_bin is not None
    thing, other = scene.pick_bin.objects
    x, y, _ = scene.pick_bin.pose.position
    thing.set_pose(Pose((x, y, 0.018)))
    other.set_pose(Pose((x + 0.06, 0.06, 0.02)))
    arm.close_gripper()
    for height in (0.12, 0.05, 0.03, 0.025):
        joints = arm.get_joint_poses_ik([x, y, height], DOWN, True)
        joints[7:] = 0.0
        arm.apply_action_pos(joints.tolist())
    assert env.nearest_object() == (thing, True)
    way = np.linalg.norm(np.array(thing.get_pose().position) - arm.get_gripper_state()[0])
    near = -10.0 * way - 2.0 * np.tanh(way / 0.03) - 2.0 - 4.0
    # What is not held is to be met with open fingers.
    assert env.potential() == pytest.approx(near - 1.0, abs=0.02)


def test_heaps_are_simulated_once_for_all_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    falls: list[int] = []
    fall = bins.let_fall
    monkeypatch.setattr(bins, "let_fall", lambda *given: (falls.append(1), fall(*given)))

    def first_states() -> np.ndarray:
        env = Franka2Env({**small_bin(objects=(3, 3)), "observation": "state"})
        env.reset(seed=5)
        found = np.array([env.step([0.01, 0.0, -0.016, 0.1, 1.0])[0] for _ in range(4)])
        env.close()
        return found

    made = first_states()
    assert falls == [1]
    assert (first_states() == made).all() and falls == [1]
    (file,) = (tmp_path / "fleet_sim" / "heaps").iterdir()
    # What is cut off, or of other numbers, is simulated again.
    file.write_bytes(file.read_bytes()[:-9])
    assert (first_states() == made).all() and falls == [1, 1]
