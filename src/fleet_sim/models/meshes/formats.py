"""Mesh files: COLLADA, Wavefront OBJ and STL, with their materials and limits; one registry by file name ending."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import is_file, opened, read_bytes, status
from fleet_sim.base.registry import Registry, instances_of
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.models.meshes.mesh import Material, Mesh, MeshFormat, Part, fans, units

# The lines of a Wavefront OBJ file, sorted by keyword and read as tables. A file may have a million lines, and a
# Python loop over them takes seconds, which would delay the first image of a robot. So nothing here is done line by
# line.


_INDENT = re.compile(rb"^[ \t]+", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")
_LEFT_OUT = re.compile(rb"/(?=[/\s])")
"""A slash that no number follows, as both in 1// and the first in 1//3."""
_STRAY_MINUS = re.compile(rb"-(?!\d)|\d-")
_MOST_INDICES = 3
_NEWLINE, _SLASH, _SPACE, _TAB = b"\n/ \t"


class Lines:
    """The lines of a file, numbered from 0; lines continued by a backslash are joined before they are numbered."""

    def __init__(self, data: bytes) -> None:
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\\\n" in data:
            data = data.replace(b"\\\n", b" ")
        self._data = data
        # The first two letters tell all keywords apart that are read, and fit in one integer to compare.
        self._starts, self._keys = _index(data)
        if np.isin(self._keys >> 8, (_SPACE, _TAB)).any():
            self._data = _INDENT.sub(b"", data)
            self._starts, self._keys = _index(self._data)

    def numbers(self, keyword: str) -> Ints:
        """Return the numbers (N,) of the lines with `keyword`; only its first two letters are compared."""
        first, second = f"{keyword} ".encode()[:2]
        return np.flatnonzero(self._keys == 256 * first + second)

    def text(self, numbers: Ints) -> bytes:
        """Return lines as one text."""
        if not len(numbers):
            return b""
        # In most files lines with the same keyword are consecutive, so there are few pieces to join.
        breaks = np.flatnonzero(np.diff(numbers) != 1)
        firsts, lasts = numbers[np.append(-1, breaks) + 1], numbers[np.append(breaks, -1)]
        runs = zip(self._starts[firsts].tolist(), self._starts[lasts + 1].tolist(), strict=True)
        return b"".join([self._data[start:end] for start, end in runs])

    def table(self, keyword: str, width: int) -> Floats:
        """Return the first `width` numbers of all lines with `keyword`, (N, width); raises ValueError."""
        numbers = self.numbers(keyword)
        if not len(numbers):
            return np.empty((0, width))
        lines = self.text(numbers).splitlines()
        table: Floats = np.loadtxt(lines, usecols=range(1, width + 1), comments=None, ndmin=2)
        return table

    def names(self, keyword: str) -> list[tuple[int, str]]:
        """Return the numbers of the lines with `keyword`, and the text after it."""
        found = []
        for number in self.numbers(keyword).tolist():
            line = self._data[self._starts[number] : self._starts[number + 1]].decode("utf-8", "replace")
            first, *rest = line.split()
            if first == keyword:
                found.append((number, " ".join(rest)))
        return found


def _index(data: bytes) -> tuple[Ints, Ints]:
    """Return the starts of lines and the end of the data (L + 1,), and the first two letters of each as a key (L,)."""
    # Two extra line ends, so that even an empty last line has two letters.
    letters = np.frombuffer(data + b"\n\n", np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(letters[:-1] == _NEWLINE) + 1))
    firsts, seconds = letters[starts[:-1]].astype(np.int64), letters[starts[:-1] + 1].astype(np.int64)
    return starts, 256 * firsts + np.where(seconds == _TAB, _SPACE, seconds)


