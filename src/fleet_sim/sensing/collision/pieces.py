"""The convex pieces of all kinds of entities: of what they are made, and where they are in the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fleet_sim.base.arrays import Floats, Ints, Rows
from fleet_sim.base.kernels import compiled
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.base.spatial.triangles import TriangleTree
from fleet_sim.models.kinematics.tree import tree_of
from fleet_sim.models.meshes.loading import hull_faces, load_mesh, outermost, triangles_of, version_of
from fleet_sim.sensing.collision.convex import (
    BALL,
    BODY,
    BOX,
    CYLINDER,
    HULL,
    KIND,
    PLANE,
    SEGMENT,
    SURFACE,
    Pieces,
    Placed,
    Scratch,
)
from fleet_sim.world.shapes import BASE, Geometry, RobotModel
from fleet_sim.world.world import World

# The corners of convex hulls as PyBullet has them, which are not quite those of the mesh.


_STEPS = 10216
"""Bullet moves the corners of a hull to a grid of so many cells along each axis, towards the middle."""
_SIDES = 32
"""A cylinder in a robot description is a prism with so many sides in Bullet."""
_FEW = 64
"""So many corners are looked through quickly; of more, those inside are left out."""


def mesh_corners(geometry: Geometry) -> Floats:
    """Return corners (K, 3) with the convex hull of a mesh, in its own frame; K may be a little larger than needed.

    Raises InvalidValueError for a file that cannot be read.
    """
    return _mesh_corners(geometry.mesh_path, geometry.mesh_scale, version_of(geometry.mesh_path))


@lru_cache(maxsize=256)
def _mesh_corners(path: str, scale: tuple[float, float, float], _changed: int) -> Floats:
    # PyBullet reads numbers of files as float32.
    points = load_mesh(path).points().astype(np.float32).astype(np.float64) * np.array(scale)
    return _on_grid(_outside(np.unique(points, axis=0)))


def prism_corners(radius: float, height: float) -> Floats:
    """Return the corners (64, 3) of the prism that stands for a cylinder along z."""
    angles = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    sines, cosines = trig.sin_cos(angles)
    ring = np.stack((radius * sines, radius * cosines), axis=1)
    top = np.column_stack((ring, np.full(_SIDES, 0.5 * height)))
    return _on_grid(np.concatenate((top, top * np.array([1.0, 1.0, -1.0]))))


def _outside(points: Floats) -> Floats:
    """Return `points` (N, 3) without most of those inside of their hull."""
    if len(points) <= _FEW:
        return points
    most = outermost(points)
    size = float((most.max(axis=0) - most.min(axis=0)).max())
    spread = np.linalg.svd(most - most.mean(axis=0), compute_uv=False)
    if spread[-1] <= 1e-9 * size:
        # Flat: there is no inside.
        return points
    faces = most[hull_faces(most)]
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normals /= np.maximum(np.sqrt((normals * normals).sum(axis=1)), 1e-300)[:, None]
    offsets = (normals * faces[:, 0]).sum(axis=1)
    kept_mask = np.zeros(len(points), np.bool_)
    for normal, offset in zip(normals, offsets, strict=True):
        kept_mask |= (points * normal).sum(axis=1) - offset > -1e-9 * size
    return points[kept_mask]


def _on_grid(points: Floats) -> Floats:
    """Return `points` as Bullet's computation of hulls rounds them."""
    low, high = points.min(axis=0), points.max(axis=0)
    # Its steps, in its order: rounding decides to which side numbers on the grid fall.
    centre, step = (low + high) * 0.5, (high - low) * (1.0 / _STEPS)
    with np.errstate(divide="ignore"):
        inverse = np.where(step > 0.0, 1.0 / step, 0.0)
    return np.trunc((points - centre) * inverse) * step + centre


# What entities are made of: the pieces of robots link by link, of meshes as hulls, of plain shapes.


_MARGIN = 1e-3
"""The collision margin in m that PyBullet gives to shapes: hulls grow by it, boxes and cylinders are rounded."""
_MJCF, _MJCF_MARGIN, _MJCF_SHARE = (".xml", ".mjcf"), 0.04, 0.1
"""In MJCF files boxes and cylinders have Bullet's own margin: 4 cm, at most a tenth of the smallest half extent."""


