"""PollSet: which of many polled subscriptions have a message, without asking each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..dds.participant import Participant
    from ..dds.waitset import WaitSet


class PollSet:
    """A fixed series of subscriptions; `SubscriptionHandle.poll_set` makes it, which rclpy does not have.

    Asking costs by what arrived: a thousand silent subscriptions cost as little as one. Make another one when
    one of them is destroyed.
    """

    def __init__(self, participant: Participant, conditions: Sequence[int]) -> None:
        from ..dds.waitset import WaitSet

        self._wait_set: WaitSet | None = WaitSet(participant, most=len(conditions))
        for index, condition in enumerate(conditions):
            self._wait_set.attach(condition, index)

    def ready(self) -> list[int]:
        """The places, ascending, of the subscriptions that have a message to take; none after `close`."""
        # Ascending, as they are reported in the order in which messages arrived.
        return [] if self._wait_set is None else sorted(self._wait_set.wait(0))

    def close(self) -> None:
        """Delete it; doing so twice changes nothing."""
        if self._wait_set is not None:
            self._wait_set.close()
            self._wait_set = None
