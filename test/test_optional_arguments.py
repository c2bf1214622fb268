"""Optional arguments that no other test gives: they act."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_bins import small_bin

from fleet_sim import (
    Agent,
    AgentManager,
    MultiRobotSimulationCore,
    SimulationParams,
)
from fleet_sim import (
    Path as Waypoints,
)
from fleet_sim.base.errors import FleetSimError
from fleet_sim.learning.envs import Franka2Env
from fleet_sim.swarm import run_sim


@pytest.fixture
def sim() -> MultiRobotSimulationCore:
    return MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, collision_check_frequency=0))


def test_arcs_begin_where_they_are_told() -> None:
    for make in (
        lambda **more: Waypoints.create_circle((0, 0, 0), 2.0, **more),
        lambda **more: Waypoints.create_ellipse((0, 0, 0), 2.0, 2.0, **more),
    ):
        np.testing.assert_allclose(make(start_angle=0.5 * np.pi).waypoints[0].position, [0, 2, 0], atol=1e-9)
        np.testing.assert_allclose(make().waypoints[0].position, [2, 0, 0], atol=1e-9)


def test_a_manager_makes_what_it_is_told(sim: MultiRobotSimulationCore) -> None:
    class Own(Agent):
        pass

    manager = AgentManager(sim_core=sim, object_class=Own)
    with pytest.raises(ValueError, match="this group holds Own"):
        manager.add_object(Agent.from_urdf("simple_cube", sim_core=sim))


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
