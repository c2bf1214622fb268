"""The node in this process, and all that it publishes, beside the simulation that it is of."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hosted_node import hosted_node
from plain_geometry import matrix, vector
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

import fleet_sim as fs
from fleet_sim.ros.node import FleetSimNode

PATIENCE = 60.0
NS_PER_S = 1_000_000_000


def message_class(kind: str) -> Any:
    """Return the class of a type "std_msgs/msg/String"."""
    package, _, name = kind.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def stamp_of(message: Any) -> int | None:
    """Return the stamp of a message in ns; None without one."""
    stamp = getattr(message, "clock", None) or getattr(getattr(message, "header", None), "stamp", None)
    return None if stamp is None else stamp.sec * NS_PER_S + stamp.nanosec


class Goal(NamedTuple):
    """What became of a goal: whether it was accepted, its result if it has one, and the feedback."""

    accepted: bool
    result: Any
    feedback: list[Any]


class HeardNode:
    """A node whose topics are all subscribed to. `heard` has the messages by topic, in order."""

    def __init__(self, node: FleetSimNode) -> None:
        self.node = node
        self.sim: fs.MultiRobotSimulationCore = node.simulation
        self.kinds: dict[str, str] = {}
        self.heard: dict[str, list[Any]] = {}
        self.poses: dict[int, dict[str, fs.Pose]] = {}
        """By the stamp in ns and the name: where everything was at the end of each step."""
        self.listener = Node("listener", namespace=node.get_namespace())
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.listener)
        self._executor.add_node(node)

    def listen(self) -> None:
        """Subscribe to all topics that the node has now."""
        # What a test before this one has left may still be seen in its domain.
        who = self.node.get_name(), self.node.get_namespace()
        for name, (kind, *_) in self.node.get_topic_names_and_types():
            infos = self.node.get_publishers_info_by_topic(name)
            publishers = [one for one in infos if (one.node_name, one.node_namespace) == who]
            if name in self.kinds or "/_action/" in name or not publishers:
                continue
            latched = any(one.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in publishers)
            reliable = all(one.qos_profile.reliability == ReliabilityPolicy.RELIABLE for one in publishers)
            profile = QoSProfile(
                history=HistoryPolicy.KEEP_ALL,
                reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
                durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
            )
            self.kinds[name] = kind
            self.heard[name] = []
            self.listener.create_subscription(message_class(kind), name, self.heard[name].append, profile)
        self.until(lambda: all(self.node.count_subscribers(name) for name in self.kinds))
        # What is offered in the graph is connected a moment later.
        end = time.monotonic() + 0.5
        self.until(lambda: time.monotonic() > end)

    def spin(self) -> None:
        """Handle what has arrived."""
        self._executor.spin_once(timeout_sec=0.001)

    def until(self, condition: Any) -> None:
        """Spin, without steps, until `condition()`; raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.spin()
            if time.monotonic() > deadline:
                raise TimeoutError("nothing came")

    def step(self, count: int = 1) -> None:
        """Make steps; after each, hear all that was published."""
        clock = next(name for name, kind in self.kinds.items() if kind.endswith("/Clock"))
        for _ in range(count):
            known = len(self.heard[clock])
            self.sim.step_once()
            entities = [*self.sim.agents, *self.sim.sim_objects]
            poses = {one.name: one.get_pose() for one in entities if one.name is not None}
            self.until(lambda known=known: len(self.heard[clock]) > known)
            stamp = stamp_of(self.heard[clock][-1])
            assert stamp is not None
            self.poses[stamp] = poses
            quiet = 0
            while quiet < 5:
                before = sum(map(len, self.heard.values()))
                self.spin()
                quiet = quiet + 1 if sum(map(len, self.heard.values())) == before else 0

    def send_goal(self, kind: Any, name: str, goal: Any, *, most: int = 2000) -> Goal:
        """Send a goal of an action, and make steps until it is rejected or has its result, or `most` of them."""
        told: list[Any] = []
        client = ActionClient(self.listener, kind, name)
        try:
            self.until(client.server_is_ready)
            sent = client.send_goal_async(goal, feedback_callback=lambda message: told.append(message.feedback))
            self.until(sent.done)
            handle = sent.result()
            if not handle.accepted:
                return Goal(False, None, told)
            result = handle.get_result_async()
            for _ in range(most):
                if result.done():
                    break
                self.step()
            return Goal(True, result.result().result if result.done() else None, told)
        finally:
            client.destroy()

    def check_poses(self, robot: str, feedback: Sequence[Any], *, field: str = "pose") -> None:
        """Assert that each of some feedback has the pose that the robot had at the time of its stamp."""
        assert feedback
        for told in feedback:
            stamped = getattr(told, field)
            pose = self.poses[stamped.header.stamp.sec * NS_PER_S + stamped.header.stamp.nanosec][robot]
            assert vector(stamped.pose.position) == pytest.approx(pose.position, abs=1e-9)
            assert matrix(stamped.pose.orientation) == pytest.approx(matrix(pose.orientation), abs=1e-9)

    def at(self, topic: str, stamp: int) -> Any:
        """Return the message of `topic` with `stamp` in ns."""
        return next(message for message in self.heard[topic] if stamp_of(message) == stamp)


@contextmanager
def heard_node(folder: Path, scenario: dict[str, Any], *arguments: str) -> Iterator[HeardNode]:
    """Host a node with `scenario`, which is written to `folder`, and subscribe to all that it publishes."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario), encoding="utf-8")
    with hosted_node("-p", f"config:={path}", "-p", "target_rtf:=0.0", *arguments) as node:
        heard = HeardNode(node)
        try:
            heard.listen()
            yield heard
        finally:
            heard.listener.destroy_node()
