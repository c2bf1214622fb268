"""What tests need of the system beside Python: they are skipped without it, and the last line of a run says so."""

from __future__ import annotations

import re
import shutil
from ctypes import CDLL
from importlib.util import find_spec

import pytest

PACKAGES = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "tkinter": "python3-tk",
    "chromium": "chromium",
    "mosquitto": "mosquitto",
    "openssl": "openssl",
    "cc": "gcc libc6-dev",
    "EGL": "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri",
}
"""The packages of Debian and Ubuntu, by what is missing."""

_NEEDED = re.compile(r"not installed on this system: (.+?) \(apt install (.+?)\)")


def need_commands(*commands: str) -> None:
    """Skip the test unless all `commands` are installed."""
    _skip_without([command for command in commands if shutil.which(command) is None])


def need_tkinter() -> None:
    """Skip the test unless this Python has tkinter."""
    _skip_without([] if find_spec("tkinter") and find_spec("_tkinter") else ["tkinter"])


def need_opengl() -> None:
    """Skip the test unless OpenGL draws without a screen here."""
    try:
        CDLL("libEGL.so.1")
    except OSError:
        _skip_without(["EGL"])
    # Imported here: most runs of tests draw nothing.
    from render_scene import missing_opengl

    reason = missing_opengl()
    if reason:
        pytest.skip(reason)


def need_pictures() -> None:
    """Skip the test unless something draws here: OpenGL or PyBullet."""
    if find_spec("pybullet") is None:
        need_opengl()


def _skip_without(missing: list[str]) -> None:
    if missing:
        packages = " ".join(PACKAGES[thing] for thing in missing)
        pytest.skip(f"not installed on this system: {', '.join(missing)} (apt install {packages})")


def summary(reasons: list[str]) -> str:
    """Return one line that says how to turn on the tests skipped for `reasons`, or "" if no package is missing."""
    found = [match for reason in reasons if (match := _NEEDED.search(reason))]
    packages = sorted({package for match in found for package in match[2].split()})
    if not packages:
        return ""
    tests = "1 test was" if len(found) == 1 else f"{len(found)} tests were"
    return f"{tests} skipped, as system packages are missing: apt install {' '.join(packages)}"
