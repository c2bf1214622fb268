"""The bodies on the page: their meshes, where their links are, and which of them is under the mouse.

Instances with the same mesh, opacity and texture are one batch. Poses and colors are assigned in each frame, and only
what differs is sent; a batch of another size is made anew.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import viser

from fleet_sim.base.arrays import AnyArray, Bools, Bytes, Floats, Ints, png_bytes
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.spatial import quaternions
from fleet_sim.facade.update import MANY
from fleet_sim.models.kinematics.tree import ORIGIN, Forward, orientations, tree_of
from fleet_sim.models.meshes.mesh import Drawable, Material, Mesh, Part
from fleet_sim.sensing.sensors.render.scene import InstanceTable, MeshKey, MeshStore, instance_table, read_texture
from fleet_sim.world.shapes import RobotModel
from fleet_sim.world.snapshot import NO_APPEARANCE, Appearance, Snapshot, appearance_in, looks_alike

# Meshes with a texture, in the binary form of glTF: the only one in which viser takes pictures on surfaces.


_MAGIC, _VERSION = b"glTF", 2
_JSON, _BINARY = b"JSON", b"BIN\0"
_FLOAT, _UNSIGNED_INT = 5126, 5125
_ROUGH: Final = 0.9
"""As rough as what has no texture on the page, to the eye."""


def textured_glb(drawable: Drawable, picture: Bytes, factor: Floats) -> bytes:
    """Return a mesh with the texture `picture` (H, W, 3), its last line first, as the content of a GLB file.

    The colors of the picture are multiplied with `factor` (4,), in linear light, the last its opacity.
    """
    vertices = drawable.vertices
    # In glTF, the second coordinate counts down from the upper edge of the picture.
    places = np.stack((vertices[:, 6], 1.0 - vertices[:, 7]), axis=1)
    arrays: dict[str, AnyArray] = {
        "POSITION": vertices[:, :3],
        "NORMAL": vertices[:, 3:6],
        "TEXCOORD_0": places.astype(np.float32),
        "triangles": drawable.triangles.reshape(-1).astype(np.uint32),
    }
    chunks = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    # Its first line is at the top.
    chunks.append(png_bytes(np.ascontiguousarray(picture[::-1])))
    body = b"".join(chunk + bytes(-len(chunk) % 4) for chunk in chunks)
    head = json.dumps(_description(arrays, chunks, factor)).encode()
    head += b" " * (-len(head) % 4)
    parts = (struct.pack("<I4s", len(content), kind) + content for content, kind in ((head, _JSON), (body, _BINARY)))
    data = b"".join(parts)
    return struct.pack("<4sII", _MAGIC, _VERSION, 12 + len(data)) + data


def _description(arrays: dict[str, AnyArray], chunks: list[bytes], factor: Floats) -> dict[str, Any]:
    views, at = [], 0
    for chunk in chunks:
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(chunk)})
        at += len(chunk) + -len(chunk) % 4
    names = list(arrays)
    primitive = {"attributes": {name: names.index(name) for name in names[:3]}, "indices": 3, "material": 0}
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "materials": [_material(factor)],
        "textures": [{"source": 0}],
        "images": [{"bufferView": len(arrays), "mimeType": "image/png"}],
        "accessors": _accessors(arrays),
        "bufferViews": views,
        "buffers": [{"byteLength": at}],
    }


def _accessors(arrays: dict[str, AnyArray]) -> list[dict[str, Any]]:
    """Return what each array holds; of the positions, which come first, also the box around them."""
    accessors: list[dict[str, Any]] = [
        {
            "bufferView": number,
            "componentType": _UNSIGNED_INT if array.dtype == np.uint32 else _FLOAT,
            "count": len(array),
            "type": "SCALAR" if array.ndim == 1 else f"VEC{array.shape[1]}",
        }
        for number, array in enumerate(arrays.values())
    ]
    points = arrays["POSITION"]
    accessors[0] |= {"min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()}
    return accessors


def _material(factor: Floats) -> dict[str, Any]:
    """Return a dull surface with the picture, times `factor` (4,); translucent where its opacity is below 1."""
    material: dict[str, Any] = {
        "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0},
            "baseColorFactor": factor.tolist(),
            "metallicFactor": 0.0,
            "roughnessFactor": _ROUGH,
        }
    }
    if factor[3] < 1.0:
        material["alphaMode"] = "BLEND"
    return material


# Where links and geometries of a snapshot are: kinematics for who may not ask the world.


class LinkFrames:
    """Poses of links in snapshots. It keeps work arrays, so it is for one thread."""

    def __init__(self) -> None:
        self._forwards: dict[int, Forward] = {}

    def link_poses(self, snapshot: Snapshot, looks: Appearance, indices: Ints, links: Ints) -> tuple[Floats, Floats]:
        """Return the world poses (K, 3) and (K, 4) of one link of each of the entities `indices` (K,); -1: the base."""
        positions, turns = snapshot.positions[indices], snapshot.orientations[indices]
        numbers = np.where(links < 0, -1, looks.model_ids[indices])
        for number in np.unique(numbers[numbers >= 0]).tolist():
            members = np.flatnonzero(numbers == number)
            inside = self._in_base(snapshot, looks.models[number], indices[members], links[members])
            positions[members], turns[members] = quaternions.compose(positions[members], turns[members], *inside)
        return positions, turns

    def instance_poses(self, snapshot: Snapshot, looks: Appearance, table: InstanceTable) -> tuple[Floats, Floats]:
        """Return the world poses (M, 3) and (M, 4) of all instances of a table, made of the snapshot's appearance."""
        positions, turns = snapshot.positions[table.rows], snapshot.orientations[table.rows]
        chosen = table.on_links
        if len(chosen):
            positions[chosen], turns[chosen] = self.link_poses(snapshot, looks, table.rows[chosen], table.links[chosen])
        chosen = table.placed
        if len(chosen):
            positions[chosen], turns[chosen] = quaternions.compose(
                positions[chosen], turns[chosen], table.positions[chosen], table.orientations[chosen]
            )
        return positions, turns

    def _in_base(self, snapshot: Snapshot, model: RobotModel, indices: Ints, links: Ints) -> tuple[Floats, Floats]:
        tree = tree_of(model)
        forward = self._forwards.get(id(tree))
        if forward is None:
            # The tree is cached as long as its model, and the entry holds it: its id stays its own.
            forward = self._forwards[id(tree)] = Forward(tree)
        robots, places = np.unique(indices, return_inverse=True)
        values = snapshot.joint_positions[snapshot.joint_starts[robots][:, None] + np.arange(len(tree.slots))]
        # As many as worlds use compiled code from: in Python they take longer than a picture may.
        compiled = len(values) >= MANY and is_usable()
        frames = forward.frames(values, compiled=compiled)[:, :, tree.link_body[links], places]
        return quaternions.compose(
            frames[:, ORIGIN].T, orientations(frames), tree.link_position[links], tree.link_orientation[links]
        )


