"""Programs, compiled when first needed, with the light they draw in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fleet_sim.arrays import Floats
from fleet_sim.meshes import primitives
from fleet_sim.sensors.render.gl import shaders
from fleet_sim.sensors.render.gl.meshes import VERTEX, layout
from fleet_sim.sensors.render.scene import PLANE_HALF_SIZE
from fleet_sim.sensors.render.shot import Color, Lighting

if TYPE_CHECKING:
    import moderngl


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
            "half_size": PLANE_HALF_SIZE,
        }

    def solid(self, channels: frozenset[str], *, textured: bool) -> moderngl.Program:
        """Return what draws instances."""
        key = (channels, textured)
        if key not in self._solids:
            self._solids[key] = self._compile(shaders.solid(channels, textured=textured), {})
        return self._solids[key]

    def floor(self, channels: frozenset[str]) -> moderngl.VertexArray:
        """Return what draws the floor."""
        if channels not in self._floors:
            program = self._compile(shaders.floor(channels), self._in_light)
            self._floors[channels] = self._context.vertex_array(program, [layout(program, self._square, VERTEX, "/v")])
        return self._floors[channels]

    def shadow(self, channels: frozenset[str]) -> moderngl.Program:
        """Return what draws the shadows of instances on the floor."""
        if channels not in self._shadows:
            self._shadows[channels] = self._compile(shaders.shadow(channels), self._in_shadow)
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
