"""Cameras see robots link by link, whichever renderer draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs

MODELS = sorted((Path(__file__).parents[3] / "urdf").glob("*.urdf"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_renderers_agree_on_robots(sim: fs.MultiRobotSimulationCore, path: Path) -> None:
    robot = sim.spawn(fs.AgentSpawnParams(urdf_path=str(path), initial_pose=fs.Pose.from_yaw(0.0, 0.0, 0.0, 0.7)))
    pose = fs.Pose.from_euler(-2.2, -0.1, 1.2, 0.0, 0.35, 0.0)
    settings = {"pose": pose, "channels": ["rgb", "depth", "ids", "links"]}
    ours, theirs = (sim.add_sensor("camera", name=name, renderer=name, **settings).read() for name in ("auto", "tiny"))
    seen = int((theirs.ids == robot.object_id).sum())
    assert seen > 40
    assert (ours.ids != theirs.ids).sum() < 5 + 0.02 * seen
    assert (ours.links != theirs.links).sum() < 5 + 0.04 * seen
    assert len(np.unique(ours.links[ours.ids >= 0])) == len(np.unique(theirs.links[theirs.ids >= 0]))
    both_mask = (ours.links == theirs.links) & np.isfinite(theirs.depth) & np.isfinite(ours.depth)
    errors = np.abs(ours.depth[both_mask] - theirs.depth[both_mask]) / theirs.depth[both_mask]
    assert np.quantile(errors, 0.99) < 0.01
    robot_mask = (ours.ids == theirs.ids) & (ours.ids >= 0)
    colors = [reading.rgb[robot_mask].mean(0) for reading in (ours, theirs)]
    np.testing.assert_allclose(*colors, atol=45.0)


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("content", ["v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "v 0 0\nf 1 2 3\n"])
def test_a_broken_mesh_is_not_seen_and_hides_nothing(
    sim: fs.MultiRobotSimulationCore, content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.obj").write_text(content)
    geometry = '<geometry><mesh filename="bad.obj"/></geometry>'
    (tmp_path / "bad.urdf").write_text(f'<robot name="r"><link name="a"><visual>{geometry}</visual></link></robot>')
    broken = sim.spawn(fs.AgentSpawnParams(urdf_path=str(tmp_path / "bad.urdf"), initial_pose=fs.Pose((2.0, 0.0, 0.5))))
    crate = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.3))
    sound = sim.spawn(fs.SimObjectSpawnParams(crate, crate, fs.Pose((3.0, 0.0, 0.5))))
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.5], channels=["ids"], renderer="opengl")
    for _ in range(2):
        seen = camera.read().ids
        assert sound.object_id in seen and broken.object_id not in seen
    assert [record.levelname for record in caplog.records if "bad.obj" in record.message] == ["WARNING"]
