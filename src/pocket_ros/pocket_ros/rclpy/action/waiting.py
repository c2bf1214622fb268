"""Actions as waitables, which a program cannot run by itself here."""

from __future__ import annotations

from typing import Any, NoReturn


class ActionWaitable:
    """Has the calls by which rclpy's executors run an action; executors here run its entities one by one."""

    def add_to_wait_set(self, wait_set: Any) -> NoReturn:
        self._refuse("add_to_wait_set")

    def is_ready(self, wait_set: Any) -> NoReturn:
        self._refuse("is_ready")

    def take_data(self) -> NoReturn:
        self._refuse("take_data")

    def execute(self, taken_data: Any) -> NoReturn:
        self._refuse("execute")

    def _refuse(self, call: str) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}.{call} is not covered; a full ROS 2 has it")
