"""Waiting for one message."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .context import timeout_sec_to_nsec
from .qos import QoSProfile

if TYPE_CHECKING:
    from .node import Node

_FOREVER = (1 << 63) - 1
_LONGEST_WAIT_NS = 100_000_000


def wait_for_message(
    msg_type: type[Any],
    node: Node,
    topic: str,
    *,
    qos_profile: QoSProfile | int = 1,
    time_to_wait: float | int = -1,
) -> tuple[bool, Any]:
    """Whether a message came within `time_to_wait` seconds (negative is forever), and the message.

    Nothing else of the node runs meanwhile.
    """
    from ..dds.participant import WaitSet

    subscription = node._ros_create_subscription(msg_type, topic, lambda _: None, qos_profile)
    wait_set = WaitSet(node.context.participant)
    timeout = timeout_sec_to_nsec(time_to_wait)
    deadline = time.monotonic_ns() + (_FOREVER // 2 if timeout < 0 else timeout)
    try:
        wait_set.attach(subscription.conditions()[0], 1)
        while node.context.ok():
            taken = subscription.handle.take_message(msg_type, False)
            if taken is not None:
                return True, taken[0]
            left = deadline - time.monotonic_ns()
            if left <= 0:
                break
            # Short enough for signal handlers and shutdown to get their turn.
            wait_set.wait(min(left, _LONGEST_WAIT_NS))
        return False, None
    finally:
        wait_set.close()
        subscription.destroy()
