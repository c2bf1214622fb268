"""Where an error of a configuration says it is, also after it has passed through several readers."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError, InvalidValueError, closest
from fleet_sim.swarm import World_from_config


def test_message_path_and_source_stay_apart() -> None:
    error = ConfigError("must be positive", source="fleet.yaml", path="robots[0].mass")
    assert (error.message, error.source, error.path) == ("must be positive", "fleet.yaml", "robots[0].mass")
    assert str(error) == "fleet.yaml: robots[0].mass: must be positive"
    assert str(ConfigError("is empty")) == "is empty"


@pytest.mark.parametrize(
    ("key", "path", "whole"),
    [
        ("robots", "mass", "robots.mass"),
        ("robots", "[2].mass", "robots[2].mass"),
        ("robots", "", "robots"),
        ("", "mass", "mass"),
        ("", "", ""),
    ],
)
def test_within_puts_the_path_below_a_key(key: str, path: str, whole: str) -> None:
    error = ConfigError("must be positive", path=path).within(key, source="fleet.yaml")
    assert (error.message, error.source, error.path) == ("must be positive", "fleet.yaml", whole)


def test_within_keeps_a_message_that_begins_like_its_path() -> None:
    error = ConfigError("mass: mass: is not a key", path="mass").within("robot").within("fleet", source="a.yaml")
    assert str(error) == "a.yaml: fleet.robot.mass: mass: mass: is not a key"


def test_a_path_in_another_file_is_not_put_below_a_key_of_this_one() -> None:
    error = ConfigError("must be positive", source="robot.yaml", path="mass").within("robots[0]", source="fleet.yaml")
    assert (error.source, error.path) == ("fleet.yaml", "robots[0]")
    assert error.message == "robot.yaml: mass: must be positive"


def test_errors_of_other_kinds_become_config_errors_without_a_place() -> None:
    error = ConfigError.of(InvalidValueError("mass: must be positive")).within("robots[0]")
    assert (error.message, error.path) == ("mass: must be positive", "robots[0]")
    already = ConfigError("no", path="a")
    assert ConfigError.of(already) is already


def test_errors_survive_another_process() -> None:
    error = pickle.loads(pickle.dumps(ConfigError("must be positive", source="a.yaml", path="mass")))
    assert (error.message, error.source, error.path) == ("must be positive", "a.yaml", "mass")


def place_of(scenario: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, **scenario})
    return caught.value.path


def test_a_wrong_parameter_of_an_action_is_found_by_its_keys() -> None:
    robot = {"name": "a", "urdf_path": "simple_cube", "actions": [{"type": "wait", "duration": 1}, {"type": "wait"}]}
    assert place_of({"robots": [robot]}) == "robots[0].actions[1]"


def test_a_wrong_value_of_a_swarm_is_found_by_its_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        World_from_config({"objects": [{"type": "StaticObject", "position": "here"}]}, source="world.yaml").setup()
    assert caught.value.source == "world.yaml"
    assert caught.value.path.startswith("objects[0]")
    assert "objects" not in caught.value.message


def test_names_of_a_large_fleet_are_compared_with_those_that_begin_alike() -> None:
    fleet = [f"robot_{number}" for number in range(100_000)]
    compared = list[int]()

    class Name(str):
        __slots__ = ()

        def __len__(self) -> int:
            compared.append(1)
            return super().__len__()

    assert closest("robot_4711x", [*map(Name, fleet), "cart"]) == "robot_4711"
    assert len(compared) < 10_000, "each of the others costs no time"
    assert closest("crat", ["robot_1", "cart"]) == "cart"
