"""Measure slotcars with real messages on loopback: `python bench/rmf.py [--quick] [--robots 20 200]`.

All of them are sent back and forth by path requests and publish their states as Open-RMF's simulation has them, at
2 Hz, while a client hears all of it. For each size: seconds until each robot was seen moving, the real-time factor kept
at a target of 1, the share of a core that the node takes at that, and the factor at full speed.
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
from typing import Any

import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile
from rmf_fleet_msgs.msg import Location, PathRequest, RobotState
from rosgraph_msgs.msg import Clock

PATIENCE = 120.0
MEASURED, MEASURED_QUICK = 20.0, 3.0
"""Duration of a measurement, in s."""
WAY = 2.0
"""How far robots are sent, in m."""
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
WIDTH = 12


def scenario(robots: int, target_rtf: float) -> dict[str, Any]:
    """Return a scenario with a grid of slotcars, without interfaces of their own."""
    robot = {
        "name": "car",
        "pose": [0.0, 0.0, 0.15],
        "shape": {"shape_type": "cylinder", "radius": 0.25, "height": 0.3},
        "motion_mode": "differential",
        "block_on_collision": True,
        "grid": {"count": robots, "spacing": [4.0, 4.0, 0.0]},
        "slotcar": {},
        "battery": {},
    }
    return {
        "simulation": {"timestep": 0.05, "target_rtf": target_rtf, "monitor": False, "gui": False},
        "robots": [robot],
        "ros": {"per_robot": "none"},
    }


class Fleet:
    """A client that sends all robots on as soon as they are where they were sent."""

    def __init__(self) -> None:
        self.node = Node("bench_rmf")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.states: dict[str, RobotState] = {}
        self.moved: set[str] = set()
        self.now = 0.0
        self.tasks = 0
        self.paths = self.node.create_publisher(PathRequest, "/robot_path_requests", ALL)
        self.subscriptions = [
            self.node.create_subscription(RobotState, "/robot_state", self._hear, ALL),
            self.node.create_subscription(Clock, "/clock", self._tick, 10),
        ]

    def _tick(self, message: Clock) -> None:
        self.now = message.clock.sec + message.clock.nanosec * 1e-9

    def _hear(self, state: RobotState) -> None:
        known = self.states.get(state.name)
        if known is not None and known.location.x != state.location.x:
            self.moved.add(state.name)
        self.states[state.name] = state
        if not state.path and (known is None or known.path or not known.task_id):
            self.tasks += 1
            here = state.location
            # Forwards with even tasks, and back again.
            step = -WAY if state.task_id.startswith("to") else WAY
            task = f"{'back' if step < 0.0 else 'to'} {self.tasks}"
            path = [Location(x=here.x, y=here.y), Location(x=here.x + step, y=here.y, index=1)]
            self.paths.publish(PathRequest(robot_name=state.name, task_id=task, path=path))

    def until(self, condition: Callable[[], object], patience: float = PATIENCE) -> None:
        """Spin until `condition()`; raises TimeoutError."""
        deadline = time.perf_counter() + patience
        while not condition():
            if time.perf_counter() > deadline:
                raise TimeoutError("the node did not answer in time")
            self.executor.spin_once(timeout_sec=0.05)

    def spin_for(self, seconds: float) -> float:
        """Spin; return how much simulated time went by for each second."""
        begin, start = time.perf_counter(), self.now
        while time.perf_counter() - begin < seconds:
            self.executor.spin_once(timeout_sec=0.05)
        return (self.now - start) / (time.perf_counter() - begin)

    def close(self) -> None:
        """End it."""
        self.executor.shutdown()
        self.node.destroy_node()


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process in s."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(robots: int, seconds: float) -> dict[str, str]:
    """Return all figures of one size."""
    row = {"slotcars": str(robots)}
    for title, target in (("kept rtf", 1.0), ("full rtf", 0.0)):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(scenario(robots, target), file)
            file.flush()
            command = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", f"config:={file.name}"]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            fleet = Fleet()
            try:
                fleet.until(lambda fleet=fleet: len(fleet.states) == robots)
                begin = time.perf_counter()
                fleet.until(lambda fleet=fleet: len(fleet.moved) == robots)
                if target:
                    row["all move s"] = f"{time.perf_counter() - begin:.1f}"
                used, begin = cpu_seconds(process.pid), time.perf_counter()
                row[title] = f"{fleet.spin_for(seconds):.2f}"
                if target:
                    row["core %"] = f"{100.0 * (cpu_seconds(process.pid) - used) / (time.perf_counter() - begin):.0f}"
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE)
                fleet.close()
    return row


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure for a few seconds only")
    parser.add_argument("--robots", type=int, nargs="+", default=[20, 200], metavar="N", help="numbers of slotcars")
    args = parser.parse_args()
    rclpy.init()
    try:
        for index, count in enumerate(args.robots):
            row = measure(count, MEASURED_QUICK if args.quick else MEASURED)
            if not index:
                print("".join(name.rjust(WIDTH) for name in row))
            print("".join(value.rjust(WIDTH) for value in row.values()), flush=True)
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
