"""Transforming stamped objects, and the registry of the types that can be."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from ..rclpy.time import Duration, Time
from .rigid import Moment


class TypeException(Exception):
    """Raised for an object whose type is not registered."""

    def __init__(self, errstr: str) -> None:
        super().__init__(errstr)
        self.errstr = errstr


class NotImplementedException(Exception):
    """Raised by the methods a buffer has to define."""

    def __init__(self) -> None:
        super().__init__("CanTransform or LookupTransform not implemented")


Stamped = tuple[Any, Any, str]
# Names of types that programs annotate with.
MsgStamped = Any
PyKDLType = TypeVar("PyKDLType")
TransformableObject = Any
TransformableObjectType = TypeVar("TransformableObjectType")


class BufferInterface:
    """What every buffer can do, given `lookup_transform` and `lookup_transform_full`."""

    def __init__(self) -> None:
        self.registration = TransformRegistration()

    def transform(
        self,
        object_stamped: Any,
        target_frame: str,
        timeout: Duration = Duration(),
        new_type: type | None = None,
    ) -> Any:
        """The object in another frame, at its own time.

        Raises TypeException, and as `lookup_transform` does.
        """
        do_transform = self.registration.get(type(object_stamped))
        header = object_stamped.header
        stamp = Time.from_msg(header.stamp)
        result = do_transform(
            object_stamped, self.lookup_transform(target_frame, header.frame_id, stamp, timeout)
        )
        return result if new_type is None else convert(result, new_type)

    def transform_full(
        self,
        object_stamped: Any,
        target_frame: str,
        target_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
        new_type: type | None = None,
    ) -> Any:
        """The object in another frame at another time, by way of a frame that does not move meanwhile."""
        do_transform = self.registration.get(type(object_stamped))
        header = object_stamped.header
        found = self.lookup_transform_full(
            target_frame, target_time, header.frame_id, Time.from_msg(header.stamp), fixed_frame, timeout
        )
        result = do_transform(object_stamped, found)
        return result if new_type is None else convert(result, new_type)

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> Any:
        raise NotImplementedException()

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> Any:
        raise NotImplementedException()

    def can_transform(
        self, target_frame: str, source_frame: str, time: Moment, timeout: Duration = Duration()
    ) -> bool:
        """Whether a transform is known. Raises NotImplementedException: a buffer defines it."""
        raise NotImplementedException()

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Moment,
        source_frame: str,
        source_time: Moment,
        fixed_frame: str,
        timeout: Duration = Duration(),
    ) -> bool:
        """Whether a transform between two times is known, as `can_transform`."""
        raise NotImplementedException()


class TransformRegistration:
    """Type to the function that transforms its objects by a TransformStamped; shared by all buffers."""

    _functions: dict[type, Callable[[Any, Any], Any]] = {}

    def print_me(self) -> None:
        print(self._functions)

    def get(self, key: type) -> Callable[[Any, Any], Any]:
        """The function of a type. Raises TypeException where none is registered."""
        if key not in self._functions:
            raise TypeException(f"Type {key} if not loaded or supported")
        return self._functions[key]

    def add(self, key: type, callback: Callable[[Any, Any], Any]) -> None:
        """Register a type."""
        self._functions[key] = callback


class ConvertRegistration:
    """Functions back and forthm messages, and between types; shared by all."""

    _to_msg: dict[type, Callable[[Any], Any]] = {}
    _from_msg: dict[type, Callable[[Any], Any]] = {}
    _convert: dict[tuple[type, type], Callable[[Any], Any]] = {}

    def get_from_msg(self, key: type) -> Callable[[Any], Any]:
        return self._found(self._from_msg, key)

    def get_to_msg(self, key: type) -> Callable[[Any], Any]:
        return self._found(self._to_msg, key)

    def get_convert(self, key: tuple[type, type]) -> Callable[[Any], Any]:
        return self._found(self._convert, key)

    def add_from_msg(self, key: type, callback: Callable[[Any], Any]) -> None:
        self._from_msg[key] = callback

    def add_to_msg(self, key: type, callback: Callable[[Any], Any]) -> None:
        self._to_msg[key] = callback

    def add_convert(self, key: tuple[type, type], callback: Callable[[Any], Any]) -> None:
        self._convert[key] = callback

    def _found(self, table: dict[Any, Callable[[Any], Any]], key: Any) -> Callable[[Any], Any]:
        if key not in table:
            raise TypeException(f"Type {key} if not loaded or supported")
        return table[key]


def convert(a: Any, b_type: type) -> Any:
    """An object as another type, by a registered conversion or by way of a message. Raises TypeException."""
    registration = ConvertRegistration()
    if isinstance(a, b_type):
        return deepcopy(a)
    key = (type(a), b_type)
    if key in registration._convert:
        return registration.get_convert(key)(a)
    return registration.get_from_msg(b_type)(registration.get_to_msg(type(a))(a))