class Piece(NamedTuple):
    """One row of `Pieces`; `corners` (K, 3) of a hull or a surface, `tree` (B, 6) and `leaf` of a surface."""

    kind: int
    link: int
    body: int
    pose: Floats
    box: Floats
    sizes: tuple[float, float, float] = (0.0, 0.0, 0.0)
    inner: float = 0.0
    outer: float = 0.0
    corners: Floats = np.empty((0, 3))
    tree: Floats = np.empty((0, 6))
    leaf: int = 0


def model_pieces(model: RobotModel) -> list[Piece]:
    """Return the collision shapes of a robot; raises InvalidValueError for an unusable mesh."""
    tree = tree_of(model)
    mjcf = Path(model.path).suffix.lower() in _MJCF
    pieces = []
    for link, geometry in ((part.link, part.geometry) for part in model.collisions):
        place = quaternions.compose(
            tree.link_position[[link]],
            tree.link_orientation[[link]],
            np.array([geometry.position]),
            np.array([geometry.orientation]),
        )
        shape = _mjcf_piece(geometry) if mjcf else _piece(geometry, prism=True)
        pieces.append(shape._replace(link=link, body=int(tree.link_body[link]), pose=_pose(*place)))
    return pieces


def shape_pieces(geometry: Geometry) -> list[Piece]:
    """Return the one piece of a body with a single shape; raises InvalidValueError for an unusable mesh."""
    place = np.array([geometry.position]), np.array([geometry.orientation])
    return [_piece(geometry, prism=False)._replace(pose=_pose(*place))]


def _pose(positions: Floats, orientations: Floats) -> Floats:
    return np.concatenate((quaternions.to_matrices(orientations)[0].reshape(9), positions[0]))


def _piece(geometry: Geometry, *, prism: bool) -> Piece:
    """Return a geometry as createCollisionShape makes it, with `prism` as robot descriptions have it."""
    kind, radius, half_height = geometry.kind, geometry.radius, 0.5 * geometry.height
    if kind == ShapeKind.BOX:
        return _rounded(BOX, geometry.half_extents, _MARGIN)
    if kind == ShapeKind.CYLINDER and not prism:
        return _rounded(CYLINDER, (radius, radius, half_height), _MARGIN)
    if kind == ShapeKind.CYLINDER:
        return _hull(prism_corners(radius, geometry.height))
    if kind == ShapeKind.SPHERE:
        return _new(BALL, (radius, radius, radius))._replace(outer=radius)
    if kind == ShapeKind.CAPSULE:
        long = _new(SEGMENT, (radius, radius, half_height + radius))
        # A ball that is moved along a segment: the radius is its margin.
        return long._replace(sizes=(0.0, 0.0, half_height), outer=radius)
    if kind == ShapeKind.PLANE:
        return _new(PLANE, (0.0, 0.0, 0.0))
    if geometry.concave:
        # In robot descriptions concave meshes have no margin.
        return _surface(geometry, 0.0 if prism else _MARGIN)
    return _hull(mesh_corners(geometry))


def _mjcf_piece(geometry: Geometry) -> Piece:
    if geometry.kind not in (ShapeKind.BOX, ShapeKind.CYLINDER):
        return _piece(geometry, prism=True)
    radius = geometry.radius
    box = geometry.kind == ShapeKind.BOX
    half = geometry.half_extents if box else (radius, radius, 0.5 * geometry.height)
    return _rounded(BOX if box else CYLINDER, half, min(_MJCF_MARGIN, _MJCF_SHARE * min(half)))


def _new(kind: int, half: Iterable[float]) -> Piece:
    """Return a piece of `kind` in the middle of a box with the half extents `half`."""
    return Piece(kind, BASE, BASE, np.zeros(12), np.array([0.0, 0.0, 0.0, *half]))


