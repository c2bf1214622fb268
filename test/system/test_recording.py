"""A run over ROS is recorded as commands, and replayed without ROS to the same state."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import rclpy
import yaml
from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import Path as PathMessage
from node_program import PATIENCE, Client
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.ros.node import FleetSimNode
from fleet_sim_msgs.action import MoveTo, Pick
from fleet_sim_msgs.msg import FleetCommand
from fleet_sim_msgs.srv import Attach, Delete, Load, Save, SendFleetCommand, Spawn

BOX = {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}
SCENARIO: dict[str, Any] = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 5.0, "seed": 3},
    "robots": [
        {"name": "r", "shape": BOX, "motion_mode": "omnidirectional", "grid": {"count": 4, "spacing": [2.0, 2.0, 0.0]}},
        {"name": "arm", "urdf_path": "arm6", "pose": [0.0, -5.0, 0.0], "use_fixed_base": True},
    ],
    "objects": [{"name": "crate", "shape": BOX, "pose": [0.4, 0.0, 0.3], "pickable": True}],
}


class Run:
    """The node in this process, its threads, and a client."""

    def __init__(self, config: Path, inputs: Path) -> None:
        rclpy.init(args=["--ros-args", "-p", f"config:={config}", "-p", f"record_inputs:={inputs}"])
        self.node = FleetSimNode()
        self.sim = self.node.simulation
        self.log = fs.record_commands(self.sim)
        self.events: list[fs.Command] = []
        self.sim.events.on("fleet_command", lambda command: self.events.append(command))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._threads = [Thread(target=run) for run in (self.sim.run_simulation, self._executor.spin)]
        for thread in self._threads:
            thread.start()
        self.client = Client()

    def stop(self) -> None:
        """Let the simulation stand still, to be looked at."""
        self.sim.stop()
        self._threads[0].join(PATIENCE)

    def end(self) -> None:
        """Leave ROS."""
        self.stop()
        self.client.close()
        self._executor.shutdown()
        self._threads[1].join(PATIENCE)
        self.node.destroy_node()
        rclpy.shutdown()


def send_everything(client: Client) -> None:
    """Send a message of every kind by which the world is changed; some are wrong."""
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y = 5.0, 1.0
    by_robot = PoseStamped(pose=pose.pose)
    by_robot.header.frame_id = "r_1/base_link"
    moving = Twist()
    moving.linear.x, moving.angular.z = 0.3, 0.1
    lost = PoseStamped(pose=pose.pose)
    lost.header.frame_id = "nowhere"
    joints = JointState(name=["joint_2"], position=[0.4])
    point = JointTrajectoryPoint(positions=[0.2])
    point.time_from_start.sec = 1
    for kind, topic, message in (
        (Twist, "/r_0/cmd_vel", moving),
        (PoseStamped, "/r_1/goal_pose", by_robot),
        (PoseStamped, "/r_3/goal_pose", lost),
        (PathMessage, "/r_2/path", PathMessage(poses=[pose, by_robot])),
        (PathMessage, "/r_2/path", PathMessage()),
        (JointState, "/arm/joint_commands", joints),
        (JointTrajectory, "/arm/joint_trajectory", JointTrajectory(joint_names=["joint_1"], points=[point])),
        (JointTrajectory, "/arm/joint_trajectory", JointTrajectory()),
    ):
        client.publisher(kind, topic).publish(message)
    assert client.call(Save, "/sim/save", Save.Request(name="begin")).success
    spawn = Spawn.Request(kind=Spawn.Request.ROBOT, name="late", pose=by_robot)
    spawn.shape = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.4, 0.2])
    assert client.call(Spawn, "/sim/spawn", spawn).success
    assert not client.call(Spawn, "/sim/spawn", spawn).success
    assert client.call(Attach, "/sim/attach", Attach.Request(robot="r_0", attach=True, search_radius=9.0)).success
    command = FleetCommand(kind=FleetCommand.VELOCITY, names=["late", "nobody"], twists=[moving] * 2, timeout=0.0)
    assert client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command)).result.accepted


def preempt_and_cancel(client: Client) -> None:
    """Send a robot somewhere, then elsewhere, and cancel that."""
    goal = MoveTo.Goal(robot="r_3")
    goal.pose.pose.position.x = 1.0
    first = client.send_goal(MoveTo, "/fleet/move_to", goal)
    goal.pose.pose.position.x = 50.0
    goal.pose.header.frame_id = "late/base_link"
    second = client.send_goal(MoveTo, "/fleet/move_to", goal)
    assert not first.result()[1].success, "another goal took its robot"
    future = second.handle.cancel_goal_async()
    client.until(future.done)
    assert second.result()[1].text == "cancelled by a client"


def test_what_came_by_ros_is_replayed_to_the_same_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "scenario.yaml"
    config.write_text(yaml.safe_dump(SCENARIO))
    inputs = tmp_path / "inputs.jsonl"
    run = Run(config, inputs)
    try:
        client = run.client
        send_everything(client)
        preempt_and_cancel(client)
        client.send_goal(Pick, "/fleet/pick", Pick.Goal(robot="r_2", object="crate", use_approach=False))
        assert client.call(Delete, "/sim/delete", Delete.Request(names=["r_1", "nobody"])).result.accepted == ["r_1"]
        assert client.call(Load, "/sim/load", Load.Request(name="begin")).success
        assert not client.call(Load, "/sim/load", Load.Request(name="bgin")).success
        send_everything(client)
        assert client.call(Trigger, "/sim/reset").success
        client.publisher(Twist, "/r_0/cmd_vel").publish(Twist())
        begin = run.sim.step_count
        client.until(lambda: run.sim.step_count > begin + 20)
        run.stop()
        wanted, kinds = (run.sim.step_count, run.sim.state_hash()), [type(entry.command) for entry in run.log.entries]
        assert len(kinds) == len(run.events), "every command is applied once, and is one event"
        assert fs.Call not in kinds
    finally:
        run.end()
    assert {fs.SetVelocity, fs.Navigate, fs.FollowPath, fs.SetJoints, fs.ExecuteAction, fs.CancelActions} <= set(kinds)
    assert {fs.Spawn, fs.Attach, fs.Remove, fs.SaveState, fs.RestoreState, fs.Reset} <= set(kinds)
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        fs.replay_commands(sim, run.log)
        while sim.step_count < wanted[0]:
            sim.step_once()
        assert (sim.step_count, sim.state_hash()) == wanted
    # The node's own file of them, by the command line: it has the scenario too.
    config.unlink()
    assert main(["run", "--replay-inputs", str(inputs), "--hash", "--lenient"]) == 0
    assert f"state hash: {wanted[1]}" in capsys.readouterr().out.splitlines()


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
