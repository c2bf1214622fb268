"""The demo: launches the warehouse, shows its robots in the terminal, and saves a picture of it from above.

Run: make demo, or this file. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from nav_msgs.msg import Path as PathMsg
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions

from fleet_sim_msgs.msg import FleetState, RobotState
from fleet_sim_msgs.srv import TakePicture

PATIENCE = 30.0
"""Timeout in s for the simulation to end."""

LONGEST_START = 180.0
"""Timeout in s for the simulation to start, and to take a picture."""

PLAIN_PERIOD = 2.0
"""Time in s between two lines if the output is no terminal."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

COMMANDS = (
    "ros2 topic list",
    "ros2 topic echo /carrier_0/odom --once",
    "ros2 action send_goal --feedback /carrier_0/move_to fleet_sim_msgs/action/MoveTo "
    '"{pose: {pose: {position: {x: 2.0, y: -19.0}, orientation: {w: 1.0}}}}"',
    "ros2 service call /sim/pause std_srvs/srv/Trigger",
    "ros2 service call /sim/resume std_srvs/srv/Trigger",
)

Goals = Mapping[str, tuple[float, float]]
"""The goal of each robot, x and y in m."""


def state_of(robot: RobotState) -> str:
    """Return the state of a robot as one word."""
    if robot.blocked:
        return "blocked"
    if robot.moving:
        return "loaded" if robot.carrying else "drives"
    return "works" if robot.busy else "idle"


def table(fleet: FleetState, goals: Goals) -> list[str]:
    """Return a heading and one line for each robot, with no more than 79 characters."""
    lines = [f"{'robot':<14} {'state':<8} {'x':>7} {'y':>7} {'speed':>6}   {'goal':<18} {'left':>6}"]
    for robot in fleet.robots:
        place, speed = robot.pose.position, math.hypot(robot.twist.linear.x, robot.twist.linear.y)
        x, y = goals.get(robot.name, (math.nan, math.nan))
        goal = f"({x:6.2f}, {y:6.2f})" if robot.moving and math.isfinite(x) else "-"
        left = f"{robot.distance_left:6.2f}" if robot.moving else ""
        where = f"{place.x:7.2f} {place.y:7.2f} {speed:6.2f}"
        lines.append(f"{robot.name[:14]:<14} {state_of(robot):<8} {where}   {goal:<18} {left}".rstrip())
    return lines


def summary(fleet: FleetState) -> str:
    """Return one line: the time, and the number of robots in each state."""
    states = [state_of(robot) for robot in fleet.robots]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states)))
    stamp = fleet.header.stamp
    return f"{stamp.sec + 1e-9 * stamp.nanosec:6.1f} s simulated, {len(states)} robots: {counts}"


def hints() -> list[str]:
    """Return the commands for a second terminal, with the environment they need."""
    lines = []
    beside = Path(sys.executable).with_name("activate")
    if beside.exists() and shutil.which("ros2") != str(beside.with_name("ros2")):
        lines.append(f"source {os.path.relpath(beside)}")
    lines += [f"export {name}={value}" for name, value in sorted(os.environ.items()) if name in SHARED]
    return lines + list(COMMANDS)


SHARED = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY", "CYCLONEDDS_URI")
"""Variables that must be equal in both terminals, else their programs do not discover each other."""


