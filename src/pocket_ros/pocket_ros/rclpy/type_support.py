"""Whether a class is an interface class, and its DDS names."""

from __future__ import annotations

from typing import Any, TypeVar

from ..interfaces import cdr
from .exceptions import NoTypeSupportImportedException

__all__ = [
    "MsgType",
    "SrvType",
    "SrvTypeRequest",
    "SrvTypeResponse",
    "check_for_type_support",
    "check_is_valid_action_type",
    "check_is_valid_msg_type",
    "check_is_valid_srv_type",
    "dds_type_name",
    "ros_type_name",
]


MsgType = TypeVar("MsgType")
SrvType = TypeVar("SrvType")
SrvTypeRequest = TypeVar("SrvTypeRequest")
SrvTypeResponse = TypeVar("SrvTypeResponse")


def check_for_type_support(msg_or_srv_type: object) -> None:
    """Raises AttributeError for what is no interface class of pocket_ros.

    NoTypeSupportImportedException is for a class of ROS 2 whose compiled part cannot be imported.
    """
    if getattr(type(msg_or_srv_type), "_TYPE_SUPPORT", msg_or_srv_type) is None:
        raise NoTypeSupportImportedException()
    if not getattr(msg_or_srv_type, "_type_name_", None):
        raise AttributeError(
            f"{msg_or_srv_type!r} is no interface class: pass one such as std_msgs.msg.String itself"
        )


def check_is_valid_msg_type(msg_type: type[Any]) -> None:
    """Raises RuntimeError for what is no message class."""
    check_for_type_support(msg_type)
    if not hasattr(msg_type, "get_fields_and_field_types"):
        raise RuntimeError(f"{msg_type.__name__} is not a valid message type")


def check_is_valid_srv_type(srv_type: type[Any]) -> None:
    """Raises RuntimeError for what is no service class."""
    check_for_type_support(srv_type)
    if not hasattr(srv_type, "Request") or not hasattr(srv_type, "Response"):
        raise RuntimeError(f"{srv_type.__name__} is not a valid service type")


def check_is_valid_action_type(action_type: type[Any]) -> None:
    """Raises RuntimeError for what is no action class."""
    check_for_type_support(action_type)
    if not hasattr(action_type, "Impl"):
        raise RuntimeError(f"{action_type.__name__} is not a valid action type")


def dds_type_name(name: str) -> str:
    """`geometry_msgs/msg/Twist` as DDS knows it: `geometry_msgs::msg::dds_::Twist_`."""
    package, kind, base = name.split("/")
    return f"{package}::{kind}::dds_::{base}_"


def ros_type_name(dds_name: str) -> str:
    """`dds_type_name` undone; names of other systems come back as they are."""
    parts = dds_name.split("::")
    if len(parts) == 4 and parts[2] == "dds_" and parts[3].endswith("_"):
        return f"{parts[0]}/{parts[1]}/{parts[3][:-1]}"
    return dds_name


# Messages to CDR bytes and back.


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
