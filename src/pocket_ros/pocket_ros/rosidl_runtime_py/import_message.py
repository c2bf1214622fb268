"""Classes of interfaces by namespace and name."""

from __future__ import annotations

from typing import Any, Protocol

from .utilities import get_interface


class Namespaced(Protocol):
    """What `NamespacedType` has, also the one of `rosidl_parser`."""

    @property
    def namespaces(self) -> Any:
        """The parts before the name: package and kind."""

    @property
    def name(self) -> str:
        """The last part."""


def import_message_from_namespaced_type(message_type: Namespaced) -> Any:
    """The class of an interface, or of a part of a service or an action.

    Raises ValueError for a name of another form, LookupError for one that is not known.
    """
    return get_interface("/".join([*message_type.namespaces, message_type.name]))
