"""Collision groups, masks and single pairs: events, blocking, avoidance and the engine keep to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from collision_scene import pair, put, robot, run, touching
from hypothesis import given
from hypothesis import strategies as st

import fleet_sim as fs
from fleet_sim.world.clock import Clock
from fleet_sim.world.world import World

Make = Callable[..., fs.MultiRobotSimulationCore]
METHODS = pytest.mark.parametrize("method", ["closest_points", "contact_points", "hybrid"])
SLAB = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.25))


# ---- groups and masks ------------------------------------------------------------------------------------------------

BITS = st.integers(-1, 7)


@given(st.lists(st.tuples(st.integers(0, 7), BITS), min_size=2, max_size=6), st.data())
def test_both_must_be_in_a_group_of_the_others_mask(entities: list[tuple[int, int]], data: st.DataObject) -> None:
    world = World(Clock(0.1))
    rows = world.allocate([None] * len(entities))
    for row, (group, mask) in zip(rows.tolist(), entities, strict=True):
        world.collision_group[row], world.collision_mask[row] = group, mask
    pairs = np.array([(a, b) for a in rows for b in rows if a < b])
    some = data.draw(st.dictionaries(st.integers(0, len(pairs) - 1), st.sampled_from([True, False, None])))
    for index, enabled in some.items():
        world.collision_filters.set_pair(*pairs[index][::-1].tolist(), enabled)
    expected = [bool(entities[a][0] & entities[b][1] and entities[b][0] & entities[a][1]) for a, b in pairs.tolist()]
    for index, enabled in some.items():
        expected[index] = expected[index] if enabled is None else enabled
    assert world.collision_rules.may_collide(pairs).tolist() == expected
    assert world.collision_rules.may_collide(pairs[:, ::-1]).tolist() == expected
    assert world.collision_rules.permitted(pairs).tolist() == pairs[np.array(expected)].tolist()


@METHODS
def test_detection_and_engine_keep_to_groups(make_sim: Make, method: str) -> None:
    """Three crates fall on three others: one of the same group, one of another, one that meets only one way."""
    sim = make_sim(physics=True, collision_detection_method=method)
    for index, (group, mask) in enumerate(((2, 2), (4, 4), (2, 1))):
        put(sim, f"low {index}", 2.0 * index, mass=5.0, collision_group=2, collision_mask=2)
        put(sim, f"high {index}", 2.0 * index, 0.8, mass=1.0, collision_group=group, collision_mask=mask)
    run(sim, 15)
    heights = [sim.get_object(f"high {index}").position[2] for index in range(3)]
    # The floor carries them all.
    assert heights == pytest.approx([0.75, 0.25, 0.25], abs=0.03)
    assert touching(sim) == pair("low 0", "high 0")


def test_groups_count_between_kinematic_and_dynamic_bodies(make_sim: Make) -> None:
    """The engine has kinematic bodies in a group of its own; entities without a group are in group 1 all the same."""
    sim = make_sim(physics=True)
    table, ghost = put(sim, "table", 0.0), put(sim, "ghost", 2.0, collision_group=4)
    on_table = put(sim, "on table", 0.0, 0.8, mass=1.0, collision_group=2, collision_mask=1)
    through = put(sim, "through", 2.0, 0.8, mass=1.0, collision_group=2, collision_mask=1)
    run(sim, 15)
    assert on_table.position[2] == pytest.approx(0.75, abs=0.02)
    assert through.position[2] == pytest.approx(0.25, abs=0.02)
    table.set_collision_filter(mask=1)
    ghost.set_collision_filter(group=1)
    through.set_pose(fs.Pose((2.0, 0.0, 0.8)), preserve_velocity=False)
    run(sim, 15)
    assert on_table.position[2] == pytest.approx(0.25, abs=0.02)
    assert through.position[2] == pytest.approx(0.75, abs=0.02)
    assert (table.collision_group, table.collision_mask) == (1, 1)


def test_groups_hold_for_all_links_of_a_robot(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    robots = {
        mask: fs.Agent.from_urdf("diff_base", fs.Pose((3.0 * mask, 0, 0.6)), sim_core=sim, collision_mask=mask)
        for mask in (1, 2)
    }
    for mask in robots:
        slab = fs.SimObjectSpawnParams(SLAB, SLAB, fs.Pose((3.0 * mask, 0, 0.25)))
        sim.spawn(slab)
    run(sim, 20)
    assert robots[1].position[2] > 0.45 and robots[2].position[2] < 0.1
    robots[2].set_collision_filter(mask=1)
    robots[2].set_pose(fs.Pose((6.0, 0, 0.6)), preserve_velocity=False)
    run(sim, 20)
    assert robots[2].position[2] > 0.45


def test_blocking_and_avoidance_keep_to_groups(make_sim: Make) -> None:
    sim = make_sim(block_on_collision=True)
    agent = robot(sim, "agent", 0.0, collision_group=2)
    crate = put(sim, "crate", 2.0, collision_mask=4)
    agent.set_goal(fs.Pose((4.0, 0.0, 0.25)))
    run(sim, 20)
    assert agent.position[0] > 2.0
    crate.set_collision_filter(mask=2)
    agent.set_goal(fs.Pose((-2.0, 0.0, 0.25)))
    agent.set_pose(fs.Pose((4.0, 0.0, 0.25)))
    run(sim, 40)
    assert agent.blocked_by == crate and agent.position[0] == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize("mask", [1, 2])
def test_who_passes_through_is_not_avoided(make_sim: Make, mask: int) -> None:
    sim = make_sim()
    controller = {"type": "omni", "max_linear_vel": 1.0, "avoidance": 3.0}
    agents = [robot(sim, str(x), x, controller=controller, collision_mask=mask) for x in (-2.0, 2.0)]
    for agent in agents:
        agent.set_goal_pose(fs.Pose((-agent.position[0], 0.0, 0.25)))
    aside = 0.0
    for _ in range(60):
        sim.step_once()
        aside = max(aside, *(abs(float(agent.position[1])) for agent in agents))
    assert (aside > 0.1) is (mask == 1)


def test_events_follow_a_change_though_nothing_moves(make_sim: Make) -> None:
    sim = make_sim()
    one = put(sim, "one", 0.0)
    put(sim, "other", 0.3)
    seen: list[str] = []
    sim.events.on("collision_started", lambda obj_a, obj_b: seen.append("started"))
    sim.events.on("collision_ended", lambda obj_a, obj_b: seen.append("ended"))
    run(sim, 2)
    one.set_collision_filter(group=8, mask=8)
    run(sim, 2)
    one.set_collision_filter(group=1, mask=-1)
    run(sim, 2)
    assert seen == ["started", "ended", "started"]


def test_a_scenario_has_groups() -> None:
    entry = {"name": "a", "collision_shape": {"shape_type": "box", "half_extents": [0.2, 0.2, 0.2]}}
    groups = {"collision_group": 2, "collision_mask": 2}
    sim = fs.MultiRobotSimulationCore.from_dict(
        {
            "simulation": {"gui": False},
            "objects": [{**entry, **groups}, {**entry, "name": "b"}, {**entry, **groups, "name": "c"}],
        }
    )
    sim.step_once()
    assert touching(sim) == pair("a", "c")
    sim.close()


@pytest.mark.parametrize("wrong", [{"group": -1}, {"mask": -2}, {"group": 2**31}, {"group": 1.5}, {"mask": True}])
def test_wrong_groups_are_refused_and_change_nothing(sim: fs.MultiRobotSimulationCore, wrong: Any) -> None:
    crate = put(sim, "crate", 0.0)
    with pytest.raises(fs.InvalidValueError, match="expected a whole number from"):
        crate.set_collision_filter(**{"group": 4, **wrong})
    assert (crate.collision_group, crate.collision_mask) == (1, -1)
    with pytest.raises(fs.ConfigError, match="collision_"):
        fs.SimObjectSpawnParams.from_dict({"name": "a", **{f"collision_{key}": value for key, value in wrong.items()}})


# ---- pairs -----------------------------------------------------------------------------------------------------------


@METHODS
def test_a_pair_is_exempt_in_events_and_engine(make_sim: Make, method: str) -> None:
    sim = make_sim(physics=True, collision_detection_method=method)
    put(sim, "low", 0.0, mass=5.0)
    high = put(sim, "high", 0.0, 0.8, mass=1.0)
    sim.set_collision_pair("low", high, False)
    run(sim, 10)
    assert touching(sim) == set() and high.position[2] == pytest.approx(0.25, abs=0.02)
    sim.set_collision_pair(high, "low", None)
    high.set_pose(fs.Pose((0, 0, 0.8)), preserve_velocity=False)
    run(sim, 10)
    assert touching(sim) == pair("low", "high") and high.position[2] == pytest.approx(0.75, abs=0.03)


@METHODS
def test_a_pair_collides_whatever_its_groups(make_sim: Make, method: str) -> None:
    sim = make_sim(physics=True, collision_detection_method=method)
    for index in range(2):
        put(sim, f"low {index}", 2.0 * index, mass=5.0, collision_mask=2)
        put(sim, f"high {index}", 2.0 * index, 0.8, mass=1.0, collision_mask=4)
    sim.set_collision_pair("low 1", "high 1", True)
    run(sim, 12)
    assert touching(sim) == pair("low 1", "high 1")
    heights = [sim.get_object(f"high {index}").position[2] for index in range(2)]
    assert heights == pytest.approx([0.25, 0.75], abs=0.03)


def test_pairs_and_groups_stay_when_the_engine_is_built_again(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    put(sim, "low", 0.0, mass=5.0)
    high = put(sim, "high", 0.0, 0.8, mass=1.0)
    other = put(sim, "other", 0.0, 1.4, mass=1.0, collision_mask=2)
    sim.set_collision_pair("low", "high", False)
    sim.rebuild_engine()
    run(sim, 15)
    assert [high.position[2], other.position[2]] == pytest.approx([0.25, 0.25], abs=0.03)


def test_pairs_and_groups_go_back_with_the_state(make_sim: Make) -> None:
    sim = make_sim()
    one, other = put(sim, "one", 0.0), put(sim, "other", 0.3)
    sim.set_collision_pair(one, other, False)
    run(sim, 1)
    moment = sim.save_state()
    sim.set_collision_pair(one, other, True)
    one.set_collision_filter(mask=2)
    run(sim, 1)
    assert touching(sim) == pair("one", "other")
    sim.remove_object(other)
    sim.restore_state(moment)
    run(sim, 1)
    assert touching(sim) == set() and one.collision_mask == -1
    sim.set_collision_pair(one, other, None)
    run(sim, 1)
    assert touching(sim) == pair("one", "other")
    sim.reset()
    run(sim, 1)
    assert touching(sim) == set()


def test_what_takes_the_row_of_a_pair_collides(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    low, high = put(sim, "low", 0.0, mass=5.0), put(sim, "high", 0.0, 0.8, mass=1.0)
    sim.set_collision_pair(low, high, False)
    run(sim, 1)
    row = high.row
    sim.remove_object(high)
    next_one = put(sim, "next", 0.0, 0.8, mass=1.0)
    assert next_one.row == row
    run(sim, 12)
    assert touching(sim) == pair("low", "next")
    assert next_one.position[2] == pytest.approx(0.75, abs=0.03)


def test_a_pair_must_be_two_entities_of_here(sim: fs.MultiRobotSimulationCore) -> None:
    crate = put(sim, "crate", 0.0)
    with pytest.raises(fs.InvalidValueError, match="collide with itself"):
        sim.set_collision_pair(crate, "crate", False)
    with pytest.raises(fs.UnknownNameError, match="crate"):
        sim.set_collision_pair(crate, "crote", False)
    with pytest.raises(fs.InvalidValueError, match="True, False or None"):
        sim.set_collision_pair(crate, put(sim, "other", 1.0), 0)  # type: ignore[arg-type]


# ---- disabled --------------------------------------------------------------------------------------------------------


def test_what_is_disabled_meets_only_the_floor_in_the_engine_too(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    put(sim, "low", 0.0, mass=5.0)
    high = put(sim, "high", 0.0, 0.8, mass=1.0, collision_mode="disabled")
    run(sim, 10)
    assert high.position[2] == pytest.approx(0.25, abs=0.02)
    high.set_collision_mode("normal_3d")
    high.set_pose(fs.Pose((0, 0, 0.8)), preserve_velocity=False)
    run(sim, 10)
    assert high.position[2] == pytest.approx(0.75, abs=0.03)