def _rounded(kind: int, half: tuple[float, float, float], margin: float) -> Piece:
    # What is thinner than the margin is all edge.
    margin = min(margin, *half)
    # PyBullet takes the margin off these shapes and rounds their edges with it.
    x, y, z = (size - margin for size in half)
    return _new(kind, half)._replace(sizes=(x, y, z), inner=margin)


def _hull(corners: Floats) -> Piece:
    return _enclosing(HULL, corners, _MARGIN)._replace(outer=_MARGIN)


def _enclosing(kind: int, corners: Floats, margin: float) -> Piece:
    low, high = corners.min(axis=0), corners.max(axis=0)
    box = np.concatenate((0.5 * (low + high), 0.5 * (high - low) + margin))
    return _new(kind, (0.0, 0.0, 0.0))._replace(corners=corners, box=box)


def _surface(geometry: Geometry, margin: float) -> Piece:
    tree = TriangleTree(triangles_of(geometry).corners).flat()
    piece = _enclosing(SURFACE, np.ascontiguousarray(tree.corners.reshape(-1, 3)), margin)
    return piece._replace(outer=margin, tree=tree.boxes, leaf=tree.leaf)


def plain_pieces(kind: int, half_extents: Floats, radius: float, position: Floats, orientation: Floats) -> list[Piece]:
    """Return the one piece, if any, of a body that only the columns of the world describe."""
    if kind == ShapeKind.NONE:
        return []
    x, y, z = half_extents.tolist()
    # Columns have the half height with the caps, a Geometry the height without.
    height = 2.0 * z - (2.0 * radius if kind == ShapeKind.CAPSULE else 0.0)
    geometry = Geometry(kind, half_extents=(x, y, z), radius=radius, height=height)
    return [_piece(geometry, prism=False)._replace(pose=_pose(position[None], orientation[None]))]


SHAPELESS = -1
"""The form of an entity without shapes."""
_UNSEEN = -2


