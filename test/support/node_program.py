"""The node as a process of its own, and a client to talk to it: what the system tests share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from forked_node import ForkedNode
from geometry_msgs.msg import Twist
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from fleet_sim_msgs.msg import FleetCommand
from fleet_sim_msgs.srv import SendFleetCommand

PATIENCE = 60.0
"""The longest any event is waited for, in s. On a busy machine a node needs a while to start."""

RESEND = 15.0
"""A request without a response is sent again after so many s: servers here answer at once, or not at all."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

THREE_ROBOTS = """
simulation: {timestep: 0.05, target_rtf: 5.0}
robots:
  - name: amr
    pose: [0, 0, 0.15]
    shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}
    grid: {count: 3, columns: 1, spacing: [0, 3, 0]}
objects:
  - {name: ball, pose: [9, 0, 0.25], shape: {shape_type: sphere, radius: 0.25}}
"""
"""A scenario of three robots, amr_0 to amr_2, in a row along y, and a ball."""


class NodeProcess:
    """A running fleet_sim_node, or a `program`; its output is in `log`."""

    def __init__(self, log: Path, *arguments: str, program: Sequence[str] = ()) -> None:
        self.log = log
        self._begin = 0
        # A library of a test is loaded at the start of a process, and by no fork of an older one.
        if not program and "LD_PRELOAD" in os.environ:
            program = ("-m", "fleet_sim.ros.main")
        with log.open("w") as output:
            if program:
                command = [sys.executable, *program, "--ros-args", *arguments]
                self.process: Any = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=os.environ)
            else:
                self.process = ForkedNode(["--ros-args", *arguments], output)

    def send_signal(self, number: int = signal.SIGINT) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self, number: int = signal.SIGINT) -> tuple[int, float]:
        """Stop it with a signal; returns its exit code and how long that took in s."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE)
            raise
        return code, time.monotonic() - begin

    def wait(self) -> int:
        """Wait until it ends by itself; returns its exit code."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(PATIENCE)

    def output(self) -> str:
        """What it has printed so far, since `forget_output`."""
        return self.log.read_text()[self._begin :]

    def forget_output(self) -> None:
        """Leave out what it has printed until now."""
        self._begin = len(self.log.read_text())


