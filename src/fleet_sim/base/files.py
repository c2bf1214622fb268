"""The one door to files: whatever the package looks at, reads and writes goes through here.

It depends on who asks. The operator may do what the system lets him. What came from outside, inside `remote_input`, may
read below the folders that he named, and write new files below his folder for output. Everything else is not there for
it: the answer is the same as for a file that does not exist.
"""

from __future__ import annotations

import atexit
import csv
import errno
import fcntl
import glob
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import FrameType
from typing import IO, Any
from urllib.parse import quote
from zlib import crc32

from fleet_sim.base.arrays import Bytes, png_bytes
from fleet_sim.base.errors import (
    ConfigError,
    FleetSimError,
    InvalidValueError,
    StateError,
    brief,
    closest,
    did_you_mean,
    known_names,
    of_extra,
)
from fleet_sim.base.request_budget import during

# Who asks.


@dataclass(frozen=True)
class _Rights:
    folders: Callable[[], Iterable[str | Path]]
    output: str | Path
    promised: set[Path]

    # Looked up where a file is asked for: most of what arrives names none.
    @cached_property
    def reads(self) -> tuple[Path, ...]:
        # With what is made of the models in those folders, which nobody can name without knowing it.
        return tuple(expanded(folder).resolve() for folder in (*self.folders(), cache_folder("models")))

    @cached_property
    def outputs(self) -> tuple[Path, ...]:
        return (expanded(self.output).resolve(),) if self.output else ()


# None: the operator. The value belongs to a thread, so a local call beside a remote one stays local.
_rights: ContextVar[_Rights | None] = ContextVar("fleet_sim_rights", default=None)
# Where a trial writes; None: no trial.
_trial: ContextVar[Path | None] = ContextVar("fleet_sim_trial", default=None)
# Where what came from outside writes in a run that is repeated, or gone on with: it was written when it came.
_repeated: ContextVar[Path | None] = ContextVar("fleet_sim_repeated", default=None)
# Folders that were made for what is being done, and are gone with it.
_scratch: ContextVar[tuple[Path, ...]] = ContextVar("fleet_sim_scratch", default=())


def remote_input(
    folders: Iterable[str | Path] | Callable[[], Iterable[str | Path]] = (),
    *,
    output: str | Path = "",
    promised: set[Path] | None = None,
) -> AbstractContextManager[None]:
    """Treat what is read inside as input from outside: it may read below `folders`, and write new files in `output`.

    In `promised` are the files that what is there will write: a trial may not, and what takes its place adds its own.
    """
    chosen = folders if callable(folders) else lambda: folders
    return during(_rights, _Rights(chosen, output, set() if promised is None else promised))


def operator_input() -> AbstractContextManager[None]:
    """Inside, what is done is the operator's own again, such as the end of what he began."""
    return during(_rights, None)


@contextmanager
def discarding() -> Iterator[None]:
    """Let what is written inside go to a folder that is thrown away: nothing is created or replaced."""
    with scratch_folder("fleet_sim-trial-") as folder, during(_trial, folder):
        yield


