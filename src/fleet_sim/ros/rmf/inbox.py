"""Requests of Open-RMF: one topic for all robots, doors or lifts, polled at the beginning of each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

from rclpy.qos import QoSProfile

from fleet_sim.core.commands import Command
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.wire import decode

MOST = 1000
"""Requests of a topic that are taken in one step: who sends faster than they are read must not hold up the step."""
LARGEST = 10_000_000
"""Bytes of a request: more than the longest path has."""
QUEUE = QoSProfile(depth=MOST)
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
        """Pass on the requests that have arrived, at most MOST of them, in their order."""
        for _ in range(MOST):
            taken = self._subscription.handle.take_message(self._kind, True)
            if taken is None:
                return
            try:
                if len(taken[0]) > LARGEST:
                    raise InvalidValueError(f"{len(taken[0])} bytes, at most {LARGEST} are read")
                command = self._make(decode(taken[0], self._kind))
            except InvalidValueError as error:
                self._bridge.reject(self._name, error)
                continue
            if command is not None:
                self._bridge.gateway.take(self._name, lambda command=command: command)  # type: ignore[misc]


def fields_from(message: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what a command takes over from a message: by the field of the command, the one of the message."""
    return {name: attrgetter(theirs)(message) for name, theirs in names.items()}


def _never_called(message: object) -> None:
    """A subscription must have a callback; these are never spun."""
