"""What `import fleet_sim` offers."""

from __future__ import annotations

import inspect
import logging

import pytest

import fleet_sim

# Names that documents about this kind of simulator use and people will type.
EXPECTED = {
    "MultiRobotSimulationCore": (
        "from_dict from_yaml run_simulation step_once setup_camera configure_visualizer register_static_body "
        "register_callback unregister_callback pause resume reset clear add_object remove_object set_poses get_poses "
        "client sim_objects agents step_count sim_time collision_count events last_profiling is_paused plugins "
        "batch_spawn register_plugin register_manager unregister_manager get_manager spawn_robots_from_config "
        "initialize_simulation get_aabbs get_active_collision_pairs get_profiling_stats restore_initial"
    ),
    "SimObject": (
        "from_params from_dict from_mesh get_pose set_pose set_pose_raw set_collision_mode is_static attach_object "
        "detach_object get_attached_objects is_attached find_nearest_pickable register_callback events update set_name "
        "object_id body_id name pickable mass user_data"
    ),
    "Agent": (
        "from_urdf from_params from_mesh from_dict set_goal set_goal_pose set_path stop set_motion_mode update "
        "execute_action add_action add_action_sequence clear_actions get_current_action get_action_queue_size "
        "is_action_queue_empty is_goal_reached is_moving pick drop velocity angular_velocity goal_pose path "
        "current_waypoint_index max_linear_vel max_linear_accel max_angular_vel max_angular_accel set_velocity "
        "set_cmd_vel set_controller add_controller remove_controller get_controller_by_type controllers controller "
        "add_plugin remove_plugin get_plugin plugins get_num_joints get_joint_state get_joint_state_by_name "
        "get_all_joints_state get_all_joints_state_by_name get_joints_state_by_name set_joint_target "
        "set_joint_target_by_name set_all_joints_targets set_joints_targets_by_name set_joints_targets "
        "is_joint_at_target is_joint_at_target_by_name are_all_joints_at_targets are_joints_at_targets_by_name "
        "are_joints_at_targets last_joint_targets joint_tolerance is_urdf_robot update_attached_objects_kinematics"
    ),
    "SimObjectManager": (
        "spawn_objects_grid spawn_grid_mixed spawn_grid_counts spawn_objects_batch spawn_from_config spawn_from_yaml "
        "get_pose get_all_poses get_poses_dict set_pose_all get_object_count"
    ),
    "AgentManager": (
        "spawn_agents_grid spawn_agents_grid_mixed spawn_agent_grid_counts register_callback set_goal_pose "
        "set_goal_pose_by_body_id set_goal_pose_by_object_id set_goal_pose_all set_joints_targets_all add_action_all "
        "add_action_sequence_all "
        "stop_all get_moving_count"
    ),
    "Action": "start update is_complete stop execute reset cancel get_duration",
    "Pose": (
        "x y z roll pitch yaw from_xyz from_euler from_yaw from_pybullet as_position as_orientation "
        "as_position_orientation as_tuple as_euler"
    ),
    "Path": (
        "from_positions from_paths create_rectangle create_square create_ellipse create_circle append "
        "get_total_distance visualize visualize_waypoints"
    ),
    "GridSpawnParams": "from_count from_dict total_cells",
    "SimulationParams": "from_dict from_config",
    "FleetCommandDispatcher": "dispatch",
    "LogLevelManager": "set_log_level",
}
PARAMETERS = {
    "MoveTo": {"target_pose", "tolerance"},
    "MoveAction": {"path", "auto_approach", "final_orientation_align", "direction"},
    "Wait": {"duration", "action_type"},
    "JointAction": {"target_joint_positions", "max_force", "tolerance"},
    "Pick": {
        *("target_object_id", "target_position", "search_radius", "use_2d_search", "use_approach", "approach_pose"),
        *("approach_offset", "pick_offset", "move_skip_threshold", "attach_link", "attach_relative_pose"),
    },
    "Drop": {
        *("drop_pose", "use_approach", "approach_pose", "approach_offset", "drop_offset", "move_skip_threshold"),
        *("place_gently", "drop_height", "target_object_id", "drop_relative_pose"),
    },
    "ShapeParams": {"shape_type", "mesh_path", "mesh_scale", "half_extents", "radius", "height", "rgba_color"},
    "SimObjectSpawnParams": {
        *("visual_shape", "collision_shape", "initial_pose", "mass", "pickable", "name", "visual_frame_pose"),
        *("collision_frame_pose", "collision_mode", "user_data"),
    },
    "AgentSpawnParams": {
        *("urdf_path", "motion_mode", "use_fixed_base", "controller", "plugins", "max_linear_vel"),
        *("max_linear_accel", "max_angular_vel", "max_angular_accel", "ik_params", "joint_tolerance"),
    },
    "ControllerParams": {
        *("max_linear_vel", "max_linear_accel", "max_angular_vel", "max_angular_accel", "cmd_vel_timeout"),
        *("navigation_2d", "default_direction"),
    },
}


@pytest.mark.parametrize("name", fleet_sim.__all__)
def test_every_public_name_can_be_imported_and_is_described(name: str) -> None:
    value = getattr(fleet_sim, name)
    assert name in dir(fleet_sim)
    assert (inspect.getdoc(value) or "").strip()


@pytest.mark.parametrize("name", EXPECTED)
def test_expected_members_exist(name: str) -> None:
    cls = getattr(fleet_sim, name)
    assert [member for member in EXPECTED[name].split() if not hasattr(cls, member)] == []


@pytest.mark.parametrize("name", PARAMETERS)
def test_expected_parameters_exist(name: str) -> None:
    assert PARAMETERS[name] <= set(inspect.signature(getattr(fleet_sim, name)).parameters)


def test_unknown_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = fleet_sim.no_such_thing
    assert fleet_sim.__version__


def test_the_log_level_is_that_of_the_package_alone() -> None:
    root, own = logging.getLogger(), logging.getLogger("fleet_sim")
    before = (root.level, own.level)
    try:
        fleet_sim.LogLevelManager.set_log_level("error")
        assert (root.level, own.level) == (before[0], logging.ERROR)
        with pytest.raises(ValueError, match="Did you mean 'warn'"):
            fleet_sim.LogLevelManager.set_log_level("warning")
    finally:
        own.setLevel(before[1])
