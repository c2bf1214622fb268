"""Actions by name, from JSON."""

from __future__ import annotations

import json
import math

import pytest

from fleet_sim import (
    Action,
    Drop,
    FleetSimError,
    MoveAction,
    Pick,
    Pose,
    Wait,
    parse_action_goal,
    register_action,
)


def test_actions_from_json() -> None:
    move = parse_action_goal("move", json.dumps({"path": [[0, 0, 0], [1, 1, 0, 1.57], [1, 1, 0, 0, 0, 0, 1]]}))
    assert isinstance(move, MoveAction)
    assert len(move.path) == 3
    for name in ("move", "move_to"):
        goal = parse_action_goal(name, {"target_pose": {"position": [1, 2, 0], "yaw": 0.5}, "direction": "backward"})
        assert isinstance(goal, MoveAction)
        assert goal.path[0] == Pose.from_yaw(1, 2, 0, 0.5)
    pick = parse_action_goal("pick", {"target_object_id": 4, "attach_relative_pose": [0, 0, 1]})
    assert isinstance(pick, Pick)
    assert (pick.target_object_id, pick.attach_relative_pose) == (4, Pose((0, 0, 1)))
    drop = parse_action_goal("drop", {"drop_pose": [1, 2, 3], "place_gently": False})
    assert isinstance(drop, Drop)
    assert drop.drop_pose == Pose((1, 2, 3))
    wait = parse_action_goal("wait", '{"duration": 2}')
    assert isinstance(wait, Wait)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("mov", "{}", "Did you mean 'move'"),
        ("wait", "{", "not valid JSON"),
        ("wait", "[1]", "object of parameters"),
        ("wait", 5, "parameters by name"),
        ("wait", "{}", "'duration' is missing"),
        ("wait", {"durations": 1}, "Did you mean 'duration'"),
        ("wait", {"duration": "1"}, "duration: must be a number"),
        ("wait", {"duration": 1, "timeout": -1}, "timeout"),
        ("move", {"path": 5}, "list of poses"),
        ("move", {"path": [[0, 0]]}, "path"),
        ("move_to", {"target_pose": [0, 0, 0, 0, 0, 0, 0]}, "zero"),
        ("move_to", {"target_pose": [0, 0, math.nan]}, "finite"),
        ("move_to", {"target_pose": [0, 0, 0], "direction": "up"}, "forward"),
        ("pick", {"use_approach": "no"}, "true or false"),
        ("drop", {"drop_pose": "here"}, "drop_pose"),
    ],
)
def test_bad_json_is_one_clear_error(name: str, params: object, message: str) -> None:
    with pytest.raises(FleetSimError, match=message):
        parse_action_goal(name, params)  # type: ignore[arg-type]


def test_actions_of_ones_own_get_a_name() -> None:
    class Beep(Action):
        pass

    register_action("beep_of_the_tests", Beep)
    assert isinstance(parse_action_goal("beep_of_the_tests", "{}"), Beep)
    with pytest.raises(FleetSimError, match="exists already"):
        register_action("beep_of_the_tests", Beep)
    with pytest.raises(FleetSimError, match="derived from Action"):
        register_action("other", int)  # type: ignore[arg-type]
