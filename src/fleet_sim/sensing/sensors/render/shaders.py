"""The programs that run per vertex and per pixel, put together for the channels that are wanted.

Everything is relative to the eye: world axes, but the camera at the origin, which keeps 32 bits exact far from the
world's origin.
"""

from __future__ import annotations

from fleet_sim.sensing.sensors.render.shot import CHANNELS

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


def solid(channels: frozenset[str], *, textured: bool) -> tuple[str, str]:
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


def floor(channels: frozenset[str]) -> tuple[str, str]:
    """Return the programs that draw the floor: squares of two colors.

    Squares smaller than a pixel blend into their mean, so that the floor does not flicker in the distance.
    """
    return _FLOOR_VERTEX, _fragment(channels, "#define COLORED" * ("rgb" in channels) + _SQUARES)


def shadow(channels: frozenset[str]) -> tuple[str, str]:
    """Return the programs that draw the floor in shadow: instances, pressed flat along the sun's rays."""
    return _SHADOW_VERTEX, floor(channels)[1]
