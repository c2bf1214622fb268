"""Models known by name, functions for adding more, and their sources: this project, PyBullet's data, ROS packages,
robot_descriptions, and folders of the user.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from fleet_sim.base import errors
from fleet_sim.base.errors import FleetSimError, InvalidValueError, did_you_mean, missing_extra, of_extra, unknown_name
from fleet_sim.base.files import (
    check_file,
    data_roots,
    expanded,
    folders_in,
    is_file,
    is_folder,
    is_remote,
    listed,
    may_read,
    names_in,
    operator_input,
    walked,
)
from fleet_sim.models.generated import expanded_file, is_xacro
from fleet_sim.models.meshes.loading import in_packages

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


# The catalogue.


@dataclass(frozen=True)
class ModelEntry:
    """The source of a known model.

    `rel_path` is relative to the folder of its `tier`: urdf/ (local), the data folder of PyBullet (pybullet_data), the
    share folder of an ament prefix (ros); or it is a module name (robot_descriptions) or an absolute path (user).
    `install_hint` is the command that installs it; `xacro_args` ("name:=value ...") are passed to xacro.
    Raises UnknownNameError for an unknown tier, InvalidValueError for an empty path, and for a path of tier "user" that
    is not absolute.
    """

    rel_path: str
    tier: str = "user"
    install_hint: str = ""
    xacro_args: str = ""

    def __post_init__(self) -> None:
        check_tier(self.tier)
        if not self.rel_path:
            raise errors.InvalidValueError("rel_path: must name a file, got ''")
        # A relative path would depend on where the program is started.
        if self.tier == "user" and not expanded(self.rel_path).is_absolute():
            raise errors.InvalidValueError(f"rel_path: a user's model needs an absolute path, got {self.rel_path!r}")
        if any(":=" not in argument for argument in self.xacro_args.split()):
            raise errors.InvalidValueError(f"xacro_args: expected 'name:=value ...', got {self.xacro_args!r}")

    def path_func(self) -> str:
        """Return the absolute path of the file; for a xacro file, the path of its expansion.

        Raises FleetSimError with the folders searched or the command to install it.
        """
        path = locate(self.tier, self.rel_path, self.install_hint)
        if not is_xacro(path):
            return str(path)
        # Each package of robot_descriptions says with which arguments its xacro file is to be expanded.
        arguments = described_arguments(self.rel_path) if self.tier == "robot_descriptions" else ""
        return str(expanded_file(path, f"{arguments} {self.xacro_args}".strip()))


def _local(rel_path: str) -> ModelEntry:
    return ModelEntry(rel_path, "local")


def _bullet(rel_path: str) -> ModelEntry:
    return ModelEntry(rel_path, "pybullet_data")


def _ros(rel_path: str, xacro_args: str = "") -> ModelEntry:
    # Debian packages of ROS have hyphens where ROS packages have underscores.
    package = rel_path.split("/")[0].replace("_", "-")
    return ModelEntry(rel_path, "ros", f"apt install ros-$ROS_DISTRO-{package}", xacro_args)


def _described(name: str) -> ModelEntry:
    return ModelEntry(f"{name}_description", "robot_descriptions", "pip install 'fleet_sim[robot-descriptions]'")


KNOWN_MODELS: dict[str, ModelEntry] = {
    "diff_base": _local("diff_base.urdf"),
    "omni_base": _local("omni_base.urdf"),
    "car": _local("car.urdf"),
    "arm6": _local("arm6.urdf"),
    "rail_arm": _local("rail_arm.urdf"),
    "mobile_manipulator": _local("mobile_manipulator.urdf"),
    "pallet": _local("pallet.urdf"),
    "shelf": _local("shelf.urdf"),
    "station": _local("station.urdf"),
    "box": _local("box.urdf"),
    "cube": _local("cube.urdf"),
    "bin": _local("bin.urdf"),
    "mobile_robot": _local("diff_base.urdf"),
    "arm_robot": _local("arm6.urdf"),
    "rail_arm_robot": _local("rail_arm.urdf"),
    "simple_cube": _local("cube.urdf"),
    # Where PyBullet is not installed: urdf/panda.urdf, which moves alike and is made of plain shapes.
    "panda": _bullet("franka_panda/panda.urdf"),
    "kuka_iiwa": _bullet("kuka_iiwa/model.urdf"),
    "xarm6": _bullet("xarm/xarm6_with_gripper.urdf"),
    "wsg50_gripper": _bullet("gripper/wsg50_one_motor_gripper_new.sdf"),
    "husky": _bullet("husky/husky.urdf"),
    "racecar": _bullet("racecar/racecar.urdf"),
    "r2d2": _bullet("r2d2.urdf"),
    "a1": _bullet("a1/a1.urdf"),
    "aliengo": _bullet("aliengo/aliengo.urdf"),
    "laikago": _bullet("laikago/laikago.urdf"),
    "mini_cheetah": _bullet("mini_cheetah/mini_cheetah.urdf"),
    "minitaur": _bullet("quadruped/minitaur.urdf"),
    "kiva_shelf": _bullet("kiva_shelf/model.sdf"),
    "plane": _bullet("plane.urdf"),
    "table": _bullet("table/table.urdf"),
    "table_square": _bullet("table_square/table_square.urdf"),
    "tray": _bullet("tray/tray.urdf"),
    "domino": _bullet("domino/domino.urdf"),
    "jenga": _bullet("jenga/jenga.urdf"),
    "lego": _bullet("lego/lego.urdf"),
    "mug": _bullet("objects/mug.urdf"),
    "ur5e": _ros(
        # Its arguments have no defaults that load: the type has to be given.
        "ur_description/urdf/ur.urdf.xacro",
        "ur_type:=ur5e name:=ur5e safety_limits:=true safety_pos_margin:=0.15 safety_k_position:=20",
    ),
    "turtlebot3_burger": _ros("turtlebot3_description/urdf/turtlebot3_burger.urdf"),
    "turtlebot3_waffle": _ros("turtlebot3_description/urdf/turtlebot3_waffle.urdf"),
    "fetch": _ros("fetch_description/robots/fetch.urdf"),
    "tiago": _described("tiago"),
    "pr2": _described("pr2"),
}
"""The known models by name. Change it with `register_model` and `unregister_model`."""


def register_model(name: str, path_or_entry: str | Path | ModelEntry, *, force: bool = False) -> None:
    """Register a model as `name`: an absolute path (tier "user") or a ModelEntry.

    Raises InvalidValueError for a name that looks like a path, DuplicateNameError if the name is registered and
    `force` is not given.
    """
    entry = path_or_entry if isinstance(path_or_entry, ModelEntry) else ModelEntry(str(path_or_entry))
    # A name with a slash would be taken for a path where models are looked up.
    if not name or is_path(name):
        raise errors.InvalidValueError(f"name: expected a name without '/' and suffix, got {name!r}")
    if name in KNOWN_MODELS and not force:
        raise errors.DuplicateNameError(f"the model {name!r} is already registered; pass force=True to replace it")
    KNOWN_MODELS[name] = entry


def unregister_model(name: str) -> None:
    """Remove the model `name` from the catalog; raises UnknownNameError with the closest names."""
    if name not in KNOWN_MODELS:
        raise errors.unknown_name("model", name, KNOWN_MODELS)
    del KNOWN_MODELS[name]


def list_all_models() -> dict[str, dict[str, object]]:
    """Return all known models by name: {"tier", "available", "path"}, or "error" instead of "path".

    Nothing is downloaded: a model of robot_descriptions counts as available if that package is installed, and its
    path is the module that downloads it.
    """
    return {name: _listing(name, entry) for name, entry in KNOWN_MODELS.items()}


def is_path(text: str) -> bool:
    """Return whether `text` is treated as a path, not as a name."""
    return "/" in text or "\\" in text or text.lower().endswith((".urdf", ".sdf", ".xacro", ".xml", ".mjcf"))


def _listing(name: str, entry: ModelEntry) -> dict[str, object]:
    """Return what lists say about a model: its tier, and its path or why it is not available."""
    found: dict[str, object] = {"tier": entry.tier, "available": True}
    try:
        if entry.tier == "robot_descriptions":
            # The name of the module is the answer: its path would be known only after a download.
            check_described(entry.rel_path)
            return found | {"path": f"robot_descriptions.{entry.rel_path}"}
        return found | {"path": str(locate(entry.tier, entry.rel_path, entry.install_hint))}
    except errors.FleetSimError as error:
        # As `resolve_urdf` answers: some models of other places have one of our own under the same name.
        own = scan("local").get(name)
        if own is not None:
            return found | {"tier": "local", "path": own}
        return found | {"available": False, "error": str(error)}


# Resolves the name of a model to its file.


PACKAGE_SCHEMES = ("package://", "model://")


def resolve_urdf(name_or_path: str | Path, *, search_paths: Sequence[str | Path] = ()) -> str:
    """Return the absolute path of the model called `name_or_path`; for a xacro file, the path of its expansion.

    A name is looked up in `search_paths`, in the folders of `add_search_path`, in KNOWN_MODELS, and among all models of
    the tiers local, pybullet_data, ros and robot_descriptions, in this order. A path (anything with a "/" or the
    suffix of a model file) is returned unchanged; a bare file name that is not in the working folder is first looked
    up in the folders and tiers. A package:// or model:// URI becomes the path of its file.

    Raises UnknownNameError with the closest names and the places searched for an unknown name; InvalidValueError or
    MissingDependencyError with the command to install it for a known model that is missing.
    """
    given = str(name_or_path)
    if not given:
        raise errors.InvalidValueError("the name or path of a model must not be empty")
    # Folders of the call come before those added for all calls.
    folders = [expanded(folder) for folder in (*search_paths, *get_search_paths())]
    if is_path(given):
        return _resolve_path(given, folders)
    for folder in folders:
        for candidate in in_folder(folder, given):
            if is_file(candidate):
                return _plain(candidate.resolve())
    entry, failure = KNOWN_MODELS.get(given), None
    if entry is not None:
        try:
            return entry.path_func()
        except errors.FleetSimError as error:
            failure = error
    # A known model that is not installed may still be in another tier under the same name.
    path = _scanned(given)
    if path is not None:
        return path
    if failure is not None and entry is not None:
        raise type(failure)(f"model {given!r} ({entry.tier}): {failure}") from failure
    raise _unknown(given, folders)


resolve_model = resolve_urdf
"""Alias of `resolve_urdf`, which accepts SDF and MJCF too."""


def model_folders(search_paths: Sequence[str | Path] = ()) -> tuple[Path, ...]:
    """Return the folders that hold models: those searched by name, and those of all tiers that are installed."""
    return (*(expanded(folder) for folder in (*search_paths, *get_search_paths())), *tier_folders())


def discover_models(tier: str) -> dict[str, str]:
    """Return all models of a tier as {name: path}, whether or not they are in KNOWN_MODELS.

    `tier` is "local", "pybullet_data", "ros", "robot_descriptions" (whose values are the modules that download the
    files; nothing is downloaded) or "user" (the folders of `add_search_path` and models registered with a path). A tier
    that is not installed has no models. Raises UnknownNameError for other tiers.
    """
    check_tier(tier)
    if tier != "user":
        return scan(tier)
    registered = {name: entry.rel_path for name, entry in KNOWN_MODELS.items() if entry.tier == "user"}
    # Reversed, so that folders in front overwrite those behind them.
    for folder in reversed(get_search_paths()):
        registered.update(_in_user_folder(Path(folder)))
    return registered


def _resolve_path(given: str, folders: list[Path]) -> str:
    """Return the file that a path, a package URI or a bare file name stands for; raises an error for none."""
    path = expanded(given)
    if given.startswith(PACKAGE_SCHEMES):
        return _in_package(given, folders)
    bare = "/" not in given and "\\" not in given
    if not bare:
        # With a folder in it there is just one place where it can be.
        check_file(path, "model")
    # A bare name from another process is never a file of the working folder.
    if is_file(path) and not (bare and is_remote()):
        return _plain(path) if is_xacro(path) else given
    if bare:
        for folder in folders:
            if is_file(folder / given):
                return _plain((folder / given).resolve())
        for tier in ("local", "pybullet_data"):
            for found in scan(tier).values():
                if Path(found).name == given:
                    return _plain(Path(found))
        check_file(path, "model")
    return given


def _in_package(uri: str, folders: list[Path]) -> str:
    """Return the file of a package:// or model:// URI; of a message, only one in a folder of models."""
    places = list(in_packages(uri, folders))
    for place in places:
        if may_read(place) and is_file(place):
            return _plain(place.resolve())
    for place in places:
        check_file(place, "model")
    searched = f" Searched: {', '.join(map(str, places))}" if places and not is_remote() else ""
    package = uri.partition("://")[2].partition("/")[0]
    hint = "" if places else f" No package {package!r} is known: source its workspace, or set model_paths."
    raise errors.InvalidValueError(f"there is no model {uri!r}.{searched}{hint}")


