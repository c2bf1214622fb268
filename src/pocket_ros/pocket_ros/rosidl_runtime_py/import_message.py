"""Classes of interfaces by namespace and name."""

from __future__ import annotations

import warnings
from typing import Any

from ..rosidl_parser.definition import AbstractNestedType, NamespacedType
from .utilities import get_interface


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
