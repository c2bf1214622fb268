"""Meshes, their instances and their textures in the memory OpenGL draws from."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.errors import InvalidValueError
from fleet_sim.meshes.mesh import Material, Mesh, Part
from fleet_sim.sensors.render.textures import read_texture

if TYPE_CHECKING:
    import moderngl


log = logging.getLogger("fleet_sim.sensors")

INSTANCE = np.dtype([("position", "f4", 3), ("orientation", "f4", 4), ("scale", "f4", 3), ("color", "u1", 4),
                     ("id", "f4", 2)])  # fmt: skip
"""One instance, its position relative to the eye in world axes."""

VERTEX = (("in_vertex", "3f", 12), ("in_normal", "3f", 12), ("in_coordinates", "2f", 8))
"""Fields of a mesh's vertices: name, format, bytes."""
_INSTANCE_FIELDS = (("in_position", "3f", 12), ("in_orientation", "4f", 16), ("in_scale", "3f", 12),
                    ("in_color", "4f1", 4), ("in_id", "2f", 8))  # fmt: skip


class _Piece(NamedTuple):
    vertices: moderngl.Buffer
    triangles: moderngl.Buffer
    material: Material


class GpuMesh:
    """A mesh at one level of detail, with room for its instances, which grows.

    The factors of `mirrored` ones turn it inside out, so that its triangles go the other way round.
    """

    def __init__(self, context: moderngl.Context, mesh: Mesh, *, mirrored: bool) -> None:
        self.mirrored = mirrored
        self.pieces = [_upload(context, part) for part in mesh.parts]
        self._context = context
        self._capacity = 0
        self._instances: moderngl.Buffer | None = None
        self._arrays: dict[tuple[int, int], moderngl.VertexArray] = {}

    def write(self, instances: npt.NDArray[np.void]) -> None:
        """Replace the instances, an array of INSTANCE."""
        if len(instances) > self._capacity:
            # Doubling keeps the number of new buffers small while a fleet grows.
            self._capacity = max(2 * self._capacity, len(instances))
            self._instances = self._context.buffer(reserve=self._capacity * INSTANCE.itemsize, dynamic=True)
            # Vertex arrays refer to the old buffer.
            self._arrays.clear()
        assert self._instances is not None
        self._instances.write(instances)

    def array(self, piece: int, program: moderngl.Program) -> moderngl.VertexArray:
        """Return what draws one piece with `program`."""
        # A vertex array belongs to one program: each has other inputs in use.
        key = (piece, program.glo)
        array = self._arrays.get(key)
        if array is None:
            vertices, triangles, _ = self.pieces[piece]
            assert self._instances is not None
            content = [layout(program, vertices, VERTEX, "/v"),
                       layout(program, self._instances, _INSTANCE_FIELDS, "/i")]  # fmt: skip
            array = self._arrays[key] = self._context.vertex_array(program, content, triangles)
        return array


class Textures:
    """Textures by file, read when first drawn."""

    def __init__(self, context: moderngl.Context) -> None:
        self._context = context
        self._textures: dict[str, moderngl.Texture] = {}

    def texture(self, path: str) -> moderngl.Texture:
        """Return the texture of a picture file. One that is no picture is white, and one warning says so.

        Raises MissingDependencyError without Pillow.
        """
        texture = self._textures.get(path)
        if texture is None:
            try:
                pixels = read_texture(path)
            except InvalidValueError as error:
                log.warning("%s; it is drawn white", error)
                pixels = np.full((1, 1, 3), 255, np.uint8)
            # Rows of RGB bytes are not padded to 4 bytes, which is what OpenGL assumes unless told otherwise.
            size = (pixels.shape[1], pixels.shape[0])
            texture = self._textures[path] = self._context.texture(size, 3, pixels, alignment=1)
            texture.build_mipmaps()
        return texture


def layout(
    program: moderngl.Program, buffer: moderngl.Buffer, fields: tuple[tuple[str, str, int], ...], per: str
) -> tuple[Any, ...]:
    """Return how `program` reads a buffer of records with `fields`; those it does not use are skipped."""
    # The compiler drops inputs that have no effect on the outputs, and binding those would raise.
    used = [name for name, _, _ in fields if name in program]
    formats = [format if name in program else f"{size}x" for name, format, size in fields]
    return (buffer, " ".join(formats) + per, *used)


def _upload(context: moderngl.Context, part: Part) -> _Piece:
    vertices, triangles = part.drawable()
    return _Piece(context.buffer(vertices), context.buffer(triangles), part.material)
