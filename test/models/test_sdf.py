"""SDF files are read as PyBullet reads them, and in the ways that PyBullet does not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest
from robot_models import assert_equal_to_pybullet, link_poses
from spoiled import spoiled

from fleet_sim import InvalidValueError, load_robot_model
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.world.shapes import PRISMATIC, REVOLUTE

DATA = Path(pybullet_data.getDataPath())
# PyBullet crashes on gripper/wsg50_one_motor_gripper_free_base.sdf.
READABLE = (
    "gripper/wsg50_one_motor_gripper.sdf",
    "gripper/wsg50_one_motor_gripper_new.sdf",
    "gripper/wsg50_one_motor_gripper_new_free_base.sdf",
    "gripper/wsg50_one_motor_gripper_no_finger.sdf",
    "gripper/wsg50_with_r2d2_gripper.sdf",
    "kiva_shelf/model.sdf",
    "kuka_iiwa/kuka_with_gripper.sdf",
    "kuka_iiwa/kuka_with_gripper2.sdf",
    "kuka_iiwa/model.sdf",
    "plane_stadium.sdf",
)


@pytest.mark.parametrize("name", READABLE)
def test_sdf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA / name)
    (body,) = pybullet.loadSDF(str(DATA / name), physicsClientId=client)
    assert model.name == pybullet.getBodyInfo(body, client)[1].decode()
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)


ARM = """<sdf version="1.9"><model name="arm">
<link name="base"><pose>1 2 3 0 0 0.5</pose><inertial><mass>2</mass></inertial></link>
<link name="lift"><pose relative_to="base">0 0 1 0 0 0</pose>
  <visual name="v"><geometry><capsule><radius>0.1</radius><length>0.4</length></capsule></geometry>
  <material><ambient>1 0 0 1</ambient><diffuse>0 1 0</diffuse></material></visual></link>
<link name="elbow"><pose relative_to="lift">0.5 0 0 1.5707963267948966 0 0</pose></link>
<joint name="slide" type="prismatic"><parent>base</parent><child>lift</child>
  <axis><xyz>0 0 1</xyz>
    <limit><lower>0</lower><upper>0.6</upper><effort>-1</effort><velocity>0.5</velocity></limit></axis></joint>
<joint name="turn" type="revolute"><parent>lift</parent><child>elbow</child>
  <axis><xyz expressed_in="__model__">0 0 1</xyz><limit><lower>-1e16</lower><upper>1e16</upper></limit></axis></joint>
</model></sdf>"""


def written(folder: Path, text: str, name: str = "model.sdf") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_poses_axes_and_limits_of_newer_sdf(tmp_path: Path) -> None:
    model = load_robot_model(written(tmp_path, ARM))
    assert model.joint_types.tolist() == [PRISMATIC, REVOLUTE]
    assert model.limited_mask.tolist() == [True, False]
    assert (model.max_forces[0], model.max_velocities[0]) == (0.0, 0.5)
    positions, _ = link_poses(model, [0.2, 0.0])
    np.testing.assert_allclose(positions, [[0, 0, 1.2], [0.5, 0, 1.2]], atol=1e-12)
    # The model's z axis, seen from a link that is turned a quarter about x.
    np.testing.assert_allclose(model.axes[1], [0, 1, 0], atol=1e-12)
    (visual,) = model.visuals
    assert (visual.geometry.kind, visual.geometry.height) == (ShapeKind.CAPSULE, 0.4)
    assert visual.geometry.rgba == (0.0, 1.0, 0.0, 1.0)


def test_a_joint_to_the_world_hangs_on_a_link_of_that_name(tmp_path: Path) -> None:
    text = ARM.replace(
        "</model>", '<joint name="stand" type="fixed"><parent>world</parent><child>base</child></joint></model>'
    )
    model = load_robot_model(written(tmp_path, text))
    assert model.base_name == "world" and model.joint_names == ("stand", "slide", "turn")


def test_one_included_model_is_the_model(tmp_path: Path) -> None:
    written(tmp_path, ARM, "models/arm/model.sdf")
    include = '<sdf version="1.9"><world name="w"><include><uri>model://arm</uri></include></world></sdf>'
    file = written(tmp_path, include, "world.sdf")
    assert load_robot_model(file, search_paths=[tmp_path / "models"]).joint_names == ("slide", "turn")
    with pytest.raises(
        InvalidValueError, match=r"line 1, <include>: there is no file 'model://arm' to include. Searched: "
    ):
        load_robot_model(file)


@spoiled(
    ARM,
    ("</model>", "</model><model name='b'/>", "has 2 models (<model 'arm'>, <model 'b'>)"),
    ("</model>", "<model name='inner'/></model>", "<model 'inner'>: has no <link>"),
    ('type="revolute"', 'type="screw"', "<joint 'turn'>: joints of type 'screw' are not supported"),
    ("<parent>lift</parent>", "<parent>lft</parent>", "there is no parent link 'lft'. Did you mean 'lift'?"),
    ('relative_to="base"', 'relative_to="elbow"', "its pose is relative to"),
    (
        '<joint name="turn" type="revolute">',
        '<joint name="turn" type="revolute"><pose>0 0 1 0 0 0</pose>',
        "<pose> of a joint",
    ),
    ("__model__", "base", "an axis expressed in 'base' is not supported"),
    ("<upper>0.6</upper>", "<upper>nan</upper>", "<upper> must be a finite number, got 'nan'"),
    ("<length>0.4</length>", "", "<capsule>: needs a <length> element"),
    ("</material></visual>", "</material><transparency>1.5</transparency></visual>", "must be from 0 to 1, got 1.5"),
    ("capsule>", "ellipsoid>", "<capsule>, <mesh>, <plane>, got ['ellipsoid']"),
)
def test_what_is_unsupported_or_wrong_is_named(text: str, words: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InvalidValueError, match=re.escape(words)) as caught:
        load_robot_model(file)
    assert re.match(rf"{re.escape(str(file))}, line \d+, <", str(caught.value))


HAND = """<model name="hand"><link name="palm"/><link name="left"/><link name="right"/>
<joint name="left" type="prismatic"><parent>palm</parent><child>left</child><axis><xyz>1 0 0</xyz></axis></joint>
<joint name="right" type="prismatic"><parent>palm</parent><child>right</child><axis><xyz>1 0 0</xyz>
  <mimic joint="left" axis="axis"><multiplier>-2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic>
</axis></joint></model>"""
WRIST = '<joint name="wrist" type="fixed"><parent>base</parent><child>hand::palm</child></joint>'


@pytest.mark.parametrize(
    ("content", "prefix"), [(HAND, ""), (f'<model name="arm"><link name="base"/>{HAND}{WRIST}</model>', "hand::")]
)
def test_mimic_joints_follow_as_in_urdf(content: str, prefix: str, tmp_path: Path) -> None:
    model = load_robot_model(written(tmp_path, f'<sdf version="1.11">{content}</sdf>'))
    (mimic,) = model.mimics
    names = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
    assert names == (f"{prefix}right", f"{prefix}left")
    # -2 * (left - 0.3) + 0.1
    assert (mimic.multiplier, mimic.offset) == pytest.approx((-2.0, 0.7))
