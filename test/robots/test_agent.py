"""Agent: driving, limits, what it was told last."""

from __future__ import annotations

import math
from pathlib import Path as FilePath

import numpy as np
import pytest
from small_world import BOX

from fleet_sim import (
    Agent,
    AgentSpawnParams,
    ControllerMode,
    ControllerParams,
    InvalidValueError,
    MotionMode,
    MoveTo,
    MultiRobotSimulationCore,
    Path,
    Pose,
    StateError,
    Wait,
)

URDF = """<robot name="one"><link name="base">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 0.6 0.4"/></geometry></visual>
<collision><geometry><box size="1 0.6 0.4"/></geometry></collision></link></robot>"""


def drive(sim: MultiRobotSimulationCore, agent: Agent, most: int = 300) -> int:
    """Step until `agent` has no goal left; return the number of steps."""
    for count in range(most):
        if agent.goal_pose is None:
            return count
        sim.step_once()
    raise AssertionError(f"{agent!r} did not arrive in {most} steps")


@pytest.mark.parametrize("mode", list(MotionMode))
@pytest.mark.parametrize("direction", [None, "forward", "backward", "auto"])
def test_a_goal_is_reached_exactly(sim: MultiRobotSimulationCore, mode: MotionMode, direction: str | None) -> None:
    agent = sim.spawn(AgentSpawnParams(BOX, BOX, motion_mode=mode))
    goal = Pose.from_yaw(3.0, -2.0, 0.0, 1.0)
    agent.set_goal_pose(goal, direction)
    assert agent.goal_pose == goal
    assert agent.is_moving
    assert agent.controller_mode is ControllerMode.POSE
    assert not agent.is_goal_reached()
    drive(sim, agent)
    assert agent.is_goal_reached()
    assert not agent.is_moving
    assert agent.get_pose().as_position() == pytest.approx([3.0, -2.0, 0.0], abs=1e-12)
    assert agent.get_pose().yaw == pytest.approx(1.0)


