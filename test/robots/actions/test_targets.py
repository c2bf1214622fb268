"""Which object Pick and Drop take: never another one than was meant."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore

BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
Pallets = tuple[Sim, fs.Agent, fs.SimObject, fs.SimObject]


@pytest.fixture
def pallets() -> Any:
    """A robot and two pallets on a floor, which takes the first body id: object and body ids are one apart."""
    with Sim(fs.SimulationParams(gui=False, timestep=0.1)) as sim:
        robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, name="robot"))
        first = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((1, 0, 0.1)), name="pallet_a"))
        second = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((1, 1, 0.1)), name="pallet_b"))
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
    stranger = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX))
    pick = fs.Pick(target_object_id=stranger, use_approach=False)
    robot.execute_action(pick)
    here.step_once()
    assert (pick.status, "no longer, in this simulation" in str(pick.error_message)) == ("failed", True)
    with pytest.raises(fs.InvalidValueError, match="must be a SimObject, a name, or a whole number"):
        fs.Pick(target_object_id=1.5)  # type: ignore[arg-type]


def test_an_entity_is_found_by_what_its_body_id_returns(pallets: Pallets) -> None:
    sim, _, first, _ = pallets
    assert sim.get_object(first.body_id) == first
