"""Draws all entities of a world, instance by instance, straight from the columns, with shaders in GLSL."""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints
from fleet_sim.base.errors import InvalidValueError, StateError, of_extra
from fleet_sim.base.spatial import quaternions
from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.mesh import Material, Mesh, Part
from fleet_sim.sensing.sensors.render import scene
from fleet_sim.sensing.sensors.render.shot import CHANNELS, Color, Float32s, Frame, Lighting, Shot, in_bands
from fleet_sim.world.world import World

CHECK_SIZE = 1.0
"""Side in m of the squares of the floor."""

_INSTANCE = """
in vec3 in_vertex; in vec3 in_normal; in vec2 in_coordinates;
in vec3 in_position; in vec4 in_orientation; in vec3 in_scale; in vec4 in_color; in vec2 in_id;
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
"""

# Ids are floats in the target; 32 bits hold whole numbers exactly up to 2^24.
_OUTPUTS = {
    "rgb": ("vec4", "vec4(color, 1.0)"),
    "depth": ("float", "gl_FragCoord.w"),
    "ids": ("float", "id.x + 1.0"),
    "links": ("float", "id.y + 1.0"),
}
"""Type and value of each channel. All but colors are 0 where nothing is: `gl_FragCoord.w` is one over the depth."""

_LIGHT = """
uniform vec3 sun; uniform vec3 sun_color; uniform vec3 sky_color; uniform vec3 ground_color;
vec3 light(vec3 normal) {
    return mix(ground_color, sky_color, 0.5 + 0.5 * normal.z) + max(dot(normal, sun), 0.0) * sun_color;
}
"""


def _fragment(channels: frozenset[str], body: str) -> str:
    """Return a program per pixel that writes `channels`, in their order, where `body` has WRITES."""
    lines = ["#version 330"]
    writes = []
    for location, channel in enumerate(name for name in CHANNELS if name in channels):
        kind, value = _OUTPUTS[channel]
        lines.append(f"layout(location = {location}) out {kind} out_{channel};")
        writes.append(f"out_{channel} = {value};")
    return "\n".join([*lines, body.replace("WRITES", " ".join(writes))])


# Normals are divided by the scale, as positions are multiplied by it: they stay at right angles to the surface.
_SOLID_VERTEX = f"""
{_INSTANCE}
{_LIGHT}
uniform mat4 clip; uniform vec3 material;
flat out vec2 id; out vec3 lit; out vec2 coordinates;
void main() {{
    gl_Position = clip * vec4(in_position + turned(in_orientation, in_scale * in_vertex), 1.0);
    id = in_id;
#ifdef COLORED
    lit = in_color.rgb * material * light(normalize(turned(in_orientation, in_normal / in_scale)));
#ifdef TEXTURED
    coordinates = in_coordinates;
#endif
#endif
}}
"""
_SOLID_FRAGMENT = """
flat in vec2 id; in vec3 lit; in vec2 coordinates;
uniform sampler2D picture;
void main() {
    vec3 color = lit;
#ifdef TEXTURED
    color *= texture(picture, coordinates).rgb;
#endif
    WRITES
}
"""


def solid_source(channels: frozenset[str], *, textured: bool) -> tuple[str, str]:
    """Return the programs that draw instances, lit at their vertices."""
    defines = ["#define COLORED"] if "rgb" in channels else []
    if defines and textured:
        defines.append("#define TEXTURED")
    head = "\n".join(defines)
    return f"#version 330\n{head}{_SOLID_VERTEX}", _fragment(channels, head + _SOLID_FRAGMENT)


_FLOOR_VERTEX = """#version 330
in vec3 in_vertex;
uniform mat4 clip; uniform vec3 eye; uniform float half_size;
out vec2 place;
void main() {
    vec3 point = in_vertex * half_size;
    place = point.xy;
    gl_Position = clip * vec4(point - eye, 1.0);
}
"""
# The floor is at z = 0 of the world, so at -eye.z here.
_SHADOW_VERTEX = f"""#version 330
{_INSTANCE}
uniform mat4 clip; uniform vec3 sun; uniform vec3 eye;
out vec2 place;
void main() {{
    vec3 point = in_position + turned(in_orientation, in_scale * in_vertex);
    float height = max(point.z + eye.z, 0.0);
    vec2 flat_point = point.xy - sun.xy * (height / sun.z);
    place = flat_point + eye.xy;
    gl_Position = clip * vec4(flat_point, -eye.z, 1.0);
}}
"""
# The product of both waves is the sign of a square. Dividing by fwidth, the change per pixel, blurs edges over one
# pixel.
_SQUARES = (
    f"""
#define CYCLES {0.5 / CHECK_SIZE}
"""
    + """
in vec2 place;
#ifdef COLORED
uniform vec3 dark; uniform vec3 bright;
vec3 squares() {
    vec2 sides = abs(fract(CYCLES * place + 0.25) - 0.5) - 0.25;
    vec2 steps = clamp(sides / (CYCLES * fwidth(place)), -0.5, 0.5);
    return mix(dark, bright, 0.5 + 2.0 * steps.x * steps.y);
}
#else
vec3 squares() { return vec3(0.0); }
#endif
void main() { vec2 id = vec2(-1.0); vec3 color = squares(); WRITES }
"""
)