def test_a_path_is_followed_waypoint_by_waypoint(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    path = Path.from_positions([[1, 0, 0], [1, 1, 0], [0, 1, 0]])
    robot.set_path(path)
    assert robot.path == path
    seen = set()
    while robot.goal_pose is not None:
        seen.add(robot.current_waypoint_index)
        sim.step_once()
    assert seen == {0, 1, 2}
    assert robot.path is None


def test_stop_is_at_once_and_not_an_arrival(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    robot.set_goal(Pose((5, 0, 0)))
    for _ in range(5):
        sim.step_once()
    robot.stop()
    here = robot.get_pose()
    sim.step_once()
    assert robot.get_pose() == here
    assert not robot.is_goal_reached()
    assert not robot.is_moving
    assert robot.goal_pose is None


def test_driven_by_velocity_counts_as_moving(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    robot.set_cmd_vel(vx=1.0, wz=0.5)
    sim.step_once()
    assert robot.is_moving
    assert robot.controller_mode is ControllerMode.VELOCITY
    for _ in range(20):
        sim.step_once()
    assert np.linalg.norm(robot.velocity) == pytest.approx(1.0)
    assert robot.angular_velocity == pytest.approx(0.5)


@pytest.fixture
def waiting(sim: MultiRobotSimulationCore, robot: Agent) -> Wait:
    """Return an action that the robot is in the middle of."""
    action = Wait(5.0)
    robot.execute_action(action)
    sim.step_once()
    return action


@pytest.mark.parametrize("timeout", [-1.0, math.nan, math.inf, "1"])
def test_a_bad_timeout_is_refused_before_anything_is_cancelled(robot: Agent, waiting: Wait, timeout: object) -> None:
    with pytest.raises(InvalidValueError, match="timeout"):
        robot.set_velocity(1.0, timeout=timeout)  # type: ignore[arg-type]
    assert waiting.status == "in_progress"


@pytest.mark.parametrize("path", [[], [[1, 0, 0]], Path(), [None]])
def test_a_bad_path_is_refused_before_anything_is_cancelled(robot: Agent, waiting: Wait, path: list) -> None:
    with pytest.raises(InvalidValueError):
        robot.set_path(path)
    with pytest.raises(InvalidValueError, match="backward"):
        robot.set_path([Pose((1, 0, 0))], direction="sideways")
    assert waiting.status == "in_progress"
    assert robot.goal_pose is None


def test_a_fixed_base_cannot_be_sent_anywhere(sim: MultiRobotSimulationCore) -> None:
    arm = sim.spawn(AgentSpawnParams(BOX, BOX, name="arm", use_fixed_base=True))
    assert not arm.can_move
    for command in (lambda: arm.set_goal(Pose((1, 0, 0))), lambda: arm.set_velocity(1.0)):
        with pytest.raises(StateError, match="fixed base"):
            command()


def test_limits_are_read_only_copies(sim: MultiRobotSimulationCore) -> None:
    agent = sim.spawn(AgentSpawnParams(BOX, BOX, max_linear_vel=(1.0, 0.5, 0.1), max_angular_accel=4.0))
    assert agent.max_linear_vel.tolist() == [1.0, 0.5, 0.1]
    assert agent.max_angular_accel.tolist() == [4.0] * 3
    assert agent.max_linear_accel.tolist() == [5.0] * 3
    assert agent.max_angular_vel.tolist() == [3.0] * 3
    agent.max_linear_vel[:] = 9.0
    assert agent.max_linear_vel.tolist() == [1.0, 0.5, 0.1]
    with pytest.raises(AttributeError):
        agent.max_linear_vel = 3.0


def test_spawn_params_win_over_the_controller(sim: MultiRobotSimulationCore) -> None:
    params = AgentSpawnParams(max_linear_vel=1.0, controller=ControllerParams(max_linear_vel=3.0, max_angular_vel=2.0))
    agent = sim.spawn(params)
    assert agent.max_linear_vel[0] == 1.0
    assert agent.max_angular_vel[2] == 2.0


def test_motion_mode_changes_only_at_rest(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    assert robot.motion_mode is MotionMode.OMNIDIRECTIONAL
    robot.set_goal(Pose((1, 0, 0)))
    assert not robot.set_motion_mode("differential")
    drive(sim, robot)
    assert robot.set_motion_mode("differential")
    assert robot.motion_mode is MotionMode.DIFFERENTIAL
    with pytest.raises(KeyError, match="Did you mean 'differential'"):
        robot.set_motion_mode("diferential")


@pytest.mark.parametrize("command", ["goal", "velocity", "stop", "clear", "pose"])
def test_the_last_command_wins(sim: MultiRobotSimulationCore, robot: Agent, command: str) -> None:
    running, waiting = MoveTo(Pose((9, 0, 0))), Wait(1.0)
    robot.add_action_sequence([running, waiting])
    sim.step_once()
    if command == "goal":
        robot.set_goal(Pose((0, 2, 0)))
    elif command == "velocity":
        robot.set_velocity(vy=1.0)
    elif command == "stop":
        robot.stop()
    elif command == "clear":
        robot.clear_actions()
    else:
        robot.set_pose(Pose((1, 1, 0)))
    if command == "pose":  # being put elsewhere is not a command
        assert running.status == "in_progress"
        return
    assert {running.status, waiting.status} == {"cancelled"}
    assert running.error_message
    assert robot.is_action_queue_empty()
    for _ in range(60):
        sim.step_once()
    if command == "goal":
        assert robot.get_pose() == Pose((0, 2, 0)) or robot.get_pose().distance_to(Pose((0, 2, 0))) < 1e-9
    elif command != "velocity":
        assert robot.get_pose().x < 0.2


def test_a_robot_description_is_loaded(sim: MultiRobotSimulationCore, tmp_path: FilePath) -> None:
    path = tmp_path / "one.urdf"
    path.write_text(URDF)
    agent = Agent.from_urdf(str(path), Pose((2, 0, 0)), motion_mode="omnidirectional", sim_core=sim, name="u")
    agent.set_goal(Pose((3, 0, 0)))
    drive(sim, agent)
    sim.step_once()
    row = agent.row
    assert agent.is_urdf_robot
    assert not sim.spawn(AgentSpawnParams(BOX, BOX)).is_urdf_robot
    assert np.allclose(sim.world.aabb_upper[row] - sim.world.aabb_lower[row], [1.0, 0.6, 0.4], atol=0.02)
    assert np.allclose(sim.world.aabb_lower[row][0], 2.5, atol=0.02)
    with pytest.raises(InvalidValueError, match="no robot description file"):
        Agent.from_urdf(str(tmp_path / "two.urdf"), sim_core=sim)
    with pytest.raises(InvalidValueError, match="sim_core"):
        Agent.from_urdf(str(path))


def test_planning_attributes_of_an_idle_agent(robot: Agent) -> None:
    assert robot.goal_pose is None
    assert robot.path is None
    assert robot.blocked_by is None
    assert robot.get_current_action() is None
    assert robot.get_action_queue_size() == 0
    assert (robot.controllers, robot.controller, robot.plugins) == ([], None, [])
    assert not robot.block_on_collision
    robot.block_on_collision = True
    assert robot.block_on_collision
