"""A state file: a line that says what it is, a checksum over all that follows, and a zip of JSON and arrays.

    fleet_sim state 1
    <SHA-256 of the rest> <its length in bytes>
    <zip archive: state.json, 0.npy, 1.npy, ...>

Tools that open zip archives open it as it is.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.arrays import AnyArray
from fleet_sim.core.saving.values import ARRAYS
from fleet_sim.errors import StateFileError, brief
from fleet_sim.output import as_path, replacing

MAGIC = b"fleet_sim state "
VERSION = 1
LARGEST = 4 << 30
"""Bytes of a file, and of what is in it."""
CONTENT = "state.json"

_LONGEST_LINE = 200
# The same state gives the same file.
_DATE = (1980, 1, 1, 0, 0, 0)


def write_archive(path: str | Path, content: dict[str, Any], arrays: Sequence[AnyArray]) -> None:
    """Write a state file, whole or not at all; raises InvalidValueError for what the system refuses."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    body = io.BytesIO()
    # Fast rather than small: the columns of a large world are many megabytes, and a run waits for them.
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_entry(CONTENT), text)
        for number, array in enumerate(arrays):
            with archive.open(_entry(f"{number}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    data = body.getbuffer()
    with replacing(as_path(path)) as part, part.open("wb") as file:
        file.write(MAGIC + f"{VERSION}\n{hashlib.sha256(data).hexdigest()} {len(data)}\n".encode())
        file.write(data)


def read_archive(path: str | Path) -> tuple[dict[str, Any], list[AnyArray]]:
    """Return content and arrays of a state file; raises StateFileError for any other, a damaged and a cut off one."""
    try:
        with as_path(path).open("rb") as file:
            first, second = file.readline(_LONGEST_LINE), file.readline(_LONGEST_LINE)
            _check_first(first)
            digest, length = _second(second)
            # One byte more than there should be, to notice what was added.
            data = file.read(length + 1)
    except OSError as error:
        raise StateFileError(f"cannot be read: {error.strerror or error}") from error
    if len(data) < length:
        raise StateFileError(f"it is cut off: {len(data)} of {length} bytes are there")
    if len(data) > length or hashlib.sha256(data).hexdigest() != digest:
        raise StateFileError("it is damaged or was changed: its checksum is that of another content")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _unpacked(archive)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        ValueError,
        RecursionError,
        NotImplementedError,
    ) as error:
        raise StateFileError(f"its content is not as it was written: {error}") from error


def _check_first(line: bytes) -> None:
    if not line.startswith(MAGIC):
        raise StateFileError("it is not a state file: those begin with 'fleet_sim state'")
    version = line[len(MAGIC) :].strip()
    if version != str(VERSION).encode():
        shown = version.decode("ascii", "replace")
        raise StateFileError(f"its format is version {brief(shown)}, and this fleet_sim reads version {VERSION}")


def _second(line: bytes) -> tuple[str, int]:
    digest, _, length = line.decode("ascii", "replace").strip().partition(" ")
    if len(digest) != 64 or not length.isdecimal() or not line.endswith(b"\n"):
        raise StateFileError("it is cut off or damaged: its second line has no checksum")
    if int(length) > LARGEST:
        raise StateFileError(f"it says that it has {length} bytes; at most {LARGEST} are read")
    return digest, int(length)


def _unpacked(archive: zipfile.ZipFile) -> tuple[dict[str, Any], list[AnyArray]]:
    """Return the content of a state file and its arrays; raises StateFileError for more than LARGEST bytes."""
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    if total > LARGEST:
        raise StateFileError(f"its content has {total} bytes; at most {LARGEST} are read")
    content = json.loads(_bytes(archive, CONTENT))
    if not isinstance(content, dict):
        raise StateFileError(f"{CONTENT}: expected a mapping")
    return content, [_array(_bytes(archive, f"{number}.npy")) for number in range(len(entries) - 1)]


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    entry = archive.getinfo(name)
    with archive.open(entry) as file:
        # No more than it says: what is packed may be longer.
        return file.read(entry.file_size)


def _array(data: bytes) -> AnyArray:
    """Return an array from the bytes of a .npy file, read-only.

    Raises StateFileError for objects, and for a header that claims another size than there is.
    """
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    # Compared before anything is allocated: a header may claim any size.
    if dtype.kind not in ARRAYS or dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise StateFileError(f"an array of {brief(shape)} {brief(dtype)} is not what was written")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
