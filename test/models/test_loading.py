"""Models are numbered, named, limited and placed as PyBullet has them, for every file that PyBullet brings along."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest
from robot_models import assert_equal_to_pybullet, link_poses
from spoiled import spoiled

from fleet_sim import InvalidValueError, MultiRobotSimulationCore, SimulationParams
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import load_robot_model
from fleet_sim.world.shapes import BASE, FIXED, PRISMATIC, REVOLUTE

DATA = Path(pybullet_data.getDataPath())
# PyBullet reads these as something else than they say, or not at all.
UNREADABLE = {
    "biped/biped2d_pybullet.urdf": "lower must be a finite number",  # -1.57.
    "kuka_iiwa/model_for_sdf.urdf": "there is no mesh",
    "torus_deform.urdf": "deformable",
    "toys/concave_box.urdf": "<geometry>",
}
MISREAD = {"husky/husky.urdf"}  # holds $(optenv ...), which PyBullet takes for zeros
# PyBullet takes seconds to load their meshes; the smaller of each family are among the others.
SLOW = {
    "mini_cheetah/mini_cheetah.urdf", "samurai.urdf", "quadruped/microtaur/microtaur.urdf",
    "laikago/laikago_toes.urdf", "laikago/laikago_toes_zup.urdf", "laikago/laikago_toes_limits.urdf",
    "laikago/laikago_toes_zup_lores.urdf", "racecar/racecar_differential.urdf", "quadruped/vision60.urdf",
    "xarm/xarm6_robot_white.urdf", "quadruped/spirit40newer.urdf", "aliengo/aliengo.urdf",
}  # fmt: skip
ALL = sorted(str(file.relative_to(DATA)) for file in DATA.rglob("*.urdf") if "random_urdfs" not in file.parts)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ALL if name not in UNREADABLE]
)
def test_urdf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA / name)
    body = pybullet.loadURDF(str(DATA / name), physicsClientId=client)
    assert model.name == pybullet.getBodyInfo(body, client)[1].decode()
    assert_equal_to_pybullet(model, client, body, frames=name not in MISREAD)
    dynamics = [pybullet.getDynamicsInfo(body, link, client) for link in range(BASE, model.num_joints)]
    for inertial, values in zip(model.inertials, dynamics, strict=True):
        if inertial.mass:
            assert inertial.mass == pytest.approx(values[0])
            np.testing.assert_allclose(inertial.position, values[3], atol=1e-9)
    pybullet.removeBody(body, client)


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_urdf_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=UNREADABLE[name]) as caught:
        load_robot_model(DATA / name)
    assert str(DATA / name) in str(caught.value)


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.urdf"
    file.write_text("<robot name='one'><link name='base'/></robot>")
    model = load_robot_model(file)
    assert load_robot_model(str(file)) is model
    file.write_text("<robot name='two'><link name='base'/></robot>")
    os.utime(file, ns=(1, 1))
    assert load_robot_model(file).name == "two"


# ---- MJCF files are read as PyBullet numbers them, with MuJoCo's meaning ---------------------------------------------


DATA_MJCF = Path(pybullet_data.getDataPath()) / "mjcf"
READABLE = ("ant", "half_cheetah", "humanoid", "humanoid_fixed", "humanoid_symmetric", "humanoid_symmetric_no_ground",
            "swimmer", "ground", "ground_plane")  # fmt: skip
# Its ankles have two joints at two places; PyBullet takes both to be at the first.
MISREAD_MJCF = {"humanoid"}


@pytest.mark.parametrize("name", READABLE)
def test_mjcf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA_MJCF / f"{name}.xml")
    bodies = pybullet.loadMJCF(str(DATA_MJCF / f"{name}.xml"), physicsClientId=client)
    # PyBullet makes a body of the floor as well.
    body = max(bodies, key=lambda body: pybullet.getNumJoints(body, client))
    assert_equal_to_pybullet(model, client, body, frames=name not in MISREAD_MJCF)
    for loaded in bodies:
        pybullet.removeBody(loaded, client)


ARM = """<mujoco model="arm"><compiler angle="radian" meshdir="assets"/>
<default><joint damping="0.5"/><geom density="500"/>
  <default class="big"><joint range="-2 2" damping="2"/><geom type="capsule"/>
    <default class="ghost"><geom contype="0" conaffinity="0" group="2" rgba="1 0 0 1"/></default></default></default>