def floor_source(channels: frozenset[str]) -> tuple[str, str]:
    """Return the programs that draw the floor: squares of two colors.

    Squares smaller than a pixel blend into their mean, so that the floor does not flicker in the distance.
    """
    return _FLOOR_VERTEX, _fragment(channels, "#define COLORED" * ("rgb" in channels) + _SQUARES)


def shadow_source(channels: frozenset[str]) -> tuple[str, str]:
    """Return the programs that draw the floor in shadow: instances, pressed flat along the sun's rays."""
    return _SHADOW_VERTEX, floor_source(channels)[1]


if TYPE_CHECKING:
    import moderngl


# Which instances a camera can see, and how large it sees them.


class Frustum:
    """The space visible to a camera, bounded by six planes."""

    def __init__(self, shot: Shot, axes: Floats) -> None:
        """Take the space of `shot`; `axes` (3, 3) has the axes of its optical frame as columns, in world axes."""
        lens = shot.intrinsics
        # The picture ends half a pixel outside of the centres of its outermost pixels.
        left, right = (-0.5 - lens.cx) / lens.fx, (lens.width - 0.5 - lens.cx) / lens.fx
        top, bottom = (-0.5 - lens.cy) / lens.fy, (lens.height - 0.5 - lens.cy) / lens.fy
        inwards = np.array([
            (1.0, 0.0, -left), (-1.0, 0.0, right), (0.0, 1.0, -top), (0.0, -1.0, bottom), (0.0, 0.0, 1.0),
            (0.0, 0.0, -1.0),
        ]).T  # fmt: skip
        inwards /= np.sqrt((inwards * inwards).sum(0))
        # Turned into world axes once, instead of turning every centre into the optical frame.
        self._normals = axes @ inwards
        self._offsets = np.array([0.0, 0.0, 0.0, 0.0, -shot.near, shot.far])
        self._forward = axes[:, 2]
        self._focal = max(lens.fx, lens.fy)
        self._near = shot.near

    def sees(self, centres: Floats, radii: Floats) -> Bools:
        """Return which spheres it sees, of `centres` (M, 3), in world axes and relative to the eye, and `radii` (M,).

        Spheres outside a corner may count as seen.
        """
        inside = centres @ self._normals
        inside += self._offsets
        inside += radii[:, None]
        return np.asarray(inside.min(1, initial=np.inf) > 0.0)

    def pixels(self, centres: Floats, radii: Floats) -> Floats:
        """Return the radii (M,) in pixels of spheres it sees."""
        # What is around or behind the eye gets the size it would have at the near plane: the finest level, and no
        # division by 0.
        return self._focal * radii / np.maximum(centres @ self._forward, self._near)


# An OpenGL context without a window.


LIBRARIES = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"}
"""Libraries the rasteriser loads, and the packages of Debian and Ubuntu they are in."""
PACKAGES = "libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"


MOST_FREE = 4
_FREE: list[Any] = []
# A context of the parent cannot be used in a child that was forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FREE.clear)


def take_context() -> moderngl.Context:
    """Return a context that nobody uses; raises as `make_context` does. To be given back."""
    # Each context that is made costs 0.2 MB that moderngl never frees.
    try:
        return _FREE.pop()
    except IndexError:
        return make_context()


def give_back(context: moderngl.Context) -> None:
    """Take back a context that is not used any more. What was made in it may still be there until it is used again."""
    if len(_FREE) < MOST_FREE:
        _FREE.append(context)
    else:
        context.release()


def make_context() -> moderngl.Context:
    """Return a new OpenGL 3.3 context on EGL, current in this thread.

    Raises MissingDependencyError without moderngl, and StateError, saying what to install, where EGL is missing or has
    no device to draw with.
    """
    with of_extra("moderngl", "camera", "The OpenGL renderer"):
        module: Any = importlib.import_module("moderngl")
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError as error:
            raise StateError(f"{library} cannot be loaded; apt install {package}, or {PACKAGES} for all") from error
    try:
        context: moderngl.Context = module.create_context(
            require=330, standalone=True, backend="egl", libgl="libGL.so.1", libegl="libEGL.so.1"
        )
    except Exception as error:  # what it raises has no narrower class
        raise StateError(f"EGL gives no OpenGL 3.3 context ({error}); apt install {PACKAGES}") from error
    # Objects are freed when the context is asked to, while it is current: not when Python happens to drop them.
    context.gc_mode = "context_gc"
    return context


