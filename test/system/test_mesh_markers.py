"""Markers of meshes: how RViz on another machine finds the file, and the colors of its materials."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from node_program import running_scenario
from visualization_msgs.msg import MarkerArray

MESHES = """<robot name="r"><link name="base">
<visual><geometry><mesh filename="package://my_robot/hull.obj"/></geometry></visual>
<visual><geometry><mesh filename="package://my_robot/hull.obj"/></geometry>
<material name="m"><color rgba="1 0 0 1"/></material></visual>
<visual><geometry><mesh filename="package://my_robot/hull.stl"/></geometry></visual>
</link></robot>"""


def test_meshes_are_named_for_other_machines_and_seen_in_their_own_materials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = tmp_path / "install" / "share" / "my_robot"
    share.mkdir(parents=True)
    (share / "hull.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n")
    corners = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    (share / "hull.stl").write_text(f"solid\nfacet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\nendsolid\n")
    (tmp_path / "robot.urdf").write_text(MESHES)
    known = os.environ.get("AMENT_PREFIX_PATH")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(filter(None, [str(tmp_path / "install"), known])))
    scenario = """
simulation: {timestep: 0.05, target_rtf: 5.0}
robots:
  - {name: cart, urdf_path: robot.urdf}
"""
    with running_scenario(tmp_path, scenario) as (_, client):
        arrays = client.listen(MarkerArray, "/fleet/markers")
        client.until(lambda: arrays and len(arrays[-1].markers) == 3, "markers")
        shown = [
            (one.mesh_resource, one.mesh_use_embedded_materials, (one.color.r, one.color.a))
            for one in arrays[-1].markers
        ]
        grey = pytest.approx((0.8, 1.0))
        assert shown == [
            ("package://my_robot/hull.obj", True, (0.0, 0.0)),
            ("package://my_robot/hull.obj", False, (1.0, 1.0)),
            ("package://my_robot/hull.stl", False, grey),
        ]
