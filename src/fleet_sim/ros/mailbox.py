"""Work for the executor's thread, handed over by the simulation's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node


class Mailbox:
    """Runs functions in the executor that spins the node, in the order they were posted.

    Services, actions and parameters live in the executor's thread; what the simulation has to tell them is posted here.
    """

    def __init__(self, node: Node) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        # In a group of its own: callbacks of the default group that wait for the simulation must not keep it waiting.
        self._guard = node.create_guard_condition(self._run, callback_group=MutuallyExclusiveCallbackGroup())
        self._closed = False

    def post(self, function: Callable[[], object]) -> None:
        """Have `function()` called; from any thread. Nothing happens after `close`."""
        if not self._closed:
            self._waiting.append(function)
            self._guard.trigger()

    def close(self) -> None:
        """Forget what is waiting, and take nothing more."""
        self._closed = True
        self._waiting.clear()

    def _run(self) -> None:
        # No more than is here now: what these functions post waits for the next turn.
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()
