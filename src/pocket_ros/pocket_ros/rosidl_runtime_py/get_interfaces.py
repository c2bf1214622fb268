"""Which interfaces there are, and where their definitions are."""

from __future__ import annotations

from collections.abc import Iterable

from ..ament_index_python import get_packages_with_prefixes
from ..interfaces import catalog


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
