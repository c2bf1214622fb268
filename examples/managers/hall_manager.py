"""A fleet manager for a hall as it is: it brings loads from place to place, whatever goes wrong with its robots.

Goals that fail are sent again. A robot that has a fault, is driven by hand or is silent loses its job to another one,
unless it has the load already: then the job waits for it. Run a node with a scenario that has `disturbances`, and
beside it `python examples/managers/hall_manager.py --from 1.5,1.5 3.5,1.5 --to 9.5,5.5 --jobs 20`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import FleetState, RobotState

Place = tuple[float, float]
AGAIN = 2.0  # Seconds from a goal that failed to the next one.


@dataclass(eq=False)
class Job:
    """A load to be brought; `loaded` once its robot was where it is taken from."""

    pickup: Place
    drop: Place
    loaded: bool = False


@dataclass(eq=False)
class Robot:
    """What is known of a robot, and what it does. `sent` counts its goals and their ends: odd while one is open."""

    state: RobotState
    heard: float = 0.0
    job: Job | None = None
    goal: Any = None
    sent: int = 0
    rests_until: float = 0.0

    def fit(self) -> bool:
        """Return whether it drives, and takes goals."""
        return not self.state.faults and self.state.operating_mode <= RobotState.SEMIAUTOMATIC

    def distance(self, place: Place) -> float:
        """Return how far it believes to be from a place, in m."""
        return math.dist((self.state.pose.position.x, self.state.pose.position.y), place)


class HallManager(Node):
    """Does `total` jobs; a robot that is silent for `patience` s loses a job that it has not loaded."""

    def __init__(self, pickups: list[Place], drops: list[Place], total: int, patience: float = 20.0) -> None:
        super().__init__("hall_manager")
        self.ended = Future()
        self.done = self.taken_away = self.failed_goals = 0
        self.robots: dict[str, Robot] = {}
        self._jobs = deque(Job(pickups[n % len(pickups)], drops[n % len(drops)]) for n in range(total))
        self._total, self._patience, self._now = total, patience, 0.0
        self._client = ActionClient(self, MoveTo, "fleet/move_to")
        self.create_subscription(FleetState, "fleet/states", self._on_states, 10)

    def _on_states(self, fleet: FleetState) -> None:
        self._now = fleet.header.stamp.sec + 1e-9 * fleet.header.stamp.nanosec
        for state in fleet.robots:
            robot = self.robots.setdefault(state.name, Robot(state, self._now))
            robot.heard = self._now if state.pose != robot.state.pose else robot.heard
            robot.state = state
        if self._client.server_is_ready():
            for robot in self.robots.values():
                self._look_after(robot)
            self._assign()

    def _look_after(self, robot: Robot) -> None:
        job, silent = robot.job, robot.sent % 2 and self._now - robot.heard > self._patience
        if job is None:
            return
        if not job.loaded and (silent or not robot.fit()):
            self._jobs.appendleft(job)
            if robot.goal is not None:
                robot.goal.cancel_goal_async()
            robot.job, robot.goal, robot.sent = None, None, robot.sent + robot.sent % 2
            robot.rests_until, self.taken_away = self._now + AGAIN, self.taken_away + 1
        elif robot.sent % 2 == 0 and robot.fit() and self._now >= robot.rests_until:
            self._send(robot, job.drop if job.loaded else job.pickup)

    def _assign(self) -> None:
        free = [one for one in self.robots.values() if one.job is None and one.fit() and self._now >= one.rests_until]
        while free and self._jobs:
            job = self._jobs.popleft()
            robot = min(free, key=lambda one: one.distance(job.pickup))
            free.remove(robot)
            robot.job = job
            self._send(robot, job.pickup)

    def _send(self, robot: Robot, place: Place) -> None:
        goal = MoveTo.Goal(robot=robot.state.name, route=True, final_orientation_align=False)
        goal.pose.pose.position.x, goal.pose.pose.position.y, goal.pose.pose.orientation.w = *place, 1.0
        robot.heard, robot.sent = self._now, (number := robot.sent + 1)

        def accepted(future: Future) -> None:
            handle = future.result()
            if not handle.accepted:
                return self._on_end(robot, number, False)
            robot.goal = handle if robot.sent == number else robot.goal
            end = lambda result: self._on_end(robot, number, result.result().result.success)  # noqa: E731
            handle.get_result_async().add_done_callback(end)

        heard = lambda feedback: setattr(robot, "heard", self._now)  # noqa: E731
        self._client.send_goal_async(goal, feedback_callback=heard).add_done_callback(accepted)

    def _on_end(self, robot: Robot, number: int, success: bool) -> None:
        if number != robot.sent or robot.job is None:
            return
        robot.sent, robot.goal = robot.sent + 1, None
        if not success:
            robot.rests_until, self.failed_goals = self._now + AGAIN, self.failed_goals + 1
        elif not robot.job.loaded:
            robot.job.loaded = True
        else:
            robot.job, self.done = None, self.done + 1
            if self.done == self._total:
                self.ended.set_result(None)


def main() -> int:
    """Manage jobs until all are done; returns 0 then."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    place = lambda text: tuple(map(float, text.split(",")))  # noqa: E731
    parser.add_argument("--from", dest="pickups", nargs="+", required=True, type=place, help="x,y to take loads from")
    parser.add_argument("--to", dest="drops", nargs="+", required=True, type=place, help="x,y to bring them to")
    parser.add_argument("--jobs", type=int, default=20, help="how many jobs")
    args = parser.parse_args()
    rclpy.init()
    manager = HallManager(args.pickups, args.drops, args.jobs)
    rclpy.spin_until_future_complete(manager, manager.ended)
    print(f"{manager.done} jobs, {manager.taken_away} taken away, {manager.failed_goals} goals failed", flush=True)
    return int(manager.done < args.jobs)


if __name__ == "__main__":
    sys.exit(main())
