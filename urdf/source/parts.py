"""Links and joints of URDF files. The inertia of a link is that of its collision shapes, all of one density."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)
QUARTER = math.pi / 2

COLORS = {
    "graphite": "0.2 0.22 0.25 1",
    "silver": "0.75 0.77 0.8 1",
    "white": "0.93 0.93 0.94 1",
    "orange": "0.95 0.45 0.1 1",
    "blue": "0.1 0.35 0.7 1",
    "rubber": "0.07 0.07 0.08 1",
    "glass": "0.05 0.08 0.12 1",
    "red": "0.8 0.12 0.1 1",
    "green": "0.2 0.65 0.3 1",
    "wood": "0.76 0.6 0.4 1",
    "carton": "0.72 0.55 0.36 1",
    "tape": "0.85 0.78 0.6 1",
}


def text(*values: float) -> str:
    """Return numbers as URDF writes them."""
    return " ".join(f"{round(value, 11) + 0.0:.12g}" for value in values)


@dataclass(frozen=True)
class Shape:
    """A box (`size` x, y, z), a cylinder (radius, length) or a sphere (radius) at a place in its link.

    Turned by `rpy`, of which only quarter turns about one axis are used where it collides.
    """

    kind: str
    size: tuple[float, ...]
    at: Vector = ORIGIN
    rpy: Vector = ORIGIN
    color: str = "silver"
    seen: bool = True
    collides: bool = True

    @property
    def volume(self) -> float:
        """The volume in m3."""
        if self.kind == "box":
            return math.prod(self.size)
        if self.kind == "cylinder":
            return math.pi * self.size[0] ** 2 * self.size[1]
        return 4.0 / 3.0 * math.pi * self.size[0] ** 3

    @property
    def moments(self) -> Vector:
        """Moments of inertia of 1 kg about the link's axes, through the shape's centre."""
        if self.kind == "box":
            x, y, z = (side * side / 12.0 for side in self.size)
            moments = (y + z, x + z, x + y)
        elif self.kind == "cylinder":
            radius, length = self.size
            across = radius * radius / 4.0 + length * length / 12.0
            moments = (across, across, radius * radius / 2.0)
        else:
            moments = (0.4 * self.size[0] ** 2,) * 3
        x, y, z = moments
        roll, pitch, yaw = (round(angle / QUARTER) % 2 for angle in self.rpy)
        assert roll + pitch + yaw <= 1, "a shape that collides is turned about one axis"
        return {(1, 0, 0): (x, z, y), (0, 1, 0): (z, y, x), (0, 0, 1): (y, x, z)}.get((roll, pitch, yaw), (x, y, z))

    def lines(self, tag: str) -> list[str]:
        """Return the <visual> or <collision>."""
        names = {"box": "size", "sphere": "radius", "cylinder": "radius"}
        if self.kind == "cylinder":
            measures = f'radius="{text(self.size[0])}" length="{text(self.size[1])}"'
        else:
            measures = f'{names[self.kind]}="{text(*self.size)}"'
        lines = [f"    <{tag}>"]
        if self.at != ORIGIN or self.rpy != ORIGIN:
            lines.append(f'      <origin xyz="{text(*self.at)}" rpy="{text(*self.rpy)}"/>')
        lines.append(f"      <geometry><{self.kind} {measures}/></geometry>")
        if tag == "visual":
            lines.append(f'      <material name="{self.color}"/>')
        return [*lines, f"    </{tag}>"]


def box(x: float, y: float, z: float, at: Vector = ORIGIN, color: str = "silver", **more: object) -> Shape:
    """Return a box of full size x, y, z."""
    return Shape("box", (x, y, z), at, color=color, **more)  # type: ignore[arg-type]


def cylinder(
    radius: float, length: float, at: Vector = ORIGIN, axis: str = "z", color: str = "silver", **more: object
) -> Shape:
    """Return a cylinder along x, y or z."""
    rpy = {"x": (0.0, QUARTER, 0.0), "y": (QUARTER, 0.0, 0.0), "z": ORIGIN}[axis]
    return Shape("cylinder", (radius, length), at, rpy, color, **more)  # type: ignore[arg-type]


def sphere(radius: float, at: Vector = ORIGIN, color: str = "silver", **more: object) -> Shape:
    """Return a sphere."""
    return Shape("sphere", (radius,), at, color=color, **more)  # type: ignore[arg-type]


@dataclass
class Robot:
    """A URDF file in the making."""

    name: str
    about: str
    links: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    colors: set[str] = field(default_factory=set)

    def link(
        self, name: str, mass: float = 0.0, *shapes: Shape, friction: float | None = None, spinning: float | None = None
    ) -> None:
        """Add a link of `mass` in kg; without shapes it is a frame only."""
        lines = [f'  <link name="{name}">']
        kinds = {"lateral_friction": friction, "spinning_friction": spinning}
        surface = "".join(f'<{kind} value="{text(value)}"/>' for kind, value in kinds.items() if value is not None)
        if surface:
            lines.append(f"    <contact>{surface}</contact>")
        lines += inertial(mass, [shape for shape in shapes if shape.collides])
        for shape in shapes:
            if shape.seen:
                self.colors.add(shape.color)
                lines += shape.lines("visual")
        for shape in shapes:
            lines += shape.lines("collision") if shape.collides else []
        self.links.append("\n".join([*lines, "  </link>"]))

    def joint(
        self,
        name: str,
        parent: str,
        child: str,
        at: Vector = ORIGIN,
        rpy: Vector = ORIGIN,
        *,
        kind: str = "fixed",
        axis: Vector = (0.0, 0.0, 1.0),
        limits: tuple[float, float] | None = None,
        effort: float = 0.0,
        velocity: float = 0.0,
        damping: float = 0.0,
        mimic: str | None = None,
    ) -> None:
        """Add a joint; `limits` in rad or m, `mimic` the joint whose position it takes."""
        lines = [
            f'  <joint name="{name}" type="{kind}">',
            f'    <parent link="{parent}"/>',
            f'    <child link="{child}"/>',
        ]
        lines.append(f'    <origin xyz="{text(*at)}" rpy="{text(*rpy)}"/>')
        if kind != "fixed":
            ends = f'lower="{text(limits[0])}" upper="{text(limits[1])}" ' if limits else ""
            lines.append(f'    <axis xyz="{text(*axis)}"/>')
            lines.append(f'    <limit {ends}effort="{text(effort)}" velocity="{text(velocity)}"/>')
            lines.append(f'    <dynamics damping="{text(damping)}" friction="0"/>')
        if mimic is not None:
            lines.append(f'    <mimic joint="{mimic}"/>')
        self.joints.append("\n".join([*lines, "  </joint>"]))

    def frame(self, name: str, parent: str, at: Vector = ORIGIN, rpy: Vector = ORIGIN) -> None:
        """Add a frame that is fixed to `parent`."""
        # Its mass is written as 0: a link without <inertial> would weigh 1 kg in PyBullet.
        self.link(name)
        self.joint(f"{name}_joint", parent, name, at, rpy)

    def __str__(self) -> str:
        materials = [
            f'  <material name="{name}"><color rgba="{COLORS[name]}"/></material>' for name in sorted(self.colors)
        ]
        note = f"<!-- {self.about}\n     Made by urdf/source/build.py: change it there. -->"
        head = ['<?xml version="1.0"?>', note, f'<robot name="{self.name}">']
        return "\n".join([*head, *materials, "", *self.links, "", *self.joints, "</robot>"]) + "\n"


def inertial(mass: float, shapes: list[Shape]) -> list[str]:
    """Return the <inertial> of `mass` spread evenly over `shapes`."""
    total = sum(shape.volume for shape in shapes)
    parts = [(mass * shape.volume / total, shape) for shape in shapes]
    centre = [sum(part * shape.at[axis] for part, shape in parts) / mass if parts else 0.0 for axis in range(3)]
    tensor = [[0.0] * 3 for _ in range(3)]
    for part, shape in parts:
        arm = [at - middle for at, middle in zip(shape.at, centre, strict=True)]
        square = sum(side * side for side in arm)
        for row in range(3):
            tensor[row][row] += part * (shape.moments[row] + square)
            for column in range(3):
                tensor[row][column] -= part * arm[row] * arm[column]
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    values = " ".join(f'{name}="{text(tensor[row][column])}"' for name, (row, column) in names.items())
    return [
        "    <inertial>",
        f'      <origin xyz="{text(*centre)}"/>',
        f'      <mass value="{text(mass)}"/>',
        f"      <inertia {values}/>",
        "    </inertial>",
    ]
