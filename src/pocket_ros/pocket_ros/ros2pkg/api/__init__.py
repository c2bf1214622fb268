"""Packages: their names, prefixes and executables."""

from __future__ import annotations

from typing import Any

from ... import executables
from ...ament_index_python import PackageNotFoundError, get_package_prefix, get_packages_with_prefixes


class PackageNotFound(Exception):
    """Raised for a package that is not in the ament index."""

    def __init__(self, package_name: str) -> None:
        super().__init__(f"Package '{package_name}' not found")
        self.package_name = package_name


def get_package_names() -> list[str]:
    """All packages."""
    return list(get_packages_with_prefixes())


def get_prefix_path(package_name: str) -> str | None:
    """The prefix of a package, None where it is not known."""
    try:
        return get_package_prefix(package_name)
    except (PackageNotFoundError, ValueError):
        return None


def get_executable_paths(*, package_name: str) -> list[str]:
    """The paths of a package's executables. Raises PackageNotFound."""
    if get_prefix_path(package_name) is None:
        raise PackageNotFound(package_name)
    return executables.get_executable_paths(package_name=package_name)


def package_name_completer(**kwargs: Any) -> list[str]:
    """All packages."""
    return get_package_names()