class PieceBook:
    """Forms: lists of pieces that entities of one kind share. They are made when first asked for.

    A mesh file that was written again counts from the next spawn on, for all entities that have it.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._forms: list[list[Piece]] = []
        self._makers: list[Callable[[], list[Piece]]] = []
        self._meshes: list[dict[str, int]] = []
        """Of each form the mesh files and their versions."""
        self._by_model: Ints = np.empty(0, np.int64)
        self._by_shape: Ints = np.empty(0, np.int64)
        self._by_columns: dict[tuple[float, ...], int] = {}
        self._firsts: Ints = np.empty(0, np.int64)
        self._counts: Ints = np.empty(0, np.int64)
        self._pieces: Pieces | None = None
        self._spawned = False
        world.on_spawn.append(self._note_spawn)

    @property
    def pieces(self) -> Pieces:
        """The pieces of all forms; a new object after a new form."""
        return self._pack()

    def _pack(self) -> Pieces:
        if self._pieces is None:
            counts = [len(form) for form in self._forms]
            # Piece 0 belongs to no form; a form of -1 finds the last numbers.
            self._firsts = 1 + np.cumsum([0, *counts], dtype=np.int64)
            self._counts = np.array([*counts, 0], np.int64)
            self._pieces = _packed([piece for form in self._forms for piece in form])
        return self._pieces

    def forms(self, rows: Rows) -> tuple[Ints, Ints]:
        """Return the first piece of each of `rows` (N,) and how many it has (N,).

        Raises InvalidValueError for a mesh file that cannot be read.
        """
        if self._spawned:
            self._spawned = False
            self._renew()
        world = self._world
        models, shapes = world.robots.model[rows], world.shape_id[rows]
        self._by_model = _grown(self._by_model, len(world.models))
        self._by_shape = _grown(self._by_shape, len(world.shapes))
        # Indices of -1 find the last number, which is SHAPELESS.
        forms = self._by_model[models]
        if (forms == _UNSEEN).any():
            self._meet_models(models[forms == _UNSEEN])
            forms = self._by_model[models]
        rest = np.flatnonzero(forms == SHAPELESS)
        if len(rest):
            forms[rest] = self._of_shapes(rows[rest], shapes[rest])
        self._pack()
        return self._firsts[forms], self._counts[forms]

    def links(self, numbers: Ints) -> Ints:
        """Return the links that pieces are on, of an array of their numbers."""
        return np.array([BASE, *(piece.link for form in self._forms for piece in form)])[numbers]

    def _meet_models(self, numbers: Ints) -> None:
        """Make the pieces of robot models that were not seen before; SHAPELESS where a model has no shapes."""
        for number in np.unique(numbers).tolist():
            model = self._world.models[number]
            if model.collisions:
                geometries = [part.geometry for part in model.collisions]
                self._by_model[number] = self._add(partial(model_pieces, model), geometries)
            else:
                self._by_model[number] = SHAPELESS

    def _of_shapes(self, rows: Rows, shapes: Ints) -> Ints:
        """Return the form (N,) of each of `rows` by its shape, made at the first look."""
        forms = self._by_shape[shapes]
        for number in np.unique(shapes[forms == _UNSEEN]).tolist():
            geometry = self._world.shapes[number].collision
            if geometry is None:
                self._by_shape[number] = SHAPELESS
            else:
                self._by_shape[number] = self._add(partial(shape_pieces, geometry), [geometry])
        forms = self._by_shape[shapes]
        for index in np.flatnonzero(forms == SHAPELESS).tolist():
            forms[index] = self._of_columns(int(rows[index]))
        return forms

    def _of_columns(self, row: int) -> int:
        """Return the form of a row without a shape of its own, by its columns."""
        world, kind = self._world, int(self._world.shape_kind[row])
        if kind > ShapeKind.PLANE:
            return SHAPELESS
        columns = world.half_extents[row], world.radius[row], world.shape_position[row], world.shape_orientation[row]
        key = (float(kind), *np.concatenate([np.atleast_1d(column) for column in columns]).tolist())
        form = self._by_columns.get(key)
        if form is None:
            # Copies: rows of columns change.
            half, place = columns[0].copy(), (columns[2].copy(), columns[3].copy())
            form = self._by_columns[key] = self._add(partial(plain_pieces, kind, half, float(columns[1]), *place), [])
        return form

    def _add(self, make: Callable[[], list[Piece]], geometries: list[Geometry]) -> int:
        # Versions first: a file that changes while it is read is read again.
        self._meshes.append({shape.mesh_path: version_of(shape.mesh_path) for shape in geometries if shape.mesh_path})
        self._makers.append(make)
        self._forms.append(make())
        self._pieces = None
        return len(self._forms) - 1

    def _note_spawn(self, rows: Rows) -> None:
        self._spawned = True

    def _renew(self) -> None:
        """Make the forms anew whose mesh files have changed."""
        for form, versions in enumerate(self._meshes):
            now = {path: version_of(path) for path in versions}
            if now != versions:
                self._meshes[form], self._forms[form], self._pieces = now, self._makers[form](), None


def _grown(numbers: Ints, count: int) -> Ints:
    """Return forms by number for `count` numbers, and SHAPELESS for none."""
    if len(numbers) == count + 1:
        return numbers
    grown = np.full(count + 1, _UNSEEN, np.int64)
    grown[: max(len(numbers) - 1, 0)] = numbers[:-1]
    grown[-1] = SHAPELESS
    return grown


def _packed(pieces: list[Piece]) -> Pieces:
    """Return the pieces as arrays, after piece 0, which is a triangle wherever `starts[0]` says."""
    corner_counts = [3, *(len(piece.corners) for piece in pieces)]
    tree_counts = [0, *(len(piece.tree) for piece in pieces)]

    starts, roots = np.cumsum([0, *corner_counts[:-1]]).tolist(), np.cumsum([0, *tree_counts[:-1]]).tolist()
    codes = [(HULL, 0, 3, 0, 0, 0, BASE)]
    codes += [
        (piece.kind, start, count, root, nodes, piece.leaf, piece.body)
        for piece, start, count, root, nodes in zip(
            pieces, starts[1:], corner_counts[1:], roots[1:], tree_counts[1:], strict=True
        )
    ]
    return Pieces(
        codes=np.array(codes, np.int64),
        sizes=np.array([np.zeros(5), *((*piece.sizes, piece.inner, piece.outer) for piece in pieces)]),
        corners=np.concatenate([np.zeros((3, 3)), *(piece.corners for piece in pieces)]),
        boxes=np.array([np.zeros(6), *(piece.box for piece in pieces)]),
        trees=np.concatenate([np.zeros((0, 6)), *(piece.tree for piece in pieces)]),
        places=np.array([np.zeros(12), *(piece.pose for piece in pieces)]),
    )


# Where pieces are in the world.


@compiled
def place_pieces(
    pieces: Pieces,
    firsts: Ints,
    chosen: Rows,
    positions: Floats,
    orientations: Floats,
    frames: Floats,
    columns: Ints,
    placed: Placed,
    scratch: Scratch,
) -> None:
    """Place the pieces of the entities `chosen` (M,) of N, of which entity n has those from `firsts[n]` (N,) on.

    `positions` (N, 3) and `orientations` (N, 4) are the poses of the entities' bases. `frames` (3, 4, B + 1, R) are
    those of the bodies of robots of one model, that of `chosen[m]` in column `columns[m]`.
    """
    base, body = scratch.poses[0], scratch.poses[1]
    for index in range(len(chosen)):
        entity, column = chosen[index], columns[index]
        _as_pose(positions, orientations, entity, base)
        lowest = placed.around[entity]
        for axis in range(3):
            lowest[axis], lowest[3 + axis] = np.inf, -np.inf
        for place in range(placed.begins[entity], placed.begins[entity + 1]):
            piece = firsts[entity] + place - placed.begins[entity]
            placed.numbers[place] = piece
            moved = pieces.codes[piece, BODY]
            if moved < 0:
                _compose(base, pieces.places[piece], placed.poses[place])
            else:
                _as_frame(frames, moved, column, body)
                # Two steps, in the order of the chain: the same bits for each robot of the model.
                _compose(body, pieces.places[piece], placed.poses[place])
                for number in range(12):
                    body[number] = placed.poses[place, number]
                _compose(base, body, placed.poses[place])
            _box(pieces.codes[piece, KIND], pieces.boxes[piece], placed.poses[place], placed.boxes[place])
            for axis in range(3):
                lowest[axis] = min(lowest[axis], placed.boxes[place, axis])
                lowest[3 + axis] = max(lowest[3 + axis], placed.boxes[place, 3 + axis])


@compiled
def _as_frame(frames: Floats, moved: int, column: int, out: Floats) -> None:
    for line in range(3):
        for axis in range(3):
            out[3 * line + axis] = frames[line, axis, moved, column]
        out[9 + line] = frames[line, 3, moved, column]


@compiled
def _as_pose(positions: Floats, orientations: Floats, row: int, out: Floats) -> None:
    x, y, z, w = orientations[row, 0], orientations[row, 1], orientations[row, 2], orientations[row, 3]
    out[0], out[1], out[2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)
    out[3], out[4], out[5] = 2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)
    out[6], out[7], out[8] = 2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)
    out[9], out[10], out[11] = positions[row, 0], positions[row, 1], positions[row, 2]


@compiled
def _compose(outer: Floats, inner: Floats, out: Floats) -> None:
    for line in range(3):
        a, b, c = outer[3 * line], outer[3 * line + 1], outer[3 * line + 2]
        for column in range(3):
            out[3 * line + column] = a * inner[column] + b * inner[3 + column] + c * inner[6 + column]
        out[9 + line] = a * inner[9] + b * inner[10] + c * inner[11] + outer[9 + line]


@compiled
def _box(kind: int, box: Floats, pose: Floats, out: Floats) -> None:
    """Write the lower and the upper corner (6,) of the world box around a piece with a box of its own."""
    for line in range(3):
        if kind == PLANE:
            # A plane has no end in any direction.
            out[line], out[3 + line] = -np.inf, np.inf
            continue
        a, b, c = pose[3 * line], pose[3 * line + 1], pose[3 * line + 2]
        centre = a * box[0] + b * box[1] + c * box[2] + pose[9 + line]
        # |R| times the half extents.
        half = abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]
        out[line], out[3 + line] = centre - half, centre + half
