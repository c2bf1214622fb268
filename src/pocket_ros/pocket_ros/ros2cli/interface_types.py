"""Interface classes by the names that command lines use."""

from __future__ import annotations

from typing import Any

from ..interfaces.classes import action_class, message_class, service_class

_MAKERS = {"msg": message_class, "srv": service_class, "action": action_class}


def interface_class(name: str, kind: str) -> Any:
    """The class of `package/kind/Name` or `package/Name`.

    Raises RuntimeError for a name of another form or kind, UnknownInterfaceError for an unknown one.
    """
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if kind == "msg" and len(parts) == 3 and parts[1] in ("srv", "action"):
        return message_class(name)  # a part of a service or an action, which hidden topics carry
    if len(parts) != 3 or parts[1] != kind or not all(parts):
        raise RuntimeError(f"The passed type is invalid: '{name}'; it has the form package/{kind}/Name")
    return _MAKERS[kind]("/".join(parts))
