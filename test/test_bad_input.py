"""Bad input: one clear error each, and the world as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from small_bins import small_bin
from small_world import BOX

import fleet_sim as fs
from fleet_sim import (
    Agent,
    AgentManager,
    AgentPlugin,
    AgentSpawnParams,
    ConfigError,
    ControllerParams,
    FleetSimError,
    GridSpawnParams,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectManager,
    SimObjectSpawnParams,
    SimulationParams,
    Wait,
)
from fleet_sim import Path as Waypoints
from fleet_sim.learning.envs import Franka2Env
from fleet_sim.swarm import run_sim

NAN, INF = float("nan"), float("inf")
Bad = Callable[[MultiRobotSimulationCore], Any]


@pytest.fixture(scope="module")
def busy() -> Iterator[MultiRobotSimulationCore]:
    """A simulation in the middle of things."""
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0, monitor=False))
    robot = sim.spawn(AgentSpawnParams(BOX, BOX, name="robot"))
    sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 5, 0)), name="arm", use_fixed_base=True))
    crate = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((1, 0, 0)), name="crate"))
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((9, 0, 0)), name="free"))
    robot.attach_object(crate)
    robot.add_action_sequence([MoveTo(Pose((9, 9, 0))), Wait(5.0)])
    for _ in range(5):
        sim.step_once()
    yield sim
    sim.close()


def robot(sim: MultiRobotSimulationCore) -> Agent:
    """The robot that is driving."""
    agent: Agent = sim.get_object("robot")
    return agent


def spawn(**settings: Any) -> Bad:
    """Spawn a robot with `settings`."""
    return lambda sim: sim.spawn(AgentSpawnParams(**settings))


def shape(**settings: Any) -> Bad:
    """Spawn an object with a shape of `settings`."""
    return lambda sim: sim.spawn(SimObjectSpawnParams(collision_shape=ShapeParams(**settings)))


CASES: dict[str, Bad] = {
    "pose with nan": lambda sim: robot(sim).set_pose(Pose((NAN, 0, 0))),
    "pose with inf": lambda sim: robot(sim).set_goal(Pose((0, INF, 0))),
    "zero quaternion": lambda sim: robot(sim).set_goal(Pose((0, 0, 0), (0, 0, 0, 0))),
    "quaternion with nan": lambda sim: robot(sim).set_goal(Pose((0, 0, 0), (NAN, 0, 0, 1))),
    "two numbers": lambda sim: robot(sim).set_goal(Pose((0, 0))),
    "text for numbers": lambda sim: robot(sim).set_goal(Pose("abc")),
    "no pose at all": lambda sim: robot(sim).set_goal(None),
    "empty path": lambda sim: robot(sim).set_path([]),
    "unknown direction": lambda sim: robot(sim).set_goal_pose(Pose((1, 0, 0)), "sideways"),
    "velocity with nan": lambda sim: robot(sim).set_velocity(NAN),
    "velocity as text": lambda sim: robot(sim).set_velocity("fast"),
    "negative timeout": lambda sim: robot(sim).set_velocity(1.0, timeout=-1.0),
    "raw zero quaternion": lambda sim: sim.get_object("free").set_pose_raw([0, 0, 0], [0, 0, 0, 0]),
    "pose of a carried object": lambda sim: sim.get_object("crate").set_pose(Pose((0, 0, 0))),
    "goal of a fixed base": lambda sim: sim.get_object("arm").set_goal(Pose((1, 0, 0))),
    "motion mode": lambda sim: robot(sim).set_motion_mode("hover"),
    "collision mode": lambda sim: robot(sim).set_collision_mode("solid"),
    "carrying oneself": lambda sim: robot(sim).attach_object(robot(sim)),
    "carrying one's carrier": lambda sim: sim.get_object("crate").attach_object(robot(sim)),
    "attach link": lambda sim: robot(sim).attach_object(sim.get_object("free"), 4),
    "negative radius": lambda sim: robot(sim).find_nearest_pickable(-1.0),
    "callback frequency": lambda sim: robot(sim).register_callback(print, -1.0),
    "taken name": lambda sim: sim.get_object("free").set_name("robot"),
    "not an action": lambda sim: robot(sim).execute_action(lambda: None),
    "unknown controller": lambda sim: robot(sim).set_controller("patroll"),
    "ids": lambda sim: sim.set_poses([999], [[0, 0, 0]], [[0, 0, 0, 1]]),
    "poses of one id too few": lambda sim: sim.set_poses([0, 1], [[0, 0, 0]], [[0, 0, 0, 1]]),
    "poses with nan": lambda sim: sim.set_poses([0, 1], [[0, 0, 0], [NAN, 0, 0]], [[0, 0, 0, 1]] * 2),
    "poses with a zero quaternion": lambda sim: sim.set_poses([0, 1], np.zeros((2, 3)), [[0, 0, 0, 1], [0, 0, 0, 0]]),
    "poses of a carried object": lambda sim: sim.set_poses([0, 2], np.ones((2, 3)), [[0, 0, 0, 1]] * 2),
    "duplicate name": spawn(name="robot"),
    "negative speed": spawn(max_linear_vel=-1.0),
    "zero acceleration": spawn(max_linear_accel=0.0),
    "speed with nan": spawn(max_angular_vel=NAN),
    "limits of two axes": spawn(max_linear_vel=(1.0, 2.0)),
    "negative mass": spawn(mass=-1.0),
    "unknown motion mode": spawn(motion_mode="hover"),
    "missing description": spawn(urdf_path="nowhere.urdf"),
    "controller number": spawn(controller=5),
    "bad controller": spawn(controller={"type": "patrol"}),
    "plugin that is none": spawn(plugins=[int]),
    "plugins that are no list": spawn(plugins=5),
    "plugin after a good one": spawn(plugins=[AgentPlugin, "battery"]),
    "pose list": spawn(initial_pose=[1, 2]),
    "negative timeout of commands": lambda sim: sim.spawn(
        AgentSpawnParams(controller=ControllerParams(cmd_vel_timeout=-1))
    ),
    "shape type": shape(shape_type="cone"),
    "negative size": shape(shape_type="box", half_extents=(1, -1, 1)),
    "size of two axes": shape(shape_type="box", half_extents=(1, 1)),
    "zero radius": shape(shape_type="sphere", radius=0.0),
    "height with nan": shape(shape_type="cylinder", height=NAN),
    "mesh without a file": shape(shape_type="mesh"),
    "missing mesh": shape(shape_type="mesh", mesh_path="nowhere.obj"),
    "colour": shape(shape_type="box", rgba_color=(1, 1, 1, 2)),
    "params of an object for an agent": lambda sim: Agent.from_params(SimObjectSpawnParams(), sim),
    "params without a simulation": lambda sim: SimObject.from_params(SimObjectSpawnParams()),
    "params of an agent without a simulation": lambda sim: Agent.from_params(AgentSpawnParams()),
    "params that are none": lambda sim: sim.spawn({"name": "a"}),
    "dict without a name": lambda sim: SimObject.from_dict({}, sim),
    "dict with an unknown key": lambda sim: Agent.from_dict({"name": "a", "speed": 1}, sim),
    "batch with a duplicate": lambda sim: sim.spawn_all([AgentSpawnParams(name="n"), SimObjectSpawnParams(name="n")]),
    "batch with a bad entry": lambda sim: AgentManager(sim).spawn_objects_batch(
        [AgentSpawnParams(name="n"), AgentSpawnParams(motion_mode="hover")]
    ),
    "mixed batch with a bad entry": lambda sim: sim.spawn_all(
        [AgentSpawnParams(name="n"), SimObjectSpawnParams(collision_shape=ShapeParams("mesh", mesh_path="no.obj"))]
    ),
    "grid too small": lambda sim: SimObjectManager(sim).spawn_objects_grid(
        5, GridSpawnParams.from_count(4), SimObjectSpawnParams()
    ),
    "grid with nan": lambda sim: GridSpawnParams.from_count(4, spacing=(NAN, 0, 0)),
    "robots that are no list": lambda sim: sim.spawn_robots_from_config({"name": "a"}),
    "second robot wrong": lambda sim: sim.spawn_robots_from_config([{"name": "n"}, {"name": "m", "mass": "heavy"}]),
    "id that is a fraction": lambda sim: sim.get_object(1.5),
    "id that is nothing": lambda sim: sim.get_object(None),
    "id that is a truth": lambda sim: sim.get_object(True),
    "no initial pose": spawn(initial_pose=None),
    "sensor of a number": lambda sim: sim.add_sensor({"type": "imu"}, 5),
    "sensor to remove that is none": lambda sim: sim.remove_sensor([]),
    "text to remove for a sensor": lambda sim: sim.remove_sensor("lidar"),
    "unknown object": lambda sim: sim.get_object("robo"),
    "unknown id": lambda sim: sim.get_object(999),
    "file that is not there": lambda sim: MultiRobotSimulationCore.from_yaml("nowhere.yaml"),
    "negative duration": lambda sim: sim.run_simulation(-1.0),
    "negative wait": lambda sim: robot(sim).execute_action(Wait(-1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_clear_error_and_the_world_as_it_was(busy: MultiRobotSimulationCore, name: str) -> None:
    before = (busy.state_hash(), len(busy.sim_objects), robot(busy).get_action_queue_size())
    current = robot(busy).get_current_action()
    with pytest.raises(FleetSimError) as caught:
        CASES[name](busy)
    message = str(caught.value)
    assert len(message) > 15
    assert "\n" not in message
    assert (busy.state_hash(), len(busy.sim_objects), robot(busy).get_action_queue_size()) == before
    assert robot(busy).get_current_action() is current


def test_settings_are_checked_when_they_change_too() -> None:
    params = AgentSpawnParams(max_linear_vel=1.0)
    with pytest.raises(ConfigError, match="max_linear_vel"):
        params.max_linear_vel = -1.0
    with pytest.raises(FleetSimError, match="Did you mean 'max_linear_vel'"):
        params.max_linear_val = 1.0  # type: ignore[attr-defined]
    assert params.max_linear_vel == 1.0


def test_an_object_of_another_simulation_is_refused(busy: MultiRobotSimulationCore) -> None:
    params = SimulationParams(gui=False, monitor=False)
    with MultiRobotSimulationCore(params) as other:
        stranger = other.spawn(SimObjectSpawnParams())
        for use in (busy.remove_object, busy.add_object, SimObjectManager(busy).add_object, robot(busy).attach_object):
            with pytest.raises(FleetSimError, match="simulation"):
                use(stranger)
        assert stranger.is_alive


@pytest.mark.parametrize("name", [True, 5, 10**40, [], {}, b"a", "", 1.5], ids=repr)
def test_a_name_is_a_text(sim: fs.MultiRobotSimulationCore, name: object) -> None:
    box = sim.spawn(fs.SimObjectSpawnParams(name="box"))
    with pytest.raises(fs.InvalidValueError, match="a name is a text that is not empty, or None, got"):
        box.set_name(name)  # type: ignore[arg-type]
    assert sim.get_object("box") is box
    box.set_name(None)
    assert box.name is None and not sim.world.index.has_name("box")


@pytest.mark.parametrize(
    "points", [[[0, 0, 0], [0, 0]], [[0, 0, (1, 2)]], [[0, 0, []]], "xyz", 5, None, [[0, 0, 1e155]]], ids=repr
)
def test_points_of_queries_are_triples(sim: fs.MultiRobotSimulationCore, points: object) -> None:
    with pytest.raises(fs.InvalidValueError, match=r"starts: expected (numbers|at most)"):
        sim.queries.ray_cast(points, [[1, 1, 1]])


def test_an_error_is_not_as_long_as_what_was_given(sim: fs.MultiRobotSimulationCore) -> None:
    for call in (
        lambda: sim.get_object("x" * 100_000),
        lambda: sim.get_object(10**4000),
        lambda: sim.queries.ray_cast([[1, 2]] * 100_000, [[1, 1, 1]]),
        lambda: fs.Pose([0.0] * 100_000),
        lambda: sim.spawn(fs.AgentSpawnParams(urdf_path="y" * 100_000)),
    ):
        with pytest.raises(fs.FleetSimError) as caught:
            call()
        assert len(str(caught.value)) < 4000


# ---- Optional arguments that no other test gives: they act -----------------------------------------------------------


@pytest.fixture
def sim_optional_arguments() -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, collision_check_frequency=0))


def test_arcs_begin_where_they_are_told() -> None:
    for make in (
        lambda **more: Waypoints.create_circle((0, 0, 0), 2.0, **more),
        lambda **more: Waypoints.create_ellipse((0, 0, 0), 2.0, 2.0, **more),
    ):
        np.testing.assert_allclose(make(start_angle=0.5 * np.pi).waypoints[0].position, [0, 2, 0], atol=1e-9)
        np.testing.assert_allclose(make().waypoints[0].position, [2, 0, 0], atol=1e-9)


def test_a_manager_makes_what_it_is_told(sim_optional_arguments: MultiRobotSimulationCore) -> None:
    class Own(Agent):
        pass

    manager = AgentManager(sim_core=sim_optional_arguments, object_class=Own)
    with pytest.raises(ValueError, match="this group holds Own"):
        manager.add_object(Agent.from_urdf("simple_cube", sim_core=sim_optional_arguments))


def test_arguments_of_the_gripper_environment() -> None:
    config = small_bin(objects=(1, 1))
    env = Franka2Env(config, da=0.1, dv=0.01, downsample_height=8, downsample_width=16)
    assert env.action_space.high.tolist() == pytest.approx([0.01, 0.01, 0.01, 0.1, 1.0])
    assert env.reset(seed=0)[0]["image"].shape == (8, 16, 3)
    eye = {"eye_position": (1, 0, 1), "target_position": (0.5, 0, 0), "fov": 40.0}
    env.recompute_view_and_projection_matrix(**eye, near_plane=0.1, far_plane=2.0, render_width=32, render_height=20)
    assert env.camera.read().rgb.shape == (20, 32, 3)
    mount = {"robot_id": 0, "mount_joint_index": 9, "grasp_target_index": 11}
    usual = {"target_position_offset": 0.02, "near_plane": 0.001, "far_plane": 1.0}
    seen = set()
    for changed in ({}, {"target_position_offset": 0.1}, {"near_plane": 0.01}, {"far_plane": 3.0}):
        env.mount_camera_on_robot(**mount, **{**usual, **changed})
        seen.add(str((env.camera.view_matrix, env.camera.projection_matrix)))
    assert len(seen) == 4
    # A refused move leaves the camera where it was, and able to see.
    for wrong in ({"near_plane": -1.0}, {"near_plane": 2.0}, {"mount_joint_index": 99}):
        with pytest.raises(FleetSimError, match=r"near|unknown link"):
            env.mount_camera_on_robot(**{**mount, **wrong})
        assert env.camera.read().rgb.any()
    env.reset(seed=0)
    env.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [("da", np.inf), ("dv", True), ("dv", 0.0), ("downsample_width", 10**5), ("max_steps", 0), ("max_steps", 2.5)],
)
def test_wrong_arguments_of_the_gripper_environment(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name.replace("downsample_width", "downsampled")):
        Franka2Env(small_bin(objects=(1, 1)), **{name: value})


@pytest.mark.parametrize(
    "wrong",
    [
        {"save_duration": -1},
        {"save_every_ith_frame": 0},
        {"save_time_per_frame": 0.5},
        {"framerate_limit": float("nan")},
        {"steps": -3},
        {"steps": 2.5},
    ],
)
def test_wrong_arguments_of_a_run_of_a_swarm(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        run_sim({"size": [3, 3]}, show_gui=False, **{"steps": 1, **wrong})
