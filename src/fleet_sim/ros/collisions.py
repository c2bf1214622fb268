"""/fleet/collisions: the pairs in collision."""

from __future__ import annotations

from collections.abc import Iterable

from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.msg import CollisionPair, Collisions

Pair = tuple[str, str]


class CollisionsTopic(Interface):
    """Publishes the pairs in collision in each step in which they change; latched.

    On fleet/collisions, a Collisions: all pairs in contact, and those that began or ended since the last message.
    Entities without a name are called #<object id>.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(Collisions, "fleet/collisions", qos.LATCHED)
        # A dict as an ordered set: messages list the pairs in the order in which they began.
        self._active: dict[Pair, None] = {}
        self._started: list[Pair] = []
        self._ended: list[Pair] = []
        events = bridge.sim.events
        events.on("collision_started", self._on_started)
        events.on("collision_ended", self._on_ended)
        # Latched at once, so that a subscriber learns that there is no collision yet.
        self._send(0)

    def on_reset(self) -> None:
        """Find out which pairs a reset or a restored state has begun and ended."""
        pairs = dict.fromkeys(_pair(a, b) for a, b in self.bridge.sim.get_active_collision_pairs())
        # Pairs are restored without events, so the difference is worked out here. Added, not put in place: a restore
        # that removed an entity has emitted the end of its pairs already.
        self._started += [pair for pair in pairs if pair not in self._active]
        self._ended += [pair for pair in self._active if pair not in pairs]
        self._active = pairs

    def publish(self, now: int) -> None:
        """Publish the pairs, if one has begun or ended."""
        if self._started or self._ended:
            self._send(now)

    def _on_started(self, obj_a: object, obj_b: object) -> None:
        pair = _pair(obj_a, obj_b)
        self._active[pair] = None
        self._started.append(pair)

    def _on_ended(self, obj_a: object, obj_b: object) -> None:
        pair = _pair(obj_a, obj_b)
        self._active.pop(pair, None)
        self._ended.append(pair)

    def _send(self, now: int) -> None:
        message = Collisions(active=_msgs(self._active), started=_msgs(self._started), ended=_msgs(self._ended))
        message.header.frame_id = self.bridge.frames.map
        message.header.stamp = time_to_msg(now)
        self._publisher.publish(message)
        self._started, self._ended = [], []


def _pair(obj_a: object, obj_b: object) -> Pair:
    return _label(obj_a), _label(obj_b)


def _label(entity: object) -> str:
    return str(entity.name or f"#{entity.object_id}")  # type: ignore[attr-defined]


def _msgs(pairs: Iterable[Pair]) -> list[CollisionPair]:
    return [CollisionPair(first=first, second=second) for first, second in pairs]
