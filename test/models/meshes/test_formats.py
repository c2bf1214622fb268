"""Mesh files: what is read of them, and what is said of bad ones."""

from __future__ import annotations

import logging
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from spoiled import spoiled

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models.meshes.loading import load_mesh, mesh_extents
from fleet_sim.models.meshes.mesh import Mesh
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
        ("v 0 0 0\nf 1 /1 1\n", "must be v, v/vt"),
        ("v 0 0 0\nf 1 0 1\n", "refers to vertex 0, but the file has 1"),
        ("v 0 0 0\nf 1 -2 1\n", "refers to vertex -2, but the file has 1"),
        ("v 0 0\n", "column"),
        ("v 0 0 1e300\nf 1 1 1\n", "finite"),
        ("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "finite"),
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
