"""Requests of Open-RMF: one topic for all robots, doors or lifts, polled at the beginning of each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.qos import QoSProfile

from fleet_sim.core.commands import Command
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.wire import decode

QUEUE = QoSProfile(depth=1000)
"""Reliable, and deep: one subscription stands for those that each robot has in Open-RMF's simulation."""


class RequestTopic:
    """A topic of requests, each of which becomes a command."""

    def __init__(
        self, bridge: Bridge, kind: Any, name: str, make: Callable[[Any], Command | None], profile: QoSProfile = QUEUE
    ) -> None:
        """`make(message)` returns the command; None where the request needs none."""
        self._bridge = bridge
        self._kind = kind
        self._name = name
        self._make = make
        self._subscription = bridge.robots.create_subscription(kind, name, _never_called, profile)

    def receive(self) -> None:
        """Pass on all requests that have arrived, in their order."""
        while (taken := self._subscription.handle.take_message(self._kind, True)) is not None:
            try:
                command = self._make(decode(taken[0], self._kind))
            except InvalidValueError as error:
                self._bridge.reject(self._name, error)
                continue
            if command is not None:
                self._bridge.gateway.take(self._name, lambda command=command: command)  # type: ignore[misc]


def _never_called(message: object) -> None:
    """A subscription must have a callback; these are never spun."""
