"""Messages to CDR bytes and back."""

from __future__ import annotations

from typing import Any

from ..interfaces import cdr
from .type_support import check_for_type_support


def serialize_message(message: Any) -> bytes:
    """The CDR of a message, with its encapsulation header.

    Raises AttributeError for what is no message.
    """
    check_for_type_support(type(message))
    return bytes(cdr.serialize(message))


def deserialize_message(serialized_message: bytes, message_type: type[Any]) -> Any:
    """The message in CDR bytes. Raises RCLError for bytes that are not one."""
    check_for_type_support(message_type)
    from .exceptions import RCLError

    try:
        return cdr.deserialize(bytes(serialized_message), message_type)
    except cdr.DeserializationError as error:
        raise RCLError(f"failed to deserialize ROS message: {error}") from error
