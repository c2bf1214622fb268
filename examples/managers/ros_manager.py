"""A fleet manager over ROS: gives transports to robots in the traffic, and goes on when robots fail or fall silent.

Once a second of simulation time it compares what /fleet/states says with what it wants, and commands all robots whose
goal is another one by one message. So a lost command is sent again, and while no states come it waits.

Run `python examples/managers/ros_manager.py FILE` beside a fleet_sim_node whose robots are in the traffic of a site. A
line of the file is a transport: its name, then x and y in m of where it is fetched, and of where it is brought.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import rclpy
from geometry_msgs.msg import Point32, Polygon, Pose
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future

from fleet_sim_msgs.msg import CommandResult, FleetCommand, FleetState, RobotState
from fleet_sim_msgs.srv import ChangePlaces

SILENCE, RESEND, GAP = 20.0, 3.0, 2.0
"""In s: when a robot that shows no change is given up, how often goals are sent, when the radio was away."""
NEAR, AROUND = 0.3, 1.2
"""In m: how near a stop a robot is there, and how far around a robot that failed the aisle is closed."""


@dataclass
class Transport:
    """A load that is fetched at the first of two stops, and brought to the second."""

    name: str
    stops: tuple[tuple[float, float], tuple[float, float]]
    fetched: bool = False

    @property
    def stop(self) -> tuple[float, float]:
        """Where its robot has to go."""
        return self.stops[self.fetched]


@dataclass
class Robot:
    """What is known of a robot: its last state, and since when that has not changed; what it has to do."""

    state: RobotState
    since: float
    silent: bool = False
    """Whether it was given up, and has shown no change since."""
    transport: Transport | None = None
    sent: float = -math.inf
    closed: list[Polygon] = field(default_factory=list)
    """The area that is closed around it."""

    def failed(self) -> bool:
        """Return whether it says that it cannot go on."""
        return self.state.faults != 0 or self.state.operating_mode != RobotState.AUTOMATIC

    def distance(self, point: tuple[float, float]) -> float:
        """Return how far it is from a point in m."""
        return math.dist(point, (self.state.pose.position.x, self.state.pose.position.y))


def shown(state: RobotState) -> tuple[object, ...]:
    """Return what changes of a robot that does something."""
    return state.pose, state.twist, state.goal, state.moving, state.faults, state.operating_mode


class Manager(Node):
    """Carries out `transports`; `ended` is done when all are."""

    def __init__(self, transports: list[Transport]) -> None:
        super().__init__("ros_manager")
        self.ended = Future()
        self.done: list[str] = []
        self.reassigned = 0
        self._total, self._waiting = len(transports), transports
        self._robots: dict[str, Robot] = {}
        self._heard = self._managed = -math.inf
        self._command = self.create_publisher(FleetCommand, "fleet/command", 10)
        self._places = self.create_client(ChangePlaces, "fleet/traffic/places")
        self.create_subscription(FleetState, "fleet/states", self._on_states, 10)
        self.create_subscription(CommandResult, "fleet/command_result", self._on_result, 100)

    def _on_states(self, fleet: FleetState) -> None:
        now = fleet.header.stamp.sec + 1e-9 * fleet.header.stamp.nanosec
        for state in fleet.robots:
            robot = self._robots.setdefault(state.name, Robot(state, now))
            if shown(state) != shown(robot.state):
                robot.since, robot.silent = now, False
            elif now - self._heard > GAP:
                # After a time without radio nobody is silent: it was the same for all.
                robot.since = now
            robot.state = state
        self._heard = now
        if now - self._managed >= 1.0:
            self._managed = now
            self._manage(now)

    def _manage(self, now: float) -> None:
        """Look after each robot, then assign what waits, and send the goals that robots do not have."""
        for robot in self._robots.values():
            self._look_after(robot, now)
        fit = [robot for robot in self._robots.values() if not (robot.failed() or robot.silent)]
        free = [robot for robot in fit if robot.transport is None]
        while free and self._waiting:
            transport = self._waiting.pop(0)
            nearest = min(free, key=lambda robot: robot.distance(transport.stop))
            nearest.transport = transport
            free.remove(nearest)
        self._send_goals(now)
        if len(self.done) == self._total and not self.ended.done():
            self.ended.set_result(None)

    def _look_after(self, robot: Robot, now: float) -> None:
        transport = robot.transport
        if robot.failed() != bool(robot.closed):
            self._close_aisle(robot)
        robot.silent |= transport is not None and now - robot.since > SILENCE
        if transport is not None and robot.distance(transport.stop) < NEAR and not robot.state.moving:
            if transport.fetched:
                self.done.append(transport.name)
                robot.transport = None
                self.get_logger().info(f"{robot.state.name}: {transport.name} is there; {len(self.done)} done")
            transport.fetched = True
        elif transport is not None and not transport.fetched and (robot.failed() or robot.silent):
            # What it has loaded stays with it until it goes on; what it has not, another one fetches.
            self.get_logger().info(f"{robot.state.name} fails or is silent: another one fetches {transport.name}")
            self._waiting.insert(0, transport)
            robot.transport = None
            self.reassigned += 1

    def _close_aisle(self, robot: Robot) -> None:
        """Close the aisle around a robot that has failed; open it when the robot goes on."""
        if not self._places.service_is_ready():
            return
        request = ChangePlaces.Request(operation=ChangePlaces.Request.OPEN, areas=robot.closed)
        if not robot.closed:
            x, y = robot.state.pose.position.x, robot.state.pose.position.y
            signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
            request.areas = [Polygon(points=[Point32(x=x + i * AROUND, y=y + j * AROUND) for i, j in signs])]
            request.operation = ChangePlaces.Request.CLOSE
        robot.closed = [] if robot.closed else request.areas
        self._places.call_async(request)

    def _send_goals(self, now: float) -> None:
        command = FleetCommand(kind=FleetCommand.NAVIGATE, route=True, source="ros_manager")
        # Two robots with one goal would be in each other's way: who has nothing to do any more has no goal either.
        idle = [name for name, robot in self._robots.items() if robot.transport is None and robot.state.has_goal]
        if idle:
            self._command.publish(FleetCommand(kind=FleetCommand.CANCEL, names=idle, source="ros_manager"))
        for name, robot in self._robots.items():
            if robot.transport is None or robot.failed() or now - robot.sent < RESEND:
                continue
            goal, stop = robot.state.goal.position, robot.transport.stop
            if robot.distance(stop) < NEAR or (robot.state.has_goal and math.dist((goal.x, goal.y), stop) < NEAR):
                continue
            pose = Pose(orientation=robot.state.pose.orientation)
            pose.position.x, pose.position.y, pose.position.z = (*stop, robot.state.pose.position.z)
            command.names.append(name)
            command.poses.append(pose)
            robot.sent = now
        if command.names:
            self._command.publish(command)

    def _on_result(self, result: CommandResult) -> None:
        # It is sent again, or somebody else is, when the next states have come.
        for name, reason in zip(result.rejected, result.reasons, strict=True):
            self.get_logger().warning(f"{name}: {reason}")


def read_transport(line: str) -> Transport:
    """Return the transport in a line of a file."""
    name, *numbers = line.split()
    fetch_x, fetch_y, bring_x, bring_y = map(float, numbers)
    return Transport(name, ((fetch_x, fetch_y), (bring_x, bring_y)))


def main() -> int:
    """Manage the robots until all transports are done; returns 0 then."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transports", type=Path, help="file with a transport in each line")
    args = parser.parse_args()
    rclpy.init()
    manager = Manager([read_transport(line) for line in args.transports.read_text(encoding="utf-8").splitlines()])
    # Ctrl-C shuts rclpy down, which ends the spin.
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin_until_future_complete(manager, manager.ended)
    print(f"{len(manager.done)} transports done, {manager.reassigned} given to another robot", flush=True)
    rclpy.try_shutdown()
    return 0 if manager.ended.done() else 1


if __name__ == "__main__":
    sys.exit(main())
