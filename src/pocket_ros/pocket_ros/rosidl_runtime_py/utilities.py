"""Interface classes by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interfaces.catalog import UnknownInterfaceError, interface_names
from ..interfaces.classes import action_class, message_class, service_class
from ..rosidl_parser.definition import NamespacedType

_PARTS = (
    *("_Request", "_Response", "_Event"),
    *("_Goal", "_Result", "_Feedback", "_FeedbackMessage"),
)
_KINDS = {"msg": "a message", "srv": "a service", "action": "an action"}
_MAKERS = {"msg": message_class, "srv": service_class, "action": action_class}


class UnknownInterfacePackageError(UnknownInterfaceError, ModuleNotFoundError):
    """No package of that name has interfaces of the kind; in ROS its module is not found."""


class UnknownInterfaceNameError(UnknownInterfaceError, AttributeError):
    """The package has no interface of that name; in ROS its module has no such attribute."""


def get_interface(identifier: str) -> Any:
    """The class of `package/msg/Name`, `package/srv/Name` or `package/action/Name`.

    Also of a part of a service or an action, such as `std_srvs/srv/SetBool_Request`. Raises ValueError for a
    name of another form, UnknownInterfacePackageError and UnknownInterfaceNameError, both LookupError,
    for one that is not known.
    """
    parts = identifier.split("/")
    if len(parts) == 3 and parts[1] in ("srv", "action") and parts[2].endswith(_PARTS):
        return _make(message_class, identifier)
    if len(parts) != 3 or parts[1] not in _MAKERS or not all(parts):
        raise ValueError(
            f"Expected the full name of an interface such as std_msgs/msg/String, got '{identifier}'"
        )
    return _make(_MAKERS[parts[1]], identifier)


def _make(maker: Callable[[str], Any], identifier: str) -> Any:
    try:
        return maker(identifier)
    except UnknownInterfaceError as error:
        package, kind, _ = identifier.split("/")
        known = kind in interface_names(package)
        raise (UnknownInterfaceNameError if known else UnknownInterfacePackageError)(str(error)) from error


def get_message(identifier: str) -> Any:
    """The message class of `package/msg/Name`, `package/Name`, or of a part of a service or action.

    Raises ValueError for what names no message, and as `get_interface` does.
    """
    parts = identifier.split("/")
    if len(parts) == 3 and parts[1] in ("srv", "action"):
        if not parts[2].endswith(_PARTS):
            raise ValueError(f"Expected the full name of a message, got '{identifier}'")
        return get_interface(identifier)
    return _of_kind(identifier, "msg")


def get_service(identifier: str) -> Any:
    """The service class of `package/srv/Name`, or `package/Name`. Raises ValueError and LookupError."""
    return _of_kind(identifier, "srv")


def get_action(identifier: str) -> Any:
    """The action class of `package/action/Name`, or `package/Name`. Raises ValueError and LookupError."""
    return _of_kind(identifier, "action")


def _of_kind(identifier: str, kind: str) -> Any:
    if identifier.count("/") == 1:
        identifier = identifier.replace("/", f"/{kind}/")
    if identifier.split("/")[1:2] != [kind]:
        raise ValueError(f"Expected the full name of {_KINDS[kind]}, got '{identifier}'")
    return get_interface(identifier)


def get_namespaced_type(identifier: str) -> NamespacedType:
    """The parts of the full name of an interface."""
    return _namespaced_type(identifier)


def get_message_namespaced_type(identifier: str) -> NamespacedType:
    """The parts of the name of a message; `package/Name` has its kind added."""
    return _namespaced_type(identifier, "msg")


def get_service_namespaced_type(identifier: str) -> NamespacedType:
    """The parts of the name of a service; `package/Name` has its kind added."""
    return _namespaced_type(identifier, "srv")


def get_action_namespaced_type(identifier: str) -> NamespacedType:
    """The parts of the name of an action; `package/Name` has its kind added."""
    return _namespaced_type(identifier, "action")


def is_message(interface: Any) -> bool:
    """Whether it is a message, or the class of one."""
    return hasattr(interface, "get_fields_and_field_types")


def is_service(interface: Any) -> bool:
    """Whether it is the class of a service."""
    return all(hasattr(interface, part) for part in ("Request", "Response"))


def is_action(interface: Any) -> bool:
    """Whether it is the class of an action."""
    return all(hasattr(interface, part) for part in ("Goal", "Result", "Feedback"))


def _namespaced_type(identifier: str, kind: str | None = None) -> NamespacedType:
    *namespaces, name = identifier.split("/")
    if len(namespaces) == 1 and kind is not None:
        namespaces.append(kind)
    return NamespacedType(namespaces, name)