def repeating() -> AbstractContextManager[None]:
    """Inside, what came from outside writes as it did, but to a folder that is gone with the program."""
    folder = Path(tempfile.mkdtemp(prefix="fleet_sim-repeated-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return during(_repeated, folder)


def output_path(path: Path) -> Path:
    """Return where to write a file that a scenario names: `path`, or another place where a run is repeated."""
    rights, folder = _rights.get(), _repeated.get()
    if rights is None or folder is None or not _is_below(path, rights.outputs):
        # What was refused then is refused again.
        return path
    return folder / f"{hash(path) & sys.maxsize:x}{path.suffix}"


@contextmanager
def scratch_folder(prefix: str = "fleet_sim-") -> Iterator[Path]:
    """Yield a folder that is removed at the end, or by a later call; whoever asks may read and write in it."""
    for left in Path(tempfile.gettempdir()).glob(f"{glob.escape(prefix)}*-*"):
        owner = left.name.removeprefix(prefix).partition("-")[0]
        if owner.isdecimal() and _is_left(left, int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}{os.getpid()}-") as name:
        folder = Path(name).resolve()
        with during(_scratch, (*_scratch.get(), folder)):
            yield folder


def scratch_file() -> IO[bytes]:
    """Return an open file without a name."""
    return tempfile.TemporaryFile()


def is_remote() -> bool:
    """Return whether input from outside is being read."""
    return _rights.get() is not None


def may_read(path: str | Path) -> bool:
    """Return whether the operator asks, or `path`, links resolved, is in a folder that may be read from outside."""
    rights = _rights.get()
    return rights is None or _is_below(path, rights.reads + _scratch.get())


def _is_below(path: str | Path, folders: tuple[Path, ...]) -> bool:
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        # What cannot be resolved, such as a loop of links, is in no folder.
        return False
    return any(real.is_relative_to(folder) for folder in folders)


def check_file(path: str | Path, what: str) -> None:
    """Raise InvalidValueError where `path` may not be read: for a better answer than that it is not there."""
    if not may_read(path):
        raise InvalidValueError(
            f"{what}: {str(path)[:80]!r} is not in a folder of models; messages may give the name of a known model, or "
            "a file below model_paths, an added search path or the folders of installed models"
        )


# Looking.


def is_file(path: str | Path) -> bool:
    """Return whether there is such a file; a name that none can have, too long or with a zero in it, is no error."""
    return may_read(path) and os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Return whether there is such a folder, in the same way."""
    return may_read(path) and os.path.isdir(path)


def exists(path: str | Path) -> bool:
    """Return whether there is anything of that name, in the same way."""
    return may_read(path) and os.path.exists(path)


def status(path: str | Path) -> os.stat_result:
    """Return the size, the times and the kind of a file; raises OSError."""
    return os.stat(to_read(path))


def listed(folder: str | Path, pattern: str = "*") -> list[Path]:
    """Return what matches `pattern` in a folder, sorted; nothing for a folder that is not there."""
    return [path for path in sorted(Path(folder).glob(pattern)) if may_read(path)] if is_folder(folder) else []


def names_in(folder: str | Path, *suffixes: str) -> list[str]:
    """Return the names in a folder, of `suffixes` where there are any, for hints: to outside none are told."""
    known = [] if is_remote() else listed(folder)
    return [path.name for path in known if path.suffix.lower() in suffixes or not suffixes]


def walked(folder: str | Path) -> Iterator[Path]:
    """Yield the files in a folder and in those below it."""
    for place, _, names in os.walk(to_read(folder)) if is_folder(folder) else ():
        yield from (Path(place, name) for name in names)


# Reading.


def to_read(path: str | Path) -> Path:
    """Return the path of a file for a library that opens it for itself; raises FileNotFoundError."""
    if not may_read(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return Path(path).resolve() if is_remote() else Path(path)


def opened(path: str | Path, mode: str = "r", *, newline: str | None = None) -> Any:
    """Return a file that is open, for text in UTF-8 unless `mode` has a b; raises OSError."""
    file = to_read(path) if mode in ("r", "rb") else to_write(path)
    return open(file, mode, encoding=None if "b" in mode else "utf-8", newline=newline)


def read_bytes(path: str | Path, most: int | None = None) -> bytes:
    """Return the content of a file; raises OSError, and InvalidValueError for no regular file of at most `most` bytes.

    Without `most` a pipe or a device is read to its end.
    """
    _check_size(path, most)
    with opened(path, "rb") as stream:
        content: bytes = stream.read()
    return content


def read_text(path: str | Path, most: int | None = None) -> str:
    """Return the text of a file in UTF-8; raises as `read_bytes`, and UnicodeDecodeError."""
    _check_size(path, most)
    with opened(path) as stream:
        text: str = stream.read()
    return text


def _check_size(path: str | Path, most: int | None) -> None:
    if most is None:
        return
    found = status(path)
    # Reading a pipe or a device may never end.
    if not stat.S_ISREG(found.st_mode):
        raise InvalidValueError("cannot be read: it is a folder or a device, not a file")
    if found.st_size > most:
        raise InvalidValueError(f"has {found.st_size} bytes, at most {most} are read")


# Writing.


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
    return to_write(file.with_name(f".{file.stem}.{os.getpid()}.part{file.suffix}"))


def part_beside(path: str | Path) -> Path:
    """Return the file that is written while a run lasts, until it is whole: seen beside `path`, under its own name."""
    return to_write(f"{_behind_links(path)}.part")


def put_in_place(part: Path, path: str | Path) -> None:
    """Give the whole file `part` the name `path`. Where that is a link, the link stays, and leads to it.

    Raises InvalidValueError where `path` is something else than a file, such as a device, which would be gone.
    """
    _refuse_other_than_files(path)
    if to_write(path) == Path(path):
        with refusals(path):
            os.replace(part, _behind_links(path))


def _behind_links(path: str | Path) -> Path:
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def _refuse_other_than_names(path: str | Path) -> None:
    if not _is_name(path) or not Path(path).name:
        raise InvalidValueError(f"{named(path)!r}: cannot be written: no file has such a name")


def to_write(path: str | Path) -> Path:
    """Return where to write what is for `path`; raises InvalidValueError where that is not allowed."""
    rights, thrown_away, file = _rights.get(), _trial.get(), Path(path)
    if _scratch.get() and _is_below(file, _scratch.get()):
        return file
    repeated = _repeated.get()
    if rights is not None and not _is_below(file, (*rights.outputs, *(() if repeated is None else (repeated,)))):
        raise _not_for_messages(path)
    # Elsewhere by a name of its own: files of one name may be for two folders.
    return file if thrown_away is None else thrown_away / f"{hash(file) & sys.maxsize:x}{file.suffix}"


def make_folder(path: str | Path) -> None:
    """Make a folder and those above it, unless it is there; raises OSError, InvalidValueError where not allowed."""
    to_write(path).mkdir(parents=True, exist_ok=True)


def program_named(name: str, *, also: str = "") -> str | None:
    """Return the path of the program that a shell would start, or one in the folders `also`; None for none."""
    return shutil.which(name) or shutil.which(name, path=also)


def _not_for_messages(path: str | Path) -> InvalidValueError:
    return InvalidValueError(
        f"{named(path)}: cannot be written: messages may write new files below the folder that the operator named for"
        " output, and nothing else"
    )


def _refuse_other_than_files(path: str | Path) -> None:
    if is_remote():
        to_write(path)
        if os.path.lexists(path):
            raise _not_for_messages(path)
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
def writing(path: str | Path, mode: str = "w", *, newline: str | None = None) -> Iterator[Any]:
    """Yield an open file whose content takes the place of `path` at the end, as `replacing` does."""
    with replacing(path) as part, opened(part, mode, newline=newline) as stream:
        yield stream


def write_file(path: str | Path, content: str | bytes) -> None:
    """Put a file with `content` in the place of `path`, as `replacing` does."""
    with writing(path, "w" if isinstance(content, str) else "wb") as stream:
        stream.write(content)


def write_png(path: str | Path, rgb: Bytes) -> None:
    """Write `rgb` (H, W, 3) uint8 as a PNG file; raises InvalidValueError for another shape or type, and
    where it cannot be written; then the file stays as it was.
    """
    write_file(path, png_bytes(rgb))


PICTURES = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TGA", "TIFF", "WEBP")
"""Formats of pictures that are read. Others of Pillow's start programs, as Ghostscript for EPS."""


@contextmanager
def picture(source: Path | IO[bytes], most: int) -> Iterator[Any]:
    """Yield the picture in a file, of Pillow's type, before its pixels are read.

    Raises MissingDependencyError without Pillow, and InvalidValueError for more than `most` pixels and where inside
    the pixels cannot be read.
    """
    with of_extra("PIL", "camera", "reading pictures"):
        from PIL import Image
    try:
        with Image.open(source, formats=PICTURES) as found:
            if found.width * found.height > most:
                raise InvalidValueError(f"{found.width} x {found.height} pixels are too many; at most {most} are read")
            yield found
    except FleetSimError:
        raise
    # Pillow refuses pictures of more than 179 million pixels by itself.
    except (Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise InvalidValueError(f"the image cannot be read: {error}") from error


def remove(path: str | Path) -> None:
    """Remove a file, if it is there; raises OSError."""
    to_write(path).unlink(missing_ok=True)


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
def held(path: str | Path) -> Iterator[None]:
    """Keep a file to one process at a time; raises StateError where another one has it."""
    with opened(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StateError(f"another process has {named(path)}") from error
        yield


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
    rights = _rights.get()
    if rights is not None:
        _refuse_other_than_files(path)
        if _trial.get() is None:
            rights.promised.add(Path(path))
        elif Path(path) in rights.promised:
            raise _not_for_messages(path)
    if not os.path.isdir(path):
        _refuse_other_than_names(path)
    if not os.path.isdir(parent := Path(path).parent):
        raise InvalidValueError(f"{named(path)}: cannot be written: there is no folder {named(parent)!r}")
    _refuse_other_than_files(path)
    part = part_of(path)
    # Uninterrupted, or a signal between the two would leave the file.
    with uninterrupted(), refusals(path):
        _remove_left(part)
        # Rights alone do not tell: the whole file system may be read-only.
        part.touch()
        part.unlink()
        if not os.access(parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


LEFT = 3600.0
"""In s: what is written has been changed since. A process of another machine, or container, is not seen from here."""


def _remove_left(part: Path) -> None:
    """Remove what killed processes have left of the file whose `part` this is."""
    before, _, after = part.name.rpartition(f"{os.getpid()}.part")
    for other in part.parent.glob(f"{glob.escape(before)}*.part{glob.escape(after)}"):
        number = other.name.removeprefix(before).removesuffix(f".part{after}")
        if number.isdecimal() and _is_left(other, int(number)):
            other.unlink()


def _is_left(path: Path, owner: int) -> bool:
    """Return whether something belongs to a process that was killed."""
    with suppress(FileNotFoundError):
        return not _is_running(owner) and time.time() - path.stat().st_mtime > LEFT
    return False


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        # It is somebody else's.
        return True
    return True


TABLES = "writing tables in Parquet"
"""What Parquet is needed for."""


def check_table(path: str | Path) -> None:
    """Raise InvalidValueError for another ending than .csv and .parquet, MissingDependencyError without pyarrow."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InvalidValueError(f"{str(path)!r} is no table: the ending must be .csv or .parquet")
    if suffix == ".parquet":
        load_parquet(TABLES)


def load_parquet(purpose: str) -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet; raises MissingDependencyError, which says what `purpose` needs."""
    with of_extra("pyarrow", "parquet", purpose):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


class TableFile:
    """A table that is written some lines at a time, as Parquet where `path` ends so, else as CSV.

    `columns` are the types of what is in it by name: int, float or str. What is None is null in Parquet, and empty in
    CSV, which has 1 and 0 for True and False. `about` is in the metadata of Parquet.
    """

    def __init__(self, path: str | Path, columns: Mapping[str, type], about: str = "") -> None:
        self._columns = dict(columns)
        self._is_csv = Path(path).suffix.lower() != ".parquet"
        if self._is_csv:
            self._file = opened(path, "w", newline="")
            _write_lines(self._file, [columns])
            return
        self._arrow, parquet = load_parquet(TABLES)
        kinds = {int: self._arrow.int64(), float: self._arrow.float64(), str: self._arrow.string()}
        fields = [(name, kinds[kind]) for name, kind in columns.items()]
        self._schema = self._arrow.schema(fields, metadata={"fleet_sim": about} if about else None)
        self._file = parquet.ParquetWriter(to_write(path), self._schema)

    def write(self, lines: Sequence[Sequence[Any]]) -> None:
        """Write lines, each with a value for each of the columns."""
        if self._is_csv:
            _write_lines(self._file, ([int(one) if isinstance(one, bool) else one for one in line] for line in lines))
            return
        content = {
            name: [None if line[at] is None else kind(line[at]) for line in lines]
            for at, (name, kind) in enumerate(self._columns.items())
        }
        self._file.write_table(self._arrow.table(content, schema=self._schema))

    def close(self) -> None:
        """Write what is still to be written, and close the file."""
        self._file.close()


def write_table(path: str | Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of one length, as Parquet where `path` ends so, else as CSV: whole, or not at all."""
    if Path(path).suffix.lower() == ".parquet":
        pyarrow, parquet = load_parquet(TABLES)
        with writing(path, "wb") as file:
            parquet.write_table(pyarrow.table(dict(columns)), file)
        return
    with writing(path, newline="") as file:
        _write_lines(file, [columns, *zip(*columns.values(), strict=True)])


def _write_lines(file: Any, lines: Iterable[Iterable[Any]]) -> None:
    """Write lines of CSV. What a spreadsheet would compute, such as a name that others gave, gets an apostrophe."""
    csv.writer(file).writerows(
        [f"'{cell}" if isinstance(cell, str) and _is_formula(cell) else cell for cell in line] for line in lines
    )


def text_of_cell(cell: str) -> str:
    """Return the text that was written as a cell of CSV."""
    return cell[1:] if cell[:1] == "'" and _is_formula(cell[1:]) else cell


def _is_formula(text: str) -> bool:
    # With apostrophes before it, too, or one would be taken from a text that had one.
    text = text.lstrip("'")
    return len(text) > 1 and text[0] in "=+-@\t\r"


_SEAL = ', "crc": '


def sealed(text: str) -> str:
    """Return a mapping in JSON with a sum over it at the end, so that a line that was changed is found out."""
    return f"{text[:-1]}{_SEAL}{crc32(text.encode())}}}"


def is_sealed(line: str) -> bool:
    """Return whether a line is as `sealed` made it."""
    rest, _, _ = line.rpartition(_SEAL)
    return line.rstrip("\n") == sealed(f"{rest}}}")


# Finds config/ and urdf/: in a checkout, in share/fleet_sim of a wheel, or in an ament prefix; names files by URIs.


_PACKAGE = Path(__file__).resolve().parents[1]


def cache_folder(name: str) -> Path:
    """Return the folder `name` of what the package generates: in XDG_CACHE_HOME, else in the user's .cache.

    It is created if needed; whoever deletes it loses time only. Without a home that can be written to, as in some
    containers, it is a folder for temporary files, one for each process.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleet_sim" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = _temporary_folder(name)
    return folder


def keep_cached(path: Path, content: Callable[[], bytes]) -> None:
    """Write a file of a `cache_folder`, or in a folder in it, unless it is there; raises OSError.

    Whoever asks: no name in there comes from outside.
    """
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        # Other processes may write the same file: renaming is atomic, so they see it complete or not at all.
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            part = Path(folder, "part")
            part.write_bytes(content())
            os.replace(part, path)


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
    # A wheel has them in the package, too.
    roots += [prefix / "share" / "fleet_sim" for prefix in (*prefixes, _PACKAGE)]
    return list(dict.fromkeys(roots))


def data_file(kind: str, name: str) -> Path:
    """Return the shipped file `name` of the `kind` "config" or "urdf"; raises ConfigError with the folders searched."""
    folders = [root / kind for root in data_roots()]
    for folder in folders:
        if is_file(folder / name):
            return folder / name
    known = [file for folder in folders for file in names_in(folder)]
    searched = ", ".join(str(folder) for folder in folders)
    raise ConfigError(f"no file {name!r} in {kind}/.{did_you_mean(name, known)} Searched: {searched}")


def resolve_config(path: str | Path, *, source: str = "", folder: str = "") -> Path:
    """Return `path`, or the shipped configuration of that name if there is no such file; `folder` has those to suggest.

    The name of a shipped one may have its folder, as in sites/office.yaml. A plain name that is neither raises
    ConfigError with the closest names, also of files beside `source`, which names `path`; another path is returned
    unchanged.
    """
    given = as_path(path)
    if exists(given) or given.is_absolute():
        return given
    if given.parent != Path("."):
        shipped = [root / "config" / given for root in data_roots()]
        found = next((file for file in shipped if is_file(file)), given)
        if found != given or is_folder(given.parent) or ".." in given.parts:
            return found
        ours = {file.stem: str(given.parent / file.name) for near in shipped for file in listed(near.parent, "*.y*ml")}
        if not ours:
            return given
        known = ours
    else:
        places = [root / "config" / kind for root in data_roots() for kind in ("", "swarm")]
        for place in places:
            if is_file(place / given):
                return place / given
        beside_it = [Path(source).parent] if source else []
        if folder:
            places = [root / "config" / folder for root in data_roots()]
        ours = {file.stem: str(Path(folder) / file.name) for place in places for file in listed(place, "*.y*ml")}
        known = {file.stem: file.name for place in (Path("."), *beside_it) for file in listed(place, "*.y*ml")} | ours
    # Without the endings: all of them are alike.
    close = closest(given.stem, known)
    hint = f" Did you mean {known[close]!r}?" if close else known_names(ours.values())
    raise ConfigError(f"there is no such file here and no shipped one of that name.{hint}", source=str(path))


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
        content = read_bytes(folder / "package.xml")
    except OSError:
        return ""
    name = re.search(rb"<name>\s*([^<\s]+)\s*</name>", content)
    return name[1].decode(errors="replace") if name else ""


def shared_uri(file: str | Path) -> str:
    """Return the URI of a file for other programs: package:// if a package of the ROS installation has it, or file://.

    The first is valid on every machine where that package is installed. A package may be installed by links to its
    sources, as colcon does with --symlink-install.
    """
    # It is kept, so it must not depend on who asks first.
    with operator_input():
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
