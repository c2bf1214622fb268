"""Pick and Drop: what they do, and why they fail."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from small_world import BOX, Finish

from fleet_sim import (
    Action,
    Agent,
    AgentSpawnParams,
    Drop,
    DropPhase,
    InvalidValueError,
    MoveAction,
    MoveTo,
    MultiRobotSimulationCore,
    Pick,
    PickAction,
    PickPhase,
    Pose,
    SimObject,
    SimObjectSpawnParams,
    parse_action_goal,
)

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
