"""Measure the node with real messages on loopback: `python bench/ros.py --robots 10 1000`.

For each size and interface: seconds until the first state arrives, real-time factor at full speed, processor time per
simulated second, time and steps from a velocity command to each robot until all move, and seconds until as many MoveTo
goals are accepted and have results. State is at 10 Hz of simulated time, the step is 0.1 s.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
import yaml
from geometry_msgs.msg import Twist
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.serialization import deserialize_message

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import FleetCommand, FleetState

PATIENCE = 120.0
MEASURED = 5.0
"""How long the real-time factor is measured, in s."""
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)


def scenario(robots: int, *, per_robot: bool) -> dict[str, Any]:
    """Return a grid of robots, with interfaces of their own or none."""
    robot = {
        "name": "robot",
        "pose": [0.0, 0.0, 0.15],
        "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]},
        "grid": {"count": robots, "spacing": [2.0, 2.0, 0.0]},
    }
    rates = dict.fromkeys(("clock", "tf", "odom", "fleet_states"), 10.0)
    return {
        "simulation": {"timestep": 0.1, "target_rtf": 1.0},
        "robots": [robot],
        "ros": {"per_robot": "all" if per_robot else "none", "groups": ["commands", "state"], "rates": rates},
    }


class Measurement:
    """The node in a process, and a client."""

    def __init__(self, robots: int, *, per_robot: bool) -> None:
        self.robots, self.per_robot = robots, per_robot
        self.row: dict[str, str] = {"robots": str(robots), "interfaces": "per robot" if per_robot else "fleet"}
        self.node = Node("bench")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: list[FleetState] = []
        self.subscription = self.node.create_subscription(FleetState, "/fleet/states", self.states.append, 100)

    def run(self) -> dict[str, str]:
        """Return all figures."""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(scenario(self.robots, per_robot=self.per_robot), file)
            file.flush()
            begin = time.perf_counter()
            command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", f"config:={file.name}"]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            try:
                self.until(lambda: self.states)
                self.row["start s"] = f"{time.perf_counter() - begin:.1f}"
                self.measure_command()
                self.measure_goals()
                self.measure_speed(process.pid)
            finally:
                begin = time.perf_counter()
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)
                self.row["end s"] = f"{time.perf_counter() - begin:.1f}"
                self.executor.shutdown()
                self.node.destroy_node()
        return self.row

    def until(self, condition: Callable[[], object]) -> None:
        """Spin until `condition()`; raises TimeoutError."""
        deadline = time.perf_counter() + PATIENCE
        while not condition():
            if time.perf_counter() > deadline:
                raise TimeoutError("the node did not answer in time")
            self.executor.spin_once(timeout_sec=0.05)

    def measure_command(self) -> None:
        """Command all robots at once, by their own topics or by the fleet's."""
        names = [robot.name for robot in self.states[-1].robots]
        twist = Twist()
        twist.linear.x = 0.5
        if self.per_robot:
            publishers = [self.node.create_publisher(Twist, f"/{name}/cmd_vel", 1) for name in names]
            self.until(lambda: all(publisher.get_subscription_count() for publisher in publishers))
        else:
            publishers = [self.node.create_publisher(FleetCommand, "/fleet/command", 10)]
            self.until(publishers[0].get_subscription_count)
        self.states.clear()
        begin = time.perf_counter()
        command = FleetCommand(kind=FleetCommand.VELOCITY, names=names, twists=[twist] * len(names))
        for publisher in publishers:
            publisher.publish(twist if self.per_robot else command)
        self.until(lambda: self.states and all(robot.moving for robot in self.states[-1].robots))
        self.row["all move ms"] = f"{(time.perf_counter() - begin) * 1e3:.0f}"
        moving = [sum(robot.moving for robot in state.robots) for state in self.states]
        self.row["steps"] = str(sum(0 < count < len(names) for count in moving) + 1)
        for publisher in publishers:
            self.node.destroy_publisher(publisher)

    def measure_goals(self) -> None:
        """Send a goal to each robot at once."""
        client = ActionClient(
            self.node, MoveTo, "/fleet/move_to", goal_service_qos_profile=ALL, result_service_qos_profile=ALL
        )
        self.until(client.server_is_ready)
        goals = []
        for robot in self.states[-1].robots:
            goal = MoveTo.Goal(robot=robot.name)
            goal.pose.pose = robot.pose
            goal.pose.pose.position.x += 1.0
            goals.append(goal)
        begin = time.perf_counter()
        sent = [client.send_goal_async(goal) for goal in goals]
        self.until(lambda: all(future.done() for future in sent))
        self.row["accepted s"] = f"{time.perf_counter() - begin:.2f}"
        results = [future.result().get_result_async() for future in sent]
        self.until(lambda: all(future.done() for future in results))
        self.row["results s"] = f"{time.perf_counter() - begin:.2f}"
        self.row["reached"] = str(sum(future.result().result.success for future in results))
        client.destroy()

    def measure_speed(self, pid: int) -> None:
        """Let it run as fast as it can, read by a client that does not decode what it gets."""
        self.node.destroy_subscription(self.subscription)
        raw: list[bytes] = []
        self.node.create_subscription(FleetState, "/fleet/states", raw.append, 100, raw=True)
        parameters = AsyncParameterClient(self.node, "/fleet_sim")
        self.until(parameters.services_are_ready)
        future = parameters.set_parameters([Parameter("target_rtf", value=0.0)])
        self.until(future.done)
        raw.clear()
        begin, used = time.perf_counter(), processor_time(pid)
        self.until(lambda: time.perf_counter() > begin + MEASURED)
        passed, used = time.perf_counter() - begin, processor_time(pid) - used
        first, last = (deserialize_message(data, FleetState).header.stamp for data in (raw[0], raw[-1]))
        simulated = (last.sec - first.sec) + (last.nanosec - first.nanosec) * 1e-9
        self.row["RTF"] = f"{simulated / passed:.1f}"
        self.row["cpu ms per sim s"] = f"{used / simulated * 1e3:.1f}"


def processor_time(pid: int) -> float:
    """Return the processor time a process has used, in s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def main() -> None:
    """Print one row for each size and interface."""
    parser = argparse.ArgumentParser(description="Measure the node.")
    parser.add_argument("--robots", type=int, nargs="+", default=[1, 10, 100, 1000], metavar="N")
    args = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    print(f"client library: {rclpy.__name__} of {Path(str(rclpy.__file__)).parents[1].name}, dt 0.1 s, state at 10 Hz")
    header_shown = False
    for robots in args.robots:
        for per_robot in (False, True):
            row = Measurement(robots, per_robot=per_robot).run()
            if not header_shown:
                print("  ".join(f"{name:>11}" for name in row))
                header_shown = True
            print("  ".join(f"{row[name]:>{max(11, len(name))}}" for name in row), flush=True)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
