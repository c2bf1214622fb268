"""The boxes around mesh files, read without anything that draws or simulates them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.errors import InvalidValueError

_STL_HEADER = 84
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_UPRIGHT = {
    "X_UP": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "Y_UP": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    "Z_UP": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


def mesh_extents(path: str) -> tuple[Floats, Floats]:
    """Return the lowest and highest corner, (3,) and (3,), of the box around the mesh file `path`, in its own frame.

    The file is .obj, .stl or .dae. Raises InvalidValueError for one that is missing or broken.
    """
    try:
        status = Path(path).stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    lower, upper = _extents(path, status.st_mtime_ns, status.st_size)
    return lower.copy(), upper.copy()


def mesh_vertices(path: str) -> Floats:
    """Return the vertices (V, 3) of the mesh file `path` in its own frame, in the order of the file.

    Raises InvalidValueError as `mesh_extents` does.
    """
    readers = {".obj": _obj_vertices, ".stl": _stl_vertices, ".dae": _dae_vertices}
    reader = readers.get(Path(path).suffix.lower())
    try:
        if reader is None:
            raise ValueError(f"use one of {', '.join(readers)}")
        vertices = reader(Path(path).read_bytes())
        if not len(vertices):
            raise ValueError("it has no vertices")
        if not np.isfinite(vertices).all():
            raise ValueError("it has coordinates that are no finite numbers")
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, IndexError, KeyError, ElementTree.ParseError) as error:
        raise InvalidValueError(f"mesh {path!r} is no readable {Path(path).suffix} file: {error}") from error
    return vertices


def _unreadable(path: str, error: OSError) -> InvalidValueError:
    return InvalidValueError(f"mesh {path!r} cannot be read: {error.strerror or error}")


@lru_cache(maxsize=1024)
def _extents(path: str, _changed: int, _size: int) -> tuple[Floats, Floats]:
    vertices = mesh_vertices(path)
    return vertices.min(axis=0), vertices.max(axis=0)


def _obj_vertices(data: bytes) -> Floats:
    lines = re.findall(rb"^[ \t]*v[ \t]+([^\r\n]+)", data, re.MULTILINE)
    return np.array([line.split()[:3] for line in lines], np.float64).reshape(-1, 3)


def _stl_vertices(data: bytes) -> Floats:
    count = int.from_bytes(data[_STL_HEADER - 4 : _STL_HEADER], "little")
    if len(data) != _STL_HEADER + count * _STL_TRIANGLE.itemsize and data.lstrip().startswith(b"solid"):
        corners = re.findall(rb"vertex[ \t]+([^\r\n]+)", data)
        return np.array([corner.split()[:3] for corner in corners], np.float64).reshape(-1, 3)
    triangles = np.frombuffer(data, _STL_TRIANGLE, count, _STL_HEADER)
    return triangles["corners"].reshape(-1, 3).astype(np.float64)


def _dae_vertices(data: bytes) -> Floats:
    root = ElementTree.fromstring(data)
    # Names carry the file's namespace.
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    unit = root.find("asset/unit")
    scale = float(unit.get("meter", "1")) if unit is not None else 1.0
    upright = np.array(_UPRIGHT[(root.findtext("asset/up_axis") or "Y_UP").strip()], float)
    geometries = {f"#{geometry.get('id')}": _positions(geometry) for geometry in root.iter("geometry")}
    placed = [
        _homogeneous(points, matrix)
        for node in root.iterfind("library_visual_scenes/visual_scene/node")
        for points, matrix in _instances(node, np.eye(4), geometries)
    ]
    vertices = np.concatenate(placed or [*geometries.values(), np.empty((0, 3))])
    return np.asarray(scale * np.einsum("ij,nj->ni", upright, vertices))


def _positions(geometry: ElementTree.Element) -> Floats:
    """Return the vertices (V, 3) of a geometry of a .dae file."""
    parts = [np.empty((0, 3))]
    for entry in geometry.iterfind("mesh/vertices/input"):
        if entry.get("semantic") != "POSITION":
            continue
        source = next(s for s in geometry.iterfind("mesh/source") if f"#{s.get('id')}" == entry.get("source"))
        numbers = np.array((source.findtext("float_array") or "").split(), np.float64)
        accessor = source.find("technique_common/accessor")
        stride = int(accessor.get("stride", "3")) if accessor is not None else 3
        parts.append(numbers.reshape(-1, stride)[:, :3])
    return np.concatenate(parts)


def _instances(
    node: ElementTree.Element, outer: Floats, geometries: dict[str, Floats]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield (vertices, matrix) of all geometries in a node of a .dae file and in those below it."""
    matrix = outer
    for element in node:
        matrix = np.asarray(matrix @ _transform(element))
    for instance in node.iterfind("instance_geometry"):
        yield geometries[instance.get("url", "")], matrix
    for child in node.iterfind("node"):
        yield from _instances(child, matrix, geometries)


def _transform(element: ElementTree.Element) -> Floats:
    """Return the matrix (4, 4) of an element of a node."""
    matrix = np.eye(4)
    if element.tag not in ("matrix", "translate", "scale", "rotate"):
        return matrix
    numbers = np.array((element.text or "").split(), np.float64)
    if element.tag == "matrix":
        return numbers.reshape(4, 4)
    if element.tag == "translate":
        matrix[:3, 3] = numbers
    elif element.tag == "scale":
        matrix[[0, 1, 2], [0, 1, 2]] = numbers
    else:
        x, y, z = numbers[:3] / np.linalg.norm(numbers[:3])
        cosine, sine = np.cos(np.radians(numbers[3])), np.sin(np.radians(numbers[3]))
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        matrix[:3, :3] += sine * cross + (1.0 - cosine) * cross @ cross
    return matrix


def _homogeneous(points: Floats, matrix: Floats) -> Floats:
    return np.asarray(points @ matrix[:3, :3].T + matrix[:3, 3])
