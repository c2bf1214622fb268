"""Robot description files as RobotModel, each file read once however many robots are spawned from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from fleet_sim.core.robot_model import RobotModel
from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.models.markup import read_file
from fleet_sim.models.meshes import MeshFinder, MeshLimits
from fleet_sim.models.search_paths import get_search_paths
from fleet_sim.models.urdf import read_urdf

SUFFIXES = (".urdf",)


def load_robot_model(
    path: str | Path, *, search_paths: Sequence[str | Path] = (), limits: MeshLimits | None = None
) -> RobotModel:
    """Return what the robot description file `path` says; equal calls return the same object until the file changes.

    Meshes named by package are looked up in `search_paths`, then in the folders of `add_search_path` (see
    `models.meshes`); `limits` bounds their size. Raises InvalidValueError naming the file, the line, the element and
    what is wrong with it.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        beside = file.parent.iterdir() if file.parent.is_dir() else ()
        near = [entry.name for entry in beside if entry.suffix.lower() in SUFFIXES]
        raise InvalidValueError(f"there is no robot description file {str(file)!r}.{did_you_mean(file.name, near)}")
    file = file.resolve()
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidValueError(f"{file}: a robot description file ends in {', '.join(SUFFIXES)}")
    folders = tuple(dict.fromkeys(str(Path(folder).expanduser()) for folder in (*search_paths, *get_search_paths())))
    status = file.stat()
    return _load(str(file), status.st_mtime_ns, status.st_size, folders, limits or MeshLimits())


@lru_cache(maxsize=256)
def _load(path: str, _changed: int, _size: int, folders: tuple[str, ...], limits: MeshLimits) -> RobotModel:
    file = Path(path)
    meshes = MeshFinder(file, [Path(folder) for folder in folders], limits)
    return read_urdf(read_file(file), path, meshes)
