"""Files that descriptions refer to or that are made of them: meshes, height fields, expanded xacro files.

They are stored in a cache folder; their names contain a hash of their content, so equal contents share a file and no
file is out of date.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Hashable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, of_extra
from fleet_sim.base.files import cache_folder, is_file, keep_cached, picture, refusals, status, to_read
from fleet_sim.base.limits import LARGEST_SIZE
from fleet_sim.base.request_budget import Work, is_from_outside
from fleet_sim.base.spatial.triangles import grid_triangles
from fleet_sim.models import xacro_program
from fleet_sim.models.markup import MAX_BYTES, quoted, read_bytes
from fleet_sim.models.meshes.loading import seen_by_pybullet

XACRO_SUFFIX = ".xacro"
XACRO_TIME = 20.0
"""For the expansion of a file, in s."""
XACRO_MEMORY = 2 << 30
"""For the same, in bytes."""
# Not as a module, which would import this package first; without the folder that the program is started in.
_RUN = "import runpy, sys; sys.path.pop(0); runpy.run_path(sys.argv[1], run_name='__main__')"
_FILE = re.compile(r"""(filename\s*=\s*)("[^"]*"|'[^']*')""")
# Some files without the xacro suffix are xacro too; other xacro elements are leftovers of an expansion.
_XACRO = re.compile(rb"<xacro:(arg|property|macro|include)\b")


PathLike = TypeVar("PathLike", str, Path)

FILES = Work("bytes of files made of shapes and descriptions", 20e6, 1e9)
"""They stay when their entities are gone."""
_from_outside = 0.0
"""Bytes of those that requests from outside have brought to this process."""


def keep(content: bytes, name: str) -> Path:
    """Return a file with `content`; its name is `name` with a hash of the content before the suffix.

    Raises InvalidValueError where it cannot be written; then nothing is left of it.
    """
    global _from_outside
    stem, suffix = os.path.splitext(name)
    path = cache_folder("models") / f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
    if is_from_outside():
        FILES.charge(len(content), _from_outside)
        _from_outside += len(content)
    with refusals(path):
        keep_cached(path, lambda: content)
    return path


def kept(make: _lru_cache_wrapper[PathLike], *given: Hashable) -> PathLike:
    """Return the file that `make`, a cached function, makes; anew where it is gone, as the cache folder was emptied."""
    found = make(*given)
    if not is_file(found):
        make.cache_clear()
        found = make(*given)
    return found


def is_xacro(path: Path) -> bool:
    """Return whether a file is xacro by its ending, in small or in capital letters."""
    return path.suffix.lower() == XACRO_SUFFIX


def content_of(path: Path) -> bytes:
    """Return the XML of a description file, expanded if it is xacro by its suffix or its content.

    Raises InvalidValueError for a file that cannot be read, and as `expand_xacro` does.
    """
    content = read_bytes(path)
    return expand_xacro(path) if is_xacro(path) or _XACRO.search(content) else content


def expand_xacro(path: Path, arguments: str = "") -> bytes:
    """Return the URDF that the xacro file `path` expands to with `arguments` "name:=value name:=value".

    It is expanded in another process, as its expressions may need any time and memory. Raises MissingDependencyError
    without xacro, InvalidValueError with xacro's message for an invalid file, or one that exceeds the limits.
    """
    with of_extra("xacro", "xacro", f"The file {str(path)!r}"):
        importlib.import_module("xacro")
    mappings = dict(argument.split(":=", 1) for argument in arguments.split())
    request = {"path": str(path), "mappings": mappings, "memory": XACRO_MEMORY, "size": MAX_BYTES}
    # It finds the modules that are found here, as some were put on the path by the program.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, xacro_program.__file__],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            env=environment,
            timeout=XACRO_TIME,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _not_expanded(path, f"it takes longer than {XACRO_TIME:g} s") from error
    outcome, _, content = done.stdout.partition(b"\n")
    if outcome != b"ok":
        raise _not_expanded(path, content.decode(errors="replace") or f"its process ended with {done.returncode}")
    return content


def _not_expanded(path: Path, reason: str) -> InvalidValueError:
    return InvalidValueError(f"{path}: xacro cannot expand it: {reason}")


