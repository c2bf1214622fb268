"""Mesh files: what is read of them, and what is said of bad ones."""

from __future__ import annotations

import logging
import math
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pybullet_data
import pytest
from spoiled import spoiled

import fleet_sim as fs
from fleet_sim import Agent, MultiRobotSimulationCore
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.meshes import mesh as primitives
from fleet_sim.models.meshes.loading import Hull, hull_faces, hull_of, load_mesh, mesh_extents
from fleet_sim.models.meshes.mesh import CREASE, Mesh, Part, smooth
from fleet_sim.sensing.sensors.render.scene import MeshStore, key_of
from fleet_sim.world.shapes import Geometry

SQUARE_OBJ = """
mtllib square.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl red
f 1/1/1 2/2/1 3/3/1 4/4/1
usemtl other
f -4 -2 -3
"""
SQUARE_MTL = "newmtl red\nKd 1 0.5 0\nnewmtl other\nKd 0.1 0.2 0.3\nmap_Kd wood.png\n"
TRIANGLE_STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 2.5e0 0
endloop
endfacet
endsolid t
"""
QUAD_DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
 <library_effects><effect id="paint-fx"><profile_COMMON><technique sid="t"><phong>
   <diffuse><color>0.1 0.6 0.2 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
 <library_materials><material id="paint"><instance_effect url="#paint-fx"/></material></library_materials>
 <library_geometries><geometry id="quad"><mesh>
  <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array>
   <technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <polylist count="1" material="slot"><input semantic="VERTEX" source="#v" offset="0"/>
   <vcount>4</vcount><p>0 1 2 3</p></polylist>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s"><node><translate>100 0 0</translate><rotate>0 0 1 90</rotate>
  <scale>2 2 2</scale><instance_geometry url="#quad"><bind_material><technique_common>
   <instance_material symbol="slot" target="#paint"/></technique_common></bind_material></instance_geometry>
 </node></visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def written(folder: Path, name: str, content: str | bytes) -> Mesh:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_mesh(str(path))


def test_obj_has_a_part_per_material(tmp_path: Path) -> None:
    (tmp_path / "square.mtl").write_text(SQUARE_MTL)
    mesh = written(tmp_path, "square.obj", SQUARE_OBJ)
    red, other = mesh.parts
    assert red.material.rgba == (1.0, 0.5, 0.0, 1.0)
    assert (len(red.positions), len(red.triangles)) == (4, 2), "a fan of two triangles over four shared vertices"
    vertices = red.drawable().vertices
    np.testing.assert_allclose(vertices[:, :2], vertices[:, 6:8])
    np.testing.assert_allclose(vertices[:, 3:6], [[0.0, 0.0, 1.0]] * 4)
    made = other.drawable().vertices[:, 3:6]
    np.testing.assert_allclose(made, [[0.0, 0.0, -1.0]] * 3, err_msg="made from the triangle")
    assert other.material.texture == ""
    assert "wood.png is missing" in " ".join(mesh.notes)


def test_obj_without_its_materials_is_drawn_in_one_color(tmp_path: Path) -> None:
    mesh = written(tmp_path, "square.obj", SQUARE_OBJ)
    assert all(part.material.rgba == (1.0, 1.0, 1.0, 1.0) for part in mesh.parts)
    assert "square.mtl are missing" in " ".join(mesh.notes)


def test_obj_whose_faces_have_no_material_needs_no_library(tmp_path: Path) -> None:
    assert written(tmp_path, "square.obj", re.sub("usemtl .*", "usemtl DefaultMaterial", SQUARE_OBJ)).notes == ()


def test_what_a_picture_lacks_is_logged_by_who_draws(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "square.obj"
    file.write_text(SQUARE_OBJ)
    with caplog.at_level(logging.WARNING):
        mesh_extents(str(file))
        assert caplog.text == "", "a box lacks nothing"
        for _ in range(2):
            MeshStore().mesh(key_of(Geometry(ShapeKind.MESH, mesh_path=str(file))), 0)
    assert caplog.text.count("square.mtl are missing") == 1, "once, and not for every simulation"


def test_a_texture_takes_the_place_of_the_color(tmp_path: Path) -> None:
    (tmp_path / "square.mtl").write_text(SQUARE_MTL)
    (tmp_path / "wood.png").write_bytes(b"")
    other = written(tmp_path, "square.obj", SQUARE_OBJ).parts[1]
    assert other.material.texture == str(tmp_path / "wood.png")
    assert other.material.rgba == (1.0, 1.0, 1.0, 1.0)


TRIANGLES = {
    "with tabs and carriage returns": "v\t0 0 0\r\nv 1\t0 0\r\nv 0 1 0\r\nf\t1 2\t3\r\n",
    "indented, with comments": "# thing\n  v 0 0 0 # first\n\tv 1 0 0\n  v 0 1 0\n  f 1 2 3 # all\n",
    "without a line end": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3",
    "with a line in two": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 \\\n2 3\n",
    "with colors of vertices": "v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0 1 1 1\nf 1 2 3\n",
    "counted backwards": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 9 9 9\n",
    "in all ways to write a corner": "v 0 0 0\nvt 0 0\nvn 0 0 1\nv 1 0 0\nv 0 1 0\nf 1/1/1 2//1 3/1\n",
    "with empty indices": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/ 2// 3\n",
    "with points and lines": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1\nf 1 2\nf 1 2 3\nl 1 2\n",
    "with other keywords": "o thing\ng a\ns off\nv 0 0 0\nv 1 0 0\nvp 1\nv 0 1 0\nusemap x\nf 1 2 3\n",
}


@pytest.mark.parametrize("text", TRIANGLES.values(), ids=TRIANGLES)
def test_a_triangle_in_obj(text: str, tmp_path: Path) -> None:
    (part,) = written(tmp_path, "triangle.obj", text).parts
    assert part.positions[part.triangles[0]].tolist() == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert len(part.triangles) == 1


def test_materials_of_obj_may_come_back(tmp_path: Path) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    faces = "f 1 2 3\nusemtl a\nf 1 2 4\nusemtl b\nf 2 3 4\nusemtl a\nf 1 3 4\nf 1 4 2\n"
    mesh = written(tmp_path, "a.obj", corners + faces)
    assert [len(part.triangles) for part in mesh.parts] == [1, 3, 1], "without a name, a, b"


def test_vertices_without_a_triangle_are_no_part_of_the_mesh(tmp_path: Path) -> None:
    written(tmp_path, "a.obj", "v 7 7 7\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\nv 9 9 9\n")
    assert np.array(mesh_extents(str(tmp_path / "a.obj"))).tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]


def test_stl_text_and_binary_are_the_same(tmp_path: Path) -> None:
    text = written(tmp_path, "text.stl", TRIANGLE_STL)
    numbers = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2.5, 0, 0)
    # Some programs begin binary files with the word that is meant for text.
    binary = written(tmp_path, "binary.STL", b"solid".ljust(80) + struct.pack("<I", 1) + numbers)
    vertices = text.parts[0].drawable().vertices
    np.testing.assert_array_equal(vertices, binary.parts[0].drawable().vertices)
    np.testing.assert_allclose(vertices[:, :6][2], [0.0, 2.5, 0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("axis", ["X_UP", "Y_UP", "Z_UP"])
def test_collada_is_placed_by_its_nodes_in_metres(tmp_path: Path, axis: str) -> None:
    """The axes stay those of the file, whichever of them it calls up: so have it PyBullet and RViz."""
    (part,) = written(tmp_path, "quad.dae", QUAD_DAE.replace("Z_UP", axis)).parts
    assert part.material.rgba == (0.1, 0.6, 0.2, 1.0)
    np.testing.assert_allclose(part.positions.min(0), [0.98, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(part.positions.max(0), [1.0, 0.02, 0.0], atol=1e-6)
    np.testing.assert_allclose(part.drawable().vertices[:, 3:6], [[0.0, 0.0, 1.0]] * 6, atol=1e-6)


def test_a_small_collada_file_cannot_ask_for_any_number_of_triangles(tmp_path: Path) -> None:
    nodes = "".join(
        f'<node id="n{k}"><instance_node url="#n{k + 1}"/><instance_node url="#n{k + 1}"/></node>' for k in range(60)
    )
    text = QUAD_DAE.replace("<node><translate>", nodes + '<node id="n60"><translate>')
    with pytest.raises(InvalidValueError, match="nodes"):
        written(tmp_path, "bomb.dae", text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("v 0 0 0\nf 1 2 3\n", "refers to vertex 2, but the file has 1"),
        ("v 0 zero 0\n", "zero"),
        ("v 0 0 0\n", "no triangles"),
        ("v 0 0 0\nf 1 x 1\n", "'x'"),
        ("v 0 0 0\nf 1 1-1 1\n", "where vertex numbers are expected"),
        ("v 0 0 0\nf 1 1/1/1/1 1\n", "must be v, v/vt"),
        ("v 0 0 0\nf 1 0 1\n", "refers to vertex 0, but the file has 1"),
        ("v 0 0 0\nf 1 -2 1\n", "refers to vertex -2, but the file has 1"),
        ("v 0 0\n", "column"),
        ("v 0 0 1e300\nf 1 1 1\n", "finite"),
    ],
)
def test_bad_obj_files_are_named(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words) as caught:
        written(tmp_path, "a.obj", content)
    assert "a.obj" in str(caught.value)


@spoiled(
    QUAD_DAE,
    ('meter="0.01"', 'meter="1e999"', "quad|finite|readable"),
    ('offset="0"', 'offset="99999999999999999999"', "readable .dae file"),
    ("#quad", "#squad", "squad"),
    ("<vcount>4", "<vcount>5", "5 corners"),
    ("<COLLADA", '<!DOCTYPE a [<!ENTITY b "x">]><COLLADA', "entities"),
)
def test_bad_dae_files_are_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words) as caught:
        written(tmp_path, "a.dae", text)
    assert "a.dae" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", b"\x00" * 50, "header"),
        ("a.stl", b"\x00" * 80 + struct.pack("<I", 9), "9 triangles"),
        ("a.stl", "solid t\nvertex 0 0 0\n", "three for each"),
        ("a.dae", "<COLLADA>", "no element|unclosed|mismatched"),
        ("a.ply", "ply", "unknown format"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words) as caught:
        written(tmp_path, name, content)
    assert name in str(caught.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InvalidValueError, match=r"nowhere\.obj.*No such file"):
        load_mesh("/nowhere.obj")


# ---- Mesh files of pybullet_data: as large as the engine makes them --------------------------------------------------


pybullet = pytest.importorskip("pybullet")

DATA = Path(pybullet_data.getDataPath())
FILES = sorted(
    str(file.relative_to(DATA))
    for file in DATA.rglob("*")
    # A thousand objects of one program, which differ in nothing but their points; the first of them stand for all.
    if file.suffix.lower() in (".obj", ".stl", ".dae") and ("random_urdfs" not in file.parts or file.name < "003")
)
TURNED_BY_NODES = {"racecar/meshes/hokuyo.dae"}
"""PyBullet takes only the first <rotate> of a node. All of them count in the format, and in RViz and Gazebo."""
MARGIN = 0.004
"""PyBullet's margin around hulls, on both sides, and what it rounds."""
ROBOT = """<robot name="thing"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>"""


