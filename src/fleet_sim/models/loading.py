"""Loads robot description files as RobotModel; each file is read once, however many robots are spawned from it."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.meshes.limits import MeshLimits
from fleet_sim.meshes.loading import version_of
from fleet_sim.models.generated import XACRO_SUFFIX, content_of
from fleet_sim.models.markup import Element, read_file, read_text
from fleet_sim.models.meshes import MeshFinder
from fleet_sim.models.mjcf import read_mjcf
from fleet_sim.models.sdf import read_sdf
from fleet_sim.models.sdf_world import SdfWorld, read_sdf_world
from fleet_sim.models.search_paths import get_search_paths
from fleet_sim.models.urdf import read_urdf
from fleet_sim.paths import expanded, is_file, is_folder

SUFFIXES = (".urdf", XACRO_SUFFIX, ".sdf", ".xml", ".mjcf")
_MAX_INCLUDES = 64


def load_robot_model(
    path: str | Path, *, search_paths: Sequence[str | Path] = (), limits: MeshLimits | None = None
) -> RobotModel:
    """Return the model in the URDF, xacro, SDF or MJCF file `path`; equal calls return the same object.

    Links and joints are numbered as PyBullet numbers them. The file is read again when it or a mesh of it changes.
    Meshes named by package are looked up in `search_paths`, then in the folders of `add_search_path` (see
    `models.meshes`); `limits` bounds their size. Raises InvalidValueError naming the file, the line, the element and
    the fault.
    """
    # A fleet is spawned from one file, so a cached model must cost no more than checking the file's time and size.
    given = os.path.abspath(os.path.expanduser(path))
    folders = tuple(dict.fromkeys(map(str, (*search_paths, *get_search_paths()))))
    try:
        status = os.stat(given)
    except (OSError, ValueError):
        status = None
    # A folder or a device is not a file, though it has a time and a size.
    if status is None or not stat.S_ISREG(status.st_mode):
        raise _no_file(Path(given))
    key = given, status.st_mtime_ns, status.st_size, folders, limits or MeshLimits()
    model = _found(*key, _renewals[given])
    # A model knows how large its meshes are, which are files of their own.
    if not _has_its_meshes(model):
        # Read again once; should a mesh change at this very moment, the next call sees it.
        _renewals[given] += 1
        model = _found(*key, _renewals[given])
    return model


_renewals: Counter[str] = Counter()
"""How often a description was read again since its meshes had changed, by path."""

_versions: WeakKeyDictionary[RobotModel, dict[str, int]] = WeakKeyDictionary()
"""The versions of the meshes of models when these were read, by path."""


def _has_its_meshes(model: RobotModel) -> bool:
    """Return whether the mesh files of a model are those that it was read with."""
    versions = _versions.get(model)
    if versions is None:
        # Shapes without a mesh have an empty path.
        paths = {piece.geometry.mesh_path for piece in (*model.visuals, *model.collisions)} - {""}
        versions = _versions[model] = {path: version_of(path) for path in paths}
        return True
    return all(version_of(path) == version for path, version in versions.items())


def load_sdf_world(
    path: str | Path, *, search_paths: Sequence[str | Path] = (), limits: MeshLimits | None = None
) -> SdfWorld:
    """Return all models of the SDF or Gazebo world file `path`, where they are and what is left out.

    Meshes and included models are looked up as those of `load_robot_model`. Raises InvalidValueError naming the file,
    the line, the element and the fault.
    """
    # Not cached: a world is read once, and its models are written to files of their own.
    file = expanded(path)
    if not is_file(file):
        raise _no_file(file.absolute())
    folders = [expanded(folder) for folder in dict.fromkeys(map(str, (*search_paths, *get_search_paths())))]
    return _Source(file.resolve(), folders, limits or MeshLimits()).read_world()


def _no_file(file: Path) -> InvalidValueError:
    beside = file.parent.iterdir() if is_folder(file.parent) else ()
    near = [entry.name for entry in beside if entry.suffix.lower() in (*SUFFIXES, ".world")]
    return InvalidValueError(f"there is no robot description file {str(file)!r}.{did_you_mean(file.name, near)}")


@lru_cache(maxsize=256)
def _found(
    given: str, changed: int, size: int, folders: tuple[str, ...], limits: MeshLimits, renewal: int
) -> RobotModel:
    file = Path(given).resolve()
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidValueError(f"{file}: a robot description file ends in {', '.join(SUFFIXES)}")
    # A second cache, by the resolved path: links to one file share its model.
    return _read(str(file), changed, size, folders, limits, renewal)


@lru_cache(maxsize=256)
def _read(
    path: str, _changed: int, _size: int, folders: tuple[str, ...], limits: MeshLimits, _renewal: int
) -> RobotModel:
    return _Source(Path(path), [expanded(folder) for folder in folders], limits).read()


class _Source:
    """One description file and those it includes."""

    def __init__(self, file: Path, folders: list[Path], limits: MeshLimits) -> None:
        self._file = file
        self._folders = folders
        self._limits = limits
        self._included = 0

    def read(self) -> RobotModel:
        """Return the model that the file describes."""
        path, meshes = str(self._file), self._finder(self._file)
        root = read_text(content_of(self._file), path)
        readers: dict[str, Callable[[], RobotModel]] = {
            "robot": lambda: read_urdf(root, path, meshes),
            "sdf": lambda: read_sdf(root, path, meshes, self._include),
            "mujoco": lambda: read_mjcf(root, path, meshes, self._include),
        }
        if root.tag not in readers:
            raise root.error(
                f"a robot description begins with <robot> (URDF), <sdf> or <mujoco>.{did_you_mean(root.tag, readers)}"
            )
        with _checked_numbers(root):
            return readers[root.tag]()

    def read_world(self) -> SdfWorld:
        """Return all models of an SDF file."""
        path = str(self._file)
        root = read_text(content_of(self._file), path)
        with _checked_numbers(root):
            return read_sdf_world(root, path, self._finder(self._file), self._include)

    def _include(self, element: Element, name: str) -> tuple[Element, MeshFinder]:
        """Return an included file and what finds its meshes; raises an error that lists where it was sought."""
        self._included += 1
        if self._included > _MAX_INCLUDES:
            raise element.error(f"more than {_MAX_INCLUDES} files are included; do files include each other?")
        searched = []
        # In the order of the search path, the file's own folder first.
        for place in self._finder(Path(element.source)).candidates(element, name):
            file = place / "model.sdf" if is_folder(place) else place
            if is_file(file):
                return read_file(file), self._finder(file)
            searched.append(str(place))
        raise element.error(f"there is no file {name!r} to include. Searched: {', '.join(dict.fromkeys(searched))}")

    def _finder(self, file: Path) -> MeshFinder:
        return MeshFinder(file, self._folders, self._limits)


@contextmanager
def _checked_numbers(root: Element) -> Iterator[None]:
    """Raise InvalidValueError for numbers that overflow, and no warning followed by a model of infinities."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise root.error(f"has numbers too large to compute with ({error})") from error
