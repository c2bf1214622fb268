"""What installed packages register for `ros2`, by group."""

from __future__ import annotations

import inspect
import logging
from importlib import metadata
from typing import Any

EXTENSION_POINT_GROUP_NAME = "ros2cli.extension_point"
logger = logging.getLogger(__name__)


def get_all_entry_points() -> dict[str, dict[str, metadata.EntryPoint]]:
    """Group to name to entry point."""
    found: dict[str, dict[str, metadata.EntryPoint]] = {}
    for distribution in metadata.distributions():
        for entry in distribution.entry_points:
            found.setdefault(entry.group, {}).setdefault(entry.name, entry)
    return found


def get_entry_points(group_name: str) -> dict[str, metadata.EntryPoint]:
    """Name to entry point, of one group."""
    return {entry.name: entry for entry in metadata.entry_points(group=group_name)}


def load_entry_points(group_name: str, *, exclude_names: list[str] | None = None) -> dict[str, Any]:
    """Name to what is registered; what cannot be imported is left out, with a line in the log."""
    loaded = {}
    for name, entry in get_entry_points(group_name).items():
        if name in (exclude_names or ()):
            continue
        try:
            loaded[name] = entry.load()
        except (ImportError, AttributeError) as error:
            logger.warning(f"Failed to load '{name}' of '{group_name}': {error}")
    return loaded


def get_first_line_doc(any_type: Any) -> str:
    """The first line of a docstring, without the stop; empty without one."""
    text = inspect.cleandoc(any_type.__doc__ or "")
    return text.splitlines()[0].rstrip(".") if text else ""
