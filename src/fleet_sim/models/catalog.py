"""The catalogue of models known by name, and functions for adding more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fleet_sim.base import errors
from fleet_sim.base.files import check_file, expanded, is_file, is_remote, listed, may_read
from fleet_sim.models import tiers
from fleet_sim.models.generated import expanded_file, is_xacro
from fleet_sim.models.mesh_files import in_packages


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
        tiers.check_tier(self.tier)
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
        path = tiers.locate(self.tier, self.rel_path, self.install_hint)
        if not is_xacro(path):
            return str(path)
        # Each package of robot_descriptions says with which arguments its xacro file is to be expanded.
        arguments = tiers.described_arguments(self.rel_path) if self.tier == "robot_descriptions" else ""
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
            tiers.check_described(entry.rel_path)
            return found | {"path": f"robot_descriptions.{entry.rel_path}"}
        return found | {"path": str(tiers.locate(entry.tier, entry.rel_path, entry.install_hint))}
    except errors.FleetSimError as error:
        # As `resolve_urdf` answers: some models of other places have one of our own under the same name.
        own = tiers.scan("local").get(name)
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
    folders = [expanded(folder) for folder in (*search_paths, *tiers.get_search_paths())]
    if is_path(given):
        return _resolve_path(given, folders)
    for folder in folders:
        for candidate in tiers.in_folder(folder, given):
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
    return (*(expanded(folder) for folder in (*search_paths, *tiers.get_search_paths())), *tiers.tier_folders())


def discover_models(tier: str) -> dict[str, str]:
    """Return all models of a tier as {name: path}, whether or not they are in KNOWN_MODELS.

    `tier` is "local", "pybullet_data", "ros", "robot_descriptions" (whose values are the modules that download the
    files; nothing is downloaded) or "user" (the folders of `add_search_path` and models registered with a path). A tier
    that is not installed has no models. Raises UnknownNameError for other tiers.
    """
    tiers.check_tier(tier)
    if tier != "user":
        return tiers.scan(tier)
    registered = {name: entry.rel_path for name, entry in KNOWN_MODELS.items() if entry.tier == "user"}
    # Reversed, so that folders in front overwrite those behind them.
    for folder in reversed(tiers.get_search_paths()):
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
            for found in tiers.scan(tier).values():
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
    for tier in tiers.SCANNED:
        models = tiers.scan(tier)
        if name not in models and name not in models.values():
            continue
        if tier == "robot_descriptions":
            return ModelEntry(models.get(name, name), tier).path_func()
        return _plain(Path(models[name]))
    return None


def _unknown(name: str, folders: list[Path]) -> errors.UnknownNameError:
    known = set(KNOWN_MODELS).union(
        *(tiers.scan(tier) for tier in tiers.SCANNED), *(_in_user_folder(folder) for folder in folders)
    )
    searched = [str(folder) for folder in folders] + [f"{len(KNOWN_MODELS)} known models"]
    searched += [f"{tier} ({len(tiers.scan(tier))} models)" for tier in tiers.SCANNED]
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
        path = next((path for path in tiers.in_folder(folder, name) if is_file(path)), None)
        if path is not None:
            found[name] = str(path.resolve())
    return found
