"""Mesh files that are too large, empty or cut off are refused before anything loads them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from fleet_sim import (
    InvalidValueError,
    MeshLimits,
    load_robot_model,
)
from fleet_sim.models.meshes.formats import count_triangles

GOOD = """<robot name="r">
  <link name="hand"><visual><geometry><mesh filename="hand.obj"/></geometry></visual></link>
</robot>
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "robot.urdf"
    file.write_text(text)
    return file


def stl(count: int) -> bytes:
    return bytes(80) + struct.pack("<I", count) + bytes(50 * count)


@pytest.mark.parametrize(
    ("name", "content", "triangles"),
    [
        ("a.stl", stl(7), 7),
        ("b.stl", b"solid b\n" + b"facet normal 0 0 1\nendfacet\n" * 3 + b"endsolid b\n", 3),
        ("c.obj", b"v 0 0 0\nf 1 2 3\nf 1/1 2/2 3/3 4/4\r\nf  1 2 3 4 5\n", 6),
        ("d.dae", b'<triangles count="4" material="m"></triangles><polylist material="m" count="5">', 9),
    ],
)
def test_triangles_are_counted(name: str, content: bytes, triangles: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert count_triangles(tmp_path / name) == triangles


def test_huge_and_empty_meshes_are_refused_before_they_are_loaded(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("hand.obj", "big.stl"))
    (tmp_path / "big.stl").write_bytes(stl(1000))
    load_robot_model(file)
    with pytest.raises(InvalidValueError, match=r"big.stl' has 1000 triangles, 999 are allowed; simplify the mesh"):
        load_robot_model(file, limits=MeshLimits(max_triangles=999))
    with pytest.raises(InvalidValueError, match=r"big.stl' has 50084 bytes, 50000 are allowed"):
        load_robot_model(file, limits=MeshLimits(max_bytes=50_000))
    (tmp_path / "big.stl").write_bytes(b"")
    with pytest.raises(InvalidValueError, match=r"big.stl' is empty"):
        load_robot_model(file, limits=MeshLimits(max_triangles=5000))


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("cut.stl", stl(7)[:200], "it should have 434 bytes but ends after 200"),
        ("short.stl", b"robot", "it should have 84 bytes but ends after 5"),
        ("cut.dae", b"<?xml version='1.0'?><COLLADA><asset/>", "it does not end with </COLLADA>"),
        ("binary.obj", bytes(range(256)), "it has zero bytes, so it is not text"),
    ],
)
def test_a_mesh_that_is_only_looked_at_is_refused_where_it_is_cut_off(
    name: str, content: bytes, fault: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidValueError, match=rf"robot.urdf, line 2, <mesh>: the mesh .*{name}' is no rea.*{fault}"):
        load_robot_model(written(tmp_path, GOOD.replace("hand.obj", name)))
