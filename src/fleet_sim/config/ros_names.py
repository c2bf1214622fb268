"""Names of frames and namespaces that ROS 2 takes, checked where settings give them. Can be read without ROS 2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fleet_sim.errors import InvalidValueError, brief

LONGEST_NAME = 245
"""Characters of a namespace, as in rcl; of a frame, as many."""
# In Python a dollar alone also stands before a last line break.
_NAMESPACE = r"^/?$(?!\n)|^/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*$(?!\n)"
FRAME_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": r"^[^/\n]", "maxLength": LONGEST_NAME}
NAMESPACE_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": _NAMESPACE, "maxLength": LONGEST_NAME}


def read_frame(value: object) -> str:
    """Return the name of a TF frame; raises InvalidValueError for what tf2 rejects, and what cannot be printed."""
    if isinstance(value, str) and value.isprintable() and not value.startswith("/") and 0 < len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be the name of a frame: printable, not empty, without / at the beginning, got {brief(value)}"
    )


def read_namespace(value: object) -> str:
    """Return a namespace, with or without / at its beginning; raises InvalidValueError for what ROS 2 rejects."""
    if isinstance(value, str) and re.search(_NAMESPACE, value) and len(value) <= LONGEST_NAME:
        return value
    raise InvalidValueError(
        f"must be a namespace of ROS 2, such as /fleet: letters, digits and _ between single /, got {brief(value)}"
    )
