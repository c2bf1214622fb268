"""Finds and loads the mesh files that robot descriptions refer to, and computes their bounding boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError, did_you_mean
from fleet_sim.base.files import expanded, folders_in, is_file, names_in, package_name, read_bytes, status
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.triangles import Surface
from fleet_sim.models.markup import Element
from fleet_sim.models.meshes.formats import FORMATS, MeshLimits
from fleet_sim.models.meshes.mesh import Mesh, Part

if TYPE_CHECKING:
    from fleet_sim.world.shapes import Geometry

_LARGEST = float(np.finfo(np.float32).max)
"""Graphics cards compute in float32, which cannot hold larger numbers."""


def load_mesh(path: str) -> Mesh:
    """Return the mesh in a file; each of its parts has triangles, and all their corners are finite points.

    The file is read again at each call. Raises InvalidValueError if it is missing, broken, empty or of unknown format.
    """
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"mesh {path!r}: unknown format; use one of {', '.join(FORMATS)}")
    try:
        # Numbers that overflow are found below, in what came of them.
        with np.errstate(over="ignore", invalid="ignore"):
            mesh = FORMATS[file.suffix.lower()].read(read_bytes(file), file)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise InvalidValueError(f"mesh {path!r} is no readable {file.suffix} file: {error}") from error
    parts = tuple(part for part in mesh.parts if len(part.triangles))
    if not parts:
        raise InvalidValueError(f"mesh {path!r} has no triangles")
    for part in parts:
        _check(part, path)
    return Mesh(parts, mesh.notes)


def version_of(path: str) -> int:
    """Return a number that changes when the file `path` is written again; 0 where there is none.

    Part of the key of whatever is cached from a mesh, so that a changed file is read again.
    """
    try:
        return status(path).st_mtime_ns
    except (OSError, ValueError):
        return 0


def mesh_extents(path: str) -> tuple[Floats, Floats]:
    """Return the lowest and highest corner, (3,) and (3,), of the box around the mesh file `path`, in its own frame.

    Boxes are cached until their files change. Raises InvalidValueError as `load_mesh` does.
    """
    try:
        about = status(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    lower, upper = _extents(path, about.st_mtime_ns, about.st_size)
    return lower.copy(), upper.copy()


@lru_cache(maxsize=1024)
def _extents(path: str, _changed: int, _size: int) -> tuple[Floats, Floats]:
    points = load_mesh(path).points()
    return points.min(axis=0), points.max(axis=0)


def _check(part: Part, path: str) -> None:
    """Raise InvalidValueError for a part with invalid numbers or indices, whatever reader it is from."""
    for numbers in (part.positions, part.normals, part.coordinates):
        # NaN fails this comparison too; `> _LARGEST` would accept it.
        if numbers is not None and not (np.abs(numbers) <= _LARGEST).all():
            raise InvalidValueError(f"mesh {path!r} has coordinates that are no finite numbers")
    if part.triangles.min() < 0 or part.triangles.max() >= len(part.positions):
        raise InvalidValueError(f"mesh {path!r} has triangle indices out of range")


def _unreadable(path: str, error: OSError) -> InvalidValueError:
    return InvalidValueError(f"mesh {path!r} cannot be read: {error.strerror or error}")


# The triangles of the mesh of a geometry, scaled.


class MeshTriangles:
    """The triangles `corners` (T, 3, 3) of a mesh in its own frame, read-only. Equal only to itself."""

    __slots__ = ("corners",)

    def __init__(self, corners: Floats) -> None:
        self.corners = corners
        self.corners.flags.writeable = False


def triangles_of(geometry: Geometry) -> MeshTriangles:
    """Return the triangles of the mesh of `geometry`; equal meshes share one object, until their file changes.

    Raises InvalidValueError for a file that cannot be read.
    """
    return _triangles(geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path))


@lru_cache(maxsize=256)
def _triangles(path: str, scale: tuple[float, float, float], _changed: int) -> MeshTriangles:
    corners = np.concatenate([part.positions[part.triangles] for part in load_mesh(path).parts])
    return MeshTriangles(corners * np.array(scale))


# Convex hulls of meshes, which rays are tested against.


DIRECTIONS = 500
"""Number of directions, evenly spread. In each, the outermost vertex of the mesh becomes a corner of the hull."""
EXACT, MOST = 1e-4, 1000
"""Vertices that stick out farther than this share of the mesh's size become corners too, up to about so many."""
THINNEST = 1e-4
"""Half the thickness in m of the plate that stands for a flat mesh."""
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


