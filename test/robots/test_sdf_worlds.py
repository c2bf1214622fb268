"""SDF files of several models and Gazebo worlds: each model is where the file says, as an object or as a robot."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pybullet_data
import pytest
from spoiled import spoiled

import fleet_sim as fs
from fleet_sim import Agent, MultiRobotSimulationCore, Pose, SimulationParams, resolve_urdf
from fleet_sim.models import load_robot_model
from fleet_sim.robots.spawning import spawn_entries

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]


def link(name: str, pose: str = "0 0 0 0 0 0", size: str = "1 1 1", mass: float = 2.0) -> str:
    shape = f"<geometry><box><size>{size}</size></box></geometry>"
    return (
        f'<link name="{name}"><pose>{pose}</pose><inertial><mass>{mass}</mass></inertial>'
        f'<visual name="v">{shape}</visual><collision name="c">{shape}</collision></link>'
    )


WORLD = f"""<sdf version="1.9"><world name="hall">
<gravity>0 0 -9.8</gravity>
<physics name="fast" type="ode"/> <light name="sun" type="directional"/>
<plugin name="a" filename="a.so"/> <plugin name="b" filename="b.so"/>
<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>
  <size>100 100</size></plane></geometry></collision></link></model>
<model name="walls"><static>1</static><pose>0 5 0 0 0 1.5707963267948966</pose>
  {link("left", "2 0 1 0 0 0", "1 1 2")} {link("right", "-2 0 1 0 0 0", "1 1 2")}</model>
<model name="crate"><pose>3 0 0.5 0 0 0</pose>{link("body")}</model>
<model name="cart"><pose relative_to="crate">0 0 1 0 0 0</pose>{link("base")}{link("arm", "0 0 1 0 0 0", "0.1 0.1 1")}
  <joint name="turn" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz>
  <limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model>
