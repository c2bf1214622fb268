"""What an executor can wait on and run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from .callback_groups import CallbackGroup
from .exceptions import InvalidHandle


class Destroyable:
    """Something that can be used until it is destroyed."""

    _destroyed = False

    def check_alive(self) -> None:
        """Raises InvalidHandle after destruction."""
        if self._destroyed:
            raise InvalidHandle(f"cannot use this {type(self).__name__} because it has been destroyed")


class Entity(Destroyable):
    """Something with conditions to wait on, work to take when one is triggered, and a callback for it.

    `take` answers None where there was nothing after all. `run` answers a coroutine where the callback is
    one.
    """

    turn: ClassVar[int] = 3
    """Which comes first of those that are ready at once, as in rclpy: waitables 0, timers 1, subscriptions 2,
    clients 4, services 5."""

    def __init__(self, callback_group: CallbackGroup | None) -> None:
        self.callback_group = callback_group
        if callback_group is not None:
            callback_group.add_entity(self)
        self.node: Any = None  # set when an executor takes the node
        self.executor_key = 0
        # Work that was taken from the middleware and still waits for its turn.
        self.backlog: deque[Any] = deque()
        self._on_destroy: list[Callable[[], None]] = []

    def conditions(self) -> list[int]:
        """DDS conditions or endpoints whose trigger means there may be work."""
        return []

    def take(self) -> Any | None:
        """The next piece of work."""
        raise NotImplementedError(f"{type(self).__name__} is nothing that can be waited on")

    def run(self, work: Any) -> Any:
        """Run the callback with what `take` answered."""
        raise NotImplementedError(f"{type(self).__name__} is nothing that can be run")