def read_corners(text: bytes, count: int) -> tuple[Ints, Ints]:
    """Return the corners (C, 3) in the text of `count` faces, and the number of corners of each face (count,).

    A corner is v, v/vt, v//vn or v/vt/vn with indices as in the file: from 1 up, or from -1 down; 0 for none. Raises
    ValueError.
    """
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if any(end in text for end in (b"//", b"/ ", b"/\t", b"/\n")):
        text = _LEFT_OUT.sub(b"/0", text)
    strange = text.translate(None, b"f0123456789-/ \t\n")
    stray = b"-" in text and _STRAY_MINUS.search(text) is not None
    if strange or stray or text.count(b"f") != count:
        raise ValueError(f"its faces have {(strange or text)[:20]!r} where vertex numbers are expected")
    text = text.replace(b"f", b" ") + b"\n"
    letters = np.frombuffer(text, np.uint8)
    blank_mask = letters <= _SPACE
    begins = np.flatnonzero(blank_mask[:-1] & ~blank_mask[1:]) + 1
    if not len(begins):
        return np.empty((0, 3), np.int64), np.zeros(count, np.int64)
    # Indices per corner: one more than its slashes.
    sizes = 1 + np.add.reduceat(letters == _SLASH, begins, dtype=np.int64)
    values = np.fromstring(text.replace(b"/", b" "), np.int64, sep=" ")
    if len(values) != sizes.sum() or sizes.max() > _MOST_INDICES:
        raise ValueError("a corner of a face must be v, v/vt, v//vn or v/vt/vn")
    corners = np.zeros((len(begins), _MOST_INDICES), np.int64)
    firsts = np.cumsum(sizes) - sizes
    for index in range(_MOST_INDICES):
        given = np.flatnonzero(sizes > index)
        corners[given, index] = values[firsts[given] + index]
    ends = np.flatnonzero(letters == _NEWLINE)
    return corners, np.bincount(np.searchsorted(ends, begins), minlength=count)[:count]


# STL files, binary and text: triangles without materials.


_HEADER = 84
# Packed to 50 bytes, as in the file: NumPy must not align the fields.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_CORNER = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")


def _read(data: bytes, _file: Path) -> Mesh:
    """Return the triangles as one part; raises ValueError for a broken file.

    The normals in the file are not used: many programs write zeros, and one per face shows every facet of a ball.
    """
    corners = _text(data) if _is_text(data) else _binary(data)
    return Mesh((Part(corners, np.arange(len(corners)).reshape(-1, 3)),))


def _count_triangles(data: bytes) -> int:
    """Return how many triangles there are."""
    return data.count(b"endfacet") if _is_text(data) else _count(data)


def _fault(head: bytes, _tail: bytes, size: int) -> str:
    """Return why a file of `size` bytes that begins with `head` cannot be STL, "" where it can."""
    if head.lstrip().startswith(b"solid"):
        return ""
    needed = _HEADER + _TRIANGLE.itemsize * _count(head)
    if size >= max(needed, _HEADER):
        return ""
    return f"it should have {needed} bytes but ends after {size}; is it complete?"


def _count(data: bytes) -> int:
    return int.from_bytes(data[_HEADER - 4 : _HEADER], "little")


def _is_text(data: bytes) -> bool:
    # Some programs begin binary files with the word that is meant for text; only the size tells.
    return data.lstrip().startswith(b"solid") and len(data) != _HEADER + _count(data) * _TRIANGLE.itemsize


def _binary(data: bytes) -> Floats:
    if len(data) < _HEADER:
        raise ValueError(f"it ends after {len(data)} bytes, within the header")
    count = _count(data)
    if len(data) < _HEADER + count * _TRIANGLE.itemsize:
        raise ValueError(f"it should have {count} triangles but ends after {len(data)} bytes")
    triangles = np.frombuffer(data, _TRIANGLE, count, _HEADER)
    return triangles["corners"].reshape(-1, 3).astype(np.float64)


def _text(data: bytes) -> Floats:
    corners = np.array(_CORNER.findall(data), np.float64).reshape(-1, 3)
    if len(corners) % 3:
        raise ValueError(f"it has {len(corners)} corners, which is not three for each triangle")
    return corners


