"""`fleet-sim doctor`: what of this machine fleet_sim finds and uses, and how to get what is missing."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import re
import socket
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

from fleet_sim.base.errors import FleetSimError


class Finding(NamedTuple):
    """A line of the table; `remedy` is "" where nothing is missing."""

    what: str
    found: str
    remedy: str = ""


def add(commands: Any) -> None:
    """Add the command to the subparsers `commands`."""
    parser = commands.add_parser("doctor", help="list what is installed and usable here, and what is missing")
    parser.set_defaults(command=execute)


def execute(args: argparse.Namespace) -> int:
    """Print a line for each part; return 0: what is missing is for some uses only."""
    findings = [*_base(), *_engines(), *_ros(), _port(), *_extras()]
    width = max(len(finding.what) for finding in findings)
    for what, found, remedy in findings:
        print(f"{what:<{width}}  {found}{f'; {remedy}' if remedy else ''}")
    return 0


def _version(distribution: str) -> str:
    """Return the version of an installed distribution, "" where it is not there."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _base() -> Iterator[Finding]:
    from fleet_sim.base import files

    yield Finding("fleet_sim", f"{_version('fleet_sim')} in {os.path.dirname(files.__file__).rsplit(os.sep, 1)[0]}")
    yield Finding(
        "Python", f"{platform.python_version()} ({platform.machine()}, {platform.system()}) at {sys.executable}"
    )
    yield Finding("NumPy", _version("numpy"))
    numba = _version("numba")
    slow = "large worlds and traffic are slow: pip install 'fleet_sim[fast]'"
    yield Finding("compiled code", f"numba {numba}" if numba else "no numba", "" if numba else slow)
    kept = files.cache_folder("kernels")
    size = sum(files.status(file).st_size for file in files.listed(kept, "**/*") if files.is_file(file))
    yield Finding(
        "kept machine code",
        f"{size / 1e6:.0f} MB in {kept}",
        "fleet-sim warm makes it ahead" if numba and not size else "",
    )


def _engines() -> Iterator[Finding]:
    bullet, mujoco = _version("pybullet"), _version("mujoco")
    remedy = "" if bullet or mujoco else "no physics and no exact contacts: pip install pybullet, or mujoco"
    yield Finding(
        "engines", ", ".join(filter(None, (bullet and f"PyBullet {bullet}", mujoco and f"MuJoCo {mujoco}"))), remedy
    )
    yield _tried("OpenGL", _opengl)
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    yield Finding("display", display or "none: windows cannot open; `fleet-sim view` shows runs in a browser")


def _tried(what: str, find: Callable[[], str]) -> Finding:
    try:
        return Finding(what, find())
    except FleetSimError as error:
        return Finding(what, "not usable", str(error))


def _opengl() -> str:
    from fleet_sim.sensing.sensors.render.gl import give_back, take_context

    context = take_context()
    renderer = str(context.info["GL_RENDERER"])
    give_back(context)
    return f"{renderer}, for cameras"


def _ros() -> Iterator[Finding]:
    domain = f"domain {os.environ.get('ROS_DOMAIN_ID') or 0}"
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE")
    if find_spec("rclpy") is None:
        yield Finding("ROS 2", "none", "source a ROS 2, or in a checkout: pip install ./src/pocket_ros '.[pocket]'")
        return
    if "pocket_ros" in (importlib.import_module("rclpy").__file__ or ""):
        yield Finding("ROS 2", f"pocket_ros {_version('pocket_ros')}, {domain}, {reach or 'this machine only'}")
    else:
        middleware = os.environ.get("RMW_IMPLEMENTATION") or "the default middleware"
        distribution = os.environ.get("ROS_DISTRO") or "a full ROS 2"
        yield Finding("ROS 2", f"{distribution}, {middleware}, {domain}, {reach or 'the subnet'}")
    messages = find_spec("fleet_sim_msgs") is not None
    yield Finding(
        "fleet_sim_msgs", "found" if messages else "not found", "" if messages else "build and source the workspace"
    )


def _port() -> Finding:
    from fleet_sim.base.params import ViewParams

    port = ViewParams().port
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
        except OSError:
            return Finding("port of the view", f"{port} is taken: the next free one is used")
    return Finding("port of the view", f"{port} is free")


def _extras() -> Iterator[Finding]:
    """Return what each extra for users lacks."""
    wanted: dict[str, list[str]] = {}
    for requirement in metadata.requires("fleet_sim") or []:
        in_extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        name = re.match(r"[\w.-]+", requirement)
        # Of other Pythons and systems; and those that only name other extras.
        if in_extra and name and name[0] != "fleet_sim" and "python_version" not in requirement:
            wanted.setdefault(in_extra[1], []).append(name[0])
    for extra in sorted(wanted.keys() - {"dev", "docs", "test", "fuzz"}):
        missing = [name for name in wanted[extra] if not _version(name)]
        if missing:
            yield Finding(f"extra {extra}", f"no {', no '.join(missing)}", f"pip install 'fleet_sim[{extra}]'")
        else:
            yield Finding(f"extra {extra}", ", ".join(f"{name} {_version(name)}" for name in wanted[extra]))
