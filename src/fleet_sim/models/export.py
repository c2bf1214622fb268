"""Exports models as URDF: for PyBullet, which then loads exactly the same model, and for `robot_description`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from pathlib import Path

import numpy as np

from fleet_sim.base.files import expanded, read_bytes
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.catalog import get_search_paths
from fleet_sim.models.generated import XACRO_SUFFIX, content_of, fill_places, keep, kept
from fleet_sim.models.loading import load_robot_model, scaled_model
from fleet_sim.models.markup import Element, quoted, read_optenv, read_text
from fleet_sim.models.meshes.loading import MeshFinder, in_installed_package, seen_by_pybullet
from fleet_sim.world.shapes import BASE, FIXED, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL, Geometry, Inertial, RobotModel

# In kg: next to nothing beside the links of any robot.
_ROOT_MASS = 1e-3
# PyBullet reads files in lines of at most 8192 characters.
_LONGEST_LINE = 8000
_LINK = re.compile(r"""(?P<start><link\b[^>]*?\bname\s*=\s*(?P<name>"[^"]*"|'[^']*')[^>/]*)(?P<closed>/?)>""")
_TYPES = {REVOLUTE: "revolute", PRISMATIC: "prismatic", SPHERICAL: "spherical", PLANAR: "planar", FIXED: "fixed"}


def bullet_file(path: str | Path, *, search_paths: Sequence[str | Path] = ()) -> str:
    """Return a file from which PyBullet's loadURDF loads the same model as `load_robot_model` reads from `path`.

    That is `path` itself if PyBullet finds every mesh and adds no mass to frames; otherwise a copy with absolute file
    names and massless frames; for SDF and MJCF a URDF generated from the model, without textures and friction. Raises
    InvalidValueError as `load_robot_model` does.
    """
    model = load_robot_model(path, search_paths=search_paths)
    folders = tuple(map(str, search_paths))
    return kept(_bullet_file, model, folders)


@lru_cache(maxsize=256)
def _bullet_file(model: RobotModel, folders: tuple[str, ...]) -> str:
    """Return a URDF file that PyBullet reads as we read the model: the original where nothing has to change."""
    file = Path(model.path)
    content = content_of(file)
    root = read_text(content, model.path)
    if root.tag != "robot":
        return str(keep(urdf_text(model).encode(), f"{file.stem}.urdf"))
    finder = _finder(model, folders)
    places = {mesh.need("filename"): finder.find(mesh, mesh.need("filename")) for mesh in root.walk("mesh")}
    plain = read_optenv(content.decode(errors="surrogateescape"))
    plain = _break_lines(_weigh_frames(plain, root, model))
    # Only where nothing has to change does PyBullet get the original: every copy is one more file in the cache.
    untouched = plain.encode(errors="surrogateescape") == read_bytes(file)
    if untouched and all(seen_by_pybullet(file, name) == place for name, place in places.items()):
        return model.path
    textures = {texture.need("filename"): texture for texture in root.walk("texture")}
    places |= {name: str(finder.look(texture, name) or name) for name, texture in textures.items()}
    filled = fill_places(plain, places).encode(errors="surrogateescape")
    return str(keep(filled, f"{file.name.removesuffix(XACRO_SUFFIX).removesuffix('.urdf')}.urdf"))


def _break_lines(text: str) -> str:
    """Return the XML `text` without lines that PyBullet would cut into pieces, in the middle of a name."""
    if all(len(line) < _LONGEST_LINE for line in text.split("\n")):
        return text
    return re.sub(r">\s*<", ">\n<", text)


def _weigh_frames(text: str, root: Element, model: RobotModel) -> str:
    """Return the URDF `text` with a mass of 0 at frames: fixed links without <inertial>.

    PyBullet would give each of them 1 kg. A root without <inertial> gets a tiny mass, as 0 would fix it in the world.
    Moving links without mass are left to PyBullet, and so are models without any mass.
    """
    if not any(inertial.mass for inertial in model.inertials):
        return text
    masses: dict[str, float] = {}
    for link in root.all("link"):
        index = model.link_index(link.need("name"))
        if link.child("inertial") is None and (index == BASE or model.joint_types[index] == FIXED):
            # PyBullet fixes a root link called "world" anyway.
            masses[link.need("name")] = _ROOT_MASS if index == BASE and link.need("name") != "world" else 0.0

    def weigh(found: re.Match[str]) -> str:
        mass = masses.get(unescape(found["name"][1:-1]))
        if mass is None:
            return found[0]
        moment = 1e-3 * mass
        inertia = f'<inertia ixx="{moment:g}" ixy="0" ixz="0" iyy="{moment:g}" iyz="0" izz="{moment:g}"/>'
        closing = "</link>" if found["closed"] else ""
        return f'{found["start"]}><inertial><mass value="{mass:g}"/>{inertia}</inertial>{closing}'

    return _LINK.sub(weigh, text)


def _finder(model: RobotModel, folders: Sequence[str | Path]) -> MeshFinder:
    return MeshFinder(Path(model.path), [expanded(folder) for folder in (*folders, *get_search_paths())])


def published_text(path: str | Path, *, search_paths: Sequence[str | Path] = (), scale: float = 1.0) -> str:
    """Return the URDF of the file `path` for other programs such as RViz: all files in it are given as URIs.

    package:// URIs of installed packages are kept, so that they also resolve on other machines. `scale` is a factor of
    all lengths.
    Raises InvalidValueError as `load_robot_model` does.
    """
    model = load_robot_model(path, search_paths=search_paths)
    content = content_of(Path(model.path))
    root = read_text(content, model.path)
    if root.tag != "robot" or scale != 1.0:
        return urdf_text(scaled_model(model, scale), uris=True)
    finder = _finder(model, search_paths)
    files = {element.need("filename"): element for tag in ("mesh", "texture") for element in root.walk(tag)}
    places = {name: finder.look(element, name) for name, element in files.items()}
    uris = {name: place.as_uri() for name, place in places.items() if place and not in_installed_package(name, place)}
    return fill_places(read_optenv(content.decode(errors="replace")), uris)


