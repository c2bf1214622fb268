"""COLLADA files (.dae): triangles, placed by the nodes of the scene, in metres.

The axes of the file are kept, and `<up_axis>` is ignored, as in PyBullet, RViz and Gazebo. With rotated axes
boxes and images would not match the robot in the physics engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np

from fleet_sim.arrays import Floats, Ints
from fleet_sim.meshes.materials import texture_file, textured
from fleet_sim.meshes.mesh import Material, Mesh, Part, fans
from fleet_sim.meshes.mesh_format import MeshFormat
from fleet_sim.meshes.normals import units
from fleet_sim.spatial import trigonometry as trig

Element = ElementTree.Element

_DEEPEST = 100
_MOST_NODES = 20_000
_MOST_CORNERS = 30_000_000
"""Nodes may instance nodes and geometries repeatedly: without limits a small file could expand to any size."""
_GROUPS = ("triangles", "polylist", "polygons")
_COUNT = re.compile(rb"<(?:triangles|polylist|polygons)\b[^>]*\bcount=\"(\d+)\"")
_CLOSED = re.compile(rb"</(\w+:)?COLLADA\s*>")


class _ColladaSource(NamedTuple):
    """One input of triangles: the offset of its index within a corner's indices, and the values it indexes."""

    offset: int
    values: Floats


def _read(data: bytes, file: Path) -> Mesh:
    """Return one part per geometry, material and node; raises ValueError or KeyError for a broken file."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    document = _Document(root, file.parent)
    parts = tuple(document.parts())
    return Mesh(parts, tuple(dict.fromkeys(document.notes)))


def _count_triangles(data: bytes) -> int:
    """Return the number of polygons, without reading any of them."""
    return sum(map(int, _COUNT.findall(data)))


def _fault(_head: bytes, tail: bytes, _size: int) -> str:
    """Return why a file that ends with `tail` cannot be COLLADA; "" if it can."""
    return "" if _CLOSED.search(tail) else "it does not end with </COLLADA>; is it complete?"


class _Document:
    """The elements of a file by their ids, and the parts made from them."""

    def __init__(self, root: Element, folder: Path) -> None:
        for element in root.iter():
            # Drop the namespace, which differs between versions of the format.
            element.tag = str(element.tag).rpartition("}")[2]
        self.root = root
        self.folder = folder
        self.notes: list[str] = []
        self._values_of: dict[Element, Floats] = {}
        self._nodes = self._corners = 0
        self.by_id = {identity: element for element in root.iter() if (identity := element.get("id"))}

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the scene, or all geometries if there is no scene."""
        unit = self.root.find("asset/unit")
        metre = float(unit.get("meter", "1")) if unit is not None else 1.0
        frame = np.diag([metre, metre, metre, 1.0])
        scene = self.root.find("scene/instance_visual_scene")
        if scene is None:
            for geometry in self.root.iter("geometry"):
                yield from self._geometry(geometry, {}, frame)
            return
        for node in self._target(scene).iterfind("node"):
            yield from self._node(node, frame, 0)

    def _target(self, element: Element, attribute: str = "url") -> Element:
        reference = element.get(attribute, "").removeprefix("#")
        if reference not in self.by_id:
            raise ValueError(f"<{element.tag}> refers to {reference!r}, which is not in the file")
        return self.by_id[reference]

    def _node(self, node: Element, frame: Floats, depth: int) -> Iterator[Part]:
        """Yield the parts of a node and of all below it, in the frame of the scene.

        Raises ValueError for nodes that contain each other and for too many of them.
        """
        if depth > _DEEPEST:
            raise ValueError("its nodes contain each other")
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise ValueError(f"it has more than {_MOST_NODES} nodes, each instance counted")
        frame = frame @ _transform(node)
        for instance in node.iterfind("instance_geometry"):
            bound = {
                each.get("symbol", ""): each.get("target", "").removeprefix("#")
                for each in instance.iter("instance_material")
            }
            yield from self._geometry(self._target(instance), bound, frame)
        for child in node.iterfind("node"):
            yield from self._node(child, frame, depth + 1)
        for instance in node.iterfind("instance_node"):
            yield from self._node(self._target(instance), frame, depth + 1)

    # ---- geometries --------------------------------------------------------------------------------------------------

    def _geometry(self, geometry: Element, bound: dict[str, str], frame: Floats) -> Iterator[Part]:
        """Yield a part for each group of triangles of a geometry; `bound` are materials by their symbols in it."""
        mesh = geometry.find("mesh")
        for group in mesh if mesh is not None else ():
            if group.tag not in _GROUPS:
                continue
            symbol = group.get("material", "")
            material = self._material(bound.get(symbol, symbol))
            corners = _corners(group)
            self._corners += len(corners)
            if self._corners > _MOST_CORNERS:
                raise ValueError(f"its nodes instance more than {_MOST_CORNERS // 3} triangles")
            if len(corners):
                yield self._part(self._sources(group), corners, material, frame)

    def _part(self, sources: dict[str, _ColladaSource], corners: Ints, material: Material, frame: Floats) -> Part:
        """Return triangles with their normals and texture coordinates, if any, moved by `frame` (4, 4)."""

        def column(name: str) -> Floats | None:
            source = sources.get(name)
            return None if source is None else source.values[corners[:, source.offset]]

        positions = column("VERTEX")
        if positions is None:
            raise ValueError("a group of triangles has no positions")
        normals, coordinates = column("NORMAL"), column("TEXCOORD")
        turn = frame[:3, :3]
        positions = positions[:, :3] @ turn.T + frame[:3, 3]
        triangles = np.arange(len(corners)).reshape(-1, 3)
        # A mirroring transform turns triangles inside out.
        if np.linalg.det(turn) < 0.0:
            triangles = triangles[:, ::-1]
        if normals is not None:
            # Normals transform with the inverse transpose of the matrix, which differs where scales are unequal.
            normals = units(normals[:, :3] @ np.linalg.inv(turn))
        return Part(positions, triangles, normals, None if coordinates is None else coordinates[:, :2], material)

    def _sources(self, group: Element) -> dict[str, _ColladaSource]:
        """Return the inputs of a group by meaning; VERTEX stands for what its vertices are made of."""
        sources: dict[str, _ColladaSource] = {}
        for given in group.iterfind("input"):
            offset = int(given.get("offset", "0"))
            target = self._target(given, "source")
            inputs = target.iterfind("input") if target.tag == "vertices" else [given]
            for each in inputs:
                semantic = each.get("semantic", "")
                name = "VERTEX" if semantic == "POSITION" else semantic
                # The first of several coordinate sets is used.
                sources.setdefault(name, _ColladaSource(offset, self._values(self._target(each, "source"))))
        return sources

    def _values(self, source: Element) -> Floats:
        # Groups of one geometry share sources, and parsing their text is the slow part.
        if source not in self._values_of:
            self._values_of[source] = self._read_values(source)
        return self._values_of[source]

    def _read_values(self, source: Element) -> Floats:
        accessor = source.find("technique_common/accessor")
        stride = int(accessor.get("stride", "1")) if accessor is not None else 3
        numbers = np.array((source.findtext("float_array") or "").split(), np.float64)
        return numbers.reshape(-1, stride)

    # ---- materials ---------------------------------------------------------------------------------------------------

    def _material(self, name: str) -> Material:
        """Return color and texture of a material; a plain one where the file says nothing that is understood."""
        material = self.by_id.get(name)
        link = material.find("instance_effect") if material is not None else None
        diffuse = next(self._target(link).iter("diffuse"), None) if link is not None else None
        if diffuse is None:
            return Material()
        color = [float(word) for word in diffuse.findtext("color", "1 1 1 1").split()]
        red, green, blue = color[:3]
        image = diffuse.find("texture")
        texture = self._texture(image.get("texture", "")) if image is not None else ""
        return textured(Material((red, green, blue, 1.0), texture))

    def _texture(self, sampler: str) -> str:
        """Return the file of a texture, found via sampler, surface and image."""
        by_sid = {sid: element for element in self.root.iter("newparam") if (sid := element.get("sid"))}
        name = sampler
        for path in ("sampler2D/source", "surface/init_from"):
            if name in by_sid:
                name = by_sid[name].findtext(path, name).strip()
        image = self.by_id.get(name)
        if image is None:
            return ""
        location = image.findtext("init_from/ref") or image.findtext("init_from") or ""
        return texture_file(self.folder, unquote(urlparse(location.strip()).path), self.notes)


