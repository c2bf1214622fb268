"""Measures what the budgets are about, with the public API only: it runs on pocket_ros and on a full ROS 2.

python bench/benchmark.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import rclpy
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import Twist
from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image

ENTITIES = 1000
ACTION_SERVERS = 3000
REPETITIONS = 5


def fastest(function: Callable[[], object], count: int) -> float:
    """Microseconds per call, the best of a few rounds."""
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        for _ in range(count):
            function()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def import_time() -> float:
    """Milliseconds of `import rclpy` in a new interpreter, beyond an empty one's start."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return min(run("import rclpy") - run("pass") for _ in range(REPETITIONS)) * 1e3


def publishing(node: Node) -> dict[str, float]:
    """Publishing to nobody: as objects and as bytes."""
    publisher = node.create_publisher(Twist, "bench_publish", 10)
    message = Twist()
    message.linear.x = 1.5
    data = serialize_message(message)
    return {
        "publish a Twist object, us": fastest(lambda: publisher.publish(message), 20_000),
        "publish a Twist as bytes, us": fastest(lambda: publisher.publish(data), 20_000),
    }


def delivery(node: Node, executor: SingleThreadedExecutor) -> dict[str, float]:
    """From publish to the end of the callback, in one process."""
    twist, image = Twist(), Image(width=640, height=480, encoding="rgb8", step=640 * 3)
    image.data = bytes(640 * 480 * 3)
    received: list[object] = []
    results = {}
    for label, message, count in (
        ("Twist, publish and callback, us", twist, 3000),
        ("Image 640x480, publish to callback, us", image, 200),
    ):
        topic = f"bench_delivery_{len(results)}"
        publisher = node.create_publisher(type(message), topic, 1)
        subscription = node.create_subscription(type(message), topic, received.append, 1)

        def once(publisher=publisher, message=message) -> None:  # type: ignore[no-untyped-def]
            received.clear()
            publisher.publish(message)
            while not received:
                executor.spin_once(timeout_sec=1.0)

        once()
        results[label] = fastest(once, count)
        node.destroy_subscription(subscription)
        node.destroy_publisher(publisher)
    return results


def many_endpoints(node: Node, executor: SingleThreadedExecutor) -> dict[str, float]:
    """Creating many endpoints, then one wake-up while all but one are idle, then polling all."""
    start = time.perf_counter()
    publishers = [node.create_publisher(Twist, f"robot_{i}/cmd_vel", 10) for i in range(ENTITIES)]
    received: list[object] = []
    subscriptions = [
        node.create_subscription(Twist, f"robot_{i}/cmd_vel", received.append, 10) for i in range(ENTITIES)
    ]
    created = time.perf_counter() - start
    message = Twist()

    def once() -> None:
        received.clear()
        publishers[500].publish(message)
        while not received:
            executor.spin_once(timeout_sec=1.0)

    once()
    wake_up = fastest(once, 500)

    def poll() -> None:
        for subscription in subscriptions:
            subscription.handle.take_message(Twist, False)

    return {
        f"create {ENTITIES} publishers and subscriptions, s": created,
        f"publish, wake up with {ENTITIES} idle subscriptions, callback, us": wake_up,
        f"poll {ENTITIES} idle subscriptions, us": fastest(poll, 20),
    }


def action_servers(node: Node) -> dict[str, float]:
    """Creating many action servers in one node."""
    start = time.perf_counter()
    for i in range(ACTION_SERVERS):
        ActionServer(node, Fibonacci, f"robot_{i}/fibonacci", lambda goal: Fibonacci.Result())
    return {f"create {ACTION_SERVERS} action servers, s": time.perf_counter() - start}


BUDGETS = {
    "import rclpy, ms": 250,
    "publish a Twist object, us": 5,
    "publish a Twist as bytes, us": 1.5,
    "Twist, publish and callback, us": 15,
    "Image 640x480, publish to callback, us": 300,
    f"create {ENTITIES} publishers and subscriptions, s": 1.5,
    f"publish, wake up with {ENTITIES} idle subscriptions, callback, us": 50,
}


def main() -> None:
    """Print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the results there")
    options = parser.parse_args()
    results = {"import rclpy, ms": import_time()}
    rclpy.init(args=[])
    node, executor = Node("benchmark"), SingleThreadedExecutor()
    executor.add_node(node)
    results |= publishing(node)
    results |= delivery(node, executor)
    results |= many_endpoints(node, executor)
    results |= action_servers(node)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    print(f"{'what':62}{'measured':>12}{'budget':>10}")
    for name, value in results.items():
        print(f"{name:62}{value:12.2f}{BUDGETS.get(name, ''):>10}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
