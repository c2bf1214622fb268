"""Publishers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .endpoint import EndpointOwner, TopicEndpoint
from .entity import CallbackGroup, Handled
from .exceptions import RCLError
from .qos import QoSProfile
from .time import Duration
from .type_support import MsgType, dds_type_name

if TYPE_CHECKING:
    from ..dds.burst import Burst
    from ..dds.endpoints import Writer

__all__ = ["MsgType", "Publisher"]


class Publisher(TopicEndpoint, Handled):
    """Publishes messages of one type, or their CDR, on a topic. Made by `Node.create_publisher`."""

    def __init__(
        self,
        node: EndpointOwner,
        writer: Writer,
        msg_type: type[Any],
        topic: str,
        qos_profile: QoSProfile,
        callback_group: CallbackGroup | None,
    ) -> None:
        from ..dds.library import write
        from ..interfaces.cdr import encoder

        super().__init__(node, msg_type, topic, qos_profile)
        self.callback_group = callback_group
        self._writer = writer
        self._handle = writer.handle
        self._write = write
        self._encode = encoder(self.msg_type)
        self._burst: Burst | None = None

    def publish(self, msg: Any) -> None:
        """Publish a message, or the CDR of one as `bytes`.

        Raises TypeError for anything else, InvalidHandle after destruction, RCLError when the middleware
        refuses.
        """
        data: bytes | bytearray | memoryview
        if isinstance(msg, self.msg_type):
            data = self._encode(msg)
        elif isinstance(msg, (bytes, bytearray, memoryview)):
            data = msg
        else:
            raise TypeError(f"Expected {self.msg_type}, got {type(msg)}")
        if len(data) & 3:
            data = bytes(data).ljust(len(data) + 3 & ~3, b"\x00")
        result = self._write(self._handle, data)
        if result < 0:
            self._refused(result)

    def publish_each(self, others: Sequence[Publisher], pieces: Sequence[bytes | memoryview]) -> None:
        """Publish one CDR through this publisher and each of `others`, in order; rclpy has no such call.

        As `publish` for each of them, in packets that they share: a thousand small ones cost the system a
        twentieth. All are of the type of this one.
        """
        from ..dds.burst import make_burst

        publishers = (self, *others)
        if len(publishers) != len(pieces):
            raise ValueError(f"{len(pieces)} pieces for {len(publishers)} publishers")
        writers = [publisher._handle for publisher in publishers]
        burst = self._burst
        if burst is None or not burst.is_of(writers, pieces):
            burst = self._burst = make_burst(writers, pieces, dds_type_name(self.msg_type._type_name_))
        if burst is None:
            for publisher, piece in zip(publishers, pieces, strict=True):
                publisher.publish(piece)
            return
        answers = burst.write()
        if min(answers) < 0:
            for publisher, answer in zip(publishers, answers, strict=True):
                if answer < 0:
                    publisher._refused(answer)

    def get_subscription_count(self) -> int:
        """How many subscriptions receive what is published."""
        self.check_alive()
        return self._writer.matched_count()

    def assert_liveliness(self) -> None:
        """Tell subscriptions that this publisher is alive."""
        self.check_alive()
        self._writer.assert_liveliness()

    def wait_for_all_acked(self, timeout: Duration = Duration(nanoseconds=-1)) -> bool:
        """Wait until every reliable subscription has everything; False on timeout, negative is forever."""
        self.check_alive()
        forever = timeout.nanoseconds < 0
        return self._writer.wait_for_acks((1 << 63) - 1 if forever else timeout.nanoseconds)

    def _leave(self) -> None:
        super()._leave()
        self._node._ros_forget_writer(self._writer)
        self._writer.close()
        self._handle = 0  # which Cyclone refuses

    def _refused(self, result: int) -> None:
        self.check_alive()
        if not self._node.context.ok():
            raise RCLError("Failed to publish: publisher's context is invalid, it was shut down")
        from ..dds.library import BAD_PARAMETER

        if result == BAD_PARAMETER:
            raise RCLError(
                f"Failed to publish on '{self.topic}': the bytes are no CDR, which starts with 4 bytes that "
                "name the encoding; rclpy.serialization.serialize_message() makes it"
            )
        raise RCLError(f"Failed to publish on '{self.topic}': Cyclone DDS answered {result}")
