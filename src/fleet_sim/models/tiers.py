"""The sources of models: this project, PyBullet's data, ROS packages, robot_descriptions, and folders of the user."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from fleet_sim.base.errors import FleetSimError, InvalidValueError, did_you_mean, missing_extra, of_extra, unknown_name
from fleet_sim.base.files import (
    data_roots,
    expanded,
    folders_in,
    is_file,
    is_folder,
    listed,
    names_in,
    operator_input,
    walked,
)

_added: list[Path] = []


def add_search_path(directory: str | Path) -> None:
    """Add `directory` to the folders searched for models by name, after those added before it.

    Adding a folder twice has no effect. Raises InvalidValueError if there is no such folder.
    """
    folder = checked_folder(directory)
    if folder not in _added:
        _added.append(folder)


def remove_search_path(directory: str | Path) -> None:
    """Remove `directory` from the folders searched; a folder that was never added is ignored."""
    folder = expanded(directory).resolve()
    if folder in _added:
        _added.remove(folder)


def get_search_paths() -> list[str]:
    """Return a copy of the added folders, in search order."""
    return [str(folder) for folder in _added]


def checked_folder(directory: str | Path, what: str = "search path") -> Path:
    """Return the absolute path of a folder; raises InvalidValueError naming `what` and the closest folder names."""
    folder = expanded(directory).resolve()
    if not is_folder(folder):
        near = [name for name in names_in(folder.parent) if is_folder(folder.parent / name)]
        raise InvalidValueError(f"{what}: there is no folder {str(folder)!r}.{did_you_mean(folder.name, near)}")
    return folder


Tier = Literal["local", "pybullet_data", "ros", "robot_descriptions", "user"]
TIERS: tuple[str, ...] = get_args(Tier)
# Those that are folders to look through.
SCANNED = ("local", "pybullet_data", "ros", "robot_descriptions")
SUFFIXES = (".urdf", ".urdf.xacro", ".xacro", ".sdf", ".xml", ".mjcf")
"""Suffixes of model files, in order of preference between files with the same stem."""

_DESCRIPTION = "_description"


def check_tier(tier: str, allowed: Iterable[str] = TIERS) -> None:
    """Raise UnknownNameError unless `tier` is allowed."""
    if tier not in allowed:
        raise unknown_name("tier of models", tier, allowed)


def locate(tier: str, relative: str, install_hint: str = "") -> Path:
    """Return the file of a model of `tier`; raises FleetSimError with the folders searched or what to install."""
    if tier == "robot_descriptions":
        return _described_file(relative)
    # The path of a user is complete, and looked for nowhere else.
    if tier == "user":
        folders: Sequence[str | Path] = ("",)
        relative = os.path.expanduser(relative)
    else:
        folders = [_pybullet_folder()] if tier == "pybullet_data" else _folders(tier)
    for folder in folders:
        # One by one and as texts: paths cost more than looking, and each spawn looks.
        candidate = os.path.join(folder, relative)
        if is_file(candidate):
            return Path(os.path.abspath(candidate))
    hint = f" Install it: {install_hint}" if install_hint else ""
    if tier == "ros" and not folders:
        raise InvalidValueError(f"no ROS package holds {relative!r}: AMENT_PREFIX_PATH is not set.{hint}")
    searched = ", ".join(os.path.join(folder, relative) for folder in folders)
    raise InvalidValueError(f"there is no file {relative!r}. Searched: {searched}.{hint}")


def scan(tier: str) -> dict[str, str]:
    """Return all models of `tier` as {name: path}; for robot_descriptions as {name: module}.

    A name is the stem of the file, or the name of its folder if the file is called "model"; if a name is taken, the
    folder's name is put before the stem. A tier that is not installed has no models.
    """
    check_tier(tier, SCANNED)
    if tier == "robot_descriptions":
        return {name.removesuffix(_DESCRIPTION): name for name in _described_names()}
    if tier == "pybullet_data":
        try:
            return dict(_scan_folder(_pybullet_folder()))
        except FleetSimError:
            return {}
    found: dict[str, str] = {}
    for folder in _folders(tier):
        models = _scan_folder(folder) if tier == "local" else _scan_packages(folder)
        # Folders in front win.
        found = dict(models) | found
    return found


def in_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that may hold a model called `name` in a user's folder."""
    for place in (folder, folder / name, folder / "urdf", folder / name / "urdf", folder / name / "robots"):
        yield from (place / f"{name}{suffix}" for suffix in SUFFIXES)
    yield from (folder / name / f"model{suffix}" for suffix in SUFFIXES)


