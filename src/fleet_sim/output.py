"""Names of files, checked, and files that are written whole or not at all."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fleet_sim.errors import InvalidValueError, brief, missing_extra

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