class Client:
    """A ROS node that waits for events instead of sleeping."""

    def __init__(self, name: str = "test_client", patience: float = PATIENCE) -> None:
        self.patience = patience
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = Node(name, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._action_clients: dict[str, Any] = {}

    def close(self) -> None:
        """Leave ROS."""
        for client in self._action_clients.values():
            client.destroy()
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def until(self, condition: Callable[[], Any], what: str = "the event") -> Any:
        """Spin until `condition()` is true; returns it. Raises TimeoutError."""
        deadline = time.monotonic() + self.patience
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not happen within {self.patience:g} s")
            self.executor.spin_once(timeout_sec=0.05)
        return value

    def listen(self, kind: Any, topic: str, qos: QoSProfile | int = 100) -> list[Any]:
        """Return a list that grows with the messages on `topic`, once there is a publisher."""
        messages: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, messages.append, qos)
        self.until(subscription.get_publisher_count if hasattr(subscription, "get_publisher_count") else lambda: True)
        return messages

    def figures_of_the_node(self) -> dict[str, str]:
        """Return what the node says of itself; what it hosts, such as orders, has messages of its own."""
        messages = self.listen(DiagnosticArray, "/diagnostics")

        def told() -> list[dict[str, str]]:
            found = [{item.key: item.value for item in one.values} for message in messages for one in message.status]
            return [values for values in found if "faults" in values][1:]

        return dict(self.until(told, "the figures of the node")[-1])

    def publisher(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> Any:
        """Return a publisher that has a subscriber."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.until(publisher.get_subscription_count, f"a subscription to {topic}")
        return publisher

    def call(self, kind: Any, name: str, request: Any = None) -> Any:
        """Return the response of a service."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready, f"service {name}")
        asked = kind.Request() if request is None else request
        response = self._answer(lambda: client.call_async(asked), name)
        self.node.destroy_client(client)
        return response

    def _answer(self, ask: Callable[[], Any], name: str) -> Any:
        """Return the result of the future of `ask()`, which is called again where nothing comes."""
        sent: list[tuple[float, Any]] = []

        def answered() -> Any:
            # DDS drops a request that comes before the server has heard of this client, and never says so.
            if not sent or time.monotonic() > sent[-1][0] + RESEND:
                sent.append((time.monotonic(), ask()))
            return next((future for _, future in sent if future.done()), None)

        return self.until(answered, f"an answer of {name}").result()

    def send_goal(self, kind: Any, name: str, goal: Any) -> Goal:
        """Send a goal and return it once it was accepted or rejected."""
        client = self._action_clients.get(name)
        if client is None:
            client = self._action_clients[name] = ActionClient(self.node, kind, name)
        # Each time: the node may have been started anew.
        self.until(client.server_is_ready, f"action {name}")
        sent = Goal(self)

        def hear(message: Any) -> None:
            sent.feedback.append(message.feedback)

        # The server that is ready may be of a node that has ended without a word.
        sent.handle = self._answer(lambda: client.send_goal_async(goal, feedback_callback=hear), name)
        if sent.handle.accepted:
            sent.future = sent.handle.get_result_async()
        return sent


Running = tuple[NodeProcess, Client]
"""A node, and a client that talks to it."""


class Goal:
    """A goal that was sent."""

    def __init__(self, client: Client) -> None:
        self.handle: Any = None
        self.feedback: list[Any] = []
        self.future: Any = None
        self._client = client

    def result(self) -> tuple[int, Any]:
        """Wait for the end; return (status, result)."""
        self._client.until(self.future.done, "the result")
        response = self.future.result()
        return response.status, response.result

    def cancel(self) -> Any:
        """Ask for the goal to be cancelled; return the answer."""
        future = self.handle.cancel_goal_async()
        self._client.until(future.done, "the answer to a cancellation")
        return future.result()


@contextmanager
def running(log: Path, *arguments: str, program: Sequence[str] = ()) -> Iterator[tuple[NodeProcess, Client]]:
    """Run the node with ROS arguments, and a client that has found it."""
    client = Client()
    process = NodeProcess(log, *arguments, program=program)
    try:
        yield process, client
    finally:
        client.close()
        if process.process.poll() is None:
            process.end()
        print(process.output())


@contextmanager
def running_scenario(folder: Path, scenario: str, *arguments: str) -> Iterator[Running]:
    """Run the node with a scenario, which is written to `folder`, and further ROS arguments."""
    file = folder / "scenario.yaml"
    file.write_text(scenario)
    with running(folder / "node.log", "-p", f"config:={file}", *arguments) as both:
        yield both


class SharedNode:
    """A node that the tests of a module share: starting one takes longer than most of them.

    Each test has a client of its own and begins where the scenario begins, with a time that goes on. A node that a test
    has ended is started anew.
    """

    def __init__(self, log: Path, *arguments: str, scenario: str = "") -> None:
        if scenario:
            file = log.with_name("scenario.yaml")
            file.write_text(scenario)
            arguments = ("-p", f"config:={file}", *arguments)
        self._log, self._arguments = log, arguments
        self._process: NodeProcess | None = None

    @contextmanager
    def visited(self) -> Iterator[Running]:
        """The node as at its beginning, and a client of it."""
        client = Client()
        try:
            if self._process is None or self._process.process.poll() is not None:
                self._process = NodeProcess(self._log, *self._arguments)
            else:
                for service in ("/sim/resume", "/sim/reset"):
                    client.call(Trigger, service)
                self._process.forget_output()
            yield self._process, client
        finally:
            client.close()
            if self._process is not None:
                print(self._process.output())

    def close(self) -> None:
        """End it, so that a test may have another node in its place; the next visit starts it anew."""
        if self._process is not None and self._process.process.poll() is None:
            self._process.end()


@contextmanager
def shared_node(folder: Path, *arguments: str, scenario: str = "") -> Iterator[SharedNode]:
    """A node for all tests of a module, with ROS arguments and a scenario, which is written to `folder`."""
    node = SharedNode(folder / "node.log", *arguments, scenario=scenario)
    try:
        yield node
    finally:
        node.close()


def drive(client: Client, name: str, x: float = 0.5, yaw_rate: float = 0.0, timeout: float = 0.0) -> None:
    """Let a robot drive until told otherwise."""
    twist = Twist()
    twist.linear.x, twist.angular.z = x, yaw_rate
    command = FleetCommand(kind=FleetCommand.VELOCITY, names=[name], twists=[twist], timeout=timeout)
    response = client.call(SendFleetCommand, "/fleet/command", SendFleetCommand.Request(command=command))
    assert list(response.result.accepted) == [name]


def static_frames(client: Client, *names: str) -> dict[str, Any]:
    """Return the transforms on /tf_static by the name of their frame, once those of `names` are among them."""
    # As tf2 listens: there are several publishers, and of each the last message counts.
    latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    messages = client.listen(TFMessage, "/tf_static", latched)

    def known() -> dict[str, Any]:
        return {transform.child_frame_id: transform for message in messages for transform in message.transforms}

    client.until(lambda: set(names) <= known().keys(), f"the frames {', '.join(names)}")
    return known()


def ros_command(name: str) -> str:
    """Return the path of a command of ROS: of this environment, or of the sourced one."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else str(shutil.which(name))


@contextmanager
def launched(log: Path, *arguments: str) -> Iterator[Client]:
    """Run `ros2 launch fleet_sim` with a client; at the end Ctrl-C, after which it must end cleanly."""
    with log.open("w") as output:
        command = [ros_command("ros2"), "launch", "fleet_sim", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    client = Client()
    try:
        yield client
    finally:
        client.close()
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
        print(log.read_text())
    assert code == 0
    assert "process has died" not in log.read_text()
