"""Draws all entities of a world, instance by instance, straight from the columns."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Bools, Floats, Ints
from fleet_sim.core.world import World
from fleet_sim.meshes import primitives
from fleet_sim.sensors.render.culling import Frustum
from fleet_sim.sensors.render.flat_marks import FlatMarks
from fleet_sim.sensors.render.gl.context import give_back, take_context
from fleet_sim.sensors.render.gl.meshes import INSTANCE, GpuMesh, Textures
from fleet_sim.sensors.render.gl.programs import Programs, set_uniform
from fleet_sim.sensors.render.gl.targets import Target
from fleet_sim.sensors.render.instances import InstanceTable, MeshKey
from fleet_sim.sensors.render.scene import PLANE_HALF_SIZE, Scene
from fleet_sim.sensors.render.shot import Float32s, Frame, Lighting, Shot
from fleet_sim.spatial import quaternions

Drawn = list[tuple[GpuMesh, int]]
"""Meshes and how many instances of each are to be drawn."""


class GlRenderer:
    """Takes pictures with OpenGL, on a GPU where there is one, else in software.

    It sees the visual geometries of all entities and the floor, where the world has one. May be used from any thread,
    by one at a time.
    """

    name = "opengl"

    def __init__(self, world: World, *, floor: bool = False, lighting: Lighting | None = None) -> None:
        """Take an OpenGL context for the pictures of `world`; raises as `take_context` does."""
        self.lighting = lighting or Lighting()
        self.floor = floor
        self.marks: FlatMarks | None = None
        """What is shown besides the world, in colors only; without shadows."""
        self._scene = Scene(world)
        self._context = take_context()
        # Whoever made the renderer may forget to close it: a simulation that is dropped does.
        self._release = weakref.finalize(self, give_back, self._context)
        # At exit the process frees all of it, and the driver may be gone before this is called.
        self._release.atexit = False
        self._targets: dict[tuple[int, int, frozenset[str]], Target] = {}
        self._meshes: dict[tuple[MeshKey, int], GpuMesh] = {}
        self._templates_of: InstanceTable | None = None
        self._instances = np.zeros(0, INSTANCE)
        self._mark_mesh: GpuMesh | None = None
        with self._context:
            self._programs = Programs(self._context, self.lighting)
            self._textures = Textures(self._context)
            self._device = str(self._context.info["GL_RENDERER"])

    @property
    def device(self) -> str:
        """What draws: the name of a GPU, or of a software renderer."""
        return self._device

    def render(self, shot: Shot) -> Frame:
        """Return the picture; raises InvalidValueError for a mesh or texture file that cannot be used."""
        with self._context:
            # Frees what Python has dropped since, while the context is current.
            self._context.gc()
            axes = _axes(shot)
            clip = _clip_matrix(shot, axes)
            target = self._target(shot)
            drawn = self._place(shot, axes)
            self._draw(target, clip, shot, drawn)
            return target.read()

    def close(self) -> None:
        """Free the resources; may be called again."""
        self._targets.clear()
        self._meshes.clear()
        self._mark_mesh = None
        if self._release.alive:
            with self._context:
                # While it is ours: freed now, and not when somebody else draws with it.
                self._context.gc()
        self._release()

    # ---- what is there -----------------------------------------------------------------------------------------------

    def _shaded(self, shot: Shot) -> bool:
        """Return whether shadows can be seen: from above the floor, in colors."""
        return shot.shadows and self.floor and "rgb" in shot.channels and bool(shot.position[2] > 0.0)

    def _target(self, shot: Shot) -> Target:
        size = (shot.intrinsics.width, shot.intrinsics.height)
        # Framebuffers are costly to make, and cameras of one kind share one.
        key = (*size, shot.channels)
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = Target(self._context, size, shot.channels)
        return target

    def _place(self, shot: Shot, axes: Floats) -> Drawn:
        """Upload the instances that can be seen, themselves or their shadows."""
        table = self._scene.table()
        positions, orientations = self._scene.poses(table)
        # Subtracted in 64 bits: the GPU computes in 32, which would jitter far from the world's origin.
        positions -= shot.position
        frustum = Frustum(shot, axes)
        seen_mask = frustum.sees(positions, table.radii)
        if self._shaded(shot):
            seen_mask |= self._shadow_seen(shot, frustum, positions, table.radii)
        seen = np.flatnonzero(seen_mask)
        instances = self._templates(table)[seen]
        instances["position"] = positions[seen]
        instances["orientation"] = orientations[seen]
        drawn = []
        for key, level, members in _by_mesh(table, seen, frustum, positions):
            mesh = self._mesh(key, level)
            mesh.write(instances[members])
            drawn.append((mesh, len(instances[members])))
        return drawn

    def _shadow_seen(self, shot: Shot, frustum: Frustum, centres: Floats, radii: Floats) -> Bools:
        """Return which instances (M,) throw a shadow on the part of the floor that is in the picture."""
        sun = self._programs.sun
        heights = np.maximum(centres[:, 2] + shot.position[2], 0.0)
        # Along the sun's rays down to the floor. A sphere's shadow is stretched by at most 1 / sun.z.
        shadows = centres - (heights / sun[2])[:, None] * sun
        seen_mask = frustum.sees(shadows, radii / sun[2])
        edge = PLANE_HALF_SIZE - np.abs(shot.position[:2])
        if len(shadows) and edge.min() < shot.far:
            # There is no shadow where there is no floor.
            seen_mask &= (np.abs(shadows[:, :2] + shot.position[:2]) < PLANE_HALF_SIZE).all(1)
        return seen_mask

    def _place_marks(self, shot: Shot) -> Drawn:
        """Upload the marks, where they are to be seen."""
        marks = self.marks
        if marks is None or not len(marks.positions) or shot.channels != frozenset({"rgb"}):
            return []
        if self._mark_mesh is None:
            self._mark_mesh = GpuMesh(self._context, primitives.box(), mirrored=False)
        instances = np.zeros(len(marks.positions), INSTANCE)
        instances["position"] = marks.positions - shot.position
        instances["orientation"] = quaternions.from_yaws(marks.yaws)
        instances["scale"] = marks.half_extents
        instances["color"][:, :3], instances["color"][:, 3] = marks.colors, 255
        self._mark_mesh.write(instances)
        return [(self._mark_mesh, len(instances))]

    def _templates(self, table: InstanceTable) -> npt.NDArray[np.void]:
        """Return all instances of a table as uploaded, without their poses."""
        # The table is made anew when something is spawned, removed or colored; until then only poses change.
        if self._templates_of is not table:
            instances = np.zeros(len(table.rows), INSTANCE)
            instances["scale"] = table.scales
            instances["color"] = table.colors
            instances["id"] = table.ids
            self._templates_of, self._instances = table, instances
        return self._instances

    def _mesh(self, key: MeshKey, level: int) -> GpuMesh:
        mesh = self._meshes.get((key, level))
        if mesh is None:
            mesh = self._meshes[key, level] = GpuMesh(
                self._context, self._scene.meshes.mesh(key, level), mirrored=key.mirrored
            )
        return mesh

    # ---- drawing -----------------------------------------------------------------------------------------------------

    def _draw(self, target: Target, clip: Float32s, shot: Shot, drawn: Drawn) -> None:
        """Draw the picture: solids first, then their shadows, and the floor behind both."""
        context = self._context
        target.clear(self.lighting.background)
        context.enable_only(context.DEPTH_TEST | context.CULL_FACE)
        # The floor comes last: where something stands on it, the depth test skips its pixels.
        self._draw_solids(clip, shot, drawn + self._place_marks(shot))
        if self.floor:
            if self._shaded(shot):
                self._draw_shadows(clip, shot, drawn)
            context.front_face = "cw"
            # The floor gives way a little, so that shadows, which are in the same plane, win everywhere.
            context.polygon_offset = (1.0, 4.0)
            self._draw_floor(clip, shot)
            context.polygon_offset = (0.0, 0.0)

    def _draw_solids(self, clip: Float32s, shot: Shot, drawn: Drawn) -> None:
        """Draw instances mesh by mesh, each piece of a mesh with its material."""
        for mesh, count in drawn:
            self._face(mesh)
            for index, piece in enumerate(mesh.pieces):
                texture = piece.material.texture
                program = self._programs.solid(shot.channels, textured=bool(texture))
                set_uniform(program, "clip", clip)
                set_uniform(program, "material", np.array(piece.material.rgba[:3], np.float32))
                if texture:
                    self._textures.texture(texture).use(0)
                mesh.array(index, program).render(instances=count)

    def _draw_floor(self, clip: Float32s, shot: Shot) -> None:
        array = self._programs.floor(shot.channels)
        set_uniform(array.program, "clip", clip)
        set_uniform(array.program, "eye", shot.position.astype(np.float32))
        array.render()

    def _draw_shadows(self, clip: Float32s, shot: Shot, drawn: Drawn) -> None:
        """Draw the shadows of all that is drawn, flat on the floor, all instances of a mesh in one call."""
        program = self._programs.shadow(shot.channels)
        set_uniform(program, "clip", clip)
        set_uniform(program, "eye", shot.position.astype(np.float32))
        for mesh, count in drawn:
            # The sides that face the sun cast all of the shadow; flat on the floor they face up.
            self._face(mesh)
            for index in range(len(mesh.pieces)):
                mesh.array(index, program).render(instances=count)

    def _face(self, mesh: GpuMesh) -> None:
        """Say which triangles are seen: those that face the eye, and no backs, so that cameras can be inside bodies.

        The picture's first line is the first in memory, so seen by OpenGL it is upside down.
        """
        self._context.front_face = "ccw" if mesh.mirrored else "cw"


def _axes(shot: Shot) -> Floats:
    """Return the axes of the optical frame in the world, as columns (3, 3)."""
    # For a single quaternion plain numbers are several times faster than arrays.
    x, y, z, w = shot.orientation.tolist()
    return np.array([
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    ])  # fmt: skip


def _clip_matrix(shot: Shot, axes: Floats) -> Float32s:
    """Return the matrix from eye-relative world axes to clip space, as OpenGL reads it."""
    turn = np.eye(4)
    turn[:3, :3] = axes.T
    clip = shot.intrinsics.clip_matrix(shot.near, shot.far) @ turn
    # OpenGL reads matrices column by column.
    return np.ascontiguousarray(clip.T, np.float32)


def _by_mesh(
    table: InstanceTable, seen: Ints, frustum: Frustum, positions: Floats
) -> Iterator[tuple[MeshKey, int, Ints | slice]]:
    """Yield mesh, level of detail and places in `seen` of the instances that show it; `seen` is in order."""
    # Instances of one mesh are consecutive in the table, and `seen` is sorted: two searches find those of each batch.
    starts = np.searchsorted(seen, [batch.start for batch in table.batches])
    stops = np.searchsorted(seen, [batch.stop for batch in table.batches])
    for batch, start, stop in zip(table.batches, starts.tolist(), stops.tolist(), strict=True):
        if start == stop:
            continue
        if batch.key.levels == 1:
            yield batch.key, 0, slice(start, stop)
            continue
        members = seen[start:stop]
        # The larger a body is in the picture, the more sides it gets.
        levels = np.searchsorted(primitives.LEVEL_RADII, frustum.pixels(positions[members], table.radii[members]))
        for level in np.unique(levels).tolist():
            yield batch.key, level, start + np.flatnonzero(levels == level)
