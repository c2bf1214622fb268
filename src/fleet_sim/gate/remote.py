"""Input from other processes: it may name what is known, and read files of known folders, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from fleet_sim.errors import InvalidValueError

# None: the input is the user's own. The value belongs to a thread, so a local call beside a remote one stays local.
_folders: ContextVar[tuple[Path, ...] | None] = ContextVar("fleet_sim_remote_folders", default=None)


@contextmanager
def remote_input(folders: Iterable[str | Path] = ()) -> Iterator[None]:
    """Treat what is read inside as input from another process; it may name files below `folders` only."""
    places = tuple(Path(os.path.expanduser(folder)).resolve() for folder in folders)
    token = _folders.set(places)
    try:
        yield
    finally:
        _folders.reset(token)


@contextmanager
def own_files(*folders: Path) -> Iterator[None]:
    """Inside, input from another process may lead to files below `folders` too: ours, made from what it may name."""
    allowed = _folders.get()
    token = _folders.set(None if allowed is None else (*allowed, *(folder.resolve() for folder in folders)))
    try:
        yield
    finally:
        _folders.reset(token)


def is_remote() -> bool:
    """Return whether input from another process is being read."""
    return _folders.get() is not None


def check_import(path: str, what: str) -> None:
    """Raise InvalidValueError for the dotted `path` of a class where the input is remote: an import runs code."""
    if is_remote():
        raise InvalidValueError(
            f"{what}: {path[:80]!r} is the path of a class, and messages may not import; give a registered name"
        )


def may_read(path: str | Path) -> bool:
    """Return whether the input is the user's own, or `path`, links resolved, is in an allowed folder."""
    folders = _folders.get()
    if folders is None:
        return True
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        # What cannot be resolved, such as a loop of links, is in no folder.
        return False
    return any(real.is_relative_to(folder) for folder in folders)


def check_file(path: str | Path, what: str) -> None:
    """Raise InvalidValueError where the input is remote and `path`, links resolved, is in no allowed folder.

    To be called before anything is looked up: the answer does not tell whether the file exists.
    """
    if not may_read(path):
        raise InvalidValueError(
            f"{what}: {str(path)[:80]!r} is not in a folder of models; messages may give the name of a known model, or "
            "a file below model_paths, an added search path or the folders of installed models"
        )