def tier_folders() -> tuple[Path, ...]:
    """Return the folders of all tiers that are on this machine; of robot_descriptions, which is asked by name, none."""
    try:
        bullet = [_pybullet_folder()]
    except FleetSimError:
        bullet = []
    return (*_folders("local"), *bullet, *_folders("ros"))


def _folders(tier: str) -> list[Path]:
    if tier == "local":
        return _local_folders(os.environ.get("AMENT_PREFIX_PATH", ""))
    return [prefix / "share" for prefix in folders_in("AMENT_PREFIX_PATH")]


@lru_cache(maxsize=8)
def _local_folders(_ament_prefix_path: str) -> list[Path]:
    return [root / "urdf" for root in data_roots()]


@lru_cache(maxsize=1)
def _pybullet_folder() -> Path:
    with of_extra("pybullet_data", "bullet", "A model of PyBullet"):
        return Path(importlib.import_module("pybullet_data").getDataPath())


@lru_cache(maxsize=32)
def _scan_folder(folder: Path) -> dict[str, str]:
    """Return the models anywhere in `folder`; cached, as these folders do not change while a program runs."""
    # It is kept, so it must not depend on who asks first.
    with operator_input():
        return _by_name(file for file in walked(folder) if file.name.endswith(SUFFIXES))


def _scan_packages(share: Path) -> dict[str, str]:
    # Other folders of packages have launch files and worlds.
    folders = ("urdf", "robots", "sdf", "mjcf")
    return _by_name(
        file for kind in folders for file in listed(share, f"*/{kind}/**/*") if file.name.endswith(SUFFIXES)
    )


def _by_name(files: Iterable[Path]) -> dict[str, str]:
    """Return files by the name of their model: the file's own, or the folder's where that is taken."""

    def order(file: Path) -> tuple[int, int, str]:
        # Files higher up first: they get the plain name, and those in subfolders the longer one.
        return len(file.parts), next(at for at, end in enumerate(SUFFIXES) if file.name.endswith(end)), str(file)

    found: dict[str, str] = {}
    for file in sorted(files, key=order):
        stem = file.name.split(".")[0]
        # Many files are called model, so the folder tells them apart.
        name = file.parent.name if stem == "model" else stem
        found.setdefault(f"{file.parent.name}_{stem}" if name in found else name, str(file))
    return found


def _described_names() -> list[str]:
    if importlib.util.find_spec("robot_descriptions") is None:
        return []
    return sorted(importlib.import_module("robot_descriptions").DESCRIPTIONS)


def check_described(name: str) -> None:
    """Raise FleetSimError unless robot_descriptions is installed and has a module `name`."""
    if importlib.util.find_spec("robot_descriptions") is None:
        raise missing_extra("robot_descriptions", "robot-descriptions", f"The model {name!r}")
    names = _described_names()
    if name not in names:
        raise InvalidValueError(f"robot_descriptions has no {name!r}.{did_you_mean(name, names)}")


def _described_file(name: str) -> Path:
    """Return the file of a module of robot_descriptions, which downloads it from its repository if needed."""
    module = _described_module(name)
    for attribute in ("URDF_PATH", "XACRO_PATH", "MJCF_PATH"):
        path = getattr(module, attribute, None)
        if path:
            return Path(path)
    raise InvalidValueError(f"robot_descriptions.{name} holds neither URDF, xacro nor MJCF")


def described_arguments(name: str) -> str:
    """Return the xacro arguments ("name:=value ...") that a module of robot_descriptions requires."""
    arguments = getattr(_described_module(name), "XACRO_ARGS", {})
    return " ".join(f"{key}:={value}" for key, value in arguments.items())


def _described_module(name: str) -> Any:
    """Return a module of robot_descriptions, which may download; raises InvalidValueError where that fails."""
    check_described(name)
    failures: tuple[type[Exception], ...] = (ImportError, OSError, RuntimeError, ValueError)
    if importlib.util.find_spec("git") is not None:
        # robot_descriptions downloads with GitPython, whose errors have no other common base class.
        failures = (*failures, importlib.import_module("git.exc").GitError)
    try:
        return importlib.import_module(f"robot_descriptions.{name}")
    except failures as error:
        raise InvalidValueError(f"robot_descriptions cannot fetch {name!r}: {error}") from error