class Watcher(Node):
    """Keeps the latest state of the fleet and the goals of its robots."""

    def __init__(self) -> None:
        super().__init__("warehouse_demo")
        self.fleet: FleetState | None = None
        self.goals: dict[str, tuple[float, float]] = {}
        self.pictures = self.create_client(TakePicture, "sim/take_picture")
        self._followed: set[str] = set()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        self.create_subscription(FleetState, "fleet/states", self._on_states, 1)

    def until(self, condition: Callable[[], object], seconds: float) -> bool:
        """Spin until `condition()`, for at most `seconds`; return whether it came true."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= end:
                return False
            self._executor.spin_once(timeout_sec=0.1)
        return True

    def take_picture(self, path: Path) -> str:
        """Save a picture from above; return a line with the result."""
        request = TakePicture.Request(width=720, height=1200, view="top_down")
        answer = self.pictures.call_async(request)
        if not self.until(answer.done, LONGEST_START):
            return "no picture: the simulation did not answer"
        taken = answer.result()
        if not taken.success:
            return f"no picture: {taken.message}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(taken.image.data))
        return f"picture from above: {path}"

    def _on_states(self, fleet: FleetState) -> None:
        self.fleet = fleet
        for name in [robot.name for robot in fleet.robots if robot.name not in self._followed]:
            self._followed.add(name)
            self.create_subscription(
                PathMsg, f"{name}/plan", lambda path, name=name: self._on_plan(name, path), LATCHED
            )

    def _on_plan(self, name: str, path: PathMsg) -> None:
        self.goals.pop(name, None)
        if path.poses:
            end = path.poses[-1].pose.position
            self.goals[name] = (end.x, end.y)


class Screen:
    """Shows the table in place in a terminal, or a line from time to time if there is no terminal."""

    def __init__(self, output: Any) -> None:
        self._output = output
        self._live = output.isatty()
        self._height = 0
        self._next = 0.0

    def show(self, fleet: FleetState, goals: Goals) -> None:
        """Show the fleet."""
        if self._live:
            lines = [summary(fleet), "", *table(fleet, goals)]
            up = f"\033[{self._height}F" if self._height else ""
            room = shutil.get_terminal_size().lines - 1
            lines = lines[:room]
            print(up + "".join(f"\033[K{line}\n" for line in lines), end="", file=self._output, flush=True)
            self._height = len(lines)
        elif time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_PERIOD
            print(summary(fleet), file=self._output, flush=True)

    def finish(self, fleet: FleetState, goals: Goals) -> None:
        """Show the whole table once if the output is no terminal."""
        if not self._live:
            print("\n".join(["", *table(fleet, goals)]), file=self._output)


@contextmanager
def launched(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the launch file with its output in `log`, and end it afterwards."""
    beside = Path(sys.executable).with_name("ros2")
    ros2 = str(beside) if beside.exists() else "ros2"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        # In a session of its own: Ctrl-C must not reach it directly, because it still has to take the picture.
        process = subprocess.Popen(
            [ros2, "launch", "fleet_sim", "warehouse.launch.py"],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def has_begun(fleet: FleetState | None) -> bool:
    """Return whether the simulation has made a step."""
    return fleet is not None and (fleet.header.stamp.sec > 0 or fleet.header.stamp.nanosec > 0)


def watch(process: subprocess.Popen[bytes], watcher: Watcher, duration: float) -> bool:
    """Show the fleet for `duration` s or until Ctrl-C; return whether the simulation ran."""
    watcher.until(lambda: watcher.fleet is not None or process.poll() is not None, LONGEST_START)
    if watcher.fleet is None:
        return False
    if not has_begun(watcher.fleet):
        # Counted from here, a slow machine would show only robots that stand.
        print("starting", flush=True)
        watcher.until(lambda: has_begun(watcher.fleet) or process.poll() is not None, LONGEST_START)
    screen = Screen(sys.stdout)
    end = time.monotonic() + duration
    try:
        while (left := end - time.monotonic()) > 0.0 and process.poll() is None:
            shown = watcher.fleet
            screen.show(shown, watcher.goals)
            watcher.until(lambda shown=shown: watcher.fleet is not shown, min(left, 0.5))
    except KeyboardInterrupt:
        print("\nCtrl-C: saving a picture, then stopping")
    screen.finish(watcher.fleet, watcher.goals)
    return process.poll() is None


def main() -> int:
    """Run the demo; return 1 if the simulation did not run."""
    parser = argparse.ArgumentParser(description="Launch the warehouse and show its robots.")
    parser.add_argument("--duration", type=float, default=30.0, metavar="S", help="duration in s (default: 30)")
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="folder for picture and log (default: demo)")
    args = parser.parse_args()
    log = args.folder / "warehouse.log"
    print("A warehouse with 20 robots. While it runs, try in a second terminal, in this folder:")
    print("".join(f"  {line}\n" for line in hints()), flush=True)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    with launched(log) as process:
        watcher = Watcher()
        good = watch(process, watcher, args.duration)
        if good:
            print(f"\n{watcher.take_picture(args.folder / 'warehouse.png')}", flush=True)
    rclpy.shutdown()
    if not good:
        print(f"the simulation did not run; the end of {log}:\n{log.read_text()[-3000:]}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
