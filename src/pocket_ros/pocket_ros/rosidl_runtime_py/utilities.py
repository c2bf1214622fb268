"""Interface classes by their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..ament_index_python import get_packages_with_prefixes
from ..interfaces import catalog
from ..interfaces.catalog import UnknownInterfaceError, interface_names
from ..interfaces.classes import action_class, message_class, service_class
from ..rosidl_parser import AbstractNestedType, NamespacedType

_PARTS = (*("_Request", "_Response", "_Event"), *("_Goal", "_Result", "_Feedback", "_FeedbackMessage"))
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


# Which interfaces there are, and where their definitions are.


def get_interface_packages() -> dict[str, str]:
    """Name to prefix of every package that has interfaces."""
    prefixes = get_packages_with_prefixes()
    return {package: prefixes.get(package, "") for package in catalog.packages()}


def get_interfaces(package_names: Iterable[str] = ()) -> dict[str, list[str]]:
    """Package to its interfaces, such as `msg/String`; of all packages where none is named.

    Packages without interfaces are left out. Raises LookupError naming the packages that are unknown.
    """
    return _names(package_names, catalog.KINDS)


def get_message_interfaces(package_names: Iterable[str] = ()) -> dict[str, list[str]]:
    """`get_interfaces` for messages alone."""
    return _names(package_names, ("msg",))


def get_service_interfaces(package_names: Iterable[str] = ()) -> dict[str, list[str]]:
    """`get_interfaces` for services alone."""
    return _names(package_names, ("srv",))


def get_action_interfaces(package_names: Iterable[str] = ()) -> dict[str, list[str]]:
    """`get_interfaces` for actions alone."""
    return _names(package_names, ("action",))


def get_interface_path(interface_name: str) -> str:
    """The file that defines `package/msg/Name`, with or without its extension.

    In ROS it is the `.idl` file where no extension is given; here it is always what the package's author
    wrote. Raises ValueError for a name of another form, LookupError for what is not there.
    """
    parts = interface_name.split("/")
    if len(parts) != 3 or not all(parts):
        raise ValueError(
            f"Invalid name '{interface_name}'; an interface has the form package/kind/Name, "
            "such as std_msgs/msg/String"
        )
    base, _, extension = parts[2].partition(".")
    path = None if extension not in ("", parts[1]) else catalog.source_path("/".join([*parts[:2], base]))
    if path is None:
        raise LookupError(f"Could not find the interface '{interface_name}'")
    return str(path)


def _names(package_names: Iterable[str], kinds: Iterable[str]) -> dict[str, list[str]]:
    wanted = [package_names] if isinstance(package_names, str) else list(package_names)
    known = get_packages_with_prefixes()
    unknown = [name for name in wanted if name not in known and not catalog.has_package(name)]
    if unknown:
        raise LookupError(f"Unknown package(s): {', '.join(unknown)}")
    found: dict[str, list[str]] = {}
    for package in wanted or catalog.packages():
        names = catalog.interface_names(package)
        of_package = sorted(f"{kind}/{name}" for kind in kinds for name in names.get(kind, ()))
        if of_package:
            found[package] = of_package
    return found


# Classes of interfaces by namespace and name.


def import_message_from_namespaced_type(message_type: NamespacedType | AbstractNestedType) -> Any:
    """The class of an interface, or of a part of a service or an action.

    The element of an array or a sequence is taken, with a DeprecationWarning. Raises ValueError for a name of
    another form, LookupError for one that is not known.
    """
    kind: Any = message_type
    if isinstance(kind, AbstractNestedType):
        warnings.warn("give the type of the element: value_type", DeprecationWarning, stacklevel=2)
        kind = kind.value_type
    return get_interface("/".join([*kind.namespaces, kind.name]))
