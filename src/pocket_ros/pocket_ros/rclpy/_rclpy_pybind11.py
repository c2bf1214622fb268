"""The public place of what rclpy's C extension raises, and of what waitables wait on.

The rest of the extension is not covered.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from . import timer
from . import waitable as guard_condition
from .entity import Handle
from .exceptions import InvalidHandle, InvalidROSArgsError, RCLError, UnknownROSArgsError
from .service import RequestHeader

__all__ = ["InvalidHandle", "RCLError", "RCLInvalidROSArgsError", "UnknownROSArgsError"]


# The name that the extension gives it.
RCLInvalidROSArgsError = InvalidROSArgsError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "rmw_qos_profile_t":
        from .qos import CQoSProfile

        return CQoSProfile
    raise NotImplementedError(f"rclpy._rclpy_pybind11.{name} is not covered; a full ROS 2 has it")


# What waitables of a program wait on and take from: the entities of rclpy's C extension. Unlike those
# that nodes make, no executor takes from them by itself.


def _owner(handle: Any) -> Any:
    return handle.owner if isinstance(handle, Handle) else handle


class GuardCondition(guard_condition.GuardCondition):
    """A condition that a program triggers."""

    def __init__(self, context: Any) -> None:
        super().__init__(None, None, _owner(context))

    def trigger_guard_condition(self) -> None:
        """End waits on it. Safe from any thread."""
        self.trigger()


class Timer(timer.Timer):
    """A period of a clock."""

    def __init__(self, clock: Any, context: Any, period_nsec: int, autostart: bool = True) -> None:
        super().__init__(None, None, period_nsec, _owner(clock), context=_owner(context), autostart=autostart)

    def is_timer_ready(self) -> bool:
        """Whether a call is due."""
        return self.is_ready()

    def call_timer(self) -> None:
        """Begin the next period."""
        self.take()


class _Raw:
    """A client, service or subscription that its maker takes from."""

    def __init__(self, entity: Any) -> None:
        self._entity = entity
        # No node owns it: it goes with the last reference to it.
        weakref.finalize(self, entity.destroy).atexit = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entity, name)

    def __enter__(self) -> Any:
        self._entity.check_alive()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def conditions(self) -> list[int]:
        """What a wait set waits on. Raises InvalidHandle after destruction."""
        self._entity.check_alive()
        found: list[int] = self._entity.conditions()
        return found

    def destroy_when_not_in_use(self) -> None:
        """End it."""
        self._entity.destroy()


class Subscription(_Raw):
    """Takes messages of one topic."""

    def __init__(self, node: Any, msg_type: type[Any], topic: str, qos_profile: Any) -> None:
        super().__init__(_owner(node)._ros_create_subscription(msg_type, topic, lambda _: None, qos_profile))

    def take_message(self, msg_type: type[Any], raw: bool) -> Any:
        """The next message with its info, or None."""
        return self._entity.handle.take_message(msg_type, raw)


class Client(_Raw):
    """Sends requests and takes responses."""

    def __init__(self, node: Any, srv_type: type[Any], name: str, qos_profile: Any) -> None:
        super().__init__(_owner(node)._ros_create_client(srv_type, name, qos_profile, None))
        self._numbers: dict[int, int] = {}

    def service_server_is_available(self) -> bool:
        """Whether a server would answer."""
        return bool(self._entity.service_is_ready())

    def send_request(self, request: Any) -> int:
        """Ask; the number of the request, which its response will have."""
        header, future = self._entity.send(request)
        self._numbers[id(future)] = header.sequence_number
        return int(header.sequence_number)

    def take_response(self, response_type: type[Any]) -> tuple[Any, Any]:
        """The header and the content of the next response; None twice where there is none."""
        taken = self._entity.take()
        if taken is None:
            return None, None
        future, response = taken
        return RequestHeader(self._entity._guid, self._numbers.pop(id(future))), response


class Service(_Raw):
    """Takes requests and sends responses."""

    def __init__(self, node: Any, srv_type: type[Any], name: str, qos_profile: Any) -> None:
        super().__init__(
            _owner(node)._ros_create_service(srv_type, name, lambda _, response: response, qos_profile, None)
        )

    def service_take_request(self, request_type: type[Any]) -> tuple[Any, Any]:
        """The content and the header of the next request; None twice where there is none."""
        return self._entity.take() or (None, None)

    def service_send_response(self, response: Any, header: Any) -> None:
        """Answer the request that came with a header."""
        self._entity.send_response(response, header)


# Where programs look for rclpy's C extension.


package = "rclpy"
rclpy_implementation = sys.modules[__name__]
"""`rclpy.impl.implementation_singleton` has these two."""