<asset><material name="steel" rgba="0.5 0.5 0.5 1"/><mesh file="tri.obj" scale="2 2 2"/></asset>
<worldbody><light pos="0 0 3"/><geom name="floor" type="plane" size="1 1 1"/>
<body name="base" pos="1 0 0"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
  <body name="upper" pos="0 0 0.3" euler="0 0 1.5707963267948966" childclass="big">
    <joint name="pan" axis="0 0 2" actuatorfrcrange="-30 30"/>
    <joint name="lift" type="slide" axis="0 0 1" class="main" range="0 0.5"/>
    <geom size="0.05" fromto="0 0 0 0 0 0.4"/><geom class="ghost" size="0.01 0.1"/>
    <geom type="mesh" mesh="tri" material="steel" group="3" mass="0.2"/>
    <body name="hand" pos="0 0 0.4"><inertial pos="0 0 0.01" mass="0.3" diaginertia="1e-3 2e-3 3e-3"/></body>
  </body></body></worldbody>
<actuator><motor joint="lift" gear="10 0 0" ctrlrange="-2 3"/></actuator></mujoco>"""


def written(folder: Path, text: str) -> Path:
    (folder / "assets").mkdir(exist_ok=True)
    (folder / "assets" / "tri.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    file = folder / "arm.xml"
    file.write_text(text)
    return file


def test_defaults_angles_shapes_and_masses(tmp_path: Path) -> None:
    model = load_robot_model(written(tmp_path, ARM))
    # The floor was the world's first thing, so the links between are numbered from 1.
    assert model.base_name == "base" and model.link_names == ("link1_2", "link1_3", "upper", "hand")
    assert model.joint_names[:2] == ("pan", "lift")
    assert model.joint_types.tolist() == [REVOLUTE, PRISMATIC, FIXED, FIXED]
    assert model.lower.tolist()[:2] == [-2.0, 0.0] and model.upper.tolist()[:2] == [2.0, 0.5]
    assert model.damping.tolist()[:2] == [2.0, 0.5] and model.max_forces.tolist()[:2] == [30.0, 30.0]
    np.testing.assert_allclose(model.axes[0], [0, 0, 1])
    np.testing.assert_allclose(model.joint_orientations[0], [0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    assert model.inertials[0].mass == pytest.approx(500 * 8 * 0.1 * 0.2 * 0.3)
    assert model.inertials[4].mass == 0.3 and model.inertials[4].inertia == (1e-3, 2e-3, 3e-3)
    rod, ghost = (part.geometry for part in model.visuals if part.link == 2)
    assert (rod.kind, rod.height, rod.position) == (ShapeKind.CAPSULE, 0.4, (0.0, 0.0, 0.2))
    assert (ghost.radius, ghost.height, ghost.rgba) == (0.01, 0.2, (1.0, 0.0, 0.0, 1.0))
    meshes = [part.geometry for part in model.collisions if part.geometry.kind == ShapeKind.MESH]
    assert [mesh.mesh_scale for mesh in meshes] == [(2.0, 2.0, 2.0)]
    assert meshes[0].rgba == (0.5, 0.5, 0.5, 1.0)
    assert {part.link for part in model.collisions} == {BASE, 2}


def test_a_reference_value_is_where_the_file_draws_the_joint(tmp_path: Path) -> None:
    drawn = load_robot_model(written(tmp_path, ARM))
    text = ARM.replace('name="pan"', 'name="pan" ref="0.3"').replace('name="lift"', 'name="lift" ref="0.2"')
    model = load_robot_model(written(tmp_path, text))
    expected, shifted = link_poses(drawn, [0, 0, 0, 0]), link_poses(model, [0.3, 0.2, 0, 0])
    np.testing.assert_allclose(shifted[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(np.abs((shifted[1] * expected[1]).sum(axis=1)), 1.0)


def test_included_files_are_spliced_in(tmp_path: Path) -> None:
    default = ARM[ARM.index("<default>") : ARM.index("<asset>")]
    (tmp_path / "defaults.xml").write_text(f"<mujoco>{default}</mujoco>")
    whole, split = ARM, ARM.replace(default, '<include file="defaults.xml"/>')
    expected = load_robot_model(written(tmp_path, whole))
    model = load_robot_model(written(tmp_path, split))
    assert model is not expected
    assert (model.visuals, model.inertials) == (expected.visuals, expected.inertials)
    (tmp_path / "defaults.xml").write_text('<mujoco><include file="defaults.xml"/></mujoco>')
    with pytest.raises(InvalidValueError, match="do files include each other"):
        load_robot_model(written(tmp_path, split + " "))


@spoiled(
    ARM,
    ("</worldbody>", "<body name='other'/></worldbody>", "its world has 2 bodies (<body 'base'>, <body 'other'>)"),
    ('angle="radian"', 'angle="radian" coordinate="global"', "<compiler>: coordinate='global' is not supported"),
    ('type="slide"', 'type="slde"', "<joint 'lift'>: unknown type of joint 'slde'. Did you mean 'slide'?"),
    ('class="ghost" size', 'class="gosht" size', "<geom>: there is no default class 'gosht'"),
    ('mesh="tri"', 'mesh="try"', "there is no mesh 'try' in <asset>; known: tri"),
    ("tri.obj", "tree.obj", "there is no mesh 'assets/tree.obj'. Did you mean 'tri.obj'?"),
    ('range="0 0.5"', 'range="1 0.5"', "the lower end 1 of range is above the upper 0.5"),
    ('size="0.05"', 'size="inf"', "size must be a finite number, got 'inf'"),
    ('type="box"', 'type="ellipsoid"', "geoms of type 'ellipsoid' are not supported"),
    ("<freejoint/>", "<composite/>", "<composite> is not supported"),
    ('name="hand"', 'name="upper"', "another link is called 'upper'"),
    ('mass="0.3"', 'mass="-1"', "the mass must not be negative"),
)
def test_what_is_unsupported_or_wrong_is_named(text: str, words: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InvalidValueError, match=re.escape(words)) as caught:
        load_robot_model(file)
    assert re.match(rf"{re.escape(str(file))}, line \d+, <", str(caught.value))


# ---- SDF files are read as PyBullet reads them, and in the ways that PyBullet does not -------------------------------


# PyBullet crashes on gripper/wsg50_one_motor_gripper_free_base.sdf.
READABLE_SDF = (
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


@pytest.mark.parametrize("name", READABLE_SDF)
def test_sdf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA / name)
    (body,) = pybullet.loadSDF(str(DATA / name), physicsClientId=client)
    assert model.name == pybullet.getBodyInfo(body, client)[1].decode()
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)


ARM_SDF = """<sdf version="1.9"><model name="arm">
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


