"""Which files a block opens, lists, writes and removes, as Python reports it: also those that libraries open.

What a library in C opens for itself (PyBullet, ffmpeg), and questions for existence, Python reports nowhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OWN = (ROOT / "src", ROOT / "config", ROOT / "urdf", ROOT / "test")
SYSTEM = ("/usr", "/lib", "/proc", "/sys", "/dev", "/opt")
"""With the folders of Python: what libraries read for themselves."""
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
LOOKS = {"os.listdir", "os.scandir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class FileAudit:
    """What was touched outside of the folders that may be: paths read or listed, and paths written or removed."""

    may_read: tuple[Path, ...]
    may_write: tuple[Path, ...]
    within: Path
    read: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def note(self, path: object, *, writes: bool) -> None:
        """Note one path, links resolved, unless it is in a folder that may be touched so."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            # An open file by its number was opened before.
            return
        real = Path(os.path.realpath(os.fsdecode(path)))
        folders = self.may_write if writes else self.may_read + self.may_write
        if real.is_relative_to(self.within) and not any(real.is_relative_to(folder) for folder in folders):
            (self.written if writes else self.read).append(str(real))


_active: list[FileAudit] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active or not (event == "open" or event in CHANGES or event in LOOKS):
        return
    # In the list no longer while it looks, or its own look would be noted.
    audits, _active[:] = _active[:], []
    try:
        for audit in audits:
            if event == "open":
                path, mode, flags = arguments
                writes = bool(flags & WRITING) if isinstance(flags, int) else any(c in "wax+" for c in mode or "")
                audit.note(path, writes=writes)
            else:
                for path in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                    audit.note("." if path is None else path, writes=event in CHANGES)
    finally:
        _active[:] = audits


_installed: list[bool] = []


@contextmanager
def file_audit(
    *may_read: str | Path, may_write: tuple[str | Path, ...] = (), within: str | Path = "/"
) -> Iterator[FileAudit]:
    """Yield what all threads touch inside, outside of the folders given, of the package's own and of the system's.

    Paths that are not below `within`, such as a folder of canaries, are left out.
    """
    # A hook cannot be removed again.
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_hook)
    system = (*SYSTEM, sys.prefix, sys.base_prefix, *(entry for entry in sys.path if entry))
    audit = FileAudit(
        tuple(Path(os.path.realpath(folder)) for folder in (*may_read, *OWN, *system)),
        tuple(Path(os.path.realpath(folder)) for folder in may_write),
        Path(os.path.realpath(within)),
    )
    _active.append(audit)
    try:
        yield audit
    finally:
        _active.remove(audit)
