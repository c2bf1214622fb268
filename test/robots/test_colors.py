"""Colours given at run time are seen by every camera, by PyBullet's view and in snapshots."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs

RED, GREEN, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
BOX = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=RED)
MakeSim = Callable[..., fs.MultiRobotSimulationCore]

renderers = pytest.mark.parametrize("renderer", ["auto", "tiny"])


def box(sim: fs.MultiRobotSimulationCore, x: float = 3.0, **settings: Any) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(x, 0.0, 0.5), **settings))


def brightest(sim: fs.MultiRobotSimulationCore, renderer: str) -> int:
    """The channel that prevails in the middle of the picture of a camera that looks along x."""
    camera = sim.add_sensor("camera", renderer=renderer, pose=[0.0, 0.0, 0.5], channels=["rgb"], width=64, height=48)
    pixel = camera.read().rgb[24, 32]
    sim.remove_sensor(camera)
    return int(pixel.argmax())


def shown(sim: fs.MultiRobotSimulationCore, obj: fs.SimObject, link: int = -1) -> tuple[float, ...]:
    """The colour of a link in PyBullet."""
    return next(tuple(shape[7]) for shape in sim.bullet.getVisualShapeData(obj.body_id) if shape[1] == link)


@renderers
def test_cameras_see_a_new_color_and_the_own_one_again(make_sim: MakeSim, renderer: str) -> None:
    sim = make_sim()
    obj = box(sim)
    assert brightest(sim, renderer) == 0
    obj.set_color(GREEN)
    assert obj.get_color() == GREEN
    assert brightest(sim, renderer) == 1
    obj.set_color(None)
    assert obj.get_color() == RED
    assert brightest(sim, renderer) == 0


@renderers
def test_opacity_0_hides_an_object(make_sim: MakeSim, renderer: str) -> None:
    sim = make_sim()
    near, far = box(sim, 3.0), box(sim, 6.0)
    far.set_color(BLUE)
    near.set_color((1.0, 0.0, 0.0, 0.0))
    assert brightest(sim, "auto") == 2
    near.set_color(RED)
    assert brightest(sim, renderer) == 0


def test_pybullet_and_snapshots_have_it_and_keep_it(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj, other = box(sim), box(sim, 5.0)
    obj.set_color(GREEN)
    assert [shown(sim, each) for each in (obj, other)] == [GREEN, RED]
    sim.rebuild_engine()
    assert shown(sim, obj) == GREEN
    np.testing.assert_array_equal(sim.get_snapshot().colors, [GREEN, [-1.0] * 4])
    later = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(9.0, 0.0, 0.5)))
    assert shown(sim, later) == RED


def test_a_raw_client_sees_a_color_at_once(make_sim: MakeSim) -> None:
    import pybullet

    sim = make_sim()
    obj = box(sim)
    body = obj.body_id
    obj.set_color(BLUE)
    assert tuple(pybullet.getVisualShapeData(body, physicsClientId=sim.client)[0][7]) == BLUE


def test_links_of_a_robot_have_colors_of_their_own(make_sim: MakeSim) -> None:
    sim = make_sim()
    arm = fs.Agent.from_params(fs.AgentSpawnParams(urdf_path="panda", use_fixed_base=True), sim)
    own = arm.get_color("panda_link3")
    link = sim.bullet.getJointInfo  # the number of a link is that of its joint
    number = next(i for i in range(len(arm.link_names)) if link(arm.body_id, i)[12] == b"panda_link3")
    arm.set_color(GREEN, link="panda_link3")
    assert arm.get_color("panda_link3") == GREEN
    assert arm.get_color("panda_link2") == own
    assert shown(sim, arm, number) == GREEN
    assert shown(sim, arm, number - 1) != GREEN
    arm.set_color(BLUE)
    assert {tuple(shape[7]) for shape in sim.bullet.getVisualShapeData(arm.body_id)} == {BLUE}
    arm.set_color(None)
    assert shown(sim, arm, number) == pytest.approx(own)


def test_changeVisualShape_of_an_entity_is_taken_over(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    sim = make_sim()
    obj = box(sim)
    sim.bullet.changeVisualShape(obj.body_id, -1, rgbaColor=GREEN)
    assert obj.get_color() == GREEN
    assert brightest(sim, "auto") == 1
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        sim.bullet.changeVisualShape(obj.body_id, -1, specularColor=[1.0, 1.0, 1.0])
        sim.bullet.changeVisualShape(obj.body_id, -1, specularColor=[0.0, 1.0, 1.0])
    told = [record for record in caplog.records if record.name == "fleet_sim.engines.bullet"]
    assert len(told) == 1 and "specularColor" in told[0].getMessage()


def test_wrong_colors_are_rejected(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj = box(sim)
    unseen = sim.spawn(fs.SimObjectSpawnParams(None, BOX, fs.Pose.from_xyz(9.0, 0.0, 0.5)))
    with pytest.raises(fs.InvalidValueError, match="from 0 to 1"):
        obj.set_color((255, 0, 0, 1))
    with pytest.raises(fs.InvalidValueError, match="rgba"):
        obj.set_color((1.0, 0.0, 0.0))
    with pytest.raises(fs.InvalidValueError, match="no visual shape"):
        unseen.set_color(RED)
    with pytest.raises(fs.InvalidValueError, match="no link"):
        obj.set_color(RED, link="lid")


def test_a_collision_is_shown_over_a_new_color() -> None:
    params = fs.SimulationParams(gui=False, timestep=0.1, enable_collision_color_change=True)
    with fs.MultiRobotSimulationCore(params, collision_color=BLUE) as sim:
        first, second = box(sim), box(sim, 3.5)
        first.set_color(GREEN)
        sim.bullet.getNumBodies()
        sim.step_once()
        first.set_color((1.0, 1.0, 0.0, 1.0))
        sim.step_once()
        assert [shown(sim, obj) for obj in (first, second)] == [BLUE, BLUE]
        second.set_pose(fs.Pose.from_xyz(9.0, 0.0, 0.5))
        sim.step_once()
        assert [shown(sim, obj) for obj in (first, second)] == [(1.0, 1.0, 0.0, 1.0), RED]


def test_the_only_link_of_an_object_is_all_of_it(make_sim: MakeSim) -> None:
    sim = make_sim()
    obj = box(sim)
    obj.set_color(GREEN, link=-1)
    assert obj.get_color() == GREEN
    assert sim.get_snapshot().colors.tolist() == [list(GREEN)]
    obj.set_color(None)
    assert obj.get_color() == RED
