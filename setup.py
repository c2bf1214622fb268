"""The files that ROS 2 and the library find in share/fleet_sim; the metadata is in setup.cfg."""

import sys
from pathlib import Path

from setuptools import setup

NAME = "fleet_sim"
ROOT = Path(__file__).parent


def data_files() -> list[tuple[str, list[str]]]:
    """Return the ament index entry, package.xml and every file in the data folders, which may be absent."""
    found = [("share/ament_index/resource_index/packages", [f"resource/{NAME}"]), (f"share/{NAME}", ["package.xml"])]
    for folder in ("config", "examples", "launch", "rviz", "urdf"):
        files = (file for file in ROOT.joinpath(folder).rglob("*") if file.is_file() and file.suffix != ".pyc")
        for parent in sorted({file.parent for file in files}):
            relative = parent.relative_to(ROOT).as_posix()
            names = sorted(file.relative_to(ROOT).as_posix() for file in parent.iterdir() if file.is_file())
            found.append((f"share/{NAME}/{relative}", names))
    # colcon builds the interface package by itself; a wheel brings its definitions along, for pocket_ros to read.
    return found + interface_files() if "bdist_wheel" in sys.argv else found


def interface_files() -> list[tuple[str, list[str]]]:
    """Return the ament index entry and the definitions of fleet_sim_msgs."""
    package = ROOT / "src" / f"{NAME}_msgs"
    found = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}_msgs"]),
        (f"share/{package.name}", [f"src/{package.name}/package.xml"]),
    ]
    for kind in ("msg", "srv", "action"):
        files = sorted(file.relative_to(ROOT).as_posix() for file in package.joinpath(kind).iterdir())
        found.append((f"share/{package.name}/{kind}", files))
    return found


# colcon cannot read python_requires from setup.cfg.
setup(python_requires=">=3.10", data_files=data_files())
