"""Work for the executor's thread, posted by the simulation's thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node


class Mailbox:
    """Runs functions in the executor that spins the node, in the order they were posted.

    Services, actions and parameters belong to the executor's thread; the simulation posts calls to them here.
    """

    def __init__(self, node: Node) -> None:
        # Appending and popping at a deque's ends is atomic, and only the executor pops.
        self._waiting: deque[Callable[[], object]] = deque()
        # In a group of its own: callbacks of the default group that wait for the simulation must not block it.
        self._guard = node.create_guard_condition(self._run, callback_group=MutuallyExclusiveCallbackGroup())
        self._closed = False

    def post(self, function: Callable[[], object]) -> None:
        """Queue a call of `function()`; from any thread. Does nothing after `close`."""
        if not self._closed:
            self._waiting.append(function)
            self._guard.trigger()

    def close(self) -> None:
        """Drop the queued calls and accept no more."""
        self._closed = True
        self._waiting.clear()

    def _run(self) -> None:
        # Only the calls queued now: calls posted by these functions run in the next turn, so that this one ends.
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()
