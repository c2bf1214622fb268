"""Handles are made when somebody asks for them, and are the same ones whatever happens to their entities."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.base.errors import StaleHandleError, UnknownNameError

DISC = {"shape_type": "cylinder", "radius": 0.3, "height": 0.2}
FLEET = {
    "simulation": {"timestep": 0.1},
    "robots": [{"name": "r", "shape": DISC, "grid": {"count": 6, "spacing": [2.0, 2.0, 0.0]}}],
    "objects": [{"name": "box", "shape": {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}, "pose": [0, -3, 0.1]}],
}


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def new_fleet() -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore.from_dict(FLEET)


def test_a_scenario_makes_none_and_each_entity_has_one() -> None:
    sim = new_fleet()
    assert not dict(sim.world.handles.made(sim.world.rows))
    run(sim, 3)
    assert not dict(sim.world.handles.made(sim.world.rows))
    third = sim.population.get("r_2")
    assert sim.population.agents[2] is third
    assert sim.population.objects == [*sim.population.agents, sim.population.get("box")]
    assert [type(entity) for entity in sim.population.objects] == [fs.Agent] * 6 + [fs.SimObject]
    assert [agent.object_id for agent in sim.population.agents] == list(range(6))


def test_an_entity_that_lives_again_has_the_handle_that_was_made_meanwhile() -> None:
    sim = new_fleet()
    before = sim.save_state()
    early, other = sim.population.get("r_1"), sim.population.get("r_4")
    sim.population.remove_all([early, other])
    with pytest.raises(StaleHandleError, match="r_1"):
        early.get_pose()
    newcomer = sim.population.spawn(fs.SimObjectSpawnParams(name="new", initial_pose=fs.Pose((0, 9, 0))))
    sim.restore_state(before)
    assert not newcomer.is_alive
    assert sim.population.get("r_4") is other
    assert sim.population.agents[1] is early
    assert early.name == "r_1"


def test_a_file_and_what_it_refers_to_give_one_handle(tmp_path: Path) -> None:
    sim = new_fleet()
    carrier = sim.population.get("r_0")
    carrier.attach_object(sim.population.get("box"))
    sim.population.get("r_3").add_action(fs.MoveTo(fs.Pose((4.0, 4.0, 0.0))))
    run(sim, 5)
    sim.save_state(tmp_path / "a.fleet")
    again = new_fleet()
    known = again.population.get("r_5")
    again.population.remove(again.population.get("box"))
    again.load_state(tmp_path / "a.fleet")
    assert again.population.get("r_5") is known
    assert again.state.hash() == sim.state.hash()
    (box,) = again.population.get("r_0").get_attached_objects()
    assert box is again.population.get("box")
    for simulation in (sim, again):
        run(simulation, 10)
    assert again.state.hash() == sim.state.hash()


def test_what_a_handler_removes_is_still_in_what_spawning_returns() -> None:
    sim = fs.MultiRobotSimulationCore()
    sim.events.on("object_spawned", lambda obj: obj.name == "b" and sim.population.remove(obj))
    made = sim.population.spawn_all([fs.SimObjectSpawnParams(name=name) for name in "abc"])
    assert [entity.is_alive for entity in made] == [True, False, True]
    assert repr(made[1]) == "<SimObject b (removed)>"


def test_ids_are_found_after_rows_were_used_again() -> None:
    sim = new_fleet()
    sim.population.remove_all(sim.population.agents[1:3])
    late = sim.population.spawn(fs.SimObjectSpawnParams(name="late"))
    assert late.object_id == 7
    assert late.row == 1
    assert sim.population.get(7) is late
    ids = [entity.object_id for entity in sim.population.objects]
    assert ids == [0, 3, 4, 5, 6, 7]
    points, _ = sim.population.get_poses(ids)
    assert points.tolist() == [list(entity.get_pose().position) for entity in sim.population.objects]
    for wrong in ([1], [0, 99], [-1], [2.0], [1 << 62]):
        with pytest.raises(UnknownNameError):
            sim.population.get_poses(wrong)
