"""The executables of a package.

They are in `<prefix>/lib/<package>`, as ROS 2 installs them, or are the console scripts of the pip
distribution that bears the package's name, which pip puts into the environment's `bin`. Programs of
packages that pocket_ros brings along are console scripts of its own.

Two packages may have programs of one name, `talker` for instance: in ROS 2 each is in its own folder, in
`bin` the one installed last has replaced the other. Where a script is another package's, a launcher of the
package's own entry point stands for it, in the user's cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from .ament_index_python import PackageNotFoundError, get_package_prefix, get_packages_with_prefixes

BUNDLED = {"tf2_ros": ("static_transform_publisher", "tf2_echo")}
"""Programs that come with pocket_ros, by the package they belong to."""
_OWN = "pocket_ros."

_NAMED = re.compile(rb"^# EASY-INSTALL-ENTRY-SCRIPT: '([^'=]+)[^']*','console_scripts',", re.MULTILINE)
"""A script of `setup.py install` names its distribution."""

_LAUNCHER = """#!{python}
import sys
from {module} import {function}

sys.argv[0] = {script!r}
sys.exit({attribute}())
"""


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
    for name, path in {**_bundled_scripts(package_name), **_console_scripts(package_name)}.items():
        found.setdefault(name, path)
    return sorted(found.values(), key=os.path.basename)


def get_executable_path(*, package_name: str, executable_name: str) -> str | None:
    """The path of one executable, or None. Raises PackageNotFoundError."""
    for path in get_executable_paths(package_name=package_name):
        if os.path.basename(path) == executable_name:
            return path
    return None


def _bundled_scripts(package_name: str) -> dict[str, str]:
    names = BUNDLED.get(package_name)
    if names is None:
        return {}
    # By the entry point, as for any package: another one may have put a script of that name into `bin`.
    entries = metadata.entry_points(group="console_scripts")
    return _scripts(entry for entry in entries if entry.name in names and entry.module.startswith(_OWN))


def _console_scripts(package_name: str) -> dict[str, str]:
    try:
        distribution = metadata.distribution(_normal(package_name))
    except metadata.PackageNotFoundError:
        return {}
    return _scripts(entry for entry in distribution.entry_points if entry.group == "console_scripts")


def _normal(name: str) -> str:
    """The name of a distribution as they are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _scripts(entries: Iterable[metadata.EntryPoint]) -> dict[str, str]:
    return {entry.name: path for entry in entries if (path := _path_of(entry)) is not None}


def _path_of(entry: metadata.EntryPoint) -> str | None:
    """The script in `bin` where it runs this entry point, else a launcher that does; None without either."""
    script = os.path.join(sysconfig.get_path("scripts"), entry.name)
    if not os.access(script, os.X_OK):
        return None
    with open(script, "rb") as file:
        text = file.read()
    # Installers write `from module import function`; without `wheel`, the name of the distribution.
    if re.search(rb"^from " + re.escape(entry.module.encode()) + rb" import ", text, re.MULTILINE):
        return script
    named = _NAMED.search(text)
    if named and entry.dist is not None and _normal(named[1].decode()) == _normal(entry.dist.name):
        return script
    with contextlib.suppress(OSError):
        return _launcher(entry, script)
    return script  # nowhere to write


def _launcher(entry: metadata.EntryPoint, script: str) -> str:
    """An executable that runs the entry point and has its name. Raises OSError where it cannot be written."""
    text = _LAUNCHER.format(
        python=sys.executable,
        module=entry.module,
        function=entry.attr.partition(".")[0],
        attribute=entry.attr,
        script=script,
    )
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    # Named by its content: what is there is right, whichever process wrote it.
    folder = os.path.join(cache, "pocket_ros", "launchers", hashlib.sha256(text.encode()).hexdigest()[:16])
    path = os.path.join(folder, entry.name)
    if not os.access(path, os.X_OK):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o700)
        os.replace(file.name, path)
    return path


# Packages: their names, prefixes and executables.


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


def package_executable_paths(*, package_name: str) -> list[str]:
    """The paths of a package's executables. Raises PackageNotFound."""
    if get_prefix_path(package_name) is None:
        raise PackageNotFound(package_name)
    return get_executable_paths(package_name=package_name)


def package_name_completer(**kwargs: Any) -> list[str]:
    """All packages."""
    return get_package_names()


# Executables of packages: finding and running them.


ROS2RUN_MSG_PREFIX = "[ros2run]:"


class MultipleExecutables(Exception):
    """Raised where a package has several executables of one name."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(f"there are several: {', '.join(paths)}")
        self.paths = paths


def runnable_path(*, package_name: str, executable_name: str) -> str | None:
    """The path of an executable, None where there is none. Raises PackageNotFound, MultipleExecutables."""
    paths = package_executable_paths(package_name=package_name)
    found = [path for path in paths if os.path.basename(path) == executable_name]
    if len(found) > 1:
        raise MultipleExecutables(found)
    return found[0] if found else None


def run_executable(*, path: str, argv: list[str], prefix: list[str] | None = None) -> int:
    """Run a program to its end, through Ctrl-C, which it gets as well; its exit code."""
    process = subprocess.Popen([*(prefix or []), path, *argv])
    while process.returncode is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            continue
    if process.returncode:
        by_signal = -process.returncode in signal.valid_signals()
        text = signal.strsignal(-process.returncode) if by_signal else None
        print(ROS2RUN_MSG_PREFIX, text or f"Process exited with failure {process.returncode}")
    return process.returncode


class ExecutableNameCompleter:
    """Completes the executables of the package that was named."""

    def __init__(self, *, package_name_key: str | None = None) -> None:
        self.package_name_key = package_name_key

    def __call__(self, prefix: str, parsed_args: Namespace, **kwargs: Any) -> list[str]:
        try:
            paths = package_executable_paths(package_name=getattr(parsed_args, self.package_name_key or ""))
        except PackageNotFound:
            return []
        return [os.path.basename(path) for path in paths]
