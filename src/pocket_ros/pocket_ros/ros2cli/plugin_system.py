"""What commands and verbs of other packages are checked and ordered by."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from importlib import metadata
from typing import Any

__all__ = [
    "PLUGIN_SYSTEM_VERSION",
    "PluginException",
    "get_upper_bound_caret_version",
    "instantiate_extensions",
    "order_extensions",
    "order_extensions_by_name",
    "satisfies_version",
]


# What installed packages register for `ros2`, by group.


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


PLUGIN_SYSTEM_VERSION = "0.1"
_instances: dict[tuple[str, str], Any] = {}


class PluginException(Exception):
    """Raised by an extension that cannot be used; it is left out."""


def instantiate_extensions(
    group_name: str, *, exclude_names: list[str] | None = None, unique_instance: bool = False
) -> dict[str, Any]:
    """Name to object, of the classes that packages registered in a group; each has its name as `NAME`.

    What cannot be made is left out, with a line in the log. `unique_instance` makes new objects.
    """
    extensions = {}
    for name, kind in load_entry_points(group_name, exclude_names=exclude_names).items():
        key = (group_name, name)
        if unique_instance or key not in _instances:
            try:
                made = kind()
            except PluginException as error:
                logger.warning(f"Failed to instantiate '{name}' of '{group_name}': {error}")
                continue
            made.NAME = name
            if unique_instance:
                extensions[name] = made
                continue
            _instances[key] = made
        extensions[name] = _instances[key]
    return extensions


def order_extensions(
    extensions: dict[str, Any], key_function: Callable[[tuple[str, Any]], Any], *, reverse: bool = False
) -> dict[str, Any]:
    """The extensions in the order of a key of each item."""
    return dict(sorted(extensions.items(), key=key_function, reverse=reverse))


def order_extensions_by_name(extensions: dict[str, Any]) -> dict[str, Any]:
    """The extensions by name."""
    return order_extensions(extensions, lambda item: item[0])


def satisfies_version(version: str, caret_range: str) -> None:
    """Check that a version is in a range such as `^0.1`.

    Raises PluginException where it is not, ValueError for a range of another form.
    """
    if not caret_range.startswith("^"):
        raise ValueError(f"a range starts with a caret, as ^0.1: '{caret_range}'")
    lower = caret_range[1:]
    if not _parts(lower) <= _parts(version) < _parts(get_upper_bound_caret_version(lower)):
        raise PluginException(f"version {version} does not satisfy {caret_range}")


def get_upper_bound_caret_version(version: str) -> str:
    """The first version that is not compatible any more: that of the next leading number."""
    parts = list(_parts(version))
    leading = next((index for index, part in enumerate(parts) if part), len(parts) - 1)
    return ".".join(str(part) for part in [*parts[:leading], parts[leading] + 1, *[0] * (2 - leading)])


def _parts(version: str) -> tuple[int, ...]:
    return tuple([*(int(part) for part in version.split(".")), 0, 0][:3])
