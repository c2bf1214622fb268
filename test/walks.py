"""Print which files of the package a command enters, and how much an idle step calls: `python test/walks.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = f"{ROOT}/src/fleet_sim/"


def walked(run: Callable[[], object]) -> tuple[set[str], int]:
    """Return the files of the package that `run` enters in this thread, and how many of its functions are called."""
    files: set[str] = set()
    calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE):
            files.add(name.removeprefix(PACKAGE))
            calls += 1

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return files, calls


def main() -> int:
    """Print the figures of one robot."""
    sys.path.append(str(ROOT / "test/support"))
    from ros_domain import use_own_domain

    use_own_domain()
    import rclpy
    from geometry_msgs.msg import Twist
    from hosted_node import hosted_node
    from rclpy.action import ActionClient
    from rclpy.executors import SingleThreadedExecutor
    from swarm_world import make_world

    from fleet_sim_msgs.action import MoveTo

    with hosted_node("-p", "robots:=1") as node:
        sim, peer, executor = node.simulation, rclpy.create_node("peer"), SingleThreadedExecutor()
        robot = sim.agents[0]
        twists = peer.create_publisher(Twist, f"/{robot.name}/cmd_vel", 10)
        client = ActionClient(peer, MoveTo, f"/{robot.name}/move_to")
        executor.add_node(node)
        executor.add_node(peer)

        def step(until: Callable[[], bool], most: int = 5_000) -> None:
            for _ in range(most):
                executor.spin_once(timeout_sec=0.001)
                sim.step_once()
                if until():
                    return
            raise TimeoutError("it did not come to that")

        step(lambda: twists.get_subscription_count() > 0 and client.server_is_ready())
        _, calls = walked(sim.step_once)
        print(f"{calls} calls of the package in an idle step")
        # Long enough for what is published once a second.
        idle, _ = walked(lambda: [step(lambda: True) for _ in range(300)])
        begin = float(robot.get_pose().position[0])
        files, _ = walked(lambda: _drive(twists, Twist, robot, step))
        print(f"{len(files - idle)} files that a cmd_vel enters besides: {', '.join(sorted(files - idle))}")
        files, _ = walked(lambda: _move(client, MoveTo, begin, step))
        print(f"{len(files - idle)} files that a MoveTo enters besides: {', '.join(sorted(files - idle))}")
    swarm = make_world({"type": "StaticController", "output": [0.1, 0.2]}, count=10)
    swarm.step()
    files, _ = walked(swarm.step)
    print(f"{len(files)} files that the step of a swarm enters: {', '.join(sorted(files))}")
    return 0


def _drive(twists: Any, kind: Any, robot: Any, step: Callable[[Callable[[], bool]], None]) -> None:
    twist = kind()
    twist.linear.x = 0.5
    twists.publish(twist)
    step(lambda: bool(robot.velocity[0] > 0.0))


def _move(client: Any, kind: Any, x: float, step: Callable[[Callable[[], bool]], None]) -> None:
    goal = kind.Goal()
    goal.pose.pose.position.x, goal.pose.pose.orientation.w = x, 1.0
    accepted = client.send_goal_async(goal)
    step(accepted.done)
    result = accepted.result().get_result_async()
    step(result.done)


if __name__ == "__main__":
    sys.exit(main())
