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
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib import metadata

from .ament_index_python import get_package_prefix

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