class Hull:
    """A convex body: `vertices` (K, 3) about the centre of its box, `edges` (E, 2), `half_extents` (3,) of the box.

    `centre` (3,) is that of the box in the frame of the mesh. The arrays are read-only.
    """

    __slots__ = ("centre", "edges", "half_extents", "radius", "vertices")

    def __init__(self, points: Floats) -> None:
        """Make the hull of `points` (N, 3), at least one."""
        corners, faces = _wrapped(_solid(points))
        used, faces = np.unique(faces, return_inverse=True)
        corners, faces = corners[used], faces.reshape(-1, 3)
        low, high = corners.min(axis=0), corners.max(axis=0)
        self.centre: Floats = 0.5 * (low + high)
        self.half_extents: Floats = 0.5 * (high - low)
        self.vertices: Floats = corners - self.centre
        pairs = np.sort(np.concatenate((faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]])), axis=1)
        self.edges: Ints = np.unique(pairs, axis=0)
        self.radius = float(np.sqrt((self.vertices**2).sum(axis=1).max()))
        for array in (self.centre, self.half_extents, self.vertices, self.edges):
            # All instances of the mesh share these arrays.
            array.flags.writeable = False


def hull_of(geometry: Geometry) -> Hull:
    """Return the hull of the mesh of `geometry`, scaled; equal geometries share one.

    Raises InvalidValueError for a file that cannot be read.
    """
    return _hull(geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path))


@lru_cache(maxsize=256)
def _hull(path: str, scale: tuple[float, float, float], _changed: int) -> Hull:
    return Hull(load_mesh(path).points() * np.array(scale))


@lru_cache(maxsize=256)
def hull_surface(hull: Hull) -> Surface:
    """Return the sides of a hull, in its frame; made once, as finding them is slow."""
    return Surface(hull.vertices[hull_faces(hull.vertices)])


@lru_cache(maxsize=256)
def hull_planes(hull: Hull) -> Floats:
    """Return unit normals and offsets (F, 4) of the sides of a hull, in its frame; read-only."""
    surface = hull_surface(hull)
    planes = np.column_stack((surface.normals, (surface.normals * surface.corners[:, 0]).sum(axis=1)))
    # Triangles of one side have the same plane, but for rounding.
    _, firsts = np.unique(np.round(planes / np.append(np.ones(3), hull.radius), 9), axis=0, return_index=True)
    planes = planes[np.sort(firsts)]
    planes.flags.writeable = False
    return planes


def outermost(points: Floats) -> Floats:
    """Return the points furthest out along the axes and in directions all around."""
    # A Fibonacci lattice on the sphere: equal steps in height, turned by the golden angle.
    heights = 1.0 - 2.0 * (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
    around = np.sqrt(1.0 - heights * heights)
    sines, cosines = trig.sin_cos(_GOLDEN_ANGLE * np.arange(DIRECTIONS))
    spread = np.stack((around * cosines, around * sines, heights))
    # The axes are among the directions, so that the box around the hull is exactly that of the mesh.
    directions = np.concatenate((spread, np.eye(3), -np.eye(3)), axis=1)
    # Directions are those of a body as wide as it is high: otherwise most of them would see the ends of a rod.
    size = np.maximum(points.max(axis=0) - points.min(axis=0), 1e-9)
    return np.unique(points[((points / size) @ directions).argmax(axis=0)], axis=0)


def _wrapped(points: Floats) -> tuple[Floats, Ints]:
    """Return corners (K, 3) of the hull of `points` (N, 3), which enclose a volume, and its faces (F, 3)."""
    corners = outermost(points)
    most = EXACT * float((points.max(axis=0) - points.min(axis=0)).max())
    while True:
        faces = hull_faces(corners)
        normals, offsets = _planes(corners, faces)
        heights, farthest = np.empty(len(faces)), np.empty(len(faces), np.int64)
        # Face by face: all at once would need an array of all faces times all points.
        for face, (normal, offset) in enumerate(zip(normals, offsets, strict=True)):
            above = points @ normal
            farthest[face] = above.argmax()
            heights[face] = above[farthest[face]] - offset
        out = farthest[heights > most]
        if not len(out) or len(corners) >= MOST:
            return corners, faces
        corners = np.unique(np.concatenate((corners, points[out])), axis=0)


def _solid(points: Floats) -> Floats:
    """Return `points`, doubled on both sides where they are flat, so that they enclose a volume."""
    # Singular values measure the extent along the principal axes. Fewer than three points have fewer values; the
    # missing ones are 0.
    _, spread, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=len(points) < 3)
    spread = np.concatenate((spread, np.zeros(3 - len(spread))))
    for axis in axes[spread <= 1e-6 * max(float(spread[0]), 1e-6)]:
        points = np.concatenate((points - THINNEST * axis, points + THINNEST * axis))
    return points


