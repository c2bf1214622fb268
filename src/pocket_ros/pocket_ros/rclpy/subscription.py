"""Subscriptions."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from .endpoint import EndpointOwner, TopicEndpoint
from .entity import CallbackGroup, Entity, WithBlock
from .qos import QoSProfile
from .type_support import MsgType

if TYPE_CHECKING:
    from ..dds.endpoints import Reader
    from ..dds.participant import WaitSet

__all__ = ["MessageInfo", "MsgType", "Subscription", "SubscriptionHandle"]


# PollSet: which of many polled subscriptions have a message, without asking each of them.


class PollSet:
    """A fixed series of subscriptions; `SubscriptionHandle.poll_set` makes it, which rclpy does not have.

    Asking costs by what arrived: a thousand silent subscriptions cost as little as one. Make another one when
    one of them is destroyed.
    """

    def __init__(self, conditions: Sequence[int]) -> None:
        from ..dds.participant import WaitSet

        self._wait_set: WaitSet | None = WaitSet(most=len(conditions))
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


_ANY_STATE = 0x7F


class MessageInfo(TypedDict):
    """What is known of a message.

    Times in nanoseconds. Sequence numbers are not announced by the middleware.
    """

    source_timestamp: int
    received_timestamp: int
    publication_sequence_number: int | None
    reception_sequence_number: int | None


class SubscriptionHandle(WithBlock):
    """Takes messages directly, for programs that poll instead of spinning."""

    def __init__(self, reader: Reader, topic: str) -> None:
        from ..dds.library import take

        self._reader = reader
        self._handle = reader.handle
        self._take = take
        self._topic = topic

    def poll_set(self, others: Sequence[SubscriptionHandle]) -> PollSet:
        """What tells which of this handle and `others`, in this order, have a message to take."""
        return PollSet([handle._reader.condition for handle in (self, *others)])

    def conditions(self) -> list[int]:
        """What a wait set waits on."""
        return [self._reader.condition]

    def close(self) -> None:
        """Take nothing more."""
        self._handle = 0

    def take_message(self, msg_type: type[Any], raw: bool) -> tuple[Any, MessageInfo] | None:
        """The next message (its CDR as bytes where `raw`) with its info, or None.

        Raises RCLError for bytes that are no such message.
        """
        sample = self.take_sample()
        if sample is None:
            return None
        data, info = sample
        if not raw:
            data = self.decode(data, msg_type)
        return data, _message_info(info)

    def take_sample(self) -> tuple[bytes, Any] | None:
        """The next CDR and DDS sample info, or None."""
        while True:
            samples = self._take(self._handle, _ANY_STATE, 1)
            if type(samples) is int or not samples:
                return None
            if samples[0][1].valid_data:
                return samples[0]  # type: ignore[no-any-return]

    def decode(self, data: bytes, msg_type: type[Any]) -> Any:
        """The message in CDR bytes. Raises RCLError."""
        from ..interfaces import cdr
        from .exceptions import RCLError

        try:
            return cdr.deserialize(data, msg_type)
        except cdr.DeserializationError as error:
            raise RCLError(
                f"received a message on '{self._topic}' that is not what it should be: {error}"
            ) from error

    def get_topic_name(self) -> str:
        """The full name of the topic."""
        return self._topic

    def get_publisher_count(self) -> int:
        """How many publishers are received."""
        return self._reader.matched_count()

    def _end_block(self) -> None:
        return None


class Subscription(TopicEndpoint, Entity):
    """Receives messages of one type from a topic. Made by `Node.create_subscription`."""

    turn = 2

    class CallbackType(Enum):
        """Whether the callback takes the message alone or its info as well."""

        MessageOnly = 0
        WithMessageInfo = 1

    def __init__(
        self,
        node: EndpointOwner,
        reader: Reader,
        msg_type: type[Any],
        topic: str,
        callback: Callable[..., Any],
        callback_group: CallbackGroup | None,
        qos_profile: QoSProfile,
        raw: bool,
    ) -> None:
        TopicEndpoint.__init__(self, node, msg_type, topic, qos_profile)
        Entity.__init__(self, callback_group)
        self.raw = raw
        self._reader = reader
        self._handle = SubscriptionHandle(reader, topic)
        self.callback = callback

    def get_publisher_count(self) -> int:
        """How many publishers are received."""
        self.check_alive()
        return self._reader.matched_count()

    @property
    def handle(self) -> SubscriptionHandle:
        """Takes messages directly. Raises InvalidHandle after destruction."""
        self.check_alive()
        return self._handle

    @property
    def callback(self) -> Callable[..., Any]:
        return self._callback

    @callback.setter
    def callback(self, value: Callable[..., Any]) -> None:
        self._callback = value
        self._callback_type = _callback_type(value)

    def _leave(self) -> None:
        super()._leave()
        self._node._ros_forget_reader(self._reader)
        self._reader.close()
        self._handle.close()

    def conditions(self) -> list[int]:
        return [self._reader.condition]

    def take(self) -> Any | None:
        sample = self._handle.take_sample()
        if sample is None:
            return None
        data, info = sample
        message: Any = data if self.raw else self._handle.decode(data, self.msg_type)
        if self._callback_type is Subscription.CallbackType.MessageOnly:
            return (message,)
        return message, _message_info(info)

    def run(self, work: Any) -> Any:
        return self._callback(*work)


def _message_info(info: Any) -> MessageInfo:
    return {
        "source_timestamp": info.source_timestamp,
        "received_timestamp": time.time_ns(),
        "publication_sequence_number": None,
        "reception_sequence_number": None,
    }


def _callback_type(callback: Callable[..., Any]) -> Subscription.CallbackType:
    if not callable(callback):
        raise RuntimeError(f"Subscription.__init__(): callback should be callable, it was {callback!r}")
    try:
        signature = inspect.signature(callback)
    except ValueError:  # some built-in functions have none
        return Subscription.CallbackType.MessageOnly
    for arguments, kind in (
        ((object(),), Subscription.CallbackType.MessageOnly),
        ((object(), object()), Subscription.CallbackType.WithMessageInfo),
    ):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return kind
    raise RuntimeError(
        "Subscription.__init__(): callback should be either be callable with one argument "
        "(to get only the message) or two (to get message and message info)"
    )
