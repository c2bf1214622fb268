"""The files that ROS 2 and the library find in share/, and the long description; the metadata is in setup.cfg."""

import configparser
import re
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

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


class BuildPackage(build_py):
    """Puts the data files of a wheel into the package as well: `pip install --target` drops those in share/."""

    def run(self) -> None:
        super().run()
        if "bdist_wheel" in sys.argv:
            for folder, files in data_files():
                target = Path(self.build_lib, NAME, folder)
                target.mkdir(parents=True, exist_ok=True)
                for file in files:
                    shutil.copy(ROOT / file, target)


def long_description() -> str:
    """Return the README with links and pictures that are valid outside the repository."""
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg")
    address = metadata["metadata"]["url"]
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/fleet_sim/__init__.py").read_text(encoding="utf-8"))
    # colcon build --symlink-install runs this file by a link, in a folder without the README.
    text = Path(__file__).resolve().with_name("README.md").read_text(encoding="utf-8")
    for picture, kind in ((r"!\[[^\]]*", "raw"), (r"(?<!!)\[[^\]]*", "blob")):
        text = re.sub(rf"({picture}\]\()(?!\w+:|#)", rf"\1{address}/{kind}/v{version[1]}/", text)
    return text


# colcon cannot read python_requires from setup.cfg.
setup(
    python_requires=">=3.10",
    data_files=data_files(),
    cmdclass={"build_py": BuildPackage},
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
