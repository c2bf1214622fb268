"""MoveTo, Pick, Drop and Wait: what they do, how long it takes, and why they fail."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from fleet_sim import (
    Action,
    Agent,
    AgentSpawnParams,
    Drop,
    DropPhase,
    FleetSimError,
    InvalidValueError,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Path,
    Pick,
    PickAction,
    PickPhase,
    Pose,
    ShapeParams,
    SimObject,
    SimObjectSpawnParams,
    Wait,
    parse_action_goal,
    register_action,
)

Finish = Callable[..., Action]
BOX = ShapeParams("box", half_extents=(0.2, 0.2, 0.1))
NOT_FOUND = "Target object not found or not pickable"


def phases(sim: MultiRobotSimulationCore, action: Pick | Drop) -> list[object]:
    """Step until `action` has ended; return the phases it went through."""
    seen: list[object] = []
    while not action.is_complete():
        assert sim.step_count < 1000
        sim.step_once()
        if not seen or seen[-1] is not action.phase:
            seen.append(action.phase)
    return seen


# ---- MoveTo ----------------------------------------------------------------------------------------------------------


def test_the_tolerance_may_be_given_by_position() -> None:
    goal = Pose((1, 0, 0))
    assert MoveTo(goal, 0.2, False).tolerance == MoveAction([goal], True, False, None, 0.2).tolerance == 0.2


def test_ten_metres_take_what_the_profile_takes(robot: Agent, finish: Finish) -> None:
    action = MoveTo(Pose((10, 0, 0)))
    robot.execute_action(action)
    finish(action)
    # 2 m/s and 5 m/s2: 5.4 s on the road, noticed in the step after the arrival.
    assert 5.4 - 1e-9 <= action.get_duration() <= 5.6 + 1e-9
    assert robot.get_pose() == Pose((10, 0, 0))


def test_a_differential_robot_turns_drives_and_turns(sim: MultiRobotSimulationCore, finish: Finish) -> None:
    robot = sim.spawn(AgentSpawnParams(BOX, BOX))
    action = MoveTo(Pose.from_yaw(0.0, 10.0, 0.0, 0.0))
    robot.execute_action(action)
    finish(action)
    assert 6.8 <= action.get_duration() <= 7.5
    assert robot.get_pose().as_position() == pytest.approx([0, 10, 0], abs=1e-12)
    assert robot.get_pose().yaw == pytest.approx(0.0)


def test_a_move_with_tolerance_ends_at_rest_within_it(robot: Agent, finish: Finish) -> None:
    exact, near = MoveTo(Pose((3, 0.1, 0))), MoveTo(Pose((0, 0, 0)), tolerance=0.5)
    robot.add_action_sequence([exact, near])
    finish(near)
    assert robot.get_pose().distance_to(Pose((0, 0, 0))) <= 0.5
    assert near.get_duration() <= exact.get_duration() + 1e-9
    assert not robot.is_moving


def test_a_path_may_be_given_as_a_list(robot: Agent, finish: Finish) -> None:
    action = MoveAction([Pose((1, 0, 0)), Pose((1, 1, 0))])
    robot.execute_action(action)
    assert finish(action).status == "completed"
    assert robot.get_pose().distance_to(Pose((1, 1, 0))) < 1e-9


@pytest.mark.parametrize("given", [False, None, "no"])
def test_a_path_without_the_way_to_it_is_refused_with_the_reason(robot: Agent, given: object) -> None:
    path = [Pose.from_xyz(1.0, 0.0, 0.0)]
    for follow in (MoveAction, robot.set_path):
        with pytest.raises(InvalidValueError, match=r"auto_approach: must be True, got .* wherever it is"):
            follow(path, auto_approach=given)  # type: ignore[operator]
    assert robot.goal_pose is None


def test_impossible_moves_fail_at_once_with_the_cause(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    fixed = sim.spawn(AgentSpawnParams(BOX, BOX, use_fixed_base=True))
    carried = sim.spawn(AgentSpawnParams(BOX, BOX))
    robot.attach_object(carried)
    causes = {}
    for agent, action in (
        (robot, MoveAction(Path())),
        (fixed, MoveTo(Pose((1, 0, 0)))),
        (carried, MoveTo(Pose((1, 0, 0)))),
    ):
        agent.execute_action(action)
        sim.step_once()
        assert action.status == "failed"
        assert action.get_duration() == 0.0
        assert action.progress(agent)["duration"] == 0.0
        causes[agent] = action.error_message
    assert causes[robot] == "the path is empty"
    assert "fixed base" in causes[fixed]
    assert "carried by" in causes[carried]


def test_progress_tells_the_distance_left(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    action = MoveTo(Pose((10, 0, 0)))
    robot.execute_action(action)
    for _ in range(10):
        sim.step_once()
    progress = action.progress(robot)
    assert progress["distance_left"] == pytest.approx(10.0 - robot.get_pose().x)
    assert progress["waypoint"] == 0


def test_put_elsewhere_a_robot_still_gets_there(sim: MultiRobotSimulationCore, robot: Agent, finish: Finish) -> None:
    action = MoveTo(Pose((5, 0, 0)))
    robot.execute_action(action)
    for _ in range(10):
        sim.step_once()
    robot.set_pose(Pose((2, 7, 0)))
    assert finish(action).status == "completed"
    assert robot.get_pose().distance_to(Pose((5, 0, 0))) < 1e-9


# ---- Wait ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 10), (0.3, 3), (0.05, 1), (0.0, 0)])
def test_waiting_takes_whole_steps(robot: Agent, finish: Finish, duration: float, steps: int) -> None:
    action = Wait(duration, action_type="charging")
    robot.execute_action(action)
    finish(action)
    assert action.get_duration() == pytest.approx(0.1 * steps)
    assert action.action_type == "charging"


@pytest.mark.parametrize("duration", [-1.0, float("nan"), "long"])
def test_bad_durations_are_refused(duration: float) -> None:
    with pytest.raises(InvalidValueError, match="duration"):
        Wait(duration)


# ---- Pick and Drop ---------------------------------------------------------------------------------------------------


def test_a_pick_approaches_takes_and_retreats(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    action = Pick(target_object_id=crate.object_id)
    robot.execute_action(action)
    seen = phases(sim, action)
    assert seen == [PickPhase.APPROACHING, PickPhase.MOVING_TO_PICK, PickPhase.RETREATING]
    assert action.status == "completed"
    assert action.target == crate
    assert robot.get_pose().x == pytest.approx(2.0)
    assert crate.get_pose() == robot.get_pose()
    assert 2.5 <= action.get_duration() <= 4.2


def test_a_drop_goes_there_and_puts_down(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate)
    goal = Pose.from_yaw(4.0, 4.0, 0.0, 0.5)
    action = Drop(goal)
    robot.execute_action(action)
    seen = phases(sim, action)
    assert seen == [DropPhase.APPROACHING, DropPhase.MOVING_TO_DROP, DropPhase.RETREATING]
    assert crate.get_pose() == goal
    assert not crate.is_attached()
    assert robot.get_pose().distance_to(Pose((4, 4, 0))) == pytest.approx(1.0)


def test_offsets_and_links(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject, finish: Finish) -> None:
    offset = Pose((0.0, 0.0, 0.4))
    pick = Pick("crate", approach_offset=2.0, pick_offset=0.5, attach_relative_pose=offset)
    robot.execute_action(pick)
    places = []
    while not pick.is_complete():
        sim.step_once()
        places.append(robot.get_pose().x)
    assert max(places) == pytest.approx(2.5)
    assert robot.get_pose().x == pytest.approx(1.0)
    assert crate.get_pose().z == pytest.approx(0.4)
    drop = Drop([1.0, 4.0, 0.0], approach_pose=Pose((1, 2, 0)), drop_offset=0.5, place_gently=False, drop_height=0.3)
    robot.execute_action(drop)
    finish(drop)
    assert crate.get_pose().as_position() == pytest.approx([1.0, 4.0, 0.3])
    assert robot.get_pose().distance_to(Pose((1, 2, 0))) < 1e-9


def test_without_approach_it_happens_on_the_spot(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    pick, drop = (
        Pick(search_radius=5.0, use_approach=False),
        Drop([0, 0, 0], use_approach=False, drop_relative_pose=Pose((0, 0, 1))),
    )
    robot.add_action_sequence([pick, drop])
    sim.step_once()
    assert (pick.status, drop.status, pick.get_duration()) == ("completed", "completed", 0.0)
    assert crate.get_pose().as_position() == pytest.approx([0, 0, 1])
    assert robot.get_pose() == Pose((0, 0, 0))


def test_the_nearest_is_picked_from_the_robot_or_a_position(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    near = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((0.4, 0, 2)), name="near"))
    far = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((8, 0, 0)), name="far"))
    first = parse_action_goal("pick", '{"search_radius": 1.0, "use_approach": false}')
    second = PickAction(target_position=[8.1, 0, 0], use_approach=False)
    spatial = PickAction(use_2d_search=False, use_approach=False)
    robot.execute_action(spatial)
    sim.step_once()
    assert (spatial.status, spatial.error_message) == ("failed", NOT_FOUND)
    robot.add_action_sequence([first, second])
    sim.step_once()
    assert robot.get_attached_objects() == [near, far]


def test_impossible_picks_fail_at_once(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    other = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 9, 0))))
    fixed = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((0, 5, 0)), use_fixed_base=True))
    bolted = sim.spawn(SimObjectSpawnParams(BOX, BOX, pickable=False, name="bolted"))
    held = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose((0, 9, 0)), name="held"))
    other.attach_object(held)
    for agent, action, cause in (
        (robot, Pick(target_object_id=999), NOT_FOUND),
        (robot, Pick("nothing"), NOT_FOUND),
        (robot, Pick(bolted.object_id), NOT_FOUND),
        (robot, Pick("held"), NOT_FOUND),
        (robot, Pick("robot"), NOT_FOUND),
        (robot, Pick(search_radius=0.1), NOT_FOUND),
        (robot, Pick("crate", attach_link=3), "no link 3"),
        (robot, Pick("crate", attach_link="hand"), "no link 'hand'"),
        (fixed, Pick("crate"), "fixed base"),
        (robot, Drop([1, 1, 0]), "No object attached"),
        (robot, Drop([1, 1, 0], target_object_id="held"), "not attached"),
    ):
        agent.execute_action(action)
        sim.step_once()
        assert action.status == "failed", action
        assert cause in (action.error_message or "")
        assert not agent.is_moving
    assert not crate.is_attached()
    assert sim.guard.total == 0


def test_what_carries_the_robot_cannot_be_picked(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    crate.attach_object(robot)
    action = Pick("crate", use_approach=False)
    robot.execute_action(action)
    sim.step_once()
    assert (action.status, action.error_message) == ("failed", "the object carries the robot")


@pytest.mark.parametrize("fate", ["removed", "taken", "bolted"])
def test_a_target_may_go_meanwhile(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject, fate: str) -> None:
    other = sim.spawn(AgentSpawnParams(BOX, BOX, Pose((5, 0, 0))))
    action = Pick("crate")
    robot.execute_action(action)
    for _ in range(5):
        sim.step_once()
    if fate == "removed":
        sim.remove_object(crate)
    elif fate == "taken":
        other.pick(crate)
    else:
        crate.pickable = False
    phases(sim, action)
    assert (action.status, action.error_message) == ("failed", NOT_FOUND)
    assert not robot.is_moving
    assert sim.guard.total == 0


def test_a_target_that_moves_is_followed(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    action = Pick("crate", attach_relative_pose=Pose((0, 0, 0.2)))
    robot.execute_action(action)
    sim.step_once()
    crate.set_pose(Pose((3.0, 1.5, 0.0)))
    reached = []
    sim.events.on("post_step", lambda **_: reached.append(robot.get_pose().distance_to(Pose((3.0, 1.5, 0.0)))))
    phases(sim, action)
    assert action.status == "completed"
    assert min(reached) < 0.3


def test_an_object_taken_from_a_dropping_robot(sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject) -> None:
    robot.attach_object(crate)
    action = Drop([4, 0, 0])
    robot.execute_action(action)
    for _ in range(5):
        sim.step_once()
    robot.drop(crate)
    phases(sim, action)
    assert (action.status, action.error_message) == ("failed", "No object attached")


@pytest.mark.parametrize(
    "make",
    [
        lambda: MoveTo([1, 2, 3]),  # type: ignore[arg-type]
        lambda: MoveTo(Pose((0, 0, 0)), tolerance=-1.0),
        lambda: MoveTo(Pose((0, 0, 0)), direction="sideways"),
        lambda: MoveAction([[0, 0, 0]]),  # type: ignore[list-item]
        lambda: Pick(search_radius=-1.0),
        lambda: Pick(target_position=[1, 2]),
        lambda: Pick(approach_offset=math.nan),
        lambda: Pick(approach_pose=[0, 0, 0]),  # type: ignore[arg-type]
        lambda: Drop([1, 2]),
        lambda: Drop([1, 2, math.inf]),
        lambda: Drop([0, 0, 0], drop_height=-1.0),
    ],
)
def test_bad_parameters_are_refused_at_construction(make: Callable[[], Action]) -> None:
    with pytest.raises(InvalidValueError):
        make()


# ---- by name ---------------------------------------------------------------------------------------------------------


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