@pytest.fixture(scope="module")
def engine() -> Iterator[int]:
    client = pybullet.connect(pybullet.DIRECT)
    yield client
    pybullet.disconnect(client)


@pytest.mark.parametrize("name", [name for name in FILES if name not in TURNED_BY_NODES])
def test_boxes_are_the_engines_but_for_its_margin(engine: int, tmp_path: Path, name: str) -> None:
    urdf = tmp_path / "thing.urdf"
    urdf.write_text(ROBOT.format(DATA / name), encoding="utf-8")
    body = pybullet.loadURDF(str(urdf), flags=pybullet.URDF_USE_INERTIA_FROM_FILE, physicsClientId=engine)
    position, orientation = pybullet.getBasePositionAndOrientation(body, physicsClientId=engine)
    assert position == (0.0, 0.0, 0.0) and orientation == (0.0, 0.0, 0.0, 1.0)
    expected = np.array(pybullet.getAABB(body, -1, physicsClientId=engine))
    pybullet.removeBody(body, physicsClientId=engine)
    box = np.array(mesh_extents(str(DATA / name)))
    np.testing.assert_allclose(box, expected, atol=MARGIN + 1e-5 * np.abs(expected).max())
    points = load_mesh(str(DATA / name)).points()
    assert np.array_equal(box, [points.min(axis=0), points.max(axis=0)])