STL = MeshFormat(_read, _count_triangles, _fault, bytes_per_triangle=50)


# Materials of meshes: MTL files and texture files.


def read_mtl(file: Path, notes: list[str]) -> dict[str, Material]:
    """Return the materials of an MTL file by name; missing files are appended to `notes`."""
    if not is_file(file):
        notes.append(f"materials {file} are missing; the mesh is drawn in one color")
        return {}
    materials: dict[str, Material] = {}
    name = ""
    for line in read_bytes(file).decode(errors="replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "newmtl":
            name = " ".join(words[1:])
            materials[name] = Material()
        elif words[0] == "Kd" and name in materials and len(words) >= 4:
            red, green, blue = (float(word) for word in words[1:4])
            materials[name] = Material((red, green, blue, 1.0), materials[name].texture)
        elif words[0] == "map_Kd" and name in materials:
            materials[name] = Material(materials[name].rgba, texture_file(file.parent, words[-1], notes))
    return {name: textured(material) for name, material in materials.items()}


def texture_file(folder: Path, name: str, notes: list[str]) -> str:
    """Return the path of a texture; if there is no such file, return "" and append it to `notes`."""
    path = folder / name.replace("\\", "/")
    if is_file(path):
        return str(path)
    notes.append(f"texture {path} is missing; the mesh is drawn without it")
    return ""


def textured(material: Material) -> Material:
    """Return the material, white if it has a texture, so that only the texture colors it, as in PyBullet's view."""
    return Material((1.0, 1.0, 1.0, 1.0), material.texture) if material.texture else material


# COLLADA files (.dae): triangles, placed by the nodes of the scene, in metres. The axes of the file are kept, and
# `<up_axis>` is ignored, as in PyBullet, RViz and Gazebo. With rotated axes boxes and images would not match the
# robot in the physics engine.


Element = ElementTree.Element

_DEEPEST = 100
_MOST_NODES = 20_000
_MOST_CORNERS = 30_000_000
"""Nodes may instance nodes and geometries repeatedly: without limits a small file could expand to any size."""
_GROUPS = ("triangles", "polylist", "polygons")
_COUNT = re.compile(rb"<(?:triangles|polylist|polygons)\b[^>]*\bcount=\"(\d+)\"")
_CLOSED = re.compile(rb"</(\w+:)?COLLADA\s*>")


_Source = tuple[int, Floats]
"""One input of triangles: the offset of its index within a corner's indices, and the values it indexes."""


def _collada_read(data: bytes, file: Path) -> Mesh:
    """Return one part per geometry, material and node; raises ValueError or KeyError for a broken file."""
    # Entities in entities make any text of a short one. Also where a letter takes more than a byte.
    if b"<!ENTITY" in data.replace(b"\0", b""):
        raise ValueError("entities of its own (<!ENTITY) are not read")
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    document = _Document(root, file.parent)
    parts = tuple(document.parts())
    return Mesh(parts, tuple(dict.fromkeys(document.notes)))


def _collada_count_triangles(data: bytes) -> int:
    """Return the number of polygons, without reading any of them."""
    return sum(map(int, _COUNT.findall(data)))


def _collada_fault(_head: bytes, tail: bytes, _size: int) -> str:
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

    def _part(self, sources: dict[str, _Source], corners: Ints, material: Material, frame: Floats) -> Part:
        """Return triangles with their normals and texture coordinates, if any, moved by `frame` (4, 4)."""

        def column(name: str) -> Floats | None:
            offset, values = sources.get(name, (0, None))
            return None if values is None else values[corners[:, offset]]

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

    def _sources(self, group: Element) -> dict[str, _Source]:
        """Return the inputs of a group by meaning; VERTEX stands for what its vertices are made of."""
        sources: dict[str, _Source] = {}
        for given in group.iterfind("input"):
            offset = int(given.get("offset", "0"))
            target = self._target(given, "source")
            inputs = target.iterfind("input") if target.tag == "vertices" else [given]
            for each in inputs:
                semantic = each.get("semantic", "")
                name = "VERTEX" if semantic == "POSITION" else semantic
                # The first of several coordinate sets is used.
                sources.setdefault(name, (offset, self._values(self._target(each, "source"))))
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


COLLADA = MeshFormat(_collada_read, _collada_count_triangles, _collada_fault, bytes_per_triangle=6)


# Wavefront OBJ files, with the colors and textures of their MTL files.


_FACE = re.compile(rb"^[ \t]*f[ \t][^\r\n]*", re.MULTILINE)
_TABLES = {"v": 3, "vt": 2, "vn": 3}
"""How many numbers per line are used, for positions, texture coordinates and normals."""
_LARGEST_KEY = 2**62
_NO_MATERIAL = frozenset({"", "None", "DefaultMaterial"})
"""What programs write for faces without a material: Blender None, Assimp DefaultMaterial."""


def _obj_read(data: bytes, file: Path) -> Mesh:
    """Return one part per material; raises ValueError or IndexError for a broken file."""
    lines = Lines(data)
    tables = [lines.table(keyword, width) for keyword, width in _TABLES.items()]
    faces = lines.numbers("f")
    corners, counts = read_corners(lines.text(faces), len(faces))
    corners = _indices(corners, np.repeat(faces, counts), lines, tables)
    triangles = fans(counts)
    line_of = np.repeat(faces, np.maximum(counts - 2, 0))

    used = dict(_by_material(line_of, lines.names("usemtl")))
    notes: list[str] = []
    materials: dict[str, Material] = {}
    for _, library in lines.names("mtllib"):
        # A library that no face needs may be missing: nothing of the picture is lost.
        if not _NO_MATERIAL.issuperset(used) or is_file(file.parent / library):
            materials |= read_mtl(file.parent / library, notes)
    parts = [
        _part(corners[triangles[chosen].reshape(-1)], tables, materials.get(name, Material()))
        for name, chosen in used.items()
    ]
    return Mesh(tuple(parts), tuple(notes))


def _obj_count_triangles(data: bytes) -> int:
    """Return the number of triangles, without reading any of them."""
    return sum(max(len(face.split()) - 3, 0) for face in _FACE.findall(data))


def _obj_fault(head: bytes, _tail: bytes, _size: int) -> str:
    """Return why a file that begins with `head` cannot be OBJ; "" if it can."""
    return "it has zero bytes, so it is not text" if b"\0" in head else ""


def _indices(corners: Ints, line_of: Ints, lines: Lines, tables: Sequence[Floats]) -> Ints:
    """Return corners (C, 3), given on lines `line_of` (C,), as indices into the three tables; -1 for none."""
    totals = np.array([len(table) for table in tables])
    indices = corners - 1
    if (corners < 0).any():
        # Negative indices count back from the last entry above the face.
        given = np.stack([np.searchsorted(lines.numbers(keyword), line_of) for keyword in _TABLES], axis=1)
        indices = np.where(corners < 0, corners + given, indices)
    wrong_mask = (indices >= totals) | ((indices < 0) & (corners != 0))
    wrong_mask[:, 0] |= corners[:, 0] == 0
    for corner, table in np.argwhere(wrong_mask)[:1]:
        kind = ("vertex", "texture coordinate", "normal")[table]
        raise ValueError(f"a face refers to {kind} {corners[corner, table]}, but the file has {totals[table]}")
    return indices


def _by_material(line_of: Ints, switches: Sequence[tuple[int, str]]) -> Iterator[tuple[str, Ints]]:
    """Yield each material with the triangles that use it; `line_of` (T,) are the lines of triangles."""
    # Triangles above the first `usemtl` have the material without a name.
    names = ["", *(name for _, name in switches)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    current = np.searchsorted(np.array([line for line, _ in switches], np.int64), line_of)
    used = np.array([numbers[name] for name in names], np.int64)[current]
    order = np.argsort(used, kind="stable")
    bounds = np.searchsorted(used[order], np.arange(len(numbers) + 1))
    for name, start, stop in zip(numbers, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if stop > start:
            yield name, order[start:stop]


def _part(corners: Ints, tables: Sequence[Floats], material: Material) -> Part:
    """Return the part of triangles with `corners` (3T, 3)."""
    positions, coordinates, normals = tables
    # Corners with the same position, coordinates and normal share one vertex: each combination gets an integer key.
    keys = corners[:, 0] * (len(coordinates) + 1) + corners[:, 1] + 1
    if len(positions) * (len(coordinates) + 1) * (len(normals) + 1) > _LARGEST_KEY:
        keys = np.unique(keys, return_inverse=True)[1]
    keys = keys * (len(normals) + 1) + corners[:, 2] + 1
    _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
    distinct = corners[firsts]
    # The row added at the end is what index -1, no coordinates, finds.
    coordinates = np.concatenate((coordinates, [[0.0, 0.0]]))[distinct[:, 1]]
    chosen = normals[distinct[:, 2]] if (distinct[:, 2] >= 0).all() else None
    return Part(positions[distinct[:, 0]], places.reshape(-1, 3), chosen, coordinates, material)


OBJ = MeshFormat(_obj_read, _obj_count_triangles, _obj_fault, bytes_per_triangle=8)


def _check_ending(ending: str, _: MeshFormat) -> None:
    if not ending.startswith(".") or ending != ending.lower():
        raise InvalidValueError(f"the name of a mesh format is its ending in lower case, as '.ply'; got {ending!r}")


FORMATS = Registry(
    "mesh format",
    instances_of(MeshFormat),
    group="fleet_sim.mesh_format",
    built_in={".obj": OBJ, ".stl": STL, ".dae": COLLADA},
    check=_check_ending,
)
"""Formats by ending, in lower case with its dot."""


# Limits for mesh files of robots, checked before anything reads them.


_END = 4096
"""Number of bytes at either end of a file that are checked for its format."""
_ADVICE = "simplify the mesh, or pass MeshLimits with a higher limit"


@dataclass(frozen=True)
class MeshLimits:
    """The largest mesh file that is accepted; larger files are rejected before they are loaded."""

    max_bytes: int = 128 * 1024 * 1024
    max_triangles: int = 1_000_000

    def fault(self, path: Path) -> str:
        """Return the fault of the mesh file `path`, whose ending is one of FORMATS; "" if there is none.

        Only both ends of the file are checked, and triangles are counted where there may be too many; the full content
        is checked when the mesh is loaded.
        """
        size, mesh_format = status(path).st_size, FORMATS[path.suffix.lower()]
        if size > self.max_bytes:
            return f"has {size} bytes, {self.max_bytes} are allowed; {_ADVICE}"
        if size == 0:
            return "is empty"
        fault = _fault_at_ends(path, size, mesh_format)
        if fault:
            return f"is no readable {path.suffix} file: {fault}"
        if size // mesh_format.bytes_per_triangle <= self.max_triangles:
            return ""
        triangles = count_triangles(path)
        too_many = triangles > self.max_triangles
        return f"has {triangles} triangles, {self.max_triangles} are allowed; {_ADVICE}" if too_many else ""


def _fault_at_ends(path: Path, size: int, mesh_format: MeshFormat) -> str:
    if mesh_format.fault is None:
        return ""
    with opened(path, "rb") as file:
        head = file.read(_END)
        file.seek(max(0, size - _END))
        return mesh_format.fault(head, file.read(), size)


def count_triangles(path: Path) -> int:
    """Return the number of triangles in the mesh file `path`; its ending is one of FORMATS."""
    mesh_format, data = FORMATS[path.suffix.lower()], read_bytes(path)
    if mesh_format.count is not None:
        return mesh_format.count(data)
    return sum(len(part.triangles) for part in mesh_format.read(data, path).parts)
