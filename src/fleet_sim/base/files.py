"""Files: names that are checked, files written whole or not at all, PNG pictures, and where config/ and urdf/ are."""

from __future__ import annotations

import os
import re
import signal
import struct
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

import numpy as np

from fleet_sim.base.arrays import Bytes
from fleet_sim.base.errors import (
    ConfigError,
    InvalidValueError,
    brief,
    closest,
    did_you_mean,
    known_names,
    missing_extra,
)

LONGEST = 300
"""Characters of a path that messages name at most."""


def as_path(path: object) -> Path:
    """Return the path of a file that somebody named; raises InvalidValueError for no name, and what is no path."""
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str):
        raise InvalidValueError(f"expected the name of a file as text or as a Path, got {brief(path)}")
    if not given:
        raise InvalidValueError("the name of a file is missing")
    if not _is_name(given):
        raise InvalidValueError(f"no file has such a name, {brief(given)}")
    return Path(given)


def _is_name(path: str | Path) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def part_of(path: str | Path) -> Path:
    """Return the file beside `path` that is written first: hidden, with the same ending, of this process only.

    Raises InvalidValueError where no file can have the name of `path`.
    """
    _refuse_other_than_names(path)
    file = _behind_links(path)
    return file.with_name(f".{file.stem}.{os.getpid()}.part{file.suffix}")


def part_beside(path: str | Path) -> Path:
    """Return the file that is written while a run lasts, until it is whole: seen beside `path`, under its own name."""
    return Path(f"{_behind_links(path)}.part")


def put_in_place(part: Path, path: str | Path) -> None:
    """Give the whole file `part` the name `path`. Where that is a link, the link stays, and leads to it.

    Raises InvalidValueError where `path` is something else than a file, such as a device, which would be gone.
    """
    _refuse_other_than_files(path)
    with refusals(path):
        os.replace(part, _behind_links(path))


def _behind_links(path: str | Path) -> Path:
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def _refuse_other_than_names(path: str | Path) -> None:
    if not _is_name(path) or not Path(path).name:
        raise InvalidValueError(f"{named(path)!r}: cannot be written: no file has such a name")


def _refuse_other_than_files(path: str | Path) -> None:
    if os.path.isdir(path):
        raise InvalidValueError(f"{named(path)}: cannot be written: it is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidValueError(f"{named(path)}: cannot be written: it is a device, a pipe or a socket, and no file")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a file beside `path` to write; at the end it takes the place of `path`.

    Where writing fails, for example on a full disk, `path` stays as it was and nothing is left beside it. Raises
    InvalidValueError for what the system refuses.
    """
    part = part_of(path)
    try:
        with refusals(path):
            yield part
            if part.exists():
                put_in_place(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until the block has ended, so that it writes all of its data or fails for itself.

    Only the main thread is interrupted by them; in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in before:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in before.items():
            # None: set by a program in C, and not to be set again from here.
            if handler is not None:
                signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def refusals(path: str | Path) -> Iterator[None]:
    """Raise InvalidValueError naming `path` where the system refuses to write."""
    try:
        yield
    except OSError as error:
        raise InvalidValueError(f"{named(path)}: cannot be written: {error.strerror or error}") from error


def named(path: str | Path) -> str:
    """Return a path as messages name it: no longer than a file's name may be, and without what cannot be printed."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_target(path: str | Path) -> None:
    """Raise InvalidValueError where nothing can be written to `path`: to be called before work that takes long."""
    if not os.path.isdir(path):
        _refuse_other_than_names(path)
    if not os.path.isdir(parent := Path(path).parent):
        raise InvalidValueError(f"{named(path)}: cannot be written: there is no folder {named(parent)!r}")
    _refuse_other_than_files(path)
    part = part_of(path)
    # Uninterrupted, or a signal between the two would leave the file.
    with uninterrupted(), refusals(path):
        # Rights alone do not tell: the whole file system may be read-only.
        part.touch()
        part.unlink()


TABLES = "writing tables in Parquet"
"""What Parquet is needed for."""


def check_table(path: str | Path) -> None:
    """Raise InvalidValueError for another ending than .csv and .parquet, MissingDependencyError without pyarrow."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InvalidValueError(f"tables are written to files that end in .csv or .parquet, got {str(path)!r}")
    if suffix == ".parquet":
        load_parquet(TABLES)


def load_parquet(purpose: str) -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet; raises MissingDependencyError, which says what `purpose` needs."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise missing_extra("pyarrow", "parquet", purpose) from error
    return pyarrow, pyarrow.parquet


# Finds config/ and urdf/: in a checkout, in share/fleet_sim of a wheel, or in an ament prefix; names files by URIs.


_PACKAGE = Path(__file__).resolve().parents[1]


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


# Writes images to PNG files.


_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write_png(path: str | Path, rgb: Bytes) -> None:
    """Write `rgb` (H, W, 3) uint8 as a PNG file; raises InvalidValueError for another shape or type, and
    where it cannot be written; then the file stays as it was.
    """
    content = png_bytes(rgb)
    with replacing(path) as part:
        part.write_bytes(content)


def png_bytes(rgb: Bytes) -> bytes:
    """Return `rgb` (H, W, 3) uint8 as the content of a PNG file; raises InvalidValueError as `write_png` does."""
    return _encoded(rgb, "rgb", 3)


def transparent_png_bytes(rgba: Bytes) -> bytes:
    """Return `rgba` (H, W, 4) uint8, the last its opacity, as the content of a PNG file; raises InvalidValueError."""
    return _encoded(rgba, "rgba", 4)


def _encoded(pixels: Bytes, what: str, channels: int) -> bytes:
    """Return uint8 pixels (H, W, `channels`) as a PNG file; raises InvalidValueError for other arrays."""
    if pixels.ndim != 3 or pixels.shape[2] != channels or pixels.dtype != np.uint8:
        wanted = f"uint8 of shape (H, W, {channels})"
        raise InvalidValueError(f"{what}: expected {wanted}, got {pixels.dtype} of shape {pixels.shape}")
    height, width, _ = pixels.shape
    # In PNG, each row of pixels starts with its filter type; 0 means none.
    lines = np.zeros((height, 1 + channels * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, channels * width)
    # Colors are of type 2, with opacity of type 6.
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
