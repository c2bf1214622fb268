"""What comes for thousands of topics and actions is found without asking each: nothing is lost, and none comes late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Twist
from hosted_node import hosted_node
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.ros.node import FleetSimNode
from fleet_sim_msgs.action import MoveTo

ROBOTS = 12
"""As many as are not asked one by one, whatever the client library."""
PATIENCE = 120.0
SLOW = 1e-3
"""In m/s: speeds of less than one step of acceleration are reached within it."""


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextmanager
def spinning(*nodes: Node) -> Iterator[None]:
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE)


def publishers_of(client: Node, names: list[str]) -> dict[str, Any]:
    found = {name: client.create_publisher(Twist, f"/{name}/cmd_vel", 1) for name in names}
    until(lambda: all(publisher.get_subscription_count() for publisher in found.values()))
    return found


def tell(publishers: dict[str, Any], speeds: dict[str, float]) -> None:
    """Publish, and wait until all of it has come."""
    for name, speed in speeds.items():
        twist = Twist()
        twist.linear.x = speed
        publishers[name].publish(twist)
    for name in speeds:
        assert publishers[name].wait_for_all_acked()
    # Acknowledged is what the middleware has; it is offered to the reader in the next moment.
    time.sleep(0.02)


def speeds_of(node: FleetSimNode) -> dict[str, float]:
    return {str(agent.name): float(agent.velocity[0]) for agent in node.simulation.agents}


def test_every_command_is_applied_in_the_step_before_which_it_came(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.jsonl"
    with hosted_node("-p", f"robots:={ROBOTS}", "-p", f"record_inputs:={inputs}") as node:
        sim, client = node.simulation, Node("driver")
        publishers = publishers_of(client, [str(agent.name) for agent in sim.agents])
        sim.step_once()
        random, wanted, late = np.random.default_rng(1), dict.fromkeys(publishers, 0.0), 0
        for turn in range(1, 25):
            chosen = [name for name in publishers if random.random() < 0.4]
            if turn == 12:
                # Topics of the others go on as they were.
                gone = next(iter(publishers))
                sim.inbox.put(fs.Remove(names=(gone,)))
                del publishers[gone], wanted[gone]
                chosen = list(publishers)
            speeds = dict.fromkeys(chosen, SLOW * turn / 25)
            tell(publishers, speeds)
            wanted |= speeds
            sim.step_once()
            if speeds_of(node) != pytest.approx(wanted):
                late += 1
                until(lambda wanted=wanted: [sim.step_once(), speeds_of(node) == pytest.approx(wanted)][-1])
    # A busy machine offers some to the reader later than it acknowledges them.
    assert late < 6
    # The inputs end with the hash of the run, and a replay that ends with another one fails.
    assert main(["run", "--replay-inputs", str(inputs), "--lenient"]) == 0


def test_goals_of_every_robot_reach_their_servers_while_nothing_steps() -> None:
    with hosted_node("-p", "robots:=3", "-p", "paused:=true") as node:
        sim, client = node.simulation, Node("client")
        first = str(sim.agents[0].name)
        with spinning(node, client):
            for turn in range(2):
                names = [str(agent.name) for agent in sim.agents]
                actions = {name: ActionClient(client, MoveTo, f"/{name}/move_to") for name in names}
                until(lambda actions=actions: all(action.server_is_ready() for action in actions.values()))
                goals = {name: MoveTo.Goal() for name in names}
                for agent in sim.agents:
                    position, there = agent.get_pose().position, goals[str(agent.name)].pose.pose.position
                    there.x, there.y = position[0] + 0.02, position[1]
                sent = {name: action.send_goal_async(goals[name]) for name, action in actions.items()}
                until(lambda sent=sent: all(future.done() for future in sent.values()))
                handles = [future.result() for future in sent.values()]
                assert all(handle.accepted for handle in handles)
                cancelled = handles[-1].cancel_goal_async()
                until(cancelled.done)
                results = [handle.get_result_async() for handle in handles]
                until(lambda results=results: [sim.single_step(10), all(one.done() for one in results)][-1])
                ends = [one.result().status for one in results]
                assert ends == [GoalStatus.STATUS_SUCCEEDED] * (len(names) - 1) + [GoalStatus.STATUS_CANCELED]
                if not turn:
                    # In the second round one robot is gone, and its servers with it.
                    sim.inbox.put(fs.Remove(names=(first,)))
                    sim.single_step()
