"""FleetCommandDispatcher: commands for many robots, and who is refused."""

from __future__ import annotations

import numpy as np
import pytest
from arms import PANDA, READY
from small_world import BOX

from fleet_sim import (
    ActionStatus,
    Agent,
    AgentManager,
    AgentSpawnParams,
    Attach,
    Call,
    CancelActions,
    ExecuteAction,
    FollowPath,
    GridSpawnParams,
    InvalidValueError,
    JointAction,
    MoveTo,
    MultiRobotSimulationCore,
    Navigate,
    Pose,
    Remove,
    SetJoints,
    SetPoses,
    SetVelocity,
    SimObject,
    SimObjectSpawnParams,
    Stop,
    Wait,
)

UNIT = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.fixture
def fleet(sim: MultiRobotSimulationCore) -> list[Agent]:
    """Four robots r_0 to r_3, a fixed arm, and a crate carried by r_3."""
    grid = GridSpawnParams.from_count(4, columns=4)
    robots = AgentManager(sim).spawn_agents_grid(4, grid, AgentSpawnParams(BOX, BOX), name_prefix="r")
    sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 9, 0)), name="arm", use_fixed_base=True))
    crate = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((3, 0, 0.3)), name="crate"))
    robots[3].attach_object(crate, keep_world_pose=True)
    return robots


def navigate(*names: str, **changes: object) -> Navigate:
    """A command to drive to (5, 5, 0)."""
    values = {"positions": np.tile([5.0, 5.0, 0.0], (len(names), 1)), "orientations": np.tile(UNIT, (len(names), 1))}
    return Navigate(names=names, **{**values, **changes})  # type: ignore[arg-type]


def test_navigation_names_who_cannot(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    fleet[0].attach_object(fleet[1], keep_world_pose=True)
    ack = sim.dispatcher.dispatch(navigate("r_0", "r_1", "nobody", "arm", "crate", command_id="7", source="test"))
    assert ack.accepted_names == ("r_0",)
    assert ack.rejected == {
        "r_1": "it is carried by 'r_0'",
        "nobody": "unknown robot",
        "arm": "it has a fixed base and cannot move",
        "crate": "not a robot",
    }
    assert (ack.command_id, ack.source, ack.ok) == ("7", "test", False)
    assert fleet[0].goal_pose == Pose((5, 5, 0))


def test_of_duplicates_the_first_counts(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    command = navigate("r_0", "r_1", "r_0", positions=[[1, 0, 0], [2, 0, 0], [3, 0, 0]])
    ack = sim.dispatcher.dispatch(command)
    assert ack.accepted_names == ("r_0", "r_1")
    assert ack.rejected == {"r_0": "duplicate target"}
    assert fleet[0].goal_pose == Pose((1, 0, 0))
    assert fleet[1].goal_pose == Pose((2, 0, 0))
    first, second = Wait(1.0), Wait(2.0)
    ack = sim.dispatcher.dispatch(ExecuteAction(names=("r_0", "r_0"), actions=(first, second)))
    assert ack.accepted_names == ("r_0",)
    sim.step_once()
    assert (first.status, second.status) == ("in_progress", "not_started")


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": [[np.nan, 0, 0], [1, 1, 0]]},
        {"positions": [[np.inf, 0, 0], [1, 1, 0]]},
        {"orientations": [[0, 0, 0, 0], UNIT]},
        {"orientations": [[0, np.nan, 0, 1], UNIT]},
    ],
)
def test_a_bad_pose_is_refused_for_its_robot_alone(
    sim: MultiRobotSimulationCore, fleet: list[Agent], changes: dict
) -> None:
    ack = sim.dispatcher.dispatch(navigate("r_0", "r_1", **changes))
    assert ack.accepted_names == ("r_1",)
    assert "not finite, or its quaternion is zero" in ack.rejected["r_0"]
    assert fleet[0].goal_pose is None