def _transform(node: Element) -> Floats:
    """Return the matrix (4, 4) of a node's own transformations, in their order."""
    total = np.eye(4)
    for element in node:
        if element.tag not in ("matrix", "translate", "rotate", "scale"):
            continue
        numbers = np.array((element.text or "").split(), np.float64)
        step = np.eye(4)
        if element.tag == "matrix":
            step = numbers.reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = numbers
        elif element.tag == "scale":
            step[:3, :3] = np.diag(numbers)
        else:
            step[:3, :3] = _rotation(numbers[:3], np.radians(numbers[3]))
        # COLLADA applies the last transformation first.
        total = total @ step
    return total


def _rotation(axis: Floats, angle: float) -> Floats:
    x, y, z = axis / max(float(np.linalg.norm(axis)), 1e-30)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = trig.sin_cos_of(float(angle))
    turn: Floats = np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)
    return turn


def _corners(group: Element) -> Ints:
    """Return the indices (3T, K) of the corners of triangles; polygons are split into fans."""
    width = 1 + max((int(given.get("offset", "0")) for given in group.iterfind("input")), default=0)
    lists = [np.array((element.text or "").split(), np.int64).reshape(-1, width) for element in group.iterfind("p")]
    if not lists:
        return np.empty((0, width), np.int64)
    if group.tag == "triangles":
        # Left-over corners at the end make no triangle.
        return lists[0][: len(lists[0]) // 3 * 3]
    if group.tag == "polygons":
        counts = np.array([len(corners) for corners in lists], np.int64)
    else:
        lists = lists[:1]
        counts = np.array((group.findtext("vcount") or "").split(), np.int64)
    given = np.concatenate(lists)
    if counts.sum() != len(given) or (counts < 0).any():
        raise ValueError(f"its polygons have {counts.sum()} corners, but {len(given)} are given")
    return given[fans(counts).reshape(-1)]


COLLADA = MeshFormat(_read, _count_triangles, _fault, bytes_per_triangle=6)