def hull_faces(points: Floats) -> Ints:
    """Return the triangles (F, 3) of the convex hull of `points` (N, 3), which enclose a volume.

    Starts with four points; each further one that is outside replaces the faces that it sees by a cone to their rim.
    """
    # Meshes have many coplanar points. Without slack, rounding would add them to the hull as slivers.
    slack = 1e-9 * float(np.abs(points - points.mean(axis=0)).max())
    corners = _four_apart(points)
    # The middle of the first tetrahedron stays inside however the hull grows.
    inside = points[corners].mean(axis=0)
    faces = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]], np.int64)
    faces = _outward(points, np.array(corners)[faces], inside)
    normals, offsets = _planes(points, faces)
    for number in range(len(points)):
        seen_mask = normals @ points[number] - offsets > slack
        if number in corners or not seen_mask.any():
            continue
        seen = faces[seen_mask]
        edges = np.concatenate((seen[:, [0, 1]], seen[:, [1, 2]], seen[:, [2, 0]]))
        # Neighbouring faces share an edge in opposite directions. An edge whose reverse is not among the seen faces is
        # on the rim.
        keys, opposite = edges[:, 0] * len(points) + edges[:, 1], edges[:, 1] * len(points) + edges[:, 0]
        rim = edges[~np.isin(keys, opposite)]
        # Edges of the rim keep the direction of the faces they replace, so the new faces look outwards too.
        cone = np.column_stack((rim, np.full(len(rim), number)))
        new_normals, new_offsets = _planes(points, cone)
        faces = np.concatenate((faces[~seen_mask], cone))
        normals = np.concatenate((normals[~seen_mask], new_normals))
        offsets = np.concatenate((offsets[~seen_mask], new_offsets))
    return faces


def _four_apart(points: Floats) -> list[int]:
    """Return four points that enclose a volume."""
    # Extreme points at each stage: the first tetrahedron is as thick as possible, so its planes are well defined.
    first = int(points[:, 0].argmin())
    ways = points - points[first]
    second = int((ways**2).sum(axis=1).argmax())
    across = np.cross(ways, ways[second])
    third = int((across**2).sum(axis=1).argmax())
    fourth = int(np.abs(ways @ np.cross(ways[second], ways[third])).argmax())
    return [first, second, third, fourth]


def _planes(points: Floats, faces: Ints) -> tuple[Floats, Floats]:
    """Return unit normals (F, 3) and offsets (F,) of the planes of triangles."""
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.sqrt((normals * normals).sum(axis=1)), 1e-300)[:, None]
    return normals, (normals * a).sum(axis=1)


def _outward(points: Floats, faces: Ints, inside: Floats) -> Ints:
    """Return the triangles turned so that their normals point away from `inside`."""
    normals, offsets = _planes(points, faces)
    wrong = normals @ inside > offsets
    faces[wrong] = faces[wrong][:, ::-1]
    return faces


_RESOURCE_VARIABLES = ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "ROS_PACKAGE_PATH")