def urdf_text(model: RobotModel, *, uris: bool = False) -> str:
    """Return the URDF of `model`; reading it gives links and joints the same numbers.

    Meshes are given by their path, or with `uris` as file:// URIs.
    """
    lines = ['<?xml version="1.0"?>', f"<robot name={quoted(model.name)}>"]
    for link, name in enumerate((model.base_name, *model.link_names), BASE):
        lines.append(f"  <link name={quoted(name)}>")
        lines += _inertial(model.inertials[link + 1] if model.inertials else Inertial())
        for tag, parts in (("visual", model.visuals), ("collision", model.collisions)):
            for part in parts:
                lines += _geometry(tag, part.geometry, uris) if part.link == link else []
        lines.append("  </link>")
    for joint in range(model.num_joints):
        lines += _joint(model, joint)
    return "\n".join([*lines, "</robot>"]) + "\n"


def _joint(model: RobotModel, joint: int) -> list[str]:
    """Return the lines of a joint; one without limits is continuous, or has a lower limit above the upper."""
    parents = (model.base_name, *model.link_names)
    kind, limited = int(model.joint_types[joint]), bool(model.limited_mask[joint])
    name = "continuous" if kind == REVOLUTE and not limited else _TYPES[kind]
    # URDF has no unlimited prismatic joint: lower > upper stands for no limits.
    ends = (model.lower[joint], model.upper[joint]) if limited or kind == REVOLUTE else (1.0, -1.0)
    values = {
        "lower": ends[0],
        "upper": ends[1],
        "effort": model.max_forces[joint],
        "velocity": model.max_velocities[joint],
    }
    limit = " ".join(f'{key}="{_text(value)}"' for key, value in values.items())
    lines = [
        f'  <joint name={quoted(model.joint_names[joint])} type="{name}">',
        f"    <parent link={quoted(parents[model.parents[joint] + 1])}/>",
        f"    <child link={quoted(model.link_names[joint])}/>",
        "  " + _origin(model.joint_positions[joint], model.joint_orientations[joint]),
    ]
    if kind != FIXED:
        lines.append(f'    <axis xyz="{_text(*model.axes[joint])}"/>')
        lines.append(f"    <limit {limit}/>")
        lines.append(
            f'    <dynamics damping="{_text(model.damping[joint])}" friction="{_text(model.friction[joint])}"/>'
        )
    for mimic in model.mimics:
        if mimic.follower == joint:
            leader = quoted(model.joint_names[mimic.leader])
            ratio, offset = _text(mimic.multiplier), _text(mimic.offset)
            lines.append(f'    <mimic joint={leader} multiplier="{ratio}" offset="{offset}"/>')
    return [*lines, "  </joint>"]


def _geometry(tag: str, geometry: Geometry, uris: bool) -> list[str]:
    """Return the lines of a geometry as <visual> or <collision>, in the frame of its link."""
    kind = ShapeKind(geometry.kind)
    if kind is ShapeKind.BOX:
        shape = f'<box size="{_text(*(2.0 * half for half in geometry.half_extents))}"/>'
    elif kind is ShapeKind.MESH:
        name = Path(geometry.mesh_path).as_uri() if uris else geometry.mesh_path
        shape = f'<mesh filename={quoted(name)} scale="{_text(*geometry.mesh_scale)}"/>'
    elif kind is ShapeKind.PLANE:
        shape = '<plane normal="0 0 1"/>'
    elif kind is ShapeKind.SPHERE:
        shape = f'<sphere radius="{_text(geometry.radius)}"/>'
    else:
        shape = f'<{kind.name.lower()} radius="{_text(geometry.radius)}" length="{_text(geometry.height)}"/>'
    concave = ' concave="yes"' if geometry.concave and tag == "collision" else ""
    lines = [
        f"    <{tag}{concave}>",
        "    " + _origin(geometry.position, geometry.orientation),
        f"      <geometry>{shape}</geometry>",
    ]
    if tag == "visual":
        color = _text(*geometry.rgba)
        # Named by its color: materials of one name must be one color, as others refer to them by name.
        lines.append(f'      <material name="{color}"><color rgba="{color}"/></material>')
    return [*lines, f"    </{tag}>"]


def _inertial(inertial: Inertial) -> list[str]:
    """Return the lines of <inertial>: mass in kg, moments in kg m2 about the principal axes."""
    ixx, iyy, izz = (_text(moment) for moment in inertial.inertia)
    return [
        "    <inertial>",
        "    " + _origin(inertial.position, inertial.orientation),
        f'      <mass value="{_text(inertial.mass)}"/>',
        f'      <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/>',
        "    </inertial>",
    ]


def _origin(position: Sequence[float], orientation: Sequence[float]) -> str:
    # URDF knows roll, pitch and yaw only, so an orientation comes back with rounding.
    eulers = quaternions.to_eulers(np.array([tuple(orientation)]))[0]
    return f'  <origin xyz="{_text(*position)}" rpy="{_text(*eulers)}"/>'


def _text(*values: float) -> str:
    # 17 digits bring back the same float64. Adding 0.0 turns -0 into 0.
    return " ".join(f"{float(value) + 0.0:.17g}" for value in values)
