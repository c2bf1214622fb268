"""Goals whose client has gone: reported, or ended where `client_timeout` is set."""

from __future__ import annotations

import time
from collections.abc import Iterable

from fleet_sim.ros.actions.goals import AcceptedGoal, Goals
from fleet_sim.ros.interface import Bridge

UNHEARD = 2.0
"""Time in s without a client until it counts as gone: discovery may be later than the goal itself."""


class ClientLeases:
    """Finds the open goals that nobody listens to any more; in the executor's thread, once a second.

    Every action client subscribes to the feedback of its action, and goals are told apart by that only: a goal of an
    action with two clients counts as attended while one of them lives. A client that ends is noticed at once, one that
    was killed when the middleware gives it up, with Cyclone DDS after 10 s.
    """

    def __init__(self, bridge: Bridge, goals: Goals, timeout: float) -> None:
        """`timeout` in s of real time; 0: the robots go on."""
        self._bridge = bridge
        self._goals = goals
        self._timeout = timeout
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self) -> None:
        """Report goals that are unattended now, or end those that have been so for too long."""
        # Wall time: clients are gone in real time, also where the simulation pauses.
        goals, now = self._goals.open, time.monotonic()
        # Feedback is what every client of an action subscribes to; a count per name, not per goal.
        counts = {name: self._bridge.node.count_subscribers(f"{name}/_action/feedback") for name in names_of(goals)}
        # An entry lives as long as nobody listens, so the time begins anew when a client comes back.
        self._since = {name: self._since.get(name, now) for name, count in counts.items() if not count}
        unattended = {goal: now - self._since[goal.server.name] for goal in goals if goal.server.name in self._since}
        gone = {goal: unheard for goal, unheard in unattended.items() if unheard >= UNHEARD}
        self._bridge.gateway.unattended_goals = len(gone)
        # Forgotten with their goals, or the set would grow for ever.
        self._told &= {goal.name for goal in goals}
        for goal, unheard in gone.items():
            if goal.name not in self._told and unheard >= self._timeout:
                self._told.add(goal.name)
                self._tell(goal)

    def _tell(self, goal: AcceptedGoal) -> None:
        if self._timeout:
            self._goals.cancel(goal.handle, f"its client was gone for {self._timeout:g} s (client_timeout)")
        else:
            self._bridge.node.get_logger().warning(
                f"the client of a goal of {goal.server.name} for {goal.robot!r} is gone; the robot goes on "
                "(client_timeout ends such goals)"
            )


def names_of(goals: Iterable[AcceptedGoal]) -> set[str]:
    """Return the names of the actions of `goals`."""
    return {goal.server.name for goal in goals}
