"""Pick and Drop: what they do, and why they fail."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from small_world import BOX, Finish

import fleet_sim as fs
from fleet_sim import (
    Agent,
    AgentSpawnParams,
    Drop,
    DropPhase,
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


# ---- Which object Pick and Drop take: never another one than was meant -----------------------------------------------


Sim = fs.MultiRobotSimulationCore

BOX_targets = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
Pallets = tuple[Sim, fs.Agent, fs.SimObject, fs.SimObject]


@pytest.fixture
def pallets() -> Any:
    """A robot and two pallets on a floor, which takes the first body id: object and body ids are one apart."""
    with Sim(fs.SimulationParams(gui=False, timestep=0.1)) as sim:
        robot = sim.spawn(fs.AgentSpawnParams(BOX_targets, BOX_targets, name="robot"))
        first = sim.spawn(fs.SimObjectSpawnParams(BOX_targets, BOX_targets, fs.Pose((1, 0, 0.1)), name="pallet_a"))
        second = sim.spawn(fs.SimObjectSpawnParams(BOX_targets, BOX_targets, fs.Pose((1, 1, 0.1)), name="pallet_b"))
        assert sim.client >= 0
        yield sim, robot, first, second


SPELLINGS: list[Callable[[fs.SimObject], Any]] = [
    lambda pallet: pallet,
    lambda pallet: pallet.name,
    lambda pallet: pallet.body_id,
    lambda pallet: pallet.object_id,
    lambda pallet: f"#{pallet.object_id}",
    lambda pallet: copy.deepcopy(pallet.body_id),
]


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("logged", [False, True])
def test_each_way_to_name_an_object_takes_that_object(pallets: Pallets, spell: Any, which: int, logged: bool) -> None:
    here, robot, meant, other = *pallets[:2], pallets[1 + which], pallets[4 - which]
    pick: Any = fs.Pick(target_object_id=spell(meant), use_approach=False)
    drop: Any = fs.Drop([0, 2, 0.1], target_object_id=spell(meant), use_approach=False)
    if logged:
        again = [json.loads(json.dumps(fs.describe_action(action))) for action in (pick, drop)]
        pick, drop = (fs.parse_action_goal(entry.pop("type"), entry) for entry in again)
    robot.execute_action(pick)
    here.step_once()
    assert (pick.status, robot.get_attached_objects()) == ("completed", [meant])
    robot.attach_object(other)
    robot.execute_action(drop)
    here.step_once()
    assert (drop.status, robot.get_attached_objects()) == ("completed", [other])


@pytest.mark.parametrize("which", [2, 3])
def test_a_bare_number_is_a_body_id_as_in_the_document(pallets: Pallets, which: int) -> None:
    sim, robot, meant = pallets[0], pallets[1], pallets[which]
    x, y, z = meant.get_pose().position
    hit = sim.bullet.rayTest([x, y, z + 3.0], [x, y, z])[0][0]
    assert type(hit) is int
    pick = fs.Pick(target_object_id=hit, use_approach=False)
    robot.execute_action(pick)
    sim.step_once()
    assert (pick.status, robot.get_attached_objects()) == ("completed", [meant])


def test_a_ray_that_meets_the_floor_or_nothing_picks_nothing(pallets: Pallets) -> None:
    sim, robot, *_ = pallets
    own = sim.bullet.createMultiBody(0.0, sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.1))
    floor = sim.bullet.rayTest([50.0, 50.0, 1.0], [50.0, 50.0, -1.0])[0][0]
    for number, cause in ((floor, "the floor"), (own, "a body of your own"), (-1, "no object has the body id")):
        pick = fs.Pick(target_object_id=number, use_approach=False)
        robot.execute_action(pick)
        sim.step_once()
        assert pick.status == "failed"
        assert cause in str(pick.error_message)


def test_objects_of_another_simulation_and_no_objects_are_refused(pallets: Pallets, sim: Sim) -> None:
    here, robot = pallets[:2]
    stranger = sim.spawn(fs.SimObjectSpawnParams(BOX_targets, BOX_targets))
    pick = fs.Pick(target_object_id=stranger, use_approach=False)
    robot.execute_action(pick)
    here.step_once()
    assert (pick.status, "no longer, in this simulation" in str(pick.error_message)) == ("failed", True)
    with pytest.raises(fs.InvalidValueError, match="must be a SimObject, a name, or a whole number"):
        fs.Pick(target_object_id=1.5)  # type: ignore[arg-type]


def test_an_entity_is_found_by_what_its_body_id_returns(pallets: Pallets) -> None:
    sim, _, first, _ = pallets
    assert sim.get_object(first.body_id) == first
