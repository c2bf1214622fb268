"""Files that other processes name: below one folder that the operator has named, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from fleet_sim.errors import InvalidValueError, StateError, brief

LONGEST_NAME = 200
MOST_FILES = 100
"""Files of one kind in a folder that other processes may write to."""


class OperatorFolder:
    """A folder for files that end in `suffix`; "" for none, then every name is refused with `advice`."""

    def __init__(self, folder: str, suffix: str, advice: str) -> None:
        """Raises InvalidValueError where there is no such folder."""
        if folder and not _is_folder(folder):
            raise InvalidValueError(f"there is no folder {brief(folder)}")
        self._folder = Path(folder).expanduser().resolve() if folder else None
        self._suffix = suffix
        self._advice = advice

    def file_to_read(self, name: str) -> Path:
        """Return the file called `name`; raises StateError without a folder, InvalidValueError for anything else."""
        file = self._below(name)
        # Nothing else is opened: reading a pipe would wait for ever.
        if not file.is_file():
            raise InvalidValueError(f"there is no file {brief(name)}")
        return file

    def file_to_write(self, name: str) -> Path:
        """Return where to write a file called `name`, new or in place of an older one; raises as `file_to_read`."""
        file = self._below(name)
        if file.exists() and not file.is_file():
            raise InvalidValueError(f"{brief(name)} is not a file")
        if not file.parent.is_dir():
            raise InvalidValueError(f"the folder of {brief(name)} does not exist")
        if not file.exists() and sum(1 for _ in file.parent.glob(f"*{self._suffix}")) >= MOST_FILES:
            raise InvalidValueError(f"{MOST_FILES} files are there already; replace one of them")
        return file

    def _below(self, name: str) -> Path:
        """Return the file `name` below the folder, links resolved.

        Raises StateError where no folder was given, and InvalidValueError for any name that leads out of it.
        """
        if self._folder is None:
            raise StateError(self._advice)
        expected = f"a name below the folder that ends in {self._suffix}, such as noon{self._suffix}"
        if not (isinstance(name, str) and len(name) <= LONGEST_NAME and name.isprintable()):
            raise InvalidValueError(f"file: expected {expected}, got {brief(name)}")
        if not name.endswith(self._suffix) or name == self._suffix or Path(name).is_absolute():
            raise InvalidValueError(f"file: expected {expected}, got {brief(name)}")
        try:
            # Links resolved: one in the folder may lead out of it.
            file = (self._folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidValueError(f"file: {brief(name)} leads nowhere") from error
        if ".." in Path(name).parts or not file.is_relative_to(self._folder) or not file.name.endswith(self._suffix):
            raise InvalidValueError(f"file: {brief(name)} leads out of the folder; expected {expected}")
        return file


def _is_folder(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):
        # Names that none can have: too long, or of a user whom nobody knows.
        return False
