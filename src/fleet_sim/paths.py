"""Finds config/ and urdf/: in a checkout, in share/fleet_sim of a wheel, or in an ament prefix; names files by URIs."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from fleet_sim.errors import ConfigError, closest, did_you_mean, known_names
from fleet_sim.output import as_path

_PACKAGE = Path(__file__).resolve().parent


def cache_folder(name: str) -> Path:
    """Return the folder `name` of what the package generates: in XDG_CACHE_HOME, else in the user's .cache.

    It is created if needed; whoever deletes it loses time only. Without a home that can be written to, as in some
    containers, it is a folder for temporary files, one for each process.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "fleet_sim" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = _temporary_folder(name)
    return folder


@lru_cache
def _temporary_folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"fleet_sim-{name}-"))


def data_roots() -> list[Path]:
    """Return the folders that may hold config/ and urdf/, in the order they are searched."""
    roots = []
    checkout = _PACKAGE.parent.parent
    if _PACKAGE.parent.name == "src" and (checkout / "package.xml").is_file():
        roots.append(checkout)
    # <prefix>/lib/python3.x/site-packages/fleet_sim, or <folder>/fleet_sim after pip install --target.
    prefixes = [*_PACKAGE.parents[:4], Path(sys.prefix)]
    prefixes += [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    roots += [prefix / "share" / "fleet_sim" for prefix in prefixes]
    return list(dict.fromkeys(roots))


def data_file(kind: str, name: str) -> Path:
    """Return the shipped file `name` of the `kind` "config" or "urdf"; raises ConfigError with the folders searched."""
    folders = [root / kind for root in data_roots()]
    for folder in folders:
        if is_file(folder / name):
            return folder / name
    known = [entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir()]
    searched = ", ".join(str(folder) for folder in folders)
    raise ConfigError(f"no file {name!r} in {kind}/.{did_you_mean(name, known)} Searched: {searched}")


def resolve_config(path: str | Path, *, source: str = "") -> Path:
    """Return `path`, or the shipped configuration of that name if there is no such file.

    The name of a shipped one may have its folder, as in sites/office.yaml. A plain name that is neither raises
    ConfigError with the closest names, also of files beside `source`, which names `path`; another path is returned
    unchanged.
    """
    given = as_path(path)
    if os.path.exists(given) or given.is_absolute():
        return given
    if given.parent != Path("."):
        shipped = (root / "config" / given for root in data_roots())
        return next((file for file in shipped if is_file(file)), given)
    folders = [root / "config" / kind for root in data_roots() for kind in ("", "swarm")]
    for folder in folders:
        if is_file(folder / given):
            return folder / given
    near = [Path(source).parent] if source else []
    known = {file.stem: file.name for folder in (Path("."), *folders, *near) for file in folder.glob("*.y*ml")}
    # Without the endings: all of them are alike.
    close = closest(given.stem, known)
    hint = f" Did you mean {known[close]!r}?" if close else known_names(known.values())
    raise ConfigError(f"there is no such file here and no shipped one of that name.{hint}", source=str(path))


def is_file(path: str | Path) -> bool:
    """Return whether there is such a file; a name that none can have, too long or with a zero in it, is no error."""
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Return whether there is such a folder, in the same way."""
    return os.path.isdir(path)


def beside(source: str, given: str, exists: Callable[[Path], bool] = is_file) -> str:
    """Return the path `given` in the folder of the file `source` where there is such a file, else unchanged.

    What a file names is looked for beside it first, so that it works from any working folder. A name in place of a path
    stays one; `source` may be empty.
    """
    candidate = Path(source).parent / given
    return str(candidate) if source and given and exists(candidate) else given


def expanded(path: str | Path) -> Path:
    """Return `path` with ~ as the home of its user; as in a shell, that of a user who is not known stays."""
    return Path(os.path.expanduser(path))


def folders_in(variable: str) -> list[Path]:
    """Return the folders listed in an environment variable."""
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def package_name(folder: Path) -> str:
    """Return the name in the package.xml of `folder`, "" if there is none."""
    try:
        content = (folder / "package.xml").read_bytes()
    except OSError:
        return ""
    name = re.search(rb"<name>\s*([^<\s]+)\s*</name>", content)
    return name[1].decode(errors="replace") if name else ""


def shared_uri(file: str | Path) -> str:
    """Return the URI of a file for other programs: package:// if a package of the ROS installation has it, or file://.

    The first is valid on every machine where that package is installed. A package may be installed by links to its
    sources, as colcon does with --symlink-install.
    """
    return _shared_uri(Path(file).resolve(), tuple(folders_in("AMENT_PREFIX_PATH")))


# Called for each visible shape of a fleet, and most are alike.
@lru_cache(maxsize=4096)
def _shared_uri(file: Path, prefixes: tuple[Path, ...]) -> str:
    source = next((folder for folder in file.parents if (folder / "package.xml").is_file()), None) if prefixes else None
    for prefix in prefixes:
        share = (prefix / "share").resolve()
        inside = file.relative_to(share) if share in file.parents else None
        if inside is None and source is not None:
            linked = Path(package_name(source)) / file.relative_to(source)
            inside = linked if (share / linked).resolve() == file else None
        if inside is not None and len(inside.parts) > 1:
            return f"package://{quote(inside.as_posix())}"
    return file.as_uri()