<include><uri>model://table</uri><name>table_1</name><pose>-3 0 0 0 0 0</pose></include>
<include><uri>model://table</uri><name>table_2</name><pose>-6 0 0 0 0 0</pose><static>true</static></include>
</world></sdf>"""

TABLE = f"""<sdf version="1.9"><model name="table"><pose>9 9 9 0 0 0</pose>
{link("top", "0 0 0.8 0 0 0", "1 1 0.1")}
<model name="lamp"><pose relative_to="top">0.2 0 0.1 0 0 0</pose>{link("foot", "0 0 0.1 0 0 0", "0.1 0.1 0.2", 0.5)}
</model>
<joint name="glue" type="fixed"><parent>top</parent><child>lamp::foot</child></joint>
</model></sdf>"""


@pytest.fixture
def world_file(tmp_path: Path) -> Path:
    """Return a world file; the model that it includes is beside it."""
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "model.sdf").write_text(TABLE)
    file = tmp_path / "hall.world"
    file.write_text(WORLD)
    return file


def test_models_are_where_the_file_says(make_sim: MakeSim, world_file: Path) -> None:
    sim = make_sim()
    entities = sim.load_world(world_file)
    assert [entity.name for entity in entities] == ["ground", "walls", "crate", "cart", "table_1", "table_2"]
    assert [entity.is_static for entity in entities] == [True, True, False, False, False, True]
    assert [type(entity) for entity in entities] == [fs.SimObject] * 3 + [fs.Agent] + [fs.SimObject] * 2
    assert [entity.mass for entity in entities] == [0.0, 0.0, 2.0, 4.0, 2.5, 0.0]
    places = {entity.name: entity.position.tolist() for entity in entities}
    # A model is where its base link is, which here is not at the model's origin.
    assert places["walls"] == pytest.approx([0.0, 7.0, 1.0])
    assert places["crate"] == pytest.approx([3.0, 0.0, 0.5])
    assert places["cart"] == pytest.approx([3.0, 0.0, 1.5])
    assert places["table_1"] == pytest.approx([-3.0, 0.0, 0.8])
    lower, upper = sim.get_aabbs()[sim.get_object("walls").object_id]
    np.testing.assert_allclose([lower, upper], [[-0.5, 2.5, 0.0], [0.5, 7.5, 2.0]], atol=1e-9)
    lower, upper = sim.get_aabbs()[sim.get_object("table_1").object_id]
    np.testing.assert_allclose([lower, upper], [[-3.5, -0.5, 0.75], [-2.5, 0.5, 1.1]], atol=1e-9)


def test_a_robot_of_the_file_moves_its_joints(make_sim: MakeSim, world_file: Path) -> None:
    sim = make_sim()
    sim.load_world(world_file)
    cart = sim.get_object("cart")
    cart.set_joint_target_by_name("turn", 0.7)
    sim.run_simulation(2.0)
    assert cart.get_joint_state_by_name("turn")[0] == pytest.approx(0.7)


def test_lidars_and_collisions_see_the_world(make_sim: MakeSim, world_file: Path) -> None:
    sim = make_sim()
    sim.load_world(world_file, skip_models=["crate", "cart"])
    lidar = sim.add_sensor("lidar", pose=[0.0, 0.0, 0.5], rays=3, angle_min=0.0, angle_max=np.pi)
    assert lidar.read().ranges.tolist() == pytest.approx([np.inf, 2.5, np.inf])
    ball = fs.ShapeParams("sphere", radius=0.3)
    sim.spawn(fs.AgentSpawnParams(ball, ball, fs.Pose.from_xyz(-3.0, 0.0, 0.4)))
    assert sim.check_collisions()[0] == [], "under the table, on the ground"


def test_with_physics_what_is_not_static_falls(make_sim: MakeSim, world_file: Path) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    table = next(entity for entity in sim.load_world(world_file) if entity.name == "table_1")
    table.set_pose(fs.Pose.from_xyz(-3.0, 0.0, 2.0))
    walls = sim.get_object("walls").get_pose()
    sim.run_simulation(2.0)
    assert table.get_pose().z == pytest.approx(0.05, abs=0.01), "on the ground of the file"
    assert sim.get_object("walls").get_pose() == walls


def test_what_is_not_taken_is_said_once_by_name(
    make_sim: MakeSim, world_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "fleet_sim"):
        make_sim().load_world(world_file)
    (line,) = caplog.messages
    assert line.endswith("not taken: light 'sun'; physics 'fast'; plugin 'a', 'b'")


def spawn_entry(sim: Sim, world_file: Path) -> Any:
    return spawn_entries(sim.world, fs.SimObject, [{"name": "hall", "sdf": str(world_file)}], path="objects")


@pytest.mark.parametrize(
    "load",
    [
        lambda sim, world_file: sim.load_world(world_file),
        lambda sim, world_file: fs.SimObject.from_sdf(str(world_file), sim),
        spawn_entry,
    ],
)
def test_another_gravity_is_refused_with_physics(make_sim: MakeSim, world_file: Path, load: Any) -> None:
    world_file.write_text(WORLD.replace("-9.8<", "-1.6<"))
    with pytest.raises(fs.FleetSimError, match=r"set simulation.gravity: \[0.0, 0.0, -1.6\]"):
        load(make_sim(physics=True), world_file)
    assert load(make_sim(physics=True, gravity=(0.0, 0.0, -1.6)), world_file)
    assert load(make_sim(), world_file)


def test_from_sdf_takes_a_place_and_a_prefix(make_sim: MakeSim, world_file: Path) -> None:
    sim = make_sim()
    file = str(world_file.parent / "table" / "model.sdf")
    first = fs.SimObject.from_sdf(file, sim, prefix="a_", pose=fs.Pose.from_xyz(-9.0, -9.0, -9.0))
    (robot,) = fs.Agent.from_sdf(file, sim, prefix="b_")
    assert [entity.name for entity in (*first, robot)] == ["a_table", "b_table"]
    assert first[0].position.tolist() == pytest.approx([0.0, 0.0, 0.8])
    assert isinstance(robot, fs.Agent)
    with pytest.raises(fs.DuplicateNameError):
        fs.SimObject.from_sdf(file, sim, prefix="a_")
    assert len(sim.sim_objects) == 2


def test_it_agrees_with_pybullet_on_its_own_files(make_sim: MakeSim) -> None:
    sim = make_sim()
    for name in ("stadium.sdf", "kiva_shelf/model.sdf", "plane_stadium.sdf"):
        file = str(Path(pybullet_data.getDataPath()) / name)
        entities = fs.SimObject.from_sdf(file, sim, prefix=name)
        client = pybullet.connect(pybullet.DIRECT)
        bodies = pybullet.loadSDF(file, physicsClientId=client)
        assert len(entities) == len(bodies)
        for entity, body in zip(entities, bodies, strict=True):
            place, turn = pybullet.getBasePositionAndOrientation(body, client)
            offset = pybullet.getDynamicsInfo(body, -1, client)[3:5]
            place, turn = pybullet.multiplyTransforms(place, turn, *pybullet.invertTransform(*offset))
            np.testing.assert_allclose(entity.position, place, atol=1e-6)
            np.testing.assert_allclose(np.abs(entity.orientation @ np.array(turn)), 1.0, atol=1e-6)
        pybullet.disconnect(client)


def test_a_scenario_names_a_world(world_file: Path) -> None:
    entry = {"name": "hall", "sdf": str(world_file), "pose": [10.0, 0.0, 0.0], "skip_models": ["ground"]}
    with Sim.from_dict({"simulation": {"gui": False}, "objects": [entry]}) as sim:
        assert [entity.name for entity in sim.sim_objects] == [
            f"hall_{name}" for name in ("walls", "crate", "cart", "table_1", "table_2")
        ]
        assert sim.get_object("hall_crate").get_pose().x == 13.0
    for key, value in (("mass", 3.0), ("shape", {"shape_type": "box"}), ("urdf_path", "shelf")):
        with pytest.raises(fs.ConfigError, match=rf"objects\[0\].{key}: cannot be combined with sdf"):
            Sim.from_dict({"simulation": {"gui": False}, "objects": [{**entry, key: value}]})
    with pytest.raises(fs.ConfigError, match="model to skip"):
        Sim.from_dict({"simulation": {"gui": False}, "objects": [{**entry, "skip_models": ["grund"]}]})


def test_static_meshes_have_room_inside(make_sim: MakeSim, tmp_path: Path) -> None:
    """A hall of one mesh: a robot drives in it, sees its walls from inside, and touches them."""
    corners = [(x, y, z) for x in (-3, 3) for y in (-3, 3) for z in (0, 2)]
    faces = [(1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8), (3, 8, 7)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "hall.obj").write_text("\n".join(lines) + "\n")
    shape = "<geometry><mesh><uri>hall.obj</uri></mesh></geometry>"
    file = tmp_path / "hall.sdf"
    file.write_text(
        f'<sdf version="1.9"><model name="hall"><static>true</static><link name="l"><visual name="v">{shape}</visual>'
        f'<collision name="c">{shape}</collision></link></model></sdf>'
    )
    sim = make_sim(ignore_static_collision=False)
    fs.SimObject.from_sdf(str(file), sim)
    ball = fs.ShapeParams("sphere", radius=0.3)
    robot = sim.spawn(fs.AgentSpawnParams(ball, ball, fs.Pose.from_xyz(0.0, 0.0, 0.5)))
    assert sim.check_collisions()[0] == []
    lidar = sim.add_sensor("lidar", pose=[0.0, 1.0, 0.5], rays=2, angle_min=0.0, angle_max=np.pi)
    assert lidar.read().ranges.tolist() == pytest.approx([3.0, 3.0])
    robot.set_pose(fs.Pose.from_xyz(2.8, 0.0, 0.5))
    assert len(sim.check_collisions()[0]) == 1


@spoiled(
    WORLD,
    ('<model name="crate">', '<model name="walls">', "another model is called 'walls'"),
    ("model://table", "model://chair", "there is no file 'model://chair'"),
    ('relative_to="crate"', 'relative_to="crates"', "relative to 'crates'"),
    ('relative_to="crate"', 'relative_to="cart"', "relative to 'cart'"),
    ("<static>true</static><link", "<link", "has a plane, which has no end"),
)
def test_what_cannot_be_is_refused_and_nothing_is_spawned(
    make_sim: MakeSim, world_file: Path, text: str, words: str
) -> None:
    sim = make_sim()
    world_file.write_text(text)
    with pytest.raises(fs.InvalidValueError, match=words):
        sim.load_world(world_file)
    assert sim.sim_objects == []


def test_messages_may_name_worlds_in_folders_of_models_only(make_sim: MakeSim, world_file: Path) -> None:
    message = fs.Spawn(objects=({"name": "hall", "sdf": str(world_file)},), remote=True)
    with pytest.raises(fs.ConfigError, match="not in a folder of models"):
        make_sim().dispatcher.dispatch(message)
    sim = make_sim(model_paths=[str(world_file.parent)])
    sim.dispatcher.dispatch(message)
    assert sim.get_object("hall_cart").mass == 4.0


RING = """<sdf version="1.9"><model name="m"><link name="a"><pose relative_to="inner::x">0 0 0 0 0 0</pose></link>
<model name="inner"><pose relative_to="a">0 0 0 0 0 0</pose><link name="x"/></model>
<joint name="j" type="fixed"><parent>a</parent><child>inner::x</child></joint></model></sdf>"""
HUGE = """<sdf version="1.9"><model name="m"><link name="a"><pose>1e308 1e308 0 0 0 0.5</pose></link>
<link name="b"><pose relative_to="a">1e308 1e308 0 0 0 0.5</pose></link>
<joint name="j" type="fixed"><parent>a</parent><child>b</child></joint></model></sdf>"""


@pytest.mark.parametrize(
    ("text", "words"), [(RING, "relative to 'inner::x'"), (HUGE, "too large to compute with")], ids=["ring", "huge"]
)
def test_robots_and_worlds_are_refused_alike(make_sim: MakeSim, tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "m.sdf"
    file.write_text(text)
    for read in (lambda: load_robot_model(file), lambda: make_sim().load_world(file)):
        with pytest.raises(fs.InvalidValueError, match=words):
            read()


# ---- Files that a scenario names are looked for beside it first ------------------------------------------------------


ROBOT = (
    '<robot name="x"><link name="{}"><collision><geometry><box size="1 1 {}"/></geometry></collision></link></robot>'
)
SCENARIO = """
simulation: {gui: false, target_rtf: 0, model_paths: [models]}
robots:
  - {name: by_path, urdf_path: robots/mine.urdf, pose: [0, 0, 0]}
  - {name: by_name, urdf_path: named, pose: [3, 0, 0]}
  - {name: bundled, urdf_path: diff_base, pose: [6, 0, 0]}