def written_sdf(folder: Path, text: str, name: str = "model.sdf") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_poses_axes_and_limits_of_newer_sdf(tmp_path: Path) -> None:
    model = load_robot_model(written_sdf(tmp_path, ARM_SDF))
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
    text = ARM_SDF.replace(
        "</model>", '<joint name="stand" type="fixed"><parent>world</parent><child>base</child></joint></model>'
    )
    model = load_robot_model(written_sdf(tmp_path, text))
    assert model.base_name == "world" and model.joint_names == ("stand", "slide", "turn")


def test_one_included_model_is_the_model(tmp_path: Path) -> None:
    written_sdf(tmp_path, ARM_SDF, "models/arm/model.sdf")
    include = '<sdf version="1.9"><world name="w"><include><uri>model://arm</uri></include></world></sdf>'
    file = written_sdf(tmp_path, include, "world.sdf")
    assert load_robot_model(file, search_paths=[tmp_path / "models"]).joint_names == ("slide", "turn")
    with pytest.raises(
        InvalidValueError, match=r"line 1, <include>: there is no file 'model://arm' to include. Searched: "
    ):
        load_robot_model(file)


@spoiled(
    ARM_SDF,
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
def test_what_is_unsupported_or_wrong_is_named_sdf(text: str, words: str, tmp_path: Path) -> None:
    file = written_sdf(tmp_path, text)
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
    model = load_robot_model(written_sdf(tmp_path, f'<sdf version="1.11">{content}</sdf>'))
    (mimic,) = model.mimics
    names = model.joint_names[mimic.follower], model.joint_names[mimic.leader]
    assert names == (f"{prefix}right", f"{prefix}left")
    # -2 * (left - 0.3) + 0.1
    assert (mimic.multiplier, mimic.offset) == pytest.approx((-2.0, 0.7))


# ---- Inertia tensors of descriptions: the principal moments and the frame say the same as the tensor -----------------


URDF = """<robot name="r"><link name="base"><inertial>
<origin xyz="0.1 0.2 0.3" rpy="{rpy}"/><mass value="{mass}"/>
<inertia ixx="{t[0]}" ixy="{t[1]}" ixz="{t[2]}" iyy="{t[3]}" iyz="{t[4]}" izz="{t[5]}"/>
</inertial></link></robot>"""


def read(folder: Path, tensor: list[float], rpy: str = "0 0 0", mass: float = 2.0) -> tuple[Floats, Floats]:
    """Return the moments (3,) of a link with `tensor`, and the tensor (3, 3) they mean in the frame of the link."""
    file = folder / "robot.urdf"
    file.write_text(URDF.format(t=tensor, rpy=rpy, mass=mass))
    inertial = load_robot_model(str(file)).inertials[0]
    axes = quaternions.to_matrices(np.array([inertial.orientation]))[0]
    moments = np.array(inertial.inertia)
    return moments, axes @ np.diag(moments) @ axes.T


def full(tensor: list[float]) -> Floats:
    xx, xy, xz, yy, yz, zz = tensor
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("seed", range(8))
def test_a_tensor_in_any_frame_keeps_its_meaning(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(5, 3))
    # Of five points of one kilogram: a body that can be.
    whole = (parts * parts).sum() * np.eye(3) - parts.T @ parts
    tensor = [float(whole[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    moments, found = read(tmp_path, tensor)
    assert found == pytest.approx(whole, abs=1e-9)
    assert sorted(moments.tolist()) == pytest.approx(np.linalg.eigvalsh(whole).tolist())


def test_the_frame_of_the_file_counts(tmp_path: Path) -> None:
    tensor = [0.2, 0.05, 0.0, 0.3, 0.0, 0.4]
    turn = quaternions.to_matrices(quaternions.from_eulers(np.array([[0.3, -0.2, 0.9]])))[0]
    _, found = read(tmp_path, tensor, rpy="0.3 -0.2 0.9")
    assert found == pytest.approx(turn @ full(tensor) @ turn.T)


def test_a_diagonal_tensor_keeps_its_order(tmp_path: Path) -> None:
    moments, found = read(tmp_path, [0.4, 0.0, 0.0, 0.2, 0.0, 0.3])
    assert moments.tolist() == [0.4, 0.2, 0.3]
    assert found == pytest.approx(np.diag([0.4, 0.2, 0.3]))


def test_a_body_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FleetSimError, match="no negative principal moment"):
        read(tmp_path, [0.1, 0.5, 0.0, 0.1, 0.0, 0.1])
    with pytest.raises(FleetSimError, match="no negative principal moment"):
        read(tmp_path, [-0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    with pytest.raises(FleetSimError, match="mass must not be negative"):
        read(tmp_path, [0.1, 0.0, 0.0, 0.1, 0.0, 0.1], mass=-1.0)


def test_what_rounding_makes_negative_is_zero(tmp_path: Path) -> None:
    moments, _ = read(tmp_path, [0.1, 0.1, 0.0, 0.1, 0.0, 0.2])
    assert moments.min() == pytest.approx(0.0, abs=1e-12)
    assert moments.min() >= 0.0
    thin, _ = read(tmp_path, [1.0, 0.0, 0.0, 1.0, 0.0, -1e-12])
    assert thin.tolist() == [1.0, 1.0, 0.0]


# ---- The folders of a simulation's settings --------------------------------------------------------------------------


def test_model_paths_of_the_settings_reach_the_world(tmp_path: Path) -> None:
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path)])
    with MultiRobotSimulationCore(params) as sim:
        assert sim.world.model_paths == (str(tmp_path.resolve()),)


def test_a_missing_folder_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path / "robot")])
    with pytest.raises(InvalidValueError, match=r"model_paths: there is no folder .*robot'. Did you mean 'robots'\?"):
        MultiRobotSimulationCore(params)
