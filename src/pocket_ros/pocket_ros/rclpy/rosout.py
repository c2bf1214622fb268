"""Log messages on `/rosout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..interfaces.classes import message_class
from .exceptions import RCLError
from .impl import log_output
from .impl.log_output import LogRecord
from .qos import qos_profile_rosout_default

if TYPE_CHECKING:
    from .node_base import NodeBase


class Rosout:
    """Publishes what a node's logger and its children write."""

    def __init__(self, node: NodeBase, logger_name: str) -> None:
        self._name = logger_name
        self._log: Any = message_class("rcl_interfaces/msg/Log")
        self._time: Any = message_class("builtin_interfaces/msg/Time")
        # None of the node's own publishers: programs that go through those do not expect it.
        self._publisher = node._ros_create_publisher(self._log, "/rosout", qos_profile_rosout_default)
        log_output.add_sink(logger_name, self._publish)

    def _publish(self, record: LogRecord) -> None:
        seconds, nanoseconds = divmod(record.stamp, 10**9)
        message = self._log(
            stamp=self._time(sec=seconds, nanosec=nanoseconds),
            level=int(record.severity),
            name=record.name,
            msg=record.message,
            file=record.file_name,
            function=record.function_name,
            line=record.line_number,
        )
        try:
            self._publisher.publish(message)
        except RCLError:
            self.close()  # after shutdown the console remains

    def close(self) -> None:
        """Stop publishing."""
        log_output.remove_sink(self._name, self._publish)
        self._publisher.destroy()