def _plain(path: Path) -> str:
    return str(expanded_file(path) if is_xacro(path) else path)


def _scanned(name: str) -> str | None:
    """Return the file of a model that is installed with another package; None where there is none of that name."""
    for tier in SCANNED:
        models = scan(tier)
        if name not in models and name not in models.values():
            continue
        if tier == "robot_descriptions":
            return ModelEntry(models.get(name, name), tier).path_func()
        return _plain(Path(models[name]))
    return None


def _unknown(name: str, folders: list[Path]) -> errors.UnknownNameError:
    known = set(KNOWN_MODELS).union(*(scan(tier) for tier in SCANNED), *(_in_user_folder(folder) for folder in folders))
    searched = [str(folder) for folder in folders] + [f"{len(KNOWN_MODELS)} known models"]
    searched += [f"{tier} ({len(scan(tier))} models)" for tier in SCANNED]
    return errors.UnknownNameError(f"unknown model {name!r}.{_help(name, known)} Searched: {', '.join(searched)}")


def _help(name: str, known: set[str]) -> str:
    """Return what to write instead: the closest name, else the models in the catalog."""
    # Of the thousand files that PyBullet brings, most are numbered objects; families of robots are in the catalog.
    return errors.did_you_mean(name, known if errors.closest(name, known) else KNOWN_MODELS)


def _in_user_folder(folder: Path) -> dict[str, str]:
    """Return the models in a folder and in its subfolder urdf/, by name."""
    names = {entry.name.split(".")[0] for pattern in ("*", "urdf/*") for entry in listed(folder, pattern)}
    found = {}
    for name in sorted(names):
        path = next((path for path in in_folder(folder, name) if is_file(path)), None)
        if path is not None:
            found[name] = str(path.resolve())
    return found
