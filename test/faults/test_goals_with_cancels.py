"""Goals for many robots, of which many are cancelled at any moment or replaced by others: none is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from node_program import Running, running
from rclpy.action import ActionClient
from rclpy.qos import HistoryPolicy, QoSProfile

from fleet_sim_msgs.action import MoveTo

ROBOTS = 40
GOALS = 700
"""In an ordinary test."""

AT_ONCE = 100
"""Goals that have no result yet; there are more of them than robots."""

ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
"""A client of ROS keeps ten answers that it has not looked at, unless it asks for more."""

ENDS = {GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "node.log", "-p", f"robots:={ROBOTS}", "-p", "target_rtf:=20.0") as both:
        yield both


def near_goal(random: Random) -> MoveTo.Goal:
    goal = MoveTo.Goal(robot=f"robot_{random.randrange(ROBOTS)}")
    place = goal.pose.pose.position
    place.x, place.y = random.uniform(-2.0, 2.0), random.uniform(-2.0, 2.0)
    goal.pose.pose.orientation.w = 1.0
    return goal


class Load:
    """Goals under way, and what became of those that were sent."""

    def __init__(self, actions: Any, random: Random) -> None:
        self.sent = self.cancelled = self.answered = 0
        self.ends: Counter[int] = Counter()
        self._actions, self._random = actions, random

    @property
    def ended(self) -> int:
        """Number of goals that have their result."""
        return self.ends.total()

    def send(self) -> None:
        """Send a goal; four in ten are cancelled as soon as they are accepted, or after some feedback."""
        way, seen, handles = self._random.random(), [0], list[Any]()
        self.sent += 1

        def on_feedback(message: Any) -> None:
            seen[0] += 1
            if 0.2 < way < 0.4 and seen[0] == 1 and handles:
                cancel(handles[0])

        def cancel(handle: Any) -> None:
            self.cancelled += 1
            handle.cancel_goal_async().add_done_callback(lambda _: self._count_answer())

        def on_answer(future: Any) -> None:
            handle = future.result()
            assert handle.accepted
            handles.append(handle)
            handle.get_result_async().add_done_callback(lambda done: self.ends.update([done.result().status]))
            if way <= 0.2:
                cancel(handle)

        self._actions.send_goal_async(near_goal(self._random), on_feedback).add_done_callback(on_answer)

    def _count_answer(self) -> None:
        self.answered += 1


@pytest.mark.slow
def test_no_goal_is_lost(fleet: Running, times: int, tried: Callable[[str, int], None]) -> None:
    node, client = fleet
    services = ("goal_service_qos_profile", "result_service_qos_profile", "cancel_service_qos_profile")
    actions = ActionClient(client.node, MoveTo, "/fleet/move_to", **dict.fromkeys(services, ALL))
    client.until(actions.server_is_ready, "the action")
    load = Load(actions, Random(1))
    for _ in range(GOALS * times):
        load.send()
        client.until(lambda: load.sent - load.ended < AT_ONCE, "a result")
    client.until(lambda: load.ended == load.sent and load.answered == load.cancelled, "the last results")
    actions.destroy()
    assert load.sent == GOALS * times and set(load.ends) <= ENDS
    # Goals that others replaced are aborted.
    assert all(load.ends[end] for end in ENDS)
    assert node.end()[0] == 0
    assert "fault" not in node.output()
    tried("goals", load.sent)
    tried("cancellations", load.cancelled)
