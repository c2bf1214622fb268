"""The ament index: installed packages and their resources.

Beside `AMENT_PREFIX_PATH` it knows packages installed by pip (`search_paths`) and source checkouts
(`checkouts`).
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from site import ENABLE_USER_SITE, getuserbase
from typing import Literal
from urllib.parse import unquote, urlparse

from ..places import offer_places, packages_by_file

# Names fixed by the ament resource index.


AMENT_PREFIX_PATH_ENV_VAR = "AMENT_PREFIX_PATH"
RESOURCE_INDEX_SUBFOLDER = "share/ament_index/resource_index"


# The prefixes that are searched, in order.


def get_search_paths() -> list[str]:
    """Existing prefixes, first match wins: `AMENT_PREFIX_PATH`, then the Python environment.

    An ament_python package installed by pip puts its resource index under `sys.prefix` (or under the user
    base with `pip install --user`), so either counts as a prefix where it holds an index. Unlike a full ROS
    2, an unset `AMENT_PREFIX_PATH` is no error here: the Python environment alone is enough.
    """
    named = os.environ.get(AMENT_PREFIX_PATH_ENV_VAR, "").split(os.pathsep)
    paths = [path for path in named if path and os.path.exists(path)]
    environments = [sys.prefix]
    if ENABLE_USER_SITE:
        environments.append(getuserbase())
    for prefix in environments:
        if prefix not in paths and os.path.isdir(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER)):
            paths.append(prefix)
    return paths


# The packages that pocket_ros itself is: their folders serve as prefix and as share directory. A folder
# of definitions has `msg`, `srv` and `action` below it, as the share directory of a package has.


_HOME = Path(__file__).parents[1]
_DEFINITIONS = _HOME / "interfaces" / "definitions"
_PRIVATE = frozenset({"dds", "interfaces"})  # no packages of ROS


@cache
def find_bundled() -> dict[str, str]:
    """Name to folder, of the libraries and of the interface packages."""
    own = {path.parent.name: path.parent for path in _HOME.glob("*/__init__.py")}
    # A package that is a part of another's files is where those are.
    parts = {
        name: own.get(file.partition(".")[0], _HOME / "ros2cli") for name, file in packages_by_file().items()
    }
    interfaces = {path.name: path for path in _DEFINITIONS.iterdir() if path.is_dir()}
    found = {name: str(path) for name, path in (parts | own | interfaces).items()}
    return {name: path for name, path in found.items() if name not in _PRIVATE}


def find_bundled_resources(resource_type: str) -> dict[str, str]:
    """Name to content, as installing the packages would register them; empty for other types than two.

    `packages` has no content, `rosidl_interfaces` a line for each definition: `msg/String.msg`.
    """
    if resource_type == "packages":
        return dict.fromkeys(find_bundled(), "")
    if resource_type != "rosidl_interfaces":
        return {}
    folders = {name: Path(folder) for name, folder in find_bundled().items()}
    return {
        name: "\n".join(sorted(f"{path.parent.name}/{path.name}" for path in folder.glob("*/*")))
        for name, folder in folders.items()
        if folder.parent == _DEFINITIONS
    }


# Packages that are used from their sources: the fallback behind the resource index. A source tree has
# no resource index, so a package that no prefix knows is looked for by its `package.xml`, in 1. the
# source folder of every distribution installed with `pip install --editable`, 2. the current directory
# and the directories above it, each time in the folder itself and one level below its `src`. Such a
# package's prefix and share directory are both the folder of its `package.xml`: `launch/`, `base/` and
# the like are where its `setup.py` would install them from.


_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")


@lru_cache(maxsize=1)
def _editable_sources() -> tuple[Path, ...]:
    sources: dict[Path, None] = {}
    for site in sys.path:
        for text in _origins(site or "."):
            if text:
                origin = json.loads(text)
                if origin.get("dir_info", {}).get("editable"):
                    sources[Path(unquote(urlparse(origin["url"]).path))] = None
            else:
                # `setup.py develop`, which pip uses for packages without a pyproject.toml, leaves only the
                # metadata in the source folder, or in its `src`.
                folder = Path(site)
                sources[folder.parent if folder.name == "src" else folder] = None
    return tuple(sources)


def _origins(site: str) -> Iterator[str]:
    """Where each distribution in a folder came from, as JSON; "" where its metadata does not say.

    Not by importlib.metadata: importing that takes a tenth of the time in which a node starts.
    """
    try:
        names = os.listdir(site)
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                yield Path(site, name, "direct_url.json").read_text(encoding="utf-8")
            except OSError:
                yield ""


def _roots() -> Iterator[Path]:
    yield from _editable_sources()
    here = Path(os.getcwd())
    yield here
    yield from here.parents


def _manifests() -> Iterator[Path]:
    for root in _roots():
        manifest = root / "package.xml"
        if manifest.is_file():
            yield manifest
        if (root / "colcon_defaults.yaml").is_file() or manifest.is_file():
            yield from sorted(root.glob("src/*/package.xml"))


def find_checkouts() -> dict[str, str]:
    """Package name to source folder, for every package found as this module describes."""
    found: dict[str, str] = {}
    for manifest in _manifests():
        match = _NAME.search(manifest.read_text(encoding="utf-8", errors="replace"))
        if match:
            found.setdefault(match.group(1), str(manifest.parent))
    return found


# The ament resource index: `<prefix>/share/ament_index/resource_index/<type>/<name>`. Packages that
# pocket_ros brings along are in it after all prefixes, without files: with `packages` and
# `rosidl_interfaces`.


class InvalidResourceTypeNameError(ValueError):
    """A resource type that cannot be the name of a folder."""


class InvalidResourceNameError(ValueError):
    """A resource name that cannot be the name of a file."""


def _check(kind: str, name: str, error: type[ValueError]) -> None:
    if not name:
        raise AssertionError(f"The resource {kind} must not be empty")
    if "/" in name or "\\" in name:
        raise error(f"Resource {kind} '{name}' is invalid: it must not contain a path separator")


def find_installed(resource_type: str, resource_name: str) -> str | Literal[False]:
    """`has_resource` for what a prefix holds."""
    _check("type", resource_type, InvalidResourceTypeNameError)
    _check("name", resource_name, InvalidResourceNameError)
    for prefix in get_search_paths():
        if os.path.isfile(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)):
            return prefix
    return False


def has_resource(resource_type: str, resource_name: str) -> str | Literal[False]:
    """The prefix that holds the resource, or False.

    Raises InvalidResourceTypeNameError and InvalidResourceNameError for names with a path separator.
    """
    prefix = find_installed(resource_type, resource_name)
    if prefix is False and resource_name in find_bundled_resources(resource_type):
        return find_bundled()[resource_name]
    return prefix


def get_resource(resource_type: str, resource_name: str) -> tuple[str, str]:
    """The content of a resource and the prefix it was found in.

    Raises LookupError when no prefix has it, OSError when it cannot be read.
    """
    prefix = find_installed(resource_type, resource_name)
    if prefix is False:
        bundled = find_bundled_resources(resource_type)
        if resource_name in bundled:
            return bundled[resource_name], find_bundled()[resource_name]
        raise LookupError(f"Could not find the resource '{resource_name}' of type '{resource_type}'")
    with open(os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type, resource_name)) as stream:
        return stream.read(), prefix


def get_resources(resource_type: str) -> dict[str, str]:
    """Every resource of a type: name to prefix. Folders and hidden files do not count."""
    homes = find_bundled()
    bundled = {name: homes[name] for name in find_bundled_resources(resource_type)}
    return {**bundled, **list_installed(resource_type)}


def list_installed(resource_type: str) -> dict[str, str]:
    """`get_resources` for what prefixes hold."""
    _check("type", resource_type, InvalidResourceTypeNameError)
    found: dict[str, str] = {}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER, resource_type)
        if os.path.isdir(folder):
            for entry in os.scandir(folder):
                if not entry.is_dir() and not entry.name.startswith("."):
                    found.setdefault(entry.name, prefix)
    return found


def get_resource_types() -> set[str]:
    """The resource types that occur in any prefix, and those of pocket_ros's own packages."""
    found = {"packages", "rosidl_interfaces"}
    for prefix in get_search_paths():
        folder = os.path.join(prefix, RESOURCE_INDEX_SUBFOLDER)
        if os.path.isdir(folder):
            found.update(e.name for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
    return found


# Where packages are installed.


_VALID_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]+", re.ASCII)


