"""Managers, grids and spawning in bulk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_world import BOX

import fleet_sim as fs
from fleet_sim import (
    AgentManager,
    AgentSpawnParams,
    ConfigError,
    DuplicateNameError,
    GridSpawnParams,
    InvalidValueError,
    MultiRobotSimulationCore,
    Pose,
    SimObjectManager,
    SimObjectSpawnParams,
    StateError,
    Wait,
)

ROBOT = AgentSpawnParams(BOX, BOX)
CRATE = SimObjectSpawnParams(BOX, BOX)
GRID = GridSpawnParams(0, 3, 0, 2, [1.0, 2.0, 0.0], [10.0, 0.0, 0.1])


def test_unnamed_grids_are_shuffled_by_the_seed(make_sim: Callable[..., MultiRobotSimulationCore]) -> None:
    def positions(seed: int) -> list[list[float]]:
        robots = AgentManager(make_sim(seed=seed)).spawn_agents_grid(8, GRID, ROBOT)
        return [robot.get_pose().as_position() for robot in robots]

    assert positions(1) == positions(1)
    assert positions(1) != positions(2)
    assert len({tuple(position) for position in positions(1)}) == 8


def test_grids_from_a_count_are_nearly_square() -> None:
    grid = GridSpawnParams.from_count(10)
    assert (grid.x_max, grid.y_max, grid.total_cells) == (3, 2, 12)
    assert GridSpawnParams.from_dict({"count": 10, "columns": 5}).total_cells == 10
    ranges = {"x_min": 0, "x_max": 1, "y_min": 0, "y_max": 1, "spacing": [1, 1, 1], "offset": [0, 0, 0], "z_max": 1}
    assert GridSpawnParams.from_dict(ranges).total_cells == 8


@pytest.mark.parametrize(
    "config",
    [
        {"count": 0},
        {"count": 4, "columns": 0},
        {"count": 4, "colums": 2},
        {"x_min": 3, "x_max": 1, "y_min": 0, "y_max": 1, "spacing": [1, 1, 1], "offset": [0, 0, 0]},
        {"x_min": 0, "x_max": 1, "y_min": 0, "y_max": 1, "spacing": [1, 1], "offset": [0, 0, 0]},
        {"x_min": 0, "x_max": 1, "y_min": 0, "y_max": 1, "spacing": [1, float("nan"), 1], "offset": [0, 0, 0]},
        {"x_min": 0, "x_max": 1},
    ],
)
def test_bad_grids_are_refused(config: dict) -> None:
    with pytest.raises(ValueError, match=r"."):
        GridSpawnParams.from_dict(config)


def test_counts_are_exact_and_cells_differ(sim: MultiRobotSimulationCore) -> None:
    fast, slow = AgentSpawnParams(BOX, BOX, max_linear_vel=9.0, name="fast"), AgentSpawnParams(BOX, BOX, name="slow")
    robots = AgentManager(sim).spawn_agent_grid_counts(GRID, [(fast, 3), (slow, 2), (fast, 1)])
    assert [robot.name for robot in robots] == ["fast_0", "fast_1", "fast_2", "slow_0", "slow_1", "fast_3"]
    assert [robot.max_linear_vel[0] for robot in robots] == [9, 9, 9, 2, 2, 9]
    assert len({tuple(robot.position) for robot in robots}) == 6


def test_a_failing_group_spawns_nothing(sim: MultiRobotSimulationCore) -> None:
    manager = AgentManager(sim)
    before = sim.state_hash()
    bad = AgentSpawnParams(BOX, BOX, motion_mode="hovering")
    with pytest.raises(InvalidValueError, match="hovering"):
        manager.spawn_agent_grid_counts(GRID, [(ROBOT, 3), (bad, 2)])
    with pytest.raises(InvalidValueError, match="AgentSpawnParams"):
        manager.spawn_agent_grid_counts(GRID, [(ROBOT, 3), (CRATE, 2)])
    with pytest.raises(InvalidValueError, match="counts"):
        manager.spawn_agent_grid_counts(GRID, [(ROBOT, -1)])
    assert (sim.state_hash(), len(manager)) == (before, 0)


def test_a_batch_is_all_or_nothing(sim: MultiRobotSimulationCore) -> None:
    sim.spawn(SimObjectSpawnParams(name="taken"))
    before, version = sim.state_hash(), len(sim.sim_objects)
    manager = SimObjectManager(sim)
    with pytest.raises(DuplicateNameError, match="taken"):
        manager.spawn_objects_batch([SimObjectSpawnParams(name=name) for name in ("a", "b", "taken")])
    with pytest.raises(DuplicateNameError, match="'a'"):
        manager.spawn_objects_batch([SimObjectSpawnParams(name="a"), SimObjectSpawnParams(name="a")])
    with pytest.raises(InvalidValueError, match="SimObjectSpawnParams"):
        manager.spawn_objects_batch([CRATE, "crate"])  # type: ignore[list-item]
    assert (sim.state_hash(), len(sim.sim_objects), len(manager)) == (before, version, 0)


def test_managers_know_their_living_members(sim: MultiRobotSimulationCore) -> None:
    manager = AgentManager(sim, name="fleet")
    robots = manager.spawn_agents_grid(4, GRID, ROBOT, name_prefix="r")
    sim.spawn(ROBOT)
    assert list(manager) == manager.agents == manager.objects == robots
    sim.remove_object(robots[1])
    assert manager.get_object_count() == 3
    assert manager[1] == robots[2]
    assert manager.get_object("r_3") == robots[3]
    assert manager.get_pose(0) == manager.get_all_poses()[0] == robots[0].get_pose()
    assert list(manager.get_poses_dict()) == [0, 2, 3]
    with pytest.raises(KeyError, match="0 to 2"):
        manager[3]
    with pytest.raises(KeyError, match="Did you mean"):
        manager.get_object("r_33")
    assert sim.get_manager("fleet") is manager


def test_a_reset_gives_a_manager_its_members_back(sim: MultiRobotSimulationCore) -> None:
    manager = AgentManager(sim)
    robots = manager.spawn_agents_grid(4, GRID, ROBOT, name_prefix="r")
    sim.step_once()
    sim.remove_object(robots[1])
    manager.spawn_agents_grid(2, GRID, ROBOT, name_prefix="late")
    assert len(manager) == 5
    sim.reset()
    assert manager.agents == robots


def test_a_manager_without_a_simulation_says_so() -> None:
    manager = AgentManager()
    assert len(manager) == 0
    with pytest.raises(StateError, match="set_sim_core"):
        manager.spawn_agents_grid(1, GRID, ROBOT)


def test_goals_and_actions_for_all(sim: MultiRobotSimulationCore) -> None:
    manager = AgentManager(sim)
    robots = manager.spawn_agents_grid(4, GRID, ROBOT, name_prefix="r")
    manager.set_goal_pose(0, Pose((0, 0, 0.1)))
    manager.set_goal_pose_by_object_id(robots[1].object_id, Pose((0, 0, 0.1)))
    manager.set_goal_pose_by_body_id(robots[2].body_id, Pose((0, 0, 0.1)))
    assert manager.get_moving_count() == 3
    assert manager.get_moving_agents() == robots[:3]
    assert manager.get_stopped_agents() == robots[3:]
    manager.set_goal_pose_all(lambda agent: Pose((0, 0, 0.1)) if agent == robots[3] else None)
    assert manager.get_moving_count() == 4
    manager.stop_all()
    assert manager.get_moving_count() == 0
    manager.add_action_all(lambda agent: Wait(1.0))
    manager.add_action_sequence_all(lambda agent: [Wait(1.0), Wait(1.0)])
    assert {agent.get_action_queue_size() for agent in manager} == {3}
    with pytest.raises(KeyError, match="object id 999"):
        manager.set_goal_pose_by_object_id(999, Pose((0, 0, 0)))


def test_poses_of_all_can_be_set(sim: MultiRobotSimulationCore) -> None:
    manager = SimObjectManager(sim)
    manager.spawn_objects_grid(3, GRID, CRATE, name_prefix="c")
    manager.set_pose_all(lambda obj: Pose((obj.object_id, 0, 0)))
    assert [pose.x for pose in manager.get_all_poses()] == [0, 1, 2]


def test_entries_from_yaml(sim: MultiRobotSimulationCore, tmp_path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("entities:\n- {name: a, pose: [1, 0, 0]}\n- {name: b, grid: {count: 3}}\n")
    manager = AgentManager(sim)
    assert [agent.name for agent in manager.spawn_from_yaml(path)] == ["a", "b_0", "b_1", "b_2"]
    assert [agent.name for agent in manager.spawn_from_config([{"name": "c", "yaw": 1.0}])] == ["c"]
    assert len(manager) == 5
    before = sim.state_hash()
    with pytest.raises(ConfigError, match="entities"):
        manager.spawn_from_yaml(path, key="entitys")
    with pytest.raises(ConfigError, match=r"\[1\]"):
        manager.spawn_from_config([{"name": "d"}, {"name": "a"}])
    assert sim.state_hash() == before


def test_a_mixed_list_spawns_in_order(sim: MultiRobotSimulationCore) -> None:
    names = ["a", "b", "c", "d"]
    params = [SimObjectSpawnParams(name=n) if n in "ac" else AgentSpawnParams(name=n) for n in names]
    handles = sim.spawn_all(params)
    assert [handle.name for handle in handles] == [obj.name for obj in sim.sim_objects] == names
    assert [agent.name for agent in sim.agents] == ["b", "d"]


def test_removing_one_thing_twice_removes_it_once(sim: MultiRobotSimulationCore) -> None:
    obj, other = sim.spawn_all([CRATE, CRATE])
    sim.remove_objects([obj, obj])
    assert sim.sim_objects == [other]
    assert not obj.is_alive


def test_wrong_numbers_are_refused_with_what_is_allowed(sim: MultiRobotSimulationCore) -> None:
    manager = AgentManager(sim)
    manager.spawn_agents_grid(3, GRID, ROBOT, name_prefix="r")
    for number in (1.5, -1, True, "2"):
        with pytest.raises(InvalidValueError, match="at least 0"):
            SimObjectManager(sim).spawn_objects_grid(number, GRID, CRATE)  # type: ignore[arg-type]
        with pytest.raises(InvalidValueError, match="agent_index: expected a whole number of at least 0"):
            manager.set_goal_pose(number, Pose((5, 5, 0)))  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="13 objects do not fit on a grid of 12 cells"):
        SimObjectManager(sim).spawn_objects_grid(13, GRID, CRATE)
    assert len(sim.sim_objects) == 3
    assert not any(agent.is_moving for agent in manager.agents)
    manager.set_goal_pose(np.int64(2), Pose((5, 5, 0)))
    assert manager[2].is_moving


# ---- one by one ------------------------------------------------------------------------------------------------------


LINK = (
    '<link name="a"><inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial><collision><geometry><box size="{size} 1 1"/></geometry></collision></link>'
)


def write(path: Path, mass: float, size: float) -> None:
    """Write a robot of one link."""
    path.write_text(f'<robot name="r">{LINK.format(mass=mass, size=size)}</robot>')


def test_a_description_that_has_changed_is_read_again(sim: fs.MultiRobotSimulationCore, tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    masses, sizes = [], []
    for mass, size in ((2.0, 1.0), (2.0, 1.0), (30.0, 0.5), (4.0, 2.25)):
        write(path, mass, size)
        robot = fs.Agent.from_urdf(str(path), sim_core=sim)
        masses.append(robot.mass)
        sizes.append(float(sim.world.half_extents[robot.row, 0]))
    assert masses == [2.0, 2.0, 30.0, 4.0]
    assert sizes == [0.5, 0.5, 0.25, 1.125]


def test_a_list_that_has_changed_is_read_again(sim: fs.MultiRobotSimulationCore) -> None:
    positions = [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    robots = []
    for value in (0.1, 0.5):
        positions[0] = value
        params = fs.AgentSpawnParams(urdf_path="arm6", joint_positions=positions, use_fixed_base=True)
        robots.append(sim.spawn(params))
    assert [robot.get_joint_state_by_name("joint_1")[0] for robot in robots] == pytest.approx([0.1, 0.5])


def test_params_that_have_changed_are_checked_again(sim: fs.MultiRobotSimulationCore) -> None:
    params = fs.AgentSpawnParams(urdf_path="diff_base", max_linear_vel=1.0)
    slow = sim.spawn(params)
    params.max_linear_vel = 2.0
    fast = sim.spawn(params)
    params.motion_mode = "omnidirectionl"
    with pytest.raises(fs.InvalidValueError, match="omnidirectional"):
        sim.spawn(params)
    assert sim.world.motion.linear_limit[[slow.row, fast.row]].tolist() == [1.0, 2.0]


def test_values_of_ones_own_are_not_shared(sim: fs.MultiRobotSimulationCore) -> None:
    own = {"load": 1}
    first = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", user_data=own))
    own["load"] = 2
    second = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", user_data=own))
    assert (first.user_data["load"], second.user_data["load"]) == (1, 2)