@pytest.mark.parametrize(
    "command",
    [
        navigate("r_0", positions=[[0, 0]]),
        navigate("r_0", positions="here"),
        FollowPath(name="r_0", positions=np.empty((0, 3)), orientations=np.empty((0, 4))),
        FollowPath(name="r_0", positions=[[np.nan, 0, 0]], orientations=[UNIT]),  # type: ignore[arg-type]
        SetVelocity(names=("r_0",), linear=[[1, 0]], angular=[[0, 0, 0]]),  # type: ignore[arg-type]
        SetVelocity(names=("r_0",), linear=np.ones((1, 3)), angular=np.zeros((1, 3)), timeout=-1.0),
        SetVelocity(names=("r_0",), linear=np.ones((1, 3)), angular=np.zeros((1, 3)), timeout=np.nan),
        ExecuteAction(names=("r_0",), actions=()),
    ],
)
def test_a_malformed_command_changes_nothing(sim: MultiRobotSimulationCore, fleet: list[Agent], command) -> None:
    action = Wait(9.0)
    fleet[0].execute_action(action)
    before = sim.state_hash()
    with pytest.raises(InvalidValueError):
        sim.dispatcher.dispatch(command)
    assert sim.state_hash() == before
    assert action.status == "not_started"


def test_velocities(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    linear = np.array([[1.0, 0, 0], [np.nan, 0, 0]])
    ack = sim.dispatcher.dispatch(SetVelocity(names=("r_0", "r_1"), linear=linear, angular=np.zeros((2, 3))))
    assert (ack.accepted_names, ack.rejected) == (("r_0",), {"r_1": "velocity is not finite"})
    sim.step_once()
    assert fleet[0].is_moving
    assert not fleet[1].is_moving


def test_paths_poses_and_stops(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    path = FollowPath(name="r_0", positions=[[1, 0, 0], [1, 1, 0]], orientations=[UNIT, UNIT])  # type: ignore[arg-type]
    assert sim.dispatcher.dispatch(path).ok
    assert len(fleet[0].path or []) == 2
    poses = SetPoses(names=("r_1", "crate"), positions=np.full((2, 3), 4.0), orientations=np.tile(UNIT, (2, 1)))
    ack = sim.dispatcher.dispatch(poses)
    assert ack.rejected == {"crate": "it is carried by 'r_3'"}
    assert fleet[1].get_pose() == Pose((4, 4, 4))
    assert sim.dispatcher.dispatch(Stop(names=("crate",))).rejected == {"crate": "not a robot"}
    assert sim.dispatcher.dispatch(Stop()).accepted_names == ("r_0", "r_1", "r_2", "r_3", "arm")
    assert fleet[0].path is None


def test_actions_replace_queue_and_cancel(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    first, second, third = MoveTo(Pose((9, 0, 0))), Wait(1.0), Wait(1.0)
    sim.dispatcher.dispatch(ExecuteAction(names=("r_0",), actions=(first,)))
    sim.step_once()
    sim.dispatcher.dispatch(ExecuteAction(names=("r_0",), actions=(second,), replace=False))
    assert fleet[0].get_action_queue_size() == 2
    sim.dispatcher.dispatch(ExecuteAction(names=("r_0",), actions=(third,)))
    assert first.status == second.status == "cancelled"
    assert fleet[0].goal_pose is None
    refused = sim.dispatcher.dispatch(ExecuteAction(names=("r_0", "arm"), actions=("nonsense", Wait(1.0))))
    assert "derive from Action" in refused.rejected["r_0"]
    assert refused.accepted_names == ("arm",)
    assert third.status == "not_started"
    sim.step_once()
    assert sim.dispatcher.dispatch(CancelActions(names=("r_0",), reason="enough")).ok
    assert (third.status, third.error_message) == ("cancelled", "enough")


def test_attaching(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    crate: SimObject = sim.get_object("crate")

    def attach(name: str, **details: object) -> dict[str, str]:
        return sim.dispatcher.dispatch(Attach(name=name, **details)).rejected  # type: ignore[arg-type]

    assert "no free pickable" in attach("r_2", object_name="crate", search_radius=5.0)["r_2"]
    assert attach("r_3", attach=False) == {}
    assert attach("r_3", attach=False) == {"r_3": "nothing to detach"}
    assert "m away" in attach("r_0", object_name="crate", reach=0.5)["r_0"]
    assert "unknown object" in attach("r_0", object_name="crat")["r_0"]
    assert attach("r_2", search_radius=1.5) == {}
    assert crate.attached_to == fleet[2]


def test_removing_and_calling(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    ack = sim.dispatcher.dispatch(Remove(names=("r_0", "crate", "r_9")))
    assert ack.accepted_names == ("r_0", "crate")
    assert ack.rejected == {"r_9": "unknown robot"}
    assert not fleet[0].is_alive
    assert sim.dispatcher.dispatch(Call(function=lambda sim: len(sim.agents))).value == 4


def test_the_command_is_announced_before_it_changes_anything(sim: MultiRobotSimulationCore, fleet: list[Agent]) -> None:
    seen = []
    sim.events.on("fleet_command", lambda command: seen.append((command, fleet[0].goal_pose)))
    command = navigate("r_0")
    sim.dispatcher.dispatch(command)
    assert seen == [(command, None)]
    with pytest.raises(InvalidValueError, match="unknown command"):
        sim.dispatcher.dispatch("go")  # type: ignore[arg-type]


def test_joints_of_many_robots_are_commanded_at_once(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    arms = [
        sim.spawn(AgentSpawnParams(urdf_path=PANDA, use_fixed_base=True, name=f"arm_{index}", joint_positions=READY))
        for index in range(4)
    ]
    names = ("arm_0", "arm_1", "arm_2", "arm_3", "robot", "nobody", "arm_0")
    action = JointAction({"panda_joint7": 2.0})
    arms[3].add_action(action)
    sim.step_once()
    positions = np.array([[0.1, -1.0], [9.0, -1.0], [np.nan, -1.0], [0.4, -1.0], [0, -1], [0, -1], [0, -1]])
    joints = ("panda_joint1", "panda_joint4")
    ack = sim.dispatcher.dispatch(SetJoints(names=names, joint_names=joints, positions=positions))
    assert ack.accepted_names == ("arm_0", "arm_3")
    assert ack.rejected == {
        "arm_0": "duplicate target",
        "arm_1": "target 9 of joint 'panda_joint1' is outside its limits [-2.9671, 2.9671]",
        "arm_2": "a number is not finite",
        "robot": "it has no joints that move",
        "nobody": "unknown robot",
    }
    assert action.status is ActionStatus.IN_PROGRESS, "its joint was not among them"
    assert arms[3].last_joint_targets == {0: 0.4, 3: -1.0, 6: 2.0}
    assert arms[1].last_joint_targets == {}
    ack = sim.dispatcher.dispatch(SetJoints(names=("arm_1",), joint_names=("panda_joint7",), velocities=[[0.5]]))  # type: ignore[arg-type]
    sim.step_once()
    assert ack.ok
    assert arms[1].get_joint_state(6)[1] == 0.5
    sim.dispatcher.dispatch(Stop(names=("arm_1",)))
    sim.step_once()
    assert arms[1].get_joint_state(6)[1] == 0.0


def test_joint_commands_without_names_are_for_all_joints_that_move(sim: MultiRobotSimulationCore) -> None:
    arm = sim.spawn(AgentSpawnParams(urdf_path=PANDA, name="arm"))
    assert sim.dispatcher.dispatch(SetJoints(names=("arm",), positions=np.array([READY]))).ok
    assert list(arm.last_joint_targets.values()) == READY
    refused = sim.dispatcher.dispatch(SetJoints(names=("arm",), positions=np.zeros((1, 4))))
    assert "9 joints that move, got 4" in refused.rejected["arm"]
    refused = sim.dispatcher.dispatch(SetJoints(names=("arm",), joint_names=("elbow",), positions=np.zeros((1, 1))))
    assert "unknown joint" in refused.rejected["arm"]
    for bad in (SetJoints(names=("arm",)), SetJoints(names=("arm",), positions=np.zeros(9))):
        with pytest.raises(InvalidValueError):
            sim.dispatcher.dispatch(bad)
