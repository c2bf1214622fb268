"""The ament resource index: `<prefix>/share/ament_index/resource_index/<type>/<name>`.

Packages that pocket_ros brings along are in it after all prefixes, without files: with `packages` and
`rosidl_interfaces`.
"""

import os
from typing import Literal

from .bundled import find_bundled, find_bundled_resources
from .constants import RESOURCE_INDEX_SUBFOLDER
from .search_paths import get_search_paths


class InvalidResourceTypeNameError(ValueError):
    """A resource type that cannot be the name of a folder."""


class InvalidResourceNameError(ValueError):
    """A resource name that cannot be the name of a file."""


def _check(kind: str, name: str, error: type[ValueError]) -> None:
    if not name:
        raise AssertionError(f"The resource {kind} must not be empty")
    if "/" in name or "\\" in name:
        raise error(f"Resource {kind} '{name}' is invalid: it must not contain a path separator")


def find_installed(resource_type: str, resource_name: str) -> str | Literal[False]:
    """`has_resource` for what a prefix holds."""
    _check("type", resource_type, InvalidResourceTypeNameError)
    _check("name", resource_name, InvalidResourceNameError)
    for prefix in get_search_paths():
        if os.path.isfile(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)):
            return prefix
    return False


def has_resource(resource_type: str, resource_name: str) -> str | Literal[False]:
    """The prefix that holds the resource, or False.

    Raises InvalidResourceTypeNameError and InvalidResourceNameError for names with a path separator.
    """
    prefix = find_installed(resource_type, resource_name)
    if prefix is False and resource_name in find_bundled_resources(resource_type):
        return find_bundled()[resource_name]
    return prefix


def get_resource(resource_type: str, resource_name: str) -> tuple[str, str]:
    """The content of a resource and the prefix it was found in.

    Raises LookupError when no prefix has it, OSError when it cannot be read.
    """
    prefix = find_installed(resource_type, resource_name)
    if prefix is False:
        bundled = find_bundled_resources(resource_type)
        if resource_name in bundled:
            return bundled[resource_name], find_bundled()[resource_name]
        raise LookupError(f"Could not find the resource '{resource_name}' of type '{resource_type}'")
    with open(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)) as stream:
        return stream.read(), prefix


def get_resources(resource_type: str) -> dict[str, str]:
    """Every resource of a type: name to prefix. Folders and hidden files do not count."""
    homes = find_bundled()
    bundled = {name: homes[name] for name in find_bundled_resources(resource_type)}
    return {**bundled, **list_installed(resource_type)}


def list_installed(resource_type: str) -> dict[str, str]:
    """`get_resources` for what prefixes hold."""
    _check("type", resource_type, InvalidResourceTypeNameError)
    found: dict[str, str] = {}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type)
        if os.path.isdir(folder):
            for entry in os.scandir(folder):
                if not entry.is_dir() and not entry.name.startswith("."):
                    found.setdefault(entry.name, prefix)
    return found


def get_resource_types() -> set[str]:
    """The resource types that occur in any prefix, and those of pocket_ros's own packages."""
    found = {"packages", "rosidl_interfaces"}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER)
        if os.path.isdir(folder):
            found.update(e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
    return found