# Meshes in the form in which they are sent to the page.


log = logging.getLogger("fleet_sim.apps.viewer")

Rgb = tuple[float, float, float]
SMOOTH = 1e-4
"""Corners at one point whose normals differ by less, per axis, are one vertex."""


class MeshPiece(NamedTuple):
    """The triangles of a mesh that have one material. `tint` is multiplied with the color of an instance.

    The page computes normals itself, as averages over the triangles at a vertex: an edge is sharp where its corners are
    different vertices.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    tint: Rgb
    opacity: float
    painted: Painted | None = None
    """The same triangles with their texture."""


class Painted(NamedTuple):
    """Triangles with texture coordinates, and their texture (H, W, 3), its last line first."""

    drawable: Drawable
    picture: Bytes


def pieces_of(mesh: Mesh) -> tuple[MeshPiece, ...]:
    """Return the pieces of `mesh`, one for each material in it."""
    by_material: dict[Material, list[Part]] = {}
    for part in mesh.parts:
        by_material.setdefault(part.material, []).append(part)
    return tuple(_piece(parts) for parts in by_material.values())


def _piece(parts: list[Part]) -> MeshPiece:
    vertices, faces, count = [], [], 0
    for part in parts:
        drawable = part.drawable()
        vertices.append(drawable.vertices)
        faces.append(drawable.triangles + count)
        count += len(drawable.vertices)
    whole = Drawable(np.concatenate(vertices), np.concatenate(faces))
    corners = whole.vertices[:, :6]
    # One vertex for all corners that are at one point and look the same way.
    keys = np.round(corners / SMOOTH).astype(np.int64)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    welded = number.reshape(-1)[whole.triangles]
    material = parts[0].material
    red, green, blue, opacity = material.rgba
    painted = _painted(whole, material.texture) if material.texture else None
    positions = np.ascontiguousarray(corners[first, :3], np.float32)
    return MeshPiece(positions, welded.astype(np.uint32), (red, green, blue), opacity, painted)


def _painted(drawable: Drawable, texture: str) -> Painted | None:
    try:
        return Painted(drawable, read_texture(texture))
    except InvalidValueError as error:
        log.warning("%s; the page shows the mesh without it", error)
        return None


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


# What is under the mouse: the body that a ray meets first, exactly, triangle by triangle.


Triangles = tuple[Floats, Floats, Floats]


def pick(bodies: ShownBodies, origin: Floats, direction: Floats) -> tuple[int, float] | None:
    """Return the index of the entity that a ray meets first, as the page shows it, and how far away in m; or None."""
    table = bodies.table
    near = _near(table, bodies.positions, origin, direction, bodies.shown_mask)
    best: tuple[int, float] | None = None
    for instance, entry in near:
        if best is not None and entry > best[1]:
            # The others begin further away than what was found.
            break
        away = _distance(bodies, instance, origin, direction)
        if away is not None and (best is None or away < best[1]):
            best = (int(table.rows[instance]), away)
    return best


def meets_floor(origin: Floats, direction: Floats, height: float = 0.0) -> Floats | None:
    """Return the point (3,) where a ray meets the level plane at `height` m, or None."""
    if abs(direction[2]) < 1e-9:
        return None
    away = (height - origin[2]) / direction[2]
    if away <= 0.0:
        return None
    point: Floats = origin + away * direction
    return point


def _near(
    table: InstanceTable, positions: Floats, origin: Floats, direction: Floats, shown_mask: Bools
) -> list[tuple[int, float]]:
    """Return the shown instances whose spheres the ray meets and the distances to these, the nearest first."""
    to = positions - origin
    along = to @ direction
    aside = np.einsum("ij,ij->i", to, to) - along * along
    reach = table.radii * table.radii - aside
    chosen: Ints = np.flatnonzero((reach >= 0.0) & (along + table.radii > 0.0) & shown_mask)
    entries = along[chosen] - np.sqrt(reach[chosen])
    order = np.argsort(entries)
    return list(zip(chosen[order].tolist(), entries[order].tolist(), strict=True))


def _distance(bodies: ShownBodies, instance: int, origin: Floats, direction: Floats) -> float | None:
    table = bodies.table
    back = quaternions.conjugate(bodies.orientations[instance][None])
    scale = table.scales[instance].astype(np.float64)
    # In the frame of the unscaled mesh; the factor along the ray stays the same, as the direction is not normalised.
    start = quaternions.rotate(back, (origin - bodies.positions[instance])[None])[0] / scale
    way = quaternions.rotate(back, direction[None])[0] / scale
    found = [
        _first(piece.vertices[piece.faces].astype(np.float64), start, way)
        for piece in bodies.mesh(_key(table, instance))
    ]
    return min((away for away in found if away is not None), default=None)


def _key(table: InstanceTable, instance: int) -> MeshKey:
    return next(group.key for group in table.batches if group.start <= instance < group.stop)


def _first(corners: Floats, start: Floats, way: Floats) -> float | None:
    """Return the smallest factor of `way` at which a ray meets one of the triangles (T, 3, 3); Moeller and Trumbore."""
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, two)
    size = np.einsum("ij,ij->i", one, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        to = start - corners[:, 0]
        u = np.einsum("ij,ij->i", to, across) / size
        turned = np.cross(to, one)
        v = (turned @ way) / size
        away = np.einsum("ij,ij->i", two, turned) / size
        hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (away > 0.0)
    return float(away[hit].min()) if hit.any() else None