# Meshes, their instances and their textures in the memory OpenGL draws from.


log = logging.getLogger("fleet_sim.sensing.sensors")

INSTANCE = np.dtype([("position", "f4", 3), ("orientation", "f4", 4), ("scale", "f4", 3), ("color", "u1", 4),
                     ("id", "f4", 2)])  # fmt: skip
"""One instance, its position relative to the eye in world axes."""

VERTEX = (("in_vertex", "3f", 12), ("in_normal", "3f", 12), ("in_coordinates", "2f", 8))
"""Fields of a mesh's vertices: name, format, bytes."""
_INSTANCE_FIELDS = (("in_position", "3f", 12), ("in_orientation", "4f", 16), ("in_scale", "3f", 12),
                    ("in_color", "4f1", 4), ("in_id", "2f", 8))  # fmt: skip


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
                pixels = scene.read_texture(path)
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


def _upload(context: moderngl.Context, part: Part) -> tuple[moderngl.Buffer, moderngl.Buffer, Material]:
    vertices, triangles = part.drawable()
    return context.buffer(vertices), context.buffer(triangles), part.material


# Programs, compiled when first needed, with the light they draw in.


class Programs:
    """All programs of one context."""

    def __init__(self, context: moderngl.Context, lighting: Lighting) -> None:
        self._context = context
        sun = np.array(lighting.sun, np.float64)
        self.sun = sun / np.linalg.norm(sun)
        # The six corners of two triangles, drawn without an index buffer.
        self._square = context.buffer(primitives.square().parts[0].drawable().vertices[[0, 1, 2, 0, 2, 3]])
        self._solids: dict[tuple[frozenset[str], bool], moderngl.Program] = {}
        self._floors: dict[frozenset[str], moderngl.VertexArray] = {}
        self._shadows: dict[frozenset[str], moderngl.Program] = {}
        shaded = np.array(lighting.sky_color)
        # The floor faces up, so its light is the same everywhere and computed once, not per pixel.
        lit = shaded + self.sun[2] * np.array(lighting.sun_color)
        dark, bright = lighting.floor
        self._in_light = {"dark": _under(dark, lit), "bright": _under(bright, lit)}
        self._in_shadow = {"dark": _under(dark, shaded), "bright": _under(bright, shaded)}
        self._constants = {
            "sun": tuple(self.sun),
            "sun_color": lighting.sun_color,
            "sky_color": lighting.sky_color,
            "ground_color": lighting.ground_color,
            "half_size": scene.PLANE_HALF_SIZE,
        }

    def solid(self, channels: frozenset[str], *, textured: bool) -> moderngl.Program:
        """Return what draws instances."""
        key = (channels, textured)
        if key not in self._solids:
            self._solids[key] = self._compile(solid_source(channels, textured=textured), {})
        return self._solids[key]

    def floor(self, channels: frozenset[str]) -> moderngl.VertexArray:
        """Return what draws the floor."""
        if channels not in self._floors:
            program = self._compile(floor_source(channels), self._in_light)
            self._floors[channels] = self._context.vertex_array(program, [layout(program, self._square, VERTEX, "/v")])
        return self._floors[channels]

    def shadow(self, channels: frozenset[str]) -> moderngl.Program:
        """Return what draws the shadows of instances on the floor."""
        if channels not in self._shadows:
            self._shadows[channels] = self._compile(shadow_source(channels), self._in_shadow)
        return self._shadows[channels]

    def _compile(self, sources: tuple[str, str], constants: dict[str, Color]) -> moderngl.Program:
        vertex, fragment = sources
        program = self._context.program(vertex_shader=vertex, fragment_shader=fragment)
        for name, value in (self._constants | constants).items():
            set_uniform(program, name, np.array(value, np.float32))
        return program


def set_uniform(program: moderngl.Program, name: str, values: npt.NDArray[np.float32]) -> None:
    """Give a program a value, unless it has no use for it."""
    uniform: Any = program.get(name, None)
    if uniform is not None:
        uniform.write(values)


def _under(light_color: Color, light: Floats) -> Color:
    red, green, blue = (np.array(light_color) * light).tolist()
    return red, green, blue


# Framebuffers to draw into and read from.


