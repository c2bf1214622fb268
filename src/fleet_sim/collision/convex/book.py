"""The pieces of all kinds of entities of a world, and which of them each entity has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fleet_sim.arrays import Ints, Rows
from fleet_sim.collision.convex.forms import Piece, model_pieces, plain_pieces, shape_pieces
from fleet_sim.collision.convex.tables import HULL, Pieces
from fleet_sim.core.robot_model import BASE
from fleet_sim.core.shapes import Geometry
from fleet_sim.core.world import World
from fleet_sim.meshes.loading import version_of
from fleet_sim.spatial.shapes import ShapeKind

UNKNOWN = -1
"""The form of an entity of which nobody knows what it is made of, such as some bodies made in PyBullet."""
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
            self._counts = np.array([*counts, UNKNOWN], np.int64)
            self._pieces = _packed([piece for form in self._forms for piece in form])
        return self._pieces

    def forms(self, rows: Rows) -> tuple[Ints, Ints]:
        """Return the first piece of each of `rows` (N,) and how many it has (N,), UNKNOWN where nobody knows.

        Raises InvalidValueError for a mesh file that cannot be read.
        """
        if self._spawned:
            self._spawned = False
            self._renew()
        world = self._world
        models, shapes = world.robots.model[rows], world.shape_id[rows]
        self._by_model = _grown(self._by_model, len(world.models))
        self._by_shape = _grown(self._by_shape, len(world.shapes))
        # Indices of -1 find the last number, which is UNKNOWN.
        forms = self._by_model[models]
        if (forms == _UNSEEN).any():
            self._meet_models(models[forms == _UNSEEN])
            forms = self._by_model[models]
        rest = np.flatnonzero(forms == UNKNOWN)
        if len(rest):
            forms[rest] = self._of_shapes(rows[rest], shapes[rest])
        self._pack()
        return self._firsts[forms], self._counts[forms]

    def links(self, numbers: Ints) -> Ints:
        """Return the links that pieces are on, of an array of their numbers."""
        return np.array([BASE, *(piece.link for form in self._forms for piece in form)])[numbers]

    def _meet_models(self, numbers: Ints) -> None:
        """Make the pieces of robot models that were not seen before; UNKNOWN where a model has no shapes."""
        for number in np.unique(numbers).tolist():
            model = self._world.models[number]
            # The model of a body made in PyBullet has no shapes, but the body may have some.
            if model.path or model.collisions:
                geometries = [part.geometry for part in model.collisions]
                self._by_model[number] = self._add(partial(model_pieces, model), geometries)
            else:
                self._by_model[number] = UNKNOWN

    def _of_shapes(self, rows: Rows, shapes: Ints) -> Ints:
        """Return the form (N,) of each of `rows` by its shape, made at the first look."""
        forms = self._by_shape[shapes]
        for number in np.unique(shapes[forms == _UNSEEN]).tolist():
            geometry = self._world.shapes[number].collision
            if geometry is None:
                self._by_shape[number] = UNKNOWN
            else:
                self._by_shape[number] = self._add(partial(shape_pieces, geometry), [geometry])
        forms = self._by_shape[shapes]
        for index in np.flatnonzero(forms == UNKNOWN).tolist():
            forms[index] = self._of_columns(int(rows[index]))
        return forms

    def _of_columns(self, row: int) -> int:
        """Return the form of a row without a shape of its own, by its columns."""
        world, kind = self._world, int(self._world.shape_kind[row])
        if kind > ShapeKind.PLANE:
            return UNKNOWN
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
    """Return forms by number for `count` numbers, and UNKNOWN for none."""
    if len(numbers) == count + 1:
        return numbers
    grown = np.full(count + 1, _UNSEEN, np.int64)
    grown[: max(len(numbers) - 1, 0)] = numbers[:-1]
    grown[-1] = UNKNOWN
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
