"""Names of models lead to their files, in the documented order, and to helpful errors."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pybullet_data
import pytest

import fleet_sim
from fleet_sim import (
    DuplicateNameError,
    InvalidValueError,
    MissingDependencyError,
    ModelEntry,
    UnknownNameError,
    resolve_urdf,
)

DATA = Path(pybullet_data.getDataPath())
TINY = "<robot name='{}'><link name='base'/></robot>"


def model(folder: Path, relative: str, content: str = TINY) -> Path:
    file = folder / relative
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content.format(file.stem))
    return file


@pytest.mark.parametrize("name", ["panda", "kuka_iiwa", "r2d2", "racecar", "table_square", "wsg50_gripper"])
def test_names_of_the_catalog_are_files_of_pybullet(name: str) -> None:
    path = Path(resolve_urdf(name))
    assert path.is_file() and path.is_relative_to(DATA)
    assert fleet_sim.resolve_model(name) == str(path)


@pytest.mark.parametrize("path", ["/nowhere/robot.urdf", "folder/robot.urdf", "robot_of_mine.sdf", "a.xml"])
def test_paths_pass_through_unchanged(path: str) -> None:
    assert resolve_urdf(path) == path


def test_models_outside_the_catalog_are_found_by_scanning() -> None:
    assert resolve_urdf("teddy_vhacd") == str(DATA / "teddy_vhacd.urdf")
    assert resolve_urdf("soccerball.urdf") == str(DATA / "soccerball.urdf")


def test_folders_of_the_user_come_first_in_the_order_given(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for folder in (first, second, third):
        model(folder, "panda/panda.urdf")
    fleet_sim.add_search_path(str(second))
    fleet_sim.add_search_path(third)
    fleet_sim.add_search_path(str(second))
    assert fleet_sim.get_search_paths() == [str(second), str(third)]
    assert resolve_urdf("panda") == str(second / "panda" / "panda.urdf")
    assert resolve_urdf("panda", search_paths=[first]) == str(first / "panda" / "panda.urdf")
    assert fleet_sim.discover_models("user") == {"panda": str(second / "panda" / "panda.urdf")}
    fleet_sim.get_search_paths().clear()
    fleet_sim.remove_search_path(second)
    assert resolve_urdf("panda") == str(third / "panda" / "panda.urdf")
    fleet_sim.remove_search_path(str(third))
    fleet_sim.remove_search_path("/never/added")
    assert Path(resolve_urdf("panda")).is_relative_to(DATA)


@pytest.mark.parametrize(
    "relative", ["bot.urdf", "bot.sdf", "urdf/bot.urdf", "bot/model.urdf", "bot/urdf/bot.urdf", "bot/robots/bot.xml"]
)
def test_layouts_of_a_users_folder(relative: str, tmp_path: Path) -> None:
    file = model(tmp_path, relative)
    assert resolve_urdf("bot", search_paths=[tmp_path]) == str(file)


def test_a_search_path_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "robots").mkdir()
    with pytest.raises(InvalidValueError, match=r"no folder.*Did you mean 'robots'"):
        fleet_sim.add_search_path(tmp_path / "robot")


def test_ros_packages_are_found_by_ament_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(InvalidValueError, match=r"AMENT_PREFIX_PATH is not set.*apt install") as caught:
        resolve_urdf("turtlebot3_burger")
    assert "turtlebot3-description" in str(caught.value)
    known = model(tmp_path / "second", "share/turtlebot3_description/urdf/turtlebot3_burger.urdf")
    other = model(tmp_path / "second", "share/my_robots/urdf/my_bot.urdf")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(tmp_path / "first"), str(tmp_path / "second")]))
    assert resolve_urdf("turtlebot3_burger") == str(known)
    assert resolve_urdf("my_bot") == str(other)
    assert fleet_sim.discover_models("ros") == {"my_bot": str(other), "turtlebot3_burger": str(known)}


def test_registering_and_forgetting(tmp_path: Path) -> None:
    file = model(tmp_path, "mine.urdf")
    fleet_sim.register_model("mine", str(file))
    assert fleet_sim.KNOWN_MODELS["mine"] == ModelEntry(str(file), "user")
    assert resolve_urdf("mine") == str(file)
    assert fleet_sim.list_all_models()["mine"] == {"tier": "user", "available": True, "path": str(file)}
    with pytest.raises(DuplicateNameError, match="force=True"):
        fleet_sim.register_model("panda", str(file))
    fleet_sim.register_model("panda", ModelEntry("r2d2.urdf", "pybullet_data"), force=True)
    assert resolve_urdf("panda") == str(DATA / "r2d2.urdf")
    fleet_sim.unregister_model("mine")
    with pytest.raises(UnknownNameError, match="unknown model 'mine'"):
        fleet_sim.unregister_model("mine")
    with pytest.raises(InvalidValueError, match="absolute path"):
        fleet_sim.register_model("other", "relative.urdf")
    with pytest.raises(InvalidValueError, match="name without"):
        fleet_sim.register_model("a/b", str(file))
    with pytest.raises(UnknownNameError, match=r"tier of models 'pybullet'.*Did you mean 'pybullet_data'"):
        ModelEntry("a.urdf", "pybullet")


def test_an_unknown_name_lists_the_closest_and_what_was_searched(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model 'pnda'. Did you mean 'panda'\?") as caught:
        resolve_urdf("pnda", search_paths=[tmp_path])
    for searched in (str(tmp_path), "known models", "local", "pybullet_data", "ros", "robot_descriptions"):
        assert searched in str(caught.value)
    with pytest.raises(InvalidValueError, match="empty"):
        resolve_urdf("")


def test_discovering_pybullet_data_finds_every_model() -> None:
    found = fleet_sim.discover_models("pybullet_data")
    assert len(found) >= 1095 and all(Path(path).is_file() for path in found.values())
    assert len(set(found.values())) == len(found)
    assert {"panda", "kuka_iiwa", "r2d2", "plane", "ant"} <= found.keys()
    with pytest.raises(UnknownNameError, match="tier"):
        fleet_sim.discover_models("nowhere")


def test_listing_says_what_is_available_and_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    listed = fleet_sim.list_all_models()
    assert listed.keys() == fleet_sim.KNOWN_MODELS.keys()
    assert listed["panda"] == {"tier": "pybullet_data", "available": True, "path": resolve_urdf("panda")}
    assert listed["ur5e"]["available"] is False and "apt install" in str(listed["ur5e"]["error"])


@pytest.mark.skipif(importlib.util.find_spec("robot_descriptions") is not None, reason="the package is installed")
def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(MissingDependencyError, match=r"fleet_sim\[robot-descriptions\]"):
        resolve_urdf("tiago")
    assert fleet_sim.discover_models("robot_descriptions") == {}


XACRO = """<robot name="bot" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="size" default="0.5"/>
<link name="base"><visual><geometry><box size="$(arg size) 1 ${2 * 3}"/></geometry></visual></link></robot>"""


def test_relative_meshes_and_plain_suffixes_of_xacro(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    shape = '<mesh filename="meshes/m.obj" scale="${1 + 1} 1 1"/>'
    text = XACRO.replace('<box size="$(arg size) 1 ${2 * 3}"/>', shape)
    for name in ("bot.xacro", "robot.urdf"):
        (tmp_path / name).write_text(text)
        geometry = fleet_sim.load_robot_model(resolve_urdf(str(tmp_path / name))).visuals[0].geometry
        assert geometry.mesh_path == str(tmp_path / "meshes" / "m.obj") and geometry.mesh_scale == (2.0, 1.0, 1.0)


def test_capital_letters_make_no_other_format(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    # Without elements of xacro, so that only the ending tells what it is.
    file = tmp_path / "bot.XACRO"
    file.write_text(
        '<robot name="bot" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="part_${1 + 1}"/></robot>'
    )
    assert fleet_sim.load_robot_model(file).base_name == "part_2"
    assert resolve_urdf(str(file)).endswith(".urdf")


def test_xacro_files_are_expanded_with_their_arguments(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    file = tmp_path / "bot.urdf.xacro"
    file.write_text(XACRO)
    path = resolve_urdf("bot", search_paths=[tmp_path])
    assert path.endswith(".urdf") and resolve_urdf(str(file)) == path
    assert fleet_sim.load_robot_model(path).visuals[0].geometry.half_extents == (0.25, 0.5, 3.0)
    fleet_sim.register_model("big", ModelEntry(str(file), xacro_args="size:=2.0"))
    assert fleet_sim.load_robot_model(resolve_urdf("big")).visuals[0].geometry.half_extents == (1.0, 0.5, 3.0)
    file.write_text(XACRO.replace("2 * 3", "nothing"))
    with pytest.raises(InvalidValueError, match=r"bot.urdf.xacro: xacro cannot expand it: .*nothing"):
        resolve_urdf("bot", search_paths=[tmp_path])
