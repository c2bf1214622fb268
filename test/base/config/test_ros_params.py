"""The ros section of a scenario: strict, with defaults."""

from __future__ import annotations

from typing import Any

import pytest

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.ros_params import RosParams


def test_every_robot_has_everything_unless_said_otherwise() -> None:
    params = RosParams.from_scenario({})
    assert params.has_own("amr_0", "actions")
    assert params.cmd_vel_timeout == 0.5


@pytest.mark.parametrize(
    ("section", "robots"),
    [({"per_robot": "none"}, []), ({"per_robot": ["a"]}, ["a"]), ({"groups": ["state"]}, []), ({}, ["a", "b"])],
)
def test_robots_and_groups_are_chosen(section: dict[str, Any], robots: list[str]) -> None:
    params = RosParams.from_scenario({"ros": section})
    assert [name for name in ("a", "b") if params.has_own(name, "commands")] == robots


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"per_robots": "all"}, "ros.per_robots: unknown key. Did you mean 'per_robot'"),
        ({"per_robot": "some"}, "must be 'all', 'none' or a list"),
        ({"groups": ["wheels"]}, "one of 'commands'"),
        ({"rates": {"odom": -1}}, "rates.odom: must be a number at least 0"),
        ({"cmd_vel_timeout": float("nan")}, "cmd_vel_timeout"),
        ({"map_frame": "/map"}, "map_frame: must be the name of a frame"),
    ],
)
def test_what_is_wrong_is_named(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.yaml: ros") as caught:
        RosParams.from_scenario({"ros": section}, source="f.yaml")
    assert message in str(caught.value)
