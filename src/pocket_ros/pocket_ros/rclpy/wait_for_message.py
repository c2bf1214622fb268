"""Waiting for one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .qos import QoSProfile
from .utilities import timeout_sec_to_nsec

if TYPE_CHECKING:
    from .node import Node

_FOREVER = (1 << 63) - 1
_MAIN_THREAD_WAIT_NS = 100_000_000


def wait_for_message(
    msg_type: Any,
    node: Node,
    topic: str,
    *,
    qos_profile: QoSProfile | int = 1,
    time_to_wait: float | int = -1,
) -> tuple[bool, Any]:
    """Whether a message came within `time_to_wait` seconds (negative is forever), and the message.

    Nothing else of the node runs meanwhile.
    """
    import time

    from ..dds.waitset import Guard, WaitSet

    subscription = node.create_subscription(msg_type, topic, lambda _: None, qos_profile=qos_profile)
    executor = node.executor
    if executor is not None:
        executor.detach(subscription)
    participant = node.context.participant
    wait_set, guard = WaitSet(participant), Guard(participant)
    node.context.on_shutdown(guard.trigger)
    try:
        wait_set.attach(guard.handle, 0)
        wait_set.attach(subscription.conditions()[0], 1)
        timeout = timeout_sec_to_nsec(time_to_wait)
        deadline = time.monotonic_ns() + (_FOREVER // 2 if timeout < 0 else timeout)
        while node.context.ok():
            taken = subscription.handle.take_message(msg_type, False)
            if taken is not None:
                return True, taken[0]
            left = deadline - time.monotonic_ns()
            if left <= 0:
                break
            # Short enough for signal handlers to get their turn.
            wait_set.wait(min(left, _MAIN_THREAD_WAIT_NS))
        return False, None
    finally:
        wait_set.close()
        node.destroy_subscription(subscription)
        guard.close()
