"""A small fleet manager: keeps the robots of config/warehouse.yaml busy through the actions of the fleet.

Each robot works through orders of its own: take the nearest free pallet, bring it to the other side of the hall, drive
home. A robot that somebody else commands is left alone until it has nothing to do.

Run: ros2 launch fleet_sim warehouse.launch.py, or this file beside a running fleet_sim_node.
"""

from __future__ import annotations

import math
import signal
import sys
from dataclasses import dataclass
from typing import Any

import rclpy
from geometry_msgs.msg import Pose
from rclpy.action import ActionClient
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.task import Future

from fleet_sim_msgs.action import Drop, MoveTo, Pick
from fleet_sim_msgs.msg import Cause, FleetState
from fleet_sim_msgs.srv import List

REACH = 0.85
"""Distance in m between the centres of a robot and of the pallet it picks: half of each, and a gap."""

PALLET_HEIGHT = 0.25
"""Height of the centre of a pallet on the floor, in m."""

ACTIONS = {Pick: "fleet/pick", Drop: "fleet/drop", MoveTo: "fleet/move_to"}
OTHER_SIDE = {"west": "east", "east": "west"}

ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
"""Services keep 10 responses by default; 20 robots may get theirs at once, and none may be lost."""


@dataclass
class Order:
    """An order: deliver a pallet to a station."""

    pallet: str
    station: str
    pose: Pose


class WarehouseClient(Node):
    """Gives every robot one order after the other. All coroutines run in the executor; no thread is blocked."""

    def __init__(self) -> None:
        super().__init__("warehouse_client")
        self.delivered = 0
        self._reserved: set[str] = set()
        self._pose_of: dict[str, Pose] = {}
        self._carrying: dict[str, bool] = {}
        self._waiting_for_rest: dict[str, Future] = {}
        qos = {"goal_service_qos_profile": ALL, "result_service_qos_profile": ALL}
        self._actions = {kind: ActionClient(self, kind, name, **qos) for kind, name in ACTIONS.items()}
        self._list = self.create_client(List, "sim/list", qos_profile=ALL)
        self.create_subscription(FleetState, "fleet/states", self._on_states, 10)

    async def run(self) -> None:
        """Find the robots and start all of them."""
        await self._look()
        answer = await self._list.call_async(List.Request(kind=List.Request.ROBOTS))
        for robot, home in zip(answer.names, answer.poses, strict=True):
            self.executor.create_task(self._work(robot, home))
        self.get_logger().info(f"{len(answer.names)} robots, {len(self._pallets())} pallets: off to work")

    def ready(self) -> bool:
        """Return whether the simulation is running."""
        return self._list.service_is_ready() and all(client.server_is_ready() for client in self._actions.values())

    # ---- one robot ---------------------------------------------------------------------------------------------------

    async def _work(self, robot: str, home: Pose) -> None:
        """Work on orders until the robot is removed."""
        cause = Cause.NONE
        while cause != Cause.UNKNOWN_ROBOT:
            await self._rest(robot)
            order = await self._next_order(robot)
            if order is None:
                continue
            cause = await self._carry_out(robot, order)
            self._reserved.discard(order.pallet)
            if cause == Cause.NONE:
                self.delivered += 1
                self.get_logger().info(f"{robot}: {order.pallet} is at {order.station}; {self.delivered} delivered")
                cause = await self._do(robot, MoveTo, pose=self._stamped(home))
        self.get_logger().info(f"{robot}: out of service")

    async def _carry_out(self, robot: str, order: Order) -> int:
        """Pick and drop; returns the cause of the failure, or NONE."""
        if not self._carrying[robot]:
            self.get_logger().info(f"{robot}: takes {order.pallet} to {order.station}")
            carried = Pose()
            carried.position.x = REACH
            carried.position.z = 0.15
            cause = await self._do(robot, Pick, object=order.pallet, pick_offset=REACH, attach_pose=carried)
            if cause != Cause.NONE:
                return cause
        return await self._do(robot, Drop, pose=self._stamped(order.pose), drop_offset=REACH)

    async def _do(self, robot: str, kind: Any, **goal: Any) -> int:
        """Send a goal and wait for its result; returns the cause, NONE for success."""
        handle = await self._actions[kind].send_goal_async(kind.Goal(robot=robot, **goal))
        if not handle.accepted:
            self.get_logger().warning(f"{robot}: {ACTIONS[kind]} was rejected")
            return Cause.INVALID_GOAL
        result = (await handle.get_result_async()).result
        if not result.success:
            self.get_logger().warning(f"{robot}: {ACTIONS[kind]}: {result.text}")
        return int(result.cause)

    def _rest(self, robot: str) -> Future:
        """Return a future that is done when the robot is idle."""
        return self._waiting_for_rest.setdefault(robot, Future())

    def _on_states(self, fleet: FleetState) -> None:
        for robot in fleet.robots:
            self._carrying[robot.name] = robot.carrying
            self._pose_of[robot.name] = robot.pose
            if not (robot.busy or robot.moving) and robot.name in self._waiting_for_rest:
                self._waiting_for_rest.pop(robot.name).set_result(None)

    # ---- orders ------------------------------------------------------------------------------------------------------

    async def _next_order(self, robot: str) -> Order | None:
        """Return an order for the nearest pallet that no other robot works on; the one it carries comes first."""
        await self._look()
        free = [name for name in self._pallets() if name not in self._reserved]
        if not free:
            return None
        pallet = min(free, key=lambda name: self._distance(robot, name))
        self._reserved.add(pallet)
        stations = [name for name in self._pose_of if name.partition("_")[0] in OTHER_SIDE]
        side, _, lane = min(stations, key=lambda name: self._distance(pallet, name)).partition("_")
        target = f"{OTHER_SIDE[side]}_{lane}"
        pose = Pose(orientation=self._pose_of[target].orientation)
        pose.position.x, pose.position.y = self._pose_of[target].position.x, self._pose_of[target].position.y
        pose.position.z = PALLET_HEIGHT
        return Order(pallet, target, pose)

    async def _look(self) -> None:
        """Store the positions of robots and pallets."""
        answer = await self._list.call_async(List.Request())
        self._pose_of = dict(zip(answer.names, answer.poses, strict=True))

    def _pallets(self) -> list[str]:
        return [name for name in self._pose_of if name.startswith("pallet")]

    def _distance(self, first: str, second: str) -> float:
        a, b = self._pose_of[first].position, self._pose_of[second].position
        return math.hypot(a.x - b.x, a.y - b.y)

    def _stamped(self, pose: Pose) -> Any:
        stamped = MoveTo.Goal().pose
        stamped.pose = pose
        return stamped


def main() -> int:
    """Wait for the simulation, then work until Ctrl-C."""
    # Ctrl-C shuts rclpy down, which ends spin(); a KeyboardInterrupt could interrupt any statement.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    rclpy.init()
    client = WarehouseClient()
    executor = SingleThreadedExecutor()
    executor.add_node(client)
    try:
        client.get_logger().info("waiting for fleet_sim_node")
        while not client.ready():
            executor.spin_once(timeout_sec=0.1)
        executor.create_task(client.run())
        executor.spin()
    except (ExternalShutdownException, NotInitializedException, RuntimeError):
        # What was asked of ROS when it was shut down fails, too.
        if rclpy.ok():
            raise
    # Not logged: ROS has been shut down, and a log goes to its topic.
    print(f"{client.delivered} pallets delivered")
    rclpy.try_shutdown()
    # At exit the interpreter restores the default handler: launch and the terminal send a signal each.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
