"""Scenario files: what they spawn, and what is said about mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fleet_sim import Agent, ConfigError, MultiRobotSimulationCore, Pose, SimObject
from fleet_sim.apps.cli.schema import scenario_schema

DEMO = Path(__file__).parents[1] / "config" / "demo.yaml"
FAST: dict[str, Any] = {"gui": False, "timestep": 0.1, "target_rtf": 0, "monitor": False}
Load = Callable[..., MultiRobotSimulationCore]


@pytest.fixture
def load(tmp_path: Path):
    """Write sections to a YAML file and make a simulation from it; simulations are closed at the end."""
    made: list[MultiRobotSimulationCore] = []

    def build(text: str | None = None, **sections: Any) -> MultiRobotSimulationCore:
        path = tmp_path / "scene.yaml"
        path.write_text(yaml.safe_dump({"simulation": FAST, **sections}) if text is None else text)
        made.append(MultiRobotSimulationCore.from_yaml(path))
        return made[-1]

    yield build
    for sim in made:
        sim.close()


def test_robots_and_objects(load: Load) -> None:
    sim = load(
        robots=[{"name": "a", "pose": [1, 2, 0], "yaw": 0.5, "motion_mode": "omnidirectional", "max_linear_vel": 3}],
        objects=[
            {
                "name": "b",
                "pose": {"position": [0, 0, 1], "rpy": [0, 0, 1]},
                "collision_mode": "static",
                "pickable": False,
            },
            {"name": "c", "shape": {"shape_type": "sphere", "radius": 0.3}, "mass": 2, "user_data": {"sku": 7}},
        ],
    )
    robot, static, ball = (sim.get_object(name) for name in "abc")
    assert isinstance(robot, Agent)
    assert type(ball) is SimObject
    assert robot.get_pose() == Pose.from_yaw(1, 2, 0, 0.5)
    assert robot.max_linear_vel[0] == 3.0
    assert static.is_static
    assert not static.pickable
    assert static.get_pose().yaw == pytest.approx(1.0)
    assert (ball.mass, ball.user_data, ball.world.radius[ball.row]) == (2.0, {"sku": 7}, 0.3)


def test_grids(load: Load) -> None:
    grid = {"count": 5, "columns": 2, "spacing": [2, 3, 0], "offset": [1, 0, 0]}
    sim = load(robots=[{"name": "r", "pose": [10, 0, 0.1], "grid": grid}])
    assert [agent.name for agent in sim.agents] == [f"r_{index}" for index in range(5)]
    assert sim.get_object("r_3").get_pose() == Pose((13, 3, 0.1))


def test_actions(load: Load) -> None:
    actions = [{"type": "wait", "duration": 0.2}, {"type": "move_to", "target_pose": [1, 0, 0]}]
    sim = load(robots=[{"name": "r", "grid": {"count": 2}, "actions": actions, "motion_mode": "omnidirectional"}])
    assert [agent.get_action_queue_size() for agent in sim.agents] == [2, 2]
    first, second = sim.agents
    for _ in range(30):
        sim.step_once()
    assert first.is_action_queue_empty()
    assert second.get_pose() == Pose((1, 0, 0))
    sim.reset()
    assert [agent.get_action_queue_size() for agent in sim.agents] == [2, 2]


@pytest.mark.parametrize(
    ("sections", "where", "message"),
    [
        ({"robot": []}, "robot", "Did you mean 'robots'"),
        ({"robots": {"name": "a"}}, "robots", "must be a list"),
        ({"robots": ["a"]}, r"robots\[0\]", "must be a mapping"),
        ({"robots": [{"pose": [0, 0, 0]}]}, r"robots\[0\].name", "missing"),
        ({"robots": [{"name": "a", "poze": [0, 0, 0]}]}, r"robots\[0\].poze", "Did you mean 'pose'"),
        ({"robots": [{"name": "a", "pose": [0, 0]}]}, r"robots\[0\].pose", "3 or 4 numbers"),
        ({"robots": [{"name": "a", "pose": [0, 0, float("nan")]}]}, r"robots\[0\].pose", "finite"),
        ({"robots": [{"name": "a", "pose": {"orientation": [0, 0, 0, 0]}}]}, r"robots\[0\].pose", "zero"),
        ({"robots": [{"name": "a", "max_linear_vel": -1}]}, r"robots\[0\].max_linear_vel", "above 0"),
        ({"robots": [{"name": "a", "motion_mode": "hover"}]}, r"robots\[0\]", "Known: ackermann, "),
        ({"robots": [{"name": "a"}, {"name": "a"}]}, r"robots\[1\]", "already taken"),
        ({"robots": [{"name": "g", "grid": {"count": 9}}, {"name": "g_3"}]}, r"robots\[1\]", "already taken"),
        ({"robots": [{"name": "a"}], "objects": [{"name": "a"}]}, r"objects\[0\]", "already taken"),
        ({"robots": [{"name": "a", "grid": {"count": 0}}]}, r"robots\[0\].grid.count", "1"),
        ({"robots": [{"name": "a", "grid": {"colums": 2, "count": 2}}]}, r"robots\[0\].grid.colums", "'columns'"),
        ({"robots": [{"name": "a", "urdf_path": "no.urdf"}]}, r"robots\[0\]", "no robot description file"),
        ({"robots": [{"name": "a", "controller": "patroll"}]}, r"robots\[0\]", "Did you mean 'patrol'"),
        ({"robots": [{"name": "a", "actions": [{"type": "fly"}]}]}, r"robots\[0\].actions\[0\]", "unknown action"),
        ({"robots": [{"name": "a", "actions": {"type": "wait"}}]}, r"robots\[0\].actions", "list of actions"),
        ({"objects": [{"name": "a", "actions": []}]}, r"objects\[0\].actions", "unknown key"),
        ({"objects": [{"name": "a", "shape": {"shape_type": "bix"}}]}, r"objects\[0\].shape.shape_type", "box"),
        ({"objects": [{"name": "a", "shape": {"shape_type": "box", "radius": -1}}]}, r"objects\[0\].shape.radius", "0"),
        ({"objects": [{"name": "a", "mass": -1}]}, r"objects\[0\].mass", "0"),
        ({"objects": [{"name": "a", "collision_mode": "solid"}]}, r"objects\[0\].collision_mode", "static"),
        ({"simulation": {"timestep": -1}}, "simulation.timestep", "at least 1e-09"),
        ({"simulation": {"timestap": 0.1}}, "simulation.timestap", "Did you mean 'timestep'"),
    ],
)
def test_mistakes_name_file_place_and_remedy(load: Load, sections: dict, where: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(**sections)
    assert caught.match(rf"scene\.yaml: {where}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["robots: [", "- a\n- b\n", "robots:\n\t- {name: a}\n", "a: 1\na: 2\n"])
def test_files_that_are_no_mapping_are_refused(load: Load, text: str) -> None:
    with pytest.raises(ConfigError, match=r"scene\.yaml"):
        load(text)


def test_entries_that_fail_spawn_nothing(load: Load) -> None:
    sim = load(robots=[{"name": "a", "actions": [{"type": "wait", "duration": 1}]}])
    before = sim.state_hash()
    for second in ({"name": "a"}, {"name": "c", "actions": [{"type": "wait"}]}, {"name": "d", "controller": 5}):
        with pytest.raises(ConfigError, match=r"robots\[1\]"):
            sim.spawn_robots_from_config([{"name": "b", "grid": {"count": 3}}, second])
    assert (sim.state_hash(), len(sim.sim_objects)) == (before, 1)


@pytest.mark.slow
def test_the_demo_is_a_busy_warehouse() -> None:
    config = yaml.safe_load(DEMO.read_text())
    config["simulation"] |= {"gui": False, "timestep": 0.1, "ignore_static_collision": False}
    with MultiRobotSimulationCore.from_dict(config, source="demo.yaml") as sim:
        pairs: list[tuple[SimObject, SimObject]] = []
        sim.events.on("collision_started", lambda obj_a, obj_b: pairs.append((obj_a, obj_b)))
        assert len(sim.agents) == 200
        assert {str(agent.motion_mode) for agent in sim.agents} == {"differential", "omnidirectional"}
        assert sum(obj.is_static for obj in sim.sim_objects) == 12
        while not all(agent.is_action_queue_empty() for agent in sim.agents):
            assert sim.sim_time < config["simulation"]["duration"]
            sim.run_simulation(1.0)
        assert sim.guard.total == 0
        assert sum(agent.is_moving for agent in sim.agents) > 50
        assert not [pair for pair in pairs if pair[0].is_static or pair[1].is_static]
        assert sim.get_object("crate_1").get_pose() == Pose((16.5, 0.0, 0.15))
        assert len(sim.get_object("porter_1").get_attached_objects()) == 1


def test_the_schema_describes_entries() -> None:
    schema = scenario_schema()
    robot = schema["properties"]["robots"]["items"]
    thing = schema["properties"]["objects"]["items"]
    assert {"name", "pose", "shape", "grid", "controller", "actions", "max_linear_vel"} <= set(robot["properties"])
    assert "actions" not in thing["properties"]
    for entry in (robot, thing):
        assert entry["additionalProperties"] is False
        assert entry["required"] == ["name"]
    assert all(isinstance(value.get("description", ""), str) for value in robot["properties"].values())


@pytest.mark.parametrize("value", [0, "", False, {}])
def test_a_section_that_is_no_list_is_refused(load: Load, value: object) -> None:
    with pytest.raises(ConfigError, match="objects: must be a list of entries"):
        load(objects=value)
    load(objects=None)


def test_a_pose_that_is_left_empty_is_refused(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"robots\[0\].pose: must be a pose, got nothing"):
        load(robots=[{"name": "a", "pose": None}])


def test_settings_of_ros_are_checked_where_there_is_no_ros(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"ros.rates.odm: unknown key\. Did you mean 'odom'"):
        load(ros={"rates": {"odm": 5}})


def test_the_schema_accepts_what_can_be_read_and_refuses_mistakes() -> None:
    check = jsonschema.Draft202012Validator(scenario_schema()).is_valid
    assert check(yaml.safe_load(DEMO.read_text()))
    for section, entry in (("robots", {"name": "a", "poze": []}), ("objects", {"pose": [0, 0, 0]}), ("robot", {})):
        assert not check({section: [entry]})
    assert check({"robots": None, "objects": None}) and not check({"objects": 0})
    assert not check({"robots": [{"name": None}]}) and not check({"robots": [{"name": ""}]})
    assert not check({"robots": [{"name": "a", "pose": None}]})
    assert check({"robots": [{"name": "a", "visual_frame_pose": None}]})
    assert check({"site": "hall.map"}) and check({"site": {"map": "hall.map"}}) and not check({"site": 5})
