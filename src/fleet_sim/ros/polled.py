"""Per-robot subscriptions, polled at the beginning of each step instead of being spun.

An executor would check all of them at each wake-up. Polling also makes sure that messages are applied in phase 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

from rclpy.qos import QoSProfile

from fleet_sim.core.addresses import NamedRows
from fleet_sim.core.commands import Command
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import Endpoints
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import decode

MANY = 8
"""Subscriptions from which on a poll set is worth while."""


class PolledTopic:
    """One subscription per robot on <robot>/<topic>; of several messages only the last is used."""

    def __init__(self, bridge: Bridge, kind: Any, topic: str, profile: QoSProfile) -> None:
        node = bridge.robots

        def make(name: str) -> Any:
            return node.create_subscription(kind, f"{name}/{topic}", _never_called, profile)

        self.kind = kind
        self._bridge = bridge
        self._name = topic
        self._endpoints = Endpoints(bridge, "commands", make, node.destroy_subscription)
        self._takes: list[Any] = []
        self._poll_set: PollSet | None = None

    def on_fleet_changed(self, roster: Roster) -> None:
        """Update the subscriptions to the robots of the fleet."""
        self._endpoints.on_fleet_changed(roster)
        # Kept as bound functions, as a thousand topics may be polled in each step.
        self._takes = [subscription.handle.take_message for subscription in self._endpoints.items]
        if self._poll_set is not None:
            self._poll_set.close()
        self._poll_set = poll_set_of([subscription.handle for subscription in self._endpoints.items])

    @property
    def names(self) -> list[str]:
        """The robots that have the topic."""
        return self._endpoints.names

    def take(self) -> list[tuple[int, Any]]:
        """Return (index of the robot in `names`, message) for each robot that received one.

        Bytes that cannot be decoded are rejected.
        """
        return [(index, message) for index, data in self.take_bytes() for message in self._decoded(index, data)]

    def take_bytes(self) -> list[tuple[int, bytes]]:
        """Return (index of the robot in `names`, bytes of its message) for each robot that received one."""
        kind = self.kind
        # True: raw bytes. They are decoded for the whole fleet at once, or one by one by a decoder that rejects invalid
        # ones.
        takes = self._takes
        if self._poll_set is None:
            return [(index, taken[0]) for index, take in enumerate(takes) if (taken := take(kind, True))]
        return [(index, taken[0]) for index in self._poll_set.ready() if (taken := takes[index](kind, True))]

    def names_of(self, indices: Sequence[int]) -> NamedRows:
        """Return the robots at `indices`, for a command: their rows are known here and are not looked up again."""
        of = self._endpoints
        return NamedRows(self._bridge.sim.world, [of.names[index] for index in indices], of.rows[indices], of.version)

    def _decoded(self, index: int, data: bytes) -> list[Any]:
        """Return the message in `data`, or nothing.

        rclpy itself may decode invalid bytes to a message of defaults; here they are rejected.
        """
        try:
            return [decode(data, self.kind)]
        except InvalidValueError as error:
            self._bridge.reject(f"{self._endpoints.names[index]}/{self._name}", error)
            return []


class PollSet(Protocol):
    """Tells which of many subscriptions have a message, for less than asking each of them; pocket_ros has one."""

    def ready(self) -> list[int]:
        """Return the places, ascending, of those that have a message to take."""

    def close(self) -> None:
        """Give it up."""


def poll_set_of(handles: Sequence[Any]) -> PollSet | None:
    """Return the poll set of `handles`; None where there are few, or where the client library has none."""
    first, *others = handles or [None]
    make = getattr(first, "poll_set", None)
    poll_set: PollSet | None = make(others) if make is not None and len(handles) >= MANY else None
    return poll_set


def _never_called(message: object) -> None:
    """A subscription must have a callback; these are never spun."""


class RobotCommandTopic(Interface):
    """Gives each robot the commands that it is sent on <robot>/<topic>."""

    message_type: ClassVar[type[Any]]
    topic: str

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._topic = PolledTopic(bridge, self.message_type, self.topic, qos.COMMAND)

    def on_fleet_changed(self, roster: Roster) -> None:
        self._topic.on_fleet_changed(roster)

    def receive(self) -> None:
        """Make a command of the newest message of each robot; those that cannot be are rejected in the log."""
        for index, message in self._topic.take():
            name = self._topic.names[index]
            self.bridge.gateway.take(f"{name}/{self.topic}", partial(self.command, name, message))

    def command(self, name: str, message: Any) -> Command:
        """Return the command of a message to the robot `name`; raises FleetSimError, which rejects the message."""
        raise NotImplementedError
