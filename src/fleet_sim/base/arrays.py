"""Array types used in signatures of the whole package, checks of given values, and pictures as PNG.

Floats are float64, SI units and radians; quaternions are xyzw; rows are int64 indices into columns.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from fleet_sim.base.errors import InvalidValueError, brief

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.int64]
AnyArray: TypeAlias = npt.NDArray[Any]

NO_ROWS: Rows = np.empty(0, np.int64)
NO_ROWS.flags.writeable = False


def span_of(indices: Ints) -> Ints | slice:
    """Return a slice that selects what `indices` (N,) do, where they follow each other, else `indices`."""
    if not len(indices) or (np.diff(indices) != 1).any():
        return indices
    return slice(int(indices[0]), int(indices[-1]) + 1)


def ranges(begins: Ints, counts: Ints) -> Ints:
    """Return the whole numbers from each of `begins` (K,) on, as many as `counts` (K,) says, range after range."""
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(begins - before, counts)


def as_floats(value: object, shape: tuple[int | None, ...], what: str) -> Floats:
    """Return `value` as a float64 array of `shape` (None matches any length), all finite.

    Raises InvalidValueError naming `what`, what was given and what is allowed.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{what}: expected numbers of shape {shape}, got {brief(value)}") from error
    if array.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(array.shape, shape, strict=True)
    ):
        wanted = "(" + ", ".join("N" if want is None else str(want) for want in shape) + ")"
        raise InvalidValueError(f"{what}: expected numbers of shape {wanted}, got shape {array.shape}: {brief(value)}")
    if not np.isfinite(array).all():
        raise InvalidValueError(f"{what}: every number must be finite, got {brief(value)}")
    return array


def is_finite(value: object) -> TypeGuard[int | float]:
    """Return whether `value` is a finite number, and no integer beyond all floats."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def as_float(value: object, what: str, *, low: float = -np.inf, high: float = np.inf) -> float:
    """Return `value` as a finite float in [low, high]; raises InvalidValueError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidValueError(f"{what}: expected a number, got {brief(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number) or not low <= number <= high:
        raise InvalidValueError(f"{what}: expected a finite number in [{low:g}, {high:g}], got {brief(value)}")
    return number


def as_whole(value: object, what: str, *, low: int = 1) -> int:
    """Return `value` as an int of at least `low`; raises InvalidValueError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise InvalidValueError(f"{what}: expected a whole number of at least {low}, got {brief(value)}")
    return int(value)


def ragged_range(starts: Ints, counts: Ints) -> Ints:
    """Return start, start + 1, ... for each of `starts`, `counts` numbers each, one after the other."""
    total = int(counts.sum())
    before = np.cumsum(counts) - counts
    return np.arange(total) + np.repeat(starts - before, counts)


# Pictures as the content of PNG files.


_SIGNATURE = b"\x89PNG\r\n\x1a\n"


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


ARRAYS = "biuf"
"""Kinds of the arrays that are read from files: numbers and truth values."""


def unpacked(data: bytes, most: int) -> dict[str, bytes]:
    """Return the files of a zip archive by name; raises InvalidValueError for more than `most` bytes, and for others.

    Those that are encrypted or packed by other ways than those of NumPy are refused.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            if total > most:
                raise InvalidValueError(f"its content has {total} bytes; at most {most} are read")
            found = {}
            for entry in entries:
                if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise InvalidValueError(f"{brief(entry.filename)} is encrypted, or packed in an unknown way")
                with archive.open(entry) as file:
                    # No more than it says: what is packed may be longer.
                    found[entry.filename] = file.read(entry.file_size)
            return found
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError) as error:
        raise InvalidValueError(f"it is no archive: {error}") from error


def array_of(data: bytes) -> AnyArray:
    """Return an array from the bytes of a .npy file, read-only.

    Raises InvalidValueError for objects, and for a header that claims another size than there is.
    """
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(file)
        # Compared before anything is allocated: a header may claim any size.
        if dtype.kind not in ARRAYS or dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
            raise InvalidValueError(f"an array of {brief(shape)} {brief(dtype)} is not what was written")
        flat = np.frombuffer(data, dtype, offset=file.tell())
        return flat.reshape(shape, order="F" if by_columns else "C")
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidValueError(f"it is no array: {error}") from error