def test_a_robot_with_a_mesh_that_calls_y_up_has_the_engines_box(sim: MultiRobotSimulationCore, tmp_path: Path) -> None:
    wheel = DATA / "racecar" / "meshes" / "left_front_wheel.dae"
    assert b"Y_UP" in wheel.read_bytes()
    file = tmp_path / "wheel.urdf"
    file.write_text(ROBOT.format(wheel), encoding="utf-8")
    robot = Agent.from_urdf(str(file), sim_core=sim)
    lower, upper = (np.array(corner) for corner in sim.bullet.getAABB(robot.body_id, -1))
    np.testing.assert_allclose(sim.world.half_extents[robot.row], 0.5 * (upper - lower), atol=MARGIN)


@pytest.mark.parametrize("name", sorted(TURNED_BY_NODES))
def test_a_file_that_the_engine_reads_otherwise_is_read_as_its_format_says(name: str) -> None:
    lower, upper = mesh_extents(str(DATA / name))
    # Turned by 90 degrees around x: the height in the file is along z, not along y.
    assert upper[2] - lower[2] > 1.3 * (upper[1] - lower[1])


# ---- Solids as triangles: closed, turned outwards, as large as they should be, and as fine as asked for --------------


FINEST = len(primitives.SEGMENTS) - 1
SOLIDS = {
    "box": (primitives.box(), (1.0, 1.0, 1.0), 8.0),
    "sphere": (primitives.sphere(FINEST), (1.0, 1.0, 1.0), 4.0 / 3.0 * np.pi),
    "cylinder": (primitives.cylinder(FINEST), (1.0, 1.0, 1.0), 2.0 * np.pi),
    "capsule": (primitives.capsule(FINEST, 0.5, 3.0), (0.5, 0.5, 2.0), np.pi * (0.25 * 3.0 + 4.0 / 3.0 * 0.125)),
    "coarse capsule": (primitives.capsule(0, 0.5, 3.0), (0.5, 0.5, 2.0), None),
}


