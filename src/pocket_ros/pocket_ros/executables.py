"""The executables of a package.

They are in `<prefix>/lib/<package>`, as ROS 2 installs them, or are the console scripts of the pip
distribution that bears the package's name, which pip puts into the environment's `bin`.
"""

import os
import re
import sysconfig
from importlib import metadata

from .ament_index_python import get_package_prefix


def get_executable_paths(*, package_name: str) -> list[str]:
    """The paths of a package's executables, sorted. Raises PackageNotFoundError."""
    prefix = get_package_prefix(package_name)
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
    scripts = sysconfig.get_path("scripts")
    named = [e.name for e in distribution.entry_points if e.group == "console_scripts"]
    paths = {name: os.path.join(scripts, name) for name in named}
    return {name: path for name, path in paths.items() if os.access(path, os.X_OK)}
