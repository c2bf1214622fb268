"""Types of attributes."""

from __future__ import annotations

from typing import Any, List, get_args  # noqa: UP035 - launch files are asked for typing.List, not for list

from ..utilities.type_utils import is_typing_list
from .entity import Entity

_TYPES: dict[str, Any] = {
    "str": str,
    "bool": bool,
    "float": float,
    "int": int,
    "list_of_str": List[str],  # noqa: UP006
    "list_of_bool": List[bool],  # noqa: UP006
    "list_of_float": List[float],  # noqa: UP006
    "list_of_int": List[int],  # noqa: UP006
    "yaml": None,
}


def check_is_list_entity(data_type: Any) -> bool:
    """Whether it is a typing.List of entities."""
    held = get_args(data_type) if is_typing_list(data_type) else ()
    return bool(held) and isinstance(held[0], type) and issubclass(held[0], Entity)


def get_data_type_from_identifier(type_identifier: str) -> Any:
    """The type that `<param type>` names; None for `yaml`, which is any. Raises ValueError."""
    if type_identifier not in _TYPES:
        allowed = ", ".join(_TYPES)
        raise ValueError(f"a type must be one of {allowed}, got '{type_identifier}'")
    return _TYPES[type_identifier]
