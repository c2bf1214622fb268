"""A bad file gives one clear error that names the file, the line, the element and what is wrong."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from fleet_sim import (
    Agent,
    InvalidValueError,
    MeshLimits,
    MultiRobotSimulationCore,
    Pose,
    SimulationParams,
    load_robot_model,
)
from fleet_sim.models import generated
from fleet_sim.models.meshes.formats import count_triangles

GOOD = """<?xml version="1.0"?>
<robot name="r">
  <!-- a comment -- with
 two dashes -->
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="arm"><visual><geometry><box size="1 2 3"/></geometry><material name="grey"/></visual></link>
  <link name="hand"><visual><geometry><mesh filename="hand.obj"/></geometry></visual></link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/><limit lower="0" upper="1" effort="5" velocity="0.5"/></joint>
  <joint name="turn" type="revolute"><parent link="arm"/><child link="hand"/>
    <origin xyz="0 0 1" rpy="0 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/>
    <dynamics damping="0.1"/><mimic joint="lift"/></joint>
  <gazebo reference="arm"><x:y z="1"/></gazebo>
  <transmission name="t"><type>any</type></transmission>
</robot>
"""
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def written(folder: Path, text: str) -> Path:
    (folder / "hand.obj").write_text(TRIANGLE)
    file = folder / "robot.urdf"
    file.write_text(text)
    return file


def test_the_good_file_is_good(tmp_path: Path) -> None:
    model = load_robot_model(written(tmp_path, GOOD))
    assert model.joint_names == ("lift", "turn") and model.damping[1] == 0.1
    assert model.visuals[0].geometry.rgba == (0.5, 0.5, 0.5, 1.0)


BAD = {
    "a wrong root": ("robot", "robt", "begins with <robot> (URDF), <sdf> or <mujoco>. Did you mean 'robot'?"),
    "no name": ('<robot name="r">', "<robot>", "<robot>: needs the attribute 'name'"),
    "a missing mesh": ("hand.obj", "hnd.obj", "there is no mesh 'hnd.obj'. Did you mean 'hand.obj'? Searched: "),
    "a mesh of another kind": ("hand.obj", "hand.blend", "must be one of .dae, .obj, .stl"),
    "a mesh with an endless name": ("hand.obj", "x" * 5000 + ".obj", "there is no mesh 'xxx"),
    "a mesh from afar": ("hand.obj", "https://x.org/hand.obj", "must be a path, or begin with file://"),
    "a missing package": ("hand.obj", "package://robots/hand.obj", "there is no mesh 'package://robots/hand.obj'"),
    "a cycle": ('<child link="arm"/>', '<child link="base"/>', "joins the link 'base' to itself"),
    "no root": (
        "<gazebo",
        '<joint name="back" type="fixed"><parent link="hand"/><child link="base"/></joint><gazebo',
        "the links form a loop: arm <- base <- hand <- arm",
    ),
    "a cycle beside the root": (
        "<gazebo",
        '<link name="a"/><link name="b"/><joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint><gazebo',
        "the links form a loop: b <- a <- b",
    ),
    "two roots": ("<gazebo", '<link name="other"/><gazebo', "2 links without a parent joint, 'base', 'other'"),
    "two parents": (
        "<gazebo",
        '<joint name="more" type="fixed"><parent link="base"/><child link="hand"/></joint><gazebo',
        "<joint 'more'>: the link 'hand' is already the child of joint 'turn', in line 12",
    ),
    "an unknown parent": (
        '<parent link="arm"/>',
        '<parent link="amr"/>',
        "there is no parent link 'amr'. Did you mean 'arm'?",
    ),
    "one link twice": ('<link name="hand">', '<link name="arm">', "another link is called 'arm', in line 8"),
    "one joint twice": ('name="turn"', 'name="lift"', "another joint is called 'lift', in line 10"),
    "inverted limits": (
        'lower="-1" upper="1"',
        'lower="1" upper="-1"',
        "the lower limit 1 is above the upper limit -1",
    ),
    "a negative effort": ('effort="5" velocity="2"', 'effort="-5" velocity="2"', "effort must not be negative, got -5"),
    "no limit": (
        '<limit lower="-1" upper="1" effort="5" velocity="2"/>',
        "",
        "a revolute joint needs a <limit> element",
    ),
    "an unknown type": (
        '"revolute"',
        '"revolut"',
        "joints of type 'revolut' are not supported. Did you mean 'revolute'?",
    ),
    "no axis": (
        '<axis xyz="0 0 1"/><limit lower="-1"',
        '<axis xyz="0 0 0"/><limit lower="-1"',
        "axis of a joint must not be zero",
    ),
    "not a number": ('xyz="0 0 1" rpy', 'xyz="0 nan 1" rpy', "<origin>: xyz must be 3 finite numbers, got '0 nan 1'"),
    "an infinite limit": (
        'upper="1" effort="5" velocity="2"',
        'upper="inf" effort="5" velocity="2"',
        "upper must be a finite number",
    ),
    "too few numbers": ('size="1 2 3"', 'size="1 2"', "<box>: size must be 3 finite numbers, got '1 2'"),
    "a decimal comma": ('size="1 2 3"', 'size="0,5 2 3"', "got '0,5 2 3'; decimals are written as 0.5"),
    "a negative size": ('size="1 2 3"', 'size="1 -2 3"', "sizes must not be negative, got -2"),
    "an unknown shape": (
        "<box",
        "<bx",
        "needs one of <box>, <sphere>, <cylinder>, <capsule>, <mesh>, <plane>, got ['bx']",
    ),
    "a negative mass": ('mass value="1"', 'mass value="-1"', "<inertial>: the mass must not be negative, got -1 kg"),
    "an impossible inertia": (
        'ixy="0"',
        'ixy="5"',
        "the inertia tensor must have no negative principal moment, got -4, 1, 6",
    ),
    "no mass": ('<mass value="1"/>', "", "<inertial>: needs a <mass> element"),
    "no links": (GOOD[GOOD.index("  <link") : GOOD.index("  <gazebo")], "", "<robot 'r'>: has no <link>"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_urdf(case: str, tmp_path: Path) -> None:
    old, new, words = BAD[case]
    assert old in GOOD
    file = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InvalidValueError, match=re.escape(words)) as caught:
        load_robot_model(file)
    assert re.match(rf"{re.escape(str(file))}, line \d+, <", str(caught.value))


@pytest.mark.parametrize("length", [0, 30, 200, 700, len(GOOD) - 4])
def test_truncated_xml(length: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"robot.urdf, line \d+: no well-formed XML.*; is the file complete\?"):
        load_robot_model(written(tmp_path, GOOD[:length]))


def test_a_missing_or_strange_file(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD)
    with pytest.raises(
        InvalidValueError, match=r"no robot description file '.*robt.urdf'. Did you mean 'robot.urdf'\?"
    ):
        load_robot_model(tmp_path / "robt.urdf")
    with pytest.raises(InvalidValueError, match=r"a robot description file ends in .urdf, .xacro, .sdf, .xml, .mjcf"):
        load_robot_model(tmp_path / "hand.obj")
    file.write_bytes(b"\x00\xff\x13\x37" * 20)
    with pytest.raises(InvalidValueError, match="no well-formed XML"):
        load_robot_model(file)


def test_a_bad_file_leaves_the_running_world_untouched(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    written(good, GOOD)
    written(bad, GOOD.replace('<child link="hand"/>', '<child link="hnd"/>'))
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        Agent.from_urdf(str(good / "robot.urdf"), pose=Pose((0.0, 0.0, 0.0)), sim_core=sim)
        before, names = sim.state_hash(), [agent.name for agent in sim.agents]
        with pytest.raises(InvalidValueError):
            Agent.from_urdf(str(bad / "robot.urdf"), pose=Pose((1.0, 0.0, 0.0)), sim_core=sim)
        assert (sim.state_hash(), [agent.name for agent in sim.agents]) == (before, names)
        sim.step_once()


def flat(count: int) -> str:
    arms = "".join(
        f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="base"/><child link="l{i}"/></joint>'
        for i in range(count)
    )
    return f'<robot name="r"><link name="base"/>{arms}</robot>'


def chain(count: int) -> str:
    arms = "".join(
        f'<link name="l{i + 1}"/><joint name="j{i}" type="continuous">'
        f'<parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count)
    )
    return f'<robot name="r"><link name="l0"/>{arms}</robot>'


ENTITIES = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 4))
TOO_MUCH = {
    "entities in entities": (
        "a.urdf",
        f'<!DOCTYPE r [<!ENTITY a0 "x">{ENTITIES}]><robot name="r"><link name="b"/>&a3;</robot>',
    ),
    "a file as an entity": (
        "a.urdf",
        '<!DOCTYPE r [<!ENTITY f SYSTEM "/etc/passwd">]><robot name="r"><link name="b"/>&f;</robot>',
    ),
    "nested tags": ("a.urdf", '<robot name="r"><link name="b"/>' + "<x>" * 200_000 + "</x>" * 200_000 + "</robot>"),
    "nested bodies": ("a.xml", "<mujoco><worldbody>" + "<body>" * 2000 + "</body>" * 2000 + "</worldbody></mujoco>"),
    "an unknown encoding": ("a.urdf", '<?xml version="1.0" encoding="bogus"?><robot name="r"><link name="b"/></robot>'),
    "no encoding of text": ("a.urdf", '<?xml version="1.0" encoding="rot13"?><robot name="r"><link name="b"/></robot>'),
    "a huge geom": ("a.xml", '<mujoco><worldbody><body><geom size="1e155"/></body></worldbody></mujoco>'),
    "a huge box": (
        "a.xml",
        '<mujoco><worldbody><body><geom type="box" size="1e155 1e155 1"/></body></worldbody></mujoco>',
    ),
    "a huge mass": (
        "a.urdf",
        '<robot name="r"><link name="b"><inertial><mass value="1e300"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        "</link></robot>",
    ),
    "a far joint": ("a.urdf", chain(1).replace("<parent", '<origin xyz="1e9 0 0"/><parent')),
    "a long chain": ("a.urdf", chain(900)),
    "many joints": ("a.urdf", flat(20_000)),
}


@pytest.mark.parametrize(("name", "text"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_nothing_could_use_is_refused_when_it_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidValueError, match=rf"{name}, line \d+"):
        load_robot_model(tmp_path / name)


def test_links_may_be_relative_to_each_other_through_a_whole_model(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"><pose relative_to="l{i + 1}">0 0 1 0 0 0</pose></link>' for i in range(999))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent>l999</parent><child>l{i}</child></joint>' for i in range(999)
    )
    (tmp_path / "a.sdf").write_text(
        f'<sdf version="1.9"><model name="m">{links}<link name="l999"/>{joints}</model></sdf>'
    )
    assert load_robot_model(tmp_path / "a.sdf").joint_positions[0].tolist() == [0.0, 0.0, 999.0]


def test_pybullet_loads_a_file_of_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    (tmp_path / "a.urdf").write_text(flat(200))
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False))
    robot = Agent.from_urdf(str(tmp_path / "a.urdf"), sim_core=sim)
    assert sim.bullet.getNumJoints(robot.body_id) == 200


XACRO = '<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro">'
BOMBS = {
    "a macro of itself": '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
    "a file of itself": '<xacro:include filename="a.xacro"/>',
    "an expression without end": '<link name="${9**9**9}"/>',
    "a list larger than the memory": '<link name="${len([0] * 10**10)}"/>',
    "macros of macros": "".join(f'<xacro:macro name="m{i}">{f"<xacro:m{i + 1}/>" * 10}</xacro:macro>' for i in range(9))
    + '<xacro:macro name="m9"><link name="b"/></xacro:macro><xacro:m0/>',
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_xacro_files_without_end_are_given_up(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xacro")
    monkeypatch.setattr(generated, "XACRO_TIME", 3.0)
    (tmp_path / "a.xacro").write_text(f"{XACRO}{text}</robot>")
    with pytest.raises(InvalidValueError, match=r"a.xacro: xacro cannot expand it: it (is nested|takes|needs)"):
        load_robot_model(tmp_path / "a.xacro")


# ---- Mesh files that are too large, empty or cut off are refused before anything loads them --------------------------


GOOD_BAD_MESHES = """<robot name="r">
  <link name="hand"><visual><geometry><mesh filename="hand.obj"/></geometry></visual></link>
</robot>
"""


def written_bad_meshes(folder: Path, text: str) -> Path:
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
    file = written_bad_meshes(tmp_path, GOOD_BAD_MESHES.replace("hand.obj", "big.stl"))
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
        load_robot_model(written_bad_meshes(tmp_path, GOOD_BAD_MESHES.replace("hand.obj", name)))
