"""The files that ROS 2 and the library find in share/fleet_sim; the metadata is in setup.cfg."""

from pathlib import Path

from setuptools import setup

NAME = "fleet_sim"
ROOT = Path(__file__).parent


def data_files() -> list[tuple[str, list[str]]]:
    """Return the ament index entry, package.xml and every file in the data folders, which may be absent."""
    found = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ]
    for folder in ("config", "launch", "rviz", "urdf"):
        for parent in sorted({file.parent for file in ROOT.joinpath(folder).rglob("*") if file.is_file()}):
            relative = parent.relative_to(ROOT).as_posix()
            files = sorted(file.relative_to(ROOT).as_posix() for file in parent.iterdir() if file.is_file())
            found.append((f"share/{NAME}/{relative}", files))
    return found


# colcon cannot read python_requires from setup.cfg.
setup(python_requires=">=3.10", data_files=data_files())
