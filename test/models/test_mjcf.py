"""MJCF files are read as PyBullet numbers them, with MuJoCo's meaning."""

from __future__ import annotations

import math
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
from fleet_sim.world.shapes import BASE, FIXED, PRISMATIC, REVOLUTE

DATA = Path(pybullet_data.getDataPath()) / "mjcf"
READABLE = ("ant", "half_cheetah", "humanoid", "humanoid_fixed", "humanoid_symmetric", "humanoid_symmetric_no_ground",
            "swimmer", "ground", "ground_plane")  # fmt: skip
# Its ankles have two joints at two places; PyBullet takes both to be at the first.
MISREAD = {"humanoid"}


@pytest.mark.parametrize("name", READABLE)
def test_mjcf_is_read_as_pybullet_reads_it(name: str, client: int) -> None:
    model = load_robot_model(DATA / f"{name}.xml")
    bodies = pybullet.loadMJCF(str(DATA / f"{name}.xml"), physicsClientId=client)
    # PyBullet makes a body of the floor as well.
    body = max(bodies, key=lambda body: pybullet.getNumJoints(body, client))
    assert_equal_to_pybullet(model, client, body, frames=name not in MISREAD)
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
    (
        "</worldbody>",
        "<body name='other'/></worldbody>",
        "its world has 2 bodies (<body 'base'>, <body 'other'>)",
    ),
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
