"""The user's folders in which models are searched by name, before all others."""

from __future__ import annotations

from pathlib import Path

from fleet_sim.errors import InvalidValueError, did_you_mean
from fleet_sim.paths import expanded, is_folder

_folders: list[Path] = []


def add_search_path(directory: str | Path) -> None:
    """Add `directory` to the folders searched for models by name, after those added before it.

    Adding a folder twice has no effect. Raises InvalidValueError if there is no such folder.
    """
    folder = checked_folder(directory)
    if folder not in _folders:
        _folders.append(folder)


def remove_search_path(directory: str | Path) -> None:
    """Remove `directory` from the folders searched; a folder that was never added is ignored."""
    folder = expanded(directory).resolve()
    if folder in _folders:
        _folders.remove(folder)


def get_search_paths() -> list[str]:
    """Return a copy of the added folders, in search order."""
    return [str(folder) for folder in _folders]


def checked_folder(directory: str | Path, what: str = "search path") -> Path:
    """Return the absolute path of a folder; raises InvalidValueError naming `what` and the closest folder names."""
    folder = expanded(directory).resolve()
    if not is_folder(folder):
        beside = folder.parent.iterdir() if is_folder(folder.parent) else ()
        near = [entry.name for entry in beside if is_folder(entry)]
        raise InvalidValueError(f"{what}: there is no folder {str(folder)!r}.{did_you_mean(folder.name, near)}")
    return folder
