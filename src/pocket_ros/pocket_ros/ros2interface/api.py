"""Interfaces: completion of their names, and what they look like in YAML."""

from __future__ import annotations

from typing import Any

from ..rosidl_runtime_py.convert import message_to_yaml
from ..rosidl_runtime_py.get_interfaces import get_interface_packages, get_interfaces
from ..rosidl_runtime_py.utilities import get_interface


def package_name_completer(**kwargs: Any) -> list[str]:
    """All packages with interfaces."""
    return list(get_interface_packages())


def type_completer(**kwargs: Any) -> list[str]:
    """All interfaces."""
    return [f"{package}/{name}" for package, names in get_interfaces().items() for name in names]


def interface_to_yaml(identifier: str) -> str:
    """A message, a request or a goal with all defaults, as YAML.

    Raises what `rosidl_runtime_py.utilities.get_interface` raises for a name that is none.
    """
    interface: Any = get_interface(identifier)
    part = getattr(interface, "Goal", None) or getattr(interface, "Request", None) or interface
    return message_to_yaml(part())
