"""Recorded markers of meshes: the materials of their files, until something paints them."""

from __future__ import annotations

from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

import fleet_sim as fs

MODEL = """<robot name="r"><link name="base">
<visual><geometry><mesh filename="hull.obj"/></geometry></visual>
<visual><geometry><mesh filename="hull.obj"/></geometry><material name="m"><color rgba="1 0 0 1"/></material></visual>
</link></robot>"""


def test_meshes_keep_their_own_materials_until_they_are_painted(tmp_path: Path) -> None:
    (tmp_path / "hull.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n")
    (tmp_path / "robot.urdf").write_text(MODEL)
    robots = [{"name": "cart", "urdf_path": str(tmp_path / "robot.urdf")}]
    scenario = {"simulation": {"gui": False}, "robots": robots}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim, sim.record(tmp_path / "run.mcap", rate=None):
        sim.step_once()
        # The color of shapes without one: it is painted all the same.
        sim.agents[0].set_color((0.8, 0.8, 0.8, 1.0))
        sim.step_once()
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        found = [message for *_, message in reader.iter_decoded_messages(topics=["/fleet/markers"])]
    looks = [
        [(one.mesh_use_embedded_materials, round(one.color.r, 3), one.color.a) for one in message.markers[1:]]
        for message in (found[0], found[-1])
    ]
    assert looks[0] == [(True, 0.0, 0.0), (False, 1.0, 1.0)]
    assert looks[1] == [(False, 0.8, 1.0), (False, 0.8, 1.0)]
    assert found[0].markers[1].mesh_resource == (tmp_path / "hull.obj").as_uri()
