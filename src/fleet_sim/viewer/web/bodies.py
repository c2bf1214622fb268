"""The bodies on the page: one batch of instances for each mesh, told again only what changed.

Instances with the same mesh, opacity and texture are one batch. Poses and colors are assigned in each frame, and only
what differs is sent; a batch of another size is made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import viser

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.core.appearance import NO_APPEARANCE, appearance_in, looks_alike
from fleet_sim.core.snapshot import Snapshot
from fleet_sim.sensors.render.instances import MeshKey
from fleet_sim.sensors.render.scene import MeshStore, instance_table
from fleet_sim.spatial import quaternions
from fleet_sim.viewer.web.glb import textured_glb
from fleet_sim.viewer.web.link_frames import LinkFrames
from fleet_sim.viewer.web.mesh_pieces import MeshPiece, pieces_of

DETAIL = 2
"""Level of detail of round shapes: 0 is the coarsest."""
FEW_TRIANGLES = 300
"""Meshes with fewer are drawn as they are from any distance."""

_SHARES = np.arange(256) / 255.0
_LINEAR: Bytes = np.round(
    255.0 * np.where(_SHARES <= 0.04045, _SHARES / 12.92, ((_SHARES + 0.055) / 1.055) ** 2.4)
).astype(np.uint8)
"""Linear light by the value of a channel in sRGB."""

_CORNERS: Ints = np.array([(number & 1, number >> 1 & 1, number >> 2) for number in range(8)])
"""(8, 3) of each corner of a box, which end of it that is along each axis."""


class BatchKey(NamedTuple):
    """What the instances of a batch have in common. Those that never move are apart: they are sent once."""

    mesh: MeshKey
    piece: int
    movable: bool
    opacity: int
    """In 255ths."""
    paint: tuple[int, int, int] | None
    """Their color, which the texture is multiplied with; None: without texture, each in a color of its own."""


@dataclass(eq=False)
class MeshBatch:
    """A batch on the page: instances `members` (K,) of the table.

    What has a texture is in two: with it while it has its own color, without it in any other.
    """

    handle: viser.BatchedMeshHandle | viser.BatchedGlbHandle
    members: Ints
    piece: MeshPiece


class ShownBodies:
    """All bodies of a snapshot, with their real meshes. `table` has the instances that are shown."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self.table = instance_table(NO_APPEARANCE, np.empty(0, np.int64), MeshStore())
        self.positions: Floats = np.empty((0, 3))
        self.orientations: Floats = np.empty((0, 4))
        self.between: tuple[float, float] | None = None
        """Show only what stands at a height from the first on, in m, and below the second; None: everything."""
        self.shown_mask: Bools = np.empty(0, np.bool_)
        """(M,) which instances of the table are shown."""
        self._scene = scene
        self._meshes = MeshStore()
        self._links = LinkFrames()
        self.appearance = NO_APPEARANCE
        self._shown: Snapshot | None = None
        # The object ids of what is a robot, or has moved since it was first shown.
        self._movers: Ints = np.empty(0, np.int64)
        self._pieces: dict[MeshKey, tuple[MeshPiece, ...]] = {}
        self._batches: dict[BatchKey, MeshBatch] = {}
        self._made = 0

    def mesh(self, key: MeshKey) -> tuple[MeshPiece, ...]:
        """Return the pieces of a mesh as the page has them."""
        pieces = self._pieces.get(key)
        if pieces is None:
            pieces = self._pieces[key] = pieces_of(self._meshes.mesh(key, min(DETAIL, key.levels - 1)))
        return pieces

    def corners(self) -> Floats:
        """Return the corners (M, 8, 3) of a box around each instance, which is turned as the instance is."""
        corners = np.zeros((len(self.positions), 8, 3))
        for group in self.table.batches:
            own = slice(group.start, group.stop)
            vertices = np.concatenate([piece.vertices for piece in self.mesh(group.key)])
            # Boxes of meshes as they are drawn, which may be coarser than the bodies.
            ends = np.stack((vertices.min(axis=0), vertices.max(axis=0))).astype(np.float64)
            box = ends[_CORNERS, np.arange(3)] * self.table.scales[own, None, :]
            turns = np.repeat(self.orientations[own], 8, axis=0)
            corners[own] = quaternions.rotate(turns, box.reshape(-1, 3)).reshape(-1, 8, 3)
        return corners + self.positions[:, None, :]

    def show(self, snapshot: Snapshot, coloring: Callable[[Snapshot, ShownBodies], Bytes]) -> None:
        """Show `snapshot`, in the colors (M, 3) that `coloring` gives to all instances."""
        before, self._shown = self._shown, snapshot
        # Names, shapes and colors are told once.
        new = before is None or not looks_alike(before, snapshot)
        if new:
            self.appearance = appearance_in(snapshot)
            self.table = instance_table(self.appearance, np.arange(len(snapshot.names)), self._meshes)
        self.positions, self.orientations = self._links.instance_poses(snapshot, self.appearance, self.table)
        heights = snapshot.positions[self.table.rows, 2]
        self.shown_mask, hid = np.ones(len(heights), np.bool_), bool((~self.shown_mask).any())
        if self.between is not None:
            low, high = self.between
            self.shown_mask = (heights >= low) & (heights < high)
        # Scales are sent only while something is hidden, or has to come back.
        sized = hid or not self.shown_mask.all()
        colors = coloring(snapshot, self)
        if self._find_movers(before, snapshot) or new:
            self._rebuild(colors)
        for key, batch in self._batches.items():
            # Each of these compares, and sends nothing where nothing changed.
            batch.handle.batched_positions = self.positions[batch.members].astype(np.float32)
            batch.handle.batched_wxyzs = _wxyz(self.orientations[batch.members])
            if isinstance(batch.handle, viser.BatchedMeshHandle):
                batch.handle.batched_colors = _tinted(colors[batch.members], batch.piece)
            if sized and batch.piece.painted is None:
                # What has no size is not drawn.
                batch.handle.batched_scales = self.table.scales[batch.members] * self.shown_mask[batch.members, None]
            if batch.piece.painted is not None:
                self._show_either(batch, painted=key.paint is not None, colors=colors)

    def _show_either(self, batch: MeshBatch, *, painted: bool, colors: Bytes) -> None:
        """Leave only those in the batch that have their own colors, if it is a painted one, or only the others."""
        own = self.table.colors[batch.members, :3]
        shown_mask = (colors[batch.members] == own).all(axis=1) == painted
        shown_mask &= self.shown_mask[batch.members]
        batch.handle.visible = bool(shown_mask.any())
        # What has no size is not drawn. Batches of another size would be sent anew, with their pictures.
        batch.handle.batched_scales = self.table.scales[batch.members] * shown_mask[:, None]

    def _find_movers(self, before: Snapshot | None, snapshot: Snapshot) -> bool:
        """Note what moves; return whether there is anything new among it."""
        moved_mask = snapshot.agent_mask.copy()
        # Between two snapshots of other entities nothing can be compared.
        if before is not None and np.array_equal(before.object_ids, snapshot.object_ids):
            moved_mask |= (before.positions != snapshot.positions).any(axis=1)
            moved_mask |= (before.orientations != snapshot.orientations).any(axis=1)
        moving = snapshot.object_ids[moved_mask]
        found = np.isin(moving, self._movers, invert=True).any()
        if found:
            self._movers = np.union1d(self._movers, moving)
        return bool(found)

    def _rebuild(self, colors: Bytes) -> None:
        wanted = self._wanted()
        # Batches of another size are made anew, as their number cannot change.
        for key in [key for key, batch in self._batches.items() if not _same_size(batch, wanted.get(key))]:
            self._batches.pop(key).handle.remove()
        for key, members in wanted.items():
            batch = self._batches.get(key)
            if batch is None:
                self._batches[key] = self._make(key, members, colors)
            else:
                batch.members = members
                if batch.piece.painted is None:
                    batch.handle.batched_scales = self.table.scales[members]

    def _wanted(self) -> dict[BatchKey, Ints]:
        """Return the instances of each batch that the table asks for."""
        table, wanted = self.table, dict[BatchKey, Ints]()
        movable_mask = np.isin(self.appearance.object_ids, self._movers)[table.rows]
        for group in table.batches:
            own = np.arange(group.start, group.stop)
            for number, piece in enumerate(self.mesh(group.key)):
                opacities = np.round(table.colors[own, 3] * piece.opacity).astype(np.int64)
                # A batch is drawn with one opacity.
                for opacity in np.unique(opacities).tolist():
                    for movable in (False, True):
                        members = own[(opacities == opacity) & (movable_mask[own] == movable)]
                        if len(members):
                            key = BatchKey(group.key, number, movable, opacity, None)
                            wanted[key] = members
                            if piece.painted is not None:
                                wanted |= self._painted(key, members)
        return wanted

    def _painted(self, key: BatchKey, members: Ints) -> dict[BatchKey, Ints]:
        """Return the batches of instances with a texture, one for each color that it is multiplied with."""
        own = self.table.colors[members, :3]
        found = dict[BatchKey, Ints]()
        for red, green, blue in np.unique(own, axis=0).tolist():
            paint = (red, green, blue)
            found[key._replace(paint=paint)] = members[(own == np.array(paint)).all(axis=1)]
        return found

    def _make(self, key: BatchKey, members: Ints, colors: Bytes) -> MeshBatch:
        piece = self.mesh(key.mesh)[key.piece]
        # A new name each time: the page must not take it for one that it has.
        self._made += 1
        name, turns = f"/bodies/{self._made}", _wxyz(self.orientations[members])
        # The page has 32 bits.
        places, scales = self.positions[members].astype(np.float32), self.table.scales[members]
        lod: Literal["off", "auto"] = "off" if len(piece.faces) < FEW_TRIANGLES else "auto"
        handle: viser.BatchedMeshHandle | viser.BatchedGlbHandle
        if key.paint is not None and piece.painted is not None:
            glb = textured_glb(piece.painted.drawable, piece.painted.picture, _factor(key, piece))
            handle = self._scene.add_batched_glb(
                name, glb, turns, places, batched_scales=scales, lod=lod, receive_shadow=False
            )
        else:
            handle = self._scene.add_batched_meshes_simple(
                name,
                piece.vertices,
                piece.faces,
                turns,
                places,
                batched_scales=scales,
                batched_colors=_tinted(colors[members], piece),
                opacity=None if key.opacity >= 255 else key.opacity / 255.0,
                lod=lod,
                # Shadows on bodies are too coarse: they would be striped.
                receive_shadow=False,
                # What is mirrored has its triangles inside out.
                side="double" if key.mesh.mirrored else "front",
            )
        return MeshBatch(handle, members, piece)


def _factor(key: BatchKey, piece: MeshPiece) -> Floats:
    """Return what the colors of a texture are multiplied with (4,), in linear light."""
    linear = _tinted(np.array([key.paint], np.uint8), piece)[0]
    return np.append(linear, key.opacity) / 255.0


def _same_size(batch: MeshBatch, members: Ints | None) -> bool:
    return members is not None and len(members) == len(batch.members)


def _tinted(colors: Bytes, piece: MeshPiece) -> Bytes:
    """Return colors (K, 3) of instances times that of the piece, as viser takes those of batches: in linear light."""
    if piece.tint != (1.0, 1.0, 1.0):
        colors = np.round(colors * np.array(piece.tint)).astype(np.uint8)
    return linear_light(colors)


def linear_light(colors: Bytes) -> Bytes:
    """Return colors (K, 3) in sRGB as viser takes those of batches."""
    linear: Bytes = _LINEAR[colors]
    return linear


def _wxyz(orientations: Floats) -> npt.NDArray[np.float32]:
    """Return quaternions with the real part first, as viser has them."""
    return np.roll(orientations, 1, axis=1).astype(np.float32)
