"""One rule of who may collide: detection, blocking, avoidance, swarms and the engine all keep to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import references
from arms import PANDA, READY

import fleet_sim as fs
from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.swarm.agents import Controller, Group
from fleet_sim.swarm.world import RectangularWorld
from fleet_sim.world.collision_rules import CollisionRule
from fleet_sim.world.columns import ColumnTable, column
from fleet_sim.world.world import World

Make = Callable[..., fs.MultiRobotSimulationCore]
METHODS = pytest.mark.parametrize("method", ["closest_points", "contact_points", "hybrid"])
BOX = fs.ShapeParams("box", half_extents=(0.25, 0.25, 0.25))
DISC = fs.ShapeParams("cylinder", radius=0.25, height=0.5)


def put(
    sim: fs.MultiRobotSimulationCore, name: str, x: float, y: float, z: float = 0.25, **params: Any
) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((x, y, z)), name=name, **params))


def robot(sim: fs.MultiRobotSimulationCore, name: str, x: float, **params: Any) -> fs.Agent:
    agent: fs.Agent = sim.spawn(fs.AgentSpawnParams(DISC, DISC, fs.Pose((x, 0.0, 0.25)), name=name, **params))
    return agent


def names(pairs: list[tuple[fs.SimObject, fs.SimObject]]) -> list[list[str | None]]:
    return sorted(sorted((a.name, b.name)) for a, b in pairs)  # type: ignore[type-var]


# ---- carrying --------------------------------------------------------------------------------------------------------


@METHODS
def test_a_dynamic_robot_never_collides_with_what_it_carries(make_sim: Make, method: str) -> None:
    sim = make_sim(physics=True, collision_detection_method=method)
    carrier = robot(sim, "robot", 0.0, mass=20.0, use_fixed_base=False)
    crate = put(sim, "crate", 0.0, 0.0, 0.749, mass=1.0)
    assert carrier.attach_object(crate, keep_world_pose=True)
    started: list[Any] = []
    sim.events.on("collision_started", lambda obj_a, obj_b: started.append((obj_a, obj_b)))
    for _ in range(5):
        sim.step_once()
    assert started == [] and sim.get_active_collision_pairs() == []
    carrier.detach_object(crate)
    for _ in range(5):
        sim.step_once()
    assert names(started) == [["crate", "robot"]]


@pytest.mark.parametrize(("physics", "method"), [(False, "closest_points"), (True, "closest_points"), (True, "hybrid")])
def test_a_robot_of_links_never_collides_with_its_load_but_its_load_with_others(
    make_sim: Make, physics: bool, method: str
) -> None:
    sim = make_sim(physics=physics, collision_detection_method=method)
    cart = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", name="cart", mass=0.0))
    crate, other = put(sim, "crate", 0.0, 0.0, 0.5), put(sim, "other", 0.505, 0.0, 0.6)
    assert cart.attach_object(crate, keep_world_pose=True)
    for _ in range(2):
        sim.step_once()
    assert names(sim.get_active_collision_pairs()) == [["crate", "other"]]
    assert sim.queries.closest_points(cart, crate) and not sim.queries.closest_points(cart, other)
    cart.detach_object(crate)
    for _ in range(2):
        sim.step_once()
    assert names(sim.get_active_collision_pairs()) == [["cart", "crate"], ["crate", "other"]]


@pytest.mark.parametrize("model", [None, "simple_cube"])
def test_the_engine_does_not_push_a_robot_off_its_load(make_sim: Make, model: str | None) -> None:
    """What is carried is kinematic: it would shoot away the robot that it overlaps."""
    sim = make_sim(physics=True)
    body = {"urdf_path": model} if model else {"collision_shape": BOX}
    pose = fs.Pose((0.0, 0.0, 0.25))
    carrier = sim.spawn(fs.AgentSpawnParams(**body, mass=10.0, use_fixed_base=False, initial_pose=pose))
    below, above = put(sim, "below", 0.2, 0.0, mass=1.0), put(sim, "above", 0.2, 0.1, mass=1.0)
    assert carrier.attach_object(below, keep_world_pose=True) and below.attach_object(above, keep_world_pose=True)
    for _ in range(20):
        sim.step_once()
    assert np.hypot(*carrier.get_pose().position[:2]) < 0.01


def test_what_takes_the_place_of_a_load_in_the_engine_is_felt(make_sim: Make) -> None:
    """The engine gives ids of removed bodies to new ones: nothing may stay with a number."""
    sim = make_sim(physics=True)
    carrier = robot(sim, "robot", 0.0, mass=10.0, use_fixed_base=False)
    load = put(sim, "load", 0.0, 0.1, mass=1.0)
    assert carrier.attach_object(load, keep_world_pose=True)
    sim.step_once()
    number = load.body_id
    sim.remove_object(load)
    crate = put(sim, "crate", 0.0, 0.0, 0.9, mass=1.0)
    for _ in range(10):
        sim.step_once()
    # MuJoCo has no numbers of its own: there it is the object id, which is never used again.
    assert crate.body_id == number or "pybullet" in references.MODULES
    assert names(sim.get_active_collision_pairs()) == [["crate", "robot"]]
    assert crate.get_pose().z == pytest.approx(0.75, abs=0.02)


@METHODS
def test_towers_on_a_robot_do_not_collide_but_what_stands_side_by_side_does(make_sim: Make, method: str) -> None:
    sim = make_sim(collision_detection_method=method)
    carrier = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose((0.0, 0.0, 0.25)), name="robot"))
    first, second = put(sim, "first", 0.3, 0.0), put(sim, "second", 0.0, 0.3)
    carrier.attach_object(first, keep_world_pose=True)
    first.attach_object(second, keep_world_pose=True)
    beside = put(sim, "beside", 0.3, 0.3)
    carrier.attach_object(beside, keep_world_pose=True)
    sim.step_once()
    found = names(sim.get_active_collision_pairs())
    # The engine never reports kinematic bodies to each other.
    assert found == ([] if method == "contact_points" else [["beside", "first"], ["beside", "second"]])


# ---- a rule of one's own ---------------------------------------------------------------------------------------------


class TeamColumns(ColumnTable):
    """What the rule below goes by: entities of one team pass through each other."""

    team: Ints = column(np.int64, default=-1, writer="the test", doc="-1: none")


class Teams(CollisionRule):
    def __init__(self, world: World) -> None:
        self.columns = world.add_table("teams", TeamColumns)
        world.collision_rules.add(self)

    def allows(self, first: Rows, second: Rows) -> Bools:
        team = self.columns.team
        return np.asarray((team[first] != team[second]) | (team[first] < 0))

    def exempt_pairs(self) -> Ints:
        same = np.equal.outer(self.columns.team, self.columns.team) & (self.columns.team >= 0)
        return np.argwhere(np.triu(same, 1))


@METHODS
@pytest.mark.parametrize("together", [True, False])
def test_detection_and_engine_keep_to_an_added_rule(make_sim: Make, method: str, together: bool) -> None:
    sim = make_sim(physics=True, collision_detection_method=method)
    teams = Teams(sim.world)
    low, high = put(sim, "low", 0.0, 0.0, mass=1.0), put(sim, "high", 0.0, 0.0, 0.8, mass=1.0)
    teams.columns.team[[low.row, high.row]] = 7, 7 if together else 8
    for _ in range(10):
        sim.step_once()
    assert names(sim.get_active_collision_pairs()) == ([] if together else [["high", "low"]])
    assert high.get_pose().z == pytest.approx(0.25 if together else 0.75, abs=0.03)


def test_a_rule_that_changes_counts_though_nothing_moves(make_sim: Make) -> None:
    sim = make_sim()
    teams = Teams(sim.world)
    one, other = put(sim, "one", 0.0, 0.0), put(sim, "other", 0.3, 0.0)
    sim.step_once()
    assert len(sim.get_active_collision_pairs()) == 1
    teams.columns.team[[one.row, other.row]] = 1
    sim.world.collision_rules.changed()
    sim.step_once()
    assert sim.get_active_collision_pairs() == []


@pytest.mark.parametrize("together", [True, False])
def test_blocking_keeps_to_an_added_rule(make_sim: Make, together: bool) -> None:
    sim = make_sim(block_on_collision=True)
    teams = Teams(sim.world)
    agent, crate = robot(sim, "robot", 0.0), put(sim, "crate", 2.0, 0.0)
    teams.columns.team[[agent.row, crate.row]] = 1, 1 if together else 2
    agent.set_goal(fs.Pose((4.0, 0.0, 0.25)))
    for _ in range(60):
        sim.step_once()
    assert agent.blocked_by == (None if together else crate)
    assert agent.get_pose().x == pytest.approx(4.0 if together else 1.5, abs=0.01)


def test_nothing_blocks_a_disabled_robot(make_sim: Make) -> None:
    sim = make_sim(block_on_collision=True)
    agent = robot(sim, "ghost", 0.0, collision_mode="disabled")
    put(sim, "crate", 2.0, 0.0)
    agent.set_goal(fs.Pose((4.0, 0.0, 0.25)))
    for _ in range(60):
        sim.step_once()
    assert agent.get_pose().x == pytest.approx(4.0)


def aside(sim: fs.MultiRobotSimulationCore, agents: list[fs.Agent]) -> float:
    """Let two robots change places and return how far from the straight line they went."""
    for agent in agents:
        agent.set_goal_pose(fs.Pose((-agent.get_pose().x, 0.0, 0.25)))
    farthest = 0.0
    for _ in range(80):
        sim.step_once()
        farthest = max(farthest, *(abs(agent.get_pose().y) for agent in agents))
    return farthest


AVOIDING = {"type": "omni", "max_linear_vel": 1.0, "avoidance": 3.0}


@pytest.mark.parametrize("together", [True, False])
def test_avoidance_keeps_to_an_added_rule(make_sim: Make, together: bool) -> None:
    sim = make_sim()
    teams = Teams(sim.world)
    agents = [robot(sim, name, x, controller=AVOIDING) for name, x in (("a", -2.0), ("b", 2.0))]
    teams.columns.team[[agent.row for agent in agents]] = 1, 1 if together else 2
    assert (aside(sim, agents) == 0.0) is together


def test_a_disabled_robot_avoids_nobody_and_is_avoided_by_nobody(make_sim: Make) -> None:
    sim = make_sim()
    agents = [robot(sim, "a", -2.0, controller=AVOIDING)]
    agents.append(robot(sim, "ghost", 2.0, controller=AVOIDING, collision_mode="disabled"))
    assert aside(sim, agents) == 0.0


class Ahead(Controller):
    def act(self, group: Group) -> Floats:
        return np.tile((1.0, 0.0), (len(group), 1))


@pytest.mark.parametrize("update", ["together", "in_turn"])
@pytest.mark.parametrize("together", [True, False])
def test_swarms_keep_to_an_added_rule(update: str, together: bool) -> None:
    ahead = {"type": "MazeAgent", "agent_radius": 0.5, "controller": Ahead}
    agents = [{**ahead, "position": [3, 5], "angle": 0.0}, {**ahead, "position": [7, 5], "angle": np.pi}]
    world = RectangularWorld({"size": [10, 10], "time_step": 0.1, "update": update, "agents": agents})
    world.setup()
    teams = Teams(world.columns)
    teams.columns.team[world.everyone.rows] = 1, 1 if together else 2
    for _ in range(30):
        world.step()
    first, second = world.everyone.positions
    assert bool(first[0] > second[0]) is together
    assert bool(world.everyone.touching.any()) is not together


# ---- Links of one robot that touch each other are reported, and push each other in the engine ------------------------


FOLDED = {"panda_joint2": 1.7, "panda_joint4": -3.0}
"""The forearm in the base."""


def spawn(sim: fs.MultiRobotSimulationCore, **settings: Any) -> fs.Agent:
    given = {"mass": 0.0, "self_collision": True, "joint_positions": READY, "name": "arm", **settings}
    agent: fs.Agent = fs.Agent.from_urdf(PANDA, use_fixed_base=True, sim_core=sim, **given)
    return agent


def run(sim: fs.MultiRobotSimulationCore, steps: int) -> None:
    for _ in range(steps):
        sim.step_once()


def listen(sim: fs.MultiRobotSimulationCore) -> list[tuple[str, str, str, str]]:
    seen: list[tuple[str, str, str, str]] = []
    for event in ("self_collision_started", "self_collision_ended"):
        sim.events.on(
            event, lambda agent, link_a, link_b, event=event: seen.append((event, agent.name, link_a, link_b))
        )
    return seen


def test_links_that_touch_are_reported_by_name(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    seen = listen(sim)
    own: list[Any] = []
    arm.events.on("self_collision_started", lambda link_a, link_b: own.append((link_a, link_b)))
    run(sim, 2)
    assert seen == [] and sim.get_self_collisions(arm) == []
    arm.set_joints_targets(FOLDED)
    run(sim, 30)
    pairs = sim.get_self_collisions("arm")
    assert ("panda_link0", "panda_link5") in pairs or ("panda_link1", "panda_link5") in pairs
    assert set(pairs) <= set(own) == {entry[2:] for entry in seen if entry[:2] == ("self_collision_started", "arm")}
    arm.set_joints_targets({"panda_joint2": 0.0, "panda_joint4": -1.5})
    run(sim, 30)
    assert sim.get_self_collisions(arm) == []
    assert sorted(entry[2:] for entry in seen if "ended" in entry[0]) == sorted(own)


def test_without_the_setting_nothing_is_looked_at(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim, self_collision=False)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    with pytest.raises(fs.StateError, match="'arm' was spawned without self_collision"):
        sim.get_self_collisions(arm)
    assert "self_collisions" not in sim.pipeline.times


def test_a_disabled_robot_reports_nothing(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    seen = listen(sim)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    touching = sim.get_self_collisions(arm)
    assert touching
    arm.set_collision_mode("disabled")
    run(sim, 2)
    assert sim.get_self_collisions(arm) == []
    assert sorted(entry[2:] for entry in seen if "ended" in entry[0]) == sorted(touching)
    arm.set_collision_mode("normal_3d")
    run(sim, 2)
    assert sim.get_self_collisions(arm) == touching


def test_going_back_and_removal(make_sim: Make) -> None:
    sim = make_sim()
    arm = spawn(sim)
    run(sim, 1)
    moment = sim.save_state()
    arm.set_joint_positions(FOLDED)
    run(sim, 1)
    touching = sim.get_self_collisions(arm)
    folded = sim.save_state()
    sim.restore_state(moment)
    seen = listen(sim)
    run(sim, 1)
    assert touching and seen == [] and sim.get_self_collisions(arm) == []
    sim.restore_state(folded)
    run(sim, 1)
    assert seen == [] and sim.get_self_collisions(arm) == touching
    sim.remove_object(arm)
    assert [entry[0] for entry in seen] == ["self_collision_ended"] * len(touching)


def test_it_keeps_to_the_rate_of_checks(make_sim: Make) -> None:
    sim = make_sim(collision_check_frequency=0)
    arm = spawn(sim)
    arm.set_joint_positions(FOLDED)
    run(sim, 2)
    assert sim.get_self_collisions(arm) == []


@pytest.mark.parametrize("self_collision", [False, True])
def test_links_push_each_other_in_the_engine(make_sim: Make, self_collision: bool) -> None:
    sim = make_sim(physics=True, timestep=0.02, enable_floor=False)
    arm = spawn(sim, mass=None, self_collision=self_collision)
    arm.set_joints_targets(FOLDED)
    run(sim, 150)
    left = abs(arm.get_joint_state("panda_joint4")[0] + 3.0) + abs(arm.get_joint_state("panda_joint2")[0] - 1.7)
    assert (left > 0.05) is self_collision
    if self_collision:
        assert sim.get_self_collisions(arm)
    assert bool(sim.bullet.getContactPoints(arm.body_id, arm.body_id)) is self_collision


def test_a_motored_arm_at_rest_is_not_pushed_by_its_own_shapes(make_sim: Make) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    arm = spawn(sim, mass=None, joint_positions=None)
    run(sim, 20)
    assert not sim.bullet.getContactPoints(arm.body_id, arm.body_id)
    moment = sim.save_state()
    hashes = [sim.state_hash() for _ in range(4) if sim.step_once() is None]
    sim.restore_state(moment)
    assert [sim.state_hash() for _ in range(4) if sim.step_once() is None] == hashes


@pytest.mark.parametrize("suffix", ["sdf", "SDF"])
def test_where_it_cannot_act_it_is_refused(make_sim: Make, tmp_path: Path, suffix: str) -> None:
    sim = make_sim(physics=True)
    box = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))
    with pytest.raises(fs.InvalidValueError, match="a shape has no links"):
        sim.spawn(fs.AgentSpawnParams(box, box, self_collision=True))
    file = tmp_path / f"two.{suffix}"
    link = "<link name='{0}'><inertial><mass>1</mass></inertial></link>"
    file.write_text(f"<sdf version='1.6'><model name='two'>{link.format('a')}</model></sdf>")
    with pytest.raises(fs.InvalidValueError, match="URDF files only"):
        fs.Agent.from_urdf(str(file), sim_core=sim, self_collision=True)