@pytest.mark.parametrize(("mesh", "reach", "volume"), SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_of_the_right_size(mesh: Mesh, reach: tuple[float, ...], volume: float | None) -> None:
    (part,) = mesh.parts
    points = part.positions
    np.testing.assert_allclose(mesh.reach, reach, atol=1e-6)
    a, b, c = (points[part.triangles[:, corner]] for corner in range(3))
    # The volume is that of the cones from the origin to all triangles: right only if all are turned outwards.
    filled = float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0
    if volume is not None:
        assert filled == pytest.approx(volume, rel=0.01)
    # Each edge belongs to two triangles, which run along it in opposite directions.
    _, places = np.unique(points.round(6), axis=0, return_inverse=True)
    corners = places.reshape(-1)[part.triangles]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    assert sorted(map(tuple, edges.tolist())) == sorted(map(tuple, edges[:, ::-1].tolist()))


@pytest.mark.parametrize("mesh", [solid[0] for solid in SOLIDS.values()], ids=SOLIDS)
def test_normals_are_units_and_point_outwards(mesh: Mesh) -> None:
    (part,) = mesh.parts
    normals = part.normals
    assert normals is not None
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    a, b, c = (part.positions[part.triangles[:, corner]] for corner in range(3))
    faces = np.cross(b - a, c - a)
    assert (np.einsum("ij,ij->i", faces, normals[part.triangles[:, 0]]) > 0.0).all()


def test_levels_of_detail_keep_their_promise() -> None:
    """Up to its radius in pixels, a level's polygon is a quarter of a pixel from the circle at most."""
    for sides, radius in zip(primitives.SEGMENTS, primitives.LEVEL_RADII, strict=False):
        assert radius * (1.0 - np.cos(np.pi / sides)) == pytest.approx(0.25)


def test_bounds_hold_the_mesh_at_any_scale() -> None:
    mesh = primitives.box()
    scale = np.array([3.0, 0.5, 0.1])
    assert mesh.bound(scale) == pytest.approx(np.linalg.norm(scale))
    assert primitives.sphere(FINEST).bound(np.full(3, 2.0)) == pytest.approx(2.0, rel=1e-6)


def test_made_normals_are_smooth_but_for_sharp_edges() -> None:
    """A sphere without normals gets those of a sphere, a box those of its sides."""
    ball = primitives.sphere(3).parts[0]
    vertices = Part(ball.positions, ball.triangles).drawable().vertices
    np.testing.assert_allclose(vertices[:, 3:6], vertices[:, :3], atol=0.03)
    cube = primitives.box().parts[0]
    vertices = Part(cube.positions, cube.triangles).drawable().vertices
    assert (np.abs(vertices[:, 3:6]).max(1) > 0.999).all()
    assert 0.7 < CREASE < 0.8


def test_an_empty_mesh_has_no_normals() -> None:
    assert smooth(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 3)


# ---- Meshes as sensors see them: as their convex hulls, also on the links of robots ----------------------------------


Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def rock(seed: int, count: int = 60) -> Floats:
    """Return points (N, 3) on an uneven ball, and inside it."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    return 0.5 * points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.3, 1.0, (count, 1)) * [1.0, 0.7, 0.5]


def test_a_hull_is_convex_and_holds_all_points() -> None:
    for seed in range(5):
        points = rock(seed)
        faces = hull_faces(points)
        a, b, c = (points[faces[:, corner]] for corner in range(3))
        normals = np.cross(b - a, c - a)
        assert ((points[:, None] - a[None]) * normals).sum(axis=2).max() < 1e-12
        # Closed: each edge belongs to two faces, once in each direction.
        edges = {(int(face[i]), int(face[(i + 1) % 3])) for face in faces for i in range(3)}
        assert len(edges) == 3 * len(faces)
        assert {(end, start) for start, end in edges} == edges


def test_the_hull_of_a_box_is_the_box() -> None:
    corners = np.array([[x, y, z] for x in (0.0, 2.0) for y in (-1.0, 1.0) for z in (3.0, 3.5)])
    inside = np.random.default_rng(0).uniform(0.1, 0.9, (200, 3)) * [2.0, 2.0, 0.5] + [0.0, -1.0, 3.0]
    hull = Hull(np.concatenate((inside, corners)))
    assert hull.centre.tolist() == [1.0, 0.0, 3.25]
    assert hull.half_extents.tolist() == [1.0, 1.0, 0.25]
    assert len(hull.vertices) == 8
    assert hull.radius == pytest.approx(math.sqrt(2.0 + 0.25**2))
    with pytest.raises(ValueError, match="read-only"):
        hull.vertices[0] = 0.0


@pytest.mark.parametrize("points", [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1]], [[1, 2, 3]]])
def test_what_is_flat_is_a_thin_plate(points: list[list[float]]) -> None:
    hull = Hull(np.array(points, np.float64))
    assert len(hull.edges) >= 6
    assert hull.half_extents.min() >= 5e-5


def test_broken_meshes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(fs.InvalidValueError, match="cannot be read"):
        hull_of(Geometry(ShapeKind.MESH, mesh_path=str(tmp_path / "none.obj")))