class MeshFinder:
    """Finds the mesh files of one description file."""

    def __init__(self, source: Path, search_paths: Sequence[Path] = (), limits: MeshLimits | None = None) -> None:
        self._source = source
        self._search_paths = tuple(search_paths)
        self._limits = limits or MeshLimits()
        self._found: dict[str, str] = {}

    def find(self, element: Element, name: str) -> str:
        """Return the absolute path of the mesh `name`: a path, or file://, package:// or model://.

        Raises InvalidValueError naming `element` and every place searched if the mesh is missing, is of no format in
        FORMATS, or exceeds the limits.
        """
        # One mesh is often named many times, and each search may touch dozens of folders.
        path = self._found.get(name)
        if path is None:
            path = self._found[name] = self._locate(element, name)
        return path

    def _locate(self, element: Element, name: str) -> str:
        """Return the path of a mesh; raises an error with the line, near names and the folders that were searched."""
        suffix = Path(name).suffix.lower()
        if suffix not in FORMATS:
            raise element.error(f"the mesh {name!r} must be one of {', '.join(FORMATS)}")
        found = self.look(element, name)
        if found is None:
            searched = list(dict.fromkeys(self.candidates(element, name)))
            near = {name for path in searched for name in names_in(path.parent, suffix)}
            hint = did_you_mean(Path(name).name, near) if near else ""
            places = ", ".join(str(path) for path in searched[:12]) + (", ..." if len(searched) > 12 else "")
            raise element.error(f"there is no mesh {name!r}.{hint} Searched: {places}")
        fault = self._limits.fault(found)
        if fault:
            raise element.error(f"the mesh {str(found)!r} {fault}")
        return str(found)

    def look(self, element: Element, name: str) -> Path | None:
        """Return the absolute path of any file called `name`, None if there is none."""
        found = next((path for path in self.candidates(element, name) if is_file(path)), None)
        return None if found is None else found.resolve()

    def candidates(self, element: Element, name: str) -> Iterator[Path]:
        """Yield the paths where a file called `name` is searched, in order.

        Raises InvalidValueError for a name with an unsupported scheme.
        """
        scheme, mark, rest = name.partition("://")
        if not mark:
            path = expanded(name)
            if path.is_absolute():
                yield path
                # In some files a leading slash means the file's own folder.
                path = path.relative_to(path.anchor)
            # PyBullet searches all folders above the file too; the search paths are an addition of ours.
            yield from (folder / path for folder in (*self._source.parents, *self._search_paths))
        elif scheme == "file":
            yield self._source.parent / rest
        elif scheme in ("package", "model"):
            yield from self.in_packages(rest)
        else:
            raise element.error(
                f"the file {name!r} must be a path, or begin with file://, package:// or model://; "
                "fetch other files first"
            )

    def in_packages(self, rest: str) -> Iterator[Path]:
        """Yield the paths where `package/file` is searched, in order."""
        package, _, inside = rest.partition("/")
        yield from (folder / inside for folder in self._package_folders(package))

    def _package_folders(self, package: str) -> Iterator[Path]:
        """Yield the folders that may be the package of that name."""
        above = self._source.parents
        yield from (folder / package for folder in above)
        yield from (folder for folder in above if package_name(folder) == package)
        for folder in self._search_paths:
            yield folder / package
            if folder.name == package or package_name(folder) == package:
                yield folder
        for prefix in folders_in("AMENT_PREFIX_PATH"):
            yield prefix / "share" / package
        for variable in _RESOURCE_VARIABLES:
            for folder in folders_in(variable):
                yield folder / package
                yield from (folder,) * (folder.name == package)


def in_packages(name: str, search_paths: Sequence[Path]) -> Iterator[Path]:
    """Return the paths where the file of a package:// or model:// URI is searched, in order."""
    # Of no file: there are no folders above it.
    return MeshFinder(Path("/"), search_paths).in_packages(name.partition("://")[2])


def seen_by_pybullet(source: Path, name: str) -> str:
    """Return the file that PyBullet uses for `name` in the description file `source`, "" if it finds none.

    PyBullet drops the scheme of a name but keeps its package, and searches the folders above the file.
    """
    rest = Path(name.partition("://")[2] or name)
    if rest.is_absolute():
        return str(rest.resolve()) if is_file(rest) else ""
    places = (folder / rest for folder in source.parents)
    return next((str(place.resolve()) for place in places if is_file(place)), "")


def in_installed_package(name: str, place: Path) -> bool:
    """Return whether `name` is a package:// URI that resolves to `place` in the ROS installation."""
    scheme, _, rest = name.partition("://")
    package = rest.partition("/")[0]
    shares = [(prefix / "share" / package).resolve() for prefix in folders_in("AMENT_PREFIX_PATH")]
    return scheme == "package" and any(share in place.parents for share in shares)