def expanded_file(path: Path, arguments: str = "") -> Path:
    """Return a URDF file with the expansion of the xacro file `path`; it is expanded again when the file changes."""
    about = status(path)
    return kept(_expanded_file, path, arguments, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _expanded_file(path: Path, arguments: str, _changed: int, _size: int) -> Path:
    name = path.name.removesuffix(XACRO_SUFFIX)
    text = expand_xacro(path, arguments).decode()
    # The copy is in another folder, so file names relative to the original become absolute.
    names = {found[2][1:-1] for found in _FILE.finditer(text) if "://" not in found[2]}
    content = fill_places(text, {name: seen_by_pybullet(path, name) or name for name in names}).encode()
    return keep(content, name if name.endswith(".urdf") else f"{name}.urdf")


def fill_places(text: str, places: Mapping[str, str]) -> str:
    """Return the XML `text` with file names that are keys of `places` replaced by their values."""
    return _FILE.sub(lambda found: found[1] + quoted(places.get(found[2][1:-1], found[2][1:-1])), text)


# Meshes given as arrays: written to a file of the cache once, so that every reader of meshes reads the same.


Vertices = tuple[tuple[float, float, float], ...]
Triangles = tuple[tuple[int, int, int], ...]

MOST_TRIANGLES = 1_000_000
"""Of one mesh, and the most vertices."""


def read_vertices(value: object) -> Vertices | None:
    """Return vertices in m, (V, 3) or flat; raises InvalidValueError."""
    rows = _rows(value, "vertices", np.float64)
    # `not ... <=`, so that NaN is refused too.
    if rows is not None and not np.abs(rows).max() <= LARGEST_SIZE:
        raise InvalidValueError(f"vertices: numbers within {LARGEST_SIZE:g} m, got one that is not")
    return None if rows is None else tuple((x, y, z) for x, y, z in rows.tolist())


def read_triangles(value: object) -> Triangles | None:
    """Return the triangles of a mesh as indices of vertices, (T, 3) or flat; raises InvalidValueError."""
    rows = _rows(value, "indices", np.int64)
    if rows is not None and rows.min() < 0:
        raise InvalidValueError(f"indices: vertices are counted from 0, got {int(rows.min())}")
    return None if rows is None else tuple((a, b, c) for a, b, c in rows.tolist())


def _rows(value: object, what: str, kind: type[np.float64] | type[np.int64]) -> np.ndarray | None:
    """Return triples (N, 3) of numbers, whole ones for np.int64; None for None. Raises InvalidValueError."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        # What is no number becomes another one, and is refused below.
        with np.errstate(invalid="ignore"):
            rows = given.astype(kind).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValueError(f"{what}: a list of triples of numbers, or a flat list of them, got {error}") from error
    if given.dtype.kind not in "iuf" or (kind is np.int64 and (given.reshape(-1, 3) != rows).any()):
        whole = "whole numbers" if kind is np.int64 else "numbers"
        raise InvalidValueError(f"{what}: expected {whole}, got {str(value)[:80]}")
    if not 1 <= len(rows) <= MOST_TRIANGLES:
        raise InvalidValueError(f"{what}: from 1 to {MOST_TRIANGLES} triples, got {len(rows)}")
    return rows


def mesh_file(vertices: Vertices, triangles: Triangles) -> str:
    """Return an OBJ file of a mesh; raises InvalidValueError for an index without a vertex.

    Equal meshes share a file.
    """
    # Vertices that no triangle uses are no fault: they just are not seen.
    highest = max(map(max, triangles))
    if highest >= len(vertices):
        raise InvalidValueError(f"indices: there are {len(vertices)} vertices, so no vertex {highest}")
    # Before it is made: at least so many bytes it has where its numbers are no round ones.
    FILES.check(30 * len(vertices) + 15 * len(triangles))
    return kept(_written, vertices, triangles)


@lru_cache(maxsize=256)
def _written(vertices: Vertices, triangles: Triangles) -> str:
    # 17 digits bring back the same float64.
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}\n" for x, y, z in vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in triangles]
    return str(keep("".join(lines).encode(), "mesh.obj"))


Heights = tuple[tuple[float, ...], ...]

_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")


def read_heights(value: object) -> Heights | None:
    """Return heights in m, at least 2 lines of 2; raises InvalidValueError."""
    if value is None:
        return None
    try:
        heights = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"heights: lines of equally many numbers, got {error}") from error
    _check_grid(heights, "heights")
    # `not ... <=`, so that NaN is refused too.
    if not np.abs(heights).max() <= LARGEST_SIZE:
        raise InvalidValueError(f"heights: numbers within {LARGEST_SIZE:g} m, got one that is not")
    return tuple(map(tuple, heights.tolist()))


def image_heights(path: str, white: float) -> Heights:
    """Return the heights that a grayscale picture shows, the line of least y first: black is 0, white is `white` m.

    Raises MissingDependencyError without Pillow, InvalidValueError for a file that is no picture in grey.
    """
    try:
        with picture(to_read(path), MOST_TRIANGLES) as image:
            mode, pixels = str(image.mode), np.asarray(image, np.float64)
    except (OSError, ValueError) as error:
        raise InvalidValueError(f"height_image: {path!r}: {error}") from error
    # Colors would have to be weighed into heights, and nobody said how.
    if mode != "L" and mode not in _SIXTEEN_BITS:
        raise InvalidValueError(
            f"height_image: {path!r} is not a grayscale picture of 8 or 16 bits, but of mode {mode!r}"
        )
    _check_grid(pixels, "height_image")
    # Pictures begin at the top, which is the largest y of a map seen from above.
    return tuple(map(tuple, (white / (255.0 if mode == "L" else 65535.0) * pixels[::-1]).tolist()))


def _check_grid(heights: Floats, what: str) -> None:
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise InvalidValueError(f"{what}: at least 2 lines of 2 numbers, got an array of shape {heights.shape}")
    triangles = 2 * (heights.shape[0] - 1) * (heights.shape[1] - 1)
    if triangles > MOST_TRIANGLES:
        raise InvalidValueError(f"{what}: {triangles} triangles, {MOST_TRIANGLES} are allowed; take fewer points")


def height_field_file(heights: Floats, spacing: tuple[float, float]) -> str:
    """Return an OBJ file of the surface through `heights` (rows along y, columns along x), in m, at least 2 by 2.

    The middle of the grid is at x = y = 0, neighbours are `spacing` (along x, along y) apart. The triangles are those
    of PyBullet's height fields.
    """
    lines, columns = heights.shape
    x = (np.arange(columns) - 0.5 * (columns - 1)) * spacing[0]
    y = (np.arange(lines) - 0.5 * (lines - 1)) * spacing[1]
    shape = heights.shape
    points = np.stack((np.broadcast_to(x, shape), np.broadcast_to(y[:, None], shape), heights), axis=2).reshape(-1, 3)
    vertices = tuple((a, b, c) for a, b, c in points.tolist())
    return mesh_file(vertices, tuple((a, b, c) for a, b, c in grid_triangles(columns, lines).tolist()))
