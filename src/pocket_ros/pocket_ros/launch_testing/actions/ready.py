"""The moment when tests may begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...launch.action import Action
from ...launch.launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


class ReadyToTest(Action):
    """Tells the test runner, when visited, that the processes are up."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Have a function called when the action is visited."""
        self._callbacks.append(callback)

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity] | None:
        for callback in self._callbacks:
            callback()
        return None