objects:
  - {name: pyramid, pose: [9, 0, 0], shape: {shape_type: mesh, mesh_path: pyramid.obj}}
"""
PYRAMID = "v 0 0 0\nv 2 0 0\nv 0 2 0\nv 0 0 2\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n"


def top(sim: fs.MultiRobotSimulationCore, name: str) -> float:
    return float(sim.get_aabbs()[sim.get_object(name).object_id][1][2])


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, elsewhere = tmp_path / "scenario", tmp_path / "elsewhere"
    for path in (folder / "robots", folder / "models", folder / "diff_base", elsewhere):
        path.mkdir(parents=True)
    (folder / "robots" / "mine.urdf").write_text(ROBOT.format("mine", 1))
    (folder / "models" / "named.urdf").write_text(ROBOT.format("named", 2))
    (folder / "pyramid.obj").write_text(PYRAMID)
    (folder / "fleet.yaml").write_text(SCENARIO)
    monkeypatch.chdir(elsewhere)
    return folder / "fleet.yaml"


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
def test_a_scenario_works_from_any_folder(scenario: Path, relative: bool) -> None:
    path = Path("..") / "scenario" / "fleet.yaml" if relative else scenario
    with fs.MultiRobotSimulationCore.from_yaml(path) as sim:
        heights = {name: top(sim, name) for name in ("by_path", "by_name", "pyramid")}
        assert heights == pytest.approx({"by_path": 0.5, "by_name": 1.0, "pyramid": 2.0})
        assert len(sim.agents) == 3


def test_the_working_folder_still_counts(scenario: Path) -> None:
    for name in ("robots", "models", "pyramid.obj"):
        (scenario.parent / name).rename(Path.cwd() / name)
    with fs.MultiRobotSimulationCore.from_yaml(scenario) as sim:
        assert len(sim.agents) == 3


def test_of_two_files_that_beside_the_scenario_is_meant(scenario: Path) -> None:
    (Path.cwd() / "robots").mkdir()
    (Path.cwd() / "robots" / "mine.urdf").write_text(ROBOT.format("other", 8))
    with fs.MultiRobotSimulationCore.from_yaml(scenario) as sim:
        assert top(sim, "by_path") == pytest.approx(0.5)


# ---- model files -----------------------------------------------------------------------------------------------------


DATA = Path(pybullet_data.getDataPath())
TINY = """<robot name="mine"><link name="base">
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize(
    "model", ["panda", "mobile_manipulator", "wsg50_gripper", "husky", "ant", str(DATA / "mjcf/humanoid.xml")]
)
def test_models_of_every_format_can_be_spawned_more_than_once(model: str) -> None:
    expected = load_robot_model(resolve_urdf(model))
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        for x in (0.0, 5.0):
            agent = Agent.from_urdf(model, pose=Pose((x, 0.0, 1.0)), use_fixed_base=True, sim_core=sim)
            names = [
                sim.bullet.getJointInfo(agent.body_id, joint)[1].decode()
                for joint in range(sim.bullet.getNumJoints(agent.body_id))
            ]
            assert tuple(names) == expected.joint_names


def test_names_are_looked_up_in_the_folders_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").write_text(TINY)
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path)])
    with MultiRobotSimulationCore(params) as sim:
        agent = Agent.from_urdf("panda", sim_core=sim)
        assert sim.bullet.getBodyInfo(agent.body_id)[1] == b"mine"
