"""Measure the node with real messages on loopback: `python bench/ros.py [--quick] [--robots 10 1000] [--real-time]`.

For each size and interface: seconds until the first state arrives; time from a velocity command to each robot until
half, 99 % and all of them are seen moving, at real time; seconds until as many MoveTo goals are accepted, the node's
processor time for that, and seconds until they have results; real-time factor at full speed, share of a core the node
takes at that, its processor time per simulated second, and what one publication of each kind, for all robots, takes of
it. State is at 10 Hz of simulated time, the step is 0.1 s, so what is seen of motion is up to 100 ms old. At the end:
the budgets, met or missed.

Then, for each size, a node as it is by default, at real time and with a peer that reads everything (ros_peer.py): the
real-time factor, the share of a core that the node takes, messages that were lost, and how long it is from a command
until the end of the step that applies it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import rclpy
import yaml
from geometry_msgs.msg import Twist
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from unique_identifier_msgs.msg import UUID
from visualization_msgs.msg import MarkerArray

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import FleetCommand, FleetState

PATIENCE = 120.0
MEASURED, MEASURED_QUICK = 5.0, 2.0
"""Duration of the measurement of the real-time factor, in s."""
RATE = 10.0
"""Rate of all state messages, per simulated second."""
COSTS = ("tf", "odom", "fleet_states", "markers")
"""The measured kinds of messages, by the names of their rates."""
WIDTH = 9
OWN_ROS = "pocket_ros" in str(rclpy.__name__)
"""Whether the client library is the one that comes with fleet_sim."""
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)


def scenario(robots: int, *, per_robot: bool) -> dict[str, Any]:
    """Return a scenario with a grid of robots, with or without per-robot interfaces."""
    robot = {
        "name": "robot",
        "pose": [0.0, 0.0, 0.15],
        "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.15]},
        "grid": {"count": robots, "spacing": [2.0, 2.0, 0.0]},
    }
    rates = {**dict.fromkeys(("clock", "tf", "odom", "fleet_states"), RATE), "markers": 0.0}
    return {
        "simulation": {"timestep": 0.1, "target_rtf": 1.0},
        "robots": [robot],
        "ros": {"per_robot": "all" if per_robot else "none", "groups": ["commands", "state"], "rates": rates},
    }


class Measurement:
    """The node in a process, and a client."""

    def __init__(self, robots: int, *, per_robot: bool, seconds: float = MEASURED) -> None:
        self.robots, self.per_robot, self.seconds = robots, per_robot, seconds
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
            process = subprocess.Popen(command)
            try:
                self.until(lambda: self.states)
                self.row["start s"] = f"{time.perf_counter() - begin:.1f}"
                self.measure_command()
                self.measure_goals(process.pid)
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
        """Command all robots at once, through their own topics or the fleet topic."""
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
        seen: list[float] = []
        command = FleetCommand(kind=FleetCommand.VELOCITY, names=names, twists=[twist] * len(names))
        begin = time.perf_counter()
        for publisher in publishers:
            publisher.publish(twist if self.per_robot else command)

        def all_move() -> bool:
            count = sum(robot.moving for robot in self.states[-1].robots) if self.states else 0
            seen.extend([time.perf_counter() - begin] * (count - len(seen)))
            return count == len(names)

        self.until(all_move)
        for what, share in (("p50", 0.5), ("p99", 0.99), ("all", 1.0)):
            latency = seen[max(0, math.ceil(share * len(seen)) - 1)]
            self.row[f"{what} move ms"] = f"{latency * 1e3:.0f}"
        moving = [sum(robot.moving for robot in state.robots) for state in self.states]
        self.row["steps"] = str(sum(0 < count < len(names) for count in moving) + 1)
        for publisher in publishers:
            self.node.destroy_publisher(publisher)

    def measure_goals(self, pid: int) -> None:
        """Send a goal to each robot at once, through the services of the action.

        An action client asks the same, but also takes the status and the feedback of every goal, which for a thousand
        of them costs a client of rclpy far more than it costs the node.
        """
        send, fetch = (
            self.node.create_client(kind, f"/fleet/move_to/_action/{name}", qos_profile=ALL)
            for kind, name in ((MoveTo.Impl.SendGoalService, "send_goal"), (MoveTo.Impl.GetResultService, "get_result"))
        )
        self.until(lambda: send.service_is_ready() and fetch.service_is_ready())
        requests = []
        for robot in self.states[-1].robots:
            goal = MoveTo.Goal(robot=robot.name)
            goal.pose.pose = robot.pose
            goal.pose.pose.position.x += 1.0
            goal_id = UUID(uuid=numpy.frombuffer(os.urandom(16), numpy.uint8))
            requests.append(send.srv_type.Request(goal_id=goal_id, goal=goal))
        # A client of rclpy takes longer to read the state of a thousand robots than the node takes to publish it.
        self.node.destroy_subscription(self.subscription)
        begin, used = time.perf_counter(), processor_time(pid)
        accepted = self.answers(send, requests)
        assert all(answer.accepted for answer in accepted)
        self.row["accepted s"] = f"{time.perf_counter() - begin:.2f}"
        self.row["of node s"] = f"{processor_time(pid) - used:.2f}"
        results = self.answers(fetch, [fetch.srv_type.Request(goal_id=request.goal_id) for request in requests])
        self.row["results s"] = f"{time.perf_counter() - begin:.2f}"
        self.row["reached"] = str(sum(answer.result.success for answer in results))
        for client in (send, fetch):
            self.node.destroy_client(client)

    def answers(self, client: Any, requests: Sequence[Any]) -> list[Any]:
        """Send all requests at once and return their answers."""
        answers: list[Any] = []
        for request in requests:
            client.call_async(request).add_done_callback(lambda future: answers.append(future.result()))
        self.until(lambda: len(answers) == len(requests))
        return answers

    def measure_speed(self, pid: int) -> None:
        """Run as fast as possible, with a client that receives messages without decoding them."""
        self.stamps: list[bytes] = []
        self.node.create_subscription(Clock, "/clock", self.stamps.append, 1, raw=True)
        for kind, topic in ((FleetState, "/fleet/states"), (MarkerArray, "/fleet/markers")):
            self.node.create_subscription(kind, topic, lambda data: None, 10, raw=True)
        self.set_parameters({"target_rtf": 0.0})
        simulated, passed, used = self.watch(pid, self.seconds)
        self.row["RTF"] = f"{simulated / passed:.1f}"
        self.row["cores"] = f"{used / passed:.2f}"
        self.row["cpu ms/sim s"] = f"{used / simulated * 1e3:.1f}"
        off = {f"rates.{name}": 0.0 for name in COSTS}
        self.set_parameters(off)
        simulated, _, used = self.watch(pid, self.seconds / 2)
        rest = used / simulated
        for name in COSTS:
            self.set_parameters({**off, f"rates.{name}": RATE})
            simulated, _, used = self.watch(pid, self.seconds / 2)
            self.row[f"{name} ms"] = f"{max(0.0, used / simulated - rest) / RATE * 1e3:.2f}"

    def watch(self, pid: int, seconds: float) -> tuple[float, float, float]:
        """Return simulated time, real time and processor time of the node over a period, all in s."""
        self.stamps.clear()
        self.until(lambda: self.stamps)
        begin, used, first = time.perf_counter(), processor_time(pid), self.stamps[-1]
        self.until(lambda: time.perf_counter() > begin + seconds)
        self.stamps.clear()
        self.until(lambda: self.stamps)
        passed, used = time.perf_counter() - begin, processor_time(pid) - used
        return seconds_of(self.stamps[-1]) - seconds_of(first), passed, used

    def set_parameters(self, values: dict[str, float]) -> None:
        """Set parameters of the node; returns when they are set."""
        parameters = AsyncParameterClient(self.node, "/fleet_sim")
        self.until(parameters.services_are_ready)
        future = parameters.set_parameters([Parameter(name, value=value) for name, value in values.items()])
        self.until(future.done)
        assert all(result.successful for result in future.result().results), future.result()


def seconds_of(data: bytes) -> float:
    """Return the time of a Clock message in s."""
    clock = deserialize_message(data, Clock).clock
    return float(clock.sec + clock.nanosec * 1e-9)


# Real time, at the default time step, with everything that a node offers by default.


STEP = 1.0 / 240.0
DRIVEN = 100
PEER = Path(__file__).with_name("ros_peer.py")


def real_time(robots: int, seconds: float) -> dict[str, str]:
    """Measure a node at real time while a peer reads odom, TF and joint states of all robots; half of them drive.

    Of those a hundred get a velocity command ten times a second. `core` is processor time per simulated second.
    """
    driven = min(DRIVEN, -(-robots // 2))
    groups = ["commands", "state", "description", "actions", "sensors"]
    # What a node costs once its machine code is loaded: else the first seconds are those of loading it.
    run = {"timestep": STEP, "target_rtf": 1.0, "compiled_code": "always"}
    settings = {"simulation": run, "ros": {"per_robot": "all", "groups": groups}}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(settings, file)
        file.flush()
        options = ["-p", f"config:={file.name}", "-p", f"robots:={robots}"]
        # What it says is seen: that the middleware refuses robots an interface, for one.
        node = subprocess.Popen([sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", *options])
        peer = subprocess.Popen(
            [sys.executable, PEER, *map(str, (robots, driven, seconds))], stdout=subprocess.PIPE, text=True
        )
        try:
            assert peer.stdout is not None and peer.stdout.readline() == "begin\n"
            used = processor_time(node.pid)
            seen = json.loads(peer.stdout.readline())
            used = processor_time(node.pid) - used
        finally:
            peer.terminate()
            node.send_signal(signal.SIGINT)
            for process in (peer, node):
                process.wait(PATIENCE)
    latencies = numpy.array(seen["latencies"]) * 1e3
    return {
        "robots": str(robots),
        "RTF": f"{seen['simulated'] / seen['passed']:.2f}",
        "core": f"{used / seen['simulated']:.3f}",
        "odom/s": f"{seen['odom'] / seen['simulated']:.0f}",
        "tf/s": f"{seen['tf'] / seen['simulated']:.0f}",
        "lost": str(seen["lost odom"]),
        "commands lost": str(seen["lost commands"]),
        **{f"p{share} ms": f"{numpy.percentile(latencies, share):.1f}" for share in (50, 99, 100)},
    }


def print_row(row: dict[str, str], *, heading: bool) -> None:
    """Print a row of a table, below the names of its columns where it is the first."""
    if heading:
        print("  ".join(f"{name:>{WIDTH}}" for name in row))
    print("  ".join(f"{text:>{max(WIDTH, len(name))}}" for name, text in row.items()), flush=True)


REAL_TIME_BUDGETS = {300: 0.15, 1000: 0.2 if OWN_ROS else 0.4}
"""Shares of an idle core, by the number of robots."""

BUDGETS = (
    # Columns: name, fleet size, interfaces, figure, comparison, limit.
    ("1,000 robots with interfaces of their own, RTF", "1000", "per robot", "RTF", ">=", 30.0 if OWN_ROS else 15.0),
    ("1,000 robots, fleet interface, RTF", "1000", "fleet", "RTF", ">=", 50.0),
    ("10,000 robots, fleet interface, RTF", "10000", "fleet", "RTF", ">=", 10.0),
    ("1,000 robots commanded at once, steps until all move", "1000", "per robot", "steps", "<=", 2.0),
    ("1,000 MoveTo goals, s until accepted", "1000", "fleet", "accepted s", "<=", 1.0),
    ("1,000 MoveTo goals, reached", "1000", "fleet", "reached", ">=", 1000.0),
)


def print_budgets(rows: list[dict[str, str]]) -> None:
    """Print which budgets are met; those of sizes that were not measured are omitted."""
    for what, robots, interfaces, figure, comparison, limit in BUDGETS:
        for row in rows:
            if (row["robots"], row["interfaces"]) != (robots, interfaces):
                continue
            print_budget(what, float(row[figure]), comparison, limit)


def print_budget(what: str, value: float, comparison: str, limit: float) -> None:
    """Print whether a budget is met."""
    met = value >= limit if comparison == ">=" else value <= limit
    print(f"{'met   ' if met else 'MISSED'}  {what}: {value:g} (budget {comparison} {limit:g})")


def processor_time(pid: int) -> float:
    """Return the processor time a process has used, in s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def main() -> None:
    """Print one row for each size and interface, then one for each size at real time."""
    parser = argparse.ArgumentParser(description="Measure the node.")
    parser.add_argument("--robots", type=int, nargs="+", metavar="N", help="sizes; default 1 10 100 1000")
    parser.add_argument("--quick", action="store_true", help="shorter, and with 100 robots unless sizes are given")
    parser.add_argument("--real-time", action="store_true", help="only at real time, with 300 and 1000 robots")
    args = parser.parse_args()
    seconds = MEASURED_QUICK if args.quick else MEASURED
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if not args.real_time:
        measure_speeds(args.robots or ([100] if args.quick else [1, 10, 100, 1000]), seconds)
    print("all interfaces, dt 1/240 s at real time, half of the robots drive, a peer reads everything")
    for index, robots in enumerate(args.robots or ([100] if args.quick else list(REAL_TIME_BUDGETS))):
        row = real_time(robots, seconds)
        print_row(row, heading=index == 0)
        limit = REAL_TIME_BUDGETS.get(robots)
        if limit is not None:
            print_budget(f"{robots:,} robots at real time, share of a core", float(row["core"]), "<=", limit)


def measure_speeds(sizes: Sequence[int], seconds: float) -> None:
    """Print how fast a node of each size runs, with and without interfaces of each robot."""
    rclpy.init()
    print(f"client library: {rclpy.__name__} of {Path(str(rclpy.__file__)).parents[1].name}, dt 0.1 s, state at 10 Hz")
    rows = []
    for robots in sizes:
        for per_robot in (False, True):
            rows.append(Measurement(robots, per_robot=per_robot, seconds=seconds).run())
            print_row(rows[-1], heading=len(rows) == 1)
    print_budgets(rows)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