class PackageNotFoundError(KeyError):
    """No prefix and no source checkout has the package, and pocket_ros does not bring it along."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def get_packages_with_prefixes() -> dict[str, str]:
    """Package name to prefix: installed packages, then source checkouts, then those of pocket_ros."""
    return {**find_bundled(), **find_checkouts(), **list_installed("packages")}


def _locate(package_name: str) -> tuple[str, str]:
    if _VALID_NAME.fullmatch(package_name) is None:
        raise ValueError(f"'{package_name}' is not a valid package name")
    prefix = find_installed("packages", package_name)
    if prefix is not False:
        return prefix, os.path.join(prefix, "share", package_name)
    source = find_checkouts().get(package_name)
    if source is None:
        source = find_bundled().get(package_name)
    if source is not None:
        return source, source
    raise PackageNotFoundError(f"package '{package_name}' not found, searching: {get_search_paths()}")


def get_package_prefix(package_name: str) -> str:
    """The installation prefix of a package.

    For a source checkout the folder of its `package.xml`; for a package of pocket_ros, its folder there.

    Raises PackageNotFoundError when it is nowhere, ValueError for a name no package can have.
    """
    return _locate(package_name)[0]


def get_package_share_directory(package_name: str, print_warning: bool = True) -> str:
    """The share directory of a package; for a source checkout and for packages of pocket_ros, their folder.

    Warns when the directory does not exist, unless `print_warning` is False. Raises as `get_package_prefix`
    does.
    """
    path = _locate(package_name)[1]
    if print_warning and not os.path.exists(path):
        warnings.warn(f"Share directory for {package_name} ({path}) does not exist.", stacklevel=2)
    return path


def get_package_share_path(package_name: str, print_warning: bool = True) -> pathlib.Path:
    """`get_package_share_directory` as a Path."""
    path = pathlib.Path(get_package_share_directory(package_name, print_warning=False))
    if print_warning and not path.exists():
        warnings.warn(f"Share path for {package_name} ({path}) does not exist.", stacklevel=2)
    return path


__all__ = [
    "AMENT_PREFIX_PATH_ENV_VAR",
    "RESOURCE_INDEX_SUBFOLDER",
    "InvalidResourceNameError",
    "InvalidResourceTypeNameError",
    "PackageNotFoundError",
    "get_package_prefix",
    "get_package_share_directory",
    "get_package_share_path",
    "get_packages_with_prefixes",
    "get_resource",
    "get_resource_types",
    "get_resources",
    "get_search_paths",
    "has_resource",
]

offer_places(__name__)
