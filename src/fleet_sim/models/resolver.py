"""Resolves the name of a model to its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fleet_sim.errors import FleetSimError, InvalidValueError, UnknownNameError, closest, did_you_mean
from fleet_sim.gate.remote import check_file, is_remote, may_read
from fleet_sim.models.catalog import KNOWN_MODELS, ModelEntry, is_path
from fleet_sim.models.generated import expanded_file, is_xacro
from fleet_sim.models.meshes import in_packages
from fleet_sim.models.search_paths import get_search_paths
from fleet_sim.models.tiers import SCANNED, check_tier, in_folder, scan, tier_folders
from fleet_sim.paths import expanded, is_file

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
        raise InvalidValueError("the name or path of a model must not be empty")
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
        except FleetSimError as error:
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
    searched = "" if is_remote() else f" Searched: {', '.join(map(str, places))}"
    raise InvalidValueError(f"there is no model {uri!r}.{searched}")


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


def _unknown(name: str, folders: list[Path]) -> UnknownNameError:
    known = set(KNOWN_MODELS).union(*(scan(tier) for tier in SCANNED), *(_in_user_folder(folder) for folder in folders))
    searched = [str(folder) for folder in folders] + [f"{len(KNOWN_MODELS)} known models"]
    searched += [f"{tier} ({len(scan(tier))} models)" for tier in SCANNED]
    return UnknownNameError(f"unknown model {name!r}.{_help(name, known)} Searched: {', '.join(searched)}")


def _help(name: str, known: set[str]) -> str:
    """Return what to write instead: the closest name, else the models in the catalog."""
    # Of the thousand files that PyBullet brings, most are numbered objects; families of robots are in the catalog.
    return did_you_mean(name, known if closest(name, known) else KNOWN_MODELS)


def _in_user_folder(folder: Path) -> dict[str, str]:
    """Return the models in a folder and in its subfolder urdf/, by name."""
    names = {entry.name.split(".")[0] for entry in folder.glob("*")} | {
        entry.name.split(".")[0] for entry in folder.glob("urdf/*")
    }
    found = {}
    for name in sorted(names):
        path = next((path for path in in_folder(folder, name) if is_file(path)), None)
        if path is not None:
            found[name] = str(path.resolve())
    return found
