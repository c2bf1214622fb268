"""The executables of a package.

They are in `<prefix>/lib/<package>`, as ROS 2 installs them, or are the console scripts of the pip
distribution that bears the package's name, which pip puts into the environment's `bin`. Programs of
packages that pocket_ros brings along are console scripts of its own.
"""

import os
import re
import sysconfig
from collections.abc import Iterable
from importlib import metadata

from .ament_index_python import PackageNotFoundError, get_package_prefix

BUNDLED = {"tf2_ros": ("static_transform_publisher", "tf2_echo")}
"""Programs that come with pocket_ros, by the package they belong to."""


def get_executable_paths(*, package_name: str) -> list[str]:
    """The paths of a package's executables, sorted. Raises PackageNotFoundError."""
    try:
        prefix = get_package_prefix(package_name)
    except PackageNotFoundError:
        if package_name not in BUNDLED:
            raise
        return sorted(_paths_of_scripts(BUNDLED[package_name]).values())
    found: dict[str, str] = {}
    folder = os.path.join(prefix, "lib", package_name)
    for base, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = os.path.join(base, name)
            if os.access(path, os.X_OK):
                found.setdefault(name, path)
    for name, path in _console_scripts(package_name).items():
        found.setdefault(name, path)
    return sorted(found.values())


def get_executable_path(*, package_name: str, executable_name: str) -> str | None:
    """The path of one executable, or None. Raises PackageNotFoundError."""
    for path in get_executable_paths(package_name=package_name):
        if os.path.basename(path) == executable_name:
            return path
    return None


def _console_scripts(package_name: str) -> dict[str, str]:
    try:
        distribution = metadata.distribution(re.sub(r"[-_.]+", "-", package_name))
    except metadata.PackageNotFoundError:
        return {}
    return _paths_of_scripts(e.name for e in distribution.entry_points if e.group == "console_scripts")


def _paths_of_scripts(names: Iterable[str]) -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    paths = {name: os.path.join(scripts, name) for name in names}
    return {name: path for name, path in paths.items() if os.access(path, os.X_OK)}