class Target:
    """Textures for the channels of pictures of one size.

    All channels but the colors are floats that are 0 where nothing is.
    """

    def __init__(self, context: moderngl.Context, size: tuple[int, int], channels: frozenset[str]) -> None:
        self.channels = tuple(name for name in CHANNELS if name in channels)
        self._size = size
        textures = [context.texture(size, 4) if name == "rgb" else context.texture(size, 1, dtype="f4")
                    for name in self.channels]  # fmt: skip
        colored = [name == "rgb" for name in self.channels]
        self._all = _mask([True] * len(colored))
        self._others_only = _mask([not each for each in colored])
        self._colors_only = _mask(colored) if any(colored) else None
        self.framebuffer = context.framebuffer(textures, context.depth_renderbuffer(size))

    def clear(self, background: Color) -> None:
        """Clear the target and make it the current one."""
        framebuffer = self.framebuffer
        # One clear writes all attachments alike, but colors begin with the background and all others with 0. Masks
        # make it two clears.
        if self._colors_only is not None:
            framebuffer.color_mask = self._colors_only
            framebuffer.clear(*background)
            framebuffer.color_mask = self._others_only
        framebuffer.clear()
        framebuffer.color_mask = self._all
        framebuffer.use()

    def read(self) -> Frame:
        """Return the picture as new arrays."""
        arrays = {name: self._read_channel(attachment, name) for attachment, name in enumerate(self.channels)}
        return Frame(**arrays)

    def _read_channel(self, attachment: int, name: str) -> AnyArray:
        """Return one channel of the picture (H, W): colors, depth in m with inf for nothing, or ids with -1."""
        width, height = self._size
        if name == "rgb":
            rgb = np.empty((height, width, 3), np.uint8)
            self.framebuffer.read_into(rgb, components=3, attachment=attachment, alignment=1)
            return rgb
        values = np.empty((height, width), np.float32)
        self.framebuffer.read_into(values, components=1, attachment=attachment, alignment=1, dtype="f4")
        if name == "depth":
            # One over 0, where nothing was drawn, is the infinite depth that is wanted there.
            with np.errstate(divide="ignore"):
                return np.reciprocal(values, out=values)
        # Ids were stored plus one, so that the cleared 0 becomes -1.
        values -= 1.0
        return values.astype(np.int32)


def _mask(written: list[bool]) -> Any:
    """Return which attachments are written, as a framebuffer takes it."""
    # With one attachment moderngl takes its mask alone, not in a tuple.
    masks = tuple((each,) * 4 for each in written)
    return masks if len(masks) > 1 else masks[0]


MOST_AT_ONCE = 1 << 22
"""Pixels that are drawn in one call: half a second in software."""

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
        self.marks: scene.FlatMarks | None = None
        """What is shown besides the world, in colors only; without shadows."""
        self._scene = scene.Scene(world)
        self._context = take_context()
        # Whoever made the renderer may forget to close it: a simulation that is dropped does.
        self._release = weakref.finalize(self, give_back, self._context)
        # At exit the process frees all of it, and the driver may be gone before this is called.
        self._release.atexit = False
        self._targets: dict[tuple[int, int, frozenset[str]], Target] = {}
        self._meshes: dict[tuple[scene.MeshKey, int], GpuMesh] = {}
        self._templates_of: scene.InstanceTable | None = None
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
            return in_bands(shot, MOST_AT_ONCE, self._take)

    def _take(self, shot: Shot) -> Frame:
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
        edge = scene.PLANE_HALF_SIZE - np.abs(shot.position[:2])
        if len(shadows) and edge.min() < shot.far:
            # There is no shadow where there is no floor.
            seen_mask &= (np.abs(shadows[:, :2] + shot.position[:2]) < scene.PLANE_HALF_SIZE).all(1)
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

    def _templates(self, table: scene.InstanceTable) -> npt.NDArray[np.void]:
        """Return all instances of a table as uploaded, without their poses."""
        # The table is made anew when something is spawned, removed or colored; until then only poses change.
        if self._templates_of is not table:
            instances = np.zeros(len(table.rows), INSTANCE)
            instances["scale"] = table.scales
            instances["color"] = table.colors
            instances["id"] = table.ids
            self._templates_of, self._instances = table, instances
        return self._instances

    def _mesh(self, key: scene.MeshKey, level: int) -> GpuMesh:
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
            for index, (_, _, material) in enumerate(mesh.pieces):
                texture = material.texture
                program = self._programs.solid(shot.channels, textured=bool(texture))
                set_uniform(program, "clip", clip)
                set_uniform(program, "material", np.array(material.rgba[:3], np.float32))
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
    table: scene.InstanceTable, seen: Ints, frustum: Frustum, positions: Floats
) -> Iterator[tuple[scene.MeshKey, int, Ints | slice]]:
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
